"""A context manager and a decorator that capture tool calls."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar, cast

from leftoff import codec
from leftoff.errors import LeftoffError
from leftoff.handover.resume_state.document import CompletedTool
from leftoff.live.tasks import now
from leftoff.live.telemetry import error_words, logger

F = TypeVar("F", bound=Callable[..., Any])
# The reasoning of a failed call that gave none.
FAILED = "Tool execution failed"


class Tracker(Protocol):
    """Receives finished tool calls."""

    def track_completed_tool(self, workflow: str | None, tool: CompletedTool) -> None: ...


class Tracking:
    """A context manager around one call. Set `result` inside; an exception is recorded as the
    call's error and propagates.

    A call without a result has succeeded. If the tracker fails, that is logged and the call is
    not affected.
    """

    def __init__(
        self,
        tracker: Tracker,
        workflow: str | None,
        name: str,
        parameters: Mapping[str, Any] | None = None,
        reasoning: str | None = None,
    ) -> None:
        self.result: Any = None
        self._tracker = tracker
        self._workflow = workflow
        self._name = name
        self._parameters = dict(parameters or {})
        self._reasoning = reasoning
        self._began = ""

    def __enter__(self) -> Self:
        self._began = now().isoformat(timespec="milliseconds")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        tool = CompletedTool(
            function_name=self._name,
            parameters=self._parameters,
            result=result_text(self.result)
            if error is None
            else f"ERROR: {str(error) or type(error).__name__}",
            executed_at=self._began,
            success=error is None,
            ai_reasoning=self._reasoning or (None if error is None else FAILED),
        )
        try:
            self._tracker.track_completed_tool(self._workflow, tool)
        except (LeftoffError, OSError) as failure:
            logger.warning("a call of %s is not saved: %s", self._name, error_words(failure))


def result_text(result: object) -> str | None:
    """A result as text; None if there is none."""
    if result is None or isinstance(result, str):
        return result
    if isinstance(result, (dict, list, tuple, bool, int, float)):
        return codec.dumps(codec.to_valid_json(result)).decode().strip()
    return str(result)


class Tracked:
    """The decorator: see `FileResumeStateManager.tracked`."""

    def __init__(
        self, tracker: Tracker, workflow: str | None, name: str, reasoning: str | None
    ) -> None:
        self._tracker = tracker
        self._workflow = workflow
        self._name = name
        self._reasoning = reasoning

    def __call__(self, function: F) -> F:
        """The function, tracked; async if it is."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                import asyncio

                call = self._tracking(function, args, kwargs)
                call.__enter__()
                try:
                    call.result = await function(*args, **kwargs)
                except BaseException as error:
                    # Saving waits for the disk, so it must not run on the event loop.
                    await asyncio.to_thread(call.__exit__, type(error), error, None)
                    raise
                await asyncio.to_thread(call.__exit__, None, None, None)
                return call.result

            return cast("F", awaited)

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self._tracking(function, args, kwargs) as call:
                call.result = function(*args, **kwargs)
            return call.result

        return cast("F", called)

    def _tracking(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: codec.JsonObject
    ) -> Tracking:
        signature = inspect.signature(function)
        try:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = dict(bound.arguments)
        except TypeError:  # the call itself will raise it
            given = dict(kwargs)
        for parameter in signature.parameters.values():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                given |= given.pop(parameter.name, {})  # under the names that they were given
        given.pop("self", None)
        workflow, reasoning = given.get("workflow_id"), given.get("reasoning")
        return Tracking(
            self._tracker,
            self._workflow or (str(workflow) if workflow else None),
            self._name or function.__name__,
            {k: v for k, v in given.items() if k not in {"workflow_id", "reasoning"}},
            self._reasoning or (str(reasoning) if reasoning else None),
        )
