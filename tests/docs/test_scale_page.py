"""The figures and the columns on docs/scale.md are those of the committed run and the tables."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

from leftoff.batch.outputs import columns_of
from leftoff.batch.rows import TABLES


def figures(root: Path) -> ModuleType:
    """The program that writes the page's figures; benchmarks are no installed package."""
    path = root / "benchmarks" / "batch" / "figures.py"
    spec = importlib.util.spec_from_file_location("batch_figures", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_figures_on_the_page_are_those_of_the_run(root: Path) -> None:
    page = (root / "docs" / "scale.md").read_text("utf-8")
    assert "<!-- figures -->" in page
    assert figures(root).rendered(page) == page


def test_every_column_is_on_the_page(root: Path) -> None:
    page = (root / "docs" / "scale.md").read_text("utf-8")
    tables = page.partition("## The tables")[2].partition("## In a program")[0]
    named = set(re.findall(r"`(\w+)`", tables))
    for table in TABLES:
        assert set(columns_of(table)) - named == set()
