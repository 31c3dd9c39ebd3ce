"""Every command of leftoff, in a home of its own: what the programs beside this file share.

A `Scene` is a scratch home in which a client has recorded sessions, a project in it, and a client
program that answers `leftoff ask`. `COMMANDS` is every command that there is, in an order in
which each finds what it needs. They run in processes of their own, traced by strace if that is
wished, or inside this one, which is faster.
"""

import io
import json
import os
import re
import shlex
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple, Self
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[2]

SESSION = "5e551011-0000-4000-8000-000000000000"
"""The id under which `tests.strategies.writers` write."""

WRITTEN_IN = "/home/ada/ledger"
"""The directory that they write into a recording."""

CLIENT = """#!/bin/sh
cat >/dev/null
cat "$SCENE_ANSWER"
cat "$SCENE_ANSWER" >&2
"""
"""A client that answers whatever it is asked with one and the same file, on both streams."""

LOGGED = (
    "import logging, sys; logging.basicConfig(level=1); "
    "from leftoff.__main__ import main; sys.exit(main())"
)
"""The program with every log record on stderr."""

ANSWERS = """
import os, sys
from leftoff.errors import LeftoffError
from leftoff.integrations.mcp import _wrap_errors
from leftoff.integrations.mcp_tools import Answers
asked = Answers(os.environ, os.getcwd())
class Refused(Exception): pass
for name, given in [
    ("list_sessions", {}), ("summarize", {}), ("decisions", {}), ("files", {}),
    ("resume_prompt", {}), ("show", {"session": "latest", "first": 1, "last": 40}),
    ("decisions", {"query": "use"}), ("show", {"session": "latest", "first": 99999}),
    ("summarize", {"session": "no-such-session"}), ("summarize", {"session": "/etc/passwd"}),
]:
    try:
        print(_wrap_errors(getattr(asked, name), Refused)(**given))
    except Refused as error:
        print(error)
"""
"""Every tool of the server for agents, asked as the protocol's library asks them."""

LIBRARY = """
import sys
from leftoff import api
from leftoff.errors import LeftoffError
from leftoff.live.resume_logs import ResumeLogGenerator
from leftoff.live.session import SessionManager
from leftoff.stores import open_store
def kept(make, *given):
    try:
        print(make(*given))
    except LeftoffError as error:
        print(error)
summary = api.summarize(sys.argv[1])
made = ResumeLogGenerator()
said = [d.text for d in summary.key_decisions] + [r.text for r in summary.user_requests]
state = {"context_summary": " ".join(said), "key_decisions": said, "next_steps": said}
log = made.generate_from_session_state("library", state, "max_tokens")
kept(made.save_resume_log, log)
def managed():
    manager = SessionManager("manager.json")
    manager.update_token_usage(150_000, 1_000, "end_turn")
    manager.update_token_usage(30_000, 1_000, said[0] if said else "")
    return open_store(".leftoff").save("task", "one", {"goal": said}, text=" ".join(said))
kept(managed)
"""
"""The library's own ways to a document."""


class Command(NamedTuple):
    """One run.

    Attributes:
        words: S stands for the recording, W for a kept workflow, L for a checkpoint's file.
        program: Python source that runs instead of the command line; words are its arguments.
        stdin: what it reads.
        settle: workers that it leaves behind are waited for.
    """

    words: tuple[str, ...]
    program: str = ""
    stdin: str = ""
    settle: bool = False

    @property
    def name(self) -> str:
        head = {ANSWERS: "answers", LIBRARY: "library"}.get(self.program, "")
        event = json.loads(self.stdin).get("hook_event_name", "") if self.settle else ""
        return " ".join(filter(None, (head, *self.words, event)))


def _hook(event: str, **more: str) -> Command:
    told = {"session_id": SESSION, "transcript_path": "S", "cwd": "P", "hook_event_name": event}
    return Command(("hook",), stdin=json.dumps({**told, **more}), settle=True)


def _commands() -> Iterator[Command]:
    for line in Path(__file__).with_name("commands.txt").read_text("utf-8").splitlines():
        line, _, stdin = line.partition(" < ")
        kind, *words = shlex.split(line) or [""]
        if kind == "hook:":
            yield _hook(words[0], **dict(word.split("=") for word in words[1:]))
        elif kind in {"answers:", "library:"}:
            yield Command(tuple(words), ANSWERS if kind == "answers:" else LIBRARY)
        else:
            yield Command((kind, *words) if kind else (), stdin=stdin)


COMMANDS = tuple(_commands())
"""Every command with what it needs, in an order in which it has it."""


class _Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Ran(NamedTuple):
    """A command that has ended."""

    name: str
    code: int
    out: str
    err: str

    @property
    def both(self) -> str:
        return self.out + self.err


class Scene:
    """A scratch home.

    Args:
        root: made; everything that is written has its place below it.
        recording: of Claude Code, as a writer of `leftoff.testing` gives it.
        text: what a client answers, and what damaged files hold.
    """

    def __init__(self, root: Path, recording: bytes, text: str = "All of it is done.") -> None:
        self.root = root
        self.home = root / "home"
        self.project = self.home / "ledger"
        self.project.mkdir(parents=True)
        recording = recording.replace(WRITTEN_IN.encode(), str(self.project).encode())
        place = self._places()
        place.mkdir(parents=True)
        self.session.write_bytes(recording)
        self.second.write_bytes(recording.replace(SESSION.encode(), self.second.stem.encode()))
        os.utime(self.second, (1_600_000_000, 1_600_000_000))
        self._client(text)
        self._repository(text)
        (self.project / "damaged.jsonl").write_bytes(b'{"type": \x00' + recording[:-3])
        damaged = json.dumps({"checkpoint_id": text, "leftoff": {"schema": text}}, indent=2)
        (self.project / "damaged.json").write_text(damaged, "utf-8", "surrogatepass")
        self.given = {p for p in root.rglob("*") if p.is_file()}

    def _places(self) -> Path:
        """Where the recordings are."""
        place = self.home / ".claude" / "projects" / re.sub(r"\W", "-", str(self.project))
        self.session = place / f"{SESSION}.jsonl"
        self.second = place / f"{SESSION[:-1]}1.jsonl"
        self.workflow = self.checkpoint = "none"
        return place

    @classmethod
    def known(cls, root: Path) -> Self:
        """One that another process has made."""
        scene = cls.__new__(cls)
        scene.root, scene.home = root, root / "home"
        scene.project, scene.given = scene.home / "ledger", set()
        scene._places()
        return scene

    def _client(self, text: str) -> None:
        folder = self.root / "bin"
        folder.mkdir()
        (folder / "claude").write_text(CLIENT)
        (folder / "claude").chmod(0o755)
        answer = {"type": "result", "result": text, "session_id": SESSION, "is_error": False}
        (folder / "answer.json").write_text(json.dumps(answer))

    def _repository(self, text: str) -> None:
        """Makes the project a repository with a change that is not committed."""
        git = ["git", "-C", str(self.project), "-c", "user.name=a", "-c", "user.email=a@b"]
        (self.project / "notes.txt").write_text("first\n")
        for words in (["init", "-q"], ["add", "notes.txt"], ["commit", "-q", "-m", "first"]):
            subprocess.run([*git, *words], check=True, capture_output=True)
        (self.project / "notes.txt").write_text(f"first\n{text}\n", "utf-8", "surrogatepass")

    @property
    def environment(self) -> dict[str, str]:
        kept = ("LANG", "LC_ALL", "PATH", "PYTHONPATH", "VIRTUAL_ENV")
        base = {name: os.environ[name] for name in kept if name in os.environ}
        return {
            **base,
            "PATH": f"{self.root / 'bin'}:{base.get('PATH', os.defpath)}",
            "HOME": str(self.home),
            "SCENE_ANSWER": str(self.root / "bin" / "answer.json"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(self.root),
        }

    def written(self) -> dict[str, bytes]:
        """What commands have written: bytes by path below the root."""
        found = sorted(p for p in self.root.rglob("*") if p.is_file() and not p.is_symlink())
        return {
            str(p.relative_to(self.root)): p.read_bytes() for p in found if p not in self.given
        }

    def words(self, command: Command) -> tuple[list[str], str]:
        """The arguments and the input of a command, here."""
        named = {"S": str(self.session), "S2": str(self.second)}
        named |= {"W": self.workflow, "L": self.checkpoint}
        words = [
            f"{self.session}{word[1:]}" if word.startswith("S#") else named.get(word, word)
            for word in command.words
        ]
        if not command.settle:
            return words, command.stdin
        told = json.loads(command.stdin)
        told["transcript_path"], told["cwd"] = str(self.session), str(self.project)
        if "compact_summary" in told:
            told["compact_summary"] = json.loads((self.root / "bin/answer.json").read_text())[
                "result"
            ]
        return words, json.dumps(told)

    def run(
        self,
        command: Command,
        before: Sequence[str] = (),
        *,
        logged: bool = False,
        umask: int = -1,
        program: str = sys.executable,
        environ: Mapping[str, str] | None = None,
    ) -> Ran:
        """Runs a command in a process of its own.

        Args:
            before: another program that runs it, with its arguments.
            logged: with every log record on stderr.
            program: the interpreter.
        """
        words, given = self.words(command)
        source = command.program or (LOGGED if logged else "")
        how = ["-c", source] if source else ["-m", "leftoff"]
        done = subprocess.run(
            [*before, program, *how, *words], input=given.encode("utf-8", "surrogatepass"),
            capture_output=True, cwd=self.project, env={**self.environment, **(environ or {})},
            umask=umask, timeout=180, check=False,
        )  # fmt: skip
        if command.settle:
            self.settle()
        out, err = (s.decode("utf-8", "surrogateescape") for s in (done.stdout, done.stderr))
        ran = Ran(command.name, done.returncode, out, err)
        self._learn(ran)
        return ran

    def run_inside(
        self,
        command: Command,
        environ: Mapping[str, str] | None = None,
        *,
        terminal: bool = False,
    ) -> Ran:
        """Runs a command in this process.

        Args:
            terminal: its streams say that they are one.
        """
        words, given = self.words(command)
        kind = _Terminal if terminal else io.TextIOWrapper
        out, err = (kind(io.BytesIO(), "utf-8", "surrogateescape") for _ in "oe")
        stdin = io.TextIOWrapper(io.BytesIO(given.encode("utf-8", "surrogatepass")), "utf-8")
        code = 0
        with (
            chdir(self.project),
            patch.dict(os.environ, {**self.environment, **(environ or {})}, clear=True),
            patch.object(sys, "stdin", stdin),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            try:
                code = self._inside(command, words, given, out)
            except Exception:  # noqa: BLE001 - as the interpreter would
                code = 1
                traceback.print_exc(file=err)
        texts = []
        for stream in (out, err):
            stream.flush()
            data = stream.buffer.getvalue()  # type: ignore[attr-defined]
            texts.append(data.decode("utf-8", "surrogateescape"))
        ran = Ran(command.name, code, *texts)
        self._learn(ran)
        return ran

    def _inside(
        self, command: Command, words: list[str], given: str, out: io.TextIOWrapper
    ) -> int:
        from leftoff.__main__ import main
        from leftoff.hooks import answer, worker

        if command.settle:

            def work(home: Path, folder: Path) -> None:
                worker.process_jobs(home, folder.name)

            with patch.object(answer, "start_worker", work):
                out.write(answer.answer(given.encode(), os.environ).decode())
            return 0
        if command.program:
            with patch.object(sys, "argv", ["-c", *words]):
                exec(compile(command.program, "<program>", "exec"), {})
            return 0
        return main(words)

    def _learn(self, ran: Ran) -> None:
        """What later commands name: the last workflow and checkpoint that were kept."""
        if ran.name.startswith("resume --save") and ran.code == 0:
            self.workflow = ran.out.strip().splitlines()[-1]
        if ran.name.startswith("checkpoint create") and "--json" not in ran.name:
            found = re.search(r"^wrote (.*\.json(?:\.gz)?)$", ran.err, re.MULTILINE)
            self.checkpoint = found[1] if found else self.checkpoint

    def settle(self) -> None:
        """Waits for what hooks left to a worker."""
        from tests.strategies.hooks import settled

        if not settled(self.project / ".leftoff"):
            raise TimeoutError("a worker does not end")


# -- strace ----------------------------------------------------------------------------------

WRITES = "write,pwrite64,writev,pwritev,pwritev2,sendto,sendmsg,sendmmsg"
CHANGES = (
    "open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,"
    "unlink,unlinkat,rmdir,truncate,ftruncate,chmod,fchmod,fchmodat,mknod,mknodat,connect"
)


class Call(NamedTuple):
    """A system call as strace tells it.

    Attributes:
        text: the call with its arguments, paths of descriptors and result.
        strings: its string arguments, as bytes.
        result: what it gave, with the path of a descriptor.
    """

    name: str
    text: str
    strings: tuple[bytes, ...]
    result: str

    @property
    def done(self) -> bool:
        return not self.result.startswith("-")

    @property
    def path(self) -> str:
        """The path of the descriptor that it gave."""
        found = re.search(r"<([^>]*)>", self.result)
        return _bytes(found[1]).decode("utf-8", "surrogateescape") if found else ""


_LINE = re.compile(r"(\w+)\((.*)\)\s+= (.*)", re.DOTALL)
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


def _bytes(text: str) -> bytes:
    if "\\x" not in text:
        return text.encode("utf-8", "surrogateescape")
    return bytes.fromhex(text.replace("\\x", "")) if "\\x" in text else b""


def strace(folder: Path, calls: str) -> list[str]:
    """The words that trace what follows; `calls_in` reads what it leaves in `folder`."""
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    log = str(folder / "trace")
    return ["strace", "-ff", "-qq", "-y", "-xx", "-s", "100000000", "--seccomp-bpf",
            "-e", f"trace=execve,{calls}", "-e", "signal=none", "-o", log]  # fmt: skip


def calls_in(folder: Path) -> Iterator[Call]:
    """The calls that were traced, of every process that runs our program: not those of a client
    or of git, which say what they like into a pipe."""
    for path in sorted(folder.iterdir()):
        ours = True
        for line in path.read_text("utf-8", "surrogateescape").splitlines():
            found = _LINE.match(line)
            if not found:
                continue
            strings = tuple(_bytes(s) for s in _STRING.findall(found[2]))
            if found[1] == "execve":
                ours = b"python" in strings[0] if found[3].startswith("0") else ours
            elif ours:
                yield Call(found[1], line, strings, found[3])


FAILED = "tests/test_totals.py::test_sum PASSED\n" * 6000 + "1 failed, 6000 passed"
"""So long that hooks keep what they have read of a recording."""


def plain_session(steps: Sequence[object] | None = None) -> bytes:
    """A recording in which work is done, checked and left open."""
    from tests.strategies.conversations import Call as Tool
    from tests.strategies.conversations import Step
    from tests.strategies.writers import WRITERS

    if steps is None:
        edit = {
            "file_path": f"{WRITTEN_IN}/src/totals.py",
            "old_string": "a",
            "new_string": "b",
        }
        todo = {"content": "Write the migration", "status": "pending", "activeForm": "Writing"}
        steps = [
            Step("user", "Make the totals add up, and never round in the view."),
            Step("agent", "I'll use Decimal instead of float, because cents add up.",
                 (Tool("c1", "Edit", edit, "The file has been updated."),)),
            Step("agent", "", (Tool("c2", "Bash", {"command": "pytest -q"}, FAILED, True),)),
            Step("agent", "I found the root cause: the sums were rounded twice.",
                 (Tool("c3", "TodoWrite", {"todos": [todo]}, "ok"),)),
            Step("agent", "All tests pass now. Next steps:\n\n- write the migration"),
        ]  # fmt: skip
    return WRITERS["claude_code"](steps)  # type: ignore[arg-type]
