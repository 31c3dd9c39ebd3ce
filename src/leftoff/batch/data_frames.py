"""Rows as data frames of pandas or polars, with the types of the Parquet files."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from msgspec import Struct

from leftoff.batch.outputs import columns_of
from leftoff.errors import UnknownName, UsageError

LIBRARIES = ("pandas", "polars")

_PANDAS = {
    "text": "string",
    "integer": "Int64",
    "real": "Float64",
    "boolean": "boolean",
    "time": "datetime64[us]",
}


def data_frame(rows: Iterable[Struct], table: str, library: str = "") -> Any:
    """The rows as a data frame; nulls are the library's own, times are UTC without a zone.
    `UsageError` where no such library is installed."""
    kinds = {name: kind for name, kind in columns_of(table).items() if name != "document"}
    columns: dict[str, list[Any]] = {name: [] for name in kinds}
    for row in rows:
        for name, values in columns.items():
            values.append(getattr(row, name))
    for name, kind in kinds.items():
        if kind == "time":
            columns[name] = [t and datetime.fromisoformat(t[:-1]) for t in columns[name]]
    chosen = _installed(library)
    made: Any = import_module(chosen)
    if chosen == "pandas":
        series = {n: made.Series(v, dtype=_PANDAS[kinds[n]]) for n, v in columns.items()}
        return made.DataFrame(series)
    types = {
        "text": made.String,
        "integer": made.Int64,
        "real": made.Float64,
        "boolean": made.Boolean,
        "time": made.Datetime("us"),
    }
    return made.DataFrame(columns, schema={n: types[k] for n, k in kinds.items()})


def _installed(library: str) -> str:
    if library and library not in LIBRARIES:
        raise UnknownName("library of data frames", library, LIBRARIES)
    for name in (library,) if library else LIBRARIES:
        if find_spec(name) is not None:
            return name
    raise UsageError(f"a data frame needs {library or 'pandas or polars'}: pip install it")
