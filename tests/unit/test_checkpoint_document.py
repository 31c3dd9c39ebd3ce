"""A checkpoint: made of a recording, written, read, refused; its history and its roles."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from leftoff import api
from leftoff.budget.tasks import TaskTokenBudget
from leftoff.errors import NotPlainName, StateError, UnknownName, UsageError
from leftoff.handover.checkpoint.document import (
    ContextCheckpoint,
    checkpoint_id,
    from_summary,
    path_component,
    problems,
    validated,
)
from leftoff.handover.checkpoint.from_summary import relative
from leftoff.handover.checkpoint.prompt_log import ValidationResult, history, validations
from leftoff.handover.checkpoint.roles import ROLES, Role, role, roles
from leftoff.model import Message, Ref, Text, ToolCall, ToolResult, Typed
from leftoff.summary import Check, ContextSummary, SessionInfo, Stats

AT = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
BUDGET = TaskTokenBudget.start(
    "t1", "a", created_at="2026-01-01T00:00:00Z", total_allocated=1000
)


@pytest.fixture
def made(root: Path) -> ContextCheckpoint:
    path = root / "corpora" / "sessions" / "claude_code" / "outbox.jsonl"
    return from_summary(
        api.summarize(path), list(api.read(str(path))), budget=BUDGET.used(950), capacity="95",
        at=AT, git_diff="diff --git a/x b/x\n+y\n",
    )  # fmt: skip


def test_it_has_the_keys_of_the_design(made: ContextCheckpoint) -> None:
    value = made.to_dict()
    assert set(value) == {
        "checkpoint_id", "created_at", "capacity_threshold", "reason", "task_id",
        "provider_name", "tokens", "conversation", "execution_state", "context_dump_outputs",
        "next_action",
    }  # fmt: skip
    assert set(value["tokens"]) == {"consumed", "remaining", "total_allocated", "percent_used"}
    assert set(value["conversation"]) == {"full_history", "summary", "iteration_count"}
    assert set(value["execution_state"]) >= {
        "iteration", "files_created", "files_modified", "git_diff", "last_validation_result",
        "status",
    }  # fmt: skip
    assert set(value["context_dump_outputs"]) == {
        "project_md_updated", "specific_md_updated", "dump_timestamp", "dump_size_bytes",
    }  # fmt: skip


def test_it_says_what_the_recording_says(made: ContextCheckpoint) -> None:
    state = made.execution_state
    assert "src/outbox.js" in state.files_created
    assert (state.iteration, made.conversation.iteration_count) == (5, 5)
    assert state.last_validation_result is not None
    assert state.last_validation_result.command.startswith("npm test")
    assert state.last_validation_result.failed == 0
    assert {e.iteration for e in made.conversation.full_history} == {1, 2, 3, 4, 5}
    assert (made.reason, made.tokens.remaining) == ("window_critical", 50)
    assert problems(made) == []


def test_what_is_written_is_read(made: ContextCheckpoint) -> None:
    assert validated(made.to_dict()) == made


def test_unknown_keys_are_kept_at_every_depth(made: ContextCheckpoint) -> None:
    value = made.to_dict()
    value["operator"] = {"note": 1}
    value["tokens"]["cached"] = 5
    value["conversation"]["full_history"][0]["model"] = "m"
    assert validated(value).to_dict() == value


@pytest.mark.parametrize(
    ("path", "new", "why"),
    [
        (("tokens", "consumed"), "many", "tokens.consumed"),
        (("tokens", "consumed"), 10, "remaining is not"),
        (("capacity_threshold",), "97", "capacity_threshold"),
        (("reason",), "window_warning", "does not go with"),
        (("created_at",), "yesterday", "no ISO 8601"),
        (("checkpoint_id",), "../x", "plain path"),
        (("execution_state", "status"), "odd", "execution_state.status"),
        (("next_action", "type"), "helper_agent", "names no role"),
        (("conversation", "iteration_count"), 1, "more iterations"),
        (("conversation", "full_history"), "all", "full_history"),
        (("tokens",), None, "tokens"),
    ],
)
def test_an_edited_one_is_refused_with_the_reason(
    made: ContextCheckpoint, path: tuple[str, ...], new: Any, why: str
) -> None:
    value: Any = made.to_dict()
    place = value
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = new
    with pytest.raises(StateError, match=why):
        validated(value)


def test_a_missing_part_is_named(made: ContextCheckpoint) -> None:
    value = made.to_dict()
    del value["execution_state"]
    with pytest.raises(StateError, match="execution_state"):
        validated(value)


# -- names -----------------------------------------------------------------------------------


def test_the_name_tells_task_provider_capacity_and_time() -> None:
    name = checkpoint_id("t1", "open/router", "90", AT)
    assert name == "t1-open%2Frouter-90p-20260102T030405000678Z"


@pytest.mark.parametrize("task", ["../x", "a/b", "", ".x", "x" * 300, "a\0b", "a b"])
def test_task_ids_that_are_no_plain_component_are_refused(task: str) -> None:
    with pytest.raises(NotPlainName):
        checkpoint_id(task, "a", "90", AT)


def test_a_provider_becomes_one_plain_component() -> None:
    assert path_component("..") == "%2E."
    assert path_component("é\\") == "%C3%A9%5C"


# -- history ---------------------------------------------------------------------------------


def _message(index: int, text: str, *, typed: bool = False) -> Message:
    spans = (Typed(0, 0, len(text)),) if typed else ()
    return Message(index, "user" if typed else "assistant", (Text(text),), typed=spans)


def test_the_history_keeps_five_iterations_or_500_lines_whichever_is_less() -> None:
    short = [_message(n, f"prompt {n}", typed=True) for n in range(9)]
    entries, count = history(short)
    assert ([e.iteration for e in entries], count) == ([5, 6, 7, 8, 9], 9)
    long = [_message(0, "go", typed=True)]
    long += [_message(n, "line\n" * 40) for n in range(1, 30)]
    entries, _ = history(long)
    assert sum(len(e.content.splitlines()) for e in entries) == 480
    (only,), _ = history([_message(0, "\n".join(map(str, range(600))), typed=True)])
    assert only.content.splitlines()[-1] == "599"
    assert len(only.content.splitlines()) == 500


def test_what_a_file_of_secrets_holds_is_left_out() -> None:
    messages = [
        _message(0, "go", typed=True),
        Message(1, "assistant", (ToolCall("c1", "Read", "read", {"file_path": "/w/.env"}),)),
        Message(2, "tool", (ToolResult("c1", "colour=blue"),)),
        Message(3, "assistant", (ToolCall("c2", "Read", "read", {"file_path": "/w/a.py"}),)),
        Message(4, "tool", (ToolResult("c2", "colour=green"),)),
    ]
    words = " ".join(e.content for e in history(messages)[0])
    assert "blue" not in words
    assert "green" in words


def test_what_tools_gave_back_stands_under_tool() -> None:
    """Some recorders write results on lines of the user; a word of the person beside them
    stays the person's."""
    line = (ToolResult("c", "3 passed"), Text("go on"))
    messages = [
        _message(0, "test it", typed=True),
        Message(1, "assistant", (ToolCall("c", "Bash", "shell", {"command": "pytest"}),)),
        Message(2, "user", line, origin="tool", typed=(Typed(1, 0, 5),)),
        Message(3, "user", (Text("<reminder>"),), origin="injected"),
    ]
    entries, count = history(messages)
    assert [(e.role, e.content) for e in entries if e.role != "assistant"] == [
        ("user", "test it"),
        ("tool", "[result] 3 passed"),
        ("user", "go on"),
        ("system", "<reminder>"),
    ]
    assert count == 2


@pytest.mark.parametrize("via", ["rejection", "command", "answer"])
def test_only_a_prompt_begins_an_iteration(via: str) -> None:
    messages = [
        _message(0, "go", typed=True),
        Message(1, "user", (Text("no, not so"),), typed=(Typed(0, 0, 10, via),)),
    ]
    assert history(messages)[1] == 1
    queued = Message(2, "user", (Text("and that"),), typed=(Typed(0, 0, 8, "queued"),))
    assert history([*messages, queued])[1] == 2


# -- checks ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "succeeded"), [("passed", True), ("failed", False), ("unknown", None)]
)
def test_a_check_is_told_as_the_summary_has_it(verdict: str, succeeded: bool | None) -> None:
    ref = Ref(0, 3, None, 2, 0, 0, 1)
    check = Check(
        "test", "pytest", "pytest | tail -3", verdict, ref,
        passed=3, failed=None, tail="E1\nE2", result=replace(ref, message=3),
    )  # fmt: skip
    summary = ContextSummary(schema="", leftoff="", rules="", session=SessionInfo(), stats=Stats(),
                             checks=(check,))  # fmt: skip
    (found,) = validations(summary, [Message(3, "tool", (), time="2026-01-02T03:04:05Z")])
    assert found == ValidationResult(
        command="pytest | tail -3", succeeded=succeeded, passed=3, failed=None,
        output_tail="E1\nE2", at="2026-01-02T03:04:05Z",
    )  # fmt: skip


# -- roles -----------------------------------------------------------------------------------


def test_the_shipped_roles() -> None:
    assert set(ROLES) == {"backend", "frontend", "helper"}
    assert role("backend").checkpoint_sections == (
        "API_ROUTES", "DATABASE_MODELS", "MIDDLEWARE", "TESTS",
    )  # fmt: skip
    with pytest.raises(UnknownName, match="frontend"):
        role("frontent")


@pytest.mark.parametrize(
    ("path", "tracked"),
    [
        ("src/app.ts", True),
        ("src/a/b/c.js", True),
        ("package.json", True),
        ("docs/app.ts", False),
        ("src/app.py", False),
        ("x/package.json", False),
    ],
)
def test_globs_choose_files(path: str, tracked: bool) -> None:
    assert role("backend").tracks(path) is tracked
    assert Role().tracks(path)


def test_roles_are_added_as_data() -> None:
    more = roles('[docs]\nfiles_to_track = ["docs/**"]\nproviders = ["b", "a"]\n')
    assert role("docs", more).rank("b") < role("docs", more).rank("a")
    assert role("docs", more).rank("other") == 2
    for wrong in ("[docs]\ncolour = 1\n", "not toml"):
        with pytest.raises(UsageError):
            roles(wrong)


def test_paths_are_seen_from_the_directory() -> None:
    assert relative("/w/src/a.py", "/w/") == "src/a.py"
    assert relative("/tmp/a.py", "/w") == "/tmp/a.py"
    assert relative("C:\\w\\a.py", "C:\\w") == "a.py"


def test_a_role_chooses_the_files_that_are_listed(root: Path) -> None:
    path = root / "corpora" / "sessions" / "claude_code" / "outbox.jsonl"
    found = from_summary(
        api.summarize(path), budget=BUDGET, capacity="90", at=AT, role=role("backend")
    )
    assert found.execution_state.files_created == ("src/connect.js", "src/outbox.js")
