"""Recorded messages as text for a terminal."""

from collections.abc import Iterable, Iterator

from leftoff import codec
from leftoff.formats.vocabulary import text_argument, tool_of
from leftoff.model import Media, Message, Reasoning, Text, ToolCall, ToolResult, utc_time
from leftoff.redaction.redactor import Redactor, SafeText
from leftoff.text.sanitize import clean

# Code points of a tool call, result or thought that are shown unless `full` is set. Chosen by
# hand; not measured.
MAX_PART_LENGTH = 1200
_STYLES = {"bold": "1", "dim": "2", "green": "32", "red": "31", "yellow": "33", "cyan": "36"}
# Arguments with the old and the new text of an edit.
_SIGNS = dict.fromkeys("old_string old_str old_text oldText search".split(), "-")
_SIGNS |= dict.fromkeys("new_string new_str new_text newText replace".split(), "+")


def speaker_of(message: Message) -> str:
    """The speaker: "agent", "user", "tool" or a role; for messages that the recorder inserted,
    with their origin, as in "user (reminder)"."""
    name = {"assistant": "agent", "user": "user"}.get(message.role, message.role)
    if message.origin == "tool":
        return "tool"
    return name if message.origin in {"prompt", "agent"} else f"{name} ({message.origin})"


def status_of(result: ToolResult) -> str:
    """The outcome of a call: its exit code if there is one, else its status."""
    return result.status if result.exit_code is None else f"exit {result.exit_code}"


def call_text(name: str, arguments: object) -> str:
    """A call's arguments as text: a command line after `$`, others as `name: value`, the old
    and new text of an edit as lines with `-` and `+`."""
    if not isinstance(arguments, dict):
        whole = arguments if isinstance(arguments, str) else _json(arguments)
        return "" if arguments is None else whole
    lines: list[str] = []
    shown: tuple[str, ...] = ()
    tool = tool_of(name)
    if tool.kind in {"shell", "powershell"}:
        command = text_argument(ToolCall("", name, tool.kind, arguments), "command")
        if command:
            lines.append("$ " + command.replace("\n", "\n  "))
            # The command line has been shown; the words that clients put beside it have not.
            shown = tuple(tool.arguments.get("command", ()))
    for key, value in arguments.items():
        if key in shown:
            continue
        if isinstance(value, str) and key in _SIGNS:
            lines += [f"{_SIGNS[key]} {line}" for line in value.splitlines()]
        elif isinstance(value, str):
            body = value.rstrip("\n").replace("\n", "\n  ")
            lines.append(f"{key}:\n  {body}" if "\n" in body else f"{key}: {body}")
        elif value is not None:
            lines.append(f"{key}: {_json(value)}")
    return "\n".join(lines)


def _json(value: object) -> str:
    compact = codec.dumps(value).decode().strip()
    return compact if len(compact) <= 80 else codec.dumps(value, indent=2).decode().strip()


def between(
    numbered: Iterable[tuple[int, Message]], first: int, last: int
) -> Iterator[tuple[int, Message]]:
    """The messages from number `first` to `last`, then those that hold the results of their
    calls: a reference names the call, the words that it reports stand in the result."""
    unanswered: set[str] = set()
    for number, message in numbered:
        if number > last and not unanswered:
            return
        if number < first:
            continue
        answered = {p.call_id for p in message.parts if isinstance(p, ToolResult)}
        if number <= last:
            unanswered |= {p.id for p in message.parts if isinstance(p, ToolCall) and p.id}
        if number <= last or unanswered & answered:
            yield number, message
        unanswered -= answered


def message_text(
    message: Message, gate: Redactor, *, full: bool = False, colour: bool = False
) -> str:
    """One message with its number, speaker and parts; redacted and safe for a terminal."""
    speaker = gate.shown(speaker_of(message))
    notes = [gate.shown(note) for note in (message.model, recorded_time(message.time)) if note]
    colour_name = {"user": "green", "agent": "cyan"}.get(speaker, "")
    head = style(f"#{message.index + 1}", "bold", colour)
    head += " · " + style(speaker, colour_name, colour)
    lines = [head + style("".join(f" · {note}" for note in notes), "dim", colour)]

    def add(label: str, text: SafeText, name: str, body: str = "") -> None:
        signs = {"- ": "red", "+ ": "green"} if label[0] == "→" else {}
        inside = _truncated(text, full=full)
        rows = inside.split("\n") if inside else []
        lines.append("  " + style(label, name, colour))
        lines.extend("    " + style(row, signs.get(row[:2], body), colour) for row in rows)

    for part in message.parts:
        if isinstance(part, Text):
            if part.text.strip():  # Claude Code records empty lines before a thought
                lines.append(gate.shown(part.text))
        elif isinstance(part, Reasoning):
            if part.text:
                add("thought", gate.shown(part.text), "dim", "dim")
        elif isinstance(part, ToolCall):
            # `value` before `text`: some redaction rules need the names of the arguments.
            call = gate.shown(call_text(part.name, gate.value(part.input)))
            add(f"→ {gate.shown(part.name)}", call, "cyan")
        elif isinstance(part, ToolResult):
            # An exit code says more than a recorder's status, which may be of the tool itself.
            succeeded = part.status == "ok" if part.exit_code is None else part.exit_code == 0
            failed = part.status in {"error", "denied", "timeout"} or part.exit_code
            name = "green" if succeeded else "red" if failed else "dim"
            add(f"← {clean(status_of(part))}", gate.shown(part.text), name)
        elif isinstance(part, Media):
            lines.append(f"  [{gate.shown(part.media_type or 'media')}]")
    return "\n".join(lines) + "\n\n"


def recorded_time(time: str) -> str:
    """A recorded time to the second, in UTC, for people."""
    return utc_time(time)[:19].replace("T", " ")


def style(text: str, name: str, colour: bool) -> str:
    """Text in a style of the terminal, as it is without `colour`."""
    return f"\x1b[{_STYLES[name]}m{text}\x1b[0m" if colour and text and name else text


def abbreviated(tokens: int) -> str:
    """A count in thousands or millions: 82, 200k, 1.2M."""
    if tokens >= 1_000_000:
        return f"{tokens / 1_000_000:.1f}M"
    return f"{tokens / 1000:.0f}k" if tokens >= 1000 else str(tokens)


def _truncated(text: SafeText, *, full: bool) -> str:
    shown = text.rstrip()
    left = len(shown) - MAX_PART_LENGTH
    if left > 0 and not full:
        return shown[:MAX_PART_LENGTH].rstrip() + f"\n… {left:,} more characters"
    return shown
