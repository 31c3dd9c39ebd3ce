"""A whole session as markdown that people read: who said what, when, with which tools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from leftoff import codec
from leftoff.formats.vocabulary import text_argument
from leftoff.model import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult, Usage
from leftoff.redaction.redactor import Redactor
from leftoff.summary import SessionInfo
from leftoff.text.markdown import code_spans
from leftoff.text.sanitize import clean
from leftoff.text.truncation import one_line

TOOLS = ("folded", "shown", "hidden")
"""What becomes of tool calls and results: a line that opens, in full, or left out."""

_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})(?P<after>[^\n]*)$")
_HEADING = re.compile(r"^( {0,3})(#{1,6})(?=[ \t]|$)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_TICKS = re.compile(r"`+")
_SPEAKERS = {"user": "User", "assistant": "Agent", "system": "System", "tool": "Tool"}
_NAMED = ("file_path", "path", "command", "cmd", "pattern", "query", "url", "description")


def conversation(
    messages: Sequence[Message],
    session: SessionInfo,
    *,
    tools: str = "folded",
    gate: Redactor | None = None,
) -> Iterator[str]:
    """The session as markdown, piece by piece, redacted and safe for a terminal.

    A result stands with the call that it answers. Headings of messages are lowered and their
    HTML is made inert, so that no message can pass for another. Tokens stand with the first
    message of the API response that used them.

    Args:
        messages: of one session, in order; those of subagents may stand among them.
        session: for the head; only what is known is shown.
        tools: one of `TOOLS`.
        gate: the redactor of the document, where it is part of a larger one.
    """
    page = _Page(gate or Redactor(), tools, messages)
    yield page.head(session, messages)
    main = [m for m in messages if not m.agent]
    agents = dict.fromkeys(m.agent for m in messages if m.agent)
    for message in main:
        yield page.message(message)
    for agent in agents:
        yield f"## Subagent {page.flat(agent)}\n\n"
        for message in messages:
            if message.agent == agent:
                yield page.message(message)


class _Page:
    def __init__(self, gate: Redactor, tools: str, messages: Sequence[Message]) -> None:
        self.gate = gate
        self.tools = tools
        self.results: dict[tuple[str, str], tuple[int, ToolResult]] = {}
        calls: set[tuple[str, str]] = set()
        self.spent: dict[tuple[str, str], Usage] = {}
        for m in messages:
            for part in m.parts:
                if type(part) is ToolCall and part.id:
                    calls.add((m.agent, part.id))
                elif type(part) is ToolResult and (m.agent, part.call_id) in calls:
                    self.results.setdefault((m.agent, part.call_id), (m.index, part))
            if m.usage is not None:
                known = self.spent.get(_response(m))
                if known is None or m.usage.total > known.total:
                    self.spent[_response(m)] = m.usage
        self._told: set[tuple[str, str]] = set()

    def flat(self, text: str, limit: int = 200) -> str:
        """Untrusted words on one line, without markup."""
        return escape(one_line(self.gate.text(text), limit), quote=False)

    def head(self, session: SessionInfo, messages: Sequence[Message]) -> str:
        asked = next((m.text for m in messages if m.typed), "")
        title = self.flat(session.title or asked or session.id or "Session", 100)
        total = sum(self.spent.values(), Usage())
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
        lines = [f"- {name}: {self.flat(value)}" for name, value in facts.items() if value]
        return f"# {title}\n\n" + "\n".join(lines) + "\n\n"

    def message(self, message: Message) -> str:
        pieces = [p for p in (self._part(message, part) for part in message.parts) if p]
        if not pieces:
            return ""
        who = _SPEAKERS.get(message.role, message.role)
        if message.origin not in {"prompt", "agent", "tool"}:
            who = f"{who} ({message.origin})"
        notes = [message.model, _time(message.time)]
        response = _response(message)
        if response in self.spent and response not in self._told:
            self._told.add(response)
            notes.append(_tokens(self.spent[response]))
        head = " · ".join([who, *(self.flat(n) for n in notes if n)])
        return f"### #{message.index + 1} {head}\n\n" + "\n\n".join(pieces) + "\n\n"

    def _part(self, message: Message, part: Part) -> str:
        if isinstance(part, Text):
            return _inert(clean(self.gate.text(part.text)))
        if isinstance(part, Reasoning):
            if not part.text.strip() or self.tools == "hidden":
                return ""
            thought = _inert(clean(self.gate.text(part.text)))
            return self._folded("Thought", thought)
        if isinstance(part, Media):
            return f"[{self.flat(part.media_type or 'media')}]"
        if self.tools == "hidden":
            return ""
        if isinstance(part, ToolCall):
            return self._call(message, part)
        answered = self.results.get((message.agent, part.call_id))
        if answered is not None and answered[1] is part:
            return ""  # stands with its call
        return self._folded(f"← {_status(part)}", _fenced(clean(self.gate.text(part.text))))

    def _call(self, message: Message, call: ToolCall) -> str:
        given = self.gate.value(call.input)
        about = _about(call, given)
        words = given if isinstance(given, str) else codec.dumps(given, indent=2).decode()
        body = [_fenced(clean(words))] if given not in (None, {}, "") else []
        title = f"→ {self.flat(call.name, 60)}"
        if about:
            title += f" <code>{escape(one_line(about, 90), quote=False)}</code>"
        found = self.results.get((message.agent, call.id)) if call.id else None
        if found is not None:
            index, result = found
            title += f" ← {_status(result)} (#{index + 1})"
            if result.text.strip():
                body.append(_fenced(clean(self.gate.text(result.text))))
        return self._folded(title, "\n\n".join(body))

    def _folded(self, title: str, body: str) -> str:
        if not body or self.tools == "shown":
            return f"**{title}**" + (f"\n\n{body}" if body else "")
        return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def _response(message: Message) -> tuple[str, str]:
    return (message.agent, message.response or f"message {message.index}")


def _about(call: ToolCall, given: object) -> str:
    """What the call is about, for its one line: a path, a command."""
    twin = ToolCall(call.id, call.name, call.kind, given)
    kind = "command" if call.kind in {"shell", "powershell"} else "path"
    found = text_argument(twin, kind)
    if not found and isinstance(given, dict):
        told = (given.get(name) for name in _NAMED)
        found = next((t for t in told if isinstance(t, str) and t.strip()), "")
    return found


def _status(result: ToolResult) -> str:
    if result.exit_code is not None:
        return f"exit {result.exit_code}"
    return escape(result.status)


def _time(time: str) -> str:
    return time[:19].replace("T", " ")


def _tokens(usage: Usage) -> str:
    cached = f" + {usage.cache_read:,} cached" if usage.cache_read else ""
    given = usage.input + usage.cache_write
    return f"{given:,}{cached} tokens in, {usage.output:,} out"


def _fenced(text: str) -> str:
    longest = max((len(run[0]) for run in _TICKS.finditer(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _inert(text: str) -> str:
    """Markdown of a message that cannot leave its place: headings lowered below those of the
    page, HTML shown as text, an open fence closed."""
    lines: list[str] = []
    open_ = ""
    for line in text.strip("\n").split("\n"):
        fence = _FENCE.match(line)
        if open_:
            if fence and fence["fence"].startswith(open_) and not fence["after"].strip():
                open_ = ""
            lines.append(line)
            continue
        if fence and not (fence["fence"][0] == "`" and "`" in fence["after"]):
            open_ = fence["fence"]
            lines.append(line)
            continue
        lowered = _HEADING.sub(lambda m: m[1] + "#" * min(6, len(m[2]) + 3), line)
        lines.append(_without_tags(lowered))
    if open_:
        lines.append(open_)
    return "\n".join(lines).rstrip()


def _without_tags(line: str) -> str:
    if "<" not in line:
        return line
    pieces: list[str] = []
    at = 0
    for start, end in code_spans(line, 0, len(line)):
        pieces += [_TAG.sub("&lt;", line[at:start]), line[start:end]]
        at = end
    return "".join([*pieces, _TAG.sub("&lt;", line[at:])])
