"""Modules: who imports whom, what is public, and that nothing is executed."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import leftoff

# The import contracts of pyproject.toml hold, and they are the floors of the package.


def test_the_import_contracts_hold(root: Path) -> None:
    # A process of its own: import-linter imports the package and changes sys.path.
    done = subprocess.run(
        [
            sys.executable, "-c",
            "from importlinter.cli import lint_imports_command as run; run()", "--no-cache",
            "--no-logo", "--config", str(root / "pyproject.toml"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_module_has_a_floor(package: Path, floors: list[str]) -> None:
    children = {module.name for module in pkgutil.iter_modules([str(package)])}
    assert children - set(floors) == set()


def test_no_module_has_two_floors(floors: list[str]) -> None:
    assert sorted(floors) == sorted(set(floors))


# Modules are named for what they hold, and none has become two things.

NAMELESS = frozenset(
    "base common core enhanced helper helpers manager misc service services shared stuff "
    "util utils".split()
)
LONGEST = 600

# Files that may be longer, each with the reason.
LONGER: dict[str, str] = {}


def test_modules_are_named_for_what_they_hold(package: Path) -> None:
    found = [
        str(path.relative_to(package))
        for path in sorted(package.rglob("*"))
        if path.suffix in {"", ".py"}
        if {path.stem, *path.stem.split("_")} & NAMELESS
    ]
    assert found == []


def test_no_file_is_two_things(package: Path) -> None:
    lengths = {
        path.relative_to(package).as_posix(): len(path.read_bytes().splitlines())
        for path in sorted(package.rglob("*.py"))
    }
    too_long = {name: n for name, n in lengths.items() if n > LONGEST and name not in LONGER}
    assert too_long == {}
    needless = [name for name in LONGER if lengths.get(name, 0) <= LONGEST]
    assert needless == [], "these are short again: take them out of LONGER"


def test_the_package_declares_its_types(package: Path) -> None:
    assert (package / "py.typed").is_file()


# `leftoff.__all__` is the whole public surface: it resolves, is typed and hides no module.


def test_every_public_name_resolves() -> None:
    missing = [name for name in leftoff.__all__ if not hasattr(leftoff, name)]
    assert missing == []


def test_public_names_are_listed_once_and_in_order() -> None:
    assert list(leftoff.__all__) == sorted(set(leftoff.__all__))


def test_public_names_are_what_dir_shows() -> None:
    shown = {name for name in dir(leftoff) if not name.startswith("_")}
    assert set(leftoff.__all__) - {"__version__"} <= shown


def test_type_checkers_see_exactly_the_public_names(package: Path) -> None:
    # What loads lazily is invisible to a type checker but for the `if TYPE_CHECKING:` block.
    tree = ast.parse((package / "__init__.py").read_bytes())
    typed = {
        alias.asname or alias.name
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed | {"__version__"} == set(leftoff.__all__) | {"__version__"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(leftoff, "no_such_name")  # noqa: B009 - a literal name would not type-check


def test_no_public_name_is_also_a_module(package: Path) -> None:
    # Importing `leftoff.render` as a module would silently replace the function of that name.
    modules = {module.name for module in pkgutil.iter_modules([str(package)])}
    assert modules & set(leftoff.__all__) == set()


def test_no_package_has_a_function_named_as_its_module(package: Path) -> None:
    found = []
    for module in pkgutil.walk_packages([str(package)], "leftoff."):
        if module.ispkg:
            names = vars(importlib.import_module(module.name))
            folder = package.joinpath(*module.name.split(".")[1:])
            found += [
                f"{module.name}.{child.name}"
                for child in pkgutil.iter_modules([str(folder)])
                if inspect.isroutine(names.get(child.name))
            ]
    assert found == []


def test_every_public_thing_says_what_it_is() -> None:
    silent = [
        name
        for name in leftoff.__all__
        if callable(thing := getattr(leftoff, name)) and not inspect.getdoc(thing)
    ]
    assert silent == []


# Nothing in the package runs text as code, unpickles, or gives a line to a shell; and nothing
# opens a connection but what a user names: a store, a cluster, an object's URL.

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
