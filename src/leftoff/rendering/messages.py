"""Messages as people read them."""

from __future__ import annotations

from typing import Any

from leftoff import codec
from leftoff.formats.vocabulary import text_argument, tool_of
from leftoff.model import Media, Message, Reasoning, Text, ToolCall, ToolResult
from leftoff.redaction.redactor import Redactor
from leftoff.text.sanitize import clean

CUT = 1200
"""Code points of a tool call or result that are shown unless all of it is asked for."""

_STYLES = {"bold": "1", "dim": "2", "green": "32", "red": "31", "cyan": "36"}
_OLD = frozenset({"old_string", "old_str", "old_text", "oldText", "search"})
_NEW = frozenset({"new_string", "new_str", "new_text", "newText", "replace"})


def who(message: Message) -> str:
    """Who speaks: agent, user and so on, with what the recorder put in marked as such."""
    name = {"assistant": "agent", "user": "user"}.get(message.role, message.role)
    if message.origin == "tool":
        return "tool"
    return name if message.origin in {"prompt", "agent"} else f"{name} ({message.origin})"


def status_of(result: ToolResult) -> str:
    """How a call came back: its exit code where there is one."""
    return result.status if result.exit_code is None else f"exit {result.exit_code}"


def call_text(name: str, given: Any) -> str:
    """What a call passes, as people write it: a command line, `name: value`, and an edit as
    lines that go and lines that come."""
    if not isinstance(given, dict):
        return given if isinstance(given, str) else "" if given is None else _json(given)
    lines: list[str] = []
    rest = dict(given)
    tool = tool_of(name)
    if tool.kind in {"shell", "powershell"}:
        command = text_argument(ToolCall("", name, tool.kind, given), "command")
        if command:
            lines.append("$ " + command.replace("\n", "\n  "))
            for key in tool.arguments.get("command", ()):
                rest.pop(key, None)
    for key, value in rest.items():
        if isinstance(value, str) and key in _OLD | _NEW:
            sign = "-" if key in _OLD else "+"
            lines += [f"{sign} {line}" for line in value.splitlines()]
        elif isinstance(value, str):
            inner = value.rstrip("\n").replace("\n", "\n  ")
            lines.append(f"{key}:\n  {inner}" if "\n" in inner else f"{key}: {inner}")
        elif value is not None:
            lines.append(f"{key}: {_json(value)}")
    return "\n".join(lines)


def _json(value: Any) -> str:
    flat = codec.dumps(value).decode().strip()
    return flat if len(flat) <= 80 else codec.dumps(value, indent=2).decode().strip()


def message_text(
    message: Message, gate: Redactor, *, full: bool = False, colour: bool = False
) -> str:
    """One message with its number, speaker and parts; redacted and safe for a terminal."""
    speaker = clean(gate.text(who(message)))
    notes = [clean(gate.text(note)) for note in (message.model, _time(message.time)) if note]
    shade = {"user": "green", "agent": "cyan"}.get(speaker, "")
    head = _style(f"#{message.index + 1}", "bold", colour)
    head += " · " + _style(speaker, shade, colour)
    lines = [head + _style("".join(f" · {note}" for note in notes), "dim", colour)]
    for part in message.parts:
        if isinstance(part, Text):
            lines.append(clean(gate.text(part.text)))
        elif isinstance(part, Reasoning):
            if part.text:
                text = _cut(clean(gate.text(part.text)), full=full)
                lines += _indented("thought", text, "dim", "dim", colour)
        elif isinstance(part, ToolCall):
            # By value first: the gate knows more where it sees the names of the arguments.
            text = gate.text(call_text(part.name, gate.value(part.input)))
            name = clean(gate.text(part.name))
            lines += _indented(f"→ {name}", _cut(clean(text), full=full), "cyan", "", colour)
        elif isinstance(part, ToolResult):
            text = _cut(clean(gate.text(part.text)), full=full)
            fine = part.exit_code == 0 if part.exit_code is not None else part.status == "ok"
            failed = part.status in {"error", "denied", "timeout"} or part.exit_code
            shade = "green" if fine else "red" if failed else "dim"
            lines += _indented(f"← {clean(status_of(part))}", text, shade, "", colour)
        elif isinstance(part, Media):
            lines.append(f"  [{clean(gate.text(part.media_type or 'media'))}]")
    return "\n".join(lines) + "\n\n"


def _time(time: str) -> str:
    return time[:19].replace("T", " ")


def _style(text: str, name: str, colour: bool) -> str:
    return f"\x1b[{_STYLES[name]}m{text}\x1b[0m" if colour and text and name else text


def _cut(text: str, *, full: bool) -> str:
    text = text.rstrip()
    left = len(text) - CUT
    if left > 0 and not full:
        return text[:CUT].rstrip() + f"\n… {left:,} more characters"
    return text


def _indented(label: str, text: str, shade: str, inner: str, colour: bool) -> list[str]:
    lines = ["  " + _style(label, shade, colour)]
    for line in text.split("\n") if text else ():
        sign = {"- ": "red", "+ ": "green"}.get(line[:2], "") if label[0] == "→" else ""
        lines.append("    " + _style(line, sign or inner, colour))
    return lines
