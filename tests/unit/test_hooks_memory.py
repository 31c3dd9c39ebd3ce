"""Hooks: which earlier session is the memory of a new one, what a prompt recalls, and whether
the agent got it."""

import os
import random
import re
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.strategies.claude_code import Recording
from tests.strategies.hooks import hook_input, without_worker

from leftoff import codec
from leftoff.hooks import answer, queue, worker
from leftoff.hooks.arrival import event_rows, is_in_transcript
from leftoff.incremental.cursor import Cursor
from leftoff.stores.atomic import create_and_open
from leftoff.tokens import max_tokens

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = ROOT / "corpora" / "sessions" / "claude_code"
PROMPT = "Does a running flush take a lock in the store?"


class Client:
    """Asks hooks as a client does; workers run when the test says so."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = root / "home" / "shop"
        self.home = self.project / ".leftoff"
        self.recordings = root / "claude" / "projects" / "-home-shop"
        self.project.mkdir(parents=True)
        self.recordings.mkdir(parents=True)

    def transcript(self, session: str) -> Path:
        return self.recordings / f"{session}.jsonl"

    def record(self, session: str, name: str) -> None:
        """One of our own sessions, as if it had been recorded in this project."""
        text = (SESSIONS / f"{name}.jsonl").read_text()
        cwd = re.search(r'"cwd": ?"([^"]+)"', text)
        assert cwd is not None
        own = re.search(r'"sessionId": ?"([^"]+)"', text)
        assert own is not None
        text = text.replace(cwd[1], str(self.project)).replace(own[1], session)
        self.transcript(session).write_text(text)

    def say(self, session: str, *lines: str) -> None:
        """Adds typed messages and short replies to a recording."""
        with self.transcript(session).open("ab") as file:
            made = Recording(
                key=f"{session}-{file.tell()}-{{n}}", clock="2026-04-15T10:00:00Z",
                sessionId=session, cwd=str(self.project),
            )  # fmt: skip
            for line in lines:
                made.say(line)
                made.answer("Hello.")
            file.write(made.data)

    def ask(self, event: str, session: str, **more: Any) -> str:
        place = self.transcript(session)
        data = answer.answer(
            hook_input(event, session, project=self.project, transcript=place, **more), {}
        )
        reply = codec.parse(data) if data else {}
        output = reply.get("hookSpecificOutput", {})
        assert output.get("hookEventName", event) == event
        return str(output.get("additionalContext", ""))

    def work(self, session: str) -> None:
        worker.process_jobs(self.home, session)

    def run(self, session: str) -> None:
        """A session from its start to its end, with what was recorded of it."""
        self.ask("SessionStart", session, source="startup")
        self.ask("Stop", session)
        self.ask("SessionEnd", session)
        self.work(session)

    def recorded(self, session: str, name: str) -> None:
        """One of our own sessions, from its start to its end."""
        self.record(session, name)
        self.run(session)

    def said(self, session: str, *lines: str) -> None:
        """A session in which this was typed, from its start to its end."""
        self.say(session, *lines)
        self.run(session)

    def start(self, session: str) -> str:
        return self.ask("SessionStart", session, source="startup")

    def stop(self, session: str) -> None:
        self.ask("Stop", session)
        self.work(session)

    def prompt(self, session: str, words: str = PROMPT) -> str:
        return self.ask("UserPromptSubmit", session, prompt=words)

    def arrive(self, session: str, block: str, kind: str = "hook_additional_context") -> None:
        """The client records that the agent got a block."""
        attachment = {"type": kind, "content": [block]}
        with self.transcript(session).open("ab") as file:
            file.write(codec.dumps({"type": "attachment", "attachment": attachment}))

    def on_branch(self, name: str) -> None:
        (self.project / ".git").mkdir(exist_ok=True)
        (self.project / ".git" / "HEAD").write_text(f"ref: refs/heads/{name}\n")


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    without_worker(monkeypatch, tmp_path)
    return Client(tmp_path)


# -- the memory of a new session -------------------------------------------------------------


def test_a_session_without_work_is_not_the_memory_of_the_next(client: Client) -> None:
    client.recorded("a1", "outbox")
    client.said("b2", "hi")
    block = client.start("c3")
    assert block.startswith('<leftoff session="a1">')


def test_the_memory_is_that_of_the_branch_and_says_what_the_others_left_open(
    client: Client,
) -> None:
    client.on_branch("main")
    client.recorded("a1", "outbox")
    client.record("b2", "prorate")
    text = client.transcript("b2").read_text()
    client.transcript("b2").write_text(
        re.sub(r'"gitBranch": ?"[^"]*"', '"gitBranch":"billing"', text)
    )
    client.run("b2")
    assert client.start("c3").startswith('<leftoff session="a1')
    client.on_branch("billing")
    block = client.start("d4")
    assert block.startswith('<leftoff session="b2">')
    assert "earlier sessions" not in block  # they were on another branch
    client.on_branch("docs")  # nothing was done there yet: the last session of all
    assert client.start("e5").startswith('<leftoff session="b2')


def test_what_an_earlier_session_left_open_stands_in_the_block_of_the_last(
    client: Client,
) -> None:
    client.recorded("a1", "outbox")
    about = queue.load(client.home / queue.STATE / "a1" / queue.ABOUT_SESSION)
    assert about["open"]
    client.recorded("b2", "prorate")
    block = client.start("c3")
    _, _, part = block.partition("Left open by earlier sessions:\n")
    assert "session a1 #" in part
    assert len(block.encode()) <= 8_000


def test_the_first_session_after_installing_gets_what_was_recorded_before(
    client: Client,
) -> None:
    client.record("old1", "outbox")
    client.record("old2", "prorate")
    for age, session in ((9_000, "old1"), (5_000, "old2")):
        then = time.time() - age
        os.utime(client.transcript(session), (then, then))
    client.say("elsewhere", "hi")
    assert client.start("new1") == ""  # at once
    assert client.prompt("new1") == ""  # the worker is not done yet
    client.work("new1")
    block = client.prompt("new1")
    assert block.startswith('<leftoff session="old2">')
    assert "session old1 #" in block
    assert not client.prompt("new1", "Go on.")  # once
    # The second session needs no more of it.
    assert block.startswith(client.start("new2"))
    assert "- Decided by the person: " in block.partition("</leftoff>")[2]
    assert not list((client.home / queue.STATE).glob("elsewhere/about.json")) or (
        queue.load(client.home / queue.STATE / "elsewhere" / queue.ABOUT_SESSION)["work"]
        is False
    )


def test_recordings_of_other_projects_are_not_imported(client: Client) -> None:
    shutil.copyfile(SESSIONS / "outbox.jsonl", client.transcript("foreign"))
    client.start("new1")
    client.work("new1")
    assert client.prompt("new1") == ""
    assert not (client.home / queue.STATE / "foreign").exists()


# -- what a prompt recalls -------------------------------------------------------------------


def test_a_prompt_gets_what_earlier_work_says_about_it_once(client: Client) -> None:
    client.recorded("a1", "outbox")
    client.said("b2", "hi")
    client.stop("b2")
    block = client.prompt("c3")  # it got no block at its start
    assert block.startswith('<leftoff session="a1">')
    assert "in session a1 (message n: leftoff show a1#n):" in block
    assert "a lock would outlive a crashed tab" in block
    assert max_tokens(block) <= 1_300
    assert re.search(r"#\d+", block)
    again = client.prompt("c3")
    assert not set(block.splitlines()[3:-1]) & set(again.splitlines()[3:-1])
    for other in ("hi", "/compact", "", "Please translate the poem about autumn leaves."):
        assert client.prompt("d4", other) == ""


def test_what_stood_in_the_first_block_is_not_recalled(client: Client) -> None:
    client.recorded("a1", "outbox")
    start = client.start("b2")
    recalled = client.prompt("b2")
    for line in recalled.splitlines():
        if line.startswith("- "):
            assert line[2:].partition(": ")[2][:80] not in start


def test_within_a_session_only_what_stood_before_the_compaction_is_recalled(
    client: Client,
) -> None:
    client.record("a1", "outbox")
    client.start("a1")
    client.stop("a1")
    path = client.home / queue.STATE / "a1" / queue.WATCH
    watch = queue.load(path)
    for ends in (watch["compacted"], 20):
        path.write_bytes(codec.dumps({**watch, "compacted": ends}))
        (client.home / queue.STATE / "a1" / queue.GIVEN).unlink(missing_ok=True)
        block = client.prompt("a1")
        assert "earlier in this session" in block
        numbers = [int(n) for n in re.findall(r"#(\d+)\)$", block, re.MULTILINE)]
        assert numbers
        assert all(n <= ends for n in numbers)
    path.write_bytes(codec.dumps({**watch, "compacted": -1}))  # as if it had not been
    (client.home / queue.STATE / "a1" / queue.GIVEN).unlink()
    assert client.prompt("a1") == ""


def test_one_setting_switches_it_off(client: Client) -> None:
    client.recorded("a1", "outbox")
    assert client.prompt("c3")
    (client.project / "leftoff.toml").write_text("[hooks]\nrecall = false\n")
    client.start("d4")
    client.work("d4")
    assert client.prompt("d4") == ""


def test_secrets_are_in_no_file(client: Client) -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    client.record("a1", "outbox")
    client.said("a1", f"Deploy the outbox with the token {secret} to staging.rb")
    for path in (client.home / queue.STATE).rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path
    assert "[REDACTED" in client.prompt("b2", "Which token does the deploy to staging.rb take?")


def test_the_hook_of_a_prompt_imports_no_engine(client: Client) -> None:
    client.recorded("a1", "outbox")
    told = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "c3",
        "cwd": str(client.project),
        "prompt": PROMPT,
    }
    ours = (
        "import sys; from leftoff.hooks import answer as h;"
        f"print(bool(h.answer({codec.dumps(told)!r}, {{}})));"
        "print([m for m in sys.modules if m.split('.')[0] in ('click', 'spacy', 're2') or "
        "m.startswith(('leftoff.extraction', 'leftoff.formats', 'leftoff.summary', "
        "'leftoff.tokens', 'leftoff.redaction'))])"
    )
    command = [sys.executable, "-c", ours]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.splitlines() == ["True", "[]"]


# -- arrival ---------------------------------------------------------------------------------


def test_a_block_that_did_not_arrive_is_given_again_once(client: Client) -> None:
    client.recorded("a1", "outbox")
    block = client.start("b2")
    client.say("b2", "What is left to do?")  # the client dropped the block
    client.arrive("b2", block, "hook_success")  # it says what was printed, not what was sent
    client.stop("b2")
    (row,) = (r for r in event_rows(client.home) if r["event"] == "SessionStart")
    assert row["seen"] is False
    assert client.prompt("b2", "Go on.") == block
    assert client.prompt("b2", "Go on.") == ""
    client.arrive("b2", block)
    client.stop("b2")
    rows = {r["event"]: r for r in event_rows(client.home)}
    assert rows["UserPromptSubmit"]["seen"] is True
    assert rows["Stop"]["output"] == ""
    assert rows["PreCompact"]["last"] == ""


def test_a_block_that_arrived_is_not_given_again(client: Client) -> None:
    client.recorded("a1", "outbox")
    block = client.start("b2")
    client.arrive("b2", block)
    client.say("b2", "What is left to do?")
    client.stop("b2")
    (row,) = (r for r in event_rows(client.home) if r["event"] == "SessionStart")
    assert row["seen"] is True
    assert row["milliseconds"] is not None
    assert client.prompt("b2", "Go on.") == ""


def test_only_what_the_agent_is_handed_counts_as_arrived(tmp_path: Path) -> None:
    first = '<leftoff session="a1">'
    given = {"first": first, "from": None}
    text = f"{first}\nWhat is recorded\n</leftoff>\n"
    lines = {
        True: [
            {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": [text]}},
            {"type": "response_item", "payload": {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}]}},
            {"type": "user", "message": {"role": "user", "content": f"{text}Go on."}},
        ],
        False: [
            {"type": "attachment", "attachment": {"type": "hook_success", "stdout": text, "content": ""}},
            {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": text, "text": text}]}},
            {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}},
            {"type": "response_item", "payload": {"type": "function_call_output", "output": text}},
            {"type": "user", "message": {"role": "user", "content": first.replace("a1", "a2") + "\n"}},
        ],
    }  # fmt: skip
    path = tmp_path / "s.jsonl"
    for expected, rows in lines.items():
        for row in rows:
            path.write_bytes(codec.dumps({"type": "mode"}) + codec.dumps(row))
            assert is_in_transcript(given, str(path)) is expected
    path.write_bytes(codec.dumps(lines[True][0]))
    size = path.stat().st_size
    with path.open("rb") as file:
        end = codec.to_builtins(Cursor.at(file, size))
    assert is_in_transcript({**given, "from": end}, str(path)) is None  # nothing since
    path.write_text(f"\n{path.read_text()}")
    assert is_in_transcript({**given, "from": end}, str(path)) is True  # written anew
    assert is_in_transcript(given, str(tmp_path / "none")) is None
    assert is_in_transcript({}, str(path)) is None


def test_what_a_compactions_summary_states_wrongly_comes_with_the_next_prompt(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leftoff.hooks.prompt.WRONG", "The person said before:")
    client.record("a1", "prorate")
    client.ask("PreCompact", "a1", trigger="auto")
    client.work("a1")
    client.ask("SessionStart", "a1", source="compact")
    assert client.prompt("a1", "Go on.") == ""
    client.ask("PostCompact", "a1", compact_summary="Charges were computed, and all is well.")
    client.work("a1")
    assert client.prompt("a1", "Go on.").startswith("<leftoff")
    assert client.prompt("a1", "Go on.") == ""


# -- the user's index ------------------------------------------------------------------------


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Where the index of the client's user is."""
    return tmp_path / "home" / ".local" / "state" / "leftoff" / "memory.sqlite3"


RULE = "Never use Docker on this machine, it is not installed."
FILLERS = ("Thanks for the report.", "Please go on with the next page.")


def five_sessions(client: Client) -> None:
    """A rule that was typed twice, in sessions before the last three."""
    for number in range(5):
        rule = RULE if number < 2 else f"Translate page {number} to Polish, please."
        client.said(f"s{number}", rule, *FILLERS)


def test_a_new_session_gets_what_the_person_required_in_earlier_ones(
    client: Client, index: Path
) -> None:
    five_sessions(client)
    assert stat.S_IMODE(index.stat().st_mode) == 0o600
    block = client.start("new")
    first, _, second = block.partition("</leftoff>\n")
    assert "Docker" not in first
    assert second.startswith(f'<leftoff session="s4">\n{queue.ABOUT}\n')
    assert f"- Required by the person, 2 sessions: {RULE} (s1#1, 2026-04-15)\n" in second
    assert second.count("Docker") == 1
    assert len(second.encode()) <= worker.MAX_LEDGER_BYTES
    # After a compaction the block of the session itself is given, and nothing else.
    client.said("new", *FILLERS, "Go on.")
    assert "Required by" not in client.ask("SessionStart", "new", source="compact")


def test_a_line_that_the_block_has_is_not_given_again(client: Client) -> None:
    for session in ("s0", "s1"):
        client.said(session, RULE, *FILLERS)
    block = client.start("new")
    assert block.count("Never use Docker") == 1
    assert "Required by" not in block


def test_a_resumed_session_gets_only_the_lines_that_it_lacks(client: Client) -> None:
    five_sessions(client)
    client.start("new")
    client.said("new", "Never use tabs in the stylesheets of the shop.", *FILLERS)
    client.said("s6", "Never store prices as floats, only as integer cents.", *FILLERS)
    again = client.ask("SessionStart", "new", source="resume")
    assert "Docker" not in again  # given when it began
    assert "tabs" not in again  # said in it
    assert "Never store prices as floats" in again
    assert client.ask("SessionStart", "new", source="resume") == ""  # once


def test_the_lines_are_whole_and_at_most_so_many_bytes(client: Client) -> None:
    chance = random.Random(4)
    names = ["".join(chance.choices("abcdeé", k=9)) for _ in range(150)]
    rules = [f"Never touch the folder {' '.join(names[n : n + 5])}." for n in range(0, 150, 5)]
    client.said("s0", *rules)
    client.said("s1", "Translate a page to Polish, please.", *FILLERS)
    text = queue.read_briefing(client.home / queue.STATE / "s1", queue.LEDGER)
    lines = text.splitlines()[3:-1]
    assert len(lines) > 3
    assert all(line.startswith("- ") and line.endswith(")") for line in lines)
    assert worker.MAX_LEDGER_BYTES - 250 < len(text.encode()) <= worker.MAX_LEDGER_BYTES


def test_a_prompt_finds_what_an_older_session_said(client: Client) -> None:
    client.said("s0", "The invoice exporter writes UTF-16 for the bank Nordhafen.", *FILLERS)
    for number in range(1, 5):
        client.said(f"s{number}", f"Translate page {number} to Polish, please.", *FILLERS)
    client.said("new", "Hello.")
    question = "Which encoding does the invoice exporter need for Nordhafen?"
    block = client.prompt("new", question)
    assert "Said and done in session s0" in block
    assert "- The person: The invoice exporter writes UTF-16" in block
    assert block.count("<") == 2
    assert max_tokens(block) <= 1_300
    assert client.prompt("new", question) == ""
    assert client.prompt("new", "Why does the zeppelin not inflate?") == ""
    # What the session itself said is in the agent's context.
    client.said("new", "The voucher importer reads ISO-8859-2 from Gdynia.")
    assert client.prompt("new", "Does the voucher importer read from Gdynia?") == ""


def test_one_setting_switches_the_index_off(client: Client, index: Path) -> None:
    five_sessions(client)
    (client.project / "leftoff.toml").write_text("[hooks]\nmemory = false\n")
    index.unlink()
    client.said("new", *FILLERS, "Go on.")
    assert not index.exists()
    assert not list(client.home.rglob(queue.LEDGER))
    assert "Docker" not in client.start("more")


@pytest.mark.parametrize("content", [b"no database, but as long as one" * 9, b""])
def test_a_damaged_index_stops_no_hook(client: Client, index: Path, content: bytes) -> None:
    client.recorded("a1", "outbox")
    for path in index.parent.iterdir():
        path.unlink()
    index.write_bytes(content)
    assert client.start("more")
    assert client.prompt("more", "Where does the invoice exporter write for Nordhafen?") == ""
    client.said("new", *FILLERS, "Go on.")
    assert client.start("more")


def test_an_index_that_is_in_use_is_not_waited_for(client: Client, index: Path) -> None:
    client.record("a1", "outbox")
    with create_and_open(index.parent) as folder, folder.lock(f"{index.name}.lock", 1):
        client.run("a1")
    assert not index.exists()
    log = (client.home / queue.STATE / queue.LOG).read_text()
    assert re.search(r"worker: memory a1 \d\.\d\d s in use\n", log)
    assert (client.home / queue.STATE / "a1" / queue.BRIEFING).exists()


def test_an_event_without_a_transcript_takes_no_ledger_away(client: Client) -> None:
    """The worker took it for an event of a project whose memory is switched off, and removed the
    ledgers of all sessions."""
    five_sessions(client)
    before = sorted(client.home.rglob(queue.LEDGER))
    assert len(before) == 5
    answer.answer(
        codec.dumps({"session_id": "x", "hook_event_name": "Stop", "cwd": str(client.project)}),
        {},
    )
    client.work("x")
    assert sorted(client.home.rglob(queue.LEDGER)) == before
