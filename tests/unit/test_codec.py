"""What damaged bytes become: every case is a line that a recorder, a crash or a disk made."""

import pytest
from msgspec import Struct

from leftoff import codec
from leftoff.formats.claude_code_records import Line

DECODER = codec.LineDecoder(Line)


def test_nesting_beyond_reason_is_refused_not_followed() -> None:
    deep = b'{"type":"a","content":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert DECODER.decode(deep) == ([], ("too_deep",))


def test_a_line_of_braces_is_answered_at_once() -> None:
    records, codes = DECODER.decode(b"{" * 200_000)
    assert records == []
    assert "cut" in codes


def test_a_state_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match=r".+"):
        codec.unpack_state(b"\x00\x01", Line)


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
