"""The memory in the real clients: an agent calls its tools over MCP, and a session begins with
the lines of the ledger.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.recording.scripted_model import Call, ScriptedModel, Turn
from tests.clients.test_hooks import _RUN, DECISION, RULE, Scratch

ROOT = Path(__file__).resolve().parents[2]
OURS = (
    f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); from leftoff.__main__ import run"
)
ERROR = "sqlite3.OperationalError: no such table: jobs"
BROKEN = f"import sys\nsys.exit('{ERROR}')\n"
FIXED = "import sqlite3\nprint('queue ready')\n"

pytestmark = pytest.mark.timeout(240)
pytest.importorskip("mcp", reason="needs leftoff[mcp]")


def ours(scratch: Scratch, *words: str) -> str:
    """A command of ours in the project."""
    command = [sys.executable, "-c", f"{OURS}; run()", *words]
    done = subprocess.run(
        command, cwd=scratch.project, env=scratch.environ, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def recorded(name: str, project: Path) -> list[Turn]:
    """Turns of a session that writes a file, fails, and repairs it."""
    file = str(project / "shop_queue.py")
    if name == "claude":
        run = Call("Bash", {"command": "python3 shop_queue.py", "description": "Runs it"})
        write = Call("Write", {"file_path": file, "content": BROKEN})
        edit = Call("Edit", {"file_path": file, "old_string": BROKEN, "new_string": FIXED})
    else:
        run = Call("exec_command", {"cmd": "python3 shop_queue.py"})
        write, edit = (
            Call("exec_command", {"cmd": f"apply_patch <<'EOF'\n{_BEGIN}{what}{_END}EOF\n"})
            for what in (
                "*** Add File: shop_queue.py\n" + _plus(BROKEN),
                "*** Update File: shop_queue.py\n@@\n" + _minus(BROKEN) + _plus(FIXED),
            )
        )
    return [
        Turn(text=(DECISION,), calls=(write,)), Turn(calls=(run,)), Turn(calls=(edit,)),
        Turn(calls=(run,)), Turn(text=("shop_queue.py runs.",)),
    ]  # fmt: skip


_BEGIN, _END = "*** Begin Patch\n", "*** End Patch\n"


def _plus(text: str) -> str:
    return "".join(f"+{line}\n" for line in text.splitlines())


def _minus(text: str) -> str:
    return "".join(f"-{line}\n" for line in text.splitlines())


def configure(name: str, scratch: Scratch) -> list[str]:
    """Adds our server to the client; returns words for its command line."""
    args = ["-c", f"{OURS}; run()", "mcp"]
    if name == "claude":
        config = scratch.home / "mcp.json"
        server = {"command": sys.executable, "args": args}
        config.write_text(json.dumps({"mcpServers": {"leftoff": server}}))
        return ["--mcp-config", str(config), "--allowedTools", "mcp__leftoff,Bash"]
    config = Path(scratch.environ["CODEX_HOME"]) / "config.toml"
    table = "[mcp_servers.leftoff]\nstartup_timeout_sec = 60\n"
    table += f"command = {json.dumps(sys.executable)}\n"
    config.write_text(f"{config.read_text()}{table}args = {json.dumps(args)}\n")
    return []


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_an_agent_asks_the_memory_over_mcp(name: str, tmp_path: Path) -> None:
    project = tmp_path / "home/shop"
    asked: dict[str, dict[str, object]] = {
        "ledger": {}, "search": {"query": "queue in SQLite", "by": "agent"},
        "blame": {"file": "shop_queue.py", "first": 1}, "fix": {"error": ERROR},
        "left_open": {}, "show": {"session": "latest", "first": 1},
    }  # fmt: skip
    turns = [
        *recorded(name, project),
        Turn(calls=(_WAIT[name](),)),  # the server starts meanwhile
        *(Turn(calls=(Call(f"mcp__leftoff__{tool}", given),)) for tool, given in asked.items()),
        Turn(text=("Because it survives a crash.",)),
    ]
    with ScriptedModel(turns) as model:
        scratch = Scratch(name, tmp_path, model)
        scratch.run(*_RUN[name], f"Write shop_queue.py. {RULE}", *_ALL[name])
        ours(scratch, "memory", "update")
        extra = configure(name, scratch)
        scratch.run(*_RUN[name], "Why is the queue in SQLite?", *extra)
        results = answers(model.requests[-1].body)
        assert len(results) == len(asked), results
        ledger, search, blame, fix, _, show = results
        assert RULE[:-1] in ledger
        assert "survives a crash" in search
        # The lines that a shell command writes are not known.
        assert ("Write shop_queue.py" if name == "claude" else "recorded") in blame
        assert "shop_queue.py" in fix
        assert "no such table" in fix
        assert "user" in show if name == "claude" else "system" in show


_WAIT = {
    "claude": lambda: Call("Bash", {"command": "sleep 12", "description": "Waits"}),
    "codex": lambda: Call("exec_command", {"cmd": "sleep 12", "yield_time_ms": 13_000}),
}

_ALL = {"claude": ["--allowedTools", "Bash"], "codex": []}


def answers(body: dict[str, Any]) -> list[str]:
    """The results of the calls of our tools in a request."""
    names: dict[str, str] = {}
    found = []
    for item in body.get("input") or ():
        if item.get("type") == "function_call":
            names[item["call_id"]] = f"{item.get('namespace')} {item['name']}"
        elif item.get("type") == "function_call_output" and "leftoff" in names[item["call_id"]]:
            found.append(_text(item["output"]))
    for message in body.get("messages") or ():
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part.get("type") == "tool_use":
                names[part["id"]] = part["name"]
            elif part.get("type") == "tool_result" and "leftoff" in names[part["tool_use_id"]]:
                found.append(_text(part["content"]))
    return found


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_session_begins_with_lines_of_the_ledger(name: str, tmp_path: Path) -> None:
    """What the person required two sessions ago is in the first request of the third."""
    turns = [
        *recorded(name, tmp_path / "home/shop"),
        Turn(text=("The mails are plain text now.",)),
        Turn(text=("I know the rules.",)),
    ]
    with ScriptedModel(turns) as model:
        scratch = Scratch(name, tmp_path, model)
        scratch.leftoff("install", "--client", name, "--yes")
        scratch.run(*_RUN[name], f"Write shop_queue.py. {RULE}", *_ALL[name])
        scratch.settle()
        scratch.run(*_RUN[name], "Send mails as plain text, never as HTML.")
        scratch.settle()
        scratch.run(*_RUN[name], "What is left to do?")
        scratch.settle()
        lines = re.findall(r"- Required by the person[^\n\\]*", "\n".join(scratch.blocks()[-1]))
        assert any("legacy.py" in line for line in lines), scratch.blocks()[-1]
        assert "failed" not in scratch.log()
