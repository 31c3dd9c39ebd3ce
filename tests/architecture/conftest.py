"""Where the package is, what its floors are, and a session to use it on."""

import tomllib
from pathlib import Path

import pytest
from tests.strategies.claude_code import Recording

import leftoff._version


@pytest.fixture(scope="session")
def package() -> Path:
    """The folder of the package under test: src/leftoff, or the installed wheel."""
    return Path(leftoff._version.__file__).parent


@pytest.fixture(scope="session")
def floors(root: Path) -> list[str]:
    """The children of the package from the top floor down, as pyproject.toml lists them."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = next(c["layers"] for c in contracts if c["id"] == "floors")
    return [layer.strip("()") for layer in layers]


@pytest.fixture(scope="session")
def pure_modules(package: Path, floors: list[str]) -> list[Path]:
    """Every file of floors 0 to 5."""
    files: list[Path] = []
    for name in floors[floors.index("settings") + 1 :]:
        module = package / f"{name}.py"
        files += [module] if module.is_file() else sorted((package / name).rglob("*.py"))
    return files


@pytest.fixture(scope="session")
def claude_session() -> bytes:
    """A small Claude Code session: a prompt, an edit, a command, a last word."""
    cwd = "/home/ada/ledger"
    made = Recording(
        key="00000000-0000-4000-8000-{n:012}", clock="2026-03-02T09:0{n}:00.000Z", cwd=cwd,
        sessionId="5e551011-0000-4000-8000-000000000000", gitBranch="main", isSidechain=False,
        version="2.0.14",
    )  # fmt: skip
    made.say("Totals are off by a cent. Please fix the rounding in money.py.")
    made.answer("I'll use Decimal instead of float, because cents must add up.")
    edit = {
        "file_path": f"{cwd}/ledger/money.py",
        "old_string": "total = 0.0",
        "new_string": "total = Decimal(0)",
    }
    made.call("Edit", edit, "File updated.")
    made.call("Bash", {"command": "python -m pytest -q && rm -f old_totals.csv"}, "12 passed")
    made.answer("All tests pass. Next, document it.")
    for number, line in enumerate(made.lines):
        if line["type"] == "assistant":
            usage = {"input_tokens": 900 + number, "output_tokens": 40}
            line["message"] |= {"model": "claude-sonnet-4-5", "type": "message", "usage": usage}
    return made.data
