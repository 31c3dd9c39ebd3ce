"""The worked examples of docs/extending.md and of the how-tos run as they stand."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leftoff import Pass, render
from leftoff.extraction.extractor import extractors
from leftoff.formats.reader import formats
from leftoff.redaction.redactor import Redactor, redactors
from leftoff.settings import Settings, setting_types
from leftoff.stores.naming import LOCATIONS
from leftoff.stores.protocol import KINDS, stores

# The worked examples of docs/extending.md and docs/how-to/add-a-format.md run as they stand,
# and are as short as they say.

DOCS = Path(__file__).resolve().parents[2] / "docs"
_EXAMPLE = re.compile(r"<!-- example: (\w+) -->\n```py[^\n]*\n(.*?)```", re.DOTALL)
_LONGEST = {"format": 60, "extractor": 20}


@pytest.fixture(scope="module")
def blocks() -> dict[str, str]:
    pages = [DOCS / "how-to" / "add-a-format.md", DOCS / "extending.md"]
    return dict(_EXAMPLE.findall("".join(page.read_text("utf-8") for page in pages)))


@pytest.fixture
def names(blocks: dict[str, str]) -> Iterator[dict[str, Any]]:
    """What the pages define, run from top to bottom."""
    made: dict[str, Any] = {"__name__": "example"}
    try:
        for kind, block in blocks.items():
            code = compile(block, f"docs/extending.md: {kind}", "exec", dont_inherit=True)
            exec(code, made)
        yield made
    finally:
        formats.withdraw("diary")
        extractors.withdraw("assumptions")
        redactors.withdraw("badges")


def test_the_examples_keep_the_promises_of_their_kind(names: dict[str, Any]) -> None:
    assert {"DIARY", "Assumptions", "badges", "found"} <= names.keys()


@pytest.mark.parametrize("kind", sorted(_LONGEST))
def test_the_examples_are_short(blocks: dict[str, str], kind: str) -> None:
    lines = [line for line in blocks[kind].splitlines() if line.strip()]
    assert len(lines) < _LONGEST[kind]


def test_what_the_examples_find_reaches_the_summary(names: dict[str, Any]) -> None:
    reading = Pass("<example>", None, ("assumptions",))
    reading.feed(
        b'{"kind": "start", "session": "d1", "folder": "/home/ada/garden"}\n'
        b'{"kind": "run", "tool": "bash", "args": {"command": "./soil"}}\n'
        b'{"kind": "reply", "text": "I assume that the ten litres of EMP-204551 suffice."}\n'
    )
    summary = reading.summary()
    assert summary.session.format == "diary"
    assert summary.session.cwd == "/home/ada/garden"
    assert summary.stats.tool_call_count == 1
    (found,) = summary.key_findings
    assert "I assume" in found.text
    shown = render(summary, "markdown", gate=Redactor(extra=[redactors.get("badges")]))
    assert "[REDACTED:badge:1]" in shown
    assert "EMP-204551" not in shown


# The store of docs/how-to/add-a-store.md runs as it stands and keeps the promises of a store.

_EXAMPLE_OF_STORES = re.compile(r"<!-- example: (\w+) -->\n```py\n(.*?)```", re.DOTALL)


def test_the_example_keeps_the_promises_of_a_store() -> None:
    names: dict[str, Any] = {"__name__": "example"}
    blocks = _EXAMPLE_OF_STORES.findall((DOCS / "how-to" / "add-a-store.md").read_text("utf-8"))
    assert [kind for kind, _ in blocks] == ["store", "tests"]
    try:
        for kind, block in blocks:
            exec(compile(block, f"add-a-store.md: {kind}", "exec", dont_inherit=True), names)
    finally:
        stores.withdraw("drawer")
    assert names["DRAWER"].saved == {}


def test_the_page_names_every_kind_and_only_real_settings() -> None:
    text = (DOCS / "stores.md").read_text("utf-8")
    paths = [path for path, _ in setting_types(Settings)]
    for kind in KINDS:
        assert (
            f"| `{kind}` | `{LOCATIONS[kind].folder}/{LOCATIONS[kind].prefix}{{id}}.json"
            in text
        )
    for named in re.findall(r"`((?:context_management|token_budget|resume)\.[a-z_.]+)`", text):
        assert named in paths, named
