"""Runs the evaluation of file tracking over recordings, from their names to a report."""

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
from leftoff.evaluation.file_baselines import absolute_path, commands_by_seed001, seed001_files
from leftoff.evaluation.file_scores import FileCounts, compare, relative_paths, root_directory
from leftoff.evaluation.file_truth import (
    SIDECAR,
    Commit,
    commits,
    final_patches,
    patch_files,
    sidecar_of,
    timestamp,
)
from leftoff.model import Message
from leftoff.sources.open import open_lines
from leftoff.summary import ContextSummary, FileModification

_COMMIT_OUTPUT = re.compile(r"\[[^\]\n]{1,120}? ([0-9a-f]{7,40})\] ")
"""Output of ``git commit``: branch and abbreviated hash of the new commit."""


class CommittedFiles(Struct, frozen=True):
    """How many of the committed files of one session our summary names.

    Attributes:
        own, own_found: files of the commits whose creation the recording shows.
        span, span_found: files of all commits dated within the recording that name the
            session, also those that another session or a person made meanwhile.
        commits: number of commits of its own.
        changed, changed_uncommitted: files that our summary calls changed, and those of them
            that no commit of the sidecar contains.
        uncommitted_shown: of the latter, those whose change the recording itself shows: a
            file tool that succeeded, or a certain effect of a command.
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
    """The result of one evaluation: names and counts, no text of a recording."""

    leftoff: str
    rules: str
    patches: tuple[FileCounts, ...]
    patches_seed001: tuple[FileCounts, ...]
    committed: tuple[CommittedFiles, ...]
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
        progress: called with the name of each recording.

    Raises:
        UsageError: there is no recording that can be read.
    """
    patches: list[FileCounts] = []
    baseline: list[FileCounts] = []
    committed: list[CommittedFiles] = []
    left_out: list[str] = []
    rules = ""
    modified = commands = recordings = 0
    for path in sorted(recording_paths(paths)):
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
            matched, count = commands_by_seed001(messages)
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


def recording_paths(paths: Iterable[str]) -> set[str]:
    """The files that were given, and those in the directories that were given."""
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
        predicted = {
            absolute_path(f.path, cwd): f.action
            for f in summary.file_modifications
            if f.certainty != "unknown" and not f.path.endswith("/")
        }
        seed = seed001_files(sessions[number]) if number < len(sessions) else {}
        seed = {absolute_path(file, cwd): action for file, action in seed.items()}
        for rows, named in ((ours, predicted), (seeds, seed)):
            rows.append(
                compare(
                    name,
                    number,
                    relative_paths(named, root_directory(named, true, cwd), name),
                    true,
                    half=half_of(name),
                    left_out=left_out,
                )
            )
    return ours, seeds


_WITH_PATCHES = ("swe_agent", "openhands", "openai_rows", "chat")
"""Formats whose recordings may hold the final patch."""


def _against_commits(
    path: str, name: str, summary: ContextSummary, listed: Sequence[Commit]
) -> CommittedFiles | None:
    try:
        first = timestamp(summary.session.started)
        last = timestamp(summary.session.ended)
    except ValueError:
        return None
    singles = [c for c in listed if c.sessions <= 1 and first <= c.when <= last]
    shown = _commits_shown(path)
    own = [c for c in singles if any(c.sha.startswith(made) for made in shown)]
    predicted = {f.path: f for f in summary.file_modifications if f.action != "read"}
    committed = {file for change in listed for file in change.files}
    mine = {file for change in own for file in change.files}
    spanned = {file for change in singles for file in change.files}
    extra = [
        f for f in predicted.values() if f.path not in committed and not f.path.endswith("/")
    ]
    return CommittedFiles(
        name=name,
        half=half_of(name),
        own=len(mine),
        own_found=len(mine & predicted.keys()),
        span=len(spanned),
        span_found=len(spanned & predicted.keys()),
        commits=len(own),
        changed=len(predicted),
        changed_uncommitted=len(extra),
        uncommitted_shown=sum(_is_shown(f) for f in extra),
    )


def _is_shown(file: FileModification) -> bool:
    return file.certainty == "sure"


def _commits_shown(path: str) -> set[str]:
    """Abbreviated hashes of the commits whose creation a recording shows."""
    found: set[str] = set()
    with open_lines(path) as lines:
        for line in lines:
            if b"] " in line:
                found.update(_COMMIT_OUTPUT.findall(line.decode("utf-8", "replace")))
    return found
