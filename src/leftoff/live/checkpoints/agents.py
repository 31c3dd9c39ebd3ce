"""Asks an agent for its dump, with a time limit."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping
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


def ask(agent: Agent, instruction: str, seconds: float) -> Answer:
    """Calls an agent and waits at most `seconds`; with 0 it does not wait for an answer.

    An agent that takes longer continues in its thread.
    """

    def call() -> Answer:
        given = agent(instruction)
        return to_answer(asyncio.run(_awaited(given)) if inspect.isawaitable(given) else given)

    try:
        answer = run_with_timeout(max(0.0, seconds), call)
    except BaseException as error:  # noqa: BLE001 - whatever an agent raises is its own
        answer = Answer(why=f"it failed: {type(error).__name__}")
    if seconds <= 0:
        return Answer(why="no answer was awaited")
    return answer or Answer(why=f"no answer within {seconds:g} s")


async def _awaited(given: Awaitable[T]) -> T:
    return await given


_unawaited: set[asyncio.Future[Any]] = set()


async def ask_async(agent: Agent, instruction: str, seconds: float) -> Answer:
    """`ask` on the running event loop. A coroutine function is cancelled at the timeout; any
    other agent runs in a thread."""
    call: Awaitable[Any]
    if inspect.iscoroutinefunction(agent) or inspect.iscoroutinefunction(
        getattr(agent, "__call__", None)  # noqa: B004 - the method, not whether there is one
    ):
        call = agent(instruction)
    else:
        return await asyncio.to_thread(ask, agent, instruction, seconds)
    if seconds <= 0:
        task = asyncio.ensure_future(call)
        _unawaited.add(task)
        task.add_done_callback(_forget)
        return Answer(why="no answer was awaited")
    try:
        return to_answer(await asyncio.wait_for(call, seconds))
    except TimeoutError:
        return Answer(why=f"no answer within {seconds:g} s")
    except Exception as error:  # noqa: BLE001 - whatever an agent raises is its own
        return Answer(why=f"it failed: {type(error).__name__}")


def _forget(task: asyncio.Future[Any]) -> None:
    _unawaited.discard(task)
    if not task.cancelled():
        task.exception()  # retrieved, else the event loop logs it


def run_with_timeout(seconds: float, call: Callable[[], T]) -> T | None:
    """The result of `call`, or what it raises; None if it takes longer than `seconds`."""
    done: list[tuple[T | None, BaseException | None]] = []

    def run() -> None:
        try:
            done.append((call(), None))
        except BaseException as error:  # noqa: BLE001 - raised again below
            done.append((None, error))

    thread = threading.Thread(target=run, name="leftoff-call", daemon=True)
    thread.start()
    thread.join(seconds)
    if not done:
        return None
    value, error = done[0]
    if error is not None:
        raise error
    return value
