"""Runs the evaluation of file tracking over recordings, from their names to a report."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, astuple

from leftoff._version import __version__
from leftoff.analysis.session_pass import Pass
from leftoff.errors import UsageError
from leftoff.evaluation.baselines import absolute_path, commands_by_seed001, seed001_files
from leftoff.evaluation.file_truth import (
    Commit,
    commits,
    final_patches,
    is_excluded,
    patch_files,
    sidecar_of,
)
from leftoff.evaluation.intervals import RESAMPLES, bootstrap
from leftoff.evaluation.matching import Counts, compare_sets, total
from leftoff.evaluation.recordings import opened, readings
from leftoff.evaluation.report import MAX_LISTED, Block, Run, Table, bounds, rounded
from leftoff.model import Message, parse_time
from leftoff.sources.open import open_lines
from leftoff.summary import ContextSummary

# Output of ``git commit``: branch and abbreviated hash of the new commit.
_COMMIT_OUTPUT = re.compile(r"\[[^\]\n]{1,120}? ([0-9a-f]{7,40})\] ")


class FileCounts(Counts, frozen=True, kw_only=True):
    """Right, wrong and missed (path, action) pairs of one session."""

    name: str
    session: int
    paths: int  # number of pairs with the right path and any action
    left_out: int = 0


def root_directory(predicted: Iterable[str], true: Iterable[str], cwd: str) -> str:
    """The directory that the true paths are relative to: the one under which most of them occur
    among the predicted paths; the session's own directory if none of them occurs."""
    tails = sorted(true)
    votes: Counter[str] = Counter()
    for path in predicted:
        for tail in tails:
            if path.endswith("/" + tail):
                votes[path[: -len(tail) - 1]] += 1
    if not votes:
        return cwd
    return min(votes, key=lambda root: (-votes[root], root != cwd, len(root), root))


def relative_paths(predicted: Mapping[str, str], root: str, name: str = "") -> dict[str, str]:
    """The changed files under a directory, relative to it, without excluded files."""
    found: dict[str, str] = {}
    start = root.rstrip("/") + "/" if root else ""
    for path, action in predicted.items():
        if action == "read" or path.endswith("/"):
            continue
        if start and path.startswith(start):
            path = path[len(start) :]
        elif path[:1] in "/~" or path[1:2] == ":":
            continue
        if not is_excluded(path, name) and not path.startswith((".git/", "../")):
            found[path] = action
    return found


def compare(
    name: str,
    session: int,
    predicted: Mapping[str, str],
    true: Mapping[str, str],
    *,
    left_out: int = 0,
) -> FileCounts:
    """The counts of one session; both sides are relative to the same directory."""
    counts = asdict(compare_sets(predicted.items(), true.items()))
    paths = len(predicted.keys() & true.keys())
    return FileCounts(name=name, session=session, **counts, paths=paths, left_out=left_out)


class CommittedFiles(Struct, frozen=True):
    """How many of the committed files of one session our summary names."""

    name: str
    # own, own_found: files of the commits whose creation the recording shows.
    own: int
    own_found: int
    commits: int  # number of commits of its own
    # changed, changed_uncommitted: files that our summary calls changed, and those of them that
    # no commit of the sidecar contains.
    changed: int
    changed_uncommitted: int
    # Of the latter, those whose change the recording itself shows: a file tool that succeeded,
    # or a certain effect of a command.
    uncommitted_shown: int


# The numbers of one figure by name, an interval as its two bounds.
Row: TypeAlias = dict[str, int | float | tuple[float, float] | None]


class FileRun(Run, frozen=True, kw_only=True, tag="leftoff.files/1"):
    """The result of one evaluation: figures with intervals, and counts by recording."""

    figures: dict[str, Row | float]
    rules: str
    patches: tuple[FileCounts, ...]
    patches_seed001: tuple[FileCounts, ...]
    committed: tuple[CommittedFiles, ...]
    seed001_modified: int
    seed001_commands: int
    recordings: int

    def blocks(self) -> Iterator[Block]:
        """The figures, and the sessions with differences."""
        yield f"{self.recordings} recordings, leftoff {self.leftoff}"
        for name, row in self.figures.items():
            if not isinstance(row, dict):
                yield f"{name}: {row}"
                continue
            shown = [(f"  {key.replace('_', ' ')}", _shown(row[key])) for key in row]
            yield Table((name, ""), shown)
        worst = [row for row in self.patches if row.wrong or row.missed]
        worst.sort(key=lambda row: (-(row.wrong + row.missed), row.name, row.session))
        rows = [
            (f"  {row.name}", str(row.right), str(row.wrong), str(row.missed))
            for row in worst[:MAX_LISTED]
        ]
        if rows:
            yield Table(("sessions with differences", "right", "wrong", "missed"), rows)
        yield from (f"left out: {why}" for why in self.left_out[:MAX_LISTED])


def _shown(value: float | tuple[float, float] | None) -> str:
    if isinstance(value, tuple):
        return f"{value[0]} to {value[1]}"
    return "-" if value is None else str(value)


def evaluate_files(
    paths: Iterable[str],
    *,
    progress: Callable[[str], None] | None = None,
    resamples: int = RESAMPLES,
) -> FileRun:
    """File tracking measured against final patches and commits, in sidecars beside the
    recordings; `UsageError` where there is no recording that can be read."""
    patches: list[FileCounts] = []
    baseline: list[FileCounts] = []
    committed: list[CommittedFiles] = []
    left_out: list[str] = []
    rules = ""
    modified = commands = recordings = 0
    for path, (reading, said) in readings(paths, opened, left_out, progress):
        name = Path(path).name
        sessions = [[m for m in messages if not m.agent] for messages in said]
        recordings += 1
        matched, count = commands_by_seed001(m for messages in sessions for m in messages)
        modified, commands = modified + matched, commands + count
        ours, seeds = _against_patches(path, name, reading, sessions)
        patches += ours
        baseline += seeds
        sidecar = sidecar_of(path)
        if sidecar is not None and len(reading.sessions) == 1:
            summary = reading.conclude()
            rules = summary.rules
            found = _against_commits(path, name, summary, commits(sidecar))
            committed += [found] if found is not None else []
    if not recordings:
        raise UsageError("no recording could be read: " + "; ".join(left_out[:3]))
    shown = figures(patches, baseline, committed, resamples)
    if commands:
        shown["commands that the plain rule calls modified"] = round(modified / commands, 4)
    return FileRun(
        leftoff=__version__,
        figures=shown,
        rules=rules,
        patches=tuple(patches),
        patches_seed001=tuple(baseline),
        committed=tuple(committed),
        seed001_modified=modified,
        seed001_commands=commands,
        recordings=recordings,
        left_out=tuple(left_out),
    )


def _against_patches(
    path: str, name: str, reading: Pass, sessions: Sequence[Sequence[Message]]
) -> tuple[list[FileCounts], list[FileCounts]]:
    if reading.format is None or not any(w in reading.format.name for w in _WITH_PATCHES):
        return [], []
    patches = final_patches(path)
    if len(patches) != len(reading.sessions):
        patches = patches[:1] if len(reading.sessions) == 1 else []
    ours: list[FileCounts] = []
    seeds: list[FileCounts] = []
    for number, patch in enumerate(patches):
        if not patch:
            continue
        true, left_out = patch_files(patch, name)
        summary = reading.conclude((), number)
        cwd = summary.session.cwd
        said = [
            (f.path, f.action)
            for f in summary.file_modifications
            if f.certainty != "unknown" and not f.path.endswith("/")
        ]
        seed = seed001_files(sessions[number]) if number < len(sessions) else {}
        for rows, pairs in ((ours, said), (seeds, seed.items())):
            named = {absolute_path(file, cwd): action for file, action in pairs}
            found = relative_paths(named, root_directory(named, true, cwd), name)
            rows.append(compare(name, number, found, true, left_out=left_out))
    return ours, seeds


# Formats whose recordings may hold the final patch.
_WITH_PATCHES = ("swe_agent", "openhands", "openai_rows", "chat")


def _against_commits(
    path: str, name: str, summary: ContextSummary, listed: Sequence[Commit]
) -> CommittedFiles | None:
    first, last = map(parse_time, (summary.session.started, summary.session.ended))
    if first is None or last is None:
        return None
    singles = [c for c in listed if c.sessions <= 1 and first <= c.when <= last]
    shown = _commits_shown(path)
    own = [c for c in singles if any(c.sha.startswith(made) for made in shown)]
    predicted = {f.path: f for f in summary.file_modifications if f.action != "read"}
    committed = {file for change in listed for file in change.files}
    mine = {file for change in own for file in change.files}
    extra = [
        f for f in predicted.values() if f.path not in committed and not f.path.endswith("/")
    ]
    return CommittedFiles(
        name=name,
        own=len(mine),
        own_found=len(mine & predicted.keys()),
        commits=len(own),
        changed=len(predicted),
        changed_uncommitted=len(extra),
        uncommitted_shown=sum(f.certainty == "sure" for f in extra),
    )


def _commits_shown(path: str) -> set[str]:
    found: set[str] = set()
    with open_lines(path) as lines:
        for line in lines:
            if b"] " in line:
                found.update(_COMMIT_OUTPUT.findall(line.decode("utf-8", "replace")))
    return found


# -- figures ---------------------------------------------------------------------------------


def figures(
    patches: Sequence[FileCounts],
    seeds: Sequence[FileCounts],
    committed: Sequence[CommittedFiles],
    resamples: int = RESAMPLES,
) -> dict[str, Row | float]:
    """Every figure by name; those over sessions with a 95 % interval by bootstrap."""
    found: dict[str, Row | float] = {}
    if patches:
        found["net files"] = _patch_figures(patches, resamples)
    if seeds:
        found["net files, plain rule"] = _patch_figures(seeds, resamples)
    if committed:
        found["committed files"] = _commit_figures(committed, resamples)
    return found


def _patch_figures(rows: Sequence[FileCounts], resamples: int) -> Row:
    counts = total(rows)
    return {
        "sessions": len(rows),
        "files": counts.right + counts.missed,
        "f1": rounded(counts.f1),
        "interval_95": bounds(bootstrap(rows, lambda r: total(r).f1, resamples=resamples)),
        "precision": rounded(counts.precision),
        "recall": rounded(counts.recall),
        "left_out": sum(row.left_out for row in rows),
    }


def _commit_figures(rows: Sequence[CommittedFiles], resamples: int) -> Row:
    def recall(drawn: Sequence[CommittedFiles]) -> float | None:
        own = sum(row.own for row in drawn)
        return sum(row.own_found for row in drawn) / own if own else None

    columns = zip(*(astuple(row)[1:] for row in rows), strict=True)
    every = CommittedFiles("", *map(sum, columns))
    uncommitted, shown = every.changed_uncommitted, every.uncommitted_shown
    return {
        "sessions": sum(row.own > 0 for row in rows),
        "commits": every.commits,
        "files": every.own,
        "found": rounded(recall(rows)),
        "interval_95": bounds(bootstrap(rows, recall, resamples=resamples)),
        "said_changed": every.changed,
        "of_these_in_no_commit": uncommitted,
        "of_these_shown_by_the_recording": shown,
        "precision_at_least": rounded(
            (every.changed - uncommitted + shown) / every.changed if every.changed else None
        ),
    }
