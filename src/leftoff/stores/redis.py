"""Documents in a Redis server, or one that speaks like it (`pip install 'leftoff[redis]'`).

A document is a hash `{prefix}:document:{kind}:{id}` with the fields document, text, saved and
pinned; `{prefix}:index:{kind}` is the sorted set of ids by the time of saving. Both change in
one MULTI. How much of what was acknowledged outlives the server's own end is the server's
setting (`appendonly`, `appendfsync`)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from leftoff.errors import StateError, Unsure, UsageError
from leftoff.registry import imported
from leftoff.stores.atomic import LOCK_TIMEOUT
from leftoff.stores.envelope import RedactorFactory, redactor_for
from leftoff.stores.naming import check_id
from leftoff.stores.sealed import Change, Row, SealedStore

# Attempts at a transaction while other clients change the same document. Chosen by hand; not
# measured.
_MAX_ATTEMPTS: Final = 100

_FIELDS: Final = ("document", "text", "saved", "pinned")


class RedisStore(SealedStore):
    """Documents in a Redis server. `UsageError` where the package redis is not installed, or
    the URL is none.

    Args:
        url: redis://, rediss:// or unix://; a password in it is never shown.
        prefix: of every key.
        gate: makes the redactor for a document of a kind.
        timeout: seconds to wait for the server."""

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "leftoff",
        gate: RedactorFactory = redactor_for,
        timeout: float = LOCK_TIMEOUT,
    ) -> None:
        super().__init__(gate)
        self._redis = redis = imported("redis", "a Redis store needs", "redis")
        self._prefix = prefix
        parts = urlsplit(url)
        self.shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        try:
            self._server: Any = redis.Redis.from_url(
                url, socket_timeout=timeout, socket_connect_timeout=timeout
            )
        except ValueError as error:
            raise UsageError(f"{self.shown}: {error}") from error

    def _read(self, kind: str, id: str) -> Row | None:
        with self._translate_errors(self._where(kind, id)):
            return _row(self._server.hmget(self._key(kind, id), *_FIELDS))

    def _rows(self, kind: str) -> Iterator[tuple[str, Row]]:
        with self._translate_errors(self.shown):
            found = self._server.zrange(self._index(kind), 0, -1)
            ids = [name.decode() for name in found]
            # One round trip for all; each document is read as old or as new.
            pipe = self._server.pipeline(transaction=False)
            for name in ids:
                pipe.hmget(self._key(kind, name), *_FIELDS)
            rows = map(_row, pipe.execute())
        yield from ((name, row) for name, row in zip(ids, rows, strict=True) if row)

    def _change(self, kind: str, id: str, change: Change) -> Row | None:
        key, where = self._key(kind, id), self._where(kind, id)
        with self._translate_errors(where), self._server.pipeline() as pipe:
            for _ in range(_MAX_ATTEMPTS):
                # From here on a change by another client makes EXEC fail, and all is done
                # again.
                pipe.watch(key)
                row = change(before := _row(pipe.hmget(key, *_FIELDS)))
                pipe.multi()
                if row is None:
                    pipe.delete(key)
                    pipe.zrem(self._index(kind), id)
                elif isinstance(row, Row):
                    # `float` gives back exactly the number that `repr` wrote.
                    fields = {"document": row.data, "saved": repr(row.saved)}
                    text = {} if row.text is None else {"text": row.text}
                    pipe.hset(key, mapping={**fields, **text, "pinned": int(row.pinned)})
                    pipe.zadd(self._index(kind), {id: row.saved})
                try:
                    pipe.execute()
                except self._redis.WatchError:
                    continue
                except (self._redis.ConnectionError, self._redis.TimeoutError) as error:
                    raise Unsure(
                        f"{where}: the server was lost before it answered; perhaps it was done"
                    ) from error
                return before
        raise StateError(f"{where}: others keep changing it; try again")

    def _key(self, kind: str, id: str) -> str:
        return f"{self._prefix}:document:{kind}:{check_id(kind, id)}"

    def _index(self, kind: str) -> str:
        return f"{self._prefix}:index:{kind}"

    def _where(self, kind: str, id: str) -> str:
        return f"{self.shown}#{kind}/{id}"

    @contextmanager
    def _translate_errors(self, where: str) -> Iterator[None]:
        try:
            yield
        except self._redis.RedisError as error:
            raise StateError(f"{where}: the Redis server failed: {error}") from error


def _row(values: Sequence[Any]) -> Row | None:
    data, text, saved, pinned = values
    if data is None:
        return None
    size = len(data) + len(text or b"")
    return Row(data, (text or b"").decode(), float(saved), pinned == b"1", size)
