"""A context manager and a decorator that capture tool calls."""

import asyncio
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol, Self, TypeVar, cast

from msgspec.structs import replace

from leftoff import codec
from leftoff.errors import LeftoffError
from leftoff.handover.resume_state.document import CompletedTool
from leftoff.live.tasks import now
from leftoff.live.telemetry import logged

F = TypeVar("F", bound=Callable[..., Any])
# The reasoning of a failed call that gave none.
FAILED = "Tool execution failed"


class Tracker(Protocol):
    """Receives finished tool calls."""

    def track_completed_tool(self, workflow: str | None, tool: CompletedTool) -> None: ...


class Ending:
    """A context manager, also an asynchronous one, that calls `end` with the error, if any."""

    def end(self, error: BaseException | None = None) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        self.end(error)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _: object, error: BaseException | None, trace: object) -> None:
        # Saving waits for the disk, so it must not run on the event loop.
        await asyncio.to_thread(self.end, error)


class TrackedCall(Ending):
    """A call that runs: a context manager around it, or `end` reports it to the tracker. Who
    runs it sets its `result`; one without a result has succeeded."""

    def __init__(
        self,
        tracker: Tracker,
        workflow: str | None,
        name: str,
        parameters: Mapping[str, object] | None = None,
        *,
        reasoning: str | None = None,
    ) -> None:
        self.result: Any = None
        self._tracker, self._workflow = tracker, workflow
        began = now().isoformat(timespec="milliseconds")
        self._tool = CompletedTool(
            function_name=name,
            parameters=dict(parameters or {}),
            executed_at=began,
            success=True,
            ai_reasoning=reasoning or None,
        )

    def end(self, error: BaseException | None = None) -> None:
        """Reports the result or the error; if the tracker fails, that is logged."""
        if error is None:
            tool = replace(self._tool, result=result_text(self.result))
        else:
            failed = f"ERROR: {str(error) or type(error).__name__}"
            why = self._tool.ai_reasoning or FAILED
            tool = replace(self._tool, result=failed, success=False, ai_reasoning=why)
        name, errors = tool.function_name, (LeftoffError, OSError)
        with logged("a call of %s is not saved: %s", name, errors=errors):
            self._tracker.track_completed_tool(self._workflow, tool)


def result_text(result: object) -> str | None:
    """A result as text; None if there is none."""
    if result is None or isinstance(result, str):
        return result
    if isinstance(result, (dict, list, tuple, bool, int, float)):
        return codec.dumps(codec.to_valid_json(result)).decode().strip()
    return str(result)


def tracked(
    tracker: Tracker,
    workflow: str | None = None,
    *,
    name: str = "",
    reasoning: str | None = None,
) -> Callable[[F], F]:
    """A decorator: every call of the function, sync or async, is tracked. Without a workflow
    and a reason, they are the arguments `workflow_id` and `reasoning` of the call."""

    def decorate(function: F) -> F:
        def begun(args: tuple[object, ...], kwargs: codec.JsonObject) -> TrackedCall:
            given = _arguments(function, args, kwargs)
            own, why = given.pop("workflow_id", None), given.pop("reasoning", None)
            return TrackedCall(
                tracker,
                workflow or (str(own) if own else None),
                name or function.__name__,
                given,
                reasoning=reasoning or (str(why) if why else None),
            )

        @functools.wraps(function)
        async def awaited(*args: object, **kwargs: object) -> object:
            async with begun(args, kwargs) as call:
                call.result = await function(*args, **kwargs)
            return call.result

        @functools.wraps(function)
        def called(*args: object, **kwargs: object) -> object:
            with begun(args, kwargs) as call:
                call.result = function(*args, **kwargs)
            return call.result

        return cast("F", awaited if inspect.iscoroutinefunction(function) else called)

    return decorate


def _arguments(
    function: Callable[..., object], args: tuple[object, ...], kwargs: codec.JsonObject
) -> codec.JsonObject:
    """The arguments of a call by name, with defaults and without `self`."""
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
    return given
