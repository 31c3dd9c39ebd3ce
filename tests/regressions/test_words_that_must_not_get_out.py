"""Words of a recording that got out where nobody looked.

The last line of a recording stood unredacted in the saved state of a pass, which hooks and batches
keep. A crash of ours, or of a plug-in, printed the text that it could not judge. Errors of the
command line showed what they quote. C1 controls and bidirectional overrides passed through JSON
into terminals, the trigger of a compaction through markdown, and a kept document's markdown, and a
damaged file that was redacted onto a terminal, carried escapes. What tools had said stood bare in
lists of errors, like words of ours. In a locale without UTF-8 every second command crashed.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import Run
from tests.strategies.conversations import Step
from tests.strategies.writers import WRITERS

from leftoff import Pass, api, codec, render
from leftoff.cli.group import complain
from leftoff.handover.checkpoint.roles import glob_matcher
from leftoff.stores.protocol import open_store
from leftoff.text.sanitize import clean

Linear: TypeAlias = Callable[[Callable[[int], Callable[[], object]], int], None]

SECRET = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
ACTIVE = "".join(map(chr, [0x7F, *range(0x80, 0xA0), 0x202E, 0x2066, 0x200B, 0xFEFF, 0xE0041]))

CRASHING = f"""
def crash(text):
    if {SECRET!r} in text:
        raise RuntimeError("cannot judge " + text)
    return []
"""


def test_a_saved_pass_holds_no_line_of_the_recording() -> None:
    said = [Step("user", "Sort it."), Step("agent", "Done.")]
    line = WRITERS["claude_code"](said)
    last = line.splitlines()[-1].replace(b"Done.", f"Done with {SECRET}.".encode())
    reading = Pass("x")
    reading.feed(line * 300 + last + b"\n")
    head = reading.save().head
    assert head
    assert b"parentUuid" not in head
    assert b"isSidechain" not in head


def test_a_crash_tells_no_secret(tmp_path: Path) -> None:
    about = tmp_path / "crashing-1.dist-info"
    about.mkdir()
    (tmp_path / "crashing.py").write_text(CRASHING)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: crashing\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[leftoff.redactor]\ncrashing = crashing:crash\n")
    (tmp_path / "a.txt").write_text(f"use {SECRET} \x1b]0;x\x07\n")
    done = subprocess.run(
        [sys.executable, "-m", "leftoff", "redact", "a.txt", "--redactor", "crashing"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 1
    assert "RuntimeError: cannot judge use [REDACTED:" in done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert "\x1b" not in done.stderr


def test_complaints_tell_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    complain(f"{SECRET}:\x1b[31m not a\nsession")
    assert capsys.readouterr().err == "leftoff: [REDACTED:github-token:1]: not a session\n"


def test_a_wrong_option_tells_no_secret(run: Run) -> None:
    done = run("log", f"--{SECRET}\x1b[31m")
    assert done.returncode == 2
    assert SECRET.encode() not in done.stderr
    assert b"\x1b" not in done.stderr


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(ACTIVE)))
def test_json_carries_nothing_that_a_terminal_obeys(text: str) -> None:
    for value in ({"a": text, text: [text]}, {"a": text, "n": 1 << 80}):
        data = codec.dumps(value)
        assert json.loads(data) == value
        shown = data.decode()
        assert clean(shown) == shown


@pytest.mark.parametrize("form", ["markdown", "prompt", "text", "log"])
def test_the_trigger_of_a_compaction_is_cleaned(form: str, tmp_path: Path) -> None:
    lines = WRITERS["claude_code"]([Step("user", "Sort it."), Step("agent", "Done.")])
    record = json.loads(lines.splitlines()[-1])
    record |= {"type": "system", "subtype": "compact_boundary", "uuid": "x", "content": ""}
    record["compactMetadata"] = {"trigger": "au\x1b]0;x\x07to\x9b31m", "preTokens": 9}
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines + json.dumps(record).encode() + b"\n")
    summary = api.summarize(path)
    assert summary.context.compactions
    made = render(summary, form)
    assert clean(made) == made


def test_markdown_beside_a_document_is_cleaned(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.save("task", "a", {}, text="# One\x1b[2J\n\u202eowt\n")
    kept = store.load("task", "a")
    assert kept is not None
    assert (kept.text, kept.issues) == ("# One\nowt\n", ())


@pytest.mark.skipif(os.name != "posix", reason="has no pseudo-terminals")
def test_a_redacted_file_is_cleaned_on_a_terminal_and_only_there(tmp_path: Path) -> None:
    import pty

    path = tmp_path / "a.txt"
    path.write_bytes(b"one \x1b]0;x\x07two\x00\n")
    words = [sys.executable, "-m", "leftoff", "redact", str(path)]
    piped = subprocess.run(words, capture_output=True, timeout=60, check=True)
    assert piped.stdout == path.read_bytes()
    ours, theirs = pty.openpty()
    subprocess.run(words, stdout=theirs, stderr=subprocess.DEVNULL, timeout=60, check=True)
    os.close(theirs)
    assert os.read(ours, 1000).replace(b"\r", b"") == b"one two\n"
    os.close(ours)


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_output_is_the_same_in_a_locale_without_utf_8(form: str, root: Path) -> None:
    session = str(root / "corpora/sessions/claude_code/outbox.jsonl")
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "PYTHON"))}
    narrow = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = [sys.executable, "-m", "leftoff", "summarize", session, "-f", form]
    made = [
        subprocess.run(
            words, env={**plain, **more}, capture_output=True, timeout=60, check=True
        )
        for more in (narrow, {"PYTHONUTF8": "1"})
    ]
    assert made[0].stdout == made[1].stdout


def test_a_glob_takes_no_longer_than_its_path(assert_linear: Linear) -> None:
    hostile = glob_matcher("**/" * 12 + "*a" * 12 + "b")
    assert not hostile("a/" * 500 + "a" * 500)
    assert_linear(lambda size: lambda: hostile("a/" * size + "a" * size), 500)
    assert glob_matcher("src/**/*.ts")("src/a/\udcff.ts")
    assert glob_matcher("src/**/*.t?")("src/a/b.ts")


def test_a_recorded_folder_of_a_name_too_long_is_no_folder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = WRITERS["claude_code"]([Step("user", "Sort it."), Step("agent", "Done.")])
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines.replace(b"/home/ada/ledger", b"x" * 300))
    monkeypatch.chdir(tmp_path)
    for words in (["resume", "--save", str(path)], ["checkpoint", "show", "x" * 300 + ".json"]):
        done = run(*words)
        assert done.returncode == (0 if "--save" in words else 2)
        assert b"Traceback" not in done.stderr
