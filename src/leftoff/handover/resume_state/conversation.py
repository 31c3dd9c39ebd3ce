"""The end of a recorded conversation: its messages, and its calls with what came back."""

from collections import deque
from collections.abc import Collection
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from leftoff.handover.resume_state.document import ChatMessage, CompletedTool, FunctionCall
from leftoff.model import Message, Text, ToolCall, ToolResult
from leftoff.redaction.redactor import Redactor
from leftoff.text.truncation import short, whole

# Calls, and messages, that are remembered while a recording is read: the last ones.
MAX_REMEMBERED = 600
# Maximum code points of a tool's result, and of one parameter. These limits were chosen by
# hand.
MAX_RESULT_LENGTH = 4_000
# Maximum code points of a message.
MAX_MESSAGE_LENGTH = 20_000
# Maximum code points of the reason for a tool call.
MAX_REASON_LENGTH = 300

_OMISSION = "\n… [{count} characters left out] …\n"
_SUCCESS = frozenset({"ok", "unknown"})


def truncate_values(
    value: object, limit: int = MAX_RESULT_LENGTH, gate: Redactor | None = None
) -> Any:
    """A value with its long texts cut in the middle, at every depth; each says how much is
    missing. The end is retained, since a command reports its outcome there.

    What is cut is redacted first: behind the cut, a key may stand without the words that tell
    that it is one.

    Args:
        gate: the redactor of the document that the value is for."""
    gate = gate or Redactor()
    if isinstance(value, str):
        if len(value) <= limit:
            return value
        safe = gate.text(value)
        left = len(safe) - limit
        if left <= 0:
            return safe
        head = limit // 2
        return f"{safe[:head]}{_OMISSION.format(count=left)}{safe[head - limit :]}"
    if isinstance(value, dict):
        return {str(k): truncate_values(v, limit, gate) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [truncate_values(v, limit, gate) for v in value]
    return value


class _Call(Struct):
    """A call; its tool has a result from the moment on at which one came back."""

    message: int
    id: str
    tool: CompletedTool


class ConversationTail:
    """Collects the end of a conversation, for a resume state; a listener of messages.

    Texts that were not typed (reminders, notices) are left out.

    Attributes:
        first_words: the first user message, typed or not."""

    def __init__(self) -> None:
        self.calls: deque[_Call] = deque(maxlen=MAX_REMEMBERED)
        # Each with the index of its message.
        self.entries: deque[tuple[int, ChatMessage]] = deque(maxlen=MAX_REMEMBERED)
        self._response = ""  # of the last one
        self.seen_calls = 0
        self.seen_entries = 0
        self._open_calls: dict[str, _Call] = {}
        self._calls_without_id: deque[_Call] = deque()
        self._agent_text = ""
        self.first_words = ""
        self._gate = Redactor()

    def see(self, message: Message) -> None:
        """Takes in the next message."""
        text = message.text.strip()
        if message.role == "user" and text and not self.first_words:
            self.first_words = whole(text, MAX_RESULT_LENGTH)
        called: list[FunctionCall] = []
        for number, part in enumerate(message.parts):
            if type(part) is Text and message.origin == "agent" and part.text.strip():
                self._agent_text = part.text
            elif type(part) is ToolCall:
                called.append(self._add_call(message, number, part))
            elif type(part) is ToolResult:
                self._add_result(message, part)
        if message.origin == "prompt":
            self._agent_text = ""
        texts = message.origin in {"prompt", "agent", "compaction"}
        if called or (text and texts):
            role = "assistant" if called or message.origin == "agent" else "user"
            self._add_text(message, role, text if texts else "", called)

    def _add_call(self, message: Message, number: int, part: ToolCall) -> FunctionCall:
        given = part.input if isinstance(part.input, dict) else {"input": part.input}
        if part.input in (None, "", {}):
            given = {}
        tool = CompletedTool(
            function_name=part.name,
            parameters=truncate_values(given, gate=self._gate),
            executed_at=message.time,
            ai_reasoning=short(self._agent_text, MAX_REASON_LENGTH, "…") or None,
        )
        call = _Call(message.index, part.id or f"call_{message.index}_{number}", tool)
        self.calls.append(call)
        self.seen_calls += 1
        if part.id:
            self._open_calls[part.id] = call
        else:
            self._calls_without_id.append(call)
        return FunctionCall(
            function_name=part.name, parameters=tool.parameters, call_id=call.id
        )

    def _add_result(self, message: Message, part: ToolResult) -> None:
        call = self._open_calls.pop(part.call_id, None) if part.call_id else None
        if call is None and self._calls_without_id:
            call = self._calls_without_id.popleft()
        if call is None:
            return  # an answer to nothing that was asked
        text = truncate_values(part.text, MAX_RESULT_LENGTH, self._gate)
        succeeded = part.status in _SUCCESS and not part.exit_code
        call.tool = replace(call.tool, result=text, success=succeeded)
        self._append(message, role="tool", content=text, tool_call_id=call.id)

    def _add_text(
        self, message: Message, role: str, text: str, called: list[FunctionCall]
    ) -> None:
        index, known = self.entries[-1] if self.entries else (-1, ChatMessage())
        same = message.response and message.response == self._response
        if same and role == known.role == "assistant":  # lines of one response
            both = "\n\n".join(x for x in (known.content, text) if x)
            known = replace(
                known,
                content=truncate_values(both, MAX_MESSAGE_LENGTH, self._gate) or None,
                function_calls=(*(known.function_calls or ()), *called) or None,
            )
            self.entries[-1] = index, known
            return
        content = truncate_values(text, MAX_MESSAGE_LENGTH, self._gate) or None
        self._append(message, role=role, content=content, function_calls=tuple(called) or None)

    def _append(self, message: Message, **fields: Any) -> None:
        chat = ChatMessage(timestamp=message.time, **fields)
        self.entries.append((message.index, chat))
        self._response = message.response
        self.seen_entries += 1

    # -- what became of it -----------------------------------------------------------------

    def tools(self, without: Collection[int] = ()) -> tuple[CompletedTool, ...]:
        """The calls that came back, in order; those of the messages `without` left out."""
        return tuple(
            call.tool
            for call in self.calls
            if call.tool.result is not None and call.message not in without
        )

    def chat(self, without: Collection[int] = ()) -> tuple[ChatMessage, ...]:
        """The messages, in order, without results whose calls are not held any more."""
        entries_left = [chat for message, chat in self.entries if message not in without]
        known = {c.call_id for chat in entries_left for c in chat.function_calls or ()}
        return tuple(c for c in entries_left if c.role != "tool" or c.tool_call_id in known)
