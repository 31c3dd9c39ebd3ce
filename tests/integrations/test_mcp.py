"""The tools over the Model Context Protocol, called by the official client library over stdio."""

import asyncio
import importlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from leftoff.integrations.mcp import TOOLS
from leftoff.integrations.mcp_tools import MAX_ANSWER_CHARS
from leftoff.memory.index import update

mcp: Any = pytest.importorskip(
    "mcp", reason="needs leftoff[mcp], as .ci/extras.d/30-integrations.sh has"
)


ROOT = Path(__file__).resolve().parents[2]
SESSIONS = ROOT / "corpora" / "sessions" / "claude_code"
SECRET = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with two sessions, one of them with a secret in a decision."""
    folder = tmp_path / ".claude" / "projects" / "-home-dev-shop"
    folder.mkdir(parents=True)
    for name in ("prorate", "outbox"):
        first = (SESSIONS / f"{name}.jsonl").read_text().splitlines()
        told = next(s for line in first if (s := json.loads(line).get("sessionId")))
        shutil.copyfile(SESSIONS / f"{name}.jsonl", folder / f"{told}.jsonl")
    said = (
        f"I decided against a password: the deploy uses the token {SECRET} instead, because it "
        "can be revoked."
    )
    line = {
        "type": "assistant", "sessionId": "11111111-2222-4333-8444-555555555555", "uuid": "a1",
        "parentUuid": None, "isSidechain": False, "version": "2.1.197",
        "timestamp": "2026-01-01T00:00:00Z", "cwd": "/home/dev/other",
        "message": {"role": "assistant", "content": [{"type": "text", "text": said}]},
    }  # fmt: skip
    (folder / "11111111-2222-4333-8444-555555555555.jsonl").write_text(json.dumps(line) + "\n")
    return tmp_path


def talk(home: Path, ask: Callable[[Any], Coroutine[Any, Any, None]], *words: str) -> None:
    """Starts the server as a client does, and talks to it."""
    stdio: Any = importlib.import_module("mcp.client.stdio")
    ours = "from leftoff.cli.mcp import mcp; mcp()"
    environ = {"HOME": str(home), "PATH": os.environ["PATH"]}
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-c", ours, *words], env=environ, cwd=str(home)
    )

    async def run() -> None:
        async with (
            stdio.stdio_client(server) as (reader, writer),
            mcp.ClientSession(reader, writer) as session,
        ):
            await session.initialize()
            await ask(session)

    asyncio.run(asyncio.wait_for(run(), 60))


def text_of(result: Any) -> str:
    failed = getattr(result, "is_error", getattr(result, "isError", False))
    assert not failed, result.content
    return str(result.content[0].text)


def test_the_official_client_lists_and_calls_every_tool(home: Path) -> None:
    called: dict[str, str] = {}
    update(home / ".local/state/leftoff/memory.sqlite3", environ={"HOME": str(home)})
    (home / "src").mkdir()
    (home / "src" / "outbox.js").write_text("by hand\n")

    async def ask(session: Any) -> None:
        listed = (await session.list_tools()).tools
        assert {tool.name for tool in listed} == set(TOOLS)
        assert all(tool.description for tool in listed)
        for tool in listed:
            told = tool.annotations.model_dump(by_alias=True)
            assert told["readOnlyHint"] is True
        found = json.loads(text_of(await session.call_tool("list_sessions", {})))["sessions"]
        ids = {row["id"]: row for row in found}
        assert len(ids) == 3
        outbox = next(i for i in ids if i.startswith("695651b6"))
        given: dict[str, dict[str, Any]] = {
            "list_sessions": {"limit": 2}, "summarize": {"session": outbox},
            "decisions": {"session": outbox[:8], "query": "order"},
            "files": {"session": outbox, "action": "created"},
            "resume_prompt": {"session": outbox, "budget": 1500},
            "show": {"session": outbox, "first": 9, "last": 10},
            "search": {"query": "order of inspections", "kind": "request", "limit": 3},
            "blame": {"file": "src/outbox.js"}, "fix": {"error": "TypeError: db is undefined"},
            "ledger": {"project": "/"}, "left_open": {"project": "/"},
        }  # fmt: skip
        for name, arguments in given.items():
            called[name] = text_of(await session.call_tool(name, arguments))

    talk(home, ask)
    assert set(called) == set(TOOLS)
    assert all(0 < len(text) <= MAX_ANSWER_CHARS for text in called.values())
    assert SECRET not in "".join(called.values())
    assert len(json.loads(called["list_sessions"])["sessions"]) == 2
    assert json.loads(called["list_sessions"])["more"] is True
    assert called["summarize"].startswith("<leftoff session=")
    assert "src/outbox.js" in called["summarize"]
    (first, *_) = json.loads(called["decisions"])["decisions"]
    assert "order" in first["text"]
    assert {"src/outbox.js"} <= {
        "/".join(Path(f["path"]).parts[-2:]) for f in json.loads(called["files"])["files"]
    }
    assert called["resume_prompt"].startswith("# Session Resume Log")
    assert called["show"].startswith("#9 ")
    assert json.loads(called["search"])["hits"][0]["number"]
    assert json.loads(called["blame"])["lines"][0]["recorded"] is False
    assert json.loads(called["ledger"])["standing"]


def test_other_files_and_wrong_questions_are_refused(home: Path) -> None:
    secret = home / "notes.jsonl"
    secret.write_text('{"role": "user", "text": "mine alone"}\n')
    questions: list[tuple[str, dict[str, Any]]] = [
        ("summarize", {"session": str(secret)}),
        ("summarize", {"session": "notes.jsonl"}),
        ("show", {"session": "695651b6", "first": 0}),
        ("show", {"session": "695651b6", "first": 100_000}),
        ("summarize", {"session": "ffffffff"}),
        ("files", {"session": "695651b6", "action": "burnt"}),
        ("search", {"query": " "}),
    ]
    answers: list[Any] = []

    async def ask(session: Any) -> None:
        answers.extend([await session.call_tool(*question) for question in questions])

    talk(home, ask)
    for result in answers:
        assert getattr(result, "is_error", getattr(result, "isError", False)), result.content
        assert "mine alone" not in str(result.content)
    assert "count messages from 1" in str(answers[2].content)


def test_a_session_that_takes_long_is_said_to_be_read(home: Path) -> None:
    (found,) = home.glob(".claude/projects/*/695651b6*.jsonl")
    line = found.read_bytes()
    long = found.with_name("99999999-2222-4333-8444-555555555555.jsonl")
    long.write_bytes(line * 300)
    seen: list[str] = []

    async def ask(session: Any) -> None:
        arguments = {"session": long.stem}
        while not seen or '"status":"reading"' in seen[-1]:
            seen.append(text_of(await session.call_tool("summarize", arguments)))
            await asyncio.sleep(0.1)

    talk(home, ask, "--patience", "0.1")
    assert json.loads(seen[0])["status"] == "reading"
    assert seen[-1].startswith("<leftoff")


def test_a_client_that_asks_for_it_is_notified_of_the_progress(home: Path) -> None:
    """The client's own timeout begins anew with each notification."""
    (found,) = home.glob(".claude/projects/*/695651b6*.jsonl")
    long = found.with_name("99999999-2222-4333-8444-555555555555.jsonl")
    with long.open("wb") as file:
        for _ in range(9000):
            file.write(found.read_bytes())
    notified: list[tuple[float, str]] = []
    answers: list[str] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        del total
        notified.append((progress, message or ""))

    async def ask(session: Any) -> None:
        given = {"session": long.stem}
        while not answers or '"status":"reading"' in answers[-1]:
            result = await session.call_tool("summarize", given, progress_callback=note)
            answers.append(text_of(result))

    talk(home, ask, "--patience", "50")
    times = [at for at, _ in notified]
    assert times
    assert times == sorted(set(times))
    # Before and after the reading itself there is no share.
    assert all(words.startswith("reading the session") for _, words in notified)
    assert any(" % read" in words for _, words in notified)
    assert answers[-1].startswith("<leftoff")


def test_an_unknown_argument_is_refused(home: Path) -> None:
    """The library drops it: a misspelled `session` was answered with the newest one."""

    async def ask(session: Any) -> None:
        for tool, given, said in (
            ("summarize", {"sesion": "prorate"}, "did you mean 'session'"),
            ("list_sessions", {"limit": -1}, "limit is a number"),
        ):
            result = await session.call_tool(tool, given)
            assert getattr(result, "is_error", getattr(result, "isError", False))
            assert said in str(result.content[0].text)

    talk(home, ask)
