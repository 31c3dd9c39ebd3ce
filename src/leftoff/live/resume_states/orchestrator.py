"""Taking up a workflow again: the resume message goes in front of the saved conversation, and
history and context to whatever runs the workflow."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from leftoff.errors import UnknownName
from leftoff.handover.compatibility import Compatibility, Workspace, assess, without_state
from leftoff.handover.resume_state.document import (
    ChatMessage,
    ResumeState,
    WorkflowExecutionContext,
    execution_context,
)
from leftoff.handover.resume_state.message import BUDGET, Strategy, resume_message
from leftoff.live.resume_states.states import FileResumeStateManager
from leftoff.workspace import look

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

_DESIGNED: dict[str, Strategy] = {
    "partial_context": "context_migration",
    "reset_workflow": "fresh_start",
}
"""The names under which `migration_strategies` offers two of them."""

Run = Callable[..., Any | Awaitable[Any]]
"""Called as run(workflow_file, context, chat_history, is_resume=True)."""


class Resumption(Struct, frozen=True):
    """What a workflow is taken up with.

    Attributes:
        chat_history: the resume message, as a system message, and the saved conversation.
    """

    workflow_id: str
    workflow_file: str
    context: WorkflowExecutionContext
    chat_history: tuple[ChatMessage, ...]
    strategy: Strategy
    compatibility: Compatibility


class Resumed(Struct, frozen=True):
    """How it went. `result` is what the callable gave; None where it was not called."""

    success: bool
    result: Any = None
    error_message: str = ""
    resumption: Resumption | None = None


class ResumeOrchestrator:
    """Resumes saved workflows.

    Args:
        manager: where they are kept.
        run: what runs a workflow, sync or async.
        budget: tokens that the resume message may take.
    """

    def __init__(
        self, manager: FileResumeStateManager, run: Run, *, budget: int = BUDGET
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
        """Resumes a workflow if it fits. A result that has to be awaited is given as it is.

        Args:
            workspace: the world now; looked at if None.
            strategy: one of `STRATEGIES`, or a key of `migration_strategies`; by default
                `partial_resume` where used tools are missing, else `continue`. Beginning anew
                is possible whatever the score.
            force: resume although it does not fit.

        Raises:
            StateError: the saved state cannot be read.
            UnknownName: no such strategy.
        """
        ready = self.prepare(workflow, workspace=workspace, strategy=strategy, force=force)
        if isinstance(ready, Resumed):
            return ready
        return Resumed(success=True, result=self._hand_over(ready), resumption=ready)

    async def resume_async(
        self,
        workflow: str,
        *,
        workspace: Workspace | None = None,
        strategy: str = "",
        force: bool = False,
    ) -> Resumed:
        """`resume`, with the result awaited where it has to be."""
        done = self.resume(workflow, workspace=workspace, strategy=strategy, force=force)
        if inspect.isawaitable(done.result):
            return replace(done, result=await done.result)
        return done

    def _hand_over(self, ready: Resumption) -> Any:
        return self.run(
            ready.workflow_file, ready.context, list(ready.chat_history), is_resume=True
        )

    def prepare(
        self,
        workflow: str,
        *,
        workspace: Workspace | None = None,
        strategy: str = "",
        force: bool = False,
    ) -> Resumption | Resumed:
        """What `resume` hands over, or why it would not."""
        chosen = _strategy(strategy)
        found = self.manager.load(workflow)
        if found is None:
            verdict = without_state(workflow)
            return Resumed(success=False, error_message="; ".join(verdict.reasons))
        world = workspace or look(found.state)
        verdict = assess(found.state, world, limits=self.manager.limits, force=force)
        anew = chosen in {"context_migration", "fresh_start"}
        if not verdict.can_resume and not anew:
            reasons = "; ".join([*verdict.warnings, *verdict.reasons])
            return Resumed(success=False, error_message=f"{workflow} does not fit: {reasons}")
        return resumption(found.state, verdict, chosen or _fitting(verdict), budget=self.budget)


def _strategy(name: str) -> Strategy | None:
    if not name:
        return None
    for known in STRATEGIES:
        if name == known:
            return known
    if name in _DESIGNED:
        return _DESIGNED[name]
    raise UnknownName("resume strategy", name, [*STRATEGIES, *_DESIGNED])


def _fitting(verdict: Compatibility) -> Strategy:
    return "partial_resume" if verdict.missing_tools else "continue"


def resumption(
    state: ResumeState,
    verdict: Compatibility,
    strategy: Strategy = "continue",
    *,
    budget: int = BUDGET,
) -> Resumption:
    """What a workflow is taken up with, by one strategy.

    `continue`: message, whole conversation, whole context. `partial_resume`: without the
    calls of missing tools and their results. `context_migration`: message and context, no
    conversation, nothing counts as done. `fresh_start`: a message that says so, nothing else.
    """
    message = resume_message(
        state,
        budget=budget,
        strategy=strategy,
        changed=verdict.warnings,
        missing_tools=verdict.missing_tools,
    )
    context = execution_context(state)
    chat: tuple[ChatMessage, ...] = state.chat_history
    if strategy == "partial_resume":
        chat = _without(chat, frozenset(verdict.missing_tools))
    elif strategy == "context_migration":
        chat = ()
        context = replace(context, execution_history=(), current_step=0)
    elif strategy == "fresh_start":
        chat = ()
        context = WorkflowExecutionContext(variables=_given(state))
    first = ChatMessage(role="system", content=message, timestamp=state.last_activity)
    return Resumption(
        workflow_id=state.workflow_id,
        workflow_file=state.workflow_file_path,
        context=context,
        chat_history=(first, *chat),
        strategy=strategy,
        compatibility=verdict,
    )


def _given(state: ResumeState) -> dict[str, Any]:
    """What a run is begun with, as far as the state holds it."""
    if not state.workflow_file_path:
        return {}
    return {"workflow_file": state.workflow_file_path}


def _without(chat: tuple[ChatMessage, ...], missing: frozenset[str]) -> tuple[ChatMessage, ...]:
    """The conversation without calls of missing tools and without their results."""
    gone: set[str] = set()
    kept: list[ChatMessage] = []
    for message in chat:
        calls = message.function_calls or ()
        gone |= {c.call_id for c in calls if c.function_name in missing}
        left = tuple(c for c in calls if c.function_name not in missing)
        if message.role == "tool" and message.tool_call_id in gone:
            continue
        if calls and not left and not message.content:
            continue
        kept.append(replace(message, function_calls=left or None) if calls else message)
    return tuple(kept)
