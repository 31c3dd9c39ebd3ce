"""Defects of one place each: what was wrong stands above its tests."""

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leftoff import Pass, api, codec, lazy_re, tokens
from leftoff.__main__ import main
from leftoff.cli import completions
from leftoff.errors import FormatError
from leftoff.handover.resume_log.document import ResumeLog
from leftoff.redaction.redactor import Redactor
from leftoff.text import truncation

# A list or file of which no message can be made is an error in words, never an empty summary;
# so is an empty name. `create_context_summary([1])` gave a summary of nothing.


class Model:
    """Stands in for a pydantic model."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value

    def model_dump(self) -> dict[str, Any]:
        return self.value


def test_objects_among_dicts_are_messages_too() -> None:
    """Orchestrators hold the person's messages as dicts and the answers as objects of the
    library: those were dropped without a word, 8 of 21 messages."""
    asked = {"role": "user", "content": "Add retries to the uploader."}
    said = {"role": "assistant", "content": "I'll use exponential backoff instead."}
    mixed = [asked, Model(said), asked, Model(said)]
    plain = api.create_context_summary([asked, said, asked, said])
    found = api.create_context_summary(mixed)
    assert (found.stats, found.key_decisions) == (plain.stats, plain.key_decisions)


def test_an_unknown_object_among_messages_is_named() -> None:
    asked = {"role": "user", "content": "Add retries to the uploader."}
    with pytest.raises(FormatError, match="of which one is of the type object"):
        api.create_context_summary([asked, object(), asked])


# A field of a kind that no recorder writes is answered, not crashed on.
#
# Varying small recordings of every format found, in one evening: an origin of leftoff's own lines
# that is none was looked up in a table (KeyError); a tool's `command` that is an object was looked
# up in a set (TypeError); a document read with `--format chat` or `--format agent_messages` that is
# no list raised what the decoder raises; an id like a UUID whose half begins with a dash was
# a negative number where only positive ones are kept (OverflowError); and the ids of one column,
# where each had four dashes but not in the usual places, were packed otherwise than one by one, so
# that an answer lost its question.


HUGE = (10**30, -(10**30), 10**400, -1)


@pytest.mark.parametrize("count", HUGE)
def test_counts_that_cannot_be_are_ignored_and_told(count: int) -> None:
    """A token count of thirty digits could be neither divided nor saved (OverflowError)."""
    data = b"""\
{"leftoff": "session/1", "id": "s", "window": %d}
{"role": "user", "text": "Sort the invoices."}
{"role": "assistant", "text": "Sorted.", "response": "r", "usage": {"input": %d, "output": 7}}
{"role": "assistant", "text": "Twice.", "response": "q", "usage": {"input": 90, "output": 7}}
""" % (count, count)
    reading = Pass("s", "leftoff")
    reading.feed(data)
    again = Pass.load(reading.save(), "s")
    summary = again.summary()
    assert summary.context.spend.input == 90
    assert summary.context.window is None
    assert [issue.code for issue in summary.issues] == ["odd_count"]


# A recording whose file name is not UTF-8 is read, and told with the bad bytes replaced.
#
# `summarize --json`, `budget --json`, `follow` and `batch` ended in a UnicodeEncodeError; the other
# commands read it.

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


# The file of compiled patterns was decoded from a list that the first thread emptied: a second
# one that needed a pattern meanwhile failed with "pop from empty list".


def test_two_threads_may_need_the_first_pattern_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both, decode = threading.Barrier(2), lazy_re._decoded
    found: list[Any] = []

    def slow(data: bytes) -> Any:
        with suppress(threading.BrokenBarrierError):
            both.wait(1)
        return decode(data)

    monkeypatch.setattr(lazy_re, "_decoded", slow)
    lazy_re._known.cache_clear()
    threads = [
        threading.Thread(target=lambda: found.append(lazy_re.compiled("a+b"))) for _ in "12"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [pattern.pattern for pattern in found] == ["a+b", "a+b"]


# Three modules imported `_blake2`, a private module of CPython, to save the time of `hashlib`:
# an interpreter without it could import none of them.

CODE = """
import hashlib, sys
sys.modules["_blake2"] = None
from leftoff.formats.thread import key64
print(key64("a"))
"""


def test_a_python_without_it_gives_the_same_keys() -> None:
    without = CODE.replace('sys.modules["_blake2"] = None\n', "")
    keys = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
        for code in (CODE, without)
    ]
    assert keys[0] == keys[1] != b""


# Statements of one moment that later lines of the recording had changed, and cuts of secrets.
#
# A plan that the person refused to have written stood as the plan; a question that the person had
# answered was asked again; a failed test vanished behind a later line that stopped before it; a
# file was "not committed" though git showed a clean tree since. The end of a long text was cut
# inside a token or behind the head of a private key, so that redaction did not know the rest.

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
BODY = "\n".join(("Qm9va2tlZXBpbmc7dGlsbHM" * 3)[n : n + 60] for n in range(9))
KEY = f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 2\n\n{BODY}\n-----END PGP PRIVATE KEY BLOCK-----"


@given(st.integers(0, 120), st.sampled_from([TOKEN, KEY]), st.integers(40, 400))
@example(60, KEY, 200)
def test_no_end_of_a_text_holds_part_of_a_secret(words: int, secret: str, limit: int) -> None:
    text = "The till is done. " * words + f"Here it is: {secret}\n\nThat is all. Shall I go on?"
    text += " It runs well." * (words % 30)
    pieces = [line[:24] for line in BODY.splitlines()] if secret == KEY else [TOKEN[8:24]]
    for cut in (truncation.tail(text, limit), truncation.ends(text, limit)):
        redacted = Redactor().text(cut)
        assert not any(piece in redacted for piece in pieces)


# A follower that ran for an hour grew by tens of MiB: the costs of pieces of text, remembered so
# that none is costed twice, were kept for 200,000 pieces of any length, and a paragraph in a script
# without spaces is one piece.

MEMORIES = (tokens._max_cost, tokens._costs_of(tokens.DEFAULT_FAMILY))


def read(text: str) -> tuple[int, int]:
    return tokens.estimate_tokens(text), tokens.max_tokens(text)


def test_what_is_remembered_is_bounded() -> None:
    for start in range(0, 80_000, 8_000):
        read(" ".join(str(n) for n in range(start, start + 8_000)))
    for memory in MEMORIES:
        assert len(memory) < 40_000


def test_of_long_pieces_less_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    for memory in MEMORIES:
        memory.clear()  # what earlier tests of this process left
    monkeypatch.setattr(tokens, "_CACHE_BYTES", 10_000)
    for n in range(40):
        text = "漢字" * (150 + n)
        assert read(text) == read(text)
    for memory in MEMORIES:
        assert sum(map(len, memory)) <= 10_000


# Documents that other programs and people wrote are shown, not crashed on.
#
# Fuzzing the loaders found a resume log whose metadata says `"errors": 7`, which was read and then
# could not be shown; with `"errors": "timeout"` it was shown letter by letter. A Python value that is
# nested five hundred deep, as a tool may return, could not be kept.


def shown(metadata: dict[str, Any], **more: Any) -> str:
    return ResumeLog.from_dict({"session_id": "s", "metadata": metadata, **more}).to_markdown()


@pytest.mark.parametrize("key", ["errors", "agents_used", "files_modified"])
def test_a_single_value_stands_for_a_list_of_one(key: str) -> None:
    assert "- timeout" in shown({key: "timeout"})
    assert "- 7" in shown({key: 7})
    assert '- {"a":1}' in shown({key: {"a": 1}})
    assert "**" not in shown({key: None}).split("## Session Metadata")[-1]


@pytest.mark.parametrize("notes", [7, "no", ["/p/a.py"], {"/p/a.py": ["created"]}, {}])
def test_notes_of_files_may_be_anything(notes: Any) -> None:
    assert "- /p/a.py" in shown({"files_modified": ["/p/a.py"], "file_notes": notes})


@pytest.mark.parametrize("confidence", [10**400, -(10**400), float("inf"), True, "high", None])
def test_confidence_may_be_any_number(confidence: Any) -> None:
    told = [{"decision": "Use SQLite.", "confidence": confidence}, {"decision": "Sort."}]
    assert "Use SQLite." in shown({}, decisions=told)


def test_a_value_that_is_too_deep_is_cut() -> None:
    deep: Any = "end"
    for _ in range(5000):
        deep = [deep] if len(str(type(deep))) % 2 else {"a": deep}
    kept = codec.to_valid_json({"deep": deep, "flat": [1, {"b": ("c",)}]})
    assert kept["flat"] == [1, {"b": ["c"]}]
    assert codec.parse_strict(codec.dumps(kept)) == kept


# TAB offers no word that a shell would run.
#
# bash puts an offered word on the line as it is. A repository that came with a resume log, or another
# agent's recording, of the name `$(…)` had it run by who pressed TAB and Enter.

ODD = [
    "$(id)", "`id`", "a b", "a;b", "x&", "~", "a'b", 'a"b', "a\nb", "\x1b[2J", "a|b", "{a,b}",
    "*",
]  # fmt: skip
FINE = ["one", "2026-01-01_at-1", "größer", "a+b@c,d=e%f.g"]


def test_ids_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, sessions = tmp_path / ".leftoff/resume-logs", tmp_path / "claude/projects/p"
    for folder, begin, ending in ((kept, "session-", ".json"), (sessions, "", ".jsonl")):
        folder.mkdir(parents=True)
        for name in (*ODD, *FINE):
            (folder / f"{begin}{name}{ending}").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("HOME", str(tmp_path))
    command = click.Command("show")
    context = click.Context(command, info_name="leftoff log show")
    found = completions.complete(context, click.Argument(["id"]), "", sessions=False)
    assert [item.value for item in found] == sorted(FINE)
    told = completions.complete(context, click.Argument(["session"]), "", sessions=True)
    assert {item.value for item in told} - {"", "latest"} == set(FINE)
