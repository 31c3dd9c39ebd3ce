"""Values of unsure type: nothing raises, nothing is guessed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.formats import lenient_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@pytest.mark.parametrize(
    "value, time",
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
        (1_700_000_000_123.4, "2023-11-14T22:13:20.123Z"),
        (10**30, ""),
        (float("nan"), ""),
        (float("inf"), ""),
        (True, ""),
        ("1700000000123", ""),
        (None, ""),
    ],
)
def test_milliseconds(value: Any, time: str) -> None:
    assert lenient_json.time_of_ms(value) == time


@pytest.mark.parametrize(
    "value, count", [(5, 5), (0, 0), (-1, 0), (True, 0), (1.5, 0), ("5", 0), (None, 0)]
)
def test_counts(value: Any, count: int) -> None:
    assert lenient_json.count_of(value) == count


@pytest.mark.parametrize(
    "value, identity",
    [("c1", "c1"), ("REDACTED", ""), ("[REDACTED]", ""), (7, ""), ("", "")],
)
def test_a_blacked_out_id_is_none(value: Any, identity: str) -> None:
    assert lenient_json.known_id(value) == identity


def test_items_keep_their_own_bytes() -> None:
    fields = lenient_json.fields_of(b'{"a": [ {"b": 1},7 , "x"], "c": null}')
    assert [bytes(i) for i in lenient_json.items_of(fields["a"])] == [b'{"b": 1}', b"7", b'"x"']
    assert lenient_json.items_of(fields["c"]) == []
    assert lenient_json.value_of(fields["c"]) is None


@given(st.binary(max_size=20))
def test_any_bytes_are_taken_apart(data: bytes) -> None:
    assert isinstance(lenient_json.fields_of(data), dict)
    assert isinstance(lenient_json.items_of(data), list)


@given(JSON)
def test_any_value_is_taken(value: Any) -> None:
    assert isinstance(lenient_json.text_of(value), str)
    assert isinstance(lenient_json.known_id(value), str)
    assert isinstance(lenient_json.dict_of(value), dict)
    assert all(isinstance(v, dict) for v in lenient_json.dicts_of(value))
    assert lenient_json.count_of(value) >= 0
    assert isinstance(lenient_json.time_of_ms(value), str)
