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


def test_committed_needs_a_commit_after_the_last_change_that_included_the_file() -> None:
    def commit(command: str) -> tuple[str, dict[str, Any], str]:
        return "Bash", {"command": command}, "[main 1a2b3c4] Change x\n 1 file changed"

    before = session(edit("/p/a.py", "1", "2"))
    named = session(
        edit("/p/a.py", "1", "2"), commit("git add a.py && git commit -m 'Change x'")
    )
    everything = session(edit("/p/a.py", "1", "2"), commit("git commit -am 'Change x'"))
    other = session(
        edit("/p/a.py", "1", "2"), commit("git add b.py && git commit -m 'Change x'")
    )
    later = session(commit("git commit -am 'Change x'"), edit("/p/a.py", "1", "2"))
    assert [file(s, "a.py").committed for s in (before, named, everything, other, later)] == [
        False,
        True,
        True,
        None,
        False,
    ]


def test_a_secret_in_an_edit_does_not_reach_the_hunk() -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    found = file(session(edit("/p/a.py", "t = ''", f"t = '{secret}'")), "a.py")
    assert secret not in found.hunk
    assert "REDACTED" in found.hunk
