"""One measurement of file tracking over recordings, from their names to a report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from zlib import crc32

from msgspec import Struct

from leftoff import api
from leftoff._version import __version__
from leftoff.analysis.session_pass import Pass
from leftoff.errors import InputError, UsageError
from leftoff.evaluation.file_baselines import commands_by_seed001, joined, seed001_files
from leftoff.evaluation.file_scores import Counts, below, compare, root_of
from leftoff.evaluation.file_truth import (
    SIDECAR,
    Change,
    commits,
    final_patches,
    patch_files,
    seconds,
    sidecar_of,
)
from leftoff.model import Message
from leftoff.sources.open import lines_of
from leftoff.summary import ContextSummary, FileModification

_MADE = re.compile(r"\[[^\]\n]{1,120}? ([0-9a-f]{7,40})\] ")
"""What ``git commit`` prints: branch and abbreviated name of the new commit."""


class Committed(Struct, frozen=True):
    """Committed files of one session that we name, of those it committed.

    Attributes:
        own, own_found: files of commits that the recording shows being made.
        span, span_found: files of all commits dated within the recording that name the
            session, also those that another session or a person made meanwhile.
        commits: how many commits of its own.
        changed, changed_uncommitted: files that we say were changed, and those of them that
            none of the sidecar's commits holds.
        uncommitted_shown: of the latter, those whose change the recording itself shows: a
            file tool that came back well, or a certain effect of a command.
    """

    name: str
    half: str
    own: int
    own_found: int
    span: int
    span_found: int
    commits: int
    changed: int
    changed_uncommitted: int
    uncommitted_shown: int


class FileReport(Struct, frozen=True):
    """Every figure of one measurement. No text of a recording, only names and counts."""

    leftoff: str
    rules: str
    patches: tuple[Counts, ...]
    patches_seed001: tuple[Counts, ...]
    committed: tuple[Committed, ...]
    seed001_modified: int
    seed001_commands: int
    recordings: int
    left_out: tuple[str, ...] = ()


def half_of(name: str) -> str:
    """`development` or `held out`: by the source repository that a recording's name begins
    with (``owner__name__…``), for repositories of many tasks by the whole name."""
    parts = name.split("__")
    repository = "__".join(parts[:2])
    if repository in {
        "SWE-agent__SWE-agent",
        "gruckion__mini-swe-agent",
        "UKGovernmentBEIS__inspect_ai",
    }:
        repository = name
    return "development" if crc32(repository.encode()) % 2 else "held out"


def evaluate_files(
    paths: Iterable[str], *, progress: Callable[[str], None] | None = None
) -> FileReport:
    """File tracking measured against final patches and against commits.

    Args:
        paths: recordings or directories of them; sidecars are found beside them.
        progress: told the name of each recording.

    Raises:
        UsageError: there is no recording that can be read.
    """
    patches: list[Counts] = []
    baseline: list[Counts] = []
    committed: list[Committed] = []
    left_out: list[str] = []
    rules = ""
    modified = commands = recordings = 0
    for path in sorted(_recordings(paths)):
        name = Path(path).name
        if progress is not None:
            progress(name)
        try:
            reading = api.open_pass(path)
            sessions = _sessions(path)
        except InputError as error:
            left_out.append(str(error).split(";")[0].replace(path, name))
            continue
        recordings += 1
        for messages in sessions:
            some, every = commands_by_seed001(messages)
            modified, commands = modified + some, commands + every
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
    return FileReport(
        leftoff=__version__,
        rules=rules,
        patches=tuple(patches),
        patches_seed001=tuple(baseline),
        committed=tuple(committed),
        seed001_modified=modified,
        seed001_commands=commands,
        recordings=recordings,
        left_out=tuple(left_out),
    )


def _sessions(path: str) -> list[list[Message]]:
    """The messages of a recording's main threads, session by session."""
    found: list[list[Message]] = []
    last = -1
    for message in api.read(path):
        if message.agent:
            continue
        if message.index <= last or not found:
            found.append([])
        last = message.index
        found[-1].append(message)
    return found


def _recordings(paths: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for given in paths:
        place = Path(given)
        if place.is_dir():
            found |= {
                str(path)
                for path in place.rglob("*")
                if path.is_file()
                and not path.name.endswith((SIDECAR, ".metadata.json", ".tsv", "README.md"))
            }
        else:
            found.add(str(given))
    return found


def _against_patches(
    path: str, name: str, reading: Pass, sessions: Sequence[Sequence[Message]]
) -> tuple[list[Counts], list[Counts]]:
    if reading.format is None or not any(w in reading.format.name for w in _WITH_PATCHES):
        return [], []
    patches = final_patches(path)
    if len(patches) != len(reading.sessions):
        patches = patches[:1] if len(reading.sessions) == 1 else []
    ours: list[Counts] = []
    seeds: list[Counts] = []
    for number, patch in enumerate(patches):
        if not patch:
            continue
        true, left_out = patch_files(patch, name)
        summary = reading.conclude((), number)
        cwd = summary.session.cwd
        said = {
            joined(f.path, cwd): f.action
            for f in summary.file_modifications
            if f.certainty != "unknown" and not f.path.endswith("/")
        }
        seed = seed001_files(sessions[number]) if number < len(sessions) else {}
        seed = {joined(file, cwd): action for file, action in seed.items()}
        for rows, named in ((ours, said), (seeds, seed)):
            rows.append(
                compare(
                    name,
                    number,
                    below(named, root_of(named, true, cwd), name),
                    true,
                    half=half_of(name),
                    left_out=left_out,
                )
            )
    return ours, seeds


_WITH_PATCHES = ("swe_agent", "openhands", "openai_rows", "chat")
"""Formats whose recordings may hold the final patch."""


def _against_commits(
    path: str, name: str, summary: ContextSummary, listed: Sequence[Change]
) -> Committed | None:
    try:
        first = seconds(summary.session.started)
        last = seconds(summary.session.ended)
    except ValueError:
        return None
    singles = [c for c in listed if c.sessions <= 1 and first <= c.when <= last]
    shown = _made(path)
    own = [c for c in singles if any(c.sha.startswith(made) for made in shown)]
    said = {f.path: f for f in summary.file_modifications if f.action != "read"}
    every = {file for change in listed for file in change.files}
    mine = {file for change in own for file in change.files}
    spanned = {file for change in singles for file in change.files}
    extra = [f for f in said.values() if f.path not in every and not f.path.endswith("/")]
    return Committed(
        name=name,
        half=half_of(name),
        own=len(mine),
        own_found=len(mine & said.keys()),
        span=len(spanned),
        span_found=len(spanned & said.keys()),
        commits=len(own),
        changed=len(said),
        changed_uncommitted=len(extra),
        uncommitted_shown=sum(_is_shown(f) for f in extra),
    )


def _is_shown(file: FileModification) -> bool:
    return file.certainty == "sure"


def _made(path: str) -> set[str]:
    """Abbreviated names of the commits that a recording shows being made."""
    found: set[str] = set()
    with lines_of(path) as lines:
        for line in lines:
            if b"] " in line:
                found.update(_MADE.findall(line.decode("utf-8", "replace")))
    return found
