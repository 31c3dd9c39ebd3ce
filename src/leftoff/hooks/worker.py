"""What hooks leave to be done: reading on, summarising, writing. Runs beside the client.

One worker for each session at a time. It takes wishes until there are none; a hook that leaves
one while it works starts another, which ends at once because this one looks again.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from leftoff import api, codec
from leftoff.errors import LeftoffError
from leftoff.handover.briefing import briefing
from leftoff.hooks import queue as files
from leftoff.incremental.saved_passes import KeptPass
from leftoff.redaction.redactor import Redactor
from leftoff.settings import Settings, load
from leftoff.sources.open import parts_of
from leftoff.summary import ContextSummary

LIMIT = 300.0
"""Seconds after which a worker takes no further wish and reads no further."""

PATIENCE = 3.0
"""Seconds that a transcript may lag behind its hook before what is there is taken."""

SHARE = 20
"""After a turn a session is summarised again only when so many times as long has passed as the
last summary took."""

LARGE = 64 << 20
"""Bytes of a transcript from which a checkpoint holds no history: it would be read twice."""

STATE_DAYS = 30
"""Days after which what is kept of a session that nobody went on with is removed."""


def work(home: Path, session: str) -> None:
    """Does what is wished for a session, until nothing is.

    Args:
        home: where leftoff keeps what it keeps for the project.
    """
    folder = files.folder_of(home, session)
    if folder is None:
        return
    with contextlib.suppress(OSError, AttributeError):
        os.nice(5)
    end = time.monotonic() + LIMIT
    failed: set[str] = set()
    while not failed.issuperset(files.wanted(folder)) and time.monotonic() < end:
        try:
            with files.opened(folder) as own, own.locked(files.LOCK, 0), _busy(folder):
                files.sweep(home, folder)
                for name in _in_order(files.wanted(folder)):
                    wish = files.take(folder, name)
                    if not wish or _do(home, folder, name, wish, end):
                        files.done(folder, name)
                    else:
                        failed.add(name)
        except TimeoutError:
            return  # the one that is at work looks again before it ends
        except OSError as error:
            files.note(home, f"worker: {session}: {error.strerror}")
            return


@contextlib.contextmanager
def _busy(folder: Path) -> Iterator[None]:
    """A mark that hooks can see without asking for the lock."""
    mark = folder / files.BUSY
    files.put(mark, b"")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            mark.unlink()


_ORDER = ("start", "pre_compact", "post_compact", "stop", "end")


def _in_order(names: list[str]) -> list[str]:
    return sorted(names, key=lambda n: (_ORDER.index(n) if n in _ORDER else len(_ORDER), n))


def _do(home: Path, folder: Path, name: str, wish: dict[str, Any], end: float) -> bool:
    """Whether a wish was seen to. One that the disk stood in the way of (full, say) stays for
    the next worker."""
    began = time.monotonic()
    seen = True
    try:
        done = _Work(home, folder, wish, end).do(name)
    except Exception as error:  # noqa: BLE001 - the next wish is not to suffer from it
        done = f"failed: {type(error).__name__}: {error}"
        seen = not isinstance(error, OSError) and not isinstance(error.__cause__, OSError)
    took = time.monotonic() - began
    files.note(home, Redactor().text(f"worker: {name} {folder.name} {took:.2f} s {done}"))
    return seen


class _Work:
    """One wish."""

    def __init__(self, home: Path, folder: Path, wish: dict[str, Any], end: float) -> None:
        self.home, self.folder, self.wish, self.end = home, folder, wish, end
        self.project = Path(str(wish.get("project") or home.parent))
        self.transcript = str(wish.get("transcript") or "")
        self.kept = KeptPass(folder)
        self.watch = files.load(folder / files.WATCH)

    def do(self, name: str) -> str:
        """Does what the wish of that name is for; says what was done."""
        settings = self._settings()
        if name == "start":
            self._write_watch(settings, None)
        if not self.transcript or not Path(self.transcript).exists():
            return "no transcript yet"
        self._read_on()
        size = Path(parts_of(self.transcript)[0]).stat().st_size
        if name in ("start", "stop", "end") and self.watch.get("size") == size:
            if name == "end":
                self._clean(settings)
            return "nothing new"
        if name in ("start", "stop") and not self._due():
            return "read on"
        began = time.monotonic()
        # Placeholders instead of secrets: everything that is made of it is redacted anyway.
        summary = self.kept.summary(self.transcript, exact=False)
        lost = self._lost(name, summary)
        where = self._log(settings, summary, name)
        told = briefing(summary, where=where, lost=lost)
        files.keep(self.folder / files.BRIEFING, told.encode("utf-8", "replace"))
        if name == "pre_compact":
            self._checkpoint(settings, summary)
        if name == "end":
            self._clean(settings)
        self.watch["cost"], self.watch["at"] = time.monotonic() - began, time.time()
        self.watch["size"] = size
        self._write_watch(settings, summary)
        return "summarised"

    def _settings(self) -> Settings:
        from platformdirs import user_config_path

        user = user_config_path("leftoff", appauthor=False)
        try:
            return load(environ=os.environ, project=self.project, user=user).settings
        except LeftoffError as error:
            files.note(self.home, Redactor().text(f"worker: {error}; defaults are used"))
            return Settings()

    def _read_on(self) -> None:
        """Reads what is new. A recording that cannot be read on is read whole each time."""
        main, _ = parts_of(self.transcript)
        stop: Callable[[], bool] = lambda: time.monotonic() > self.end  # noqa: E731
        try:
            self.kept.read_on(main, stop=stop)
        except LeftoffError as error:
            files.note(self.home, Redactor().text(f"worker: {error}"))

    def _due(self) -> bool:
        """Whether a summary after a turn is worth its time."""
        cost, at = self.watch.get("cost"), self.watch.get("at")
        if not isinstance(cost, float) or not isinstance(at, float):
            return True
        # A time in the future is that of a clock that was set back since.
        return cost < 1 or not 0 <= time.time() - at <= SHARE * cost

    def _write_watch(self, settings: Settings, summary: ContextSummary | None) -> None:
        """What the hook has to know of window and thresholds."""
        preset = settings.watched()
        self.watch["preset"] = codec.plain(preset)
        self.watch["lowest"] = min((t.at for t in preset.thresholds), default=1.0)
        if summary is not None:
            usable = summary.context.usable_window
            if settings.windows:  # rows that the summary itself does not know
                from leftoff.budget.windows import fit

                context = summary.context
                models = summary.session.models
                window = fit(
                    models[-1] if models else "",
                    peak=context.occupancy or 0,
                    format=summary.session.format,
                    version=summary.session.agent_version,
                    more=settings.windows,
                )
                usable = window.window - window.reserve if window else usable
            self.watch["usable"] = usable
        files.keep(self.folder / files.WATCH, codec.dumps(self.watch))

    # -- documents -------------------------------------------------------------------------

    def _lost(self, name: str, summary: ContextSummary) -> list[str]:
        """What the last compaction lost, as far as the recorder told what it kept."""
        place = self.folder / files.LOST
        if name == "pre_compact":
            with contextlib.suppress(OSError):
                place.unlink()
            return []
        recorded = self.wish.get("summary")
        if name == "post_compact" and not recorded:
            recorded = self._recorded()
        if name == "post_compact" and isinstance(recorded, str) and recorded:
            from leftoff.evaluation.audits import compare, points

            _, missing = compare(points(summary), recorded)
            lost = Redactor().value([point.text for point in missing])
            files.keep(place, codec.dumps({"lost": lost}))
            return [point.text for point in missing]
        found = files.load(place).get("lost")
        return [text for text in found if isinstance(text, str)] if found else []

    def _recorded(self) -> str:
        """The newest summary of a compaction in the transcript; waits for it a little."""
        end = time.monotonic() + PATIENCE
        main, _ = parts_of(self.transcript)
        if Path(main).stat().st_size > LARGE:
            return ""
        while True:
            found = [m.text for m in api.read(main) if m.origin == "compaction" and m.text]
            if found or time.monotonic() > end:
                return found[-1] if found else ""
            time.sleep(0.3)

    def _log(self, settings: Settings, summary: ContextSummary, name: str) -> str:
        """Writes the resume log; the place of it, "" if logs are switched off."""
        from leftoff.handover.resume_log.document import ResumeLog
        from leftoff.live.resume_logs.generator import ResumeLogGenerator

        generator = ResumeLogGenerator(settings, project=self.project)
        if not generator.enabled:
            return ""
        log = ResumeLog.from_summary(summary, session_id=self.folder.name)
        log = replace(log, metadata={**log.metadata, "trigger": name})
        return str(generator.save_resume_log(log).absolute())

    def _checkpoint(self, settings: Settings, summary: ContextSummary) -> None:
        from leftoff.budget.tasks import TaskTokenBudget, limit_of
        from leftoff.handover.checkpoint.document import from_summary
        from leftoff.stores.files import store_for

        models = summary.session.models
        provider = models[-1] if models else summary.session.format
        total = (
            limit_of(provider, dict(settings.token_budget.provider_limits))
            or summary.context.usable_window
            or settings.context_management.budget_total
        )
        used = summary.context.occupancy
        budget = TaskTokenBudget.start(
            self.folder.name,
            provider,
            created_at=summary.session.started,
            total_allocated=total,
        ).used(summary.stats.estimated_tokens if used is None else used)
        main, _ = parts_of(self.transcript)
        small = Path(main).stat().st_size <= LARGE
        capacity: Any = next((c for c in ("98", "95") if budget.percent_used >= int(c)), "90")
        made = from_summary(
            summary,
            list(api.read(main)) if small else (),
            budget=budget,
            capacity=capacity,
            at=datetime.now(UTC),
            history_lines=settings.token_budget.context_dump.max_history_lines,
        )
        store_for(settings, self.project).save(
            "checkpoint",
            made.checkpoint_id,
            made.to_dict(),
            text=made.conversation.summary + "\n",
        )

    def _clean(self, settings: Settings) -> None:
        """Applies retention; resume logs see to theirs when one is saved."""
        from leftoff.stores.files import store_for
        from leftoff.stores.retention import Retention, prune

        days = settings.token_budget.context_dump.retention_days
        store = store_for(settings, self.project)
        prune(store, "checkpoint", Retention(days=days), now=time.time())
        for entry in os.scandir(self.home / files.STATE):
            old = time.time() - entry.stat(follow_symlinks=False).st_mtime > STATE_DAYS * 86_400
            if old and entry.is_dir(follow_symlinks=False) and entry.name != self.folder.name:
                shutil.rmtree(entry.path, ignore_errors=True)
