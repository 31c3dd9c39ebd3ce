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

from leftoff import FormatError, Pass
from leftoff.formats.thread import key64, keys64
from leftoff.testing.checks import check_any_input, check_prefix


@pytest.mark.parametrize("origin", ["tool", "nobody", "", "PROMPT"])
def test_an_origin_that_is_none_is_left_aside(origin: str) -> None:
    data = b"""{"leftoff": "session/1", "id": "s"}
{"role": "user", "text": "Sort the invoices.", "origin": "%s"}
{"role": "assistant", "text": "Sorted."}
""" % origin.encode()
    assert check_any_input(data, "leftoff") is not None


@pytest.mark.parametrize("command", ["{}", "[]", '["view", 1]', "7", "null", '{"create": {}}'])
def test_the_verb_of_an_editor_is_text_or_nothing(command: str) -> None:
    data = b"""\
{"role": "user", "content": "Look at a.py."}
{"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "str_replace_editor", \
"input": {"command": %s, "path": "/p/a.py"}}]}
{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]}
""" % command.encode()
    assert check_any_input(data, "chat_lines") is not None


@pytest.mark.parametrize(
    "name", ["chat", "agent_messages", "openai_rows", "cline", "langchain"]
)
@pytest.mark.parametrize(
    "document", ["7", '"text"', "null", "{}", "[]", "[[]]", '{"messages": 7}']
)
def test_a_document_of_another_shape_is_refused_in_words(name: str, document: str) -> None:
    reading = Pass("here.json", name)
    reading.feed(document.encode())
    with pytest.raises(FormatError, match=r"here\.json: "):
        reading.close()


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


@pytest.mark.parametrize("end", [b"}", b', "x": NaN}'])
def test_what_a_reader_refuses_is_told_with_its_file(end: bytes) -> None:
    """A reader does not know the file's name: a version of our own lines was refused without."""
    reading = Pass("kept/s.jsonl", "leftoff")
    with pytest.raises(FormatError, match=r"^kept/s\.jsonl: .*leftoff"):
        reading.feed(b'{"leftoff": "session/9", "id": "s"' + end + b"\n")


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
