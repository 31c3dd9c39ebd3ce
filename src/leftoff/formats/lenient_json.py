"""Decodes one-document recordings and values of uncertain type without raising.

A document is first split into its fields and its list of items as raw JSON, so that an invalid
value costs one field or one item, and every item retains its own bytes."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from leftoff import lazy_re as re
from leftoff.model import MAX_COUNT, SessionFacts, Usage

T = TypeVar("T")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIELDS = msgspec.json.Decoder(dict[str, Raw])
_ITEMS = msgspec.json.Decoder(list[Raw])


def _decoded(decode: Callable[[bytes | Raw], T], data: bytes | Raw | None, other: T) -> T:
    """What a decoder gives; `other` for no data and for what it cannot decode."""
    if data is None:
        return other
    try:
        # `RecursionError`: nested too deeply for the decoder.
        return decode(data)
    except (ValueError, RecursionError):
        return other


def fields_of(data: bytes | Raw) -> dict[str, Raw]:
    """The raw values of a JSON object by name; {} for anything else."""
    return _decoded(_FIELDS.decode, data, {})


def items_of(data: bytes | Raw | None) -> list[Raw]:
    """The raw items of a JSON list; [] for anything else."""
    return _decoded(_ITEMS.decode, data, [])


def value_of(data: Raw | None) -> object:
    """The value of a raw field; None where there is none."""
    return _decoded(msgspec.json.decode, data, None)


def text_of(value: object) -> str:
    """The value if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def json_text(value: object) -> str:
    """A value as text: a string as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return ""


def count_of(value: object) -> int:
    """The value if it is a count, else 0."""
    # In Python True is an integer.
    if isinstance(value, int) and value is not True and 0 < value <= MAX_COUNT:
        return value
    return 0


def code_in(pattern: re.Pattern[str], text: str) -> int | None:
    """The number, such as an exit code, in the first place that fits a pattern; else None."""
    found = pattern.search(text)
    return int(found[1]) if found is not None else None


@lru_cache(maxsize=64)
def _alternatives(names: str) -> tuple[list[str], ...]:
    return tuple(name.split("|") for name in names.split())


def usage_by(value: object, names: str, *, inclusive: bool = False) -> Usage | None:
    """Tokens under the recorder's names; None if the value is no object.

    Args:
        names: the paths of input, output, what was read from the cache, written to it, and
            reasoning, with blanks between them; `a|b` for one of two, `-` for one that the
            recorder lacks.
        inclusive: its input includes what was read from and written to the cache."""
    if not isinstance(value, dict):
        return None
    # Names may end early; the counts without one are 0.
    get = Fields(value).get if "." in names else value.get
    counts = [
        next(filter(None, map(count_of, map(get, paths))), 0) for paths in _alternatives(names)
    ]
    given, output, read, written, thought = (*counts, 0, 0, 0, 0)[:5]
    if inclusive:
        given = max(0, given - read - written)
    return Usage(given, output, read, written, thought)


def dict_of(value: object) -> dict[str, object]:
    """The value if it is an object, else {}."""
    return value if isinstance(value, dict) else {}


def dicts_of(value: object) -> list[dict[str, object]]:
    """The objects of a list; [] for anything else."""
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def known_id(value: object) -> str:
    """The value if it is an id; "" for no id and for one that a recorder has redacted."""
    found = text_of(value)
    return "" if "REDACTED" in found else found


def time_of_ms(value: object) -> str:
    """Milliseconds since 1970 as ISO 8601 in UTC; "" for anything else."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return ""
    try:
        moment = _EPOCH + timedelta(milliseconds=round(value))
    except (OverflowError, ValueError):
        return ""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def time_of_s(value: object) -> str:
    """Seconds since 1970, likewise."""
    # From 1e11 on it is no time in seconds: it would be in the year 5138.
    known = isinstance(value, (int, float)) and abs(value) < 1e11
    return time_of_ms(value * 1000) if known else ""  # type: ignore[operator]


class Fields:
    """A JSON object of uncertain shape, read by paths such as `message.content`.

    What is missing, or has another type than is asked for, reads as empty: no shape of a
    recording raises. Several paths are tried in order; the first that is not empty counts.

    Attributes:
        value: the object; {} for any other value. Fields may be raw, they are decoded when
            they are read.
        lost: the paths of values that were asked for with another type than they have, of the
            objects inside, too (`at`, `each`). `get` takes any type."""

    __slots__ = ("lost", "value")

    def __init__(self, value: object, lost: list[str] | None = None) -> None:
        self.value: dict[str, object] = value if isinstance(value, dict) else {}
        self.lost: list[str] = [] if lost is None else lost

    @classmethod
    def of(cls, data: bytes | Raw) -> "Fields":
        """The fields of a document, each still raw."""
        return cls(fields_of(data))

    def get(self, path: str) -> object:
        """The value at a path; None where there is none."""
        if "." in path:
            first, _, inside = path.partition(".")
            found = self.get(first)
            for name in inside.split("."):
                found = found.get(name) if isinstance(found, dict) else None
            return found
        found = self.value.get(path)
        return value_of(found) if isinstance(found, Raw) else found

    def _of(self, path: str, type_: type[T]) -> T | None:
        """The value at a path if it has a type; a value of another type is noted as lost."""
        found = self.get(path)
        if isinstance(found, type_):
            return found
        if found is not None:
            self.lost.append(path)
        return None

    def at(self, path: str) -> "Fields":
        """The object at a path."""
        return Fields(self._of(path, dict), self.lost)

    def each(self, path: str) -> "list[Fields]":
        """The objects of the list at a path."""
        listed = self._of(path, list) or []
        found = [Fields(value, self.lost) for value in listed if isinstance(value, dict)]
        if len(found) < len(listed):
            self.lost.append(path)
        return found

    def raw(self, *names: str) -> Raw:
        """The first of these fields that a document has, raw; of several the first that is a
        list with items; an empty list if it has none."""
        found = [v for v in map(self.value.get, names) if isinstance(v, Raw)]
        return next((v for v in found if len(names) == 1 or items_of(v)), Raw(b"[]"))

    def text(self, *paths: str) -> str:
        """A string; "" for anything else."""
        for path in paths:
            found = self.get(path)
            if found.__class__ is str:
                if found:
                    return found
            elif found is not None:
                self.lost.append(path)
        return ""

    def identity(self, path: str) -> str:
        """An id, as for `known_id`."""
        return known_id(self._of(path, str))

    def count(self, *paths: str) -> int:
        """A count; 0 for anything else."""
        for path in paths:
            if found := count_of(self._of(path, int)):
                return found
        return 0

    def number(self, *paths: str) -> int | None:
        """An integer, such as an exit code; None for anything else."""
        for path in paths:
            found = self.get(path)
            if type(found) is int:
                return found
            if found is not None:
                self.lost.append(path)
        return None

    def facts(self, **paths: str) -> SessionFacts:
        """What is said of the session: the string at a path for each of its fields; `a|b` for
        one of two."""
        found: dict[str, Any] = {n: self.text(*path.split("|")) for n, path in paths.items()}
        return SessionFacts(**found)

    def time(self, *paths: str) -> str:
        """Milliseconds since 1970 as ISO 8601, the first there is."""
        return next(filter(None, map(time_of_ms, map(self.get, paths))), "")
