"""Semantic Kernel for Python: calls of functions captured as they happen, and `ChatHistory`
read and made.

    capture(kernel, manager, workflow)            every call is a tool of the resume state
    manager.save_resume_state(workflow, context, remembered(history))
    history = chat_history(state.chat_history)    the conversation, for who goes on

The package `semantic-kernel` (`pip install 'leftoff[semantic-kernel]'`) is imported on first
use.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from importlib import import_module
from inspect import isasyncgen, isgenerator
from typing import Any, TypeAlias

from msgspec import Struct, field

from leftoff import codec
from leftoff.api import Collector
from leftoff.errors import UsageError
from leftoff.handover.resume_state.conversation import Conversation, shortened
from leftoff.handover.resume_state.document import ChatMessage
from leftoff.live.resume_states.tracking import Tracker, Tracking, told
from leftoff.live.telemetry import logger
from leftoff.model import Message, Text, ToolCall, ToolResult
from leftoff.redaction.redactor import Redactor
from leftoff.text.truncation import short, whole

_STREAMED = 100_000
"""Code points that are kept of a streamed result."""

_PARAMETER = 2_000
"""Code points that are kept of a parameter that is no plain value."""

_OURS = frozenset({"workflow_id", "reasoning"})
"""Arguments that are for us: to which workflow a call belongs, and why it is made."""


class Captured(Struct, frozen=True):
    """A call that came back.

    Attributes:
        name: Plugin.function.
        result: as text; None for nothing, and where it failed.
        error: what it failed with, "" if it did not.
        seconds: how long it took.
        workflow: its `workflow_id` argument, or that of the filter.
    """

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    result: str | None = None
    error: str = ""
    seconds: float = 0
    workflow: str | None = None


Taker: TypeAlias = Tracker | Callable[[Captured], object]
"""What calls are handed to: a `FileResumeStateManager`, or any function."""


class ToolCapture:
    """A function-invocation filter that hands on every call, completed or failed.

    A call that gives nothing has succeeded. A streamed result is handed on when the stream has
    ended. Where handing on fails, that is logged and the call itself is not disturbed.

    Args:
        taker: what the calls are handed to.
        workflow: to which calls without an argument `workflow_id` belong; None is the session.
    """

    def __init__(self, taker: Taker, workflow: str | None = None) -> None:
        self._taker, self._workflow = taker, workflow

    async def __call__(self, context: Any, next: Callable[[Any], Awaitable[None]]) -> None:
        call = _Call(self._taker, self._workflow, context)
        try:
            await next(context)
        except BaseException as error:
            # Keeping it waits for a disk, so that is done beside the loop.
            await asyncio.to_thread(call.end, None, error)
            raise
        value = None if context.result is None else context.result.value
        if isasyncgen(value):
            context.result.value = _heard(value, call)
        elif isgenerator(value):
            context.result.value = _heard_here(value, call)
        else:
            await asyncio.to_thread(call.end, _text(value), None)


class _Call:
    """A call that is under way."""

    def __init__(self, taker: Taker, workflow: str | None, context: Any) -> None:
        function, given = context.function, dict(context.arguments)
        plugin = function.plugin_name
        self._name = f"{plugin}.{function.name}" if plugin else str(function.name)
        self._parameters = {k: _plain(v) for k, v in given.items() if k not in _OURS}
        self._workflow = str(given.get("workflow_id") or "") or workflow
        self._began = time.monotonic()
        self._taker: Any = taker
        self._tracking: Tracking | None = None
        if hasattr(taker, "track_completed_tool"):
            reasoning = str(given.get("reasoning") or "") or None
            self._tracking = Tracking(
                taker, self._workflow, self._name, self._parameters, reasoning
            )
            self._tracking.__enter__()

    def end(self, result: str | None, error: BaseException | None) -> None:
        """Hands the call on."""
        if self._tracking is not None:
            self._tracking.result = result
            self._tracking.__exit__(None if error is None else type(error), error, None)
            return
        failed = "" if error is None else str(error) or type(error).__name__
        seconds = round(time.monotonic() - self._began, 6)
        made = Captured(self._name, self._parameters, result, failed, seconds, self._workflow)
        try:
            self._taker(made)
        except Exception as failure:  # noqa: BLE001 - what listens must not break what works
            words = Redactor().text(f"{type(failure).__name__}: {failure}")
            logger.warning("a call of %s was not taken: %s", self._name, words)


async def _heard(stream: Any, call: _Call) -> AsyncIterator[Any]:
    """A stream as it comes; its end is the call's."""
    heard = _Heard()
    try:
        async for piece in stream:
            heard.add(piece)
            yield piece
    except GeneratorExit:  # nobody wants to hear the rest
        call.end(heard.text(), None)
        raise
    except BaseException as error:
        await asyncio.to_thread(call.end, None, error)
        raise
    await asyncio.to_thread(call.end, heard.text(), None)


def _heard_here(stream: Any, call: _Call) -> Iterator[Any]:
    """The same for a stream that is not awaited."""
    heard = _Heard()
    try:
        for piece in stream:
            heard.add(piece)
            yield piece
    except GeneratorExit:
        call.end(heard.text(), None)
        raise
    except BaseException as error:
        call.end(None, error)
        raise
    call.end(heard.text(), None)


class _Heard:
    """The text of a stream, as far as it is kept."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._room = _STREAMED

    def add(self, piece: Any) -> None:
        words = "".join(map(str, piece)) if isinstance(piece, list) else str(piece)
        if self._room > 0:
            self._pieces.append(words)
            self._room -= len(words)

    def text(self) -> str:
        return whole("".join(self._pieces), _STREAMED)


def _text(value: Any) -> str | None:
    """A result as text: contents of a model by their words."""
    if isinstance(value, list) and value and all(hasattr(v, "content_type") for v in value):
        return "\n".join(map(str, value))
    return told(value)


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it; another object by its text, cut."""
    if value is None or isinstance(value, (bool, int, float, str, list, tuple, dict)):
        return shortened(codec.mended(value))
    return short(f"{type(value).__name__}: {value}", _PARAMETER, "…")


def capture(kernel: Any, taker: Taker, workflow: str | None = None) -> ToolCapture:
    """Hands every call of the kernel's functions to `taker`; gives the filter, which
    `kernel.remove_filter` takes out again by its id.

    Args:
        kernel: a `semantic_kernel.Kernel`.
        taker: a `FileResumeStateManager`, or a function that takes a `Captured`.
        workflow: to which calls without an argument `workflow_id` belong.
    """
    made = ToolCapture(taker, workflow)
    kernel.add_filter("function_invocation", made)
    return made


# -- conversations ---------------------------------------------------------------------------


def messages_of(history: Any) -> list[Message]:
    """The messages of a `ChatHistory`, as its serialised form is read."""
    if not len(history):
        return []
    return _read(history.serialize().encode())


def remembered(history: Any) -> tuple[ChatMessage, ...]:
    """A `ChatHistory` as a resume state keeps it: what was asked, said, called and given back.

    Values are raw; whoever keeps them redacts.
    """
    conversation = Conversation()
    for message in messages_of(history):
        conversation.see(message)
    return tuple(words.chat for words in conversation.words)


def chat_history(messages: Iterable[Message | ChatMessage]) -> Any:
    """A `ChatHistory` of messages of any recording, or of a resume state's.

    Results stand in messages of the tool; reasoning and attachments are left out, and so are
    messages of which nothing remains.

    Raises:
        UsageError: semantic-kernel is not installed.
    """
    given = list(messages)
    if any(isinstance(m, ChatMessage) for m in given):
        kept = [m.to_dict() for m in given if isinstance(m, ChatMessage)]
        given = list(_read(codec.dumps(kept)))
    contents = _contents()
    names: dict[str, str] = {}
    made: list[Any] = []
    for message in given:
        assert isinstance(message, Message)
        role = contents.AuthorRole(message.role)
        items: list[Any] = []
        for part in message.parts:
            if type(part) is Text and part.text:
                items.append(contents.TextContent(text=part.text))
            elif type(part) is ToolCall:
                names[part.id] = part.name
                plugin, _, name = part.name.rpartition(".")
                arguments = codec.dumps(codec.mended(part.input)).decode().strip()
                items.append(
                    contents.FunctionCallContent(
                        id=part.id,
                        plugin_name=plugin or None,
                        function_name=name,
                        arguments=arguments,
                    )
                )
            elif type(part) is ToolResult:
                plugin, _, name = names.get(part.call_id, "unknown").rpartition(".")
                result = contents.FunctionResultContent(
                    id=part.call_id,
                    plugin_name=plugin or None,
                    function_name=name,
                    result=part.text,
                )
                tool = contents.AuthorRole.TOOL
                made.append(contents.ChatMessageContent(role=tool, items=[result]))
        if items:
            made.append(
                contents.ChatMessageContent(
                    role=role, items=items, ai_model_id=message.model or None
                )
            )
    return contents.ChatHistory(messages=made)


def _read(data: bytes) -> list[Message]:
    reading = Collector("<chat history>", "semantic_kernel")
    reading.feed(data)
    reading.close()
    return reading.take()


def _contents() -> Any:
    try:
        return import_module("semantic_kernel.contents")
    except ImportError as error:
        raise UsageError(
            "semantic-kernel is not installed: pip install 'leftoff[semantic-kernel]'"
        ) from error
