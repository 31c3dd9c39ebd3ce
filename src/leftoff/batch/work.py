"""The code of a worker: reads the files of a job and makes the rows of their sessions.

An error of a file becomes a failed row; no content of a recording can end a worker. All results
are redacted."""

import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec.structs import astuple, replace

from leftoff import codec
from leftoff.analysis.session_pass import Pass
from leftoff.analysis.summary_json import numbered, safe_summary
from leftoff.api import SessionReading
from leftoff.batch import jobs
from leftoff.batch.files import is_url, local_copy
from leftoff.batch.rows import Rows, session_key
from leftoff.budget.prices import cost
from leftoff.errors import FormatError, LeftoffError, SourceError, StateError, UsageError
from leftoff.extraction.collector import State
from leftoff.handover.entries import SessionEntries, session_entries
from leftoff.incremental.cursor import Cursor, FileReplaced, NotResumable, Tail
from leftoff.incremental.saved_passes import redacted_state
from leftoff.redaction.redactor import Redactor, redactors
from leftoff.second_reading import SecondReading, project_reading
from leftoff.sources.forerunners import HEAD_BYTES, session_head
from leftoff.sources.multi_file import is_multi_file
from leftoff.sources.open import open_lines, open_regular, read_head
from leftoff.summary import ContextSummary

# Nanoseconds since the last change of a recording whose state is saved, and, of the memory of
# projects, its bytes, so that one more turn is added in less than 100 ms. From the figures in
# docs/memory.md.
RECENT, MIN_MEMORY_SIZE = 2 * 86_400_000_000_000, 1 << 18


def run_chunk(data: bytes) -> bytes:
    """`do_chunk`, from and to what processes exchange."""
    return codec.pack_state(do_chunk(codec.unpack_state(data, jobs.Chunk)))


def do_chunk(chunk: jobs.Chunk) -> jobs.ChunkResult:
    """Does the jobs, or reads the headers, of a chunk."""
    return jobs.ChunkResult(
        tuple(run_job(job, chunk.wanted) for job in chunk.jobs),
        tuple(read_header(file, chunk.wanted) for file in chunk.heads),
    )


# -- headers ---------------------------------------------------------------------------------


def read_header(file: jobs.InputFile, wanted: jobs.BatchOptions) -> jobs.FileHeader:
    """The header of a file. A file that is one document is a session of its own."""
    try:
        if is_multi_file(file.path):
            return jobs.FileHeader()
        with local_copy(file.path) as path:
            data = read_head(path, HEAD_BYTES)
    except LeftoffError:
        return jobs.FileHeader()  # its error is reported when it is read
    keys = session_head(file.path, data, wanted.format or None).keys
    start = None
    if keys and not is_url(file.path):
        with suppress(SourceError), open_regular(file.path) as opened:
            start = Cursor.at(opened, len(data)) if data == opened.read(len(data)) else None
    return jobs.FileHeader(keys, start)


# -- jobs ------------------------------------------------------------------------------------


def run_job(job: jobs.Job, wanted: jobs.BatchOptions) -> jobs.JobResult:
    """The rows of a job."""
    doing = _Doing(job, wanted)
    doing.run()
    return doing.result(final=not doing.counts.unanswered)


def failed_result(job: jobs.Job, failure: str, reason: str) -> jobs.JobResult:
    """The rows of a job that no worker could finish: one for each file."""
    doing = _Doing(job, jobs.BatchOptions())
    for file in job.files:
        doing.fail(file.path, failure, reason)
    return doing.result(final=False)


def _failure(error: Exception) -> str:
    """What kind of failure an error is, in a word; see docs/scale.md."""
    if isinstance(error, FormatError):
        return "no_session"
    if isinstance(error, SourceError):
        return "unreadable"
    return "refused" if isinstance(error, LeftoffError) else "defect"


class _Doing:
    """A job while it is done: rows, counts, states of its files by path, bytes read."""

    def __init__(self, job: jobs.Job, wanted: jobs.BatchOptions) -> None:
        self._began = time.process_time()
        self.job, self.wanted = job, wanted
        self.rows, self.counts = Rows(), jobs.Counts()
        self.states: dict[str, jobs.SavedPosition] = {}
        self.read = 0
        self.memory: list[SessionEntries] = []
        self._passes: dict[str, Pass] = {}
        self._asked_until = time.monotonic() + (wanted.reader.limit if wanted.reader else 0)

    def result(self, *, final: bool) -> jobs.JobResult:
        """What was found; `final` as in `JobResult`."""
        return jobs.JobResult(
            self.job.number,
            self.rows.to_json_lines(),
            self.counts,
            self.states,
            max(0, self.read),
            time.process_time() - self._began,
            final,
            tuple(self.memory),
        )

    def run(self) -> None:
        paths = [path for file in self.job.files if self._opens(path := file.path)]
        if len(paths) > 1 and self._try(paths, -1):
            return
        for path in paths:
            for number in range(len(self._own(path).sessions)):
                self._try([path], number)

    def _try(self, paths: Sequence[str], number: int) -> bool:
        """The rows of one session, or of its failure; False where several files have nothing in
        common although their headers match."""
        try:
            self._session(paths, number)
        except Exception as error:  # noqa: BLE001 - one bad session costs one row
            if number < 0 and isinstance(error, UsageError):
                return False
            self._add_failure(paths[0], error)
        return True

    def _opens(self, path: str) -> bool:
        try:
            return bool(self._own(path).sessions)
        except Exception as error:  # noqa: BLE001 - whatever a recording may do to us
            self._add_failure(path, error)
            return False

    def _own(self, path: str) -> Pass:
        """The pass over a file of the job itself."""
        wanted = self.wanted
        return self._opened(path, format=wanted.format or None, extractors=wanted.extractors)

    # -- files, each read once, from where it was read to before -----------------------------

    def _opened(
        self, path: str, *, format: str | None = None, extractors: Sequence[str] = ()
    ) -> Pass:
        if path not in self._passes:
            reading, cursor = self._whole(path, format, extractors)
            memory = self.wanted.what == "memory"
            if cursor and self._may_grow(path):
                saved = save_position(reading, cursor, MIN_MEMORY_SIZE if memory else MIN_SIZE)
                if saved is not None:
                    self.states[path] = saved
            reading.close()
            self.read += reading.offset
            self._passes[path] = reading
        return self._passes[path]

    def _whole(
        self, path: str, format: str | None, extractors: Sequence[str]
    ) -> tuple[Pass, Cursor | None]:
        saved, builtin = self.job.states.get(path), self.wanted.builtin
        if saved is not None:
            with suppress(StateError, FileReplaced):  # then it is read whole
                reading = Pass.load(_unpacked(saved, path), path, tuple(extractors), builtin)
                cursor = feed_file(reading, path, saved.cursor)
                self.read -= saved.cursor.offset
                return reading, cursor
        if not is_url(path) and not is_multi_file(path):
            with suppress(NotResumable, FileReplaced):
                reading = Pass(path, format, extractors, builtin)
                return reading, feed_file(reading, path, None)
        reading = Pass(path, format, extractors, builtin)
        with local_copy(path) as place, open_lines(place) as lines:
            reading.feed_lines(lines)
        return reading, None

    def _may_grow(self, path: str) -> bool:
        # In a long history hardly a recording grows again: their states would take a tenth of
        # the time, and more room than what is known of them.
        since = time.time_ns() - RECENT
        files = (*self.job.files, *self.job.beside)
        return any(f.path == path and f.modified > since for f in files)

    # -- sessions ----------------------------------------------------------------------------

    def _add_failure(self, path: str, error: Exception) -> None:
        reason = f"{error!r:.300}"
        if isinstance(error, LeftoffError):
            # The path has a column of its own, and every format was tried on every file.
            reason = str(error).removeprefix(f"{path}: ").partition("; tried ")[0]
        self.fail(path, _failure(error), reason)

    def fail(self, path: str, failure: str, reason: str) -> None:
        """Adds the row of a file that could not be read."""
        shown = Redactor().value(codec.to_valid_json([path, reason]))
        self.rows.failed(session_key(path, 0), shown[0], failure, shown[1])
        self.counts.add(jobs.Counts(failures={failure: 1}))

    def _session(self, paths: Sequence[str], number: int) -> None:
        """Makes the rows of one session; `UsageError` if the files have nothing to do with each
        other, or one holds several sessions."""
        wanted = self.wanted
        if len(paths) > 1 and any(len(self._own(path).sessions) > 1 for path in paths):
            raise UsageError("one of the files holds several sessions")
        gathered = SessionReading(self._opened)
        for path in paths:
            gathered.add(path, wanted.format or None, wanted.extractors, number + (number >= 0))
        summary = gathered.summary("", self._reading())
        gate = self._gate()
        view = gathered.view()
        safe = safe_summary(summary, gate)
        redacted = codec.to_builtins(safe)
        if not all(path.isprintable() for path in paths):
            redacted = codec.to_valid_json(redacted)  # a file name may be invalid UTF-8
        document = self._document(redacted, gathered, gate)
        place = max(0, number)
        key = session_key(paths[0], place)
        paid = cost(view, view.children, wanted.prices)
        self.rows.session(key, place, safe, redacted, document, wanted.builtin, paid)
        if wanted.what == "memory":
            found = session_entries(key, redacted, view, gate)
            self.memory.append(found)
            self.rows.entries(found)
        self._count(summary, place)

    def _gate(self) -> Redactor:
        extra = [redactors.get(name) for name in self.wanted.redactors]
        return Redactor(personal=self.wanted.personal, extra=extra)

    def _reading(self) -> SecondReading | None:
        """How a second reader is asked about a session: nothing that the output hides."""
        asked = self.wanted.reader
        if asked is None:
            return None
        left = max(0.0, self._asked_until - time.monotonic())
        found = project_reading(asked.name, Path(asked.home), refresh=asked.refresh, limit=left)
        return replace(found, gate=self._gate)

    def _count(self, summary: ContextSummary, place: int) -> None:
        counts = jobs.Counts(
            formats={summary.session.format: 1},
            unanswered={i.what: 1 for i in summary.issues if i.code == "second_reader"},
        )
        if not place:  # the lines are those of the whole file
            counts.lines = astuple(summary.stats.lines)
        self.counts.add(counts)

    def _document(self, redacted: Any, gathered: SessionReading, gate: Redactor) -> object:
        """What `wanted.what` asks for, as redacted plain values."""
        wanted = self.wanted
        if wanted.what == "summarize":
            return numbered(redacted)
        if wanted.what == "memory":
            return None
        names = ("schema", "leftoff", "rules", "session", "stats", "issues")
        document = {name: redacted[name] for name in names}
        if wanted.what == "files":
            return numbered({**document, "file_modifications": redacted["file_modifications"]})
        from leftoff.budget.thresholds import preset
        from leftoff.incremental.accounts import account_of_reading
        from leftoff.rendering import budget

        chosen = wanted.preset or preset("advisory")
        found = account_of_reading(
            gathered, chosen, windows=wanted.windows, prices=wanted.prices
        )
        path = codec.to_valid_json(found.path)
        return budget.plain(replace(found, path=path), gate=gate)


# -- saved positions: the next run reads only what was added to a file ------------------------
#
# A state is saved only for a large file and only if it contains no secrets; any other file is
# read again.

# Bytes: the state of a smaller file is not saved. Chosen by hand; not measured.
MIN_SIZE = 1 << 20


def save_position(reading: Pass, cursor: Cursor, least: int) -> jobs.SavedPosition | None:
    """The state of a pass that has read a file up to a cursor behind its last whole line; None
    if it has less than `least` bytes, cannot be resumed or contains secrets."""
    lines = reading.format is not None and reading.format.shape == "lines"
    if cursor.offset < least or not lines or len(reading.sessions) > 1:
        return None  # of several sessions only the last would be in it
    reading.cursor.raw = b""  # the last record; not needed to resume
    gate = Redactor()
    try:
        state = reading.save()
    except StateError:
        return None
    if redacted_state(state, gate) is None or gate.total:
        return None
    return jobs.SavedPosition(cursor, zlib.compress(codec.pack_state(state), 1))


def _unpacked(saved: jobs.SavedPosition, path: str) -> State:
    try:
        found: State = codec.unpack_state(zlib.decompress(saved.state), State)
        return found
    except (ValueError, zlib.error) as error:
        raise StateError(f"{path}: the saved state is damaged ({error})") from error


def feed_file(reading: Pass, path: str, start: Cursor | None) -> Cursor:
    """Feeds a pass what a file holds behind a cursor; the cursor behind its last whole line.

    Raises:
        StateError: it is not the file of the cursor.
        NotResumable: it is compressed or not in UTF-8.
        FileReplaced: it was replaced meanwhile.
        SourceError: it cannot be read."""
    with open_regular(path, any_encoding=True) as file:
        tail = Tail(file, path, start)
        if tail.is_new and start is not None:
            raise StateError(f"{path}: not the file that was read")
        for data in tail:
            reading.feed(data)
        return tail.cursor(reading.offset)
