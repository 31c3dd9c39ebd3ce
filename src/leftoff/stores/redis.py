"""Documents in a Redis server, or one that speaks like it (`pip install 'leftoff[redis]'`).

A document is a hash `{prefix}:document:{kind}:{id}` with the fields document, text, saved and
pinned; `{prefix}:index:{kind}` is the sorted set of ids by the time of saving. Both change in
one MULTI. How much of what was acknowledged outlives the server's own end is the server's
setting (`appendonly`, `appendfsync`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from leftoff import codec
from leftoff.errors import StateError, Unsure, UsageError
from leftoff.stores.envelope import (
    RedactorFactory,
    Unsealed,
    read_header_or_none,
    redactor_for,
    reseal,
    sanitize,
    seal,
    unseal,
)
from leftoff.stores.naming import check_id, location_of
from leftoff.stores.protocol import Entry, StoredDocument

_MAX_ATTEMPTS: Final = 100
"""Attempts at a transaction while other clients change the same document. Chosen by hand;
not measured."""

T = TypeVar("T")


class RedisStore:
    """Documents in a Redis server.

    Args:
        url: redis://, rediss:// or unix://; a password in it is never shown.
        prefix: of every key.
        gate: makes the redactor for a document of a kind.
        timeout: seconds to wait for the server.
        patience: the former name of `timeout`.

    Raises:
        UsageError: the package redis is not installed, or the URL is none.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "leftoff",
        gate: RedactorFactory = redactor_for,
        timeout: float = 10.0,
        patience: float | None = None,
    ) -> None:
        try:
            import redis
        except ImportError as error:
            raise UsageError("a Redis store needs: pip install 'leftoff[redis]'") from error
        timeout = timeout if patience is None else patience
        self._redis = redis
        self._prefix = prefix
        self._gate = gate
        parts = urlsplit(url)
        self.shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        try:
            self._server: Any = redis.Redis.from_url(
                url, socket_timeout=timeout, socket_connect_timeout=timeout
            )
        except ValueError as error:
            raise UsageError(f"{self.shown}: {error}") from error

    def save(self, kind: str, id: str, document: Mapping[str, Any], *, text: str = "") -> str:
        given = sanitize(kind, document, text, self._gate)
        key, where = self._key(kind, id), self._where(kind, id)

        def change(pipe: Any) -> None:
            data, pinned = pipe.hmget(key, "document", "pinned")
            if data is not None:
                read_header_or_none(kind, data, where)
            sealed = codec.dumps(seal(kind, id, given, pinned=pinned == b"1"))
            now = time.time()
            fields = {
                "document": sealed,
                "text": given.text,
                "saved": repr(now),
                "pinned": int(pinned == b"1"),
            }
            pipe.multi()
            pipe.hset(key, mapping=fields)
            pipe.zadd(self._index(kind), {id: now})

        self._transaction(key, where, change)
        return where

    def load(self, kind: str, id: str) -> StoredDocument | None:
        key, where = self._key(kind, id), self._where(kind, id)
        with self._translate_errors(where):
            data, text = self._server.hmget(key, "document", "text")
        if data is None:
            return None
        opened = unseal(kind, data, where)
        return StoredDocument(opened.document, opened.issues, where, (text or b"").decode())

    def list(self, kind: str) -> list[Entry]:
        location_of(kind)
        with self._translate_errors(self.shown):
            found = self._server.zrange(self._index(kind), 0, -1)
            ids = [name.decode() for name in found]
            pipe = self._server.pipeline(transaction=False)
            for name in ids:
                pipe.hmget(self._key(kind, name), "document", "text", "saved", "pinned")
            rows = pipe.execute()
        entries = [
            Entry(
                name,
                self._where(kind, name),
                float(saved),
                len(data) + len(text),
                pinned == b"1",
                _unseal_or_none(kind, data) is not None,
            )
            for name, (data, text, saved, pinned) in zip(ids, rows, strict=True)
            if data is not None
        ]
        return sorted(entries, key=lambda e: (-e.saved, e.id))

    def delete(self, kind: str, id: str) -> bool:
        key, where = self._key(kind, id), self._where(kind, id)

        def change(pipe: Any) -> bool:
            there = bool(pipe.exists(key))
            pipe.multi()
            self._remove(pipe, kind, id)
            return there

        return self._transaction(key, where, change)

    def pin(self, kind: str, id: str, pinned: bool) -> bool:
        """Pins or unpins a document. False if there is none."""
        key, where = self._key(kind, id), self._where(kind, id)

        def change(pipe: Any) -> bool:
            data = pipe.hget(key, "document")
            pipe.multi()
            if data is None:
                return False
            sealed = reseal(unseal(kind, data, where), pinned=pinned)
            fields = {"document": codec.dumps(sealed), "pinned": int(pinned)}
            pipe.hset(key, mapping=fields)
            return True

        return self._transaction(key, where, change)

    def drop(self, kind: str, entry: Entry) -> bool:
        """Removes a document if it is still the one of that entry, readable and not pinned."""
        key = self._key(kind, entry.id)

        def change(pipe: Any) -> bool:
            data, saved, pinned = pipe.hmget(key, "document", "saved", "pinned")
            pipe.multi()
            same = data is not None and float(saved) == entry.saved and pinned != b"1"
            if not same or _unseal_or_none(kind, data) is None:
                return False
            self._remove(pipe, kind, entry.id)
            return True

        return self._transaction(key, entry.where, change)

    def _key(self, kind: str, id: str) -> str:
        return f"{self._prefix}:document:{kind}:{check_id(kind, id)}"

    def _index(self, kind: str) -> str:
        return f"{self._prefix}:index:{kind}"

    def _where(self, kind: str, id: str) -> str:
        return f"{self.shown}#{kind}/{id}"

    def _remove(self, pipe: Any, kind: str, id: str) -> None:
        pipe.delete(self._key(kind, id))
        pipe.zrem(self._index(kind), id)

    def _transaction(self, key: str, where: str, change: Callable[[Any], T]) -> T:
        """Runs `change` in a transaction and returns its result. `change` reads `key`, calls
        `multi` and queues commands; it runs again if another client changed the key."""
        with self._translate_errors(where), self._server.pipeline() as pipe:
            for _ in range(_MAX_ATTEMPTS):
                pipe.watch(key)
                result = change(pipe)
                try:
                    pipe.execute()
                except self._redis.WatchError:
                    continue
                except (self._redis.ConnectionError, self._redis.TimeoutError) as error:
                    raise Unsure(
                        f"{where}: the server was lost before it answered; perhaps it was done"
                    ) from error
                return result
        raise StateError(f"{where}: others keep changing it; try again")

    @contextmanager
    def _translate_errors(self, where: str) -> Iterator[None]:
        """Raises errors of the server as errors of the store."""
        try:
            yield
        except self._redis.RedisError as error:
            raise StateError(f"{where}: the Redis server failed: {error}") from error


def _unseal_or_none(kind: str, data: bytes) -> Unsealed | None:
    try:
        return unseal(kind, data, "")
    except StateError:
        return None


def open_redis(where: str, **options: Any) -> RedisStore:
    """The store at a redis://, rediss:// or unix:// URL."""
    return RedisStore(where, **options)
