"""What edits change: lines, places, symbols, the last hunk, committed or not."""

from __future__ import annotations

import json
import re
from typing import Any

import leftoff
from leftoff.api import create_context_summary
from leftoff.rendering.render_summary import render
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


def test_an_edit_counts_the_lines_that_differ_and_names_what_it_defines() -> None:
    old = "def read(text):\n    return text\n"
    new = "def read(text):\n    return text.strip()\n\n\ndef write(rows):\n    return rows\n"
    found = file(session(edit("/p/src/io.py", old, new)), "src/io.py")
    assert (found.added, found.removed) == (5, 1)
    assert found.symbols == ("write",)
    assert found.hunk.startswith("+    return text.strip()")


def test_counts_add_up_over_edits_and_failed_ones_do_not_count() -> None:
    summary = session(
        edit("/p/a.py", "x = 1", "x = 2"),
        edit("/p/a.py", "y = 1", "y = 2\nz = 3", "!String to replace not found"),
        edit("/p/a.py", "y = 1", "y = 2"),
    )
    found = file(summary, "a.py")
    assert (found.added, found.removed) == (2, 2)
    assert found.hunk == "+y = 2"
    assert found.last_message == 5


def test_a_patch_gives_places_and_each_of_its_files() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: src/a.ts\n@@ -3,2 +3,3 @@\n context\n"
        "-const a = 1\n+const a = 2\n+export function b() {}\n"
        "*** Add File: src/new.ts\n+export class New {}\n*** End Patch"
    )
    summary = session(("apply_patch", {"input": patch}, "Success"))
    changed, added = file(summary, "src/a.ts"), file(summary, "src/new.ts")
    assert (changed.added, changed.removed, changed.symbols) == (2, 1, ("b",))
    assert changed.lines == (4, 5)
    assert (added.added, added.removed, added.symbols) == (1, 0, ("New",))


def test_a_secret_in_an_edit_does_not_reach_the_hunk() -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    found = file(session(edit("/p/a.py", "t = ''", f"t = '{secret}'")), "a.py")
    assert secret not in found.hunk
    assert "REDACTED" in found.hunk


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


def test_the_last_calls_are_listed_with_their_outcomes() -> None:
    summary = session(
        edit("/p/a.py", "1", "2"),
        ("Bash", {"command": "pytest -q"}, "!Exit code 1\n1 failed in 0.1s"),
    )
    calls = summary.working_set.calls
    assert [(c.tool, c.text, c.status) for c in calls] == [
        ("Edit", "/p/a.py", "ok"),
        ("Bash", "pytest -q", "failed"),
    ]
    assert calls[1].line


def counts(found: FileModification) -> tuple[int | None, int | None]:
    return found.added, found.removed


def write(path: str, text: str, result: str) -> tuple[str, dict[str, Any], str]:
    return "Write", {"file_path": path, "content": text}, result


def test_lines_are_summed_only_where_every_change_shows_them() -> None:
    new, old = "File created successfully at: /p/a.py", "The file /p/a.py has been updated."
    created = file(session(write("/p/a.py", "x\ny\n", new), edit("/p/a.py", "x", "z")), "a.py")
    assert (created.action, counts(created)) == ("created", (3, 1))
    twice = session(write("/p/a.py", "x\ny\n", new), write("/p/a.py", "x\nz\n", old))
    assert counts(file(twice, "a.py")) == (None, None)
    there = file(session(write("/p/a.py", "x\ny\n", old), edit("/p/a.py", "x", "z")), "a.py")
    assert (there.action, there.certainty, counts(there)) == ("modified", "sure", (None, None))
    assert there.hunk == "+z"
    by_command = session(
        edit("/p/a.py", "x", "z"), ("Bash", {"command": "sed -i s/z/y/ a.py"}, "")
    )
    assert counts(file(by_command, "a.py")) == (None, None)
    everywhere = edit("/p/a.py", "x", "z")
    everywhere[1]["replace_all"] = True
    assert counts(file(session(everywhere), "a.py")) == (None, None)


def test_looking_at_a_file_from_a_shell_is_no_later_change() -> None:
    looked = ("Bash", {"command": "cat a.py"}, "z")
    found = file(session(edit("/p/a.py", "x", "z"), looked), "a.py")
    assert (found.last_message, counts(found)) == (1, (1, 1))


def test_files_that_a_merge_brings_in_are_not_the_sessions() -> None:
    pulled = (
        "Updating 1a2b3c4..5d6e7f8\nFast-forward\n a.py | 2 +-\n b.py | 3 +++\n"
        " 2 files changed\n create mode 100644 b.py\n"
    )
    summary = session(
        ("Bash", {"command": "git pull"}, pulled),
        edit("/p/b.py", "x", "z"),
    )
    assert [(f.path, f.action) for f in summary.file_modifications] == [("b.py", "modified")]


def test_a_deleted_folder_that_is_written_to_again_is_not_told_as_deleted() -> None:
    summary = session(
        ("Bash", {"command": "rm -rf out/"}, ""),
        write("/p/out/a.txt", "x\n", "File created successfully at: /p/out/a.txt"),
    )
    assert [f.path for f in summary.file_modifications] == ["out/a.txt"]


def test_a_file_that_a_subagent_changed_names_no_message_of_the_main_thread() -> None:
    """A subagent in the same recording numbers its own messages, from 0."""

    def line(number: int, role: str, content: Any, *, side: bool = False) -> dict[str, Any]:
        return {
            "type": role,
            "sessionId": "5e551011-0000-4000-8000-000000000000",
            "uuid": f"{number:08d}-0000-4000-8000-{number:012d}",
            "parentUuid": f"{number - 1:08d}-0000-4000-8000-{number - 1:012d}"
            if number
            else None,
            "isSidechain": side,
            "agentId": "a1b2c3d" if side else "",
            "cwd": "/home/dev/shop",
            "message": {"role": role, "content": content},
        }

    def edit(number: int, path: str, *, side: bool) -> list[dict[str, Any]]:
        given = {"file_path": path, "old_string": "a", "new_string": "b"}
        call = {"type": "tool_use", "id": f"t{number}", "name": "Edit", "input": given}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "ok"}
        return [
            line(number, "assistant", [call], side=side),
            line(number + 1, "user", [result], side=side),
        ]

    lines = [
        line(0, "user", "Rename it"),
        *edit(1, "/home/dev/shop/own.py", side=False),
        line(3, "user", "Look for other places", side=True),
        *edit(4, "/home/dev/shop/theirs.py", side=True),
    ]
    summary = create_context_summary(lines)
    found = {f.path: f.last_message for f in summary.file_modifications}
    assert found == {"own.py": 1, "theirs.py": -1}
    shown = render(summary, "text")
    assert "own.py  edits +1 -1 #2" in shown
    assert re.search(r"theirs\.py .*by a subagent$", shown, re.MULTILINE)
