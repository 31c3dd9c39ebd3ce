"""What damaged bytes become: every case is a line that a recorder, a crash or a disk made."""

from typing import Any

import pytest
from msgspec import Struct

from leftoff import codec


class Inner(Struct):
    text: str = ""
    number: int | None = None


class Record(Struct):
    type: str = ""
    count: int = 0
    inner: Inner | None = None
    items: list[Inner] | None = None
    anything: Any = None


DECODER = codec.LineDecoder(Record)


def decoded(line: bytes) -> tuple[list[Record], tuple[str, ...]]:
    return DECODER.decode(line)


@pytest.mark.parametrize(
    ("line", "types", "codes"),
    [
        (b'{"type":"a"}\n', ["a"], ()),
        (b'{"type":"a"}\r\n', ["a"], ()),
        (b'\xef\xbb\xbf{"type":"a"}\n', ["a"], ("bom",)),
        (b'\x00\x00{"type":"a"}\x00\n', ["a"], ("nul",)),
        (b'{"type":"a"}{"type":"b"}\n', ["a", "b"], ("glued",)),
        (b'{"type":"a"} {"type":"b"} {"type":"c"}\n', ["a", "b", "c"], ("glued",)),
        (b'{"type":"a\xff"}\n', ["a�"], ("invalid_utf8",)),
        (b'{"type":"a\\ud800"}\n', ["a�"], ("surrogate",)),
        (b'{"type":"a","anything":NaN}\n', ["a"], ("not_a_number",)),
        (b'{"type":"a","anything":1e999}\n', ["a"], ("not_a_number",)),
        (b'{"type":"a\tb"}\n', ["a\tb"], ("control_character",)),
        (b'{"type":"a","type":"b"}\n', ["b"], ()),
        (b'{"type":"a","count":"many"}\n', ["a"], ("field_type",)),
        (b'{"type":["a"],"count":3}\n', [""], ("field_type",)),
        (b'{"type":"a","anything":123456789012345678901234567890}\n', ["a"], ()),
        (b"// a comment\n", [], ("no_json",)),
        (b"[1, 2]\n", [], ("not_a_record",)),
        (b'{"type":"a"', [], ("cut",)),
        (b"17\n", [], ("no_json",)),
        ('{"type":"a\u2028b"}\n'.encode(), ["a\u2028b"], ()),
    ],
)
def test_a_damaged_line_gives_what_can_be_saved(
    line: bytes, types: list[str], codes: tuple[str, ...]
) -> None:
    records, found = decoded(line)
    assert [r.type for r in records] == types
    assert found == codes


def test_nesting_beyond_reason_is_refused_not_followed() -> None:
    deep = b'{"type":"a","anything":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert decoded(deep) == ([], ("too_deep",))


def test_a_wrong_field_costs_only_itself() -> None:
    records, codes = decoded(
        b'{"type":"a","inner":{"text":5,"number":7},"items":[{"text":"x"},{"text":1},3]}'
    )
    assert codes == ("field_type",)
    assert records[0].inner == Inner(text="", number=7)
    assert records[0].items == [Inner(text="x"), Inner(text="")]


def test_numbers_that_json_lacks_become_none() -> None:
    records, _ = decoded(b'{"type":"a","anything":[NaN,-Infinity,1.5]}')
    assert records[0].anything == [None, None, 1.5]


def test_a_line_of_braces_is_answered_at_once() -> None:
    records, codes = decoded(b"{" * 200_000)
    assert records == []
    assert "cut" in codes


def test_states_survive_freezing() -> None:
    assert codec.unpack_state(codec.pack_state(Inner("x", 2)), Inner) == Inner("x", 2)
    with pytest.raises(ValueError, match=r".+"):
        codec.unpack_state(b"\x00\x01", Inner)


class _Inner(Struct, frozen=True):
    name: str
    when: int | None = None


class _Outer(Struct, frozen=True, rename="camel"):
    two_words: tuple[_Inner, ...]
    by_number: dict[str, _Inner]


class _Sparse(Struct, frozen=True, omit_defaults=True, tag=True):
    name: str
    when: int | None = None


def test_a_struct_is_written_as_its_plain_values_are() -> None:
    value = _Outer((_Inner("a"), _Inner("b", 2)), {"x": _Inner("c")})
    assert codec.dumps(value) == codec.dumps(codec.to_builtins(value))
    sparse = {"one": _Sparse("d"), "two": [_Sparse("e", 3)]}
    assert codec.dumps(sparse) == codec.dumps(codec.to_builtins(sparse))
