"""A recording whose file name is not UTF-8 is read, and told with the bad bytes replaced.

`summarize --json`, `budget --json`, `follow` and `batch` ended in a UnicodeEncodeError; the other
commands read it.
"""

import json
import os
from pathlib import Path

import pytest

from leftoff import codec
from leftoff.__main__ import main

LINE = '{"role": "user", "text": "Sort the list."}\n'


@pytest.fixture
def name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"n\xff.jsonl")
    try:
        Path(name).write_text('{"leftoff": "session/1", "id": "a"}\n' + LINE)
    except (OSError, UnicodeError):
        pytest.skip("this file system has no such names")
    return name


@pytest.mark.parametrize(
    "command", ["summarize --json", "budget --json", "follow --for 0 --json --keep kept"]
)
def test_it_is_told(command: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert main([*command.split(), name]) == 0
        assert "n\ufffd.jsonl" in str(json.loads(capsys.readouterr().out))


def test_a_batch_says_so(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["batch", "-w", "1", "-o", "out.jsonl", name]) == 2
    assert "the name is no text" in capsys.readouterr().err
    Path("other.jsonl").write_text('{"leftoff": "session/1", "id": "b"}\n' + LINE)
    assert main(["batch", "-w", "1", "-o", "out.jsonl", "."]) == 0
    assert "1 session in 1 file" in capsys.readouterr().err


def test_whatever_is_told_is_json() -> None:
    assert codec.parse_strict(codec.dumps({"a\udc80": ["\udcff", 2**70]})) == {
        "a\ufffd": ["\ufffd", 2**70]
    }
    assert codec.dumps({"a": "\ud800"}, indent=2) == '{\n  "a": "\ufffd"\n}\n'.encode()
