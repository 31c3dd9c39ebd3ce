"""`SessionManager`: token usage of a running session, its thresholds and its resume logs."""

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from leftoff.api import create_context_summary
from leftoff.budget.forecast import Forecast, forecast
from leftoff.budget.tasks import ContextMetrics
from leftoff.budget.thresholds import Crossing, FiredThresholds, crossings
from leftoff.codec import JsonObject
from leftoff.live.resume_logs import ResumeLogGenerator
from leftoff.live.tasks import RECENT, Clock, SessionState, TaskBudgets, now
from leftoff.live.telemetry import CONTEXT_THRESHOLD, Event, logged
from leftoff.model import Usage
from leftoff.settings import Settings
from leftoff.summary import ProgressInfo

# Number of calls that are saved for the forecast.
_MAX_COUNTS = 512


class SessionSummary(Struct, frozen=True, rename="camel"):
    """A short summary of a conversation."""

    conversation_length: int
    key_decisions: tuple[str, ...]
    current_context: str
    progress_summary: str


class SessionManager(TaskBudgets):
    """Counts the tokens of one session, reports crossed thresholds and writes resume logs.

    All methods are thread-safe and may be called from coroutines. No subscriber is called while
    a lock is held.

    Args:
        path, session_id, settings, clock: see `TaskBudgets`.
        generator: makes and stores resume logs; if None, a `ResumeLogGenerator` with the same
            settings.

    Raises:
        StateError: the file at `path` is not a saved session.
        UsageError, SourceError: the settings in force here are not valid."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        session_id: str | None = None,
        settings: Settings | None = None,
        generator: Any = None,
        clock: Clock = now,
    ) -> None:
        super().__init__(path, session_id=session_id, settings=settings, clock=clock)
        self.generator: Any = (
            ResumeLogGenerator(self.settings) if generator is None else generator
        )
        self._named = session_id is not None or self._file is not None
        self._preset = self.settings.watched()

    # -- the session -----------------------------------------------------------------------

    @property
    def session_id(self) -> str:
        return self._state.session_id

    def start_session(self, session_id: str | None = None) -> Any:
        """Starts a session with zero usage; returns the latest resume log, or None."""
        with self._changing(begins=True):
            self._state = self._new_session(session_id)
            self._named = self._named or session_id is not None
        return self.load_resume_log_on_startup()

    def load_resume_log_on_startup(self) -> Any:
        """The latest resume log, or None if there is none."""
        return self.generator.get_latest_resume_log()

    def pause_session(self, session_state: JsonObject | None = None) -> Path | None:
        """Marks the session as paused and writes a resume log, whatever was used; returns its
        path, None if writing it fails, which is logged as a warning."""
        with self._changing() as state:
            state.status = "paused"
        return self._try_log("manual_pause", session_state)

    def resume_session(self) -> Any:
        """Marks the session as active again; returns the latest resume log, or None."""
        with self._changing() as state:
            state.status = "active"
        return self.load_resume_log_on_startup()

    def end_session(self, session_state: JsonObject | None = None) -> Path | None:
        """Marks the session as ended; writes a resume log if a threshold was reached and no
        log has been written since the last call."""
        with self._changing() as state:
            state.status = "ended"
            needed = bool(state.armed.fired) and state.unlogged
        return self._try_log("session_end", session_state) if needed else None

    def summarize_context(self, conversation_history: Iterable[object]) -> SessionSummary:
        """Summarises a conversation: length, key decisions, text form and progress."""
        summary = create_context_summary(conversation_history)
        return SessionSummary(
            summary.stats.message_count,
            tuple(d.text for d in summary.key_decisions),
            summary.formatted,
            progress_words(summary.progress),
        )

    def take_id(self, session_id: str) -> bool:
        """Gives the session this id, if its own was made from the time and nothing is counted
        yet; returns whether."""
        with self._lock:
            if self._named or self._state.basis:
                return False
            self._named = True
            with self._changing() as state:
                state.session_id = session_id
            return True

    # -- tokens ----------------------------------------------------------------------------

    def update_token_usage(
        self,
        input_tokens: int,
        output_tokens: int,
        stop_reason: str = "end_turn",
        *,
        cache_read_tokens: int | None = None,
        cache_creation_tokens: int | None = None,
        message_id: str | None = None,
        model: str | None = None,
        task_id: str | None = None,
        provider: str | None = None,
    ) -> tuple[Crossing, ...]:
        """Counts an API call; returns the session's thresholds that it crossed.

        With only the first three arguments, the tokens of all calls are added up (basis `sum`).
        With a cache count or a message id, the tokens of a call are what the window holds after
        it (basis `occupancy`). The first call decides the basis of the session. A response that
        is reported several times is counted once, with its largest usage.

        Args:
            input_tokens: without tokens read from or written to the cache.
            task_id: also counts the call for this task, with `provider` or the task's present
                provider."""
        counts = input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens
        usage = Usage(*map(token_count, counts))
        with self._changing() as state:
            extra = (cache_read_tokens, cache_creation_tokens, message_id)
            if not state.basis:
                state.basis = "sum" if all(e is None for e in extra) else "occupancy"
            before = state.calls.pop(message_id, None) if message_id else None
            known = before or Usage()
            usage = max(known, usage, key=lambda one: one.total)
            more = usage.total - known.total
            state.spent = state.spent + usage - known
            if message_id:
                state.calls[message_id] = usage
                if len(state.calls) > RECENT:
                    del state.calls[next(iter(state.calls))]
            state.stop_reason = stop_reason
            state.model = model or state.model
            state.unlogged = True
            if usage.total:
                state.used = state.used + more if state.basis == "sum" else usage.total
                if before is None:
                    state.counts = [*state.counts, state.used][-_MAX_COUNTS:]
                elif state.counts:
                    state.counts[-1] = state.used
            reached = self._reached(state)
            if task_id is not None:
                self._task_used(state, task_id, provider, usage.total, more)
            reasons = self._reasons(state, reached)
        for reason in reasons:
            self._try_log(reason, None)
        return reached

    def _reached(self, state: SessionState) -> tuple[Crossing, ...]:
        management = self.settings.context_management
        if not management.enabled:
            return ()
        peak = state.armed.peak
        reached, state.armed = crossings(
            self._preset, state.armed, state.used, management.budget_total
        )
        if state.armed.peak < peak:  # a compaction that was not announced
            state.logged_for, state.counts = (), state.counts[-1:]
        for crossing in reached:
            fields = {
                "session_id": state.session_id,
                "used": crossing.used,
                "remaining": crossing.remaining,
                "percent": round(crossing.percent, 2),
                "threshold": crossing.threshold.at,
            }
            line = crossing.words(crossing.threshold.logs)
            self._channel.put(Event(CONTEXT_THRESHOLD, fields, crossing, line=line))
        return reached

    def _reasons(self, state: SessionState, reached: tuple[Crossing, ...]) -> list[str]:
        """The reasons to write a resume log now; each counts once between compactions."""
        management = self.settings.context_management
        logs = management.resume_logs
        if not (management.enabled and logs.enabled and logs.auto_generate):
            return []
        reasons = [
            f"threshold_{c.threshold.name}" for c in reached if c.threshold.does == "resume_log"
        ]
        if state.stop_reason in {"max_tokens", "model_context_window_exceeded"}:
            reasons.append(state.stop_reason)
        allowed: tuple[str, ...] = logs.triggers
        new = [r for r in reasons if r in allowed and r not in state.logged_for]
        state.logged_for += tuple(new)
        return new[:1]  # one log covers all reasons

    def note_compaction(self, task_id: str | None = None) -> None:
        """Notes a compaction of the conversation: every threshold is armed again; with
        `task_id`, only those of this task and its present provider."""
        if task_id is not None:
            self.empty_task(task_id)
            return
        with self._changing() as state:
            state.armed, state.used, state.counts = FiredThresholds(), 0, []
            state.logged_for = ()

    def should_warn_context_limit(self, threshold: float = 0.70) -> bool:
        """Whether the used share of the budget has reached `threshold`."""
        with self._lock:
            total = self.settings.context_management.budget_total
            return self._state.used >= (threshold - 1e-9) * total

    def get_context_metrics(self) -> JsonObject:
        """The fields of `ContextMetrics` as a dict, with `basis` (sum | occupancy)."""
        with self._lock:
            return {**self.context_metrics().to_dict(), "basis": self._state.basis or "sum"}

    def context_metrics(self) -> ContextMetrics:
        """Usage of the session's budget as of the last change."""
        with self._lock:
            state = self._state
            return ContextMetrics.of(
                self.settings.context_management.budget_total,
                state.used,
                state.stop_reason or "end_turn",
                model=state.model,
                timestamp=state.updated or state.started,
            )

    @property
    def spent(self) -> Usage:
        """Tokens spent, over distinct API calls."""
        return self._state.spent

    def forecast(self) -> Forecast | None:
        """Calls and tokens left of the session's budget; None if too few calls are known."""
        with self._lock:
            return forecast(self._state.counts, self.settings.context_management.budget_total)

    # -- resume logs -----------------------------------------------------------------------

    def generate_resume_log(self, session_state: JsonObject | None = None) -> Path | None:
        """Writes a resume log of the session; None if settings or generator disable it.

        Args:
            session_state: the content; by default the session's metrics and tasks. Without
                `context_metrics`, those of the session."""
        generator = self.generator
        if not self.settings.context_management.resume_logs.enabled or not generator.enabled:
            return None
        with self._lock:
            state = self._state
            session_id, reason = state.session_id, state.stop_reason
            known = dict(session_state or {})
            if session_state is None:
                spent, tasks = asdict(state.spent), sorted(state.tasks)
                known["metadata"] = {"started": state.started, "tasks": tasks, "spent": spent}
            metrics = self.context_metrics().to_dict()
            known["context_metrics"] = known.get("context_metrics") or metrics
        log = generator.generate_from_session_state(
            session_id=session_id, session_state=known, stop_reason=reason or "end_turn"
        )
        where: Path = generator.save_resume_log(log)
        with self._changing() as state:
            state.unlogged = False
        return where

    def _try_log(self, reason: str, session_state: JsonObject | None) -> Path | None:
        """Writes a resume log; a failure is logged and not raised: it gives None."""
        # A log that fails must not end the session.
        with logged("no resume log (%s): %s", reason, errors=(Exception,)):
            return self.generate_resume_log(session_state)


def token_count(value: object) -> int:
    """A token count; 0 for anything that is not a finite non-negative number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 <= value < float("inf") else 0


def progress_words(progress: ProgressInfo) -> str:
    """How far a conversation got, in one line."""
    parts = []
    if progress.current_stage:
        parts.append(f"Stage: {progress.current_stage}")
    if progress.completed_stages:
        parts.append("completed: " + ", ".join(progress.completed_stages))
    if progress.progress_percentage is not None:
        parts.append(f"{progress.progress_percentage}%")
    return "; ".join(parts)


_managers: dict[str, SessionManager] = {}
_managers_lock = threading.Lock()


def get_session_manager(session_id: str = "") -> SessionManager:
    """The session manager of this process, made when first asked for, in memory: that of a
    session, if one is named. The first session that is named is that of the process; every
    other one has a manager of its own."""
    with _managers_lock:
        found = _managers.get(session_id) or _managers.get("")
        if found is None or (session_id and found.session_id != session_id):
            if found is None or not found.take_id(session_id):
                found = SessionManager(session_id=session_id or None)
            _managers.setdefault("", found)
        return _managers.setdefault(session_id, found)
