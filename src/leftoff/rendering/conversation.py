"""A whole session as markdown for people: each message with speaker, time and tool calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from leftoff import codec
from leftoff import lazy_re as re
from leftoff.formats.vocabulary import text_argument
from leftoff.model import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult, Usage
from leftoff.redaction.redactor import Redactor, SafeText
from leftoff.summary import SessionInfo
from leftoff.text.markdown import code_spans
from leftoff.text.truncation import one_line

TOOLS = ("folded", "shown", "hidden")
"""How tool calls and results are rendered: as a collapsed block, in full, or not at all."""

_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})(?P<after>[^\n]*)$")
_HEADING = re.compile(r"^( {0,3})(#{1,6})(?=[ \t]|$)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_BACKTICKS = re.compile(r"`+")
_SPEAKERS = {"user": "User", "assistant": "Agent", "system": "System", "tool": "Tool"}
_SUBJECT_KEYS = (
    "file_path",
    "path",
    "command",
    "cmd",
    "pattern",
    "query",
    "url",
    "description",
)


def conversation(
    messages: Sequence[Message],
    session: SessionInfo,
    *,
    tools: str = "folded",
    gate: Redactor | None = None,
) -> Iterator[str]:
    """Yields the session as markdown, one message at a time, redacted and safe for a terminal.

    A result is rendered with the call that it answers. Headings inside a message are moved
    below the page's own levels and its HTML is escaped, so that no message can imitate another.
    The tokens of an API response are shown with its first message.

    Args:
        messages: of one session, in order; messages of subagents may be among them.
        session: for the head; empty fields are left out.
        tools: one of `TOOLS`.
        gate: the redactor of the enclosing document, if there is one.
    """
    page = _ConversationWriter(gate or Redactor(), tools, messages)
    yield page.head(session, messages)
    main = [m for m in messages if not m.agent]
    agents = dict.fromkeys(m.agent for m in messages if m.agent)
    for message in main:
        yield page.message(message)
    for agent in agents:
        yield f"## Subagent {page.single_line(agent)}\n\n"
        for message in messages:
            if message.agent == agent:
                yield page.message(message)


class _ConversationWriter:
    def __init__(self, gate: Redactor, tools: str, messages: Sequence[Message]) -> None:
        self.gate = gate
        self.tools = tools
        self.results: dict[tuple[str, str], tuple[int, ToolResult]] = {}
        calls: set[tuple[str, str]] = set()
        self.usage_by_response: dict[tuple[str, str], Usage] = {}
        for m in messages:
            for part in m.parts:
                if type(part) is ToolCall and part.id:
                    calls.add((m.agent, part.id))
                elif type(part) is ToolResult and (m.agent, part.call_id) in calls:
                    self.results.setdefault((m.agent, part.call_id), (m.index, part))
            if m.usage is not None:
                known = self.usage_by_response.get(_response_key(m))
                if known is None or m.usage.total > known.total:
                    self.usage_by_response[_response_key(m)] = m.usage
        self._usage_shown: set[tuple[str, str]] = set()

    def single_line(self, text: str, limit: int = 200) -> str:
        """Recorded text, redacted and escaped, on one line."""
        return escape(one_line(self.gate.text(text), limit), quote=False)

    def head(self, session: SessionInfo, messages: Sequence[Message]) -> str:
        asked = next((m.text for m in messages if m.typed), "")
        title = self.single_line(session.title or asked or session.id or "Session", 100)
        total = sum(self.usage_by_response.values(), Usage())
        facts = {
            "Session": session.id,
            "Recorded by": " ".join(x for x in (session.format, session.agent_version) if x),
            "Directory": session.cwd,
            "Branch": session.branch,
            "Models": ", ".join(session.models),
            "Time": " to ".join(_time(t) for t in (session.started, session.ended) if t),
            "Messages": f"{len(messages):,}",
            "Tokens": _tokens(total) if total.total else "",
        }
        lines = [
            f"- {name}: {self.single_line(value)}" for name, value in facts.items() if value
        ]
        return f"# {title}\n\n" + "\n".join(lines) + "\n\n"

    def message(self, message: Message) -> str:
        parts = [p for p in (self._part(message, part) for part in message.parts) if p]
        if not parts:
            return ""
        who = _SPEAKERS.get(message.role, message.role)
        if message.origin not in {"prompt", "agent", "tool"}:
            who = f"{who} ({message.origin})"
        notes = [message.model, _time(message.time)]
        response = _response_key(message)
        if response in self.usage_by_response and response not in self._usage_shown:
            self._usage_shown.add(response)
            notes.append(_tokens(self.usage_by_response[response]))
        head = " · ".join([who, *(self.single_line(n) for n in notes if n)])
        return f"### #{message.index + 1} {head}\n\n" + "\n\n".join(parts) + "\n\n"

    def _part(self, message: Message, part: Part) -> str:
        if isinstance(part, Text):
            return _neutralized(self.gate.shown(part.text))
        if isinstance(part, Reasoning):
            if not part.text.strip() or self.tools == "hidden":
                return ""
            thought = _neutralized(self.gate.shown(part.text))
            return self._details("Thought", thought)
        if isinstance(part, Media):
            return f"[{self.single_line(part.media_type or 'media')}]"
        if self.tools == "hidden":
            return ""
        if isinstance(part, ToolCall):
            return self._call(message, part)
        answered = self.results.get((message.agent, part.call_id))
        if answered is not None and answered[1] is part:
            return ""  # rendered with its call
        return self._details(f"← {_status(part)}", _fenced(self.gate.shown(part.text)))

    def _call(self, message: Message, call: ToolCall) -> str:
        redacted = self.gate.value(call.input)
        subject = _subject_of(call, redacted)
        code = (
            redacted if isinstance(redacted, str) else codec.dumps(redacted, indent=2).decode()
        )
        body = [_fenced(self.gate.shown(code))] if redacted not in (None, {}, "") else []
        title = f"→ {self.single_line(call.name, 60)}"
        if subject:
            title += f" <code>{escape(one_line(subject, 90), quote=False)}</code>"
        found = self.results.get((message.agent, call.id)) if call.id else None
        if found is not None:
            index, result = found
            title += f" ← {_status(result)} (#{index + 1})"
            if result.text.strip():
                body.append(_fenced(self.gate.shown(result.text)))
        return self._details(title, "\n\n".join(body))

    def _details(self, title: str, body: str) -> str:
        if not body or self.tools == "shown":
            return f"**{title}**" + (f"\n\n{body}" if body else "")
        return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def _response_key(message: Message) -> tuple[str, str]:
    return (message.agent, message.response or f"message {message.index}")


def _subject_of(call: ToolCall, redacted: object) -> str:
    """The argument that names what a call acts on: its path, command, query, ..."""
    redacted_call = ToolCall(call.id, call.name, call.kind, redacted)
    kind = "command" if call.kind in {"shell", "powershell"} else "path"
    found = text_argument(redacted_call, kind)
    if not found and isinstance(redacted, dict):
        candidates = (redacted.get(name) for name in _SUBJECT_KEYS)
        found = next((t for t in candidates if isinstance(t, str) and t.strip()), "")
    return found


def _status(result: ToolResult) -> str:
    if result.exit_code is not None:
        return f"exit {result.exit_code}"
    return escape(result.status)


def _time(time: str) -> str:
    return time[:19].replace("T", " ")


def _tokens(usage: Usage) -> str:
    cached = f" + {usage.cache_read:,} cached" if usage.cache_read else ""
    redacted = usage.input + usage.cache_write
    return f"{redacted:,}{cached} tokens in, {usage.output:,} out"


def _fenced(text: SafeText) -> str:
    longest = max((len(run[0]) for run in _BACKTICKS.finditer(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _neutralized(text: SafeText) -> str:
    """A message's markdown that cannot alter the page around it: headings below the page's own
    levels, HTML escaped, an open fence closed."""
    lines: list[str] = []
    open_fence = ""
    for line in text.strip("\n").split("\n"):
        fence = _FENCE.match(line)
        if open_fence:
            if fence and fence["fence"].startswith(open_fence) and not fence["after"].strip():
                open_fence = ""
            lines.append(line)
            continue
        if fence and not (fence["fence"][0] == "`" and "`" in fence["after"]):
            open_fence = fence["fence"]
            lines.append(line)
            continue
        escaped = _HEADING.sub(lambda m: m[1] + "#" * min(6, len(m[2]) + 3), line)
        lines.append(_escape_tags(escaped))
    if open_fence:
        lines.append(open_fence)
    return "\n".join(lines).rstrip()


def _escape_tags(line: str) -> str:
    if "<" not in line:
        return line
    parts: list[str] = []
    position = 0
    for start, end in code_spans(line, 0, len(line)):
        parts += [_TAG.sub("&lt;", line[position:start]), line[start:end]]
        position = end
    return "".join([*parts, _TAG.sub("&lt;", line[position:])])
