"""The accuracy page shows what the committed runs hold, and those hold numbers only."""

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "benchmarks" / "accuracy" / "labels" / "runs"


def figures() -> ModuleType:
    """The program that writes the page's tables; benchmarks are no installed package."""
    path = RUNS.parent / "figures.py"
    spec = importlib.util.spec_from_file_location("accuracy_figures", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_figures_on_the_page_are_those_of_the_runs() -> None:
    page = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    assert "<!-- figures " in page
    assert figures().rendered(page) == page


def words(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from words(inner)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("run", sorted(RUNS.glob("*.json")), ids=lambda run: run.name)
def test_a_committed_run_holds_no_sentences(run: Path) -> None:
    names = re.compile(r"[\w.,'()>=+/ -]{0,160}")
    for word in words(msgspec.json.decode(run.read_bytes())):
        assert names.fullmatch(word), word
        assert len(word.split()) <= 6, word
