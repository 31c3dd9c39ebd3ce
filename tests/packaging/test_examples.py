"""The programs of examples/ run, and tell what they are there to tell."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TELLS = {
    "batch_to_dataframe": "12 sessions",
    "budget_watch": "#25: hand over: 148,612 tokens are left",
    "checkpoint_with_a_role": "98 force_handoff small",
    "custom_extractor": "+ #46: I left it alone",
    "custom_format": "I'll open the valve by hand",
    "orchestrator_messages": "Claude Agent SDK: 14 messages, 6 files: the same as date-picker.jsonl",
    "own_redactor": "The [REDACTED:customers:1] customers were billed wrongly",
    "own_store": "drawer:task/t1 {'goal': 'rotate [REDACTED:aws-access-key-id:1]'}",
    "watch_running_session": "47 messages, 5 checks, deployment, 5 files changed",
}
"""A program, and a line of what it prints."""


def test_each_example_is_here_and_in_the_table(root: Path) -> None:
    programs = {path.stem for path in (root / "examples").glob("*.py")}
    listed = re.findall(
        r"^\| `(\w+)\.py` \|", (root / "examples/README.md").read_text("utf-8"), re.MULTILINE
    )
    assert programs == set(TELLS) == set(listed)


@pytest.mark.parametrize("name", sorted(TELLS))
def test_an_example_runs_as_it_stands(name: str, root: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", root / "examples" / f"{name}.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert TELLS[name] in done.stdout
    assert "NOT the same" not in done.stdout
    assert list(tmp_path.iterdir()) == [], "it leaves something behind"
