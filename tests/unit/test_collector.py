"""The pass itself: feeding, accounting, saving, refusing."""

import json

import pytest

from leftoff import Pass
from leftoff import codec as door
from leftoff.analysis.summary_json import to_json

HEAD = {"leftoff": "session/1", "id": "s-1", "cwd": "/w"}


def native(*texts: str) -> bytes:
    lines = [json.dumps(HEAD)]
    for number, words in enumerate(texts):
        role = "user" if number % 2 == 0 else "assistant"
        lines.append(json.dumps({"role": role, "text": words}))
    return "\n".join(lines).encode() + b"\n"


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


def test_asking_for_a_summary_changes_nothing() -> None:
    data = native("Fix it.", "I'll go with a lock file.", "Good.", "Done.")
    quiet, asked = Pass(), Pass()
    for number in range(len(data)):
        quiet.feed(data[number : number + 1])
        asked.feed(data[number : number + 1])
        if number % 40 == 39 and number > 110:
            asked.summary()
    assert to_json(quiet.summary()) == to_json(asked.summary())
