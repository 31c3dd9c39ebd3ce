"""The memory of projects: an index over all recorded sessions of this machine.

>>> from leftoff import memory
>>> memory.open  # doctest: +ELLIPSIS
<function open at ...>

The names are loaded on first use: the hooks import `leftoff.memory.lookup` without the engine.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from leftoff.memory.memory import Memory, open  # noqa: A004 - as programs say it
    from leftoff.memory.search import Filters, Hit

__all__ = ["Filters", "Hit", "Memory", "open"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from leftoff.memory import memory, search

    return getattr(search if name in ("Filters", "Hit") else memory, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
