"""The figures on docs/speed.md are those of the committed runs."""

from pathlib import Path

from benchmarks.speed.figures import PARTS, rendered


def test_the_figures_on_the_page_are_those_of_the_runs(root: Path) -> None:
    page = (root / "docs" / "speed.md").read_text("utf-8")
    for part in PARTS:
        assert f"<!-- {part} -->" in page
    assert rendered(page) == page
