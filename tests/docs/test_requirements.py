"""Each line of the page of requirements names a place and a test, and both are there."""

import re
from pathlib import Path

import pytest

LINE = re.compile(
    r"^\| (?P<asked>.+) \| (?P<where>`[^|]+`) \| `(?P<file>[\w/]+)(?:::(?P<name>\w+))?` \|$"
)
LEAST = 200
"""Lines that the page has at least: a requirement that is lost would not be missed."""


@pytest.fixture(scope="module")
def lines(root: Path) -> list[re.Match[str]]:
    page = (root / "docs" / "reference" / "requirements.md").read_text("utf-8")
    tables = page.partition("## Where it differs")[0]
    rows = [row for row in tables.splitlines() if row.startswith("| ")]
    found = [LINE.match(row) for row in rows if not row.startswith("| requirement |")]
    assert None not in found, [r for r, m in zip(rows, found, strict=False) if m is None]
    return [match for match in found if match is not None]


def test_every_test_that_is_named_exists(lines: list[re.Match[str]], root: Path) -> None:
    for line in lines:
        path, name = root / "tests" / f"{line['file']}.py", f"def {line['name'] or 'test_'}"
        if path.parent.name in {"calls", "cases"}:  # a case, by its title
            path, name = path.with_suffix(".cases"), f"\n# {line['name'].replace('_', ' ')}"
        assert path.is_file(), line[0]
        assert name in "\n" + path.read_text("utf-8"), line[0]


def test_every_place_that_is_named_exists(lines: list[re.Match[str]], root: Path) -> None:
    for line in lines:
        for place in re.findall(r"`([^`]+)`", line["where"]):
            path = root / "src" / "leftoff" / place
            assert path.is_dir() or path.with_suffix(".py").is_file(), line[0]


def test_the_page_is_whole_and_says_each_thing_once(lines: list[re.Match[str]]) -> None:
    asked = [line["asked"] for line in lines]
    assert len(asked) >= LEAST
    assert len(set(asked)) == len(asked)
