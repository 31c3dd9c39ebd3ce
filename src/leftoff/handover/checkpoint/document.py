"""A context checkpoint: the state of a task when its context window was nearly full.

`checkpoint_of` creates one; `problems` lists inconsistencies of one that was
loaded. Times and ids are arguments."""

from datetime import UTC, datetime
from typing import Literal, TypeAlias, get_args
from urllib.parse import quote

from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff.budget.tasks import CheckpointMetadata, TaskTokenBudget
from leftoff.budget.thresholds import percent
from leftoff.errors import NotPlainName, StateError
from leftoff.handover.checkpoint.from_summary import (
    CheckpointSource,
    blockers,
    paths,
    summary_text,
)
from leftoff.handover.checkpoint.prompt_log import PromptLogEntry, ValidationResult, history
from leftoff.handover.value import Value

Capacity: TypeAlias = Literal["90", "95", "98"]
Reason: TypeAlias = Literal["window_warning", "window_critical", "window_emergency"]
Status: TypeAlias = Literal["in_progress", "paused_for_handoff", "completed"]
Action: TypeAlias = Literal["continue", "fallback", "helper_agent", "force_handoff", "stop"]
# The reason for a checkpoint, by its capacity.
REASONS: dict[str, Reason] = dict(zip(get_args(Capacity), get_args(Reason), strict=True))


class Tokens(Value, frozen=True, kw_only=True):
    """A provider's budget at the checkpoint, in tokens; `percent_used` may exceed 100."""

    consumed: int
    remaining: int
    total_allocated: int
    percent_used: float

    @classmethod
    def of(cls, budget: TaskTokenBudget) -> "Tokens":
        """The figures of a budget."""
        return cls(
            consumed=budget.tokens_consumed,
            remaining=budget.tokens_remaining,
            total_allocated=budget.total_allocated,
            percent_used=round(budget.percent_used, 4),
        )


class Conversation(Value, frozen=True, kw_only=True):
    """The conversation up to the checkpoint.

    Attributes:
        full_history: the last iterations, within the limits of `prompt_log.history`.
        summary: for the next agent: titles and items, one per line.
        iteration_count: number of prompts so far, including those not in `full_history`."""

    full_history: tuple[PromptLogEntry, ...] = ()
    summary: str = ""
    iteration_count: int = 0


class ExecutionState(Value, frozen=True, kw_only=True):
    """The state of the work. Paths are relative to the task's directory, or absolute outside of
    it.

    Attributes:
        git_diff: against the last commit; None without a repository.
        current_error: the latest unresolved failure."""

    iteration: int
    files_created: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    git_diff: str | None = None
    last_validation_result: ValidationResult | None = None
    current_error: str | None = None
    status: Status = "in_progress"


class DumpOutputs(Value, frozen=True, kw_only=True):
    """The markdown files of a checkpoint; a path is "" if the file was not written."""

    project_md_updated: str = ""
    specific_md_updated: str = ""
    dump_timestamp: str = ""
    dump_size_bytes: int = 0


class NextAction(Value, frozen=True, kw_only=True):
    """What `decision_table.decide` says comes next.

    Attributes:
        type: with `fallback`, the current provider continues and `next_provider` will take
            over.
        next_provider: with `force_handoff`, the current one where a new session of it starts.
        next_role: the helper's.
        handoff_instruction: why, in words."""

    type: Action = "continue"
    next_provider: str | None = None
    next_role: str | None = None
    handoff_instruction: str | None = None

    @property
    def provider(self) -> str:
        """The next provider; "" if the task stops or a helper takes it."""
        return self.next_provider or ""

    @property
    def role(self) -> str:
        """The helper's, "" for the others."""
        return self.next_role or ""

    @property
    def reason(self) -> str:
        """Why, in words."""
        return self.handoff_instruction or ""

    @property
    def now(self) -> bool:
        """Whether the current session makes no further call: the task is handed over or
        stops."""
        return self.type not in {"continue", "fallback"}


class ContextCheckpoint(Value, frozen=True, kw_only=True):
    """The state of a task at 90, 95 or 98 percent of a provider's budget."""

    checkpoint_id: str
    created_at: str
    capacity_threshold: Capacity
    reason: Reason
    task_id: str
    provider_name: str
    tokens: Tokens
    conversation: Conversation = Conversation()
    execution_state: ExecutionState
    context_dump_outputs: DumpOutputs = DumpOutputs()
    next_action: NextAction = NextAction()

    @property
    def metadata(self) -> CheckpointMetadata:
        """The metadata that a `TaskTokenBudget` records."""
        return CheckpointMetadata(self.checkpoint_id, self.created_at, self.reason)

    def with_action(self, action: NextAction) -> "ContextCheckpoint":
        """A copy with the next action; a handoff pauses the task."""
        state = self.execution_state
        state = replace(state, status="paused_for_handoff") if action.now else state
        return replace(self, next_action=action, execution_state=state)

    def with_outputs(self, outputs: DumpOutputs) -> "ContextCheckpoint":
        """A copy with the markdown files that were written."""
        return replace(self, context_dump_outputs=outputs)


# -- names -----------------------------------------------------------------------------------

# Ids become names of files: none is hidden, an option of a command, or longer than a name may
# be on any system.
_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.%@+=-]{0,199}\Z")


def path_component(name: str) -> str:
    """A name as one safe path component: all but ASCII letters, digits, `_`, `.` and `-` is
    percent-encoded, as is a leading `.` or `-`.

    >>> path_component("open/router")
    'open%2Frouter'"""
    coded = quote(name, safe="", errors="surrogatepass").replace("~", "%7E")
    return f"%{ord(coded[0]):02X}{coded[1:]}" if coded[:1] in {".", "-"} else coded


def checkpoint_id(task_id: str, provider: str, capacity: str, at: datetime) -> str:
    """The id of a checkpoint: `{task_id}-{provider}-{90p|95p|98p}-{timestamp}`.

    Raises:
        NotPlainName: the task's id is not one safe path component, or the result is too long.
    """
    if not _SAFE_NAME.match(task_id) or ".." in task_id:
        raise NotPlainName(
            f"task id {task_id!r} is not one plain path component; use letters, digits, "
            "'_', '-' and '.'"
        )
    stamp = at.astimezone(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    name = f"{task_id}-{path_component(provider)}-{capacity}p-{stamp}"
    if len(name) > 200:
        raise NotPlainName(f"{name[:60]}…: the names of task and provider are too long")
    return name


# -- creating --------------------------------------------------------------------------------


def checkpoint_of(
    source: CheckpointSource,
    *,
    budget: TaskTokenBudget,
    capacity: Capacity,
    at: datetime,
    git_diff: str | None = None,
    history_lines: int = 500,
) -> ContextCheckpoint:
    """The checkpoint of a task with its current provider, at the threshold `capacity` and the
    time `at`, which has a time zone. History and diff are not redacted; outputs redact.

    Raises:
        NotPlainName: the task's id cannot be part of a file's name."""
    facts, checks = source.facts, source.checks
    entries, count = history(source.messages, budget.provider, lines=history_lines)
    return ContextCheckpoint(
        checkpoint_id=checkpoint_id(budget.task_id, budget.provider, capacity, at),
        created_at=at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        capacity_threshold=capacity,
        reason=REASONS[capacity],
        task_id=budget.task_id,
        provider_name=budget.provider,
        tokens=Tokens.of(budget),
        conversation=Conversation(
            full_history=entries, summary=summary_text(facts), iteration_count=count
        ),
        execution_state=ExecutionState(
            iteration=count,
            files_created=paths(facts, "created"),
            files_modified=paths(facts, "modified"),
            git_diff=git_diff,
            last_validation_result=checks[-1] if checks else None,
            current_error=next(iter(blockers(facts)), None),
        ),
    )


# -- checking --------------------------------------------------------------------------------


def validated(data: object) -> ContextCheckpoint:
    """The checkpoint from plain values, checked for consistency.

    Raises:
        StateError: it has the wrong structure or is inconsistent; the message says where."""
    made = ContextCheckpoint.from_dict(data)
    wrong = problems(made)
    if wrong:
        raise StateError(f"checkpoint {made.checkpoint_id[:120]}: " + "; ".join(wrong))
    return made


def problems(checkpoint: ContextCheckpoint) -> list[str]:
    """The inconsistencies of a checkpoint, a sentence each; [] if there are none."""
    c, found = checkpoint, []
    if not _SAFE_NAME.match(c.checkpoint_id) or ".." in c.checkpoint_id:
        found.append("checkpoint_id is not one plain path component")
    dumped = c.context_dump_outputs.dump_timestamp
    for name, time in (("created_at", c.created_at), ("dump_timestamp", dumped)):
        try:
            datetime.fromisoformat(time)
        except ValueError:
            if time or name == "created_at":
                found.append(f"{name} is no ISO 8601 time: {time[:40]!r}")
    if c.reason != REASONS[c.capacity_threshold]:
        found.append(f"reason {c.reason} does not go with {c.capacity_threshold} %")
    t = c.tokens
    if t.total_allocated < 0 or t.consumed < 0:
        found.append("tokens are negative")
    if t.remaining != t.total_allocated - t.consumed:
        found.append("tokens.remaining is not total_allocated minus consumed")
    if abs(t.percent_used - percent(t.consumed, t.total_allocated)) > 0.5:
        found.append("tokens.percent_used is not consumed of total_allocated")
    iterations = [e.iteration for e in c.conversation.full_history]
    if iterations != sorted(iterations):
        found.append("the history is not in order")
    if iterations and iterations[-1] > c.conversation.iteration_count:
        found.append("the history holds more iterations than iteration_count")
    if c.next_action.type == "helper_agent" and not c.next_action.next_role:
        found.append("next_action names no role for the helper")
    return found
