"""Commits, pushes, pull requests, merges and tags: by the output of the command that made them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import leftoff
from leftoff.analysis.git import git_events, last_commit
from leftoff.analysis.git_commands import git_steps
from leftoff.extraction.collector import Collector
from leftoff.session_view import SessionView
from leftoff.summary import GitEvent

Line = tuple[str, Any]


def session(*lines: Line) -> SessionView:
    """A session of ("user" | "agent", content) lines, after one prompt."""
    reading = Collector("test", "claude_code")
    for number, (who, content) in enumerate([("user", "Go on."), *lines]):
        record = {
            "type": "user" if who == "user" else "assistant",
            "uuid": f"u{number}",
            "sessionId": "s",
            "message": {"id": f"r{number}", "role": "user" if who == "user" else "assistant",
                        "content": content},
        }  # fmt: skip
        reading.feed(json.dumps(record).encode() + b"\n")
    reading.close()
    return SessionView(reading.sessions[-1][""])


def ran(command: str, output: str, *, failed: bool = False, name: str = "Bash") -> list[Line]:
    ran.number = getattr(ran, "number", 0) + 1  # type: ignore[attr-defined]
    key = f"c{ran.number}"  # type: ignore[attr-defined]
    given = {"command": command} if name == "Bash" else {"title": command}
    use = {"type": "tool_use", "id": key, "name": name, "input": given}
    back = {"type": "tool_result", "tool_use_id": key, "content": output, "is_error": failed}
    return [("agent", [use]), ("user", [back])]


def said(words: str) -> Line:
    return "agent", [{"type": "text", "text": words}]


def events(*lines: Line) -> list[GitEvent]:
    return list(git_events(session(*lines)))


COMMIT = (
    "[next 3f2a1bc] Read the table once, and never again\n 2 files changed, 4 insertions(+)"
)
PUSH = "To github.com:example/reader.git\n   1a2b3c4..3f2a1bc  next -> next"


def test_a_commit_has_its_whole_subject_its_hash_and_its_branch() -> None:
    (found,) = events(*ran('git commit -m "Read the table once, and never again"', COMMIT))
    assert (found.kind, found.text) == ("commit", "Read the table once, and never again")
    assert (found.hash, found.branch, found.shown) == ("3f2a1bc", "next", True)


def test_spaces_before_a_subject_are_no_part_of_it() -> None:
    (found,) = events(
        *ran("git commit -F msg", "[next 3f2a1bc]    1 Read less\n 1 file changed")
    )
    assert (found.text, found.hash) == ("1 Read less", "3f2a1bc")


def test_a_repository_that_is_created_may_be_pushed() -> None:
    shown = "To https://example.com/a/b.git\n * [new branch]      HEAD -> main"
    (found,) = events(*ran("gh repo create b --source=. --push 2>&1 | tail -3", shown))
    assert (found.kind, found.branch) == ("push", "main")


def test_one_commit_is_one_event_though_it_is_shown_and_said() -> None:
    found = events(
        *ran('git commit -m "x"', COMMIT),
        *ran("git log --oneline -1", "3f2a1bc Read the table once, and never again"),
        said("Committed as 3f2a1bc."),
    )
    assert [e.kind for e in found] == ["commit"]


@pytest.mark.parametrize(
    "command, output, failed",
    [
        ("git log --format='[%D %h] %s' -1", "[next 3f2a1bc] Read the table", False),
        ("cat notes.txt", COMMIT, False),
        ('git commit -m "x"', "ruff....Failed\n- hook id: ruff\n- exit code: 1", True),
        ('git commit -m "x"', "On branch next\nnothing to commit, working tree clean", True),
        ("git commit --dry-run -q", "", False),
        ("git pull", "From github.com:example/reader\n   1a2b3c4..3f2a1bc  next -> origin/next",
         False),
        ("git fetch", "   1a2b3c4..3f2a1bc  next -> origin/next", False),
        ("git push", "Everything up-to-date", False),
        ("git push", "To x\n ! [rejected]  next -> next (fetch first)\nerror: failed", True),
        ("git tag -l", "v1.0", False),
        ("gh pr list", "https://example.com/a/b/pull/7", False),
        ("gh pr edit 7 --title x", "https://example.com/a/b/pull/7", False),
        ("gh pr create --title x", "https://example.com/a/b/pull/7 already exists", True),
        ("./demo.sh", "To /tmp/demo/source.git\n * [new branch]      main -> main", False),
    ],
)  # fmt: skip
def test_what_made_nothing_is_no_event(command: str, output: str, failed: bool) -> None:
    assert events(*ran(command, output, failed=failed)) == []


def test_an_amended_commit_replaces_the_one_before_it() -> None:
    found = events(
        *ran('git commit -m "x"', COMMIT),
        *ran(
            "git commit --amend --no-edit",
            "[next 9a8b7c6] Read the table once\n 1 file changed",
        ),
    )
    assert [(e.hash, e.text) for e in found] == [("9a8b7c6", "Read the table once")]


def test_a_push_says_what_went_where() -> None:
    commit, push = events(*ran("git commit -am x && git push", COMMIT + "\n" + PUSH))
    assert (push.kind, push.text, push.branch) == ("push", "next -> next", "next")
    assert (push.remote, push.hash) == ("github.com:example/reader.git", "3f2a1bc")
    assert commit.kind == "commit"


def test_a_push_after_a_pull_is_told_from_it_by_the_headings() -> None:
    output = "From github.com:example/reader\n   1a2b3c4..2b3c4d5  main -> main\n" + PUSH
    assert [e.text for e in events(*ran("git pull && git push", output))] == ["next -> next"]


def test_quiet_commits_count_where_the_exit_status_or_a_log_shows_them() -> None:
    heredoc = "git commit -q -F - <<'EOF'\nRead less\n\nAnd a body.\nEOF"
    (plain,) = events(*ran(heredoc, ""))
    assert (plain.text, plain.hash, plain.shown) == ("Read less", "", True)
    logged = heredoc + "\ngit log --oneline -1"
    (with_hash,) = events(*ran(logged, "3f2a1bc (HEAD -> next) Read less"))
    assert with_hash.hash == "3f2a1bc"
    assert events(*ran('git commit -qm "x" || true', "")) == []
    assert events(*ran('for i in 1 2; do git commit -qm "x"; done', "")) == []


def test_words_alone_count_only_after_a_command_that_did_not_fail() -> None:
    (found,) = events(*ran('git commit -m "Read less"; ls', ""), said("Committed it."))
    assert (found.text, found.shown) == ("Read less", False)
    assert events(said("Committed it.")) == []
    assert (
        events(*ran('git commit -m "x"', "fatal: no", failed=True), said("Committed it.")) == []
    )


def test_a_pull_request_has_its_number_url_and_title() -> None:
    url = "https://example.com/a/b/pull/7"
    (found,) = events(*ran('gh pr create --title "Read less" --body "$(cat b.md)"', url + "\n"))
    assert (found.kind, found.number, found.url) == ("pull_request", 7, url)
    assert found.text == "Read less"
    (by_tool,) = events(
        *ran(
            "Read less", json.dumps({"html_url": url}), name="mcp__github__create_pull_request"
        )
    )
    assert by_tool.url == url


def test_merges_and_tags() -> None:
    found = events(
        *ran("git merge topic", "Merge made by the 'ort' strategy.\n a.py | 2 +-"),
        *ran("gh pr merge 7 --squash", ""),
        *ran("git tag -a v1.2.0 -m x", ""),
    )
    assert [(e.kind, e.text, e.number) for e in found] == [
        ("merge", "topic", None),
        ("merge", "", 7),
        ("tag", "v1.2.0", None),
    ]


def test_the_last_commit_is_the_last_hash() -> None:
    assert last_commit(session(*ran('git commit -m "x"', COMMIT))) == "3f2a1bc"
    assert last_commit(session(said("Nothing yet."))) == ""


def test_the_summary_holds_the_events() -> None:
    command = json.dumps({"command": 'git commit -m "x"'})
    made = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": command}}
    summary = leftoff.create_context_summary(
        [
            {"role": "user", "content": "Go on."},
            {"role": "assistant", "content": "", "tool_calls": [made]},
            {"role": "tool", "tool_call_id": "c", "content": COMMIT},
        ]
    )
    assert [e.hash for e in summary.git] == ["3f2a1bc"]


def test_steps_know_whether_the_command_line_depends_on_them() -> None:
    certain = {
        "git push": True,
        "git add . && git push": True,
        "git push; ls": False,
        "set -e\ngit push\nls": True,
        "git push | tail -1": False,
        "git push || true": False,
        "git push &": False,
    }
    for command, expected in certain.items():
        step = git_steps(command)[-1]
        assert (step.verb, step.certain) == ("push", expected), command


def test_a_client_that_commits_by_itself_names_the_commit() -> None:
    (found,) = events(*ran("git commit", "Commit 1a2b3c4 fix: read less"))
    assert (found.hash, found.text) == ("1a2b3c4", "fix: read less")
