"""Writes a conversation in the formats of eleven recorders, with only the fields that readers need."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from tests.strategies.conversations import Call, Step

from leftoff import codec
from leftoff.formats import atif, native
from leftoff.model import Message, SessionFacts, Text, ToolCall, ToolResult, Typed

SESSION = "5e551011-0000-4000-8000-000000000000"
CWD = "/home/ada/ledger"
MODEL = "some-model-1"

Steps = Sequence[Step]


def _time(number: int) -> str:
    return f"2026-03-02T{9 + number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"


def _as_lines(records: Callable[[Steps], Iterator[dict[str, Any]]]) -> Callable[[Steps], bytes]:
    return lambda steps: b"".join(map(codec.dumps, records(steps)))


def messages_of(steps: Steps) -> list[Message]:
    """The conversation as messages, as a reader would make them."""
    found: list[Message] = []
    for step in steps:
        number = len(found)
        if step.role == "user":
            typed = (Typed(0, 0, len(step.text)),)
            text = (Text(step.text),)
            found.append(Message(number, "user", text, number + 2, None, "prompt", typed))
            continue
        words = (Text(step.text),) if step.text else ()
        calls = tuple(ToolCall(c.id, c.name, "other", c.input) for c in step.calls)
        found.append(Message(number, "assistant", (*words, *calls), number + 2))
        for call in step.calls:
            status = "error" if call.failed else "ok"
            result = (ToolResult(call.id, call.result, status),)
            found.append(Message(len(found), "tool", result, len(found) + 2, None, "tool"))
    return found


def _native(steps: Steps) -> bytes:
    return native.write(messages_of(steps), SessionFacts(id=SESSION, cwd=CWD))


def _atif(steps: Steps) -> bytes:
    return atif.write(messages_of(steps), SessionFacts(id=SESSION), agent="example")


def _blocks(step: Step) -> list[dict[str, Any]]:
    """Anthropic's content blocks of an answer."""
    words = [{"type": "text", "text": step.text}] if step.text else []
    calls = [
        {"type": "tool_use", "id": c.id, "name": c.name, "input": c.input} for c in step.calls
    ]
    return [*words, *calls]


def _result_block(call: Call) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call.id, "content": call.result}
    return {**block, "is_error": True} if call.failed else block


@_as_lines
def _claude_code(steps: Steps) -> Iterator[dict[str, Any]]:
    numbers = count(1)

    def line(kind: str, message: dict[str, Any]) -> dict[str, Any]:
        number = next(numbers)
        return {
            "type": kind, "uuid": f"00000000-0000-4000-8000-{number:012}",
            "parentUuid": f"00000000-0000-4000-8000-{number - 1:012}" if number > 1 else None,
            "sessionId": SESSION, "timestamp": _time(number), "cwd": CWD, "isSidechain": False,
            "version": "2.1.0", "message": {"role": kind, **message},
        }  # fmt: skip

    for turn, step in enumerate(steps):
        if step.role == "user":
            yield line("user", {"content": step.text})
            continue
        about = {"id": f"msg_{turn}", "model": MODEL, "type": "message"}
        for block in _blocks(step):  # one line for each block, as the client does
            yield line("assistant", {**about, "content": [block]})
        for call in step.calls:
            yield line("user", {"content": [_result_block(call)]})


@_as_lines
def _codex(steps: Steps) -> Iterator[dict[str, Any]]:
    numbers = count(1)

    def line(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        number = next(numbers)
        return {"timestamp": _time(number), "type": kind, "payload": payload}

    yield line("session_meta", {"id": SESSION, "cwd": CWD, "cli_version": "0.100.0"})
    for step in steps:
        if step.role == "user":
            text = {"type": "input_text", "text": step.text}
            item = {"type": "message", "role": "user", "content": [text]}
            yield line("response_item", item)
            yield line("event_msg", {"type": "user_message", "message": step.text})
            continue
        if step.text:
            text = {"type": "output_text", "text": step.text}
            item = {"type": "message", "role": "assistant", "content": [text]}
            yield line("event_msg", {"type": "agent_message", "message": step.text})
            yield line("response_item", item)
        for call in step.calls:
            given = codec.dumps(call.input).decode()
            item = {"type": "function_call", "name": call.name, "arguments": given}
            yield line("response_item", {**item, "call_id": call.id})
        for call in step.calls:
            item = {"type": "function_call_output", "call_id": call.id}
            yield line("response_item", {**item, "output": call.result})


def _gemini_cli(steps: Steps) -> bytes:
    messages: list[dict[str, Any]] = []
    for number, step in enumerate(steps):
        about = {"id": f"m{number}", "timestamp": _time(number), "content": step.text}
        if step.role == "user":
            messages.append({**about, "type": "user"})
            continue
        calls = [
            {
                "id": c.id,
                "name": c.name,
                "args": c.input,
                "status": "error" if c.failed else "success",
                "result": [{"functionResponse": _function_response(c)}],
            }
            for c in step.calls
        ]
        messages.append({**about, "type": "gemini", "model": MODEL, "toolCalls": calls})
    head = {"sessionId": SESSION, "projectHash": "0" * 64, "startTime": _time(0)}
    return codec.dumps({**head, "messages": messages}, indent=2)


def _function_response(call: Call) -> dict[str, Any]:
    response = {"error" if call.failed else "output": call.result}
    return {"id": call.id, "name": call.name, "response": response}


def _gemini_api(steps: Steps) -> bytes:
    items: list[dict[str, Any]] = []
    for step in steps:
        words = [{"text": step.text}] if step.text else []
        if step.role == "user":
            items.append({"role": "user", "parts": words})
            continue
        calls = [
            {"functionCall": {"id": c.id, "name": c.name, "args": c.input}} for c in step.calls
        ]
        items.append({"role": "model", "parts": [*words, *calls]})
        if step.calls:
            answers = [{"functionResponse": _function_response(c)} for c in step.calls]
            items.append({"role": "user", "parts": answers})
    return codec.dumps(items, indent=2)


@_as_lines
def _copilot_cli(steps: Steps) -> Iterator[dict[str, Any]]:
    numbers = count(1)

    def line(kind: str, data: dict[str, Any]) -> dict[str, Any]:
        number = next(numbers)
        about = {"id": f"e{number}", "parentId": f"e{number - 1}" if number > 1 else None}
        return {"type": kind, "data": data, "timestamp": _time(number), **about}

    head = {"sessionId": SESSION, "copilotVersion": "1.0.0", "producer": "copilot-agent"}
    yield line("session.start", {**head, "context": {"cwd": CWD}})
    for turn, step in enumerate(steps):
        if step.role == "user":
            yield line("user.message", {"content": step.text})
            continue
        asked = [{"toolCallId": c.id, "name": c.name, "arguments": c.input} for c in step.calls]
        about = {"messageId": f"m{turn}", "model": MODEL}
        said = {**about, "content": step.text, "toolRequests": asked}
        yield line("assistant.message", said)
        for call in step.calls:
            started = {"toolCallId": call.id, "toolName": call.name}
            yield line("tool.execution_start", {**started, "arguments": call.input})
            outcome: dict[str, Any] = {"toolCallId": call.id, "success": not call.failed}
            if call.failed:
                outcome["error"] = {"message": call.result}
            else:
                outcome["result"] = {"content": call.result}
            yield line("tool.execution_complete", outcome)


def _opencode(steps: Steps) -> bytes:
    messages: list[dict[str, Any]] = []
    for number, step in enumerate(steps):
        role = "user" if step.role == "user" else "assistant"
        info = {"id": f"msg_{number:04}", "sessionID": "ses_0001", "role": role}
        parts: list[dict[str, Any]] = []
        if step.text:
            parts.append({"type": "text", "text": step.text})
        for call in step.calls:
            outcome = "error" if call.failed else "output"
            state = {"input": call.input, outcome: call.result}
            state["status"] = "error" if call.failed else "completed"
            parts.append({"type": "tool", "callID": call.id, "tool": call.name, "state": state})
        messages.append({"info": info, "parts": parts})
    about = {"id": "ses_0001", "directory": CWD, "title": "", "version": "1.0.0"}
    return codec.dumps({"info": about, "messages": messages}, indent=2)


@_as_lines
def _pi(steps: Steps) -> Iterator[dict[str, Any]]:
    numbers = count(1)

    def line(message: dict[str, Any]) -> dict[str, Any]:
        number = next(numbers)
        parent = f"{number - 1:08x}" if number > 1 else None
        about = {"id": f"{number:08x}", "parentId": parent, "timestamp": _time(number)}
        return {"type": "message", **about, "message": message}

    head = {"id": SESSION, "timestamp": _time(0), "cwd": CWD, "version": 3}
    yield {"type": "session", **head}
    for step in steps:
        words = [{"type": "text", "text": step.text}] if step.text else []
        if step.role == "user":
            yield line({"role": "user", "content": words})
            continue
        calls = [
            {"type": "toolCall", "id": c.id, "name": c.name, "arguments": c.input}
            for c in step.calls
        ]
        yield line({"role": "assistant", "content": [*words, *calls], "model": MODEL})
        for call in step.calls:
            text = {"type": "text", "text": call.result}
            about = {"toolCallId": call.id, "toolName": call.name, "content": [text]}
            yield line({"role": "toolResult", **about, "isError": call.failed})


@_as_lines
def _factory_droid(steps: Steps) -> Iterator[dict[str, Any]]:
    numbers = count(1)

    def line(role: str, content: list[dict[str, Any]]) -> dict[str, Any]:
        number = next(numbers)
        about = {"id": f"m{number}", "timestamp": _time(number)}
        return {"type": "message", **about, "message": {"role": role, "content": content}}

    yield {"type": "session_start", "id": SESSION, "title": "", "version": 2, "cwd": CWD}
    for step in steps:
        if step.role == "user":
            yield line("user", [{"type": "text", "text": step.text}])
            continue
        yield line("assistant", _blocks(step))
        if step.calls:
            yield line("user", [_result_block(call) for call in step.calls])


def _chat(steps: Steps) -> bytes:
    messages: list[dict[str, Any]] = []
    for step in steps:
        if step.role == "user":
            messages.append({"role": "user", "content": step.text})
            continue
        answer: dict[str, Any] = {"role": "assistant", "content": step.text or None}
        if step.calls:
            answer["tool_calls"] = [
                {
                    "id": c.id,
                    "type": "function",
                    "function": {
                        "name": c.name,
                        "arguments": codec.dumps(c.input).decode().strip(),
                    },
                }
                for c in step.calls
            ]
        messages.append(answer)
        messages += [
            {"role": "tool", "tool_call_id": c.id, "name": c.name, "content": c.result}
            for c in step.calls
        ]
    return codec.dumps(messages, indent=2)


WRITERS: dict[str, Callable[[Steps], bytes]] = {
    "leftoff": _native, "atif": _atif, "claude_code": _claude_code, "codex": _codex,
    "gemini_cli": _gemini_cli, "gemini_api": _gemini_api, "copilot_cli": _copilot_cli,
    "opencode": _opencode, "pi": _pi, "factory_droid": _factory_droid, "chat": _chat,
}  # fmt: skip
"""By format: a conversation as the bytes of a recording."""

SILENT_ON_FAILURE = frozenset({"codex", "chat"})
"""Formats that do not say whether a call failed."""


def claude_line(
    number: int, role: str, content: Any, session: str = "s1", about: Any = None, **more: Any
) -> dict[str, Any]:
    """A line of Claude Code that answers the one before it; `about` is more of its message."""
    parent = f"{session}-{number - 1}" if number else None
    said = {"role": role, "content": content, **(about or {})}
    line = {"type": role, "uuid": f"{session}-{number}", "parentUuid": parent, "message": said}
    return {
        **line,
        "sessionId": session,
        "version": "2.1.39",
        "timestamp": _time(number),
        **more,
    }


def claude_call(number: int, tokens: int) -> dict[str, Any]:
    """An answer whose request held this many tokens, most of them from the cache."""
    used = {"input_tokens": 1, "output_tokens": 9, "cache_read_input_tokens": tokens - 10}
    about = {"id": f"msg_{number}", "type": "message", "model": "claude-opus-4-5"}
    said = [{"type": "text", "text": "Done."}]
    return claude_line(number, "assistant", said, about={**about, "usage": used})


def claude_compaction(tokens: int) -> dict[str, Any]:
    """A line of Claude Code that says that it compacted so many tokens."""
    meta = {"trigger": "auto", "preTokens": tokens}
    about = {"uuid": "c", "sessionId": "s1", "timestamp": "2026-01-01T00:01:00Z"}
    return {"type": "system", "subtype": "compact_boundary", **about, "compactMetadata": meta}
