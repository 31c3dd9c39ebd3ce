"""Extractor of errors, findings, next steps, the agent's own to-do list, and what git made."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from msgspec import Struct, field

from leftoff import lazy_re as re
from leftoff.extraction.errors import telling_line
from leftoff.extraction.evidence import CUT, Called, Evidence, Failed, Planned, Said, Shown
from leftoff.extraction.extractor import FAILED, HIT, OUTPUT, PLAN, View, remember
from leftoff.extraction.rules import Hit
from leftoff.formats.vocabulary import argument, first_text
from leftoff.model import ToolCall, ToolResult
from leftoff.redaction.scanner import safe_quote_end
from leftoff.tables import table
from leftoff.text.markdown import HEADING, ITEM, block_before, blocks_of, sentences_of_block
from leftoff.text.truncation import whole

_NUMBER = re.compile(r"#(\d+)")
# The line above a list: it ends in a colon, or is bold from end to end.
_LIST_LEAD = re.compile(r":\**\s*$|^\*\*[^*]+\*\*\s*$")
# An item with one of these is done, whatever its heading says.
_TICK = re.compile(r"\[[xX]\]|✓|✅|☑|~~")

_RUN_KINDS = frozenset({"shell", "powershell", "script", "python", "poll", "other", ""})

# Code points; of a longer list item only the first sentence is recorded. Chosen by hand; not
# measured.
MAX_ITEM = 400

# Code points of the error line that is recorded.
MAX_ERROR_LINE = 300

# At most so many items of a list of next steps.
MAX_LIST_ITEMS = 12
_STATUS = {"in_progress": "in_progress", "completed": "completed", "done": "completed"}


class Insights(Struct):
    """Records failed calls with the line that says why, findings, next steps, to-do lists.

    `created` holds the texts of to-do items whose number is recorded only in the call's result,
    by call id."""

    name: ClassVar[str] = "insights"
    wants: ClassVar[int] = FAILED | HIT | OUTPUT | PLAN

    created: dict[str, str] = field(default_factory=dict)

    def see(self, view: View) -> Iterable[Evidence]:
        for number, part, call in view.tools:
            if type(part) is ToolCall:
                if part.kind == "plan":
                    yield from self._plan(view, number, part)
            elif type(part) is ToolResult:
                if part.status in {"error", "timeout"}:
                    yield _failure(view, number, part, call)
                elif self.created and part.call_id in self.created:
                    yield from self._created_task(view, number, part)
        yield from _git_facts(view)
        listed: set[tuple[str, int, int]] = set()
        for hit, layout, start, end in view.sentences(self.name):
            text = layout.text[start:end]
            if hit.rule.topic in {"next_list", "next_step"}:
                # A line that only introduces a list is not a step; its items are.
                listing = hit.rule.id != "left-undone"  # it heads lists of all kinds
                steps = list(_items_after(view, hit.part, start, end)) if listing else []
                for first, last, words in steps:
                    if (hit.rule.id, hit.part, first) not in listed:
                        listed.add((hit.rule.id, hit.part, first))
                        ref = view.text_ref(hit.part, first, last)
                        yield Said("next_step", hit.rule.id, ref, words)
                if steps or hit.rule.topic == "next_list" or text.endswith(":"):
                    continue
            ref = view.text_ref(hit.part, start, end)
            yield Said(hit.rule.topic, hit.rule.id, ref, text, "", hit.start - start)

    def _plan(self, view: View, number: int, call: ToolCall) -> list[Evidence]:
        given = call.input if isinstance(call.input, dict) else {}
        ref = view.record_ref(number)
        if call.name == "TaskCreate":
            if call.id and isinstance(given.get("subject"), str):
                remember(self.created, call.id, given["subject"], 64)
            return []
        if call.name == "TaskUpdate":
            key, status = str(given.get("taskId", "")), str(given.get("status", ""))
            item = (key, first_text(given, ("subject",)), status)
            return [Planned(ref, (item,), whole=False)] if key else []
        items = _items(argument(call, "items"))
        return [Planned(ref, items)] if items else []

    def _created_task(self, view: View, number: int, result: ToolResult) -> list[Evidence]:
        words = self.created.pop(result.call_id)
        match = _NUMBER.search(result.text)
        if match is None:
            return []
        item = (match[1], words, "pending")
        return [Planned(view.record_ref(number), (item,), whole=False)]


def _items_after(view: View, part: int, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """The items of the lists that a heading introduces, or of the list after a line that ends
    in a colon. Of a long item the first sentence; items that are ticked off are left out, and
    those within another item, unless it only names a group."""
    text: str = getattr(view.message.parts[part], "text", "")
    blocks, _ = blocks_of(text)
    here = block_before(blocks, start)
    if here < 0 or start >= blocks[here][1]:
        return
    if not (blocks[here][2] == HEADING or _LIST_LEAD.search(text[start:end])):
        return
    outer, groups, numbered = -1, False, False
    for first, last, kind in blocks[here + 1 : here + 1 + MAX_LIST_ITEMS]:
        if kind != ITEM:
            if blocks[here][2] == HEADING and _LIST_LEAD.search(text[first:last]):
                continue  # a line between the heading and its list
            return
        before = text[text.rfind("\n", 0, first) + 1 : first]
        indent = len(before) - len(before.lstrip(" \t>"))
        if outer < 0 or indent <= outer + 1:
            has_number = any(map(str.isdigit, before))
            if outer >= 0 and has_number != numbered:
                return  # another list
            numbered = has_number
            outer, groups = indent, _LIST_LEAD.search(text[first:last]) is not None
        elif not groups:
            continue  # it says more of the item above it
        if _TICK.search(text[max(0, first - 6) : first + 6]):
            continue
        if last - first > MAX_ITEM:
            first, last = sentences_of_block(text, first, last)[0]
        yield first, last, text[first:last]


def _items(value: object) -> tuple[tuple[str, str, str], ...]:
    """The items of a to-do list as any recorder writes them."""
    found: list[tuple[str, str, str]] = []
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, str):
            found.append(("", entry, "pending"))
        elif isinstance(entry, dict):
            words = first_text(entry, ("content", "step", "title", "text", "description"))
            status = str(entry.get("status", "pending")).replace("-", "_")
            if words:
                found.append(("", words, _STATUS.get(status, "pending")))
    return tuple(found)


def _failure(view: View, number: int, result: ToolResult, call: Called) -> Failed:
    """The line of the output that says what went wrong (see `errors.telling_line`)."""
    text = result.text
    refused = call.kind not in _RUN_KINDS or text.startswith("<tool_use_error>")
    start, end = telling_line(text, first=refused)
    cut = len(whole(text[start:end], MAX_ERROR_LINE))
    if cut < min(end - start, MAX_ERROR_LINE) // 2:  # a long word, such as JSON on one line
        cut = min(end - start, MAX_ERROR_LINE)
    end = safe_quote_end(text, start, start + cut)
    ref = view.text_ref(number, start, end)
    return Failed(ref, *call.call, result.status, text[start:end])


# -- lines in tool output by which git and forges say what they made ------------------------

# Code points of a line that are recorded: subjects are rarely a tenth as long.
MAX_GIT_LINE = 1000

# Inside JSON a line break is the two characters `\n`.
_HEADER = re.compile(r"(?:^|\\n)(To|From) (\S+?)(?=\s|\\n|$)", re.MULTILINE)
_CREATES = re.compile(
    r"\b(?:pr|mr) create|pull-request|create_\w*(?:pull|merge|pr\b)"
    r"|(?:pull|merge)_?request\w*create|/(?:pulls|merge_requests)\b",
    re.IGNORECASE,
)
# What the reference names: the subject of a commit, what was pushed where.
_SAID = re.patterns(table(__file__, "patterns.toml")["git"])


def _git_facts(view: View) -> Iterator[Shown]:
    """The evidence in the outputs of one message. A push line stands after the header
    `To <remote>`, which is recorded before it; below `From <remote>` it is a fetch."""
    for hit, text, call in view.output_hits("git"):
        kind, at, lead = hit.rule.value, hit.start, ""
        if kind == "git_push":
            lead = _header(text, hit)
            if lead.startswith("From "):
                continue
        elif kind == "git_pr" and len(call.text) < CUT:
            if not _CREATES.search(f"{call.name} {call.text}"):
                continue
        quoted = text[at : safe_quote_end(text, at, _end(text, hit))]
        said = _SAID[kind].search(quoted) if kind in _SAID else None
        if said is None:
            ref = view.record_ref(hit.part)
        else:
            ref = view.text_ref(hit.part, at + said.start(1), at + said.end(1))
        yield Shown(ref, *call.call, kind, True, lead + quoted, hit.rule.id)


def _header(text: str, hit: Hit) -> str:
    found = ""
    for match in _HEADER.finditer(text, max(0, hit.start - 4000), hit.start):
        found = f"{match[1]} {match[2]}\n"
    return found


def _end(text: str, hit: Hit) -> int:
    """Where the line ends; in output that is quoted as JSON, at its escaped line end."""
    end = min(hit.end, hit.start + MAX_GIT_LINE)
    escaped = text.find("\\n", hit.start, end)
    quoted = hit.start and text[hit.start - 1] in '"n'
    return escaped if escaped >= 0 and quoted else end
