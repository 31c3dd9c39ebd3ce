"""What recorders never write: a valid recording, varied record by record and value by value.

`varied` takes a recording apart into records, draws which of them come in which order, and
gives fields other types, extreme values, other records' ids and times. What it makes is a
function of the recording and of the `random.Random` that it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeAlias

from msgspec import Struct

from leftoff import codec


class Raw(Struct, frozen=True):
    """A value as it is written, for what no Python value is written as."""

    data: bytes


class Twice(Struct, frozen=True):
    """The value of a key that is written twice."""

    first: Any
    second: Any


STRINGS = (
    "", " ", "\n", "0", "null", "true", "undefined", "\x00", "\x1b[2J", "\u2028", "\ufeff",
    "\u202egpj.exe", "e\u0301" * 40, "👩‍👩‍👧‍👦", "𝕏", "İ", "ß", "../../etc/passwd",
    "/", "//", ".", "..", "C:\\CON", "a" * 3000, "( " * 400, "\\" * 300, '"', "'; --",
    "<script>", "</summary>",
    "```\n", "$(", "${x", "`", "<<EOF", "*** Begin Patch\n", "@@ -1 +1 @@\n", "{}", "[]",
    "-1", "1e400", "NaN", "0x10", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z",
    "0000-00-00T00:00:00Z", "2026-02-30T25:61:61+99:99", "2026-03-02T10:00:00-23:59", "now",
    "[REDACTED:aws-key:1]", "__proto__", "%s%n", "{0}", "user", "assistant", "tool", "main",
)  # fmt: skip
"""Strings that somebody's program did not expect; NUL and line ends among them."""

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 7, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 2**64, 1e308, -0.0,
    5e-324, 0.1, 1e15, 253402300800000, -62135596800001, [], {}, [[]], [None], {"": None}, [{}],
    ["text"], {"text": 1}, {"type": None}, [{"type": []}], [[[[[[]]]]]], {"a": {"a": {"a": 1}}},
    [{"type": "text", "text": None}], [None, 1, "x", {}, []],
    Raw(b"NaN"), Raw(b"-Infinity"), Raw(b"1e999"), Raw(b"-0"), Raw(b"1" + b"0" * 400),
    Raw(b"9" * 5000), Raw(b'"\\ud800"'), Raw(b'"\\udfff\\ud800 x"'), Raw(b'"\xff\xfe"'),
    Raw(b'"\xed\xa0\x80"'), Raw(b'"\\u0000"'), Raw(b'"a\nb"'), Raw(b'"\\x41"'),
    Raw(b"[" * 60 + b"]" * 60), Raw(b"[" * 450 + b"]" * 450),
    Raw(b'{"content":' * 450 + b"1" + b"}" * 450),
    Raw(b'[{"text":' * 450 + b"1" + b"}]" * 450), Raw(b"[" * 2000 + b"]" * 2000),
    Raw(b"01"), Raw(b"{}{}"), Raw(b""), Raw(b"tru"), Raw(b"[1,]"), Raw(b"'x'"),
    Raw(b'{"a":1,"a":[]}'),
)  # fmt: skip
"""Values for any field: wrong types, extremes, and what is no JSON."""

_ENDS = (
    b"\n",
    b"\r\n",
    b"\n\n",
    b"\r",
    b"",
    b" \n",
    b"\x00\n",
    b"\xe2\x80\xa8\n",
    b",\n",
    b"\n\x0c\n",
)
_MARKS = (
    b"\xef\xbb\xbf",
    b"\x00",
    b"\xff\xfe",
    b"\n",
    b'"',
    b"}",
    b"{",
    b"]",
    b"\\",
    b"\xed\xa0\x80",
    b"\x1a",
)

MOST = 4000
"""Values in a recording that is not changed any more: changes may multiply it."""

Slot: TypeAlias = tuple[Any, Any]
"""A container and the key or index of a value in it."""


def varied(example: bytes, shape: str, chance: Random) -> bytes:
    """A recording as no recorder writes it, made from one that is whole.

    Args:
        shape: of the format: `lines`, `document` or `text`.
    """
    if shape == "text":
        return _torn(b"".join(_lines_of_text(example, chance)), chance)
    if shape == "lines":
        records = [codec.parse(line) for line in example.splitlines() if line.strip()]
        records = _drawn(records, chance)
        _change(records, chance)
        return _torn(_joined(map(_written, records), chance), chance)
    document = [codec.parse(example)]
    lists = list(_lists(document[0]))
    for items in chance.sample(lists, min(len(lists), 2)):
        items[:] = _drawn(items, chance)
    _change(document, chance)
    return _torn(b"".join(map(_written, document)), chance)


# -- records ---------------------------------------------------------------------------------


def _drawn(records: list[Any], chance: Random) -> list[Any]:
    """Records of the kinds that there are: most in their order, some lost, doubled, moved."""
    drawn = [_copied(r) for r in records]
    for _ in range(chance.choice((0, 0, 1, 2, 5))):
        if not drawn:
            break
        at = chance.randrange(len(drawn))
        kind = chance.randrange(8)
        if kind == 0:
            del drawn[at]
        elif kind == 1:
            drawn.insert(chance.randrange(len(drawn) + 1), _copied(drawn[at]))
        elif kind == 2:
            drawn.insert(chance.randrange(len(drawn)), drawn.pop(at))
        elif kind == 3:
            drawn = drawn[at:]
        elif kind == 4:
            drawn = drawn[: at + 1]
        elif kind == 5:
            drawn.reverse()
        elif kind == 6:
            drawn[at:at] = [_copied(drawn[at]) for _ in range(chance.choice((2, 30)))]
        else:
            drawn += [_copied(chance.choice(records)) for _ in range(chance.randint(1, 6))]
    return drawn


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _copied(v) for k, v in value.items()}
    return [_copied(v) for v in value] if isinstance(value, list) else value


def _lists(value: Any) -> Iterator[list[Any]]:
    """Every list of objects in a value, the outer ones first."""
    if isinstance(value, list):
        if any(isinstance(v, dict) for v in value):
            yield value
        for v in value:
            yield from _lists(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from _lists(v)


# -- values ----------------------------------------------------------------------------------


def _slots(value: Any) -> Iterator[Slot]:
    found = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in found:
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from _slots(inner)


def _change(records: list[Any], chance: Random) -> None:
    """Changes some values, each in a way of its own."""
    for _ in range(chance.choice((0, 1, 2, 2, 4, 12))):
        slots = list(_slots(records))
        if not slots or len(slots) > MOST:
            return
        holder, key = chance.choice(slots)
        change = chance.choice(_CHANGES)
        change(holder, key, slots, chance)


def _dropped(holder: Any, key: Any, slots: list[Slot], chance: Random) -> None:
    del holder[key]


def _replaced(holder: Any, key: Any, slots: list[Slot], chance: Random) -> None:
    holder[key] = _copied(chance.choice(VALUES))


def _worded(holder: Any, key: Any, slots: list[Slot], chance: Random) -> None:
    holder[key] = chance.choice(STRINGS)


def _added(holder: Any, key: Any, slots: list[Slot], chance: Random) -> None:
    """A key that no recorder knows, or that another record has."""
    value = _copied(chance.choice((*VALUES, *STRINGS)))
    if isinstance(holder, dict):
        other = chance.choice(slots)[1]
        holder[other if isinstance(other, str) else chance.choice(STRINGS)] = value
    else:
        holder.insert(key, value)


def _exchanged(holder: Any, key: Any, slots: list[Slot], chance: Random) -> None:
    """The value of another place: an id points to another record, to itself, to none."""
    other, place = chance.choice(slots)
    same = [(h, k) for h, k in slots if k == key and h is not holder]
    if same and chance.random() < 0.6:
        other, place = chance.choice(same)
    holder[key] = _copied(other[place])


def _identified(holder: Any, key: Any, slots: list[Slot], chance: Random) -> None:
    """An id of one record where another names its parent, so that parents form rings."""
    ids = [h[k] for h, k in slots if isinstance(k, str) and k.lower().endswith("id")]
    holder[key] = _copied(chance.choice(ids)) if ids else None


def _wrapped(holder: Any, key: Any, slots: list[Slot], chance: Random) -> None:
    value = _copied(holder[key])
    depth = chance.choice((1, 1, 2, 90))
    for _ in range(depth):
        value = [value] if chance.random() < 0.5 else {"content": value}
    holder[key] = value


def _unwrapped(holder: Any, key: Any, slots: list[Slot], chance: Random) -> None:
    value = holder[key]
    if isinstance(value, dict) and value:
        holder[key] = _copied(chance.choice(list(value.values())))
    elif isinstance(value, list) and value:
        holder[key] = _copied(chance.choice(value))


def _many(holder: Any, key: Any, slots: list[Slot], chance: Random) -> None:
    value = holder[key]
    if isinstance(value, list):
        holder[key] = [_copied(v) for v in value] * chance.choice((0, 2, 20))
    elif isinstance(value, str):
        holder[key] = value[:500] * chance.choice((2, 9))


def _written_as_text(holder: Any, key: Any, slots: list[Slot], chance: Random) -> None:
    value = holder[key]
    holder[key] = _written(value).decode(errors="replace")


def _twice(holder: Any, key: Any, slots: list[Slot], chance: Random) -> None:
    if isinstance(holder, dict):
        holder[key] = Twice(_copied(holder[key]), _copied(chance.choice(VALUES)))


def _shifted(holder: Any, key: Any, slots: list[Slot], chance: Random) -> None:
    """A number far away, a text with other digits: clocks jump, counts run over."""
    value = holder[key]
    if isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, int) and abs(value) < 2**64:
        holder[key] = chance.choice((-value, value * 10**9, value + 86_400_000, value / 7))
    elif isinstance(value, str) and value:
        at = chance.randrange(len(value))
        mark = chance.choice(("", " ", "9", "0", "-", "\n", "\x00", "é", "T", value[:at]))
        holder[key] = value[:at] + mark + value[at + 1 :]


_CHANGES: tuple[Callable[[Any, Any, list[Slot], Random], None], ...] = (
    _dropped, _dropped, _replaced, _replaced, _replaced, _worded, _worded, _added, _exchanged,
    _exchanged, _identified, _wrapped, _unwrapped, _many, _written_as_text, _twice, _shifted,
    _shifted,
)  # fmt: skip


# -- bytes -----------------------------------------------------------------------------------


def _written(value: Any) -> bytes:
    """JSON, with what is no JSON where a `Raw` stands. Deep values do not recurse far: they
    are made by `_wrapped`, which stops at ninety."""
    if isinstance(value, Raw):
        return value.data
    if isinstance(value, dict):
        pairs: list[bytes] = []
        for key, inner in value.items():
            name = codec.dumps(key).rstrip()
            both = (inner.first, inner.second) if isinstance(inner, Twice) else (inner,)
            pairs += [name + b":" + _written(v) for v in both]
        return b"{" + b",".join(pairs) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(map(_written, value)) + b"]"
    if isinstance(value, Twice):
        return _written(value.first)
    return codec.dumps(value).rstrip()


def _joined(lines: Iterator[bytes], chance: Random) -> bytes:
    """Lines, most of them ended as usual."""
    odd = chance.random() < 0.2
    return b"".join(
        line + (chance.choice(_ENDS) if odd and chance.random() < 0.3 else b"\n")
        for line in lines
    )


def _lines_of_text(example: bytes, chance: Random) -> Iterator[bytes]:
    lines = example.splitlines(keepends=True)
    for line in _drawn(lines, chance):
        roll = chance.randrange(60)
        if roll == 0:
            yield line[: chance.randrange(len(line) + 1)]
        elif roll == 1:
            yield chance.choice(STRINGS).encode() + line
        elif roll == 2:
            yield line.rstrip(b"\n") + chance.choice(STRINGS).encode() + b"\n"
        elif roll == 3:
            yield line.rstrip(b"\n") + chance.choice(lines)
        elif roll == 4:
            yield b"  " * chance.randint(1, 20) + line
        elif roll == 5:
            yield line.rstrip(b"\n") + chance.choice(_ENDS)
        else:
            yield line


def _torn(data: bytes, chance: Random) -> bytes:
    """The bytes as bad discs and other programs leave them; most are left alone."""
    for _ in range(chance.choice((0, 0, 0, 0, 1, 2))):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(7)
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            data = data[:at] + chance.choice(_MARKS) + data[at:]
        elif kind == 2:
            data = data[:at] + data[at + chance.randint(1, 200) :]
        elif kind == 3:
            data = data.replace(b"\n", b"\r\n")
        elif kind == 4:
            data = b"\xef\xbb\xbf" + data
        elif kind == 5:
            other = chance.randrange(len(data) + 1)
            data = data[:at] + data[other : other + chance.randint(1, 400)] + data[at:]
        else:
            data = data[:at] + bytes(b ^ 32 for b in data[at : at + 3]) + data[at + 3 :]
    return data
