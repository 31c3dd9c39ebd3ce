"""Options, jobs and results of a batch: plain values that processes and machines exchange as
MessagePack."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from leftoff import codec
from leftoff._version import __version__
from leftoff.budget.prices import PriceRow
from leftoff.budget.thresholds import Preset
from leftoff.budget.windows import ModelRow
from leftoff.errors import UnknownName
from leftoff.extraction.collector import BUILTIN
from leftoff.extraction.rule_sets import rules_digest
from leftoff.handover.entries import SessionEntries
from leftoff.incremental.cursor import Cursor
from leftoff.redaction.rules import rules_digest as redaction_digest

What: TypeAlias = Literal["summarize", "files", "budget", "memory"]
# Incremented whenever the rows that a worker makes change their meaning.
ROWS_VERSION = 3

_READERS: dict[str, tuple[str, ...]] = {
    "summarize": BUILTIN,
    "files": ("files", "edits"),
    "budget": (),
    "memory": (*BUILTIN, "written_lines", "seen"),
}


class ReaderOptions(Struct, frozen=True):
    """A second reader of each session (`second_reading`): a registered name or a command line,
    leftoff's folder, in which answers are stored, whether to ask again although one is, and the
    seconds for all questions about the sessions of a job."""

    name: str
    home: str
    refresh: bool = False
    limit: float = 0.0


class BatchOptions(Struct, frozen=True):
    """What a batch makes of each session."""

    # The document: the whole summary, its files alone, the account of tokens, or the entries of
    # a project's memory (`handover.entries`).
    what: What = "summarize"
    # Built-in extractors to run, in place of those that `what` needs.
    only: tuple[str, ...] = ()
    # extractors, redactors: plug-ins to run too, by name.
    extractors: tuple[str, ...] = ()
    redactors: tuple[str, ...] = ()
    format: str = ""  # read everything as this format; recognised by content if ""
    personal: bool = False  # also hide personal data
    # preset, windows: of the account of tokens.
    preset: Preset | None = None
    windows: tuple[ModelRow, ...] = ()
    prices: tuple[PriceRow, ...] = ()  # rows that come before the built-in table of prices
    reader: ReaderOptions | None = None

    @property
    def builtin(self) -> tuple[str, ...]:
        """The built-in extractors that run."""
        return self.only or _READERS[self.what]

    def check(self) -> None:
        """Checks all names before anything is read; raises `UnknownName`."""
        from leftoff.extraction.extractor import extractors
        from leftoff.formats.reader import formats
        from leftoff.redaction.redactor import redactors

        if self.what not in get_args(What):
            raise UnknownName("document", self.what, get_args(What))
        for name in self.only:
            if name not in BUILTIN:
                raise UnknownName("built-in extractor", name, BUILTIN)
        for name in self.extractors:
            extractors.get(name)
        for name in self.redactors:
            redactors.get(name)
        if self.format:
            formats.get(self.format)

    def digest(self) -> str:
        """16 hex digits that change whenever the same bytes could give another result."""
        # Where answers are stored, and how long one may take, changes no row.
        asked = self.reader and ReaderOptions(self.reader.name, "")
        given = replace(self, reader=asked)
        parts = (ROWS_VERSION, __version__, rules_digest(), redaction_digest(), given)
        return hashlib.blake2b(codec.pack_state(parts), digest_size=8).hexdigest()


class InputFile(Struct, frozen=True):
    """A file with what the file system reports about it."""

    path: str  # a path, or a URL that fsspec knows
    size: int = -1  # bytes; -1 if unknown
    # Nanoseconds since 1970; 0 if unknown, and then the file is read every time.
    modified: int = 0
    place: str = ""  # device and inode, or the ETag in an object store
    named: bool = False  # the caller named this file, not a folder or pattern


class SavedPosition(Struct, frozen=True):
    """The saved state of a pass over a file: how far it was read, and `collector.State` as
    MessagePack, compressed."""

    cursor: Cursor
    state: bytes


class FileHeader(Struct, frozen=True):
    """Which session a file belongs to, from its first records."""

    # Hashes of values that only files of one line of work share: the session's id, the id that
    # it was forked from, ids of its first records.
    keys: tuple[int, ...] = ()
    start: Cursor | None = None  # the cursor behind them; None where the file cannot be read on


class Job(Struct, frozen=True):
    """Files that are one session, or one file that holds several, with files of subagents
    beside them, and by path the saved positions of those that have grown."""

    number: int
    files: tuple[InputFile, ...]
    beside: tuple[InputFile, ...] = ()
    states: dict[str, SavedPosition] = {}

    @property
    def size(self) -> int:
        """Bytes to read, roughly; at least 1."""
        known = sum(max(0, f.size) for f in (*self.files, *self.beside))
        return max(1, known - sum(saved.cursor.offset for saved in self.states.values()))


class Counts(Struct):
    """Counts over rows, summed over jobs: sessions by format, failed files by kind, lines
    (total, parsed, unknown, repaired, skipped), and sessions without an answer of a second
    reader."""

    formats: dict[str, int] = {}
    failures: dict[str, int] = {}
    lines: tuple[int, ...] = (0, 0, 0, 0, 0)
    unanswered: dict[str, int] = {}

    def add(self, other: "Counts") -> None:
        for name in ("formats", "failures", "unanswered"):
            mine: dict[str, int] = getattr(self, name)
            for key, count in getattr(other, name).items():
                mine[key] = mine.get(key, 0) + count
        self.lines = tuple(a + b for a, b in zip(self.lines, other.lines, strict=True))


class JobResult(Struct, frozen=True):
    """The result of a job."""

    number: int
    # For each of `rows.TABLES` its rows as JSON lines, redacted; empty for no rows at all.
    tables: tuple[bytes, ...]
    counts: Counts
    states: dict[str, SavedPosition] = {}  # saved states of its files, by path
    read: int = 0  # bytes that had to be read
    seconds: float = 0.0  # how long it took, in processor time of the worker
    # The same bytes would give the same result; False if a worker was killed or stopped, or a
    # second reader gave no answer.
    final: bool = True
    memory: tuple[SessionEntries, ...] = ()  # of each session, if asked for


class Chunk(Struct, frozen=True):
    """A unit of work for one worker: headers to read, or jobs to do."""

    wanted: BatchOptions
    jobs: tuple[Job, ...] = ()
    heads: tuple[InputFile, ...] = ()


class ChunkResult(Struct, frozen=True):
    """The results of a chunk, in its order."""

    results: tuple[JobResult, ...] = ()
    heads: tuple[FileHeader, ...] = ()


# -- files into jobs, jobs into chunks --------------------------------------------------------

_SIDE = re.compile(r"(?P<stem>.*)[/\\]subagents[/\\]agent-[^/\\]*\.jsonl[^/\\]*", re.DOTALL)


def subagent_files(paths: Iterable[str]) -> dict[str, str]:
    """Files of subagents that stand in the folder of their session's file: path to the path
    of that file. Reading the one reads the others, so they are no files of their own."""
    known = set(paths)
    found: dict[str, str] = {}
    for path in known:
        match = _SIDE.fullmatch(path)
        if match is None or "://" in path:
            continue
        for ending in (".jsonl", ".jsonl.gz", ".jsonl.zst"):
            if match["stem"] + ending in known:
                found[path] = match["stem"] + ending
                break
    return found


def plan_jobs(files: Sequence[InputFile], heads: Mapping[str, FileHeader]) -> list[Job]:
    """The jobs in order of the path of their first file, by the headers that are known."""
    known = {file.path: file for file in files}
    owner = subagent_files(known)
    sides: dict[str, list[InputFile]] = {}
    for path in sorted(owner):
        sides.setdefault(owner[path], []).append(known[path])
    mains = sorted(path for path in known if path not in owner)
    found: list[Job] = []
    for number, group in enumerate(_grouped(mains, heads)):
        more = tuple(side for path in group for side in sides.get(path, ()))
        found.append(Job(number, tuple(known[path] for path in group), more))
    return found


def _grouped(paths: Sequence[str], heads: Mapping[str, FileHeader]) -> list[list[str]]:
    """The paths whose headers have a key in common, directly or through others."""
    groups = {path: [path] for path in paths}
    first: dict[int, str] = {}
    for path in paths:
        for key in heads[path].keys if path in heads else ():
            one, other = groups[first.setdefault(key, path)], groups[path]
            if one is not other:
                one, other = sorted((one, other))  # the first of a group stays its first
                one += other
                groups |= dict.fromkeys(other, one)
    return [sorted(group) for path, group in groups.items() if path == group[0]]


# Maximal bytes and files of a chunk, unless one session is larger. Chosen by hand; not
# measured.
CHUNK, CHUNK_FILES = 16 << 20, 256


def split_into_chunks(
    wanted: BatchOptions, jobs: Sequence[Job], workers: int, *, in_order: bool = False
) -> list[Chunk]:
    """The jobs in chunks of about equal size, the largest first, so that none is left over for
    long at the end, or in order. A session larger than a chunk has one of its own."""
    share = sum(job.size for job in jobs) // max(1, 4 * workers)
    limit = max(1 << 20, min(CHUNK, share))
    if wanted.reader is not None:
        limit = 1  # what takes minutes has a time limit of its own
    found: list[list[Job]] = []
    open_: list[Job] = []
    size = 0
    for job in jobs:
        if job.size >= limit and not in_order:
            found.append([job])
            continue
        if not open_ or size + job.size > limit or len(open_) >= CHUNK_FILES:
            open_, size = [], 0
            found.append(open_)
        open_.append(job)
        size += job.size
    if not in_order:
        found.sort(key=lambda some: (-sum(job.size for job in some), some[0].number))
    return [Chunk(wanted, tuple(some)) for some in found]
