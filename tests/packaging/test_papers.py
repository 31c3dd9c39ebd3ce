"""What stands beside the code agrees with it."""

import re
from pathlib import Path

import yaml

from leftoff._version import __version__


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
