"""What edits change: lines, places, symbols, the last hunk, committed or not."""

from __future__ import annotations

import json
from typing import Any

import leftoff
from leftoff.summary import ContextSummary, FileModification


def session(*calls: tuple[str, dict[str, Any], str]) -> ContextSummary:
    """A Claude Code session of these calls: name, arguments, result ("!" for an error)."""
    lines: list[dict[str, Any]] = [
        {
            "type": "user",
            "uuid": "u0",
            "sessionId": "s",
            "cwd": "/p",
            "timestamp": "2026-01-02T10:00:00Z",
            "message": {"role": "user", "content": "Change the parser."},
        }
    ]
    for n, (name, given, result) in enumerate(calls):
        use = {"type": "tool_use", "id": f"t{n}", "name": name, "input": given}
        back = {
            "type": "tool_result",
            "tool_use_id": f"t{n}",
            "content": result.lstrip("!"),
            "is_error": result.startswith("!"),
        }
        lines += [
            {
                "type": "assistant",
                "uuid": f"a{n}",
                "parentUuid": f"u{n}",
                "sessionId": "s",
                "cwd": "/p",
                "timestamp": "2026-01-02T10:00:01Z",
                "message": {"id": f"m{n}", "role": "assistant", "content": [use]},
            },
            {
                "type": "user",
                "uuid": f"u{n + 1}",
                "parentUuid": f"a{n}",
                "sessionId": "s",
                "cwd": "/p",
                "timestamp": "2026-01-02T10:00:02Z",
                "message": {"role": "user", "content": [back]},
            },
        ]
    reading = leftoff.Pass()
    reading.feed("".join(f"{json.dumps(line)}\n" for line in lines).encode())
    return reading.summary()


def edit(path: str, old: str, new: str, result: str = "ok") -> tuple[str, dict[str, Any], str]:
    return "Edit", {"file_path": path, "old_string": old, "new_string": new}, result


def file(summary: ContextSummary, path: str) -> FileModification:
    return next(f for f in summary.file_modifications if f.path == path)


def test_a_secret_in_an_edit_does_not_reach_the_hunk() -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    found = file(session(edit("/p/a.py", "t = ''", f"t = '{secret}'")), "a.py")
    assert secret not in found.hunk
    assert "REDACTED" in found.hunk
