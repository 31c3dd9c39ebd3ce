"""A pi session that was copied has the time of the copy in its header, after its messages; the
screen said that it took 0 s and began after it had ended."""

import json

from leftoff.analysis.session_pass import Pass


def test_a_start_after_the_end_is_no_start() -> None:
    reading = Pass("kettle.jsonl", "pi")
    message = {"role": "user", "content": [{"type": "text", "text": "Boil the water."}]}
    for line in (
        {"type": "session", "version": 3, "id": "k", "timestamp": "2026-01-02T10:00:00.000Z"},
        {"type": "message", "id": "a", "timestamp": "2026-01-02T09:00:00.000Z"}
        | {"message": message},
    ):
        reading.feed(json.dumps(line).encode() + b"\n")
    summary = reading.summary()
    assert (summary.session.started, summary.stats.duration_seconds) == ("", None)
    assert summary.session.ended.startswith("2026-01-02T09")
