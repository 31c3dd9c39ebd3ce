"""Values of unsure type: nothing raises, nothing is guessed."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from leftoff.formats import lenient_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


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
