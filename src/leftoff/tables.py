"""The package's TOML files, parsed once: Python keeps what they say beside its own bytecode.

A table is loaded as a module is. Its bytecode is in `__pycache__`, with the time and the size
of the file that it was made of, so a changed file is parsed again; where Python may not write
bytecode, the file is parsed each time. To parse all of them costs about 25 ms of processor
time, to load them 2."""

from collections.abc import Mapping
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from os import stat
from os.path import dirname, join
from types import ModuleType
from typing import Any

# What the loader puts behind the name of a table: `rules.toml` and `rules.py` of one directory
# must not have the same name for their bytecode.
_SUFFIX = ".py"


class _Loader(SourceFileLoader):
    """Loads a TOML file as a module that assigns one constant."""

    def path_stats(self, path: str) -> Any:
        return super().path_stats(path.removesuffix(_SUFFIX))

    def get_data(self, path: Any) -> bytes:
        return super().get_data(path.removesuffix(_SUFFIX))

    def source_to_code(  # type: ignore[override]
        self, data: Any, path: Any, **options: Any
    ) -> object:
        import tomllib

        parsed = tomllib.loads(bytes(data).decode().replace("\r\n", "\n"))
        return super().source_to_code(f"table = {parsed!r}".encode(), path, **options)


def table(module: str, *name: str) -> dict[str, Any]:
    """What a TOML file of the package says.

    Args:
        module: `__file__` of the module that it is for.
        name: path of the file from that module's directory.

    Raises:
        OSError: there is no such file.
        tomllib.TOMLDecodeError: it is no TOML."""
    path = join(dirname(module), *name)  # noqa: PTH118, PTH120 - pathlib costs 3 ms
    state = stat(path)  # noqa: PTH116
    return _loaded(path, (state.st_mtime_ns, state.st_size))


@lru_cache(maxsize=8)
def _loaded(path: str, changed: tuple[int, int]) -> dict[str, Any]:
    """The table of a file; several modules of a package ask for the same one."""
    loaded = ModuleType("table")
    _Loader("table", path + _SUFFIX).exec_module(loaded)
    found: dict[str, object] = loaded.table
    return found


def word_sets(rows: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """The words of each row, which blanks divide."""
    return {name: frozenset(row.split()) for name, row in rows.items()}


def by_word(rows: dict[str, str]) -> dict[str, str]:
    """For each word of the rows the name of the first row that has it."""
    return {word: name for name, row in reversed(rows.items()) for word in row.split()}
