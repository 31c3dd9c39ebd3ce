"""Writers of the tables: JSON lines (plain, .gz, .zst), Parquet, SQLite; files or fsspec URLs;
and data frames of pandas or polars.

An output is replaced atomically: it is written to a temporary file and renamed.
JSON lines and Parquet hold one table in each file: `out.parquet` the sessions,
`out.decisions.parquet` the decisions, and so on. A SQLite file holds all."""

import gzip
import hashlib
import io
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from leftoff import codec
from leftoff.batch.files import is_url
from leftoff.batch.rows import TABLES, TIME_COLUMNS, decode_rows
from leftoff.errors import SourceError, UnknownName, UsageError
from leftoff.registry import imported
from leftoff.stores.atomic import Directory, file_stamp, source_errors
from leftoff.stores.objects import filesystem

# Bytes of JSON after which a row group of a Parquet file is written.
ROW_GROUP = 16 << 20


def _writer_of(where: str) -> "tuple[str, Writer]":
    """Suffix and writer of an output; `UsageError` where none is known."""
    for ending, writer in _WRITERS.items():
        if where.endswith(ending):
            return ending, writer
    raise UsageError(f"{where}: an output's name ends in one of {', '.join(_WRITERS)}")


def output_files(where: str) -> list[str]:
    """The files that an output is made of, sessions first."""
    ending, writer = _writer_of(where)
    stem = where.removesuffix(ending)
    others = [f"{stem}.{table}{ending}" for table in list(TABLES)[1:]]
    return [where] if writer is _sqlite else [where, *others]


def check(where: str) -> None:
    """Checks that an output can be written, before any work is done for it.

    Raises:
        UsageError: its kind is not known, or what it needs is not installed.
        SourceError: its folder does not exist."""
    _, writer = _writer_of(where)
    if is_url(where):
        filesystem(where)
    else:
        folder = Path(where).parent
        if not folder.is_dir():
            raise SourceError(f"{where}: there is no folder {folder}")
        if Path(where).is_dir():
            raise SourceError(f"{where}: is a folder")
    if writer is _parquet:
        _arrow()
    elif where.endswith(".zst"):
        _zstd()


def write(where: str, rows: Iterable[Sequence[bytes]]) -> None:
    """Writes an output whole, from the tables of each job; `SourceError` where it cannot be
    written; what was there before stays."""
    with source_errors(where, OSError, sqlite3.Error), ExitStack() as stack:
        places = [stack.enter_context(_place(path)) for path in output_files(where)]
        adders = [*_writer_of(where)[1](stack, places)]
        for tables in rows:
            for add, data in zip(adders, tables, strict=True):
                if data:
                    add(data)


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
        with folder.replacement(Path(path).name) as staged:
            yield str(staged.path)
        folder.fsync()


# Makes what adds the rows of a table, as JSON lines, for every table; all ends with the stack.
Writer: TypeAlias = Callable[[ExitStack, Sequence[str]], Iterable[Callable[[bytes], object]]]


class _Types(NamedTuple):
    """What a type of columns is called elsewhere."""

    sql: str
    arrow: str
    pandas: str = ""
    polars: str = ""


# Times are UTC without a zone, in microseconds.
_TYPES = {
    "text": _Types("TEXT", "string", "string", "String"),
    "integer": _Types("INTEGER", "int64", "Int64", "Int64"),
    "real": _Types("REAL", "float64", "Float64", "Float64"),
    "boolean": _Types("INTEGER", "bool_", "boolean", "Boolean"),
    "time": _Types("TEXT", "timestamp", "datetime64[us]", "Datetime"),
    "json": _Types("TEXT", "string"),
}


def columns_of(table: str) -> dict[str, str]:
    """The columns of a table with their types: text, integer, real, boolean, time, json."""
    kinds = {str: "text", int: "integer", float: "real", bool: "boolean"}
    found: dict[str, str] = {}
    for field in msgspec.structs.fields(TABLES[table]):
        options = getattr(field.type, "__args__", (field.type,))
        plain = next((kinds[o] for o in options if o in kinds), "json")
        found[field.name] = "time" if field.name in TIME_COLUMNS else plain
    return found


def _type(library: Any, name: str, kind: str) -> Any:
    return getattr(library, name)(*(("us",) if kind == "time" else ()))


def _cell(value: Any, kind: str) -> Any:
    if kind != "json":
        return value
    text = bytes(value).decode()
    return None if text == "null" else text


# -- JSON lines ------------------------------------------------------------------------------


def _lines(packed: Callable[[IO[bytes]], AbstractContextManager[IO[bytes]]]) -> Writer:
    def writer(stack: ExitStack, places: Sequence[str]) -> Iterator[Callable[[bytes], object]]:
        for path in places:
            raw = stack.enter_context(open(path, "wb"))  # noqa: PTH123, SIM115
            yield stack.enter_context(packed(raw)).write

    return writer


@contextmanager
def _gzip(raw: IO[bytes]) -> Iterator[IO[bytes]]:
    # No name and no time in the header: the same rows are the same bytes.
    with (
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as file,
        io.BufferedWriter(file, 1 << 20) as buffered,
    ):
        yield buffered


def _zstd() -> Any:
    return imported("zstandard", "an output in .zst needs", "zst")


# -- Parquet ---------------------------------------------------------------------------------


def _arrow() -> Any:
    imported("pyarrow.parquet", "an output in .parquet needs", "parquet")
    return import_module("pyarrow")


def _parquet(stack: ExitStack, places: Sequence[str]) -> Iterator[Callable[[bytes], object]]:
    for path, table in zip(places, TABLES, strict=True):
        yield stack.enter_context(_row_groups(path, table))


@contextmanager
def _row_groups(path: str, table: str) -> Iterator[Callable[[bytes], object]]:
    pa, kinds, decode = _arrow(), columns_of(table), decode_rows[table]
    types = {name: _type(pa, _TYPES[kind].arrow, kind) for name, kind in kinds.items()}
    schema = pa.schema([*types.items()])
    held = bytearray()

    def add(data: bytes) -> None:
        held.extend(data)
        if len(held) >= ROW_GROUP:
            flush()

    def flush() -> None:
        rows = decode(bytes(held))
        held.clear()
        columns = []
        for field in schema if rows else ():
            values = [_cell(getattr(row, field.name), kinds[field.name]) for row in rows]
            if kinds[field.name] == "time":
                # Without their Z: a time of no zone, which is UTC.
                texts = pa.array([v and v[:-1] for v in values], pa.string())
                columns.append(texts.cast(field.type))
            else:
                columns.append(pa.array(values, field.type))
        if rows:
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))

    # Values of `document` differ too much for a dictionary of them.
    dictionary = [name for name, kind in kinds.items() if kind == "text"]
    with pa.parquet.ParquetWriter(
        path, schema, compression="zstd", use_dictionary=dictionary
    ) as writer:
        yield add
        flush()


# -- SQLite ----------------------------------------------------------------------------------


def _sqlite(stack: ExitStack, places: Sequence[str]) -> Iterator[Callable[[bytes], object]]:
    db = stack.enter_context(_database(places[0]))
    for table in TABLES:
        yield _inserter(db, table)


@contextmanager
def _database(path: str) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = OFF")  # a temporary file needs no rollback
        db.execute("PRAGMA synchronous = OFF")
        yield db
        for table in TABLES:
            db.execute(f"CREATE INDEX {table}_key ON {table} (key)")
        db.commit()


def _inserter(db: sqlite3.Connection, table: str) -> Callable[[bytes], object]:
    columns, decode = columns_of(table), decode_rows[table]
    definitions = ", ".join(f"{name} {_TYPES[kind].sql}" for name, kind in columns.items())
    db.execute(f"CREATE TABLE {table} ({definitions})")
    marks = ", ".join("?" * len(columns))
    insert = f"INSERT INTO {table} VALUES ({marks})"  # noqa: S608 - our own names

    def add(data: bytes) -> None:
        rows = decode(data)
        db.executemany(
            insert, [[_cell(getattr(r, n), k) for n, k in columns.items()] for r in rows]
        )

    return add


_WRITERS: dict[str, Writer] = {
    ".jsonl": _lines(nullcontext),
    ".jsonl.gz": _lines(_gzip),
    ".jsonl.zst": _lines(lambda raw: _zstd().ZstdCompressor(level=3).stream_writer(raw)),
    ".parquet": _parquet,
    ".sqlite": _sqlite,
    ".db": _sqlite,
}


def fingerprint(where: str, about: bytes) -> str:
    """A digest of an output with these rows as it is now: it changes when another program
    writes to the output. "" if it cannot be determined."""
    if is_url(where):
        return ""
    stamps = [file_stamp(path) for path in output_files(where)]
    if None in stamps:
        return ""
    return hashlib.blake2b(codec.pack_state([about, *stamps]), digest_size=16).hexdigest()


# -- data frames -----------------------------------------------------------------------------

LIBRARIES = ("pandas", "polars")


def data_frame(rows: Iterable[Struct], table: str, library: str = "") -> Any:
    """The rows as a data frame; nulls are the library's own, times are UTC without a zone.
    `UsageError` where no such library is installed."""
    given = list(rows)
    if library and library not in LIBRARIES:
        raise UnknownName("library of data frames", library, LIBRARIES)
    wanted = (library,) if library else LIBRARIES
    chosen = next((name for name in wanted if find_spec(name) is not None), "")
    if not chosen:
        raise UsageError(f"a data frame needs {library or 'pandas or polars'}: pip install it")
    kinds = {name: kind for name, kind in columns_of(table).items() if name != "document"}
    columns: dict[str, list[Any]] = {}
    for name, kind in kinds.items():
        values = [getattr(row, name) for row in given]
        if kind == "time":
            values = [t and datetime.fromisoformat(t[:-1]) for t in values]
        columns[name] = values
    made: Any = import_module(chosen)
    if chosen == "pandas":
        return made.DataFrame(
            {n: made.Series(v, dtype=_TYPES[kinds[n]].pandas) for n, v in columns.items()}
        )
    types = {n: _type(made, _TYPES[kind].polars, kind) for n, kind in kinds.items()}
    return made.DataFrame(columns, schema=types)
