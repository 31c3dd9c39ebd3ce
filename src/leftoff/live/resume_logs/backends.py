"""Adapters for the storage of resume logs: a leftoff store, or a `StorageBackend` of the
caller's own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from leftoff.errors import UsageError
from leftoff.handover.resume_log.document import KIND, ResumeLog
from leftoff.live.telemetry import logger
from leftoff.redaction.redactor import Redactor
from leftoff.stores.protocol import Entry, Store
from leftoff.stores.retention import Retention, pin, prune


class StorageBackend(Protocol):
    """A storage backend of the caller's own."""

    def save(self, resume_log: ResumeLog) -> str:
        """Stores a log; returns its identifier."""
        ...

    def load(self, identifier: str) -> ResumeLog | None:
        """The log of that identifier, or None."""
        ...

    def list(self) -> list[str]:
        """Every identifier."""
        ...

    def delete(self, identifier: str) -> bool:
        """Removes a log; False if there is none."""
        ...


class LogStorage(Protocol):
    """The storage interface that the generator uses."""

    def save(self, log: ResumeLog, page_tokens: int | None) -> str: ...

    def load(self, id: str) -> ResumeLog | None: ...

    def list(self) -> list[Entry]: ...

    def delete(self, id: str) -> bool: ...

    def pin(self, id: str, *, pinned: bool) -> bool: ...

    def prune(
        self, retention: Retention, now: datetime, *, dry_run: bool, spare: str = ""
    ) -> Sequence[str]: ...


class StoreLogStorage:
    """Stores logs in a leftoff store, by session id.

    Args:
        older: stores of other programs; they are read, never written.
    """

    def __init__(self, store: Store, older: Sequence[Store] = ()) -> None:
        self.store = store
        self.older = tuple(older)

    def save(self, log: ResumeLog, page_tokens: int | None) -> str:
        """Stores a log, with its markdown unless `page_tokens` is None; returns its place."""
        text = "" if page_tokens is None else log.to_markdown(page_tokens)
        where = self.store.save(KIND, log.session_id, log.to_dict(), text=text)
        page = where.removesuffix(".gz").removesuffix(".json") + ".md"
        return (
            page if text and "://" not in where and where.endswith((".json", ".gz")) else where
        )

    def load(self, id: str) -> ResumeLog | None:
        found = (store.load(KIND, id) for store in (self.store, *self.older))
        stored = next((document for document in found if document is not None), None)
        if stored is None:
            return None
        for issue in stored.issues:
            logger.warning("resume log %s: %s", id, issue.what)
        return ResumeLog.from_dict(stored.document)

    def list(self) -> list[Entry]:
        entries = self.store.list(KIND)
        known = {entry.id for entry in entries}
        for store in self.older:
            entries += [entry for entry in store.list(KIND) if entry.id not in known]
        return sorted(entries, key=lambda entry: (-entry.saved, entry.id))

    def delete(self, id: str) -> bool:
        return self.store.delete(KIND, id)

    def pin(self, id: str, *, pinned: bool) -> bool:
        return pin(self.store, KIND, id, pinned)

    def prune(
        self, retention: Retention, now: datetime, *, dry_run: bool, spare: str = ""
    ) -> Sequence[str]:
        when = now.timestamp()
        done = prune(self.store, KIND, retention, now=when, dry_run=dry_run, spare=spare)
        return [entry.where for entry in done.removed]


class BackendLogStorage:
    """Stores logs, redacted, in a backend of the caller's own."""

    def __init__(self, backend: StorageBackend) -> None:
        self.backend = backend

    def save(self, log: ResumeLog, page_tokens: int | None) -> str:
        """Stores a log; the backend chooses its form."""
        return str(self.backend.save(ResumeLog.from_dict(Redactor().value(log.to_dict()))))

    def load(self, id: str) -> ResumeLog | None:
        found = self.backend.load(id)
        if found is not None:
            return found
        for name in self.backend.list():
            log = self.backend.load(name)
            if log is not None and log.session_id == id:
                return log
        return None

    def list(self) -> list[Entry]:
        """The logs in the reverse order of the backend, without times and sizes."""
        return [Entry(name, name, 0.0, 0) for name in reversed(self.backend.list())]

    def delete(self, id: str) -> bool:
        return bool(self.backend.delete(id))

    def pin(self, id: str, *, pinned: bool) -> bool:
        raise UsageError(f"{type(self.backend).__name__} cannot pin documents")

    def prune(
        self, retention: Retention, now: datetime, *, dry_run: bool, spare: str = ""
    ) -> Sequence[str]:
        """Applies `keep` alone: a backend does not say when a log was saved."""
        keep = retention.keep
        if keep is None or retention.days is not None:
            return []
        old = [entry.id for entry in self.list()[keep:]]
        return [name for name in old if dry_run or self.backend.delete(name)]
