"""The papers of the project and the examples are in order."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from leftoff._version import __version__

# What stands beside the code agrees with it.


def test_the_citation_names_this_version_and_licence(root: Path) -> None:
    cited = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert (cited["title"], cited["version"], cited["license"]) == (
        "leftoff",
        __version__,
        "MIT",
    )
    assert cited["message"]
    assert all(author["name"] for author in cited["authors"])


def test_every_extra_is_tried(root: Path) -> None:
    import tomllib

    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    named = set(project["optional-dependencies"]) - {"dev", "docs"}
    text = (root / "tests" / "packaging" / "extras.py").read_text("utf-8")
    assert set(re.findall(r'^    "([\w-]+)": \w+,$', text, re.MULTILINE)) == named
    # README.md offered one that had been removed.
    offered = (root / "README.md").read_text("utf-8").partition("Optional extras")[2]
    assert set(re.findall("`([\\w-]+)`", offered.partition(". A command")[0])) == named


def test_the_security_page_invents_no_address(root: Path) -> None:
    text = (root / "SECURITY.md").read_text("utf-8")
    assert "security advisory" in text
    assert "@" not in text
    assert "://" not in text.replace("`redis://`", "").replace("`s3://`", "")


# The programs of examples/ run, and tell what they are there to tell.

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
        [sys.executable, "-W", "error", root / "examples" / f"{name}.py"], cwd=tmp_path,
        capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert TELLS[name] in done.stdout
    assert "NOT the same" not in done.stdout
    assert list(tmp_path.iterdir()) == [], "it leaves something behind"
