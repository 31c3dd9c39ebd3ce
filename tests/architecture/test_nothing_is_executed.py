"""Nothing in the package runs text as code, unpickles, or gives a line to a shell; and nothing
opens a connection but what a user names: a store, a cluster, an object's URL."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CALLS = frozenset({"eval", "exec", "compile", "__import__", "os.system", "os.popen", "os.execv",
                   "os.execvp", "os.spawnl", "os.spawnv", "input", "yaml.load", "yaml.unsafe_load",
                   "yaml.full_load", "msgspec.yaml.decode", "tempfile.mktemp"})  # fmt: skip
MODULES = frozenset({"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle",
                     "code", "codeop", "pty", "commands", "xmlrpc", "ctypes", "telnetlib",
                     "urllib.request", "http", "ftplib", "smtplib", "socket", "ssl", "socketserver",
                     "requests", "httpx", "aiohttp", "urllib3", "webbrowser", "imp"})  # fmt: skip
"""`pickle` runs what it reads; the others reach out, or run what they are given."""


def faults(source: str) -> Iterator[tuple[int, str]]:
    """What a file does that none of ours may: line and what."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in CALLS:
                yield node.lineno, called
            for word in node.keywords:
                if word.arg == "shell" and not _is(word.value, False):
                    yield node.lineno, "shell="
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, a.name) for a in node.names if _bad(a.name))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
            yield from ((node.lineno, name) for name in names if _bad(name))


def _bad(name: str) -> bool:
    parts = name.split(".")
    return any(".".join(parts[: n + 1]) in MODULES for n in range(len(parts)))


def _is(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def test_nothing_is_executed(package: Path) -> None:
    found = [
        f"{path.relative_to(package)}:{line}: {what}"
        for path in sorted(package.rglob("*.py"))
        for line, what in faults(path.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "source",
    ["eval('1')", "import pickle", "from urllib import request", "import http.client",
     "subprocess.run('ls', shell=True)", "subprocess.run(x, shell=y)", "yaml.load(x)",
     "from pickle import loads"],
)  # fmt: skip
def test_what_may_not_be_is_noticed(source: str) -> None:
    assert list(faults(source))


@pytest.mark.parametrize(
    "source", ["re.compile('a')", "yaml.safe_load(x)", "subprocess.run(x, shell=False)"]
)
def test_what_may_be_is_not(source: str) -> None:
    assert list(faults(source)) == []
