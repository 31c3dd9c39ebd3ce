"""Mutates a valid recording, record by record and value by value, for `recordings`.

`varied` splits a recording into records, reorders, drops and repeats them, and gives fields
other types, extreme values, other records' ids and times. The result is a function of the
recording and of the `random.Random`.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeAlias

from msgspec import Struct

from leftoff import codec


class Raw(Struct, frozen=True):
    """The bytes of a value, for JSON that no Python value encodes to."""

    data: bytes


class DuplicateKey(Struct, frozen=True):
    """The two values of a key that is written twice."""

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
"""Strings that programs often handle wrongly, such as NUL and line ends."""

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

_LINE_ENDS = (
    b"\n", b"\r\n", b"\n\n", b"\r", b"", b" \n", b"\x00\n", b"\xe2\x80\xa8\n", b",\n",
    b"\n\x0c\n",
)  # fmt: skip
_BAD_BYTES = (
    b"\xef\xbb\xbf", b"\x00", b"\xff\xfe", b"\n", b'"', b"}", b"{", b"]", b"\\",
    b"\xed\xa0\x80", b"\x1a",
)  # fmt: skip

MAX_VALUES = 4000
"""Values of a recording above which it is not mutated further: mutations may multiply it.
Chosen by hand; not measured."""

Slot: TypeAlias = tuple[Any, Any]
"""A container and the key or index of a value in it."""


def varied(example: bytes, shape: str, rng: Random) -> bytes:
    """A recording that no recorder writes, made from a valid one.

    Args:
        shape: of the format: `lines`, `document` or `text`.
    """
    if shape == "text":
        return _damaged_bytes(b"".join(_mutated_lines(example, rng)), rng)
    if shape == "lines":
        records = [codec.parse(line) for line in example.splitlines() if line.strip()]
        records = _reordered(records, rng)
        _mutate(records, rng)
        return _damaged_bytes(_join_lines(map(_written, records), rng), rng)
    document = [codec.parse(example)]
    lists = list(_lists(document[0]))
    for items in rng.sample(lists, min(len(lists), 2)):
        items[:] = _reordered(items, rng)
    _mutate(document, rng)
    return _damaged_bytes(b"".join(map(_written, document)), rng)


# -- records ---------------------------------------------------------------------------------


def _reordered(records: list[Any], rng: Random) -> list[Any]:
    """The records, mostly in their order; some are dropped, repeated or moved."""
    drawn = [_copy(r) for r in records]
    for _ in range(rng.choice((0, 0, 1, 2, 5))):
        if not drawn:
            break
        at = rng.randrange(len(drawn))
        kind = rng.randrange(8)
        if kind == 0:
            del drawn[at]
        elif kind == 1:
            drawn.insert(rng.randrange(len(drawn) + 1), _copy(drawn[at]))
        elif kind == 2:
            drawn.insert(rng.randrange(len(drawn)), drawn.pop(at))
        elif kind == 3:
            drawn = drawn[at:]
        elif kind == 4:
            drawn = drawn[: at + 1]
        elif kind == 5:
            drawn.reverse()
        elif kind == 6:
            drawn[at:at] = [_copy(drawn[at]) for _ in range(rng.choice((2, 30)))]
        else:
            drawn += [_copy(rng.choice(records)) for _ in range(rng.randint(1, 6))]
    return drawn


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _copy(v) for k, v in value.items()}
    return [_copy(v) for v in value] if isinstance(value, list) else value


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


def _mutate(records: list[Any], rng: Random) -> None:
    """Changes a few values, each in a random way."""
    for _ in range(rng.choice((0, 1, 2, 2, 4, 12))):
        slots = list(_slots(records))
        if not slots or len(slots) > MAX_VALUES:
            return
        holder, key = rng.choice(slots)
        change = rng.choice(_MUTATIONS)
        change(holder, key, slots, rng)


def _dropped(holder: Any, key: Any, slots: list[Slot], rng: Random) -> None:
    del holder[key]


def _replaced(holder: Any, key: Any, slots: list[Slot], rng: Random) -> None:
    holder[key] = _copy(rng.choice(VALUES))


def _replaced_by_string(holder: Any, key: Any, slots: list[Slot], rng: Random) -> None:
    holder[key] = rng.choice(STRINGS)


def _added(holder: Any, key: Any, slots: list[Slot], rng: Random) -> None:
    """A key that no recorder knows, or that another record has."""
    value = _copy(rng.choice((*VALUES, *STRINGS)))
    if isinstance(holder, dict):
        other = rng.choice(slots)[1]
        holder[other if isinstance(other, str) else rng.choice(STRINGS)] = value
    else:
        holder.insert(key, value)


def _replaced_by_other(holder: Any, key: Any, slots: list[Slot], rng: Random) -> None:
    """The value of another slot: an id points to another record, to itself or to none."""
    other, place = rng.choice(slots)
    same = [(h, k) for h, k in slots if k == key and h is not holder]
    if same and rng.random() < 0.6:
        other, place = rng.choice(same)
    holder[key] = _copy(other[place])


def _replaced_by_id(holder: Any, key: Any, slots: list[Slot], rng: Random) -> None:
    """An id of another record, so that parents form cycles."""
    ids = [h[k] for h, k in slots if isinstance(k, str) and k.lower().endswith("id")]
    holder[key] = _copy(rng.choice(ids)) if ids else None


def _wrapped(holder: Any, key: Any, slots: list[Slot], rng: Random) -> None:
    value = _copy(holder[key])
    depth = rng.choice((1, 1, 2, 90))
    for _ in range(depth):
        value = [value] if rng.random() < 0.5 else {"content": value}
    holder[key] = value


def _unwrapped(holder: Any, key: Any, slots: list[Slot], rng: Random) -> None:
    value = holder[key]
    if isinstance(value, dict) and value:
        holder[key] = _copy(rng.choice(list(value.values())))
    elif isinstance(value, list) and value:
        holder[key] = _copy(rng.choice(value))


def _repeated(holder: Any, key: Any, slots: list[Slot], rng: Random) -> None:
    value = holder[key]
    if isinstance(value, list):
        holder[key] = [_copy(v) for v in value] * rng.choice((0, 2, 20))
    elif isinstance(value, str):
        holder[key] = value[:500] * rng.choice((2, 9))


def _written_as_text(holder: Any, key: Any, slots: list[Slot], rng: Random) -> None:
    value = holder[key]
    holder[key] = _written(value).decode(errors="replace")


def _duplicated_key(holder: Any, key: Any, slots: list[Slot], rng: Random) -> None:
    if isinstance(holder, dict):
        holder[key] = DuplicateKey(_copy(holder[key]), _copy(rng.choice(VALUES)))


def _shifted_value(holder: Any, key: Any, slots: list[Slot], rng: Random) -> None:
    """A distant number or a text with another character: clocks jump, counts overflow."""
    value = holder[key]
    if isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, int) and abs(value) < 2**64:
        holder[key] = rng.choice((-value, value * 10**9, value + 86_400_000, value / 7))
    elif isinstance(value, str) and value:
        at = rng.randrange(len(value))
        mark = rng.choice(("", " ", "9", "0", "-", "\n", "\x00", "é", "T", value[:at]))
        holder[key] = value[:at] + mark + value[at + 1 :]


_MUTATIONS: tuple[Callable[[Any, Any, list[Slot], Random], None], ...] = (
    _dropped, _dropped, _replaced, _replaced, _replaced, _replaced_by_string,
    _replaced_by_string, _added, _replaced_by_other, _replaced_by_other, _replaced_by_id,
    _wrapped, _unwrapped, _repeated, _written_as_text, _duplicated_key, _shifted_value,
    _shifted_value,
)  # fmt: skip


# -- bytes -----------------------------------------------------------------------------------


def _written(value: Any) -> bytes:
    """The value as JSON, with the bytes of `Raw` values inserted. `_wrapped` nests at most 90
    deep, so the recursion is shallow."""
    if isinstance(value, Raw):
        return value.data
    if isinstance(value, dict):
        pairs: list[bytes] = []
        for key, inner in value.items():
            name = codec.dumps(key).rstrip()
            both = (inner.first, inner.second) if isinstance(inner, DuplicateKey) else (inner,)
            pairs += [name + b":" + _written(v) for v in both]
        return b"{" + b",".join(pairs) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(map(_written, value)) + b"]"
    if isinstance(value, DuplicateKey):
        return _written(value.first)
    return codec.dumps(value).rstrip()


def _join_lines(lines: Iterator[bytes], rng: Random) -> bytes:
    """Joins lines; a fifth of the files has some odd line ends."""
    odd = rng.random() < 0.2
    return b"".join(
        line + (rng.choice(_LINE_ENDS) if odd and rng.random() < 0.3 else b"\n")
        for line in lines
    )


def _mutated_lines(example: bytes, rng: Random) -> Iterator[bytes]:
    lines = example.splitlines(keepends=True)
    for line in _reordered(lines, rng):
        roll = rng.randrange(60)
        if roll == 0:
            yield line[: rng.randrange(len(line) + 1)]
        elif roll == 1:
            yield rng.choice(STRINGS).encode() + line
        elif roll == 2:
            yield line.rstrip(b"\n") + rng.choice(STRINGS).encode() + b"\n"
        elif roll == 3:
            yield line.rstrip(b"\n") + rng.choice(lines)
        elif roll == 4:
            yield b"  " * rng.randint(1, 20) + line
        elif roll == 5:
            yield line.rstrip(b"\n") + rng.choice(_LINE_ENDS)
        else:
            yield line


def _damaged_bytes(data: bytes, rng: Random) -> bytes:
    """The bytes with random damage; most are returned unchanged."""
    for _ in range(rng.choice((0, 0, 0, 0, 1, 2))):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(7)
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            data = data[:at] + rng.choice(_BAD_BYTES) + data[at:]
        elif kind == 2:
            data = data[:at] + data[at + rng.randint(1, 200) :]
        elif kind == 3:
            data = data.replace(b"\n", b"\r\n")
        elif kind == 4:
            data = b"\xef\xbb\xbf" + data
        elif kind == 5:
            other = rng.randrange(len(data) + 1)
            data = data[:at] + data[other : other + rng.randint(1, 400)] + data[at:]
        else:
            data = data[:at] + bytes(b ^ 32 for b in data[at : at + 3]) + data[at + 3 :]
    return data
