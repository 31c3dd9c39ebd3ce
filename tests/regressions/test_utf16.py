"""UTF-16 is read, or refused in words; it is never passed on as if there were nothing in it.

`leftoff redact` read a log that PowerShell had written as UTF-8, found no word in it, copied it
with all its secrets and said `replaced 0`.
"""

import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import Run

import leftoff
from leftoff.__main__ import main
from leftoff.errors import SourceError
from leftoff.sources.encodings import Utf8Reader, wide_encoding

ENCODINGS = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
TOKEN = "ghp_" + "016C7Yo6zJqZ5R9n0v5V2nJ5H8mQ0z2w1234"
LOG = f'export TOKEN="{TOKEN}"\r\nGr\u00fc\u00dfe \u4e00\u4e8c\u4e09 \U0001f600\r\nno more\r\n'


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("mark", ["\ufeff", ""])
@pytest.mark.parametrize("piped", [False, True])
def test_redacted_in_the_same_encoding(
    run: Run, tmp_path: Path, encoding: str, mark: str, *, piped: bool
) -> None:
    data = (mark + LOG).encode(encoding)
    path = tmp_path / "log.txt"
    path.write_bytes(data)
    done = run("redact", "-", stdin=data) if piped else run("redact", str(path))
    assert (done.returncode, done.stderr) == (0, b"replaced 1: github-token 1\n")
    shown = "[REDACTED:github-token:1]"
    assert done.stdout == (mark + LOG.replace(TOKEN, shown)).encode(encoding)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_json_in_utf16(run: Run, tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(("\ufeff" + json.dumps({"password": "x9!kPq2#vv"})).encode(encoding))
    done = run("redact", str(path))
    value = json.loads(done.stdout.decode(encoding).removeprefix("\ufeff"))
    assert value == {"password": "[REDACTED:password:1]"}


def test_mixed_encodings_are_refused(run: Run, tmp_path: Path) -> None:
    """What `>>` of PowerShell does to a file in UTF-8, and `cat >>` to one in UTF-16."""
    many = "a plain line of words\n" * 400
    secret = f"token = {TOKEN}\n"
    for data in (
        many.encode() + secret.encode("utf-16-le"),
        many.encode() + b"\x00" + secret.encode("utf-16-be"),
        ("\ufeff" + many).encode("utf-16-le") + secret.encode(),
        ("\ufeff" + many).encode("utf-16-be") + b"x" + secret.encode(),
    ):
        path, out = tmp_path / "mixed.log", tmp_path / "out.log"
        path.write_bytes(data)
        done = run("redact", str(path), "-o", str(out))
        assert done.returncode == 2
        assert b"mixes UTF-16 with another encoding" in done.stderr
        assert not out.exists()


def test_odd_ends_pass_unchanged(run: Run, tmp_path: Path) -> None:
    """A cut last character and lone surrogates are written as they were read."""
    words = "\ufeffplain words ".encode("utf-16-le")
    for data in (words + b"x", words + b"\x00\xd8", words + b"\x00\xdc" + words, b"\xff\xfe"):
        path = tmp_path / "odd.txt"
        path.write_bytes(data)
        done = run("redact", str(path))
        assert (done.returncode, done.stdout) == (0, data)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_recordings(run: Run, tmp_path: Path, root: Path, encoding: str) -> None:
    """A recording in UTF-16 gives the summary of the same recording in UTF-8, also compressed;
    what follows a growing file refuses it."""
    plain = root / "corpora" / "sessions" / "claude_code" / "prorate.jsonl"
    path = tmp_path / "prorate.jsonl"
    path.write_bytes(("\ufeff" + plain.read_text("utf-8")).encode(encoding))
    ours, theirs = leftoff.summarize(path), leftoff.summarize(plain)
    assert ours.key_decisions == theirs.key_decisions
    assert ours.stats == theirs.stats
    assert leftoff.verify(ours) == []
    done = run("follow", str(path), "--for", "0.1")
    assert done.returncode == 2
    assert f"is in {encoding[:6].upper()}".encode() in done.stderr


READING: dict[str, list[str]] = {
    "audit": [], "budget": [], "convert": ["--to", "atif"], "export": [],
    "log": ["create", "--stdout"], "show": [], "summarize": ["--json"],
    "report": ["-o", "page.html"], "batch": ["-o", "rows.jsonl"],
}  # fmt: skip
"""The commands that read a recording that is named, but for those that follow a growing one."""


@pytest.mark.parametrize("mark", ["\ufeff", ""], ids=["marked", "unmarked"])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("command", sorted(READING))
def test_every_command_that_reads(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    encoding: str,
    mark: str,
) -> None:
    """What is printed and written is that of the same recording in UTF-8, secrets replaced."""
    told = f"Use the token {TOKEN} for the upload."
    records = ({"role": "user", "content": told}, {"role": "assistant", "content": LOG})
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    changing = r"\d{4}-\d\d-\d\dT[^\s\"<]*|\d+:\d+"  # times, and what identifies the file
    results: list[list[object]] = []
    for name, data in (("plain", text.encode()), ("wide", (mark + text).encode(encoding))):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        monkeypatch.setenv("HOME", str(folder))
        (folder / "s.jsonl").write_bytes(data)
        os.utime("s.jsonl", (1_700_000_000, 1_700_000_000))
        first = READING[command][:1] if command == "log" else []
        rest = READING[command][len(first) :]
        code = main([command, *first, "s.jsonl", *rest])
        written = [
            re.sub(rf"{changing}|\b{len(data)}\b", "", path.read_text("utf-8"))
            for path in sorted(folder.glob("*"))
            if path.name in {"page.html", "rows.jsonl"}
        ]
        shown = capsys.readouterr()
        assert TOKEN not in shown.out + shown.err + "".join(written)
        assert TOKEN[:20] not in shown.out + shown.err + "".join(written)
        results.append([code, shown.out.replace(str(folder), ""), *written])
    assert results[0] == results[1]


def test_damaged_utf32_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xff\xfe\x00\x00" + b"\xff" * 40)
    done = run("redact", str(path))
    assert done.returncode == 2
    assert b"looks like UTF-32-LE, and is damaged" in done.stderr


def test_utf8_is_not_mistaken() -> None:
    for data in (
        b"",
        b"a",
        b"plain words",
        "Gr\u00fc\u00dfe \u4e00".encode(),
        bytes(5000),  # what a crash leaves at the end of a log
        b"log line\n" + bytes(5000),
        b"\x7fELF" + bytes(range(256)) * 8,
        "\ufeffwords".encode(),
    ):
        assert wide_encoding(data) == ""


@given(st.text(min_size=1), st.sampled_from(ENCODINGS), st.integers(1, 7))
def test_any_text_comes_back(text: str, encoding: str, size: int) -> None:
    """However the bytes are cut."""
    data = text.encode(encoding)
    pieces = [data[n : n + size] for n in range(0, len(data), size)]
    reader = Utf8Reader(_Pieces(iter(pieces)), encoding, "a")
    read = b"".join(iter(lambda: reader.read(3) or b"", b""))
    assert read.decode() == text.removeprefix("\ufeff")


class _Pieces(io.BytesIO):
    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self._pieces = pieces

    def read(self, size: int | None = -1, /) -> bytes:
        del size
        return next(self._pieces, b"")


def test_an_error_names_the_file() -> None:
    reader = Utf8Reader(io.BytesIO(b"\xff" * 8), "utf-32-le", "a.txt")
    with pytest.raises(SourceError, match=r"a\.txt: looks like UTF-32-LE"):
        reader.read()
