"""The worker of the hooks: processes a session's job queue in a process beside the client.

A job reads the new lines of the transcript, summarises the session and writes documents. One
worker runs for each session at a time. A hook that enqueues a job while it runs starts another
worker, which exits at once: the running one checks the queue again before it ends."""

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import UNSET

from leftoff import api, codec
from leftoff.errors import LeftoffError
from leftoff.formats.lenient_json import text_of
from leftoff.handover.briefing import briefing
from leftoff.handover.facts import Handover, handover_of
from leftoff.hooks import queue
from leftoff.hooks.arrival import is_in_transcript
from leftoff.hooks.forerunners import MAX_AGE, is_first
from leftoff.hooks.session_notes import about_session, open_before
from leftoff.incremental.saved_passes import SavedPass
from leftoff.redaction.redactor import Redactor
from leftoff.second_reading import project_reading
from leftoff.settings import Settings, load_here
from leftoff.sources.discover import list_sessions, place_of
from leftoff.sources.open import session_paths
from leftoff.stores.atomic import Directory, file_stamp
from leftoff.summary import ContextSummary

# Seconds after which a worker dequeues no further job and reads no further.
TIME_LIMIT = 300.0
# Seconds to wait for a compaction's summary that is not yet in the transcript.
SUMMARY_TIMEOUT = 3.0
# After a turn the session is summarised again only when this many times the duration of the
# last summary has passed: summaries then take at most a twentieth of the time. Chosen by hand;
# not measured.
MIN_INTERVAL_FACTOR = 20
# Recordings from before the first hook that are read. Chosen by hand.
MAX_IMPORTED = 3
# Size of a transcript, in bytes, above which a checkpoint holds no history: reading its
# messages would be a second pass over the file.
MAX_HISTORY_BYTES = 64 << 20
# Bytes of the block of what holds in the project, frame included.
MAX_LEDGER_BYTES = 1_200
# Jobs after which a second reader is asked: when a later session, or the same one after a
# compaction, is going to be given what was found.
JUDGED = ("end", "post_compact", "pre_compact")
# Days without a change after which the folder of a session is removed.
STATE_RETENTION_DAYS = 30


def process_jobs(home: Path, session: str) -> None:
    """Processes the job queue of a session until it is empty or every job left has failed."""
    folder = queue.folder_of(home, session)
    if folder is None:
        return
    with contextlib.suppress(OSError, AttributeError):
        os.nice(5)
    end = time.monotonic() + TIME_LIMIT
    # What hooks and workers left that were killed while writing, perhaps after the last job.
    with (
        contextlib.suppress(OSError),
        queue.opened(folder) as own,
        Directory.open(home) as near,
    ):
        for place in (own, near):
            place.remove_stale_temporaries()
    failed: set[str] = set()
    done: dict[str, codec.JsonObject] = {}
    while not failed.issuperset(queue.pending_jobs(folder)) and time.monotonic() < end:
        try:
            with queue.opened(folder) as own, own.lock(queue.LOCK, 0):
                for name in _in_order(queue.pending_jobs(folder)):
                    job = queue.dequeue(folder, name)
                    if not job or _run_job(home, folder, name, job, end):
                        queue.acknowledge(folder, name)
                        done[name] = job
                    else:
                        failed.add(name)
        except TimeoutError:
            return  # the running worker checks the queue again before it ends
        except OSError as error:
            queue.write_log(home, f"worker: {session}: {error.strerror}")
            return
    if any(done.values()):
        # Without the lock: the next turn waits neither for a model nor for an index that is
        # built anew.
        last = _Job(home, folder, next(job for job in done.values() if job), end)
        _logged(home, folder, "reader", lambda: last.judge([n for n in JUDGED if n in done]))
        _logged(home, folder, "memory", lambda: last.remember(project_too="start" in done))


def _logged(home: Path, folder: Path, name: str, do: Callable[[], str]) -> Exception | None:
    """Logs the outcome of what is done, "" for none; returns the error that ended it."""
    began = time.monotonic()
    failure = None
    try:
        outcome = do()
    except Exception as error:  # noqa: BLE001 - what comes next must still run
        failure, outcome = error, f"failed: {type(error).__name__}: {error}"
    if outcome:
        took = time.monotonic() - began
        line = f"worker: {name} {folder.name} {took:.2f} s {outcome}"
        queue.write_log(home, Redactor().text(line))
    return failure


_ORDER = ("start", "pre_compact", "post_compact", "stop", "end")


def _in_order(names: list[str]) -> list[str]:
    return sorted(names, key=lambda n: (_ORDER.index(n) if n in _ORDER else len(_ORDER), n))


def _run_job(home: Path, folder: Path, name: str, job: codec.JsonObject, end: float) -> bool:
    """Runs a job and logs its outcome; returns whether to acknowledge it. A job that failed
    with an `OSError` (a full disk, for example) stays for the next worker."""
    error = _logged(home, folder, name, lambda: _Job(home, folder, job, end).run(name))
    return not isinstance(error, OSError) and not isinstance(error and error.__cause__, OSError)


_HOLDS = "What the person required or decided in this project (leftoff show SESSION#n):"


class _Job:
    def __init__(self, home: Path, folder: Path, job: codec.JsonObject, end: float) -> None:
        self.home, self.folder, self.job, self.end = home, folder, job, end
        self.project = Path(str(job.get("project") or home.parent))
        self.transcript = str(job.get("transcript") or "")
        self.saved_pass = SavedPass(folder)
        self.watch = queue.load(folder / queue.WATCH)
        try:
            self.settings = load_here(project=self.project).settings
        except LeftoffError as error:
            queue.log_error(home, "worker: defaults are used", error)
            self.settings = Settings()

    @property
    def files(self) -> list[str]:
        """The files of the transcript, the main one first."""
        main, beside = session_paths(self.transcript)
        return [main, *(side for _, side in beside)]

    @property
    def recording(self) -> str:
        """The main file of the transcript."""
        return self.files[0]

    @property
    def is_large(self) -> bool:
        """Whether reading its messages would take too long."""
        return Path(self.recording).stat().st_size > MAX_HISTORY_BYTES

    def run(self, name: str) -> str:
        """Runs the job of that name; returns its outcome for the log."""
        if name == "start":
            self._write_watch(None)
            self._import_recordings()
        if not self.transcript or not Path(self.transcript).exists():
            return "no transcript yet"
        self._check_arrival(name)
        try:
            self.saved_pass.read_on(self.recording, stop=self._is_over)
        except LeftoffError as error:  # it cannot be read incrementally: it is read whole below
            queue.log_error(self.home, "worker", error)
        seen = codec.parse(codec.dumps([file_stamp(path) for path in self.files]))
        if name in ("start", "stop", "end") and self.watch.get("seen") == seen:
            if name == "end":
                self._apply_retention()
            return "nothing new"
        if name in ("start", "stop") and not self._summary_due():
            return "read on"
        began = time.monotonic()
        # exact=False leaves placeholders for secrets: everything written from it is redacted.
        summary = self.saved_pass.summary(self.transcript, exact=False)
        self._write_blocks(summary, name)
        if name == "pre_compact":
            self._write_checkpoint(summary)
        if name == "end":
            self._apply_retention()
        self.watch["cost"], self.watch["at"] = time.monotonic() - began, time.time()
        self.watch["seen"] = seen
        self._write_watch(summary)
        return "summarised"

    def _summary_due(self) -> bool:
        cost, at = self.watch.get("cost"), self.watch.get("at")
        if not isinstance(cost, float) or not isinstance(at, float):
            return True
        # A time in the future means that the clock was set back since.
        return cost < 1 or not 0 <= time.time() - at <= MIN_INTERVAL_FACTOR * cost

    def _write_watch(self, summary: ContextSummary | None) -> None:
        hooks = self.settings.hooks
        self.watch["recall"] = hooks.recall_tokens if hooks.recall and hooks.memory else 0
        preset = self.settings.watched()
        self.watch["preset"] = codec.to_builtins(preset)
        self.watch["lowest"] = min((t.at for t in preset.thresholds), default=1.0)
        if summary is not None:
            ends = [c.ref.message for c in summary.context.compactions]
            self.watch["compacted"] = max(ends, default=-1)
            self.watch["usable"] = _usable_window(self.settings, summary)
        self._write(queue.WATCH, codec.dumps(self.watch))

    # -- a second reader -------------------------------------------------------------------

    def judge(self, names: Sequence[str]) -> str:
        """Writes the blocks and the resume log again with what a second reader chose, unless
        the session was continued meanwhile; returns the outcome for the log. Of `names`, the
        jobs that were done and call for it, the first counts."""
        reader = self.settings.hooks.reader
        if not (reader and names and self.transcript and Path(self.transcript).exists()):
            return ""
        before = file_stamp(self.recording)
        if self.is_large:
            return "not asked: a large recording"
        reading = project_reading(reader, self.home, limit=self.end - time.monotonic())
        summary = api.summarize(self.transcript, alone=True, reader=reading)
        refused = next((i.what for i in summary.issues if i.code == "second_reader"), "")
        if refused or summary.second_reader is UNSET:
            return refused or "nothing to ask"
        with queue.opened(self.folder) as own, own.lock(queue.LOCK, 0):
            if queue.pending_jobs(self.folder) or file_stamp(self.recording) != before:
                return "the session was continued"
            self._write_blocks(summary, names[0])
        return "judged"

    # -- the memory of the project ---------------------------------------------------------

    def remember(self, *, project_too: bool) -> str:
        """Reads this session, and with `project_too` the others of the project, into the user's
        index and writes the project's ledger; returns the outcome for the log."""
        if not self.settings.hooks.memory:
            for old in (self.home / queue.STATE).glob(f"*/{queue.LEDGER}"):
                old.unlink(missing_ok=True)
            return ""
        if not self.transcript:
            return ""
        from leftoff.memory.index import update
        from leftoff.memory.ledger import ledger
        from leftoff.memory.lookup import memory_path
        from leftoff.memory.search import Filters
        from leftoff.memory.text import surest_lines

        paths = {*self.files}
        if project_too:
            listed = list_sessions(os.environ, project=str(self.project))
            paths |= {one.path for one in listed if one.size <= MAX_HISTORY_BYTES}
        path = memory_path(os.environ)
        existing = sorted(p for p in paths if Path(p).exists())
        if not existing or update(path, existing, environ=os.environ, watcher=self) is None:
            return "" if not existing else "in use"
        lines = surest_lines(ledger(path, Filters(project=str(self.project))))
        head = f'<leftoff session="{self.folder.name}">\n{queue.ABOUT}\n{_HOLDS}\n'
        text = Redactor().text("\n".join(lines))
        room = MAX_LEDGER_BYTES - len(f"{head}</leftoff>\n".encode())
        chosen = ""
        for line in text.split("\n") if lines else ():
            if len(f"{chosen}{line}\n".encode()) <= room:
                chosen += f"{line}\n"
        self._write(queue.LEDGER, f"{head}{chosen}</leftoff>\n".encode() if chosen else b"")
        return f"{len(existing)} recordings looked at"

    def planned(self, report: object, todo: int, size: int) -> None:
        """As a listener to the progress of the index: does nothing."""

    def job_done(self, job: object, report: object) -> None:
        """Stops the update of the index at the time limit; what is done stays stored."""
        if self._is_over():
            raise KeyboardInterrupt

    def _is_over(self) -> bool:
        return time.monotonic() > self.end

    # -- documents -------------------------------------------------------------------------

    def _write_blocks(self, summary: ContextSummary, name: str) -> None:
        recorded = self._compaction_summary(name)
        where = self._write_resume_log(summary, name)
        handover: Handover = Redactor().value(handover_of(summary))
        ended = Path(self.recording).stat().st_mtime
        about = Redactor().value(about_session(summary, handover, self.project, ended))
        place = place_of(self.recording, os.environ)
        earlier = open_before(self.home, self.folder.name, about["branch"], handover)
        text = briefing(summary, where=where, place=place, earlier=earlier)
        self._write(queue.BRIEFING, text.encode("utf-8", "replace"))
        if recorded:
            text = briefing(summary, where=where, place=place, recorded=recorded)
            self._write(queue.BESIDE, text.encode("utf-8", "replace"))
        # Last: a session with this file has all the others.
        self._write(queue.ABOUT_SESSION, codec.dumps(about))

    def _write(self, name: str, data: bytes) -> None:
        queue.write(self.folder / name, data, durable=True)

    def _check_arrival(self, name: str) -> None:
        """Notes which blocks that hooks gave stand in the transcript, once a turn has ended."""
        given = queue.load(self.folder / queue.GIVEN) if name in ("stop", "end") else {}
        before = queue.load(self.folder / queue.SEEN)
        seen = dict(before)
        for event, record in given.items():
            if isinstance(record, dict):
                at = record.get("at")
                if before.get(event) != {"at": at, "seen": True}:
                    found = is_in_transcript(record, self.transcript)
                    if found is not None:
                        seen[event] = {"at": at, "seen": found}
        if seen != before:
            queue.write(self.folder / queue.SEEN, codec.dumps(seen))

    def _import_recordings(self) -> None:
        """Summarises the last recordings of this project from before the first hook, oldest
        first, each in a folder of its own as if hooks had seen it."""
        if not is_first(self.home, self.folder.name):
            return
        here = os.path.realpath(self.project)
        own = os.path.realpath(self.transcript) if self.transcript else ""
        since = time.time() - MAX_AGE
        found: list[tuple[Path, str]] = []
        for listed in list_sessions(os.environ, project=str(self.project), since=since):
            if len(found) == MAX_IMPORTED or self._is_over():
                break
            folder = queue.folder_of(self.home, listed.id)
            if folder is None or folder == self.folder or os.path.realpath(listed.path) == own:
                continue
            if listed.project and os.path.realpath(listed.project) != here:
                continue
            if listed.size <= MAX_HISTORY_BYTES and not folder.exists():
                found.append((folder, listed.path))
        for folder, path in reversed(found):
            queue.make_folder(self.home, folder)
            job = {"transcript": path, "project": str(self.project)}
            with (
                contextlib.suppress(LeftoffError, TimeoutError),
                queue.opened(folder) as opened,
                opened.lock(queue.LOCK, 0),
            ):
                _Job(self.home, folder, job, self.end).run("imported")

    def _compaction_summary(self, name: str) -> str:
        """The recorder's summary of the last compaction, redacted; "" if it is not known or a
        compaction is under way."""
        path = self.folder / queue.LOST
        if name == "pre_compact":
            for old in (path, self.folder / queue.BESIDE):
                with contextlib.suppress(OSError):
                    old.unlink()
            return ""
        if name == "post_compact":
            recorded = text_of(self.job.get("summary")) or self._recorded_summary()
            if recorded:
                text = Redactor().text(recorded)
                self._write(queue.LOST, codec.dumps({"summary": text}))
                return text
        return text_of(queue.load(path).get("summary"))

    def _recorded_summary(self) -> str:
        """The newest summary of a compaction in the transcript; "" if none appears within
        `SUMMARY_TIMEOUT` seconds."""
        end = time.monotonic() + SUMMARY_TIMEOUT
        if self.is_large:
            return ""
        while True:
            messages = api.read(self.recording)
            found = [m.text for m in messages if m.origin == "compaction" and m.text]
            if found or time.monotonic() > end:
                return found[-1] if found else ""
            time.sleep(0.3)

    def _write_resume_log(self, summary: ContextSummary, name: str) -> str:
        from leftoff.live.resume_logs import ResumeLogGenerator

        generator = ResumeLogGenerator(self.settings, project=self.project)
        if not generator.enabled:
            return ""
        session = self.folder.name
        log = generator.generate_from_summary(summary, session_id=session, trigger=name)
        return str(generator.save_resume_log(log).absolute())

    def _write_checkpoint(self, summary: ContextSummary) -> None:
        from leftoff.handover.checkpoint.document import checkpoint_of
        from leftoff.handover.checkpoint.from_summary import checkpoint_source
        from leftoff.live.checkpoints.orchestrator import nearest
        from leftoff.live.checkpoints.recorded import budget_of
        from leftoff.stores.files import store_for

        budget = budget_of(summary, self.folder.name, self.settings)
        messages = () if self.is_large else list(api.read(self.recording))
        checkpoint = checkpoint_of(
            checkpoint_source(summary, messages),
            budget=budget,
            capacity=nearest(budget),
            at=datetime.now(UTC),
            history_lines=self.settings.token_budget.context_dump.max_history_lines,
        )
        name, text = checkpoint.checkpoint_id, checkpoint.conversation.summary + "\n"
        store = store_for(self.settings, self.project)
        store.save("checkpoint", name, checkpoint.to_dict(), text=text)

    def _apply_retention(self) -> None:
        """Applies retention to checkpoints and session folders; saving a resume log applies it
        to resume logs."""
        from leftoff.stores.files import store_for
        from leftoff.stores.retention import Retention, prune

        days = self.settings.token_budget.context_dump.retention_days
        store = store_for(self.settings, self.project)
        prune(store, "checkpoint", Retention(days=days), now=time.time())
        oldest = time.time() - STATE_RETENTION_DAYS * 86_400
        for entry in os.scandir(self.home / queue.STATE):
            old = entry.stat(follow_symlinks=False).st_mtime < oldest
            if old and entry.is_dir(follow_symlinks=False) and entry.name != self.folder.name:
                shutil.rmtree(entry.path, ignore_errors=True)


def _usable_window(settings: Settings, summary: ContextSummary) -> int | None:
    """The usable window, with the rows of the settings, which a summary is made without, and
    the mark of the larger window: the person's choice of a model has it, recordings leave it
    out."""
    from leftoff.budget.windows import fit

    session = summary.session
    model = session.models[-1] if session.models else ""
    larger = "[1m]" in os.environ.get("ANTHROPIC_MODEL", "").casefold() and "[" not in model
    if not settings.windows and not larger:
        return summary.context.usable_window
    window = fit(
        f"{model}[1m]" if larger else model,
        peak=summary.context.occupancy or 0,
        format=session.format,
        version=session.agent_version,
        more=settings.windows,
    )
    return window.window - window.reserve if window else summary.context.usable_window
