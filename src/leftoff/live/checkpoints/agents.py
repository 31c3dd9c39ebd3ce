"""Asks an agent for its dump, with a time limit."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping
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

    def call() -> object:
        given = agent(instruction)
        return asyncio.run(_awaited(given)) if inspect.isawaitable(given) else given

    # A callable object may be a coroutine function by its method.
    is_async = any(
        map(inspect.iscoroutinefunction, (agent, getattr(agent, "__call__", None)))  # noqa: B004
    )
    try:
        if loop is not None and is_async:
            future = asyncio.run_coroutine_threadsafe(agent(instruction), loop)
        else:
            future = in_thread(call)
        if seconds <= 0:
            _unawaited.add(future)
            future.add_done_callback(_unawaited.discard)
            return Answer(why="no answer was awaited")
        if not wait([future], seconds).done:
            future.cancel()
            return Answer(why=f"no answer within {seconds:g} s")
        return to_answer(future.result())
    except BaseException as error:  # noqa: BLE001 - whatever an agent raises is its own
        return Answer(why=f"it failed: {type(error).__name__}")


async def _awaited(given: Awaitable[T]) -> T:
    return await given


# A loop holds its tasks weakly: what nobody waits for is held here until it is done.
_unawaited: set[Future[Any]] = set()


def in_thread(call: Callable[[], T]) -> Future[T]:
    """Calls a function in a thread of its own, which does not keep the program running."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised by `future.result`
            future.set_exception(error)

    threading.Thread(target=run, name="leftoff-call", daemon=True).start()
    return future
