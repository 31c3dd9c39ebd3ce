"""A field of a kind that no recorder writes is answered, not crashed on.

Varying small recordings of every format found, in one evening: an origin of leftoff's own lines
that is none was looked up in a table (KeyError); a tool's `command` that is an object was looked
up in a set (TypeError); a document read with `--format chat` or `--format agent_messages` that is
no list raised what the decoder raises; an id like a UUID whose half begins with a dash was
a negative number where only positive ones are kept (OverflowError); and the ids of one column,
where each had four dashes but not in the usual places, were packed otherwise than one by one, so
that an answer lost its question.
"""

import pytest

from leftoff import Pass
from leftoff.formats.thread import key64, keys64
from leftoff.testing.checks import check_any_input, check_prefix


def test_an_id_whose_half_has_a_sign_has_a_key() -> None:
    signed = "00000000-0000-4000--123-00000000000f"
    assert len(signed) == 36
    assert 0 < key64(signed) < 2**64
    assert list(keys64([signed])) == [key64(signed)]


def test_ids_with_dashes_elsewhere_have_the_same_key_in_a_column() -> None:
    odd = "0000-0000-0000-0000-0000000000000001"
    plain = "00000000-0000-4000-8000-000000000001"
    assert list(keys64([odd])) == [key64(odd)] == list(keys64([odd, ""]))[:1]
    assert list(keys64([odd, plain])) == [key64(odd), key64(plain)]


HUGE = (10**30, -(10**30), 10**400, -1)


@pytest.mark.parametrize("count", HUGE)
def test_counts_that_cannot_be_are_ignored_and_told(count: int) -> None:
    """A token count of thirty digits could be neither divided nor saved (OverflowError)."""
    data = b"""\
{"leftoff": "session/1", "id": "s", "window": %d}
{"role": "user", "text": "Sort the invoices."}
{"role": "assistant", "text": "Sorted.", "response": "r", "usage": {"input": %d, "output": 7}}
{"role": "assistant", "text": "Twice.", "response": "q", "usage": {"input": 90, "output": 7}}
""" % (count, count)
    reading = Pass("s", "leftoff")
    reading.feed(data)
    again = Pass.load(reading.save(), "s")
    summary = again.summary()
    assert summary.context.spend.input == 90
    assert summary.context.window is None
    assert [issue.code for issue in summary.issues] == ["odd_count"]


@pytest.mark.parametrize("code", [10**30, -(10**30)])
def test_an_exit_code_that_cannot_be_is_none(code: int) -> None:
    data = (
        b"""\
{"leftoff": "session/1", "id": "s"}
{"role": "user", "text": "Sort the invoices."}
{"role": "assistant", "parts": [{"call": {"id": "c", "name": "Bash", "input": {"command": "ls"}}}]}
{"role": "tool", "parts": [{"result": {"call_id": "c", "text": "x", "exit_code": %d}}]}
"""
        % code
    )
    check_prefix(data, len(data) - 3, "leftoff")
    assert check_any_input(data, "leftoff") is not None


@pytest.mark.parametrize(
    "deep", [b"[" * 450 + b'"x"' + b"]" * 450, b'{"a":' * 450 + b"1" + b"}" * 450]
)
def test_a_result_that_is_nested_without_end(deep: bytes) -> None:
    """The words of agent messages' results were looked for as deep as they went."""
    data = (
        b"""\
[{"type": "user", "content": [{"type": "text", "text": "Go."}]},
{"type": "user", "content": [{"type": "tool_result", "toolName": "x", "toolResult": %s}]}]
"""
        % deep
    )
    assert check_any_input(data, "agent_messages") is not None
