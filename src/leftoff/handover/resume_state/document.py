"""The resume state: the saved state of an interrupted workflow.

A `ResumeState` is flat, like the run-time type of the original design; its file groups the same
values under `workflow_metadata`, `completed_tools`, `chat_history`, `context_evolution` and
`workflow_variables`. Both forms can be loaded, with keys in snake, camel or Pascal case. A
resume state holds no progress percentage.

The docstrings of the types below `ResumeFile` are part of its JSON schema (`schema`)."""

import zlib
from typing import Any, ClassVar, Self

from msgspec import field

from leftoff import codec
from leftoff.errors import StateError, squashed
from leftoff.handover.value import Value, type_name

SCHEMA = "leftoff.resume-state/1"
# The phase of a workflow if nothing else is known.
UNDERSTANDING = "understanding"


class Part(Value, frozen=True, kw_only=True):
    """A part of a resume state; what is not known is written as null."""

    NULLS: ClassVar[bool] = True


class CompletedTool(Part, frozen=True, kw_only=True):
    """A tool call that came back.

    Attributes:
        result: what it gave; "ERROR: …" or the tool's own words where it failed.
        executed_at: when it was called, ISO 8601.
        ai_reasoning: why the agent chose it, in its own words."""

    function_name: str = ""
    parameters: codec.JsonObject = field(default_factory=dict)
    result: str | None = None
    executed_at: str = ""
    success: bool = False
    ai_reasoning: str | None = None


class FunctionCall(Part, frozen=True, kw_only=True):
    """A call that an assistant's message asks for."""

    function_name: str = ""
    parameters: codec.JsonObject = field(default_factory=dict)
    call_id: str = ""


class ChatMessage(Part, frozen=True, kw_only=True):
    """One message of the conversation. role: user | assistant | tool | system."""

    OPTIONAL: ClassVar[frozenset[str]] = frozenset({"tool_call_id", "function_calls"})

    role: str = ""
    content: str | None = None
    timestamp: str = ""
    tool_call_id: str | None = None
    function_calls: tuple[FunctionCall, ...] | None = None


class ContextChange(Part, frozen=True, kw_only=True):
    """One value of the context changed. `source`: which tool or process did it."""

    timestamp: str = ""
    key: str = ""
    old_value: Any = None
    new_value: Any = None
    source: str = ""
    reasoning: str = ""


class ContextEvolution(Part, frozen=True, kw_only=True):
    """What is known now, what was found out, and how the context came to be so."""

    current_context: codec.JsonObject = field(default_factory=dict)
    key_insights: tuple[str, ...] = ()
    changes: tuple[ContextChange, ...] = ()


class WorkflowMetadata(Part, frozen=True, kw_only=True):
    """Which workflow this is, and its file as it was. Times ISO 8601.

    `workflow_hash` is the SHA-256 of the file's raw content in hex."""

    id: str = ""
    file_path: str = ""
    workflow_hash: str = ""
    original_content: str = ""
    started_at: str = ""
    last_activity: str = ""
    current_phase: str = UNDERSTANDING
    current_strategy: str = ""


class RecordedFile(Part, frozen=True, kw_only=True):
    """A file that the work touched. `sha256` is "" where it was not looked at."""

    OPTIONAL: ClassVar[frozenset[str]] = frozenset({"sha256"})

    path: str = ""
    action: str = ""
    sha256: str = ""


class World(Part, frozen=True, kw_only=True):
    """The world in which the state was saved, as far as it is known: ours, not the design's.

    Attributes:
        cwd: the folder that relative paths start from.
        files: what the work changed, and how it was left.
        occupancy: tokens in the window at the end, None if unknown."""

    OPTIONAL: ClassVar[frozenset[str]] = frozenset(
        {"session_id", "session_path", "session_format", "model", "occupancy"}
    )

    session_id: str = ""
    session_path: str = ""
    session_format: str = ""
    cwd: str = ""
    branch: str = ""
    commit: str = ""
    model: str = ""
    occupancy: int | None = None
    files: tuple[RecordedFile, ...] = ()


class ResumeFile(Part, frozen=True, kw_only=True):
    """The file of a resume state.

    Attributes:
        world: ours: what the work left around it.
        dropped: ours: how many tools, messages, variables and insights were left out, by kind.
        needs_value: ours: variables whose value was secret and has to be given again.
        completed: ours: the workflow is done; its file may be cleaned up."""

    OPTIONAL: ClassVar[frozenset[str]] = frozenset(
        {"world", "dropped", "needs_value", "completed"}
    )

    workflow_metadata: WorkflowMetadata = WorkflowMetadata()
    completed_tools: tuple[CompletedTool, ...] = ()
    chat_history: tuple[ChatMessage, ...] = ()
    context_evolution: ContextEvolution = ContextEvolution()
    workflow_variables: codec.JsonObject = field(default_factory=dict)
    world: World | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    needs_value: tuple[str, ...] = ()
    completed: bool = False


class ResumeState(Part, frozen=True, kw_only=True):
    """Everything that is needed to resume a workflow.

    Attributes:
        original_workflow_hash, original_workflow_content: the workflow's file at the start.
        available_tools: names of the tools that were available; None if unknown.
        workflow_variables: the variables of the run, without `available_tools`.
        metadata_extra: unknown keys of the file's `workflow_metadata`.

    The other attributes are those of `WorkflowMetadata` and `ResumeFile`."""

    workflow_id: str = ""
    workflow_file_path: str = ""
    original_workflow_hash: str = ""
    original_workflow_content: str = ""
    start_time: str = ""
    last_activity: str = ""
    current_phase: str = UNDERSTANDING
    current_strategy: str = ""
    completed_tools: tuple[CompletedTool, ...] = ()
    chat_history: tuple[ChatMessage, ...] = ()
    context_evolution: ContextEvolution = ContextEvolution()
    available_tools: tuple[str, ...] | None = None
    workflow_variables: codec.JsonObject = field(default_factory=dict)
    world: World | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    needs_value: tuple[str, ...] = ()
    completed: bool = False
    metadata_extra: codec.JsonObject = field(default_factory=dict)

    def all_variables(self) -> codec.JsonObject:
        """The variables of the run, with the tools that were available."""
        tools = self.available_tools
        named = {} if tools is None else {"available_tools": list(tools)}
        return {**self.workflow_variables, **named}

    def to_dict(self) -> codec.JsonObject:
        """The state as plain values, in the structure of its file."""
        shared = {name: getattr(self, name) for name in _SHARED}
        metadata = {theirs: getattr(self, ours) for ours, theirs in _METADATA.items()}
        return ResumeFile(
            workflow_metadata=WorkflowMetadata(**metadata, extra=self.metadata_extra),
            workflow_variables=self.all_variables(),
            extra=self.extra,
            **shared,
        ).to_dict()

    @classmethod
    def from_dict(cls, value: object, where: str = "") -> Self:
        """The state from a file's structure or from the flat one.

        Raises:
            StateError: it is neither, or a value has the wrong type."""
        if not isinstance(value, dict):
            raise StateError(f"not a resume state: an object is wanted, not {type_name(value)}")
        keys = {squashed(key) for key in value}
        if "workflowmetadata" in keys:
            return cls._from_file(ResumeFile.from_dict(value, where))
        if "workflowid" not in keys:
            raise StateError(
                "not a resume state: it has neither 'workflow_metadata' nor 'workflow_id'"
            )
        # A bare `super()` fails: msgspec creates a new class from this class body.
        return super(ResumeState, cls).from_dict(value, where)  # noqa: UP008

    @classmethod
    def _from_file(cls, file: ResumeFile) -> Self:
        metadata = file.workflow_metadata
        variables = dict(file.workflow_variables)
        tools = variables.get("available_tools")
        listed = isinstance(tools, list) and all(isinstance(t, str) for t in tools)
        if listed:
            del variables["available_tools"]
        return cls(
            **{ours: getattr(metadata, theirs) for ours, theirs in _METADATA.items()},
            **{name: getattr(file, name) for name in _SHARED},
            available_tools=tuple(tools or ()) if listed else None,
            workflow_variables=variables,
            metadata_extra=metadata.extra,
            extra=file.extra,
        )


# Attributes of `ResumeState` and the keys of `workflow_metadata` that hold them.
_METADATA = {
    "workflow_id": "id",
    "workflow_file_path": "file_path",
    "original_workflow_hash": "workflow_hash",
    "original_workflow_content": "original_content",
    "start_time": "started_at",
    "last_activity": "last_activity",
    "current_phase": "current_phase",
    "current_strategy": "current_strategy",
}

_SHARED = (
    "completed_tools chat_history context_evolution world dropped needs_value completed"
).split()
# The name of the original design.
AIWorkflowResumeState = ResumeState


class ExecutionHistoryEntry(Part, frozen=True, kw_only=True):
    """One step of a run; `step_type` is "function", "user_input" or another text."""

    step_name: str = ""
    step_type: str = ""
    start_time: str = ""
    end_time: str = ""
    success: bool = False
    error_message: str | None = None


class WorkflowExecutionContext(Part, frozen=True, kw_only=True):
    """The run-time context of a workflow. `current_step` is the number of context changes."""

    current_step: int = 0
    variables: codec.JsonObject = field(default_factory=dict)
    execution_history: tuple[ExecutionHistoryEntry, ...] = ()
    start_time: str = ""


def execution_context(state: ResumeState) -> WorkflowExecutionContext:
    """The run-time context for resuming a saved workflow."""
    history = tuple(
        ExecutionHistoryEntry(
            step_name=tool.function_name,
            step_type="function",
            start_time=tool.executed_at,
            end_time=tool.executed_at,
            success=tool.success,
            error_message=None if tool.success else tool.result,
        )
        for tool in state.completed_tools
    )
    return WorkflowExecutionContext(
        current_step=len(state.context_evolution.changes),
        variables=state.all_variables(),
        execution_history=history,
        start_time=state.start_time,
    )


def decode(data: bytes) -> ResumeState:
    """The resume state in a file's bytes: JSON, gzip, or gzip as Base64 text.

    Raises:
        StateError: it cannot be decompressed, is not JSON, or is not a resume state."""
    try:
        value = codec.parse(codec.unpacked(data))
    except (ValueError, zlib.error) as error:
        raise StateError(f"not a resume state: no JSON ({error})") from error
    if isinstance(value, dict):
        value.pop("leftoff", None)  # what a store adds
    return ResumeState.from_dict(value)


def schema() -> codec.JsonObject:
    """The JSON schema of the file. Unknown keys are allowed everywhere and preserved."""
    made = codec.schema(ResumeFile)
    for definition in made["$defs"].values():
        known = definition["properties"]
        known.pop("extra")
        for value in known.values():
            if isinstance(value.get("default"), dict):  # it would spell out `extra` again
                del value["default"]
    made["$defs"]["ResumeFile"]["required"] = ["workflow_metadata"]
    return {"title": SCHEMA, **made}


def needs_value(state: ResumeState) -> tuple[str, ...]:
    """Names of the workflow's variables that hold a redacted secret, which a person has to
    enter again. Values derived from a recording are not included: they cannot be entered."""
    return tuple(
        name
        for name, value in state.workflow_variables.items()
        if any(isinstance(v, str) and "[REDACTED:" in v for v in codec.leaves(value))
    )
