"""Extractor of what edits change: lines added and removed, places, symbols, names, the changed
lines.

Read from the arguments of the call, not from its result: a failed call records its edit, too,
and `analysis.files.edits` leaves it out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import ClassVar

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.extraction.evidence import Edited, Evidence, Saw, Wrote, WroteLines
from leftoff.extraction.extractor import EDIT, RESULT, View
from leftoff.extraction.files import PATH_KEYS, edited_paths, operation
from leftoff.extraction.names import names_in, texts_in
from leftoff.formats.vocabulary import argument, first_text, replaces_everywhere, text_argument
from leftoff.model import ToolCall, ToolResult
from leftoff.redaction.redactor import Redactor
from leftoff.redaction.scanner import is_quiet
from leftoff.shell.paths import absolute
from leftoff.tables import table
from leftoff.text.line_hashes import Replaced, line_hash, line_hashes
from leftoff.text.sanitize import clean
from leftoff.text.truncation import GAP, whole

_RE = re.patterns(table(__file__, "patterns.toml")["edits"])

# Lines of an edit that are compared line by line; of a longer one only the lines at its ends
# that are equal are left out. Chosen by hand; not measured.
MAX_LINES = 2_000

# Lines and code points of the changed lines that are recorded of one edit. Chosen by hand.
MAX_HUNK_LINES, MAX_HUNK = 8, 400

# Symbols recorded of one edit. Chosen by hand.
MAX_SYMBOLS = 6

_WRITES = frozenset({"edit", "create", "patch", "notebook"})

# Code points of a call's text that are searched for names. Chosen by hand; not measured.
MAX_TEXT = 50_000


class Edits(Struct):
    """Records the change that each edit makes, and the identifiers in the call."""

    name: ClassVar[str] = "edits"
    wants: ClassVar[int] = EDIT

    def see(self, view: View) -> Iterable[Evidence]:
        message = view.message
        for number, part, _ in view.tools:
            if type(part) is not ToolCall or part.kind not in _WRITES:
                continue
            # Redact first: no rule recognises half of a secret, or one that is cut into names.
            text = "\n".join(texts_in(part.input))
            redacted = Redactor().text(whole(text, MAX_TEXT))
            for path, changes, whole_file in _changes(part):
                hunk = _hunk(changes)
                places = [
                    (c.first, c.first + max(0, len(c.added) - 1)) for c in changes if c.first
                ]
                yield Edited(
                    message.index,
                    number,
                    absolute(path, message.cwd),
                    sum([len(c.added) for c in changes]),
                    sum([len(c.removed) for c in changes]),
                    min((first for first, _ in places), default=0),
                    max((last for _, last in places), default=0),
                    _symbols(changes),
                    whole(hunk if redacted == text else Redactor().text(hunk), MAX_HUNK),
                    whole_file,
                    _repeats(part),
                    _texts(part),
                )
            if names := names_in(redacted):
                yield Wrote(message.index, number, names)


class WrittenLines(Struct):
    """Records which lines each edit writes and removes, as hashes. Runs only where a memory of
    projects is built."""

    name: ClassVar[str] = "written_lines"
    wants: ClassVar[int] = EDIT

    def see(self, view: View) -> Iterable[Evidence]:
        message = view.message
        for number, part, _ in view.tools:
            if type(part) is ToolCall:
                for path, changes, whole_file in _changes(part):
                    replaced = tuple(
                        Replaced(
                            line_hash(c.before) if c.before else 0,
                            line_hashes(c.old),
                            line_hashes(c.new),
                        )
                        for c in changes
                    )
                    path = absolute(path, message.cwd)
                    yield WroteLines(message.index, number, path, whole_file, replaced)


# Code points that are recorded of an output and of a call's own words. Chosen by hand.
MAX_SEEN, MAX_SEEN_WORDS = 480, 160

_SEEN = frozenset({"read", "search", "list", "fetch", "shell", "powershell"})


class Seen(Struct):
    """Records what reading, searching and running showed. Runs only where a memory of projects
    is built."""

    name: ClassVar[str] = "seen"
    wants: ClassVar[int] = RESULT

    def see(self, view: View) -> Iterable[Evidence]:
        for _, part, call in view.tools:
            if type(part) is not ToolResult or call.kind not in _SEEN:
                continue
            if call.text and part.status != "error" and (shown := telling_lines(part.text)):
                words = whole(Redactor().text(clean(call.text)), MAX_SEEN_WORDS)
                yield Saw(call.message, call.part, call.kind, words, shown)


def telling_lines(output: str) -> str:
    """What an output is about, redacted: of a file the lines that define something, else the
    first lines with letters; then the names that occur most often."""
    text = _RE["envelope"].sub("", _RE["line_number"].sub("", clean(output[:_MAX_LOOKED])))
    if not is_quiet(text):
        text = Redactor().text(text)  # before the cut: no rule recognises half of a secret
    defined = (m[0].strip() for m in _RE["symbol"].finditer("\n" + text))
    found = list(islice(dict.fromkeys(defined), MAX_SEEN))
    if len(found) < 2:
        lines = (line.strip() for line in text.splitlines())
        found = list(islice((li for li in lines if any(map(str.isalpha, li))), 12))
    names = Counter(_RE["name"].findall(text)).most_common(MAX_SEEN // 4)
    shown = whole("\n".join(found), _MAX_LINES)
    new = (name for name, _ in names if name not in shown)
    return whole("\n".join(filter(None, (shown, " ".join(new)))), MAX_SEEN)


# Code points of an output that are looked at. Chosen by hand.
_MAX_LOOKED = 16_000

# Code points of its lines, before its names. Chosen by hand.
_MAX_LINES = 160


class Change(Struct, frozen=True):
    """One replaced region.

    Attributes:
        removed, added: lines, without the equal ones between them up to `MAX_LINES`.
        first: its first line from 1, 0 where it is not known.
        before: the line before the region that has letters, "" where it is not known.
        old, new: all lines of the region."""

    removed: Sequence[str]
    added: Sequence[str]
    first: int
    before: str
    old: Sequence[str]
    new: Sequence[str]


def _hunk(changes: Sequence[Change]) -> str:
    """The first changed lines: those that were added, else those that were removed."""
    added = _marked("+", ((c.added, c.new) for c in changes))
    removed = _marked("-", ((c.removed, c.old) for c in changes))
    shown = list(islice(added, MAX_HUNK_LINES)) or list(islice(removed, MAX_HUNK_LINES))
    return whole("\n".join(shown).removesuffix(f"\n{GAP}"), 4 * MAX_HUNK)


def _marked(sign: str, regions: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Iterator[str]:
    """The differing lines of each region of lines behind a sign, without blank ones; `GAP`
    where other lines stand between them."""
    any_before = False
    for differing, every in regions:
        waiting, gap = iter(differing), any_before
        line = next(filter(str.strip, waiting), None)
        for one in filter(str.strip, every):
            if one != line:
                gap = any_before
                continue
            if gap:
                yield GAP
            yield sign + one
            any_before, gap = True, False
            line = next(filter(str.strip, waiting), None)
            if line is None:
                break


def _repeats(call: ToolCall) -> bool:
    """Whether a call does not show all lines that it removes: it replaces every occurrence of a
    text, or lines by their numbers."""
    given = call.input if isinstance(call.input, dict) else {}
    if type(given.get("start")) is int and not argument(call, "old"):
        return True
    return replaces_everywhere(call)


def _texts(call: ToolCall) -> tuple[int, ...]:
    """The hashes of the text that a call replaces and of the new one, where it shows both."""
    old, new = argument(call, "old"), argument(call, "new")
    if not (isinstance(old, str) and isinstance(new, str) and old) or _repeats(call):
        return ()
    return line_hash(old), line_hash(new)


def _symbols(changes: Sequence[Change]) -> tuple[str, ...]:
    """The first symbols that the added lines define, then those of the removed ones."""
    found: dict[str, None] = {}
    for sides in ([c.added for c in changes], [c.removed for c in changes]):
        for match in _RE["symbol"].finditer("\n".join(["", *chain.from_iterable(sides)])):
            found[match[1]] = None
            if len(found) == MAX_SYMBOLS:
                return tuple(found)
    return tuple(found)


def _changes(call: ToolCall) -> "Iterator[tuple[str, list[Change], bool]]":
    """The changes of a call, by path as the call names it, and whether they write the whole
    file."""
    verb = operation(call)
    if verb not in {"write", "create", "edit", "patch"}:
        return
    if verb == "patch":
        yield from _patch(text_argument(call, "patch"))
        return
    paths = edited_paths(call)
    edits: object = argument(call, "edits")
    if isinstance(edits, list):
        found: dict[str, list[Change]] = {}
        for edit in edits:
            if isinstance(edit, dict):
                old, new = (first_text(edit, keys) for keys in (_OLD, _NEW))
                path = first_text(edit, PATH_KEYS) or (paths[0] if paths else "")
                if path and (old or new):
                    found.setdefault(path, []).append(_replaced(old, new))
        yield from ((path, changes, verb != "edit") for path, changes in found.items())
        return
    if len(paths) != 1:
        return
    given = call.input if isinstance(call.input, dict) else {}
    old = argument(call, "old") if verb == "edit" else ""
    texts = [v for v in map(argument, (call, call), ("new", "content")) if isinstance(v, str)]
    if texts:
        first = given.get("start")
        at = first if type(first) is int and first > 0 else 0
        change = _replaced(old if isinstance(old, str) else "", texts[0], at)
        yield paths[0], [change], verb != "edit"
    elif blocks := _RE["block"].findall(first_text(given, ("diff",))):
        yield paths[0], [_replaced(old_text, new_text) for old_text, new_text in blocks], False
    elif patch := text_argument(call, "patch"):
        changes = [c for _, cs, _ in _patch(f"+++ {paths[0]}\n{patch}") for c in cs]
        yield paths[0], changes, False


_OLD = ("old_string", "old_str", "oldString", "oldText", "old", "search")
_NEW = ("new_string", "new_str", "newString", "newText", "new", "replace")


def _replaced(old: str, new: str, first: int = 0) -> Change:
    """What differs between two texts, without the equal lines at their ends and, up to
    `MAX_LINES`, without those between."""
    # Cleaned first: `splitlines` also ends a line in the middle of a word.
    before, after = clean(old).splitlines(), clean(new).splitlines()
    start, end, least = 0, 0, min(len(before), len(after))
    while start < least and before[start] == after[start]:
        start += 1
    while end < least - start and before[-1 - end] == after[-1 - end]:
        end += 1
    removed, added = before[start : len(before) - end], after[start : len(after) - end]
    line_before = next((line for line in reversed(before[:start]) if line.strip()), "")
    at = first + start if first else 0
    return Change(*_differing(removed, added), at, line_before, removed, added)


def _differing(removed: list[str], added: list[str]) -> tuple[list[str], list[str]]:
    """The lines that were really removed and added, up to `MAX_LINES`: agents replace a whole
    block where they change a line of it."""
    few = len(removed) + len(added) <= MAX_LINES
    if not (removed and added and few) or set(removed).isdisjoint(added):
        return removed, added
    from rapidfuzz.distance import LCSseq  # most edits need none

    changes = [c for c in LCSseq.opcodes(removed, added) if c.tag != "equal"]
    return (
        [line for c in changes for line in removed[c.src_start : c.src_end]],
        [line for c in changes for line in added[c.dest_start : c.dest_end]],
    )


# With which the line begins that names a file of a patch.
_HEADS = ("*** ", "+++ ")


def _patch(patch: str) -> Iterator[tuple[str, list[Change], bool]]:
    """The hunks of a patch by file, and whether it adds the file whole; unified diffs and the
    ``*** Begin Patch`` form."""
    path, found, adds = "", list[Change](), False
    removed: list[str] = []
    added: list[str] = []
    first = 0
    before = ""

    def close() -> None:
        nonlocal first
        if removed or added:
            minus, plus = map(tuple, _differing(removed, added))
            found.append(Change(minus, plus, first, before, tuple(removed), tuple(added)))
            first += len(added) if first else 0
            removed.clear()
            added.clear()

    for line in clean(patch).splitlines():
        named = _RE["file"].match(line) if line[:4] in _HEADS else None
        if named is not None:
            close()
            if path and found:
                yield path, found, adds
            path, found, first, before = named["marked"] or named["diff"], [], 0, ""
            adds = line.startswith("*** Add")
        elif line.startswith("@@"):
            close()
            place = _RE["hunk"].match(line)
            first, before = int(place[1][:9]) if place else 0, ""
        elif line.startswith("+"):
            added.append(line[1:])
        elif line.startswith("-") and not line.startswith("--- "):
            removed.append(line[1:])
        else:  # a line of context
            close()
            first += 1 if first else 0
            before = line[1:] if line.strip() else before
    close()
    if path and found:
        yield path, found, adds
