"""The MCP server answers about a recording as it is now.

Its cache went by size and time alone: a recording that was replaced by one of the same size with
the same time, or by a longer one that begins otherwise, was answered from what had been read, and
read on in the middle. What changed in a subagent's own file was not seen at all.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from leftoff.integrations.mcp_tools import Answers

NAME = "12121212-2222-4333-8444-555555555555"


def line(number: int, text: str, **more: object) -> str:
    record = {
        "type": "user" if number % 2 == 0 else "assistant",
        "sessionId": NAME,
        "uuid": f"{text}{number}",
        "cwd": "/home/dev/shop",
        "message": {"role": "user" if number % 2 == 0 else "assistant", "content": text},
    }
    return json.dumps({**record, **more}) + "\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / ".claude" / "projects" / "-home-dev-shop"
    folder.mkdir(parents=True)
    return folder / f"{NAME}.jsonl"


def _messages(answers: Answers) -> str:
    found = json.loads(answers.summarize(NAME))
    return f"{found['messages']} {[item['text'] for item in found['open']]}"


def test_replaced_by_one_of_the_same_size_and_time(path: Path, tmp_path: Path) -> None:
    answers = Answers({"HOME": str(tmp_path)}, "/")
    path.write_text(line(0, "Fix the first total.") + line(2, "Fix the other total."))
    before = path.stat()
    assert "first" in _messages(answers)
    other = path.with_name("other")
    other.write_text(line(0, "Fix the third total.") + line(2, "Fix the other total."))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert other.stat().st_size == before.st_size
    other.replace(path)
    assert "third" in _messages(answers)


def test_overwritten_by_a_longer_one(path: Path, tmp_path: Path) -> None:
    answers = Answers({"HOME": str(tmp_path)}, "/")
    path.write_text(line(0, "Fix the first total."))
    assert "first" in _messages(answers)
    longer = "".join(line(number, f"Fix total number {number}.") for number in (0, 2, 4))
    path.write_text(longer)
    assert _messages(answers).startswith("3 ")
    assert "first" not in _messages(answers)


def test_grown_and_shortened(path: Path, tmp_path: Path) -> None:
    answers = Answers({"HOME": str(tmp_path)}, "/")
    first = line(0, "Fix the first total.")
    path.write_text(first)
    assert _messages(answers).startswith("1 ")
    with path.open("a") as file:
        file.write(line(2, "Fix the second total."))
    assert _messages(answers).startswith("2 ")
    path.write_text(first)
    assert _messages(answers).startswith("1 ")


def test_a_subagent_that_goes_on(path: Path, tmp_path: Path) -> None:
    answers = Answers({"HOME": str(tmp_path)}, "/")
    path.write_text(line(0, "Fix the first total."))
    side = path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    side.parent.mkdir(parents=True)
    call = {"type": "tool_use", "id": "t", "name": "Write"}
    call["input"] = {"file_path": "/home/dev/shop/a.py", "content": "x"}  # type: ignore[assignment]
    said = {"isSidechain": True, "agentId": "a1"}
    side.write_text(line(0, "Write a file.", **said))
    assert "a.py" not in answers.files(NAME)
    message = {"role": "assistant", "content": [call]}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
    with side.open("a") as file:
        file.write(line(1, "", message=message, **said))
        file.write(line(2, "", message={"role": "user", "content": [result]}, **said))
    assert "a.py" in answers.files(NAME)
    shutil.rmtree(side.parent)
    assert "a.py" not in answers.files(NAME)
