"""Where the package is, what its floors are, and a session to use it on."""

import json
import tomllib
from pathlib import Path

import pytest

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
    return b"".join(json.dumps(line).encode() + b"\n" for line in _claude_lines())


def _claude_lines() -> list[dict[str, object]]:
    cwd = "/home/ada/ledger"
    edit = {
        "file_path": f"{cwd}/ledger/money.py",
        "old_string": "total = 0.0",
        "new_string": "total = Decimal(0)",
    }
    spoken = [
        ("user", "Totals are off by a cent. Please fix the rounding in money.py."),
        (
            "assistant",
            [
                {
                    "type": "text",
                    "text": "I'll use Decimal instead of float, because cents must add up.",
                },
                {"type": "tool_use", "id": "toolu_01", "name": "Edit", "input": edit},
            ],
        ),
        (
            "user",
            [{"type": "tool_result", "tool_use_id": "toolu_01", "content": "File updated."}],
        ),
        (
            "assistant",
            [
                {
                    "type": "tool_use",
                    "id": "toolu_02",
                    "name": "Bash",
                    "input": {"command": "python -m pytest -q && rm -f old_totals.csv"},
                }
            ],
        ),
        ("user", [{"type": "tool_result", "tool_use_id": "toolu_02", "content": "12 passed"}]),
        ("assistant", [{"type": "text", "text": "All tests pass. Next, document it."}]),
    ]
    lines: list[dict[str, object]] = []
    for number, (role, content) in enumerate(spoken):
        message: dict[str, object] = {"role": role, "content": content}
        if role == "assistant":
            message |= {
                "id": f"msg_{number:02}",
                "model": "claude-sonnet-4-5",
                "type": "message",
                "usage": {"input_tokens": 900 + number, "output_tokens": 40},
            }
        lines.append(
            {
                "type": role, "uuid": f"00000000-0000-4000-8000-{number:012}",
                "parentUuid": f"00000000-0000-4000-8000-{number - 1:012}" if number else None,
                "sessionId": "5e551011-0000-4000-8000-000000000000",
                "timestamp": f"2026-03-02T09:0{number}:00.000Z", "cwd": cwd,
                "gitBranch": "main", "isSidechain": False, "version": "2.0.14",
                "message": message,
            }
        )  # fmt: skip
    return lines
