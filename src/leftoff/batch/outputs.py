"""Writers of the tables: JSON lines (plain, .gz, .zst), Parquet, SQLite; files or fsspec URLs.

An output is replaced atomically: it is written to a temporary file and renamed.
JSON lines and Parquet hold one table in each file: `out.parquet` the sessions,
`out.decisions.parquet` the decisions, and so on. A SQLite file holds all.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import msgspec

from leftoff import codec
from leftoff.batch.files import filesystem, is_url
from leftoff.batch.rows import TABLES, TIME_COLUMNS
from leftoff.errors import SourceError, UsageError
from leftoff.stores.atomic import Directory, NotSynced, file_stamp

# Bytes of JSON after which a row group of a Parquet file is written.
ROW_GROUP = 16 << 20


def _kind_of(where: str) -> tuple[str, str, WriterFactory]:
    for ending, (kind, maker) in _KINDS.items():
        if where.endswith(ending):
            return ending, kind, maker
    raise UsageError(f"{where}: an output's name ends in one of {', '.join(_KINDS)}")


def output_kind(where: str) -> str:
    """The kind of an output by the suffix of its name; `UsageError` where nothing is known that
    ends so."""
    return _kind_of(where)[1]


def output_files(where: str) -> list[str]:
    """The files that an output is made of, sessions first."""
    ending, kind, _ = _kind_of(where)
    stem = where.removesuffix(ending)
    others = [f"{stem}.{table}{ending}" for table in list(TABLES)[1:]]
    return [where] if kind == "sqlite" else [where, *others]


def check(where: str) -> None:
    """Checks that an output can be written, before any work is done for it.

    Raises:
        UsageError: its kind is not known, or what it needs is not installed.
        SourceError: its folder does not exist.
    """
    kind = output_kind(where)
    if is_url(where):
        filesystem(where)
    else:
        folder = Path(where).parent
        if not folder.is_dir():
            raise SourceError(f"{where}: there is no folder {folder}")
        if Path(where).is_dir():
            raise SourceError(f"{where}: is a folder")
    if kind == "parquet":
        _arrow()
    elif where.endswith(".zst"):
        _zstd()


def write(where: str, rows: Iterable[Sequence[bytes]]) -> None:
    """Writes an output whole, from the tables of each job.

    Raises:
        SourceError: it cannot be written; what was there before stays.
    """
    try:
        with ExitStack() as stack:
            places = [stack.enter_context(_place(path)) for path in output_files(where)]
            with _kind_of(where)[2](places) as add:
                for tables in rows:
                    add(tables)
    except NotSynced as error:
        why = f"written, but not certain to stay ({error.strerror})"
        raise SourceError(f"{where}: {why}") from error
    except (OSError, sqlite3.Error) as error:
        raise SourceError(f"{where}: cannot be written ({error})") from error


@contextmanager
def _place(path: str) -> Iterator[str]:
    """A temporary path to write to; it replaces `path` when the block ends."""
    if is_url(path):
        import tempfile

        system, inner = filesystem(path)
        descriptor, here = tempfile.mkstemp(prefix="leftoff-")
        os.close(descriptor)
        try:
            yield here
            system.put_file(here, inner)
        finally:
            Path(here).unlink(missing_ok=True)
        return
    with Directory.open(Path(path).parent) as folder:
        folder.remove_stale_temporaries(Path(path).name)
        with folder.replacement_path(Path(path).name) as waiting:
            yield str(waiting)
        folder.fsync()


AddRows = Callable[[Sequence[bytes]], None]
WriterFactory = Callable[[Sequence[str]], Any]


# -- JSON lines ------------------------------------------------------------------------------


def _lines(packed: Callable[[ExitStack, IO[bytes]], IO[bytes]]) -> WriterFactory:
    @contextmanager
    def writer(places: Sequence[str]) -> Iterator[AddRows]:
        with ExitStack() as stack:
            raw = [stack.enter_context(open(path, "wb")) for path in places]  # noqa: PTH123
            files = [packed(stack, file) for file in raw]

            def add(tables: Sequence[bytes]) -> None:
                for file, data in zip(files, tables, strict=True):
                    if data:
                        file.write(data)

            yield add

    return writer


def _gzip(stack: ExitStack, raw: IO[bytes]) -> IO[bytes]:
    # No name and no time in the header: the same rows are the same bytes.
    file = gzip.GzipFile("", "wb", 6, raw, mtime=0)
    stack.callback(file.close)
    return stack.enter_context(io.BufferedWriter(file, 1 << 20))


def _zstandard(stack: ExitStack, raw: IO[bytes]) -> IO[bytes]:
    packer = _zstd().ZstdCompressor(level=3)
    return stack.enter_context(packer.stream_writer(raw))


def _zstd() -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise UsageError("an output in .zst needs: pip install 'leftoff[zst]'") from error
    return zstandard


# -- Parquet ---------------------------------------------------------------------------------


def _arrow() -> Any:
    try:
        import_module("pyarrow.parquet")
    except ImportError as error:
        what = "an output in .parquet needs: pip install 'leftoff[parquet]'"
        raise UsageError(what) from error
    return import_module("pyarrow")


def columns_of(table: str) -> dict[str, str]:
    """The columns of a table with their types: text, integer, real, boolean, time, json."""
    kinds = {str: "text", int: "integer", float: "real", bool: "boolean"}
    found: dict[str, str] = {}
    for field in msgspec.structs.fields(TABLES[table]):
        options = getattr(field.type, "__args__", (field.type,))
        plain = next((kinds[o] for o in options if o in kinds), "json")
        found[field.name] = "time" if field.name in TIME_COLUMNS else plain
    return found


def arrow_schema(table: str) -> Any:
    """The schema of a table's Parquet file; times are UTC, in microseconds."""
    pa = _arrow()
    types = {
        "text": pa.string(),
        "json": pa.string(),
        "integer": pa.int64(),
        "real": pa.float64(),
        "boolean": pa.bool_(),
        "time": pa.timestamp("us"),
    }
    return pa.schema([(name, types[kind]) for name, kind in columns_of(table).items()])


@contextmanager
def _parquet(places: Sequence[str]) -> Iterator[AddRows]:
    with ExitStack() as stack:
        groups = []
        for path, table in zip(places, TABLES, strict=True):
            group = _Groups(path, table)
            stack.callback(group.writer.close)
            groups.append(group)

        def add(tables: Sequence[bytes]) -> None:
            for group, data in zip(groups, tables, strict=True):
                group.add(data)

        yield add
        for group in groups:
            group.flush()


class _Groups:
    def __init__(self, path: str, table: str) -> None:
        pa = _arrow()
        self.schema = arrow_schema(table)
        self.kinds = columns_of(table)
        # Values of `document` differ too much for a dictionary of them.
        dictionary = [name for name, kind in self.kinds.items() if kind == "text"]
        self.writer = pa.parquet.ParquetWriter(
            path, self.schema, compression="zstd", use_dictionary=dictionary
        )
        self._decode = _decoder(table)
        self._pieces: list[bytes] = []
        self._held = 0

    def add(self, data: bytes) -> None:
        if data:
            self._pieces.append(data)
            self._held += len(data)
            if self._held >= ROW_GROUP:
                self.flush()

    def flush(self) -> None:
        """Writes what is held as one row group."""
        pa = _arrow()
        rows = self._decode(b"".join(self._pieces))
        self._pieces, self._held = [], 0
        if not rows:
            return
        columns = []
        for field in self.schema:
            values = [_cell(getattr(row, field.name), self.kinds[field.name]) for row in rows]
            if self.kinds[field.name] == "time":
                # Without their Z: a time of no zone, which is UTC.
                texts = pa.array([v and v[:-1] for v in values], pa.string())
                columns.append(texts.cast(field.type))
            else:
                columns.append(pa.array(values, field.type))
        self.writer.write_table(pa.Table.from_arrays(columns, schema=self.schema))


def _decoder(table: str) -> Callable[[bytes], list[Any]]:
    fields: list[Any] = []
    for field in msgspec.structs.fields(TABLES[table]):
        raw = field.type is Any
        type_, default = (msgspec.Raw, msgspec.Raw(b"null")) if raw else (field.type, None)
        fields.append((field.name, type_, default))
    struct = msgspec.defstruct(table.title(), fields)
    return msgspec.json.Decoder(struct).decode_lines


def _cell(value: Any, kind: str) -> Any:
    if kind != "json":
        return value
    text = bytes(value).decode()
    return None if text == "null" else text


# -- SQLite ----------------------------------------------------------------------------------

_SQL = {
    **dict.fromkeys(("text", "json", "time"), "TEXT"),
    **dict.fromkeys(("integer", "boolean"), "INTEGER"),
    "real": "REAL",
}


@contextmanager
def _sqlite(places: Sequence[str]) -> Iterator[AddRows]:
    db = sqlite3.connect(places[0])
    try:
        db.execute("PRAGMA journal_mode = OFF")  # a temporary file needs no rollback
        db.execute("PRAGMA synchronous = OFF")
        inserts: list[tuple[str, dict[str, str], Callable[[bytes], list[Any]]]] = []
        for table in TABLES:
            columns = columns_of(table)
            definitions = ", ".join(f"{name} {_SQL[kind]}" for name, kind in columns.items())
            db.execute(f"CREATE TABLE {table} ({definitions})")
            marks = ", ".join("?" * len(columns))
            insert = f"INSERT INTO {table} VALUES ({marks})"  # noqa: S608 - our own names
            inserts.append((insert, columns, _decoder(table)))

        def add(tables: Sequence[bytes]) -> None:
            for (insert, columns, decode), data in zip(inserts, tables, strict=True):
                if data:
                    rows = decode(data)
                    cells = [
                        [_cell(getattr(r, n), k) for n, k in columns.items()] for r in rows
                    ]
                    db.executemany(insert, cells)

        yield add
        for table in TABLES:
            db.execute(f"CREATE INDEX {table}_key ON {table} (key)")
        db.commit()
    finally:
        with suppress(sqlite3.Error):
            db.close()


_KINDS: dict[str, tuple[str, WriterFactory]] = {
    ".jsonl": ("jsonl", _lines(lambda _, raw: raw)),
    ".jsonl.gz": ("jsonl", _lines(_gzip)),
    ".jsonl.zst": ("jsonl", _lines(_zstandard)),
    ".parquet": ("parquet", _parquet),
    ".sqlite": ("sqlite", _sqlite),
    ".db": ("sqlite", _sqlite),
}


def fingerprint(where: str, about: bytes) -> str:
    """A digest of an output with these rows as it is now: it changes when another program
    writes to the output. "" if it cannot be determined."""
    if is_url(where):
        return ""
    values: list[Any] = [about]
    for path in output_files(where):
        stamp = file_stamp(path)
        if stamp is None:
            return ""
        values.append(stamp)
    return hashlib.blake2b(codec.pack_state(values), digest_size=16).hexdigest()
