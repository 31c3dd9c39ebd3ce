"""`budget --watch` knew a recording that was written anew only by its becoming shorter. One that
was replaced by a longer file, or emptied and at once longer again, was read on from the middle:
the account mixed two sessions. Now a file is known by itself and by both ends of what was read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leftoff.budget.thresholds import preset
from leftoff.incremental.accounts import AccountFollower, account_of


def session(name: str, calls: int) -> str:
    lines = []
    for n in range(calls):
        usage = {"input_tokens": 1000 * n, "output_tokens": 9}
        message = {"role": "assistant", "id": f"{name}{n}", "content": "Done.", "usage": usage}
        message |= {"model": "claude-opus-4-6", "type": "message"}
        line: dict[str, object] = {"type": "assistant", "uuid": f"u{n}", "sessionId": name}
        line["message"] = message
        line |= {"parentUuid": None, "timestamp": "2026-01-01T00:00:00Z"}
        lines.append(json.dumps(line) + "\n")
    return "".join(lines)


@pytest.mark.parametrize("how", ["in place", "replaced", "recreated"])
def test_a_longer_file_in_its_place_is_another_recording(how: str, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(session("one", 30))
    advisory = preset("advisory")
    following = AccountFollower(str(path), advisory)
    first = following.changed()
    assert first is not None
    assert first.id == "one"
    if how == "replaced":
        other = tmp_path / "other"
        other.write_text(session("another", 60))
        other.replace(path)
    else:
        if how == "recreated":
            path.unlink()
        path.write_text(session("another", 60))
    assert following.changed() == account_of(str(path), advisory)
    with path.open("a") as file:
        file.write(session("another", 70)[len(session("another", 60)) :])
    assert following.changed() == account_of(str(path), advisory)
    assert following.changed() is None
