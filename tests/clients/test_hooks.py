"""Hooks in the real clients: a session decides, edits, is compacted and ends, and the next one
begins with what it left.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.recording.scripted_model import Call, ScriptedModel, Turn
from benchmarks.reviews.homes import environment
from tests.clients.conftest import installed
from tests.strategies.hooks import settled

from leftoff import api
from leftoff.hooks import queue

ROOT = Path(__file__).resolve().parents[2]

DECISION = "I'll keep the queue in SQLite because it survives a crash and needs no server."
RULE = "Never touch legacy.py, the billing job imports it."
OPEN = "Write the migration for rows that are queued already"
CRASH = "Why is the queue in SQLite, will it survive a crash of the server?"
MAIL = "I'll send mails as plain text because some readers show no markup."
KEPT = "The queue lives in SQLite, since it survives a crash and needs no server."
COMPACTING = "Your task is to create a detailed summary"

OTHERS = """{
    "hooks": {"Stop": [ {"hooks": [{"type": "command", "command": "true"}]} ]},
  "permissions": {"allow": ["Bash(ls:*)"]}
}"""

pytestmark = pytest.mark.timeout(240)


class Scratch:
    """A home with a project and one client."""

    def __init__(self, name: str, root: Path, model: ScriptedModel) -> None:
        self.program, self.model = installed(name), model
        self.home = root / "home"
        self.project = self.home / "shop"
        self.project.mkdir(parents=True)
        self.environ = environment(name, self.home, model.url)
        self.kept = self.project / ".leftoff"

    def run(self, *words: str) -> None:
        done = subprocess.run(
            [self.program, *words], cwd=self.project, env=self.environ,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-2000:]

    def leftoff(self, *words: str) -> str:
        """Our own command, as somebody types it in the project."""
        ours = (
            "import sys; from leftoff.cli.hook import hook;"
            "sys.exit(hook.main(sys.argv[1:], 'leftoff hook', standalone_mode=False) or 0)"
        )
        done = subprocess.run(
            [sys.executable, "-c", ours, *words], cwd=self.project, env=self.environ,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def settle(self) -> None:
        """Waits for the workers to have done what hooks left them."""
        if not settled(self.kept, 30):
            pytest.fail("a worker did not end: " + self.log())

    def log(self) -> str:
        return queue.read_text(self.kept / queue.STATE / queue.LOG)

    def blocks(self) -> list[list[str]]:
        """The blocks of ours in each request to the model."""
        found = []
        for request in self.model.requests:
            if request.route != "side":
                said = json.dumps(
                    request.body.get("messages") or request.body.get("input"),
                    ensure_ascii=False,
                )
                found.append(re.findall(r"<leftoff session=.*?</leftoff>", said))
        return found


def test_the_next_session_of_claude_code_begins_with_what_the_last_one_left(
    tmp_path: Path,
) -> None:
    written = {"file_path": str(tmp_path / "home/shop/queue.py"), "content": "import sqlite3\n"}
    planned = {"subject": OPEN, "description": "They were queued by the old version."}
    usage = {"input_tokens": 860_000, "output_tokens": 40}
    turns = [
        Turn(text=(DECISION,), calls=(Call("Write", written),)),
        Turn(calls=(Call("TaskCreate", planned),)),
        Turn(text=("queue.py is written.",)),
        Turn(text=("It opens the file on first use.",), usage=usage),
        Turn(text=("Nearly full.",), usage=usage),
        Turn(text=("I go on.",)),
        Turn(text=("I know.",)),
    ]
    summary = Turn(text=(f"<summary>{KEPT} queue.py was created.{' ' * 600}</summary>",))
    with ScriptedModel(turns, routes={COMPACTING: [summary]}) as model:
        scratch = Scratch("claude", tmp_path, model)
        settings = Path(scratch.environ["CLAUDE_CONFIG_DIR"]) / "settings.json"
        settings.write_text(OTHERS)
        before = settings.read_bytes()
        shown = scratch.leftoff("install", "--yes")
        assert "+" in shown
        assert json.loads(settings.read_text())["permissions"] == {"allow": ["Bash(ls:*)"]}
        prompts = ["-p", "--permission-mode", "acceptEdits", "--output-format", "json"]

        scratch.run(*prompts, f"Write queue.py. {RULE}")
        scratch.settle()
        scratch.run(*prompts, "--continue", "How does it open?")
        scratch.settle()
        scratch.run(*prompts, "--continue", "And is there room?")
        scratch.settle()
        scratch.run(*prompts, "--continue", "/compact")
        scratch.settle()
        scratch.run(*prompts, "--continue", "Go on.")
        scratch.settle()
        scratch.run(*prompts, "What is left to do?")  # another session
        scratch.settle()

        (first, _, _, second, third, _compaction, after, last) = scratch.blocks()
        assert first == []  # nothing had been left yet
        assert second == third == []  # the client sends what was said itself
        # After the compaction: what stood before it, and what the summary lacks.
        told = "\n".join(after)
        assert "SQLite" in told
        assert "Never touch legacy.py" in told
        assert "rite the migration" in told
        # The next session: the decision, the rule, the open item, the file, and where the rest is.
        (block,) = last
        for words in ("SQLite", "Never touch legacy.py", "rite the migration", "queue.py"):
            assert words in block
        (name,) = re.findall(r"<leftoff session=\W*([\w-]+)", block)
        log = scratch.kept / "resume-logs" / f"session-{name}.md"
        assert str(log) in block
        assert "Never touch legacy.py" in log.read_text()
        assert len(list((scratch.kept / "context-checkpoints").glob("*.json*"))) == 1

        assert "failed" not in scratch.log()
        (transcript,) = [
            p
            for p in Path(scratch.environ["CLAUDE_CONFIG_DIR"]).glob("projects/*/*.jsonl")
            if p.stem == name
        ]
        # Our words are known again: nobody asked or decided them a second time.
        seen = api.summarize(str(transcript))
        assert {r.ref.message for r in seen.user_requests if "legacy.py" in r.text} == {0}
        assert sum("SQLite" in d.text for d in seen.key_decisions) <= 2
        # Two turns stood at 86 %: the person was told once.
        assert scratch.log().count(" said to the person") == 1
        spoken = queue.load(scratch.kept / "state" / name / "watch.json")
        assert spoken["usable"]

        scratch.leftoff("uninstall", "--yes")
        assert settings.read_bytes() == before
        assert sorted(p.name for p in settings.parent.glob("settings*")) == ["settings.json"]


def test_the_next_session_of_codex_begins_with_what_the_last_one_left(tmp_path: Path) -> None:
    command = {"cmd": "echo 'import sqlite3' > queue.py"}
    turns = [
        Turn(text=(DECISION,), calls=(Call("exec_command", command),)),
        Turn(text=(f"queue.py is written. Still to do: {OPEN}.",)),
        Turn(text=("I know.",)),
    ]
    with ScriptedModel(turns) as model:
        scratch = Scratch("codex", tmp_path, model)
        hooks = Path(scratch.environ["CODEX_HOME"]) / "hooks.json"
        scratch.leftoff("install", "--client", "codex", "--yes")
        words = [
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            "--dangerously-bypass-hook-trust",
        ]
        scratch.run(*words, f"Write queue.py. {RULE}")
        scratch.settle()
        scratch.run(*words, "What is left to do?")
        scratch.settle()
        assert "failed" not in scratch.log()
        first, *_, last = scratch.blocks()
        assert first == []
        (block,) = last
        for said in ("SQLite", "Never touch legacy.py", "rite the migration"):
            assert said in block
        scratch.leftoff("uninstall", "--client", "codex", "--yes")
        assert not hooks.exists()
        assert list(hooks.parent.glob("hooks.json*")) == []


_RUN = {
    "claude": ["-p", "--permission-mode", "acceptEdits", "--output-format", "json"],
    "codex": [
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        "--dangerously-bypass-hook-trust",
    ],
}
_CONTINUE = {"claude": ["--continue"], "codex": ["resume", "--last"]}


def test_after_a_compaction_codex_gets_what_stood_before_it(tmp_path: Path) -> None:
    command = {"cmd": "echo 'import sqlite3' > queue.py"}
    usage = {"input_tokens": 60_000, "output_tokens": 40}
    turns = [
        Turn(text=(DECISION,), calls=(Call("exec_command", command),)),
        Turn(text=("queue.py is written.",), usage=usage),
        Turn(text=("I go on.",)),
    ]
    summary = Turn(text=("queue.py is written. " * 30,))
    with ScriptedModel(turns, routes={"CONTEXT CHECKPOINT": [summary]}) as model:
        scratch = Scratch("codex", tmp_path, model)
        config = Path(scratch.environ["CODEX_HOME"]) / "config.toml"
        config.write_text("model_auto_compact_token_limit = 50000\n" + config.read_text())
        scratch.leftoff("install", "--client", "codex", "--yes")
        run = _RUN["codex"]
        scratch.run(*run, f"Write queue.py. {RULE}")
        scratch.settle()
        scratch.run(*run, *_CONTINUE["codex"], "Go on.")
        scratch.settle()
        *_, (block,) = scratch.blocks()
        assert "SQLite" in block
        assert "Never touch legacy.py" in block
        assert "failed" not in scratch.log()
        rows = {
            r["event"]: r for r in json.loads(scratch.leftoff("status", "--json"))["events"]
        }
        assert rows["SessionStart"]["seen"] is True
        assert rows["PreCompact"]["last"]
        assert rows["PostCompact"]["last"]


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_what_was_recorded_before_arrives_and_a_prompt_recalls_what_fits(
    name: str, tmp_path: Path
) -> None:

    def write(file: str, content: str) -> Any:
        path = str(tmp_path / "home/shop" / file)
        if name == "claude":
            return Call("Write", {"file_path": path, "content": content})
        return Call("exec_command", {"cmd": f"echo '{content.strip()}' > {file}"})

    turns = [
        Turn(text=(DECISION,), calls=(write("queue.py", "import sqlite3\n"),)),
        Turn(text=("queue.py is written.",)),
        Turn(text=("Good morning.",)),
        Turn(text=("Thank you.",)),
        Turn(text=(MAIL,), calls=(write("mail.py", "import smtplib\n"),)),
        Turn(text=("mail.py is written.",)),
        Turn(text=("Because it survives a crash.",)),
    ]
    with ScriptedModel(turns) as model:
        scratch = Scratch(name, tmp_path, model)
        run = _RUN[name]
        scratch.run(*run, f"Write queue.py. {RULE}")  # without hooks
        assert not scratch.kept.exists()
        scratch.leftoff("install", "--client", name, "--yes")

        scratch.run(*run, "Good morning")
        scratch.settle()
        scratch.run(*run, *_CONTINUE[name], "Good to see you")
        scratch.settle()
        scratch.run(*run, "Write mail.py that sends receipts.")
        scratch.settle()
        scratch.run(*run, CRASH)
        scratch.settle()

        first, _, morning, second, mail, _, last = scratch.blocks()
        assert first == []
        # What was recorded before the installation came with the first prompt after it was read.
        (block,) = dict.fromkeys([*morning, *second])
        assert "SQLite" in block
        assert "Never touch legacy.py" in block
        # The session without work is not the memory of the next one.
        assert mail == [block]
        # The last one begins with the session before it; the prompt recalls the one before that.
        begun, *required, recalled = last
        assert "plain text" in begun
        # What the person required in earlier sessions comes in a block of its own.
        assert all("Never touch legacy.py" in block for block in required)
        assert len(required) <= 1
        assert "Said and done in session" in recalled
        assert "SQLite" in recalled
        assert "plain text" not in recalled
        assert "failed" not in scratch.log()

        rows = {
            r["event"]: r for r in json.loads(scratch.leftoff("status", "--json"))["events"]
        }
        for event in ("SessionStart", "UserPromptSubmit"):
            assert rows[event]["seen"] is True, (event, scratch.leftoff("status"))
            assert rows[event]["output"] == "agent"
        assert rows["Stop"]["installed"]
        assert rows["Stop"]["last"]
