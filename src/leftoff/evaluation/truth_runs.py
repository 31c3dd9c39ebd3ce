"""What a summary says, held against the recording itself: `leftoff eval truth`.

No label is needed: the truth is what the recording says later, and what its recorder writes
beside the words. Method and figures: docs/accuracy.md."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from leftoff._version import __version__
from leftoff.analysis.session_pass import Pass
from leftoff.errors import FormatError, UsageError
from leftoff.evaluation import truth_commands
from leftoff.evaluation.recordings import opened, passes_at, readings
from leftoff.evaluation.report import MAX_LISTED, Block, Run, Table, cell
from leftoff.evaluation.truth_commands import GitTruth, Ran
from leftoff.extraction.rule_sets import rules_digest
from leftoff.formats import native
from leftoff.model import Message, Text, ToolCall, ToolResult
from leftoff.summary import ContextSummary

RIGHT, WRONG, UNKNOWN = "right", "wrong", "unknown"


class Figure(Struct, frozen=True, omit_defaults=True):
    """How often one statement was right, wrong or not made; `precision`: the share that is
    right where something was said, `found`: of all; `by_format`: if there are several."""

    right: int
    wrong: int
    unknown: int
    precision: float | None
    found: float | None
    by_format: "dict[str, Figure]" = {}


def figure(right: int, wrong: int, unknown: int) -> Figure:
    """Counts with their shares."""
    said, total = right + wrong, right + wrong + unknown
    return Figure(
        right,
        wrong,
        unknown,
        round(right / said, 4) if said else None,
        round(right / total, 4) if said else None,
    )


class Place(Struct, frozen=True):
    """Where a statement is to be looked at: names and positions, no words.

    `what`: said/true, e.g. "closed/open"."""

    measure: str
    name: str
    place: str
    what: str


class TruthRun(Run, frozen=True, kw_only=True, tag="leftoff.truth/1"):
    """The figures of one evaluation by measure; `recordings` and `sessions` are numbers."""

    rules: str
    recordings: int
    sessions: int
    figures: dict[str, Figure]
    places: tuple[Place, ...]

    def blocks(self, *, formats: bool = False, listed: Sequence[str] = ()) -> Iterator[Block]:
        """The figures, with `formats` also by format; and the places of measures `listed`."""
        yield (
            f"{self.recordings} recordings, {self.sessions} sessions, leftoff {self.leftoff}"
        )
        rows: list[tuple[str, Figure]] = []
        for name, found in self.figures.items():
            rows.append((name, found))
            if formats:
                rows += [(f"  {of}", part) for of, part in found.by_format.items()]
        cells = [
            (
                name,
                *map(str, (row.right, row.wrong, row.unknown)),
                *(cell(share, ".4f") for share in (row.precision, row.found)),
            )
            for name, row in rows
        ]
        yield Table(("", "right", "wrong", "unknown", "of what is said", "of all"), cells)
        for measure in listed:
            places = [place for place in self.places if place.measure == measure]
            yield f"{measure}: {len(places)} places"
            yield from (f"  {place.name} {place.place}  {place.what}" for place in places)
        yield from (f"left out: {why}" for why in self.left_out[:MAX_LISTED])


class Counts:
    """Statements by measure, format and what became of them, and the places of the others."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.places: list[Place] = []
        self.name = self.format = ""

    def add(
        self, measure: str, said: str, true: str, place: str, *, unknown: bool = False
    ) -> None:
        """One statement: right if it says what is true; else its place is noted."""
        word = UNKNOWN if unknown else RIGHT if said == true else WRONG
        self.counts[measure, self.format, word] += 1
        if word != RIGHT:
            self.places.append(Place(measure, self.name, place, f"{said or '-'}/{true}"))

    def count(self, measure: str, right: bool, of: int = 1) -> None:
        """Statements whose places are not noted."""
        self.counts[measure, self.format, RIGHT if right else WRONG] += of

    def note(self, measure: str, place: str, what: str) -> None:
        """A statement to be looked at, counted as neither right nor wrong."""
        self.counts[measure, self.format, UNKNOWN] += 1
        self.places.append(Place(measure, self.name, place, what))

    def figures(self) -> dict[str, Figure]:
        """Every measure by name, sorted."""
        found: dict[str, Figure] = {}
        for measure, names in groupby(sorted({key[:2] for key in self.counts}), itemgetter(0)):
            parts = {
                name: [self.counts[measure, name, word] for word in (RIGHT, WRONG, UNKNOWN)]
                for _, name in names
            }
            whole = figure(*map(sum, zip(*parts.values(), strict=True)))
            several = {name: figure(*numbers) for name, numbers in parts.items()}
            found[measure] = replace(whole, by_format=several if len(parts) > 1 else {})
        return found


def evaluate_truth(
    paths: Iterable[str], *, seed: int = 1, progress: Callable[[str], None] | None = None
) -> TruthRun:
    """Every measure over the recordings in `paths`; `seed`: of the places at which recordings
    are cut. `UsageError` where there is no recording that can be read."""
    counts = Counts()
    left_out: list[str] = []
    read = sessions = 0
    for path, (reading, said) in readings(paths, opened, left_out, progress):
        counts.name = Path(path).name
        counts.format = reading.format.name if reading.format else ""
        read += 1
        for number, messages in enumerate(said):
            if len(reading.sessions) != len(said):
                left_out.append(f"{counts.name}: its sessions cannot be distinguished")
                break
            sessions += 1
            _whole(counts, reading.conclude((), number), messages)
        _cuts(counts, path, said, seed)
    if not counts.counts:
        raise UsageError("no recording could be read: " + "; ".join(left_out[:3]))
    return TruthRun(
        leftoff=__version__,
        rules=rules_digest(),
        recordings=read,
        sessions=sessions,
        figures=counts.figures(),
        places=tuple(counts.places),
        left_out=tuple(left_out),
    )


def _whole(counts: Counts, summary: ContextSummary, messages: Sequence[Message]) -> None:
    main = [m for m in messages if not m.agent]
    ran = list(truth_commands.commands(main, counts.format))
    _checks(counts, summary, ran)
    _git(counts, summary, ran, main)
    _typed(counts, summary, main)
    _undone(counts, summary, ran, main)
    if any(m.origin == "agent" for m in main):
        known = summary.context.window is not None
        counts.add("window known", "known" if known else "", "known", "", unknown=not known)


# -- whose turn it is --------------------------------------------------------------------------


def _cuts(counts: Counts, path: str, said: Sequence[Sequence[Message]], seed: int) -> None:
    """Cuts a recording at seeded places and asks whose turn it is."""
    for number, messages in enumerate(said[-MAX_SESSIONS:]):
        cuts = places(messages, f"{seed} {counts.name} {number}")
        streamed = {cut.lines: cut for cut in cuts if cut.lines is not None}
        for cut in cuts:
            if cut.lines is None:
                reading = Pass(counts.name)
                reading.feed_lines(
                    native.write(messages[: cut.messages]).splitlines(keepends=True)
                )
                _turn(counts, reading, cut)
        for count, reading in passes_at(path, streamed):
            _turn(counts, reading, streamed[count])


def _turn(counts: Counts, reading: Pass, cut: "CutPlace") -> None:
    try:
        summary = reading.summary()
    except FormatError:
        return
    status = summary.turn.status
    if cut.truth == "closed" and status == "interrupted":
        status = "closed"
    place = f"{cut.place} after {cut.after}"
    counts.add(f"turn {cut.truth}", status, cut.truth, place)
    counts.count(f"turn {cut.truth}, after {cut.after}", status == cut.truth)


# Recordings cut where they may well have ended, and whose turn it was there.
#
# The truth is who speaks next in the uncut recording: where the agent or one of its tools goes
# on, the turn was open; where the person speaks, it was closed. Not taken are places where that
# tells nothing: between two messages of the person, beside what a client writes in the person's
# role (a button may have been pressed), before an interruption, a rejection or words typed
# while the agent was at work, and within one response of the model, which a recorder writes at
# once. Words were typed while the agent was at work where a recorder says so, where they stand
# in one message with a tool's output, or less than `AT_ONCE` after it.

# Most places taken of each kind in a session. Chosen by hand.
MAX_CUTS = 4
# Most sessions taken of a recording that holds many. Chosen by hand.
MAX_SESSIONS = 12
# Nobody reads an output and types an answer in so short a time. Chosen by hand.
AT_ONCE = timedelta(seconds=2)


class CutPlace(Struct, frozen=True):
    """A place to cut. `truth`: open | closed; `after`, what was last: prompt | words | call |
    output; `lines` of the recording before the cut, None for one document; `messages` of the
    session before it, with subagents'; `place`: line or item of the last message."""

    truth: str
    after: str
    lines: int | None
    messages: int
    place: int


def speaker(message: Message) -> str:
    """Person | agent | tool, "?" where it tells nothing about the turn, "" for no speaker."""
    if message.agent or message.origin in ("injected", "compaction", "meta"):
        # A client writes so into the person's role what it adds, and for a button pressed.
        pressed = message.origin == "injected" and message.role == "user"
        return "?" if pressed and not message.agent else ""
    ways = {typed.via for typed in message.typed}
    if ways & {"queued", "rejection"} or message.origin == "interruption":
        return "?"
    if "prompt" in ways and any(type(p) is ToolResult for p in message.parts):
        return "?"
    if ways or message.origin == "prompt":
        return "person"
    # In an empty message nothing was said or done.
    empty = all(type(p) is Text and not p.text.strip() for p in message.parts)
    return message.origin if message.origin in ("agent", "tool") and not empty else ""


def _last(message: Message, who: str) -> str:
    if who == "person":
        return "prompt"
    if who == "tool":
        return "output"
    for part in reversed(message.parts):
        if type(part) is ToolCall:
            return "call"
        if type(part) is Text and part.text.strip():
            return "words"
    return "output"


def _at_once(last: Message, typed: Message) -> bool:
    """Whether a prompt follows a tool's output, or a call, sooner than anyone types: the client
    held it until the tool had ended. Only of times with fractions of a second."""
    if _last(last, last.origin) == "words" or "." not in last.time or "." not in typed.time:
        return False
    first, then = last.recorded_at, typed.recorded_at
    return first is not None and then is not None and then - first < AT_ONCE


def places(messages: Sequence[Message], seed: str) -> list[CutPlace]:
    """Places of both kinds in one session, chosen by a seeded draw, in order."""
    found: dict[str, list[CutPlace]] = {"open": [], "closed": []}
    said = [(n, m, who) for n, m in enumerate(messages) if (who := speaker(m))]
    for (number, last, who), (_, after, then) in pairwise(said):
        if "?" in (who, then) or (who == then == "person"):
            continue
        if last.response and last.response == after.response:
            continue
        truth = "closed" if then == "person" else "open"
        if truth == "closed" and _at_once(last, after):
            continue
        place, lines = last.item, None
        if last.line is not None:
            following = messages[number + 1].line
            if following is None or following <= last.line:
                continue
            place, lines = last.line, following - 1
        at = -1 if place is None else place
        found[truth].append(CutPlace(truth, _last(last, who), lines, number + 1, at))
    draw = random.Random(seed)  # noqa: S311 - must be repeatable
    chosen: list[CutPlace] = []
    for cuts in found.values():
        chosen += draw.sample(cuts, min(MAX_CUTS, len(cuts)))
    return sorted(chosen, key=lambda cut: cut.messages)


# -- checks ------------------------------------------------------------------------------------


def _checks(counts: Counts, summary: ContextSummary, ran: Sequence[Ran]) -> None:
    """Verdicts against exit codes and summary lines, and how many there are."""
    by_call: dict[tuple[int, int | None], list[str]] = {}
    for check in summary.checks:
        by_call.setdefault((check.ref.message, check.ref.part), []).append(check.verdict)
    for one in ran:
        if not truth_commands.judges(one):
            continue
        verdicts = by_call.get((one.message, one.part), [])
        place = str(one.message)
        said = next((v for v in reversed(verdicts) if v in ("passed", "failed")), "")
        counts.add("check judged", "judged" if said else "", "judged", place, unknown=not said)
        true = truth_commands.verdict(one)  # of a single runner alone
        if true and said:
            counts.add("check verdict", true if true in verdicts else said, true, place)
    for milestone in summary.progress.milestones:
        if milestone.evidence == "contradicted":
            counts.note("contradicted", f"#{milestone.ref.message}", milestone.kind)


# -- git ---------------------------------------------------------------------------------------


def _git(
    counts: Counts, summary: ContextSummary, ran: Sequence[Ran], main: Sequence[Message]
) -> None:
    """Commits, pushes and pull requests against the commands that ran and their output."""
    ran = [*ran, *truth_commands.later_output(main)]
    gone = set(map(truth_commands.taken_back, ran)) - {""}
    truth = [one for command in ran for one in truth_commands.git_truth(command)]
    truth = [one for one in truth if one.hash not in gone]
    # A commit that is amended later need not be named any more.
    amended = {one.message for one in ran if "--amend" in one.command}
    quiet = {
        (kind, place)
        for one in ran
        for kind in truth_commands.git_kinds(one)
        for place in (one.message, one.result)
    }
    left: list[GitTruth] = list(truth)
    for event in summary.git:
        if event.kind not in ("commit", "push", "pull_request") or not event.shown:
            continue
        kind, message, sha, subject = event.kind, event.ref.message, event.hash, event.text
        match = next((t for t in left if _same_event(t, kind, message, sha)), None)
        if match is not None:
            left.remove(match)
            counts.add(f"{kind} precision", kind, kind, f"#{message}")
            if kind == "commit":
                whole = " ".join(subject.split()) == " ".join(match.subject.split())
                said = "whole" if whole else "cut"
                counts.add("commit subject", said, "whole", f"#{message}")
        elif (kind, message) in quiet:
            # The command ran, and its output does not show what it did: to be looked at.
            counts.note(f"{kind} precision", f"#{message}", f"{kind}/?")
        else:
            counts.add(f"{kind} precision", kind, "none", f"#{message}")
    for one in truth:
        found = one not in left
        if not found and one.kind == "commit" and any(at > one.message for at in amended):
            continue
        said = one.kind if found else ""
        counts.add(f"{one.kind} recall", said, one.kind, f"#{one.message}")


def _same_event(truth: GitTruth, kind: str, message: int, hash: str) -> bool:
    if truth.kind != kind or (hash and truth.hash and truth.hash[:7] != hash[:7]):
        return False
    return message in (truth.message, truth.result) or bool(hash and truth.hash[:7] == hash[:7])


# -- the person's words, and what was undone ---------------------------------------------------


def _typed(counts: Counts, summary: ContextSummary, main: Sequence[Message]) -> None:
    """Whether every typed message appears whole among the requests."""
    requests = [" ".join(request.text.split()) for request in summary.user_requests]
    together = set(requests)
    for message in main:
        for typed in message.typed:
            part = message.parts[typed.part]
            text = part.text if type(part) is Text else ""
            words = " ".join(text[typed.start : typed.end].split())
            if words:
                whole = words in together or any(words in one for one in requests)
                said = "whole" if whole else ""
                counts.add("typed whole", said, "whole", f"#{message.index}")
                counts.count("typed characters", whole, len(words))


def _undone(
    counts: Counts, summary: ContextSummary, ran: Sequence[Ran], main: Sequence[Message]
) -> None:
    """Files that git put back, with no later edit: decisions about them do not hold."""
    for one in ran:
        for path in truth_commands.undone(one):
            name = path.rstrip("/").rsplit("/", 1)[-1]
            if name in {"", ".", ":"}:  # the whole tree names no file; `:/` is its top
                continue
            for decision in summary.key_decisions:
                if decision.message_index < one.message and name in decision.text:
                    said = "made" if decision.status == "made" else "ended"
                    place = f"#{decision.message_index}"
                    counts.add("decision undone by git", said, "ended", place)
    for decision in summary.key_decisions:
        if decision.status != "made":
            counts.note("decision ended", f"#{decision.message_index}", decision.status)
