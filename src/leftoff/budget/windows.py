"""Size of a model's context window, and the part that its recorder reserves for compaction.

The tables are in ``windows.toml``. Precedence: the window that the recording states, then the
user's rows, then the tables. Of a model that is sold with two windows under one name, the
window is unknown until the session shows it; an unknown window is None and never a guess."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct, convert

from leftoff.tables import table


class Window(Struct, frozen=True):
    """A model's context window and the recorder's compaction reserve, in tokens.

    Attributes:
        larger: another window size offered under the same model name, 0 if there is none.
        source: what it rests on: recorded | user | model | shown (by use or a compaction)."""

    window: int
    reserve: int = 0
    larger: int = 0
    source: str = ""


class ModelRow(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table of models. `match` is a pattern such as "claude-*"."""

    match: str
    window: int
    reserve: int = 0
    larger: int = 0


class _Recorder(Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    before: str = ""
    reserve: int = 0
    share: float = 0.0


class _Provider(Struct, frozen=True, forbid_unknown_fields=True):
    match: str
    limit: int


class _Tables(Struct, frozen=True, forbid_unknown_fields=True):
    model: tuple[ModelRow, ...]
    recorder: tuple[_Recorder, ...]
    provider: tuple[_Provider, ...]


_TABLES = convert(table(__file__, "windows.toml"), _Tables)
# Tokens that a task may use with each provider, the provider's buffer already subtracted.
PROVIDER_LIMITS: dict[str, int] = {row.match: row.limit for row in _TABLES.provider}


def window_of(model: str, more: Iterable[ModelRow] = ()) -> Window | None:
    """The window of a model by name; None if it is not known. Never a guess. The rows in `more`
    take precedence over the built-in ones."""
    # Routers put the vendor in front of a name.
    name = model.casefold().rsplit("/", 1)[-1]
    for source, rows in (("user", more), ("model", _TABLES.model)):
        for row in rows:
            if matches(name, row.match):
                return Window(row.window, row.reserve, row.larger, source)
    return None


def matches(name: str, pattern: str) -> bool:
    """Whether the name of a model, in small letters, is one of a row of a table."""
    # Brackets in model names are literal: claude-sonnet-4[1m].
    folded = pattern.casefold()
    start = folded.partition("*")[0].partition("?")[0]
    return name.startswith(start) and fnmatchcase(name, folded.replace("[", "[[]"))


def reserve_of(format: str, version: str, window: int) -> int | None:
    """Tokens that a recorder of this version reserves; None if the recorder is not known."""
    for row in _TABLES.recorder:
        if row.format == format and (not row.before or _older(version, row.before)):
            return row.reserve or round(row.share * window)
    return None


def _older(version: str, limit: str) -> bool:
    found, least = (
        [int(n) for n in re.findall(r"[0-9]+", text)[:4]] for text in (version, limit)
    )
    return bool(found) and found < least


def fit(
    model: str,
    *,
    recorded: int | None = None,
    peak: int = 0,
    compacted_at: int | None = None,
    format: str = "",
    version: str = "",
    more: Sequence[ModelRow] = (),
) -> Window | None:
    """The window of a session: by the recording first, then by the tables; None if not known.

    Args:
        recorded: the window that the recording states.
        peak: the highest occupancy of the session, in tokens. A smaller window of the table
            cannot be the session's.
        compacted_at: occupancy at the last automatic compaction: that much is usable, and more
            than half of the window.
        more: rows that take precedence over the built-in ones."""
    known = window_of(model, more)
    if recorded:
        window, source = recorded, "recorded"
    elif known is None:
        return None
    else:
        window, source = _of_several(known, peak, compacted_at)
        if not window:
            return None
    reserve = reserve_of(format, version, window)
    if reserve is None:
        reserve = known.reserve if known else 0
    if compacted_at is not None and window // 2 < compacted_at <= window:
        reserve = window - compacted_at
    return Window(window, min(reserve, window), source=source)


def _of_several(known: Window, peak: int, compacted_at: int | None) -> tuple[int, str]:
    """The window among those that a model is sold with, and its source; 0 if nothing shows it.

    A recorder compacts by itself when a window is nearly full: more than half of it."""
    if not known.larger:
        return (known.window, known.source) if peak <= known.window else (0, "")
    if peak > known.window:
        return (known.larger, "shown") if peak <= known.larger else (0, "")
    if compacted_at is not None and compacted_at > known.window // 2:
        return known.window, "shown"
    return 0, ""
