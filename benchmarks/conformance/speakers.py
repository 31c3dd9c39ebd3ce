"""Whether every turn and every word is with the one who said it.

    python -m benchmarks.conformance speakers PATHS... [--list] [--write] [--processes N]

Compares what `leftoff.read()` gives with an account of its own (`speakers_account`) that shares
no line with the readers:

- turns lost: turns of the account at whose place no message begins. JSON records are not lost
  if all their words stand in other messages ("moved"), or if they are only a notice ("left
  out"); both are counted;
- other speaker: turns whose messages are all someone else's;
- other owner: share of the account's characters that a reader gives to another owner;
- not found: share of the words of the person and the model that no message holds. (Those of
  tools and notices may be left out: readers make arguments of headings and tables.)

Words are compared turn by turn as bags. The account's words take words of the same owner first;
what remains takes words of another owner in the same turn, and that is "another owner". A
turn reaches from its message to the next one, so a lost turn is sought in the one before.

What no line can show (the output of a tool inside an old turn of Cursor) is measured on files
in which readers marked the owner of each block: `owners/*.json`, positions only. Each has the
`recording` (the key that the runs use), its `generation` and its `marks`: for each reader a
list of [first line, last line, owner], 1-based and inclusive; lines without words and the
recorder's headings need none. A file without marks has yet to be read. Where two readers
differ, the lines under `settled` decide; lines that stand there neither are not scored.

`--list` shows the worst files with the lines of the first differences, on the terminal only.
`--write` writes `runs/speakers.json` anew: numbers by format and by recording, known by the
hash of its content; no word and no name of a recording. Its part `before` is of an earlier
version of the readers, measured with this account (`PYTHONPATH=OLD/src ... --before`).
"""

from __future__ import annotations

import argparse
import bisect
import json
import multiprocessing
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from benchmarks.conformance.recordings import units
from benchmarks.conformance.speakers_account import accounts
from benchmarks.conformance.speakers_specstory import unmarked
from benchmarks.conformance.speakers_turns import (
    AGENT,
    NOTICE,
    PERSON,
    REASONING,
    TOOL,
    Account,
    Line,
    text_of,
    words,
)
from leftoff import read
from leftoff.errors import LeftoffError
from leftoff.model import Message, Reasoning, Text, ToolCall, ToolResult

HERE = Path(__file__).parent
RUN = HERE / "runs" / "speakers.json"
OWNERS = HERE / "owners"
WITH_HEADERS = ("specstory", "aider")
"""Families whose turns begin with a line of their own: none of them may be left out."""
SAID = (PERSON, AGENT, REASONING)
SHOWN = 25
"""Files that `--list` names."""


class Tally(Struct):
    """The counts of one recording, or of several.

    Attributes:
        turns: turns by the account.
        read: places at which `read()` gives a message.
        other: turns with another speaker.
        left_out: records of JSON families with nothing but a notice, that give no message.
        moved: records of JSON families whose words all stand in other messages of their owner.
        characters: of the account, in words.
        swapped: of them, those with another owner.
        said: of them, those of the person and the model.
        missing: of those, the ones that no message holds.
        by: characters by "owner as owner", and by "owner not found".
    """

    files: int = 0
    refused: int = 0
    turns: int = 0
    read: int = 0
    lost: int = 0
    other: int = 0
    left_out: int = 0
    moved: int = 0
    characters: int = 0
    swapped: int = 0
    said: int = 0
    missing: int = 0
    by: dict[str, int] = {}

    def add(self, other: Tally) -> None:
        """Adds another tally to this one."""
        for name in self.__struct_fields__:
            if name != "by":
                setattr(self, name, getattr(self, name) + getattr(other, name))
        self.by = dict(Counter(self.by) + Counter(other.by))

    @property
    def share(self) -> float:
        """Share of the characters with another owner, in percent."""
        return 100 * self.swapped / max(1, self.characters)

    @property
    def unfound(self) -> float:
        """Share of the characters, tools aside, that are not found, in percent."""
        return 100 * self.missing / max(1, self.said)


class Compared(Struct):
    """One recording: its tally, and where it differs.

    Attributes:
        places: (line or item, what differs), the worst first within a kind.
    """

    tally: Tally
    places: list[tuple[int, str]] = []


# -- what read() gives -------------------------------------------------------------------------


def given(message: Message) -> Iterator[tuple[str, str]]:
    """The owners and texts of a message."""
    spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for each in message.typed:
        spans[each.part].append((each.start, each.end))
    for number, part in enumerate(message.parts):
        if type(part) is Reasoning:
            yield REASONING, part.text
        elif type(part) is ToolCall:
            yield TOOL, "\n".join((part.name, *_texts(part.input)))
        elif type(part) is ToolResult:  # with the person's answers in it
            yield TOOL, part.text
        elif type(part) is Text:
            own = message.role == "assistant" and message.origin == "agent"
            owner = AGENT if own else NOTICE
            last = 0
            for start, end in sorted(spans[number]):
                yield owner, part.text[last:start]
                yield PERSON, part.text[start:end]
                last = end
            yield owner, part.text[last:]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)
    elif value is not None:
        yield str(value)


def speaker(message: Message) -> set[str]:
    """Who speaks in a message."""
    if message.role == "assistant" and message.origin == "agent":
        return {AGENT}
    found = {PERSON} if message.typed else set()
    if any(type(part) is ToolResult for part in message.parts):
        return found | {TOOL}
    return found or {NOTICE}


# -- the comparison ----------------------------------------------------------------------------


class _Bags:
    """Words of each owner at the places of messages."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self.at: dict[int, dict[str, Counter[str]]] = {}
        self.speakers: dict[int, set[str]] = defaultdict(set)
        for message in messages:
            place = message.line if message.line is not None else message.item
            place = message.index if place is None else place
            bags = self.at.setdefault(place, defaultdict(Counter))
            self.speakers[place] |= speaker(message)
            for owner, text in given(message):
                bags[owner].update(words(text))
        self.places = sorted(self.at)
        self._holding: dict[tuple[str, str], list[int]] = defaultdict(list)
        for place in self.places:
            for owner, bag in self.at[place].items():
                for word in bag:
                    self._holding[owner, word].append(place)

    def of(self, turn: int) -> dict[str, Counter[str]]:
        """The words of the last messages that begin at or before a turn."""
        found = bisect.bisect_right(self.places, turn)
        return self.at[self.places[found - 1]] if found else {}

    def elsewhere(self, owner: str, word: str) -> bool:
        """Takes a word of the same owner from another turn: moved, not lost."""
        places = self._holding.get((owner, word), ())
        return any(_take(self.at[place][owner], word) for place in places)


def compare(account: Account, messages: Iterable[Message]) -> Compared:
    """An account against the messages of the same recording."""
    bags = _Bags(messages)
    tally = Tally(files=1, turns=len(account.turns), read=len(bags.places))
    made = Compared(tally)
    swapped, missing = _words(account.lines, bags)
    apart = {each[0].turn for each in swapped} | {each[0].turn for each in missing}
    for place, who in account.turns:
        found = bags.speakers.get(place)
        if found is None and who == NOTICE and account.family not in WITH_HEADERS:
            tally.left_out += 1
        elif found is None and place not in apart and account.family not in WITH_HEADERS:
            tally.moved += 1
        elif found is None:
            tally.lost += 1
            made.places.append((place, f"lost turn: {who}"))
        elif not found & set(who.split("|")):
            tally.other += 1
            made.places.append((place, f"turn: {who} as {'+'.join(sorted(found))}"))
    for line in account.lines:
        size = sum(map(len, words(line.text)))
        tally.characters += size
        tally.said += size * (line.owner in SAID)
    by: Counter[str] = Counter()
    sizes: Counter[tuple[int, str]] = Counter()
    for line, owner, size in swapped:
        tally.swapped += size
        by[f"{line.owner} as {owner}"] += size
        sizes[line.place, f"{line.owner} as {owner}"] += size
    for line, size in missing:
        by[f"{line.owner} not found"] += size
        if line.owner in SAID:
            tally.missing += size
            sizes[line.place, f"{line.owner} not found"] += size
    tally.by = dict(by)
    made.places += [
        (place, f"{what}, {size} characters")
        for (place, what), size in sizes.items()
        if size > 20
    ]
    return made


def _words(
    lines: Sequence[Line], bags: _Bags
) -> tuple[list[tuple[Line, str, int]], list[tuple[Line, int]]]:
    """Lines with words of another owner, and lines with words that are not found."""
    left: list[tuple[Line, list[str]]] = []
    for line in lines:
        bag = bags.of(line.turn).get(line.owner, Counter())
        left.append((line, [word for word in words(line.text) if not _take(bag, word)]))
    swapped: list[tuple[Line, str, int]] = []
    missing: list[tuple[Line, int]] = []
    for line, remaining in left:
        taken: Counter[str] = Counter()
        size = 0
        for word in remaining:
            for owner, bag in bags.of(line.turn).items():
                if owner != line.owner and _take(bag, word):
                    taken[owner] += len(word)
                    break
            else:
                if not bags.elsewhere(line.owner, word):
                    size += len(word)
        swapped += [(line, owner, each) for owner, each in taken.items()]
        if size:
            missing.append((line, size))
    return swapped, missing


def _take(bag: Counter[str], word: str) -> bool:
    if bag.get(word, 0) > 0:
        bag[word] -= 1
        return True
    return False


# -- one recording ---------------------------------------------------------------------------


def of_file(unit: tuple[str, str]) -> tuple[str, str, str, Compared | None, str]:
    """Key, file, family, comparison and refusal of a recording."""
    key, path = unit
    account = accounts(path)
    if account is None or not account.turns:
        return key, path, "", None, ""
    messages, refused = _messages(path)
    compared = compare(account, messages)
    compared.tally.refused = int(bool(refused))
    return key, path, account.family, compared, refused


def _messages(path: str) -> tuple[list[Message], str]:
    """The messages of a file, or why it is refused."""
    try:
        return list(read(path)), ""
    except LeftoffError as error:
        return [], f"{type(error).__name__}: {error}"


def marked(path: Path, file: str) -> tuple[Compared, int, int]:
    """The comparison of a marked recording; readers; characters on which they differ."""
    given = json.loads(path.read_text(encoding="utf-8"))
    marks, settled = given["marks"], _by_line(given.get("settled", ()))
    account = accounts(file)
    if account is None:
        raise ValueError(f"{file} is of no family that is known here")
    lines = text_of(file).split("\n")
    owners = [_by_line(blocks) for blocks in marks.values()]
    starts = [turn for turn, _ in account.turns]
    made, differing = Account(account.family, account.turns), 0
    for number, text in enumerate(lines, 1):
        found = {each.get(number, "") for each in owners}
        if len(found) > 1:
            differing += sum(map(len, words(unmarked(text))))
            found = {settled.get(number, "")}
        if found != {""}:
            turn = starts[max(0, bisect.bisect_right(starts, number) - 1)]
            made.lines.append(Line(turn, number, found.pop(), unmarked(text)))
    return compare(made, _messages(file)[0]), len(owners), differing


def _by_line(blocks: Iterable[tuple[int, int, str]]) -> dict[int, str]:
    return {n: owner for first, last, owner in blocks for n in range(first, last + 1)}


# -- all of them -----------------------------------------------------------------------------

HEAD = (
    "format", "files", "refused", "turns", "read()", "lost", "other speaker",
    "characters", "other owner %", "not found %",
)  # fmt: skip


def table(tallies: dict[str, Tally]) -> str:
    """The numbers by format."""
    rows: list[tuple[str, ...]] = [HEAD]
    for name, t in tallies.items():
        counts = (t.files, t.refused, t.turns, t.read, t.lost, t.other, t.characters)
        rows.append((name, *map(str, counts), f"{t.share:.2f}", f"{t.unfound:.2f}"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    lines = []
    for name, *cells in rows:
        numbers = (x.rjust(w) for x, w in zip(cells, widths[1:], strict=True))
        lines.append("  ".join((name.ljust(widths[0]), *numbers)))
    return "\n".join(lines)


def main(argv: Sequence[str]) -> int:
    """Prints the table; 1 if a turn is lost or has another speaker."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.conformance speakers",
        description=str(__doc__).splitlines()[0],
    )
    parser.add_argument("paths", nargs="+", help="recordings, or folders of them")
    parser.add_argument("--list", action="store_true", help="show the worst files")
    parser.add_argument("--write", action="store_true", help=f"write {RUN.name}")
    parser.add_argument("--before", action="store_true", help="write only its part `before`")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    args = parser.parse_args(argv)

    began = time.monotonic()
    found = [unit for unit in units(args.paths) if not unit.sides]
    context = multiprocessing.get_context("spawn")
    with context.Pool(args.processes) as pool:
        rows = list(pool.imap_unordered(of_file, [(u.key, u.main) for u in found]))
    known = sorted((row for row in rows if row[3] is not None), key=lambda row: row[0])
    tallies: dict[str, Tally] = {}
    for _, _, family, compared, _ in known:
        if compared is not None:
            tallies.setdefault(family, Tally()).add(compared.tally)
    tallies = dict(sorted(tallies.items()))
    total = Tally()
    for tally in tallies.values():
        total.add(tally)
    print(table({**tallies, "all": total}))
    print(f"{len(rows) - len(known)} files of other formats have no account here.")
    swaps = Counter(total.by).most_common(8)
    print("Characters by owner and other owner:", ", ".join(f"{k} {v}" for k, v in swaps))
    marks = _marks({unit.key: unit.main for unit in found})
    if args.list:
        _list(known)
    if args.before:
        run = json.loads(RUN.read_text(encoding="utf-8"))
        formats = {name: _numbers(tally) for name, tally in tallies.items()}
        RUN.write_text(
            _json({**run, "before": {"formats": formats, "marked": marks["all"]}}), "utf-8"
        )
    elif args.write:
        earlier = json.loads(RUN.read_text(encoding="utf-8")) if RUN.exists() else {}
        run = {
            "before": earlier.get("before", {}),
            "formats": {name: _numbers(tally) for name, tally in tallies.items()},
            "marked": marks,
            "recordings": {
                row[0]: {"format": row[2], **_numbers(row[3].tally)}
                for row in known
                if row[3] is not None
            },
        }
        RUN.write_text(_json(run), encoding="utf-8")
    print(f"{len(known)} recordings; {time.monotonic() - began:.0f} s", file=sys.stderr)
    return int(bool(total.lost or total.other))


def _json(run: dict[str, Any]) -> str:
    return json.dumps(run, indent=1) + "\n"


def _numbers(tally: Tally) -> dict[str, Any]:
    shown = {k: v for k, v in structs.asdict(tally).items() if v or k in ("turns", "lost")}
    return {**shown, "share": round(tally.share, 2), "unfound": round(tally.unfound, 2)}


def _marks(files: dict[str, str]) -> dict[str, Any]:
    """The scores of the marked files that are there; prints them."""
    made: dict[str, Any] = {}
    total = Tally()
    for path in sorted(OWNERS.glob("*.json")):
        if path.stem not in files or not json.loads(path.read_text(encoding="utf-8"))["marks"]:
            continue
        compared, readers, differing = marked(path, files[path.stem])
        total.add(compared.tally)
        made[path.stem] = {
            "readers": readers,
            "characters": compared.tally.characters,
            "swapped": compared.tally.swapped,
            "share": round(compared.tally.share, 2),
            "differing": differing,
            "by": compared.tally.by,
        }
    if made:
        print(
            f"Marked by hand: {len(made)} files, {total.characters} characters, "
            f"{total.share:.2f} % with another owner, {total.unfound:.2f} % not found; "
            f"the readers agree on {_agreement(made):.2f} %."
        )
        made["all"] = {
            "files": total.files,
            "characters": total.characters,
            "swapped": total.swapped,
            "share": round(total.share, 2),
            "unfound": round(total.unfound, 2),
            "agreement": round(_agreement(made), 2),
        }
    return made


def _agreement(made: dict[str, Any]) -> float:
    """Share of the characters that two readers gave to one owner, in percent."""
    twice = [each for name, each in made.items() if name != "all" and each["readers"] > 1]
    apart = sum(int(each["differing"]) for each in twice)
    return 100 * (1 - apart / max(1, sum(int(each["characters"]) for each in twice)))


def _list(rows: Iterable[tuple[str, str, str, Compared | None, str]]) -> None:
    """The worst files and the lines of their first differences."""
    found = [(row, row[3]) for row in rows if row[3] is not None]
    found.sort(key=lambda each: -_badness(each[1].tally))
    for row, compared in found[:SHOWN]:
        t = compared.tally
        if not _badness(t):
            break
        print(
            f"\n{row[0]} {row[1]}\n  {row[2]}: {t.lost} lost and {t.other} with another "
            f"speaker of {t.turns} turns; {t.share:.1f} % other owner, "
            f"{t.unfound:.1f} % not found"
        )
        if row[4]:
            print(f"  refused: {row[4][:100]}")
            continue
        for kind in ("lost turn:", "turn:", "", "not found"):
            places = [p for p in compared.places if _kind(p[1]) == kind]
            for place, what in places[:4]:
                print(f"    {place}: {what}")
        print("   ", ", ".join(f"{k} {v}" for k, v in Counter(t.by).most_common(4)))


def _kind(what: str) -> str:
    """The beginning or end that tells kinds of differences said; "" for another owner."""
    known = ("lost turn:", "turn:", "not found")
    return next((each for each in known if each in what), "")


def _badness(tally: Tally) -> float:
    """Characters in the wrong place or nowhere; a turn weighs 500 of them."""
    return tally.swapped + tally.missing + 500 * (tally.lost + tally.other)
