"""A pipe or a device that is named where a file is expected is refused at once.

`leftoff verify`, `checkpoint accept` and `resume --checkpoint-file` read what was named to its end:
a pipe without a writer has none, and `/dev/zero` filled the memory. So did `budget --watch`, `batch`
and the labels of `eval`. All of them open files by one door now, as the readers of recordings do.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from leftoff.__main__ import main
from leftoff.errors import SourceError
from leftoff.sources import open as sources

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")


@pytest.fixture(autouse=True)
def impatient() -> Iterator[None]:
    def late(*_: object) -> None:
        raise TimeoutError("it still reads")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("endless", ["pipe", "/dev/urandom"])
@pytest.mark.parametrize(
    "command",
    [
        "verify", "checkpoint accept", "resume --checkpoint-file", "budget --watch --for 0",
        "batch -w 1 -o out.jsonl", "eval labels", "eval labels . --against",
    ],
)  # fmt: skip
def test_it_is_refused(
    command: str,
    endless: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    code = main([*command.split(), endless])
    assert f"{endless}: not a regular file" in capsys.readouterr().err
    assert code == 2 or command.startswith("batch")


def test_a_pipe_among_the_pieces_of_a_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = tmp_path / "storage/session/p/ses_1.json"
    for folder in (session.parent, tmp_path / "storage/message/ses_1"):
        folder.mkdir(parents=True)
    session.write_text('{"id": "ses_1"}')
    os.mkfifo(tmp_path / "storage/message/ses_1/msg_1.json")
    assert main(["summarize", str(session)]) == 2
    assert "msg_1.json: not a regular file" in capsys.readouterr().err


def test_a_file_that_is_named_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345678")
    assert sources.read_whole(path) == b"12345678"
    monkeypatch.setattr(sources, "MAX_DOCUMENT", 7)
    with pytest.raises(SourceError, match="file: larger than 0 MiB"):
        sources.read_whole(path)
    with pytest.raises(SourceError, match="no such file"):
        sources.read_whole(tmp_path / "none")
