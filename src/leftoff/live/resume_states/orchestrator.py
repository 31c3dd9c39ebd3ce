"""Resumes a saved workflow: passes its context and conversation, with a resume message in
front, to the caller's function that runs it."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from leftoff.errors import UnknownName
from leftoff.handover.compatibility import Compatibility, Workspace, assess, without_state
from leftoff.handover.resume_state import document
from leftoff.handover.resume_state.message import DEFAULT_BUDGET, Strategy, resume_message
from leftoff.live.resume_states.states import FileResumeStateManager
from leftoff.workspace import inspect_workspace

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

# The names under which `migration_strategies` offers two of them.
_MIGRATION_STRATEGIES: dict[str, Strategy] = {
    "partial_context": "context_migration",
    "reset_workflow": "fresh_start",
}

# Called as run(workflow_file, context, chat_history, is_resume=True).
Run = Callable[..., object | Awaitable[object]]


class Resumption(Struct, frozen=True):
    """The input with which a workflow is resumed; `chat_history` begins with the resume
    message, as a system message."""

    workflow_id: str
    workflow_file: str
    context: document.WorkflowExecutionContext
    chat_history: tuple[document.ChatMessage, ...]
    strategy: Strategy
    compatibility: Compatibility


class Resumed(Struct, frozen=True):
    """The outcome of resuming. `result` is that of the callable; None if it was not called."""

    success: bool
    result: Any = None
    error_message: str = ""
    resumption: Resumption | None = None


class ResumeOrchestrator:
    """Resumes saved workflows.

    Args:
        manager: loads the saved workflows.
        run: the function that runs a workflow, sync or async.
        budget: token budget of the resume message."""

    def __init__(
        self, manager: FileResumeStateManager, run: Run, *, budget: int = DEFAULT_BUDGET
    ) -> None:
        self.manager = manager
        self.run = run
        self.budget = budget

    def resume(
        self,
        workflow: str,
        *,
        workspace: Workspace | None = None,
        strategy: str = "",
        force: bool = False,
    ) -> Resumed:
        """Resumes a workflow if it is compatible. An awaitable result is returned as it is.

        Args:
            workspace: the present state of files and git; inspected if None.
            strategy: one of `STRATEGIES`, or a key of `migration_strategies`; by default
                `partial_resume` if used tools are missing, else `continue`. The strategies
                `context_migration` and `fresh_start` are possible whatever the score.
            force: resume although it is not compatible.

        Raises:
            StateError: the saved state cannot be read.
            UnknownName: no such strategy."""
        prepared = self.prepare(workflow, workspace=workspace, strategy=strategy, force=force)
        if isinstance(prepared, Resumed):
            return prepared
        chat = list(prepared.chat_history)
        result = self.run(prepared.workflow_file, prepared.context, chat, is_resume=True)
        return Resumed(success=True, result=result, resumption=prepared)

    async def resume_async(
        self,
        workflow: str,
        *,
        workspace: Workspace | None = None,
        strategy: str = "",
        force: bool = False,
    ) -> Resumed:
        """`resume`; it awaits a result that is awaitable."""
        done = self.resume(workflow, workspace=workspace, strategy=strategy, force=force)
        if inspect.isawaitable(done.result):
            return replace(done, result=await done.result)
        return done

    def prepare(
        self,
        workflow: str,
        *,
        workspace: Workspace | None = None,
        strategy: str = "",
        force: bool = False,
    ) -> Resumption | Resumed:
        """The input that `resume` passes on, or the reason why it refuses."""
        known: dict[str, Strategy] = {**{s: s for s in STRATEGIES}, **_MIGRATION_STRATEGIES}
        if strategy and strategy not in known:
            raise UnknownName("resume strategy", strategy, known)
        chosen = known.get(strategy)
        found = self.manager.load(workflow)
        if found is None:
            verdict = without_state(workflow)
            return Resumed(success=False, error_message="; ".join(verdict.reasons))
        world = workspace or inspect_workspace(found.state)
        verdict = assess(found.state, world, limits=self.manager.limits, force=force)
        restarts = chosen in {"context_migration", "fresh_start"}
        if not verdict.can_resume and not restarts:
            reasons = "; ".join([*verdict.warnings, *verdict.reasons])
            return Resumed(success=False, error_message=f"{workflow} does not fit: {reasons}")
        usual: Strategy = "partial_resume" if verdict.missing_tools else "continue"
        return resumption(found.state, verdict, chosen or usual, budget=self.budget)


def resumption(
    state: document.ResumeState,
    verdict: Compatibility,
    strategy: Strategy = "continue",
    *,
    budget: int = DEFAULT_BUDGET,
) -> Resumption:
    """Builds the input with which a workflow is resumed, by one strategy.

    `continue`: message, whole conversation, whole context. `partial_resume`: the same without
    the calls of missing tools and their results. `context_migration`: message and context, no
    conversation, no completed steps. `fresh_start`: only a message that says so."""
    message = resume_message(
        state,
        budget=budget,
        strategy=strategy,
        changed=verdict.warnings,
        missing_tools=verdict.missing_tools,
    )
    context = document.execution_context(state)
    chat: tuple[document.ChatMessage, ...] = ()
    if strategy == "continue":
        chat = state.chat_history
    elif strategy == "partial_resume":
        chat = _without_tools(state.chat_history, frozenset(verdict.missing_tools))
    elif strategy == "context_migration":
        context = replace(context, execution_history=(), current_step=0)
    else:
        first_file = state.workflow_file_path
        context = document.WorkflowExecutionContext(
            variables={"workflow_file": first_file} if first_file else {}
        )
    first = document.ChatMessage(role="system", content=message, timestamp=state.last_activity)
    return Resumption(
        workflow_id=state.workflow_id,
        workflow_file=state.workflow_file_path,
        context=context,
        chat_history=(first, *chat),
        strategy=strategy,
        compatibility=verdict,
    )


def _without_tools(
    chat: tuple[document.ChatMessage, ...], missing: frozenset[str]
) -> tuple[document.ChatMessage, ...]:
    removed: set[str] = set()
    remaining: list[document.ChatMessage] = []
    for message in chat:
        calls = message.function_calls or ()
        removed |= {c.call_id for c in calls if c.function_name in missing}
        left = tuple(c for c in calls if c.function_name not in missing)
        if message.role == "tool" and message.tool_call_id in removed:
            continue
        if calls and not left and not message.content:
            continue
        remaining.append(replace(message, function_calls=left or None) if calls else message)
    return tuple(remaining)
