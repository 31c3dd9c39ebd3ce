"""A context manager and a decorator that capture tool calls."""

import asyncio
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeAlias, TypeVar, cast

from msgspec import Struct

from leftoff import codec
from leftoff.errors import LeftoffError
from leftoff.handover.resume_state.document import CompletedTool
from leftoff.live.tasks import now
from leftoff.live.telemetry import error_words, logger

F = TypeVar("F", bound=Callable[..., Any])
_Context: TypeAlias = "AbstractContextManager[TrackedCall]"
# The reasoning of a failed call that gave none.
FAILED = "Tool execution failed"


class Tracker(Protocol):
    """Receives finished tool calls."""

    def track_completed_tool(self, workflow: str | None, tool: CompletedTool) -> None: ...


class TrackedCall(Struct):
    """A call that runs. Who runs it sets its `result`; one without a result has succeeded."""

    result: Any = None


@contextmanager
def tracking(
    tracker: Tracker,
    workflow: str | None,
    name: str,
    parameters: Mapping[str, object] | None = None,
    *,
    reasoning: str | None = None,
) -> Iterator[TrackedCall]:
    """A context manager around one call, which is reported to the tracker: its result, or its
    error, which propagates; if the tracker fails, that is logged and the call is not
    affected."""
    call, error = TrackedCall(), None
    began = now().isoformat(timespec="milliseconds")
    try:
        yield call
    except BaseException as raised:
        error = raised
        raise
    finally:
        failed = "" if error is None else f"ERROR: {str(error) or type(error).__name__}"
        tool = CompletedTool(
            function_name=name,
            parameters=dict(parameters or {}),
            result=failed or result_text(call.result),
            executed_at=began,
            success=not failed,
            ai_reasoning=reasoning or (FAILED if failed else None),
        )
        try:
            tracker.track_completed_tool(workflow, tool)
        except (LeftoffError, OSError) as failure:
            logger.warning("a call of %s is not saved: %s", name, error_words(failure))


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
        def begun(args: tuple[object, ...], kwargs: codec.JsonObject) -> _Context:
            given = _arguments(function, args, kwargs)
            own, why = given.pop("workflow_id", None), given.pop("reasoning", None)
            return tracking(
                tracker,
                workflow or (str(own) if own else None),
                name or function.__name__,
                given,
                reasoning=reasoning or (str(why) if why else None),
            )

        @functools.wraps(function)
        async def awaited(*args: object, **kwargs: object) -> object:
            context = begun(args, kwargs)
            call = context.__enter__()
            try:
                call.result = await function(*args, **kwargs)
            except BaseException as error:
                # Saving waits for the disk, so it must not run on the event loop.
                ended = type(error), error, error.__traceback__
                await asyncio.to_thread(context.__exit__, *ended)
                raise
            await asyncio.to_thread(context.__exit__, None, None, None)
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
