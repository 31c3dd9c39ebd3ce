"""Each format keeps leftoff's promises on an example, and is found when it is installed."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from leftoff import api
from leftoff.formats import Format, detect, formats
from leftoff.formats.reader import Sample
from leftoff.testing import check_format

EXAMPLES = sorted(Path(__file__).with_name("examples").iterdir())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_format_keeps_its_promises(example: Path) -> None:
    (entry,) = entry_points(group="leftoff.format", name=example.stem)
    found: Format = entry.load()
    check_format(found, example.read_bytes())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_installed_format_is_found_by_content(example: Path) -> None:
    found = detect(Sample(example.read_bytes(), complete=True))
    assert found is formats.get(example.stem)
    assert formats.owners()[example.stem] == "leftoff-datasets"
    assert api.summarize(example).session.format == example.stem
