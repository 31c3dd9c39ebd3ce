"""A whole session for people, as markdown or for a page: each message with speaker, time and
tool calls."""

from collections.abc import Collection, Iterator, Sequence
from html import escape

from msgspec import Struct

from leftoff import codec
from leftoff import lazy_re as re
from leftoff.formats.vocabulary import subject_of
from leftoff.model import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult, Usage
from leftoff.redaction.redactor import Redactor, SafeText
from leftoff.rendering.messages import recorded_time, status_of
from leftoff.summary import SessionInfo
from leftoff.text.markdown import code_spans
from leftoff.text.truncation import one_line

# How tool calls and results are shown: folded, open, or not at all.
TOOLS = ("folded", "shown", "hidden")
_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})(?P<after>[^\n]*)$")
_HEADING = re.compile(r"^( {0,3})(#{1,6})(?=[ \t]|$)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_BACKTICKS = re.compile(r"`+")
_SPEAKERS = {"user": "User", "assistant": "Agent", "system": "System", "tool": "Tool"}


class Block(Struct, frozen=True):
    """A part of a message, redacted: text | thought | call | result | media."""

    kind: str
    text: SafeText  # what was said, the result's text, or the type of a medium
    title: str = ""  # the tool's name
    subject: str = ""  # what a call acts on: its path, command or query
    arguments: object = None
    status: str = ""  # the outcome of a call or of a result without one, "" if there is none
    answer: int = 0  # number of the message that holds the result of a call, 0 if there is none


class Entry(Struct, frozen=True):
    """A message, redacted; `number` counts from 1, `typed` by a person, `rewound`: on a branch
    that the person went back from."""

    number: int
    speaker: str
    notes: tuple[str, ...]
    blocks: tuple[Block, ...]
    typed: bool
    rewound: bool


class Conversation:
    """The messages of a session as redacted entries, for markdown and for HTML.

    A result belongs to the call that it answers. The tokens of an API response are shown with
    its first message.

    Args:
        messages: of one session, in order; messages of subagents may be among them.
        session: for the head; empty fields are left out.
        tools: one of `TOOLS`.
        rewound: the indexes of messages of the main thread on branches that were rewound."""

    def __init__(
        self,
        messages: Sequence[Message],
        session: SessionInfo,
        *,
        tools: str = "folded",
        rewound: Collection[int] = (),
    ) -> None:
        self.gate = Redactor()
        self.messages, self.session, self.tools = messages, session, tools
        self.rewound = rewound
        self.results: dict[tuple[str, str], tuple[int, ToolResult]] = {}
        calls: set[tuple[str, str]] = set()
        usage: dict[tuple[str, str], Usage] = {}
        for m in messages:
            for part in m.parts:
                if type(part) is ToolCall and part.id:
                    calls.add((m.agent, part.id))
                # A result before its call is another session's, or damaged: it stands by
                # itself.
                elif type(part) is ToolResult and (m.agent, part.call_id) in calls:
                    self.results.setdefault((m.agent, part.call_id), (m.index, part))
            if m.usage is not None:
                known = usage.get(_response_key(m), m.usage)
                usage[_response_key(m)] = max(known, m.usage, key=lambda u: u.total)
        self.total = sum(usage.values(), Usage())
        # Of the responses whose first message with something to show is still to come.
        self._usage_to_show = usage

    def single_line(self, text: str, limit: int = 200) -> str:
        """Recorded text, redacted, on one line."""
        return one_line(self.gate.text(text), limit)

    @property
    def title(self) -> str:
        """The session's title, else its first prompt, else its id."""
        asked = next((m.text for m in self.messages if m.typed), "")
        known = self.session.title or asked or self.session.id or "Session"
        return self.single_line(known, 100)

    def facts(self) -> list[tuple[str, str]]:
        """What is known of the session, by name."""
        session = self.session
        times = (session.started, session.ended)
        found = {
            "Session": session.id,
            "Recorded by": " ".join(x for x in (session.format, session.agent_version) if x),
            "Directory": session.cwd,
            "Branch": session.branch,
            "Models": ", ".join(session.models),
            "Time": " to ".join(recorded_time(t) for t in times if t),
            "Messages": f"{len(self.messages):,}",
            "Tokens": _tokens(self.total) if self.total.total else "",
        }
        return [(name, self.single_line(value)) for name, value in found.items() if value]

    def threads(self) -> Iterator[tuple[str, Iterator[Entry]]]:
        """The main thread, named "", then each subagent's, with what was said in it."""
        # The main thread comes first even where a subagent's lines were recorded before it.
        for agent in dict.fromkeys(["", *(m.agent for m in self.messages)]):
            entries = map(self._entry, [m for m in self.messages if m.agent == agent])
            yield self.single_line(agent), (entry for entry in entries if entry.blocks)

    def _entry(self, message: Message) -> Entry:
        blocks = tuple(b for part in message.parts if (b := self._block(message, part)))
        speaker = _SPEAKERS.get(message.role, message.role)
        if message.origin not in {"prompt", "agent", "tool"}:
            speaker = f"{speaker} ({message.origin})"
        notes = [message.model, recorded_time(message.time)]
        usage = self._usage_to_show.pop(_response_key(message), None) if blocks else None
        notes.append(_tokens(usage) if usage is not None else "")
        rewound = not message.agent and message.index in self.rewound
        if rewound:
            notes.append("rewound")
        shown = tuple(self.single_line(note) for note in notes if note)
        return Entry(message.index + 1, speaker, shown, blocks, bool(message.typed), rewound)

    def _block(self, message: Message, part: Part) -> Block | None:
        if isinstance(part, Media):
            return Block("media", self.gate.shown(part.media_type or "media"))
        if isinstance(part, Text):
            return Block("text", self.gate.shown(part.text)) if part.text.strip() else None
        if self.tools == "hidden":
            return None
        if isinstance(part, Reasoning):
            return Block("thought", self.gate.shown(part.text)) if part.text.strip() else None
        if isinstance(part, ToolCall):
            return self._call(message, part)
        answered = self.results.get((message.agent, part.call_id))
        if answered is not None and answered[1] is part:
            return None  # shown with its call
        return Block("result", self.gate.shown(part.text), status=status_of(part))

    def _call(self, message: Message, call: ToolCall) -> Block:
        # First the arguments: their names help some rules to know a secret.
        redacted = self.gate.value(call.input)
        answer, result = self.results.get((message.agent, call.id), (-1, None))
        return Block(
            "call",
            self.gate.shown(result.text if result else ""),
            self.single_line(call.name, 60),
            one_line(subject_of(ToolCall(call.id, call.name, call.kind, redacted)), 90),
            redacted,
            status_of(result) if result else "",
            answer + 1,
        )


def conversation(page: Conversation) -> Iterator[str]:
    """Yields the session as markdown, one message at a time, redacted and safe for a terminal.

    Headings inside a message are moved below the page's own levels and its HTML is escaped, so
    that no message can imitate another."""
    facts = "\n".join(f"- {name}: {_escaped(value)}" for name, value in page.facts())
    yield f"# {_escaped(page.title)}\n\n{facts}\n\n"
    for agent, entries in page.threads():
        if agent:
            yield f"## Subagent {_escaped(agent)}\n\n"
        for entry in entries:
            head = " · ".join([entry.speaker, *map(_escaped, entry.notes)])
            blocks = [
                _markdown(block, page.gate, folded=page.tools != "shown")
                for block in entry.blocks
            ]
            yield f"### #{entry.number} {head}\n\n" + "\n\n".join(blocks) + "\n\n"


def _markdown(block: Block, gate: Redactor, *, folded: bool) -> str:
    if block.kind == "text":
        return _neutralized(block.text)
    if block.kind == "media":
        return f"[{_escaped(one_line(block.text, 200))}]"
    if block.kind == "thought":
        return _details("Thought", _neutralized(block.text), folded=folded)
    if block.kind == "result":
        return _details(f"← {escape(block.status)}", _fenced(block.text), folded=folded)
    given, title = block.arguments, f"→ {_escaped(block.title)}"
    if block.subject:
        title += f" <code>{_escaped(block.subject)}</code>"
    if block.answer:
        title += f" ← {escape(block.status)} (#{block.answer})"
    body = []
    if given not in (None, {}, ""):
        code = given if isinstance(given, str) else codec.dumps(given, indent=2).decode()
        body.append(_fenced(gate.shown(code)))
    if block.text.strip():
        body.append(_fenced(block.text))
    return _details(title, "\n\n".join(body), folded=folded)


def _details(title: str, body: str, *, folded: bool) -> str:
    if not body or not folded:
        return f"**{title}**" + (f"\n\n{body}" if body else "")
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def _escaped(text: str) -> str:
    return escape(text, quote=False)


def _response_key(message: Message) -> tuple[str, str]:
    return (message.agent, message.response or f"message {message.index}")


def _tokens(usage: Usage) -> str:
    cached = f" + {usage.cache_read:,} cached" if usage.cache_read else ""
    read = usage.input + usage.cache_write
    return f"{read:,}{cached} tokens in, {usage.output:,} out"


def _fenced(text: SafeText) -> str:
    # A fence must be longer than any in the text that it holds.
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
        # CommonMark: a line of backticks with another backtick after it opens no fence.
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
