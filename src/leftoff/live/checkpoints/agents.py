"""Asking an agent for its dump, with a limit to the waiting."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

T = TypeVar("T")

Agent: TypeAlias = Callable[[str], Any]
"""Takes an instruction; may be a coroutine function. What it gives back is its dump: a text
for `project.md`, a mapping {"project": ..., "specific": ...}, or nothing where it wrote into
the files itself."""


class Answer(Struct, frozen=True):
    """What an agent gave back.

    Attributes:
        project, specific: its dump for either file.
        why: what went wrong, "" if nothing.
    """

    project: str = ""
    specific: str = ""
    why: str = ""


def answer_of(given: Any) -> Answer:
    """What a call gave back, as far as it is text."""
    if isinstance(given, str):
        return Answer(given)
    if isinstance(given, Mapping):
        found = {k: v for k, v in given.items() if isinstance(v, str)}
        return Answer(found.get("project", ""), found.get("specific", ""))
    return Answer()


def ask(agent: Agent, instruction: str, seconds: float) -> Answer:
    """Asks an agent and waits at most `seconds`; with 0 it is told and nobody waits.

    An agent that takes longer goes on in a thread of its own.
    """
    answers: list[Answer] = []

    def call() -> None:
        try:
            given = agent(instruction)
            if inspect.isawaitable(given):
                given = asyncio.run(_awaited(given))
            answers.append(answer_of(given))
        except BaseException as error:  # noqa: BLE001 - whatever an agent raises is its own
            answers.append(Answer(why=f"it failed: {type(error).__name__}"))

    thread = threading.Thread(target=call, name="leftoff-dump", daemon=True)
    thread.start()
    if seconds <= 0:
        return Answer(why="nobody waited")
    thread.join(seconds)
    return answers[0] if answers else Answer(why=f"no answer within {seconds:g} s")


async def _awaited(given: Awaitable[T]) -> T:
    return await given


_told: set[asyncio.Future[Any]] = set()


async def ask_async(agent: Agent, instruction: str, seconds: float) -> Answer:
    """As `ask`, on the event loop that is running; an agent that is no coroutine function is
    called in a thread. One that takes too long is cancelled."""
    call: Awaitable[Any]
    if inspect.iscoroutinefunction(agent) or inspect.iscoroutinefunction(
        getattr(agent, "__call__", None)  # noqa: B004 - the method, not whether there is one
    ):
        call = agent(instruction)
    else:
        return await asyncio.to_thread(ask, agent, instruction, seconds)
    if seconds <= 0:
        task = asyncio.ensure_future(call)
        _told.add(task)
        task.add_done_callback(_forget)
        return Answer(why="nobody waited")
    try:
        return answer_of(await asyncio.wait_for(call, seconds))
    except TimeoutError:
        return Answer(why=f"no answer within {seconds:g} s")
    except Exception as error:  # noqa: BLE001 - whatever an agent raises is its own
        return Answer(why=f"it failed: {type(error).__name__}")


def _forget(task: asyncio.Future[Any]) -> None:
    _told.discard(task)
    if not task.cancelled():
        task.exception()  # looked at, so that the loop does not complain


def within(seconds: float, call: Callable[[], T]) -> T | None:
    """What `call` gives within `seconds`, None if it takes longer.

    Raises:
        Exception: what `call` raises.
    """
    done: list[tuple[T | None, BaseException | None]] = []

    def run() -> None:
        try:
            done.append((call(), None))
        except BaseException as error:  # noqa: BLE001 - raised again below
            done.append((None, error))

    thread = threading.Thread(target=run, name="leftoff-recording", daemon=True)
    thread.start()
    thread.join(seconds)
    if not done:
        return None
    value, error = done[0]
    if error is not None:
        raise error
    return value
