"""Record a scenario with a real client: python -m benchmarks.recording.record SCENARIO -o OUT.

The client runs in a scratch home that is removed afterwards, against a `ScriptedModel` on
loopback; its tools really run. What it wrote about the session is scrubbed and copied.
Clients are looked for in --clients DIR (a folder with node_modules) and then on PATH.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from .scenario import Prompt, Scenario, load
from .scripted_model import Call, ScriptedModel, Turn
from .scrub import Scrubber

_LIMIT = 180
"""Seconds that one run of a client may take before it is killed."""

_PAUSE = 0.5
"""Seconds that the person waits before typing; the client writes its lines late."""

_DENIED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it "
    "was a file edit, the new_string was NOT written to the file). To tell you how to proceed, "
    "the user said:\n"
)
"""What the interactive client puts before the person's words; print mode leaves it out."""


class Scratch:
    """A home with one project in it, outside of everything that matters."""

    def __init__(self, scenario: Scenario, home: Path) -> None:
        self.root = home.parent
        self.home = home
        self.project = self.home / scenario.project
        self.environ = {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TERM": "dumb",
            "USER": "dev",
            "SHELL": "/bin/bash",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
        }
        for who in ("AUTHOR", "COMMITTER"):
            self.environ[f"GIT_{who}_NAME"] = "Dev"
            self.environ[f"GIT_{who}_EMAIL"] = "dev@example.com"
            self.environ[f"GIT_{who}_DATE"] = scenario.started.isoformat()
        self.project.mkdir(parents=True)
        profile = f"export PATH='{self.environ['PATH']}'\n"  # a login shell starts without ours
        (home / ".profile").write_text(profile, encoding="utf-8")
        for name, content in scenario.files.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        if scenario.git:
            for words in (
                ["init", "-q", "-b", "main"],
                ["add", "-A"],
                ["commit", "-qm", "Start"],
            ):
                subprocess.run(["git", *words], cwd=self.project, env=self.environ, check=True)

    def paths(self) -> dict[str, str]:
        """What to write instead of this machine's paths, also in Claude Code's folder names."""
        found = {str(self.home): "/home/dev", str(self.root): "/home/dev/.scratch"}
        slugs = {_slug(old): _slug(new) for old, new in found.items()}
        return {**found, **slugs, sys.prefix: "/usr/local", sys.base_prefix: "/usr/local"}


def _slug(path: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", path)


def _find(program: str, clients: Path | None) -> str:
    local = clients / "node_modules" / ".bin" / program if clients else None
    found = str(local) if local and local.exists() else shutil.which(program)
    if found is None:
        raise SystemExit(f"{program} is not installed: npm install it in a scratch folder")
    return found


class ClaudeCode:
    """Drives Claude Code in print mode, over its streaming JSON protocol.

    One process for each uninterrupted stretch of prompts; a rewind starts another that
    resumes the same session at an earlier message. Permission questions are answered from
    the script: allowed, or denied with the person's words, or with the chosen answers.
    """

    def __init__(self, scenario: Scenario, scratch: Scratch, program: str) -> None:
        self._scenario = scenario
        self._scratch = scratch
        self._program = program
        self._config = scratch.home / ".claude"
        self._session: str | None = None
        self._answer: str | None = None
        self._before: list[str | None] = []
        self._stdin: IO[str] | None = None
        self.printed: list[str] = []
        self._calls = _scripted_calls(scenario)

    def run(self) -> None:
        """Play the whole scenario; every word the model owes must have been asked for."""
        model = ScriptedModel(
            self._scenario.turns,
            routes=self._scenario.routes,
            on_turn=self._while_busy,
            seed=self._scenario.name,
        )
        with model:
            for stretch in _stretches(self._scenario.prompts):
                self._stretch(model, stretch)
        if model.left:
            raise SystemExit(
                f"{self._scenario.name}: {model.left} scripted turns were left over"
            )

    def files(self) -> list[tuple[str, Path]]:
        """What the client wrote about the session, main transcript first."""
        (main,) = self._config.glob(f"projects/*/{self._session}.jsonl")
        side = sorted((main.parent / str(self._session)).rglob("*"))
        found = [main, *(path for path in side if path.suffix in (".jsonl", ".json"))]
        return [(str(path.relative_to(main.parent)), path) for path in found]

    def _stretch(self, model: ScriptedModel, prompts: list[Prompt]) -> None:
        command = [
            self._program,
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
            "--permission-prompt-tool",
            "stdio",
            "--model",
            self._scenario.model,
        ]
        if self._session:
            command += ["--resume", self._session]
        back = prompts[0].rewind_to
        if back is not None:
            at = self._before[back]
            if at is None:
                raise SystemExit("cannot rewind to before the first answer")
            command += ["--resume-session-at", at]
        environ = {
            **self._scratch.environ,
            "CLAUDE_CONFIG_DIR": str(self._config),
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "scripted",
            "IS_SANDBOX": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        process = subprocess.Popen(
            command,
            cwd=self._scratch.project,
            env=environ,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        timer = threading.Timer(_LIMIT, process.kill)
        timer.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            self._stdin = process.stdin
            events = self._events(process.stdout)
            for prompt in prompts:
                time.sleep(_PAUSE)
                self._before.append(self._answer)
                self._type(prompt.say)
                self._until_result(events)
            process.stdin.close()
            for _ in events:
                pass
            if process.wait() != 0:
                raise SystemExit(f"the client ended with {process.returncode}")
        finally:
            timer.cancel()
            process.kill()
            self._stdin = None

    def _events(self, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
        for line in lines:
            if line.startswith("{"):
                self.printed.append(line)
                yield json.loads(line)

    def _until_result(self, events: Iterator[dict[str, Any]]) -> None:
        for event in events:
            self._session = event.get("session_id") or self._session
            if event["type"] == "control_request":
                self._send(
                    {
                        "type": "control_response",
                        "response": {
                            "subtype": "success",
                            "request_id": event["request_id"],
                            "response": self._permit(event["request"]),
                        },
                    }
                )
            elif event["type"] == "assistant" and not event.get("parent_tool_use_id"):
                self._answer = event["uuid"]
            elif event["type"] == "result":
                return
        raise SystemExit("the client stopped before it answered")

    def _permit(self, request: dict[str, Any]) -> dict[str, Any]:
        given = request.get("input") or {}
        call = self._calls.get(_key(request.get("tool_name", ""), given))
        if call is not None and call.deny is not None:
            return {"behavior": "deny", "message": _DENIED + call.deny}
        if call is not None and call.answers is not None:
            given = {**given, "answers": dict(call.answers)}
        return {"behavior": "allow", "updatedInput": given}

    def _while_busy(self, turn: Turn) -> None:
        if turn.queued:
            self._type(turn.queued)

    def _type(self, text: str) -> None:
        self._send({"type": "user", "message": {"role": "user", "content": text}})

    def _send(self, event: dict[str, Any]) -> None:
        assert self._stdin is not None
        self._stdin.write(json.dumps(event) + "\n")
        self._stdin.flush()


class Codex:
    """Drives `codex exec`, one process for each prompt, the later ones resuming the thread."""

    def __init__(self, scenario: Scenario, scratch: Scratch, program: str) -> None:
        self._scenario = scenario
        self._scratch = scratch
        self._program = program
        self._config = scratch.home / ".codex"
        self.printed: list[str] = []

    def run(self) -> None:
        """Play the whole scenario; every word the model owes must have been asked for."""
        with ScriptedModel(self._scenario.turns, seed=self._scenario.name) as model:
            self._config.mkdir(parents=True)
            (self._config / "config.toml").write_text(
                f'model = "{self._scenario.model}"\nmodel_provider = "scripted"\n'
                '[model_providers.scripted]\nname = "scripted"\n'
                f'base_url = "{model.url}/v1"\nwire_api = "responses"\nenv_key = "STUB_KEY"\n',
                encoding="utf-8",
            )
            environ = {
                **self._scratch.environ,
                "CODEX_HOME": str(self._config),
                "STUB_KEY": "x",
            }
            for number, prompt in enumerate(self._scenario.prompts):
                resume = ["resume", "--last"] if number else []
                done = subprocess.run(
                    [
                        self._program,
                        "exec",
                        "--json",
                        *resume,
                        "--skip-git-repo-check",
                        "--dangerously-bypass-approvals-and-sandbox",
                        prompt.say,
                    ],
                    cwd=self._scratch.project,
                    env=environ,
                    check=True,
                    timeout=_LIMIT,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                )
                self.printed += done.stdout.splitlines(keepends=True)
        if model.left:
            raise SystemExit(
                f"{self._scenario.name}: {model.left} scripted turns were left over"
            )

    def files(self) -> list[tuple[str, Path]]:
        """The rollout that the client wrote, named by the scenario's clock."""
        (path,) = self._config.glob("sessions/**/*.jsonl")
        clock = f"{self._scenario.started:%Y-%m-%dT%H-%M-%S}"
        return [(f"rollout-{clock}-{path.stem[-36:]}.jsonl", path)]


def _stretches(prompts: tuple[Prompt, ...]) -> list[list[Prompt]]:
    stretches: list[list[Prompt]] = []
    for prompt in prompts:
        if not stretches or prompt.rewind_to is not None:
            stretches.append([])
        stretches[-1].append(prompt)
    return stretches


def _scripted_calls(scenario: Scenario) -> dict[str, Call]:
    turns = [*scenario.turns, *(turn for own in scenario.routes.values() for turn in own)]
    return {
        _key(call.name, call.input): call
        for turn in turns
        for call in turn.calls
        if not isinstance(call.input, str)
    }


def _key(name: str, given: Any) -> str:
    return f"{name} {json.dumps(given, sort_keys=True)}"


def record(
    path: Path, out: Path, clients: Path | None, stream: Path | None = None
) -> list[Path]:
    """Run the scenario's client and write the scrubbed transcript.

    Args:
        path: The scenario.
        out: A folder, for the client's own file names; or a name ending in `.jsonl`, for a
            session that is one file.
        clients: A folder with `node_modules`, or None to look on PATH.
        stream: A file for what the client printed, one JSON object on each line.
    """
    home = Path(tempfile.mkdtemp(prefix="recording-")).resolve() / "home"
    try:
        scenario = load(path, home)
        scratch = Scratch(scenario, home)
        client: ClaudeCode | Codex
        if scenario.client == "claude_code":
            client = ClaudeCode(scenario, scratch, _find("claude", clients))
        else:
            client = Codex(scenario, scratch, _find("codex", clients))
        client.run()
        scrubber = Scrubber(scenario.name, scenario.started, scenario.pace, scratch.paths())
        written: list[Path] = []
        for name, source in client.files():
            text = scrubber.scrub(source.read_text(encoding="utf-8"))
            target = out if out.suffix == ".jsonl" else out / scrubber.scrub(name)
            if target in written:
                raise SystemExit(f"{scenario.name} has side files: give a folder, not {out}")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            written.append(target)
        if stream is not None:
            stream.write_text(scrubber.scrub("".join(client.printed)), encoding="utf-8")
        return written
    finally:
        shutil.rmtree(home.parent, ignore_errors=True)


def main() -> None:
    """Parse the command line and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--clients", type=Path)
    parser.add_argument("--stream", type=Path, help="also write what the client printed")
    options = parser.parse_args()
    for path in record(options.scenario, options.out, options.clients, options.stream):
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
