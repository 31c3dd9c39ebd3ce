"""Plans, tickets and addresses that the agent read, wrote or gave, as they are remembered."""

import json
from pathlib import Path

import pytest

from leftoff import api
from leftoff.summary import WorkingSet

PLAN = "# Imports by rows\n\nRows arrive twice."


def working_set(tmp_path: Path, name: str, given: dict[str, str], shown: str) -> WorkingSet:
    call = {"type": "tool_use", "id": "c1", "name": name, "input": given}
    words = {"type": "text", "text": "See https://example.org/board."}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": shown}
    lines = [
        {"type": kind, "uuid": f"u{n}", "sessionId": "s", "timestamp": f"2026-01-02T10:00:0{n}Z",
         "message": {"role": kind, "content": content}}
        for n, (kind, content) in enumerate(
            [("user", "Go on."), ("assistant", [words, call]), ("user", [result])]
        )
    ]  # fmt: skip
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return api.summarize(str(path)).working_set


@pytest.mark.parametrize(
    ("name", "given", "shown", "text"),
    [
        ("Bash", {"command": "bd show imp.2"}, PLAN, PLAN),
        (
            "Read",
            {"file_path": "docs/plan.md"},
            "     1→# Imports by rows",
            "# Imports by rows",
        ),
        ("Read", {"file_path": "docs/plan.md"}, "    40→- rows", ""),
        ("Read", {"file_path": "docs/usage.md"}, PLAN, ""),
        ("Write", {"file_path": "plans/rows.md", "content": PLAN}, "written", PLAN),
    ],
)
def test_the_last_plan_or_ticket_is_remembered_from_its_start(
    tmp_path: Path, name: str, given: dict[str, str], shown: str, text: str
) -> None:
    working = working_set(tmp_path, name, given, shown)
    assert (working.task.line if working.task else "") == text
    assert [w.text for w in working.links or ()] == ["https://example.org/board"]
