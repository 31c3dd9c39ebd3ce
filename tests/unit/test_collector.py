"""The pass itself: feeding, accounting, saving, refusing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leftoff import FormatError, Pass, StateError
from leftoff import codec as door
from leftoff.analysis.summary_json import to_json
from leftoff.extraction.collector import State

HEAD = {"leftoff": "session/1", "id": "s-1", "cwd": "/w"}


def native(*texts: str) -> bytes:
    lines = [json.dumps(HEAD)]
    for number, words in enumerate(texts):
        role = "user" if number % 2 == 0 else "assistant"
        lines.append(json.dumps({"role": role, "text": words}))
    return "\n".join(lines).encode() + b"\n"


def test_an_unterminated_line_is_read_for_the_summary_and_not_kept() -> None:
    data = native("Fix it.", "Done.")
    reading = Pass(format="leftoff")
    reading.feed(data[:-1])
    assert reading.summary().stats.message_count == 2
    assert reading.offset == data.index(b"\n", data.index(b"Fix")) + 1
    reading.feed(b"\n")
    assert reading.offset == len(data)
    assert reading.summary().stats.message_count == 2


def test_a_half_written_line_is_skipped_and_said_so() -> None:
    data = native("Fix it.", "Done.")
    reading = Pass()
    reading.feed(data[:-8])
    got = reading.summary()
    assert got.stats.message_count == 1
    assert got.stats.lines.skipped == 1
    assert [(i.code, i.places) for i in got.issues] == [("cut", ("line 3",))]


def test_every_line_is_accounted_for() -> None:
    data = native("Fix it.", "Done.") + (
        b"\n"
        b'{"role":"user","text":"a"}{"role":"assistant","text":"b"}\n'
        b"not json\n"
        b'{"role":"oracle","text":"?"}\n'
        b"\x00\x00\x00\n"
    )
    reading = Pass()
    reading.feed(data)
    lines = reading.summary().stats.lines
    assert (lines.total, lines.parsed, lines.repaired, lines.unknown, lines.skipped) == (
        8,
        3,
        1,
        1,
        3,
    )


def test_a_line_that_is_too_long_is_skipped_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "MAX_LINE", 200)
    data = native("Fix it.")
    long = json.dumps({"role": "user", "text": "x" * 5000}).encode() + b"\n"
    rest = json.dumps({"role": "user", "text": "Add a test for the parser."}).encode() + b"\n"
    for step in (1, 100, 1 << 20):
        reading = Pass(format="leftoff")
        whole = data + long + rest
        for start in range(0, len(whole), step):
            reading.feed(whole[start : start + step])
        got = reading.summary()
        assert [r.text for r in got.user_requests] == ["Fix it.", "Add a test for the parser."]
        assert [(i.code, i.severity, i.places) for i in got.issues] == [
            ("line_too_long", "error", ("line 3",))
        ]
        assert reading.offset == len(whole)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty, no message"),
        (b"\n\n  \n", "empty, no message"),
        (bytes(range(256)) * 20, "binary data"),
        (b"Dear diary,\ntoday nothing happened.\n", "no transcript in a known format"),
        (b'{"leftoff":"session/1"}\n', "no message in it"),
        (b'{"a": 1}\n{"b": 2}\n', r"no transcript in a known format; tried all \d+"),
        (b'{"messages": [{"role": "user"', "no transcript in a known format"),
        (b"[" * 100_000, "no transcript in a known format"),
    ],
)
def test_what_is_no_recording_is_refused_with_what_was_tried(data: bytes, words: str) -> None:
    reading = Pass("diary.txt")
    with pytest.raises(FormatError, match=rf"^diary\.txt: .*{words}"):
        reading.feed(data)
        reading.summary()


def test_a_document_is_read_as_one() -> None:
    messages = [
        {"role": "user", "content": "Rename the flag."},
        {"role": "assistant", "content": "Done."},
    ]
    data = json.dumps(messages, indent=2).encode()
    reading = Pass()
    for number in range(0, len(data), 7):
        reading.feed(data[number : number + 7])
    got = reading.summary()
    assert got.session.format == "chat"
    assert got.user_requests[0].ref.item == 0
    assert got.user_requests[0].ref.line is None
    assert reading.save().offset == 0  # a document has no state between its ends


def test_a_saved_pass_goes_on_where_it_was() -> None:
    data = native("Fix it.", "I'll go with a lock file.", "Good.", "Done.")
    whole = Pass()
    whole.feed(data)
    for cut in range(0, len(data), 11):
        first = Pass()
        first.feed(data[:cut])
        state = first.save()
        second = Pass.load(state)
        second.feed(data[state.offset :])
        assert to_json(second.summary()) == to_json(whole.summary())


def test_a_damaged_state_is_refused() -> None:
    reading = Pass(format="leftoff")
    reading.feed(native("Fix it."))
    state = reading.save()
    with pytest.raises(StateError, match="damaged"):
        Pass.load(State(state.offset, state.head[:-9], state.thread, state.evidence))


def test_asking_for_a_summary_changes_nothing() -> None:
    data = native("Fix it.", "I'll go with a lock file.", "Good.", "Done.")
    quiet, asked = Pass(), Pass()
    for number in range(len(data)):
        quiet.feed(data[number : number + 1])
        asked.feed(data[number : number + 1])
        if number % 40 == 39 and number > 110:
            asked.summary()
    assert to_json(quiet.summary()) == to_json(asked.summary())


def test_places_of_an_issue_are_bounded() -> None:
    reading = Pass(format="leftoff")
    reading.feed(native("Fix it.") + b"no\n" * 100)
    (issue,) = reading.summary().issues
    assert issue.count == 100
    assert len(issue.places) == 20


def test_a_line_of_several_records_counts_once() -> None:
    """A request log holds a whole conversation on a line: two unknown roles in it made two
    unknown lines of one."""
    request = {
        "type": "request",
        "timestamp": "t",
        "request_params": {
            "model": "m",
            "messages": [
                {"role": "user", "content": "Fix it."},
                {"role": "oracle", "content": "?"},
                {"role": "omen", "content": "!"},
            ],
        },
    }
    response = {
        "type": "response",
        "response": {"choices": [{"message": {"role": "assistant", "content": "Done."}}]},
    }
    reading = Pass()
    reading.feed(json.dumps(request).encode() + b"\n" + json.dumps(response).encode() + b"\n")
    lines = reading.summary().stats.lines
    assert lines.total == lines.parsed + lines.unknown + lines.repaired + lines.skipped == 2


def test_a_recorder_that_changed_its_format_is_noticed() -> None:
    known: list[dict[str, Any]] = [
        {
            "type": "user",
            "uuid": f"u{n}",
            "parentUuid": None,
            "sessionId": "s",
            "version": "9.9.9",
            "message": {"role": "user", "content": "Fix it."},
        }
        for n in range(20)
    ]
    odd: list[dict[str, Any]] = [
        {"type": "hologram", "sessionId": "s"},
        {"type": "omen", "sessionId": "s"},
    ]

    def issues(lines: list[dict[str, Any]]) -> list[tuple[str, str]]:
        reading = Pass(format="claude_code")
        reading.feed(b"".join(json.dumps(one).encode() + b"\n" for one in lines))
        return [(i.code, i.what) for i in reading.summary().issues if i.severity == "error"]

    assert issues(known + odd) == []
    ((code, what),) = issues(known + odd * 2)
    assert code == "drift"
    assert what == (
        "4 of 24 lines are of kinds that leftoff does not know (hologram, omen); "
        "recorded by version 9.9.9"
    )
