"""What README.md and docs/ show is what happens.

Commands on the first page, in the tutorial and in the how-tos are done in an empty folder by
`follow.py`; all others, and all examples in Python, in the checkout.
`LEFTOFF_UPDATE_DOCS=1 pytest tests/docs` writes the real output into the files.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs import follow

ROOT = Path(__file__).resolve().parents[2]
UPDATE = bool(os.environ.get("LEFTOFF_UPDATE_DOCS"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLLOWED = {
    ROOT / "docs" / "index.md",
    ROOT / "docs" / "tutorial.md",
    *(ROOT / "docs" / "how-to").glob("*.md"),
}
_BLOCK = re.compile(
    r"(?P<mark><!-- [^\n]* -->\n)?```(?P<kind>console|python)\n(?P<body>.*?)```", re.DOTALL
)


def console(body: str) -> str:
    """The block with the real output of each `$ leftoff …` command."""
    shown: list[str] = []
    for line in body.splitlines():
        if not line.startswith("$ "):
            continue
        shown.append(line)
        words = shlex.split(line[2:])
        assert words[0] == "leftoff", f"only leftoff commands are shown with output: {line}"
        done = subprocess.run(
            [sys.executable, "-m", *words], capture_output=True, cwd=ROOT, check=False,
            timeout=60,
            env={k: v for k, v in os.environ.items() if k not in {"FORCE_COLOR", "PYTHONPATH"}},
        )  # fmt: skip
        shown += done.stdout.decode().rstrip().splitlines()
        shown += done.stderr.decode().rstrip().splitlines()
    return "\n".join(shown) + "\n"


def python(body: str, names: dict[str, object]) -> str:
    """The block with the real output of each `>>>` statement."""
    shown: list[str] = []
    statement: list[str] = []
    lines = [*body.splitlines(), ""]
    for line in lines:
        if line.startswith("... "):
            statement.append(line[4:])
            shown.append(line)
            continue
        if statement:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile("\n".join(statement) + "\n", "<example>", "single"), names)
            shown += out.getvalue().rstrip("\n").splitlines()
            statement = []
        if line.startswith(">>> "):
            statement.append(line[4:])
            shown.append(line)
    return "\n".join(shown) + "\n"


def refreshed(page: Path, folder: Path) -> str:
    """The page with every example's real output."""
    names: dict[str, object] = {}
    text = page.read_text(encoding="utf-8")
    followed = page in FOLLOWED
    if followed:
        missing = follow.lacking(text)
        if missing:
            pytest.skip(f"needs {', '.join(missing)}; .ci/extras.d/70-docs.sh installs them")
        text = follow.followed(text, folder)

    def replace(match: re.Match[str]) -> str:
        if match["mark"]:
            return match[0]  # a command for a fresh machine: run by the gate itself
        if followed and match["kind"] == "console":
            return match[0]
        body = match["body"]
        made = console(body) if match["kind"] == "console" else python(body, names)
        return f"```{match['kind']}\n{made}```"

    return _BLOCK.sub(replace, text)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_example_shows_what_happens(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not _BLOCK.search(page.read_text(encoding="utf-8")):
        return
    monkeypatch.chdir(ROOT)
    made = refreshed(page, tmp_path)
    if UPDATE:
        page.write_text(made, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == made, (
        "run LEFTOFF_UPDATE_DOCS=1 python -m pytest tests/docs and read the difference"
    )


def test_every_command_has_its_place_in_the_readme() -> None:
    from leftoff.cli.group import _COMMANDS

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in _COMMANDS:
        assert f"leftoff {name}" in text or f"`{name}`" in text, name
