"""Semantic Kernel for Python: captures function calls, and converts `ChatHistory` both ways.

    capture(kernel, manager, workflow)            every call is a tool of the resume state
    manager.save_resume_state(workflow, context, remembered(history))
    history = chat_history(state.chat_history)    the saved conversation as a ChatHistory

The package `semantic-kernel` (`pip install 'leftoff[semantic-kernel]'`) is imported on first
use."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AsyncExitStack
from inspect import isasyncgen, isgenerator
from typing import Any

from leftoff import codec
from leftoff.api import MessageCollector
from leftoff.handover.resume_state.conversation import ConversationTail, truncate_values
from leftoff.handover.resume_state.document import ChatMessage
from leftoff.live.resume_states.tracking import Ending, TrackedCall, Tracker, result_text
from leftoff.model import Message, Text, ToolCall, ToolResult
from leftoff.registry import imported
from leftoff.text.truncation import short, whole

# Maximum length of a captured streamed result, in code points.
_MAX_STREAM_CHARS = 100_000
# Maximum length of a parameter that is not a JSON value, in code points.
_MAX_PARAMETER_CHARS = 2_000


class ToolCapture:
    """A function-invocation filter that reports every call, completed or failed, to a tracker
    such as `FileResumeStateManager`; calls without a `workflow_id` argument belong to
    `workflow`, None is the session.

    A call without a result has succeeded. A call with a streamed result is reported when the
    stream has ended. If the tracker fails, that is logged and the call is not affected."""

    def __init__(self, tracker: Tracker, workflow: str | None = None) -> None:
        self._tracker, self._workflow = tracker, workflow

    async def __call__(self, context: Any, next: Callable[[object], Awaitable[None]]) -> None:
        function, given = context.function, dict(context.arguments)
        plugin = function.plugin_name
        # For us, not for the function: the workflow of the call, and why it is made.
        own, why = given.pop("workflow_id", None), given.pop("reasoning", None)
        call = TrackedCall(
            self._tracker,
            str(own or "") or self._workflow,
            f"{plugin}.{function.name}" if plugin else str(function.name),
            {k: _plain(v) for k, v in given.items()},
            reasoning=str(why or ""),
        )
        async with AsyncExitStack() as running:
            await running.enter_async_context(call)
            await next(context)
            value = None if context.result is None else context.result.value
            if isasyncgen(value) or isgenerator(value):
                running.pop_all()  # the call ends with the stream
                captured = _capture_async_stream if isasyncgen(value) else _capture_stream
                context.result.value = captured(value, call)
            else:
                call.result = _text(value)


async def _capture_async_stream(stream: Any, call: TrackedCall) -> AsyncIterator[Any]:
    """Passes a stream through and ends the call with it."""
    async with _StreamText(call) as collected:
        async for piece in stream:
            collected.add(piece)
            yield piece


def _capture_stream(stream: Any, call: TrackedCall) -> Iterator[object]:
    with _StreamText(call) as collected:
        for piece in stream:
            collected.add(piece)
            yield piece


class _StreamText(Ending):
    """The text of a streamed result, with which its call ends."""

    def __init__(self, call: TrackedCall) -> None:
        self._call = call
        self._pieces: list[str] = []
        self._room_left = _MAX_STREAM_CHARS

    def add(self, piece: object) -> None:
        words = "".join(map(str, piece)) if isinstance(piece, list) else str(piece)
        if self._room_left > 0:
            self._pieces.append(words)
            self._room_left -= len(words)

    def end(self, error: BaseException | None = None) -> None:
        self._call.result = whole("".join(self._pieces), _MAX_STREAM_CHARS)
        # It is no error that the consumer stopped early.
        self._call.end(None if isinstance(error, GeneratorExit) else error)


def _text(value: object) -> str | None:
    """A result as text; a list of model contents as their texts, one on each line."""
    if isinstance(value, list) and value and all(hasattr(v, "content_type") for v in value):
        return "\n".join(map(str, value))
    return result_text(value)


def _plain(value: object) -> object:
    """A parameter as a JSON value; another object as its text, truncated."""
    if value is None or isinstance(value, (bool, int, float, str, list, tuple, dict)):
        return truncate_values(codec.to_valid_json(value))
    return short(f"{type(value).__name__}: {value}", _MAX_PARAMETER_CHARS, "…")


def capture(kernel: Any, tracker: Tracker, workflow: str | None = None) -> ToolCapture:
    """Reports every call of a `semantic_kernel.Kernel`'s functions to a tracker. Returns the
    filter; `kernel.remove_filter` removes it by its id."""
    tool_filter = ToolCapture(tracker, workflow)
    kernel.add_filter("function_invocation", tool_filter)
    return tool_filter


# -- conversations ---------------------------------------------------------------------------


def messages_of(history: Any) -> list[Message]:
    """The messages of a `ChatHistory`, read from its serialised form."""
    if not len(history):
        return []
    return _read(history.serialize().encode())


def remembered(history: object) -> tuple[ChatMessage, ...]:
    """A `ChatHistory` as the `chat_history` of a resume state: texts, calls and results, raw;
    stores redact them."""
    conversation = ConversationTail()
    for message in messages_of(history):
        conversation.see(message)
    return tuple(chat for _, chat in conversation.entries)


def chat_history(messages: Iterable[Message | ChatMessage]) -> Any:
    """A `ChatHistory` of the messages of any recording or of a resume state. `UsageError` where
    semantic-kernel is not installed.

    Results become messages of the tool role. Reasoning, attachments and messages that are then
    empty are left out."""
    given = list(messages)
    saved = [m.to_dict() for m in given if isinstance(m, ChatMessage)]
    if saved:
        given = list(_read(codec.dumps(saved)))
    what = "semantic-kernel is not installed"
    contents: Any = imported("semantic_kernel.contents", what, "semantic-kernel")
    names: dict[str, str] = {}
    made: list[object] = []
    for message in given:
        assert isinstance(message, Message)
        role = contents.AuthorRole(message.role)
        items: list[object] = []
        for part in message.parts:
            if type(part) is Text and part.text:
                items.append(contents.TextContent(text=part.text))
            elif type(part) is ToolCall:
                names[part.id] = part.name
                arguments = codec.dumps(codec.to_valid_json(part.input)).decode().strip()
                call = {**_function(part.id, part.name), "arguments": arguments}
                items.append(contents.FunctionCallContent(**call))
            elif type(part) is ToolResult:
                name = names.get(part.call_id, "unknown")
                result = {**_function(part.call_id, name), "result": part.text}
                shown = [contents.FunctionResultContent(**result)]
                tool = contents.AuthorRole.TOOL
                made.append(contents.ChatMessageContent(role=tool, items=shown))
        if items:
            model = message.model or None
            said = contents.ChatMessageContent(role=role, items=items, ai_model_id=model)
            made.append(said)
    return contents.ChatHistory(messages=made)


def _function(call_id: str, name: str) -> dict[str, object]:
    plugin, _, function = name.rpartition(".")
    return {"id": call_id, "plugin_name": plugin or None, "function_name": function}


def _read(data: bytes) -> list[Message]:
    collector = MessageCollector("<chat history>", "semantic_kernel")
    collector.feed(data)
    collector.close()
    return collector.take()
