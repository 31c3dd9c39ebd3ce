"""Sessions that a client stores in several files or a database, joined into one document in the
format of its export.

opencode stores each message and each part in its own file; Kiro stores conversations in a
database. A session of the first is named by its own file (`storage/session/<project>/
ses_*.json`), one of the second by `data.sqlite3:<conversation>`."""

import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from leftoff import codec
from leftoff.errors import SourceError

_DATABASE = ".sqlite3"


class Conversation(NamedTuple):
    """One conversation in a database. `modified` in seconds since 1970."""

    id: str
    project: str
    modified: float
    size: int


def is_multi_file(path: str) -> bool:
    """Whether the path names a session that is stored in several files or a database."""
    if _split(path) is not None:
        return True
    # A look at the text comes first: this is asked of every file beside a recording.
    if "ses_" not in path:
        return False
    place = Path(path)
    return place.name.startswith("ses_") and place.parent.parent.name == "session"


def join_files(path: str) -> bytes:
    """The whole session as one JSON document. `SourceError` where a piece is missing or cannot
    be read."""
    member = _split(path)
    return _opencode(Path(path)) if member is None else _kiro(*member)


# -- opencode --------------------------------------------------------------------------------


def _opencode(path: Path) -> bytes:
    """`{info, messages[{info, parts[]}]}`, as `opencode export` prints it. The ids of messages
    and parts grow with time, so their names give the order."""
    storage = path.parent.parent.parent
    pieces: list[bytes] = []
    for message in _named(storage / "message" / path.stem):
        parts = [_content(part) for part in _named(storage / "part" / message.stem)]
        pieces.append(
            b'{"info":' + _content(message) + b',"parts":[' + b",".join(parts) + b"]}"
        )
    return b'{"info":' + _content(path) + b',"messages":[' + b",".join(pieces) + b"]}"


def _named(folder: Path) -> list[Path]:
    try:
        return sorted(folder.glob("*.json"))
    except OSError:
        return []


def _content(path: Path) -> bytes:
    """One piece as compact JSON; a damaged one as far as it goes."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe could block
            raise SourceError(f"{path}: not a regular file")
        if any(place.is_symlink() for place in (path, *list(path.parents)[:2])):
            # The client writes none; one that was planted would show any file as its words.
            raise SourceError(f"{path}: a link in a client's storage is not followed")
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error
    try:
        return codec.dumps(codec.parse(data)).rstrip()
    except ValueError:
        return b"null"


# -- Kiro ------------------------------------------------------------------------------------


def conversations(database: str) -> list[Conversation]:
    """The conversations in a database, without reading any; [] if it has no such table.

    Nothing else in the database is looked at: it holds credentials, too."""
    query = (
        "SELECT conversation_id, key, CAST(updated_at AS REAL), length(CAST(value AS BLOB)) "
        "FROM conversations_v2 ORDER BY updated_at DESC, conversation_id"
    )
    return [
        Conversation(str(name), str(key), (updated or 0.0) / 1000, size or 0)
        for name, key, updated, size in _rows(database, query)
    ]


def _kiro(database: str, conversation: str) -> bytes:
    query = "SELECT value FROM conversations_v2 WHERE conversation_id = ?"
    for (value,) in _rows(database, query, conversation):
        return value if isinstance(value, bytes) else str(value).encode()
    raise SourceError(f"{database}: holds no conversation {conversation}")


def _rows(database: str, query: str, *values: str) -> Iterator[tuple[Any, ...]]:
    import sqlite3  # for sessions of two agents only

    # Read only, and never waiting for the client that is writing.
    where = Path(database).absolute().as_uri() + "?mode=ro"
    try:
        with closing(sqlite3.connect(where, uri=True, timeout=0.5)) as connection:
            yield from connection.execute(query, values).fetchall()
    except sqlite3.Error as error:
        raise SourceError(f"{database}: {error}") from error


def _split(path: str) -> tuple[str, str] | None:
    database, mark, conversation = path.rpartition(_DATABASE + ":")
    return (database + _DATABASE, conversation) if mark and conversation else None
