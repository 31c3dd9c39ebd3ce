"""`ResumeLogGenerator` of seed 000: makes and stores resume logs, and decides when."""

import inspect
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Protocol, cast, get_args

from msgspec.structs import replace

from leftoff.budget.tasks import ContextMetrics
from leftoff.codec import JsonObject
from leftoff.errors import LeftoffError, UnknownName, UsageError
from leftoff.handover.resume_log.document import KIND, OwnSection, ResumeLog
from leftoff.live.tasks import Clock, now
from leftoff.live.telemetry import error_words, logged, logger
from leftoff.redaction.redactor import Redactor
from leftoff.settings import ResumeLogs, Settings, Trigger, from_mapping, load_here
from leftoff.stores.files import stores_for
from leftoff.stores.protocol import Entry, Store, StoredDocument, list_together, load_first
from leftoff.stores.retention import Retention, pin, prune
from leftoff.summary import ContextSummary

# The triggers that settings may name.
BUILT_IN: tuple[str, ...] = get_args(Trigger)
# The folder of claude-mpm's logs (seed 000).
CLAUDE_MPM_FOLDER = ".claude-mpm/resume-logs"
_LEVELS = {"threshold_warning": "warning", "threshold_critical": "critical"}


class SectionProvider(Protocol):
    """Adds a custom section to every log."""

    def get_section_name(self) -> str:
        """The heading."""
        ...

    def get_token_budget(self) -> int:
        """Its token budget, of 10,000; the other sections shrink for it."""
        ...

    def generate_content(self, session_state: JsonObject) -> str:
        """Its markdown."""
        ...


class TriggerCondition(Protocol):
    """A custom condition for writing a log."""

    def should_trigger(
        self, context_metrics: ContextMetrics, session_state: JsonObject
    ) -> bool:
        """Whether a log should be written now."""
        ...


class StorageBackend(Protocol):
    """A storage backend of the caller's own: `save` returns an identifier, `load` takes one,
    `list` gives all, `delete` says whether there was such a log."""

    def save(self, resume_log: ResumeLog) -> str: ...
    def load(self, identifier: str) -> ResumeLog | None: ...
    def list(self) -> list[str]: ...
    def delete(self, identifier: str) -> bool: ...


class BackendStore:
    """The resume logs of a backend, in the reverse order of its list and without times, so
    that retention removes none for its age. What is saved is redacted."""

    def __init__(self, backend: StorageBackend) -> None:
        self.backend = backend

    def save(
        self, kind: str, id: str, document: Mapping[str, object], *, text: str = ""
    ) -> str:
        log = ResumeLog.from_dict(Redactor().value(dict(document)))
        return str(self.backend.save(log))

    def load(self, kind: str, id: str) -> StoredDocument | None:
        log = self.backend.load(id)
        if log is None:  # perhaps it has identifiers of its own
            logs = (self.backend.load(name) for name in self.backend.list())
            log = next((found for found in logs if found and found.session_id == id), None)
        return None if log is None else StoredDocument(log.to_dict(), (), id)

    def list(self, kind: str) -> list[Entry]:
        return [Entry(name, name, math.inf, 0) for name in reversed(self.backend.list())]

    def delete(self, kind: str, id: str) -> bool:
        return bool(self.backend.delete(id))


class ResumeLogGenerator:
    """Makes and stores resume logs.

    Args:
        config: `Settings`, or the seed's tree: that of a settings file, its
            `context_management`, or its `resume_logs`; those in force in `project`
            (`load_here`) if None.
        store: stores the logs; if None, files in the place that the settings name.
        project: the folder for relative paths in the settings.
        clock: returns the current time, with its zone.

    Raises:
        UsageError: a key of `config` does not exist, or a value is not valid."""

    def __init__(
        self,
        config: Mapping[str, object] | Settings | None = None,
        *,
        store: Store | None = None,
        project: str | Path = ".",
        clock: Clock = now,
    ) -> None:
        if config is None:
            config = load_here(project=project).settings
        self.settings = config if isinstance(config, Settings) else _settings(config)
        self._clock = clock
        self._stores: tuple[Store, ...] = (
            (store,) if store else stores_for(self.settings, project, KIND, CLAUDE_MPM_FOLDER)
        )
        self._providers: list[SectionProvider] = []
        self._conditions: list[TriggerCondition] = []
        self.removed: tuple[Path, ...] = ()

    @property
    def options(self) -> ResumeLogs:
        """The settings of resume logs."""
        return self.settings.context_management.resume_logs

    @property
    def enabled(self) -> bool:
        """Whether logs are made at all."""
        return self.options.enabled

    @property
    def max_tokens(self) -> int:
        """Token budget of a log's markdown."""
        return self.options.max_tokens

    # -- extending -----------------------------------------------------------------------------

    def register_section_provider(self, provider: SectionProvider) -> None:
        """Adds a section to every later log."""
        self._providers.append(provider)

    def register_trigger(self, condition: TriggerCondition) -> None:
        """Adds a condition to `should_generate`."""
        self._conditions.append(condition)

    def set_storage_backend(self, backend: StorageBackend | Store) -> None:
        """Sets where logs are stored: a leftoff store, or a `StorageBackend`.

        Raises:
            UsageError: a method is missing."""
        names = ("save", "load", "list", "delete")
        missing = [n for n in names if not callable(getattr(backend, n, None))]
        if missing:
            name = type(backend).__name__
            raise UsageError(f"{name} is no storage backend: it has no {missing[0]}()")
        # The seed's `save` takes a log, a store's kind and id besides.
        given = inspect.signature(backend.save).parameters.values()
        positional = (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )
        simple = sum(p.default is p.empty and p.kind in positional for p in given) <= 1
        store: object = BackendStore(cast("StorageBackend", backend)) if simple else backend
        self._stores = (cast("Store", store),)

    # -- making --------------------------------------------------------------------------------

    def generate_from_session_state(
        self,
        session_id: str,
        session_state: JsonObject,
        stop_reason: str = "end_turn",
        *,
        trigger: str = "",
    ) -> ResumeLog:
        """A log of a session state: the keys of a log's JSON, all of them optional; other keys
        go into its metadata. `trigger`, why it is made, is by default the stop reason, if that
        is one.

        Raises:
            StateError: a value has the wrong type."""
        when = self._clock().isoformat()
        log = ResumeLog.from_session_state(
            session_id, session_state, stop_reason, timestamp=when
        )
        reason = stop_reason if stop_reason in BUILT_IN else ""
        return self._finish(log, session_state, trigger or reason)

    def generate_from_todo_list(
        self,
        session_id: str,
        todos: Iterable[Mapping[str, object]],
        context_metrics: ContextMetrics,
    ) -> ResumeLog:
        """A log of a to-do list: completed items are accomplishments, the others next steps.
        Metrics without a time get that of the clock."""
        listed = list(todos)
        if not context_metrics.timestamp:
            when = self._clock().isoformat()
            context_metrics = replace(context_metrics, timestamp=when)
        log = ResumeLog.from_todo_list(session_id, listed, context_metrics)
        return self._finish(log, {"todos": listed}, "")

    def generate_from_summary(
        self, summary: ContextSummary, *, session_id: str = "", trigger: str = "manual"
    ) -> ResumeLog:
        """A log of a summary."""
        log = ResumeLog.from_summary(summary, session_id=session_id)
        return self._finish(log, log.to_dict(), trigger)

    def _finish(self, log: ResumeLog, state: JsonObject, trigger: str) -> ResumeLog:
        """Adds the providers' sections and the trigger. If a provider fails, only its section
        is missing."""
        sections: list[OwnSection] = []
        failed: list[str] = []
        for provider in self._providers:
            name = type(provider).__name__
            try:
                name = str(provider.get_section_name())
                budget = max(0, int(provider.get_token_budget()))
                content = str(provider.generate_content(state))
                sections.append(OwnSection(name, budget, content))
            except Exception as error:  # noqa: BLE001 - custom code may raise anything
                words = error_words(error)
                logger.warning("resume log: no section %r (%s)", name, words)
                failed.append(f"{name}: {words}")
        more = {"trigger": trigger, "failed_sections": failed}
        metadata = {**log.metadata, **{name: value for name, value in more.items() if value}}
        return replace(log, metadata=metadata, sections=tuple(sections))

    def should_generate(
        self,
        context_metrics: ContextMetrics,
        trigger: str = "",
        session_state: JsonObject | None = None,
    ) -> bool:
        """Whether a log should be written now, at one of the events `BUILT_IN`, or "" to check
        only the registered conditions. A threshold counts only if the metrics have reached
        it."""
        options = self.options
        if not options.enabled:
            return False
        if trigger in options.triggers and (options.auto_generate or trigger == "manual_pause"):
            level = _LEVELS.get(trigger)
            shares = self.settings.context_management.thresholds
            share = getattr(shares, level) if level else 0.0
            if level is None or context_metrics.percentage_used >= 100 * share - 1e-9:
                return True
        for condition in self._conditions if options.auto_generate else ():
            name = type(condition).__name__
            with logged("resume log: %s failed (%s)", name, errors=(Exception,)):
                if condition.should_trigger(context_metrics, session_state or {}):
                    return True
        return False

    # -- keeping -------------------------------------------------------------------------------

    def save_resume_log(self, resume_log: ResumeLog) -> Path:
        """Stores a log, redacted: JSON, and markdown beside it unless the format is `json`.

        If the settings say so, the oldest logs are removed.

        Returns:
            the path of the markdown if there is one, else of the JSON; for a store without
            files, its name of the log.

        Raises:
            NotPlainName: the session's id is not one safe path component.
            StateError: it cannot be stored; an older log of the session stays."""
        with_page = self.options.format == "markdown"
        text = resume_log.to_markdown(self.max_tokens) if with_page else ""
        session = resume_log.session_id
        where = self._stores[0].save(KIND, session, resume_log.to_dict(), text=text)
        if text and "://" not in where and where.endswith((".json", ".gz")):
            where = where.removesuffix(".gz").removesuffix(".json") + ".md"
        cleanup = self.options.cleanup
        self.removed = ()
        if cleanup.enabled and cleanup.auto_cleanup:
            with logged("resume logs: no clean-up (%s)"):
                # After the clock was set back, this log may look like the oldest.
                removed = self.cleanup_old_logs(cleanup.keep_count, spare=session)
                self.removed = tuple(removed)
        return Path(where)

    def load_resume_log(self, session_id: str) -> ResumeLog | None:
        """The log of a session; None if there is none. If it is damaged, its backup is loaded
        and a warning is logged.

        Raises:
            StateError: the log and its backup are damaged."""
        stored = load_first(self._stores, KIND, session_id)
        for issue in stored.issues if stored else ():
            logger.warning("resume log %s: %s", session_id, issue.what)
        return None if stored is None else ResumeLog.from_dict(stored.document)

    def list_resume_logs(self) -> list[tuple[str, Path]]:
        """The session id and path of every log, newest first."""
        return [(entry.id, Path(entry.where)) for entry in self.entries()]

    def entries(self) -> list[Entry]:
        """Every log with when it was saved, its size, and whether it is pinned or damaged;
        newest first."""
        return list_together(self._stores, KIND)

    def pin_resume_log(self, session_id: str, *, pinned: bool = True) -> None:
        """Pins a log, which protects it from retention, or unpins it.

        Raises:
            UnknownName: there is no such log.
            UsageError: the backend does not support it."""
        if not pin(self._stores[0], KIND, session_id, pinned):
            raise UnknownName("resume log", session_id, [e.id for e in self.entries()])

    def get_latest_resume_log(self) -> ResumeLog | None:
        """The newest log that can be read, None if there is none."""
        for entry in self.entries():
            with logged("resume log %s: %s", entry.id):
                if log := self.load_resume_log(entry.id):
                    return log
        return None

    def cleanup_old_logs(
        self,
        keep_count: int = 10,
        *,
        days: float | None = None,
        dry_run: bool = False,
        spare: str = "",
    ) -> list[Path]:
        """Removes all but the newest logs, and those saved within `days`; pinned ones and that
        of the session `spare` stay. Returns those that were removed, or with `dry_run` would
        be."""
        retention = Retention(keep=keep_count, days=days)
        store, now = self._stores[0], self._clock().timestamp()
        done = prune(store, KIND, retention, now=now, dry_run=dry_run, spare=spare)
        return [Path(entry.where) for entry in done.removed]

    def get_stats(self) -> JsonObject:
        """`count`, `bytes`, `oldest` and `newest` (ISO 8601, None if there are none), and
        `by_trigger`: how many logs were made for which reason."""
        entries = self.entries()
        reasons: Counter[str] = Counter()
        for entry in entries:
            try:
                if log := self.load_resume_log(entry.id):
                    reasons[str(log.metadata.get("trigger") or "manual")] += 1
            except LeftoffError:
                reasons["unreadable"] += 1
        zone = self._clock().tzinfo
        known = [e.saved for e in entries if e.saved < math.inf]
        times = [datetime.fromtimestamp(saved, zone).isoformat() for saved in known]
        return {
            "count": len(entries),
            "bytes": sum(e.size for e in entries),
            "oldest": times[-1] if times else None,
            "newest": times[0] if times else None,
            "by_trigger": dict(sorted(reasons.items())),
        }


def _settings(config: Mapping[str, object]) -> Settings:
    """Settings from the whole tree, `context_management`, or `resume_logs` alone."""
    tree: Mapping[str, object] = config
    if "resume_logs" in config or "budget_total" in config or "thresholds" in config:
        tree = {"context_management": config}
    elif config and set(config) <= set(ResumeLogs.__struct_fields__):
        tree = {"context_management": {"resume_logs": config}}
    return from_mapping(tree).settings
