"""The end of a recorded conversation: its messages, and its calls with what came back."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from leftoff.formats.vocabulary import kind_of
from leftoff.handover.resume_state.calls import described
from leftoff.handover.resume_state.document import ChatMessage, CompletedTool, FunctionCall
from leftoff.model import Message, Text, ToolCall, ToolResult
from leftoff.redaction.redactor import Redactor
from leftoff.text.truncation import short, whole

HELD = 600
"""Calls, and messages, that are remembered while a recording is read: the last ones."""

RESULT = 4_000
"""Code points kept of a tool's result, and of one parameter."""

WORDS = 20_000
"""Code points kept of a message."""

REASON = 300
"""Code points kept of why a tool was called."""

_SHORTENED = "\n… [{count} characters left out] …\n"
_NO_WORK = frozenset({"finish", "ask", "plan", "think"})
"""Kinds of calls that leave nothing undone when they do not come back."""

_DONE = frozenset({"ok", "unknown"})


def shortened(value: Any, limit: int = RESULT, gate: Redactor | None = None) -> Any:
    """A value with its long texts cut in the middle, at every depth; each says how much is
    missing. The end is kept, since that is where a command says how it went.

    What is cut is redacted first: behind the cut, a key may stand without the words that tell
    that it is one.

    Args:
        gate: the redactor of the document that the value is for.
    """
    gate = gate or Redactor()
    if isinstance(value, str):
        if len(value) <= limit:
            return value
        safe = gate.text(value)
        left = len(safe) - limit
        if left <= 0:
            return safe
        head = limit // 2
        return f"{safe[:head]}{_SHORTENED.format(count=left)}{safe[head - limit :]}"
    if isinstance(value, dict):
        return {str(k): shortened(v, limit, gate) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [shortened(v, limit, gate) for v in value]
    return value


class _Call(Struct):
    """A call, and what came back if anything did."""

    message: int
    id: str
    recorded: str
    name: str
    parameters: dict[str, Any]
    at: str
    why: str
    result: ToolResult | None = None


class _Words(Struct):
    """A message of the main conversation, or the results in it."""

    message: int
    role: str
    response: str
    chat: ChatMessage


class Conversation:
    """What is kept of a conversation for who goes on with it; messages are shown one by one.

    Words that nobody typed (reminders, notices) are left out.

    Attributes:
        first_words: what the agent was told first, typed or not.
    """

    def __init__(self) -> None:
        self.calls: deque[_Call] = deque(maxlen=HELD)
        self.words: deque[_Words] = deque(maxlen=HELD)
        self.seen_calls = 0
        self.seen_words = 0
        self._open: dict[str, _Call] = {}
        self._unnamed: deque[_Call] = deque()
        self._said = ""
        self.first_words = ""
        self._prompted = -1
        self._gate = Redactor()

    def see(self, message: Message) -> None:
        """Takes in the next message."""
        text = message.text.strip()
        if message.role == "user" and text and not self.first_words:
            self.first_words = whole(text, RESULT)
        called: list[FunctionCall] = []
        for number, part in enumerate(message.parts):
            if type(part) is Text and message.origin == "agent" and part.text.strip():
                self._said = part.text
            elif type(part) is ToolCall:
                called.append(self._called(message, number, part))
            elif type(part) is ToolResult:
                self._returned(message, part)
        if message.origin == "prompt":
            self._said = ""
            self._prompted = message.index
        spoken = message.origin in {"prompt", "agent", "compaction"}
        if called or (text and spoken):
            role = "assistant" if called or message.origin == "agent" else "user"
            self._speak(message, role, text if spoken else "", called)

    def _called(self, message: Message, number: int, part: ToolCall) -> FunctionCall:
        given = part.input if isinstance(part.input, dict) else {"input": part.input}
        if part.input in (None, "", {}):
            given = {}
        identity = part.id or f"call_{message.index}_{number}"
        call = _Call(
            message=message.index,
            id=identity,
            recorded=part.id,
            name=part.name,
            parameters=shortened(given, gate=self._gate),
            at=message.time,
            why=short(self._said, REASON, "…") if self._said else "",
        )
        self.calls.append(call)
        self.seen_calls += 1
        if part.id:
            self._open[part.id] = call
        else:
            self._unnamed.append(call)
        return FunctionCall(
            function_name=part.name, parameters=call.parameters, call_id=identity
        )

    def _returned(self, message: Message, part: ToolResult) -> None:
        call = self._open.pop(part.call_id, None) if part.call_id else None
        if call is None and self._unnamed:
            call = self._unnamed.popleft()
        if call is None:
            return  # an answer to nothing that was asked
        call.result = part
        text = shortened(part.text, RESULT, self._gate)
        self._add(
            message,
            "tool",
            ChatMessage(
                role="tool", content=text, timestamp=message.time, tool_call_id=call.id
            ),
        )

    def _speak(
        self, message: Message, role: str, text: str, called: list[FunctionCall]
    ) -> None:
        before = self.words[-1] if self.words else None
        joins = (
            before is not None
            and role == before.role == "assistant"
            and message.response
            and message.response == before.response
        )
        if before is not None and joins:  # lines of one response
            known = before.chat
            content = "\n\n".join(x for x in (known.content, text) if x)
            before.chat = replace(
                known,
                content=shortened(content, WORDS, self._gate) or None,
                function_calls=(*(known.function_calls or ()), *called) or None,
            )
            return
        chat = ChatMessage(
            role=role,
            content=shortened(text, WORDS, self._gate) or None,
            timestamp=message.time,
            function_calls=tuple(called) or None,
        )
        self._add(message, role, chat)

    def _add(self, message: Message, role: str, chat: ChatMessage) -> None:
        self.words.append(_Words(message.index, role, message.response, chat))
        self.seen_words += 1

    # -- what became of it -----------------------------------------------------------------

    def tools(self, without: Collection[int] = ()) -> tuple[CompletedTool, ...]:
        """The calls that came back, in order; those of the messages `without` left out."""
        return tuple(
            CompletedTool(
                function_name=call.name,
                parameters=call.parameters,
                result=shortened(call.result.text, RESULT, self._gate),
                executed_at=call.at,
                success=_succeeded(call.result),
                ai_reasoning=call.why or None,
            )
            for call in self.calls
            if call.result is not None and call.message not in without
        )

    def unfinished(self, without: Collection[int] = ()) -> tuple[str, ...]:
        """Calls since the last prompt that did not come back, in words. An older one was
        given up: the conversation went on without it."""
        return tuple(
            described(call.name, call.parameters)
            for call in self.calls
            if call.result is None
            and call.message > self._prompted
            and call.message not in without
            and kind_of(call.name) not in _NO_WORK
        )

    def last_words(self, without: Collection[int] = ()) -> str:
        """What the agent said last."""
        spoken = (
            w.chat.content
            for w in reversed(self.words)
            if w.role == "assistant" and w.chat.content and w.message not in without
        )
        return whole(next(spoken, ""), RESULT)

    def chat(self, without: Collection[int] = ()) -> tuple[ChatMessage, ...]:
        """The messages, in order, without results whose calls are not held any more."""
        kept = [w.chat for w in self.words if w.message not in without]
        known = {c.call_id for chat in kept for c in chat.function_calls or ()}
        return tuple(c for c in kept if c.role != "tool" or c.tool_call_id in known)


def _succeeded(result: ToolResult) -> bool:
    return result.status in _DONE and not result.exit_code
