"""One rule for numbers (from 1 for people, `message` from 0 for programs), times as datetimes,
and values that print short."""

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import leftoff
from leftoff import UsageError, api
from leftoff.analysis.summary_json import from_json, numbered, to_json
from leftoff.budget.tasks import ContextMetrics
from leftoff.model import Message, Ref, parse_time


@pytest.fixture
def outbox(root: Path) -> Path:
    return root / "corpora" / "sessions" / "claude_code" / "outbox.jsonl"


def objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, (dict, list)):
            yield from objects(inner)


def cli(*args: str | Path) -> Any:
    command = [sys.executable, "-m", "leftoff", *map(str, args)]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


@pytest.mark.parametrize(
    "args",
    [("summarize", "--json"), ("summarize", "--explain", "--json"), ("budget", "--json")],
)
def test_every_index_of_a_message_has_its_number_beside_it(
    args: tuple[str, ...], outbox: Path
) -> None:
    found = 0
    for one in objects(cli(args[0], outbox, *args[1:])):
        for key in ("message", "message_index"):
            if isinstance(one.get(key), int):
                found += 1
                assert one["number"] == (one[key] + 1 if one[key] >= 0 else None)
    assert found > 10


def test_the_numbers_are_those_of_the_schema_and_are_read_back(outbox: Path) -> None:
    schema = cli("schema", "summary")
    assert "number" in schema["$defs"]["Ref"]["properties"]
    assert "number" in schema["$defs"]["KeyDecision"]["properties"]
    summary = api.summarize(outbox)
    assert from_json(to_json(summary)).key_decisions == summary.key_decisions
    assert numbered([{"message": -1}]) == [{"message": -1, "number": None}]


def test_tables_hold_the_number_of_the_message(outbox: Path) -> None:
    (one,) = leftoff.summarize_all([outbox])
    assert [row.message_number - row.message for row in one.decisions[:3]] == [1, 1, 1]
    assert [row.message_number - row.message for row in one.milestones[:2]] == [1, 1]


def test_the_number_that_a_summary_cites_is_the_one_that_show_takes(outbox: Path) -> None:
    request = api.summarize(outbox).user_requests[-1]
    place = f"{outbox}#{request.ref.message + 1}"
    command = [sys.executable, "-m", "leftoff", "show", place]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert request.text.split()[0] in shown


TWO = """
# aider chat started at 2026-01-02 03:04:05

#### plant the beans  

They stand in row two.

# aider chat started at 2026-01-02 09:00:00

#### water them  

Done at noon.
"""  # noqa: W291


@pytest.fixture
def two(tmp_path: Path) -> Path:
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(TWO)
    return path


def test_a_session_and_a_message_of_one_file_are_chosen_together(two: Path) -> None:
    for number, words in ((1, "They stand in row two."), (2, "Done at noon.")):
        command = [sys.executable, "-m", "leftoff", "show", f"{two}@{number}#2"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert words in shown


@pytest.mark.parametrize(
    "text,expected",
    [
        ("2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        (
            "2026-01-02T03:04:05+02:00",
            datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2))),
        ),
        ("", None),
        ("yesterday", None),
    ],
)
def test_a_recorded_time_is_a_datetime_with_a_zone(
    text: str, expected: datetime | None
) -> None:
    assert parse_time(text) == expected
    assert Message(0, "user", (), time=text).recorded_at == expected
    assert ContextMetrics.of(2, 1, timestamp=text).generated_at == expected


def test_the_times_of_a_summary_are_datetimes_too(outbox: Path) -> None:
    summary = api.summarize(outbox)
    start, end = summary.session.started_at, summary.session.ended_at
    assert start is not None
    assert end is not None
    assert round((end - start).total_seconds()) == summary.stats.duration_seconds
    assert summary.turn.since_at == end


def test_values_print_short(outbox: Path) -> None:
    """`repr(summary)` was 80,000 characters long."""
    summary = api.summarize(outbox)
    assert repr(summary).startswith(f"ContextSummary({summary.session.id!r}, claude_code: 56 ")
    parts = (summary, summary.session, summary.stats, summary.progress, summary.context)
    items = (*summary.key_decisions, *summary.file_modifications, *summary.user_requests)
    for one in (*parts, summary.working_set, *items, *summary.checks, *summary.errors):
        assert len(repr(one)) < 600
        assert repr(one).startswith(f"{type(one).__name__}(")
    assert "ref=<#8 at 12>" in repr(
        next(d for d in summary.key_decisions if d.rule == "answer")
    )
    assert repr(leftoff.summary.Finding("x" * 100, Ref(message=3))) == (
        f"Finding(text='{'x' * 59}…', ref=<#4>)"
    )


def test_the_reason_of_a_row_is_the_message_of_the_exception(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"a": 1}\n')
    paths = [tmp_path / "bad.jsonl", tmp_path / "missing.jsonl"]
    for one in leftoff.summarize_all(paths):
        with pytest.raises(leftoff.LeftoffError) as raised:
            api.summarize(one.row.path)
        assert one.row.status == "failed"
        assert one.row.reason
        assert str(raised.value).startswith(f"{one.row.path}: {one.row.reason}")
        with pytest.raises(UsageError, match=one.row.reason):
            _ = one.summary


def test_the_last_calls_carry_their_place_in_the_recording(outbox: Path) -> None:
    """Only their message was named, so that no program could open them."""
    summary = api.summarize(outbox)
    assert all(call.ref.line is not None for call in summary.working_set.calls)
    assert api.verify(summary) == []
