"""Asks an agent for its dump, with a time limit."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future, wait
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

T = TypeVar("T")
# Takes an instruction and returns its dump; may be a coroutine function. A dump is a text for
# `project.md`, a mapping {"project": ..., "specific": ...}, or None if the agent wrote into the
# files itself.
Agent: TypeAlias = Callable[[str], Any]


class Answer(Struct, frozen=True):
    """The dump of an agent for either file, or why there is none; "" if nothing failed."""

    project: str = ""
    specific: str = ""
    why: str = ""


def to_answer(given: object) -> Answer:
    """Converts the return value of an agent."""
    if isinstance(given, str):
        return Answer(given)
    if isinstance(given, Mapping):
        found = {k: v for k, v in given.items() if isinstance(v, str)}
        return Answer(found.get("project", ""), found.get("specific", ""))
    return Answer()


def ask(
    agent: Agent,
    instruction: str,
    seconds: float,
    loop: asyncio.AbstractEventLoop | None = None,
) -> Answer:
    """Calls an agent and waits at most `seconds`; with 0 it does not wait for an answer.

    A coroutine function runs on `loop`, from another thread than this one, and is cancelled at
    the timeout. Without a loop it runs in a thread, as any other agent, and goes on after it.
    """

    def call() -> Answer:
        given = agent(instruction)
        return to_answer(asyncio.run(_awaited(given)) if inspect.isawaitable(given) else given)

    # A callable object may be a coroutine function by its method.
    is_async = any(
        map(inspect.iscoroutinefunction, (agent, getattr(agent, "__call__", None)))  # noqa: B004
    )
    try:
        if loop is not None and is_async:
            answer = _answer_on(loop, agent(instruction), seconds)
        else:
            answer = run_with_timeout(max(0.0, seconds), call)
    except BaseException as error:  # noqa: BLE001 - whatever an agent raises is its own
        answer = Answer(why=f"it failed: {type(error).__name__}")
    if seconds <= 0:
        return Answer(why="no answer was awaited")
    return answer or Answer(why=f"no answer within {seconds:g} s")


async def _awaited(given: Awaitable[T]) -> T:
    return await given


# A loop holds its tasks weakly: what nobody waits for is held here until it is done.
_unawaited: set[Future[object]] = set()


def _answer_on(
    loop: asyncio.AbstractEventLoop, call: Coroutine[None, None, object], seconds: float
) -> Answer | None:
    future = asyncio.run_coroutine_threadsafe(call, loop)
    if seconds <= 0:
        _unawaited.add(future)
        future.add_done_callback(_unawaited.discard)
        return None
    if not wait([future], seconds).done:
        future.cancel()
        return None
    return to_answer(future.result())


def run_with_timeout(seconds: float, call: Callable[[], T]) -> T | None:
    """The result of `call`, or what it raises; None if it takes longer than `seconds`."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised by `future.result`
            future.set_exception(error)

    threading.Thread(target=run, name="leftoff-call", daemon=True).start()
    return future.result() if wait([future], seconds).done else None
