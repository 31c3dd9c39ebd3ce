"""No way out of leftoff shows a key that was written with something in its middle.

A session holds keys of several kinds, each with one separator in it (a control character, a
terminal sequence, an invisible mark, an escape, the end of a line, the seam of two strings), in
every place that people, agents and tools write to. Every command that quotes a session, the
hooks' block, the tools of MCP, the tables of a batch and the files on disk are then searched
for pieces of the keys.
"""

import contextlib
import io
import json
import random
import re
import string
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.properties.test_redaction_of_split_tokens import SEPARATORS
from tests.strategies.claude_code import Recording
from tests.strategies.hooks import hook_input

from leftoff.__main__ import main
from leftoff.api import summarize
from leftoff.handover.briefing import briefing
from leftoff.memory import text
from leftoff.memory.blame import origins
from leftoff.memory.index import opened, update
from leftoff.memory.memory import Memory
from leftoff.memory.search import edits, entries

ALNUM = string.ascii_letters + string.digits
KINDS: dict[str, tuple[str, str, int]] = {
    "aws": ("AK" + "IA", string.ascii_uppercase + "234567", 16),
    "github": ("gh" + "p_", ALNUM, 36),
    "stripe": ("sk" + "_live_", ALNUM, 24),
    "google": ("AI" + "za", ALNUM, 35),
    "gitlab": ("gl" + "pat-", ALNUM, 20),
    "anthropic": ("sk-" + "ant-api03-", ALNUM, 95),
    "slack": ("xo" + "xb-123456789012-210987654321-", ALNUM, 24),
}
EVERY = [*SEPARATORS, "\u2028", "\u2029", "\x85", "\r", "\x0b", "\x0c"]
EACH = 7
"""Separators in one session: so few that every one of them is among what is shown."""
PIECE = 8


def split_key(chance: random.Random, kind: str, separator: str) -> tuple[str, str]:
    """A key, and its spelling with the separator somewhere in it."""
    head, letters, size = KINDS[kind]
    key = head + "".join(chance.choices(letters, k=size))
    middle = chance.randrange(4, len(key) - 4)
    return key, f"{key[:middle]}{separator}{key[middle:]}"


def said(separator: str, spelt: str) -> str:
    """The key in a sentence, as one string if the separator is the seam of two."""
    quote = next((q for q in "\"'" if q in separator), "")
    quote = "\\" * ("\\" in separator) + quote if quote else ""
    return f"{quote}{spelt}{quote}"


def recorded(separators: list[str], chance: random.Random) -> tuple[Recording, list[str]]:
    """A Claude Code session, and the keys in it."""
    keys: list[str] = []
    clock = "2031-04-05T06:00:{n:02}Z"
    made = Recording(clock=clock, sessionId="s1", cwd="/home/dev/shop")
    names = list(KINDS)
    for number, separator in enumerate(separators):
        kind = names[(number + len(separator)) % len(names)]

        def make(separator: str = separator, kind: str = kind) -> str:
            key, spelt = split_key(chance, kind, separator)
            keys.append(key)
            return said(separator, spelt)

        made.say(f"Please upload with {make()} and fix the counter.")
        use = {"type": "tool_use", "id": f"t{number}"}
        bash = {"command": f"curl -H 'X-Key: {make()}' https://a.example"}
        made.add("assistant", [
            {"type": "text", "text": f"I'll use {make()} because it never expires."},
            {"type": "text", "text": f"Next steps:\n\n- rotate {make()} on the server"},
            {**use, "name": "Bash", "input": bash},
            {**use, "id": f"w{number}", "name": "Write",
             "input": {"file_path": f"/home/dev/shop/{make()}.py", "content": make()}},
            {**use, "id": f"d{number}", "name": "TodoWrite",
             "input": {"todos": [{"content": f"rotate {make()}", "status": "pending",
                                  "activeForm": "rotating"}]}},
        ])  # fmt: skip
        done = {"type": "tool_result"}
        made.add("user", [
            {**done, "tool_use_id": f"t{number}", "is_error": True,
             "content": f"Error: the server refused {make()} today"},
            {**done, "tool_use_id": f"w{number}", "content": "File created successfully"},
            {**done, "tool_use_id": f"d{number}", "content": "ok"},
        ])  # fmt: skip
        made.answer(f"All tests pass now with {make()} in use.")
    return made, keys


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, list[str]]]:
    """The recordings and the keys in them."""
    chance = random.Random(5)
    folder = tmp_path_factory.mktemp("ways-out")
    made = []
    for first in range(0, len(EVERY), EACH):
        recording, keys = recorded(EVERY[first : first + EACH], chance)
        made.append((recording.save(folder / f"{first}.jsonl"), keys))
    return made


_RUN = re.compile(r"[A-Za-z0-9_-]{8,}")


def leaked(keys: list[str], shown: str) -> list[str]:
    """Pieces of the random parts of keys that can be read in a text."""
    pieces = {key[i : i + PIECE] for key in keys for i in range(8, len(key) - PIECE + 1)}
    runs = {run[i : i + PIECE] for run in _RUN.findall(shown) for i in range(len(run) - 7)}
    return sorted(pieces & runs)


COMMANDS = [
    *(f"summarize S -f {form}" for form in ("text", "markdown", "prompt", "log", "json", "html")),
    "summarize S --all", "summarize S --explain", "summarize S --explain --json",
    "summarize S --shape seed001", "summarize S -f log --budget 700", "show S#1-60",
    "show S#1-60 --full", "export S", "export S -f html", "convert S --to atif", "convert S --to leftoff",
    "follow S --for 0", "follow S --json --for 0", "report S", "log create S", "budget S",
    "checkpoint create S --markdown dumps", "checkpoint create S --markdown dumps --json",
    "memory update S", "resume --save S", "batch S -o rows.jsonl -w 1 -q", "redact S", "audit S", "list",
]  # fmt: skip


def run(words: list[str]) -> str:
    """Both streams of a command, run in this process."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape", write_through=True)
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
        contextlib.suppress(SystemExit),
    ):
        main(words)
    out.flush()
    return out.buffer.getvalue().decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_shows_a_key(
    command: str,
    sessions: list[tuple[Path, list[str]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    found: dict[str, list[str]] = {}
    # Each command has every second session, and each separator half of the commands.
    for number, (path, keys) in enumerate(sessions[COMMANDS.index(command) % 2 :: 2]):
        words = [w.replace("S", str(path), 1) if w[:1] == "S" else w for w in command.split()]
        words = [w.replace("rows", f"rows{number}") for w in words]
        shown = run(words)
        assert "Traceback" not in shown, shown
        for file in sorted(tmp_path.rglob("*")):
            if file.is_file():
                shown += file.read_bytes().decode("utf-8", "replace")
                file.unlink()
        if command.startswith("redact"):  # the file as it was, with its escapes
            shown = "\n".join(_strings(json.loads(line)) for line in shown.splitlines()
                              if line.startswith("{"))  # fmt: skip
        for piece in leaked(keys, shown):
            at = shown.index(piece)
            found[piece] = [str(path.name), shown[max(0, at - 60) : at + 40]]
    assert not found, f"{len(found)} pieces, such as {list(found.items())[:4]}"


def _strings(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{k}\n{_strings(v)}" for k, v in value.items())
    if isinstance(value, list):
        return "\n".join(map(_strings, value))
    return str(value)


def _mcp(path: Path) -> Iterator[str]:
    from leftoff.integrations.mcp_tools import Answers

    project = path.parent / "home" / ".claude" / "projects" / "-work-shop"
    project.mkdir(parents=True, exist_ok=True)
    kept = project / "00000000-1111-4222-8333-444444444444.jsonl"
    kept.write_bytes(path.read_bytes())
    index = path.parent / "home" / "memory.sqlite3"
    environ = {"HOME": str(path.parent / "home"), "LEFTOFF_MEMORY": str(index)}
    update(index, [kept], environ=environ)
    answers = Answers(environ, "/home/dev/shop")
    name = kept.stem
    yield answers.summarize(name)
    yield answers.decisions(name)
    yield answers.files(name)
    yield answers.files(name, "created")
    yield answers.resume_prompt(name)
    yield answers.show(name, 1, 60)
    yield answers.list_sessions()
    file = path.parent / "blamed.py"
    file.write_text("import os\n")
    with patch("leftoff.integrations.mcp_tools.update"):  # it was updated above
        yield from (answers.search(query) for query in QUERIES)
        yield answers.fix(QUERIES[-1])
        yield answers.ledger("/")
        yield answers.left_open("/")
        yield answers.blame(str(file))


QUERIES = (
    "upload and fix the counter", "never expires", "rotate on the server", "curl X-Key",
    "tests pass now in use", "Error: the server refused today",
)  # fmt: skip


def _memory(path: Path) -> Iterator[str]:
    index = path.parent / f"{path.stem}.sqlite3"
    memory = Memory(index)
    memory.update([path])
    hits = [memory.search(query, limit=200) for query in QUERIES]
    fixes, standing = memory.fix(QUERIES[-1]), memory.ledger()
    yield from (text.hits_text(found, 80) for found in (*hits, memory.left_open()))
    yield text.fixes_text(fixes, 80)
    yield text.ledger_text(standing, 80)
    yield "\n".join(text.surest_lines(standing))
    with opened(index) as db:
        paths = [row[0] for row in db.execute("SELECT DISTINCT path FROM edits")]
        # What is compressed in the file.
        yield repr((list(entries(db, "1")), list(edits(db, "1"))))
    assert paths
    for name in paths:
        found = origins(index, name, ["a = 1", "b = 2"])
        yield text.blame_text(name, ["a = 1", "b = 2"], found, 80)
        yield repr(found)
    yield repr((hits, fixes, standing, memory.left_open()))
    for file in index.parent.glob(f"{index.name}*"):
        yield file.read_bytes().decode("utf-8", "replace")


def _hooks(path: Path) -> Iterator[str]:
    from leftoff.hooks import answer, queue
    from leftoff.hooks.worker import process_jobs

    project = path.parent / f"project{path.stem}"
    project.mkdir(exist_ok=True)

    event = partial(hook_input, project=project, transcript=path)
    index = path.parent / f"hooks-{path.stem}.sqlite3"
    environ = {"HOME": str(path.parent), "CLAUDE_PROJECT_DIR": str(project)}
    environ["LEFTOFF_MEMORY"] = str(index)
    with patch.dict("os.environ", environ), patch.object(answer, "start_worker"):
        answer.answer(event("SessionEnd", "one", reason="other"), environ)
        process_jobs(queue.home_of(project, environ), "one")
        yield answer.answer(event("SessionStart", "two", source="startup"), environ).decode()
        for query in QUERIES:  # the worker has written the index and the project's ledger
            yield answer.answer(
                event("UserPromptSubmit", "two", prompt=query), environ
            ).decode()
    for file in sorted(project.rglob("*")):
        if file.is_file():
            yield file.read_bytes().decode("utf-8", "replace")


def _library(path: Path) -> Iterator[str]:
    summary = summarize(path)
    yield briefing(summary)
    yield briefing(summary, whole=20_000)


@pytest.mark.parametrize(
    "way", [_mcp, _hooks, _memory, _library], ids=["mcp", "hooks", "memory", "briefing"]
)
def test_no_program_gets_a_key(
    way: Callable[[Path], Iterator[str]], sessions: list[tuple[Path, list[str]]]
) -> None:
    found = []
    for path, keys in sessions:
        answers = list(way(path))
        assert any("REDACTED" in shown for shown in answers), answers
        for shown in answers:
            for piece in leaked(keys, shown):
                at = shown.index(piece)
                found.append((path.name, shown[max(0, at - 60) : at + 40]))
    assert not found, f"{len(found)} pieces, such as {found[:4]}"
