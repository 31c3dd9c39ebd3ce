"""What a worker does: read the files of a job, and make the rows of their sessions.

Whatever is wrong with a file becomes a row that says so; nothing that a recording holds can
end a worker. Everything that leaves here has passed the gate.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice
from typing import Any

from leftoff import codec
from leftoff.analysis.session_pass import Pass
from leftoff.api import Gathered
from leftoff.batch.files import at_hand, is_url
from leftoff.batch.jobs import Chunk, Counts, Done, File, Head, Job, Result, Wanted
from leftoff.batch.rows import Rows, key_of
from leftoff.errors import FormatError, LeftoffError, SourceError, StateError, UsageError
from leftoff.formats.thread import key64
from leftoff.incremental.saved_positions import SavedPosition, keep, revive
from leftoff.redaction.redactor import Redactor, redactors
from leftoff.sources.multi_file import in_pieces
from leftoff.sources.open import head_of, lines_of
from leftoff.summary import ContextSummary

HEAD = 32 * 1024
"""Bytes of a file in which its header is looked for."""

_FIRST = 8
"""Records whose ids tell a copy: a fork begins with what it was forked from."""


def work(data: bytes) -> bytes:
    """Does a frozen `Chunk`; returns a frozen `Done`."""
    chunk: Chunk = codec.thaw(data, Chunk)
    done = Done(
        tuple(do(job, chunk.wanted) for job in chunk.jobs),
        tuple(head(file, chunk.wanted) for file in chunk.heads),
    )
    return codec.freeze(done)


# -- headers ---------------------------------------------------------------------------------


def head(file: File, wanted: Wanted) -> Head:
    """What the first lines tell. A file that is one document is a session of its own."""
    try:
        if in_pieces(file.path):
            return Head()
        with at_hand(file.path) as path:
            data = head_of(path, HEAD)
        reading = Pass(file.path, wanted.format or None, builtin=())
        complete = len(data) < HEAD
        lines = data.splitlines(keepends=True)
        reading.feed_lines(islice(lines, len(lines) - (not complete)))
        if complete and reading.format is None:
            reading.close()
    except (LeftoffError, ValueError, RecursionError):
        return Head()  # what is wrong with it is told when it is read
    if reading.format is None or reading.format.shape != "lines" or len(reading.sessions) > 1:
        return Head()
    keys: list[int] = []
    for recording in reading.sessions[0].values():
        header, name = recording.header, reading.format.name
        keys += [key64(f"{name} {told}") for told in (header.id, header.forked_from) if told]
        keys += recording.thread.keys[:_FIRST]
    return Head(tuple(dict.fromkeys(key for key in keys if key)))


# -- jobs ------------------------------------------------------------------------------------


class _Opener:
    """Reads the files of one job, each once, from where it was read to before.

    Attributes:
        states: saved states of what was read.
        read: bytes that were read.
    """

    def __init__(self, job: Job, wanted: Wanted) -> None:
        self._job, self._wanted = job, wanted
        self._known: dict[str, Pass] = {}
        self.states: dict[str, SavedPosition] = {}
        self.read = 0

    def __call__(
        self, path: str, *, format: str | None = None, extractors: Sequence[str] = ()
    ) -> Pass:
        reading = self._known.get(path)
        if reading is None:
            reading = self._known[path] = self._whole(path, format, extractors)
        return reading

    def _whole(self, path: str, format: str | None, extractors: Sequence[str]) -> Pass:
        kept = self._job.states.get(path)
        if kept is not None:
            try:
                return self._rest(kept, path, extractors)
            except StateError:
                pass  # written anew: read again
        reading = Pass(path, format, extractors, self._wanted.builtin)
        with at_hand(path) as place, lines_of(place) as lines:
            reading.feed_lines(lines)
        return self._closed(reading, path)

    def _rest(self, kept: SavedPosition, path: str, extractors: Sequence[str]) -> Pass:
        reading = revive(kept, path, tuple(extractors), self._wanted.builtin)
        began = reading.offset
        try:
            with open(path, "rb", buffering=1 << 20) as file:  # noqa: PTH123
                file.seek(began)
                reading.feed_lines(file)
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror}") from error
        self.read -= began
        return self._closed(reading, path)

    def _closed(self, reading: Pass, path: str) -> Pass:
        if not is_url(path):
            kept = keep(reading, path)
            if kept is not None:
                self.states[path] = kept
        reading.close()
        self.read += reading.offset
        return reading


def do(job: Job, wanted: Wanted) -> Result:
    """The rows of a job."""
    began = time.process_time()
    opener, rows = _Opener(job, wanted), Rows()
    counts = Counts()
    _Job(job, wanted, opener, rows, counts).run()
    return Result(
        job.number,
        rows.take(),
        counts,
        opener.states,
        max(0, opener.read),
        time.process_time() - began,
    )


def failed(job: Job, failure: str, reason: str) -> Result:
    """The rows of a job that no worker could finish: one for each file."""
    rows, counts = Rows(), Counts()
    for file in job.files:
        _fail(file.path, failure, reason, rows, counts)
    return Result(job.number, rows.take(), counts, final=False)


def _fail(path: str, failure: str, reason: str, rows: Rows, counts: Counts) -> None:
    gate = Redactor()
    told = codec.mended([path, reason])
    shown = gate.value(told)
    rows.failed(key_of(path, 0), shown[0], failure, shown[1])
    counts.failures[failure] = counts.failures.get(failure, 0) + 1


def _failure(error: Exception) -> str:
    """What kind of failure an error is, in a word; see docs/scale.md."""
    if isinstance(error, FormatError):
        return "no_session"
    if isinstance(error, SourceError):
        return "unreadable"
    return "refused" if isinstance(error, LeftoffError) else "defect"


class _Job:
    """One job being done."""

    def __init__(
        self, job: Job, wanted: Wanted, opener: _Opener, rows: Rows, counts: Counts
    ) -> None:
        self.job, self.wanted, self.opener = job, wanted, opener
        self.rows, self.counts = rows, counts

    def run(self) -> None:
        paths = [path for file in self.job.files if self._opens(path := file.path)]
        if len(paths) > 1:
            try:
                self._session(paths, -1)
                return
            except UsageError:
                pass  # they have less in common than their headers said
            except Exception as error:  # noqa: BLE001 - one bad session costs one row
                self._tell(paths[0], error)
                return
        for path in paths:
            try:
                several = len(self.opener(path).sessions)
            except Exception as error:  # noqa: BLE001 - one bad file costs one row
                self._tell(path, error)
                continue
            for number in range(several):
                try:
                    self._session([path], number)
                except Exception as error:  # noqa: BLE001 - one bad session costs one row
                    self._tell(path, error)

    def _opens(self, path: str) -> bool:
        """Whether a file can be read as one session or more; tells why if not."""
        try:
            return bool(self._opened(path).sessions)
        except Exception as error:  # noqa: BLE001 - whatever a recording may do to us
            self._tell(path, error)
            return False

    def _opened(self, path: str) -> Pass:
        wanted = self.wanted
        return self.opener(path, format=wanted.format or None, extractors=wanted.extractors)

    def _tell(self, path: str, error: Exception) -> None:
        reason = f"{error!r:.300}"
        if isinstance(error, LeftoffError):
            # The path has a column of its own, and every format was tried on every file.
            reason = str(error).removeprefix(f"{path}: ").partition("; tried ")[0]
        _fail(path, _failure(error), reason, self.rows, self.counts)

    def _session(self, paths: Sequence[str], number: int) -> None:
        """Makes the rows of one session.

        Raises:
            UsageError: the files have nothing to do with each other, or one holds several
                sessions.
        """
        wanted = self.wanted
        if len(paths) > 1 and any(len(self._opened(path).sessions) > 1 for path in paths):
            raise UsageError("one of the files holds several sessions")
        gathered = Gathered(self.opener)
        for path in paths:
            gathered.add(path, wanted.format or None, wanted.extractors, number)
        summary = gathered.summary("")
        gate = Redactor(
            personal=wanted.personal, extra=[redactors.get(name) for name in wanted.redactors]
        )
        plain = codec.plain(summary)
        if not all(path.isprintable() for path in paths):
            plain = codec.mended(plain)  # the name of a file need be no text
        told = gate.value(plain)
        told["stats"]["redactions"] = dict(sorted(gate.counts.items()))
        document = self._document(summary, told, gathered, gate)
        place = max(0, number)
        self.rows.session(
            key_of(paths[0], place), place, len(paths), told, document, wanted.builtin
        )
        self._count(summary, place)

    def _count(self, summary: ContextSummary, place: int) -> None:
        formats = self.counts.formats
        formats[summary.session.format] = formats.get(summary.session.format, 0) + 1
        if not place:  # the lines are those of the whole file
            lines = summary.stats.lines
            told = (lines.total, lines.parsed, lines.unknown, lines.repaired, lines.skipped)
            self.counts.add(Counts(lines=told))

    def _document(
        self, summary: ContextSummary, told: dict[str, Any], gathered: Gathered, gate: Redactor
    ) -> Any:
        """What `wanted.what` asks for, as redacted plain values."""
        if self.wanted.what == "summarize":
            return told
        names = ("schema", "leftoff", "rules", "session", "stats", "issues")
        document = {name: told[name] for name in names}
        if self.wanted.what == "files":
            return {**document, "file_modifications": told["file_modifications"]}
        return self._account(summary, gathered, gate)

    def _account(self, summary: ContextSummary, gathered: Gathered, gate: Redactor) -> Any:
        from leftoff.budget.account import account
        from leftoff.budget.thresholds import preset
        from leftoff.rendering import budget
        from leftoff.session_view import Story

        recordings, _ = gathered.recordings()
        main = recordings.pop("")
        if not len(main.thread) and recordings:
            main = recordings.pop(min(recordings))  # a subagent's own file
        children = [Story(r) for _, r in sorted(recordings.items()) if len(r.thread)]
        session = summary.session
        chosen = self.wanted.preset or preset("advisory")
        found = account(
            Story(main), children, chosen, session.format, windows=self.wanted.windows
        )
        return budget.plain(
            found,
            id=session.id,
            format=session.format,
            path=codec.mended(session.path),
            models=session.models,
            preset=chosen.name,
            gate=gate,
        )
