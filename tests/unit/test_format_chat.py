"""Plain message lists, seed 001's messages, and our own lines."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

import leftoff
from leftoff.api import create_context_summary
from leftoff.formats import native
from leftoff.model import SessionFacts

# -- seed 001's functions ---------------------------------------------------------------------


def test_recorded_lines_as_dicts_give_the_summary_of_the_file() -> None:
    """The lines of a recording, decoded by the caller, gave an empty summary."""
    path = Path(__file__).parents[2] / "corpora/sessions/claude_code/prorate.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    got, file = create_context_summary(lines), leftoff.summarize(path)
    assert got.session.format == "claude_code_list"
    counts = ("message_count", "turn_count", "tool_call_count", "estimated_tokens")
    assert [getattr(got.stats, n) for n in counts] == [getattr(file.stats, n) for n in counts]
    assert [d.text for d in got.key_decisions] == [d.text for d in file.key_decisions]


# -- our own lines ----------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["codex/sift.jsonl", "langchain/labels.json"])
def test_our_own_lines_come_back_as_they_were(path: str, root: Path, tmp_path: Path) -> None:
    given = list(leftoff.read(str(root / "corpora/sessions" / path)))
    written = tmp_path / "own.jsonl"
    written.write_bytes(native.write(given, SessionFacts(id="s", cwd="/w")))
    session = leftoff.summarize(written).session
    assert (session.format, session.id, session.cwd) == ("leftoff", "s", "/w")
    found = list(leftoff.read(str(written)))
    places = {"line": None, "item": None, "raw": b"", "cwd": ""}
    assert [replace(m, **places) for m in found] == [replace(m, **places) for m in given]
