"""A whole session as one HTML page: the messages in order, tools folded, filters, search."""

from collections.abc import Iterator
from itertools import groupby

from markupsafe import Markup, escape

from leftoff import lazy_re as re
from leftoff.redaction.redactor import Redactor
from leftoff.rendering.conversation import Block, Conversation, Entry
from leftoff.rendering.html.engine import html_document, render_template, template_text
from leftoff.rendering.messages import call_text
from leftoff.text.markdown import FENCE, TABLE, blocks_of

# Characters of a prompt in the table of contents. Chosen by hand.
MAX_PROMPT_LENGTH = 70

_FILTERS = {
    "agent": "the agent",
    "call": "tools",
    "thought": "thoughts",
    "recorder": "the recorder's messages",
    "rewound": "rewound messages",
}
_STYLE = template_text("session.css") + template_text("conversation.css")
_SCRIPT = template_text("search.js").strip()
_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"[\s|:-]+")
_INLINE = re.compile(
    r"^[ ]{0,3}\#{1,6}[ ]+(?P<heading>[^\n]+)$"
    r"|(?<!`)`(?P<code>[^`\n]+)`(?!`)"
    r"|\*\*(?P<bold>[^*\n]+)\*\*",
    re.MULTILINE,
)


def conversation_page(shown: Conversation) -> str:
    """The session as a self-contained page, redacted. Filters work without its script, which
    is the search. Nothing recorded becomes a link or an image."""
    threads = [(agent, list(entries)) for agent, entries in shown.threads()]
    # The only model of a session stands in its head.
    repeated = set(shown.session.models) if len(shown.session.models) == 1 else set()
    prompts = [
        (entry.number, shown.single_line(said, MAX_PROMPT_LENGTH))
        for entry in threads[0][1]
        if entry.typed
        for said in [next((b.text for b in entry.blocks if b.kind == "text"), "")]
    ]
    every = [entry for _, entries in threads for entry in entries]
    kinds = {kind_of(entry) for entry in every} | {b.kind for e in every for b in e.blocks}
    # A filter without anything to hide would be a riddle.
    if any(entry.rewound for entry in every):
        kinds.add("rewound")
    body = render_template(
        "conversation.html",
        title=shown.title,
        facts=shown.facts(),
        threads=threads,
        prompts=prompts,
        filters=[(name, words) for name, words in _FILTERS.items() if name in kinds],
        open=shown.tools == "shown",
        kind_of=kind_of,
        notes=lambda entry: [note for note in entry.notes if note not in repeated],
        prose=_prose,
        lines_of=lambda block: _lines(block, shown.gate),
        redacted=lambda: shown.gate.total,
    )
    return html_document(shown.title, body, style=_STYLE, script=_SCRIPT, kind="wide")


def kind_of(entry: Entry) -> str:
    """Whose message it is: person | agent | recorder."""
    if entry.typed:
        return "person"
    return "agent" if entry.speaker in {"Agent", "Tool"} else "recorder"


def _prose(block: Block, *, literal: bool) -> Iterator[tuple[str, object]]:
    """The runs of a text: ("prose" | "code", text) and ("table", rows of cells). What a person
    typed stays as it is."""
    text = block.text.strip("\n")
    blocks: list[tuple[int, int, int]] = []
    for start, end, kind in blocks_of(text)[0] if not literal else ():
        above = blocks[-1] if blocks else (0, 0, "")
        if kind == TABLE == above[2] and not text[above[1] : start].strip():
            start = blocks.pop()[0]
        if kind in {FENCE, TABLE}:
            blocks.append((start, end, kind))
    position = 0
    for start, end, kind in [*blocks, (len(text), len(text), FENCE)]:
        between = text[position:start].strip("\n")
        if between.strip():
            yield "prose", between if literal else _inline(between)
        lines = text[start:end].strip("\n").split("\n")
        if kind == TABLE and lines[0].lstrip().startswith("|"):
            yield "table", [_cells(line) for line in lines if not _RULE.fullmatch(line)]
        elif start < end:
            closed = kind == FENCE and lines[-1].strip()[:3] == lines[0].strip()[:3]
            body = lines[1 : -1 if closed else None] if kind == FENCE else lines
            yield "code", "\n".join(body)
        position = end


def _cells(line: str) -> list[object]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [_inline(cell.strip().replace("\\|", "|")) for cell in _BAR.split(inner)]


def _inline(text: str) -> object:
    """Headings and bold words as `<b>`, inline code as `<code>`."""
    found, position = Markup(""), 0
    for match in _INLINE.finditer(text):
        found += escape(text[position : match.start()])
        tag = "code" if match.lastgroup == "code" else "b"
        found += Markup("<{0}>{1}</{0}>").format(tag, match[match.lastgroup or 0])
        position = match.end()
    return found + escape(text[position:])


def _lines(block: Block, gate: Redactor) -> list[tuple[str, str]]:
    """A call's arguments in lines: (class, line); what an edit removes and adds is marked."""
    text = gate.shown(call_text(block.title, block.arguments))
    signs = {"- ": "removed", "+ ": "added"}
    lines = text.split("\n") if text else []
    runs = groupby(lines, key=lambda line: signs.get(line[:2], ""))
    return [(sign, "\n".join(run)) for sign, run in runs]
