"""Floors 0 to 5 are functions of their arguments: no file, socket, clock or environment."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# Modules that have no business below floor 6, whatever is called in them.
WORLDLY = frozenset(
    "asyncio ftplib getpass http locale multiprocessing platform random secrets select shutil "
    "signal smtplib socket sqlite3 subprocess tempfile threading time uuid webbrowser".split()
)
# A lock around a cache changes no result.
ALLOWED = frozenset({"threading.Lock"})
# Calls and attributes that read the clock or the environment, from modules that are else fine.
READINGS = frozenset(
    {
        "date.today", "datetime.now", "datetime.today", "datetime.utcnow", "os.environ",
        "os.getcwd", "os.getenv", "os.getpid", "os.urandom", "sys.argv", "sys.stdin",
        "sys.stdout", "sys.stderr",
    }
)  # fmt: skip


def _use(name: str, data: bytes) -> list[list[str]]:
    script = Path(__file__).with_name("pure_use.py")
    done = subprocess.run(
        [sys.executable, str(script), name], input=data, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    touches: list[list[str]] = json.loads(done.stdout)
    return touches


def test_a_summary_touches_nothing(claude_session: bytes) -> None:
    assert _use("summarize", claude_session) == []


def test_a_summary_of_every_shipped_session_touches_nothing(root: Path) -> None:
    sessions = sorted((root / "corpora" / "sessions").rglob("*.jsonl"))
    assert sessions, "corpora/sessions holds no session"
    assert _use("summarize", b"\0".join(s.read_bytes() for s in sessions)) == []


def test_a_touch_would_be_noticed(claude_session: bytes) -> None:
    touches = _use("touch", claude_session)
    assert [event for event, *_ in touches] == ["open"]


def test_pure_modules_import_nothing_worldly(pure_modules: list[Path]) -> None:
    found = [
        f"{path.name}:{line} imports {name}"
        for path in pure_modules
        for line, name in _worldly(ast.parse(path.read_bytes()))
    ]
    assert found == []


def test_pure_modules_read_neither_clock_nor_environment(pure_modules: list[Path]) -> None:
    found = [
        f"{path.name}:{line} reads {name}"
        for path in pure_modules
        for line, name in _readings(ast.parse(path.read_bytes()))
    ]
    assert found == []


@pytest.mark.parametrize(
    "source", ["import time", "from random import choice", "import urllib, socket"]
)
def test_a_worldly_import_would_be_noticed(source: str) -> None:
    assert list(_worldly(ast.parse(source)))


@pytest.mark.parametrize(
    "source", ["datetime.now()", "datetime.datetime.now(tz)", "os.environ['HOME']"]
)
def test_a_reading_would_be_noticed(source: str) -> None:
    assert list(_readings(ast.parse(source)))


def test_the_pure_floors_have_modules(pure_modules: list[Path]) -> None:
    assert {"model.py", "codec.py"} <= {path.name for path in pure_modules}


def _worldly(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for line, name in _imports(tree):
        if name.partition(".")[0] in WORLDLY and name not in ALLOWED:
            yield line, name


def _imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def _readings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            name = ".".join(ast.unparse(node).split(".")[-2:])
            if name in READINGS:
                yield node.lineno, name
