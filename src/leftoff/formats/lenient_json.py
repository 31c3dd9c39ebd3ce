"""Decodes one-document recordings and values of uncertain type without raising.

A document is first split into its fields and its list of items as raw JSON, so that an invalid
value costs one field or one item, and every item retains its own bytes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec import Raw

from leftoff.model import MAX_COUNT, Usage

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIELDS = msgspec.json.Decoder(dict[str, Raw])
_ITEMS = msgspec.json.Decoder(list[Raw])


def fields_of(data: bytes | Raw) -> dict[str, Raw]:
    """The raw values of a JSON object by name; {} for anything else."""
    try:
        return _FIELDS.decode(data)
    except (ValueError, RecursionError):
        return {}


def items_of(data: bytes | Raw | None) -> list[Raw]:
    """The raw items of a JSON list; [] for anything else."""
    if data is None:
        return []
    try:
        return _ITEMS.decode(data)
    except (ValueError, RecursionError):
        return []


def value_of(data: Raw | None) -> Any:
    """The value of a raw field; None where there is none."""
    if data is None:
        return None
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return None


def text_of(value: object) -> str:
    """The value if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def count_of(value: object) -> int:
    """The value if it is a count, else 0."""
    if isinstance(value, int) and value is not True and 0 < value <= MAX_COUNT:
        return value
    return 0


def int_of(value: object) -> int | None:
    """The value if it is an integer, such as an exit code, and no boolean; else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def usage_by(value: object, names: tuple[str, ...], *, inclusive: bool = False) -> Usage | None:
    """Tokens under the recorder's names; None if the value is no object.

    Args:
        names: of input, output, what was read from the cache, written to it, and reasoning; a
            name that the recorder lacks is "" or left out.
        inclusive: its input includes what was read from and written to the cache."""
    if not isinstance(value, dict):
        return None
    counts = [count_of(value.get(name)) for name in names]
    given, output, read, written, thought = (*counts, 0, 0, 0, 0)[:5]
    if inclusive:
        given = max(0, given - read - written)
    return Usage(given, output, read, written, thought)


def dict_of(value: object) -> dict[str, Any]:
    """The value if it is an object, else {}."""
    return value if isinstance(value, dict) else {}


def dicts_of(value: object) -> list[dict[str, Any]]:
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
