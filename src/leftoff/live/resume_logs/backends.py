"""A storage backend of the caller's own, as a store of resume logs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

from leftoff.handover.resume_log.document import ResumeLog
from leftoff.redaction.redactor import Redactor
from leftoff.stores.protocol import Entry, StoredDocument


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
