"""The page of many sessions: totals, order, redaction, and the one script that searches."""

import re
from pathlib import Path

from leftoff import api
from leftoff.model import Ref, Usage
from leftoff.rendering.html.report import report, report_row
from leftoff.summary import (
    ContextInfo,
    ContextSummary,
    FileModification,
    KeyDecision,
    NextStep,
    ProgressInfo,
    SessionInfo,
    Spend,
    Stats,
)


def session(name: str, started: str, project: str, decisions: int = 0) -> ContextSummary:
    spend = Spend(input=10, output=100, cache_read=1000, subagents={"a": Usage(output=7)})
    return ContextSummary(
        schema="leftoff.summary/1",
        leftoff="0",
        rules="",
        session=SessionInfo(
            id=name, title=name, cwd=project, started=started, path=f"{name}.jsonl"
        ),
        stats=Stats(message_count=5, tool_call_count=2),
        key_decisions=tuple(
            KeyDecision(
                f"I'll use {name}{n} instead of oil{n}", "fix", 0.9 + n / 100, n, Ref(message=n)
            )
            for n in range(decisions)
        ),
        progress=ProgressInfo(current_stage="testing"),
        file_modifications=(
            FileModification("old.py", "deleted", 1, ("Bash",)),
            FileModification("new.py", "created", 1, ("Bash",), renamed_from="old.py"),
            FileModification("read.py", "read", 1, ("Read",)),
        ),
        next_steps=(NextStep("write <b>docs</b>", "pending", Ref(message=3)),),
        context=ContextInfo(spend=spend),
    )


def words(made: str) -> str:
    return " ".join(re.sub("<[^>]*>", " ", made).split())


def test_totals_by_project_and_week_newest_first() -> None:
    rows = [
        report_row(session("one", "2026-04-14T13:02:40Z", "/p/a", decisions=2)),
        report_row(session("two", "2026-04-16T09:00:00+02:00", "/p/a", decisions=1)),
        report_row(session("three", "2025-12-29T09:00:00Z", "/p/b")),
        report_row(session("four", "", "")),
    ]
    made = report(rows)
    heads = re.findall(r'<h3 id="title-\d+"><bdi>(.*?)</bdi>', made)
    assert heads == ["two", "one", "three", "four"]
    told = words(made)
    assert "/p/a 2 10 4 214 2,234 3 2 2" in told
    assert "2026-W16 2 10 4 214 2,234 3 2 2" in told
    assert "2026-W01 1 5 2 107 1,117 0 1 1" in told
    assert "unknown 1 5 2" in told
    assert report(list(reversed(rows))) == made


def test_what_stands_in_the_report_is_inert_and_redacted(root: Path) -> None:
    secret = "ghp_" + "aB3dE5fG7h" * 3 + "9Kq2wE"
    hostile = f"<script>window.caught = 1</script> {'x' * 240} {secret}"
    summary = session(hostile, "2026-04-14", "</td><img src=x>")
    real = api.summarize(root / "corpora" / "sessions" / "claude_code" / "prorate.jsonl")
    made = report([report_row(summary), report_row(real)], ["<b>broken</b>: no such file"])
    assert made.count("<script") == 1
    assert "<img" not in made
    assert "&lt;b&gt;broken" in made
    assert not any(secret[:n] in made for n in range(12, len(secret) + 1))
    assert 'id="session-2"' in made
    links = set(re.findall('href="#([^"]*)"', made))
    assert links <= set(re.findall(' id="([^"]*)"', made))
