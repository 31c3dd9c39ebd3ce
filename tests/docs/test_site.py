"""The site knows every page, and no page points at nothing.

`mkdocs build --strict` (`.ci/extras.d/70-docs.sh`) says the same and more; this says it at once.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

DOCS = Path(__file__).resolve().parents[2] / "docs"
_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")
_PAGE = re.compile(r"\bdocs/[\w/-]+\.md\b")
_SYMBOL = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


def pages_of(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    inner = nav.values() if isinstance(nav, dict) else nav
    return [page for part in inner for page in pages_of(part)]


def test_every_page_is_in_the_nav_once() -> None:
    told = yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text("utf-8"))
    hidden = set(told["exclude_docs"].split())
    there = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - hidden
    assert sorted(pages_of(told["nav"])) == sorted(there)


def test_every_link_leads_somewhere() -> None:
    dead = [
        f"{page.name}: {link}"
        for page in (*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md"))
        for link in _LINK.findall(_FENCE.sub("", page.read_text("utf-8")))
        if not (page.parent / link).exists()
    ]
    assert dead == []


def test_every_page_that_the_code_names_is_there() -> None:
    root = DOCS.parent
    dead = [
        f"{file.relative_to(root)}: {page}"
        for folder in ("src", "benchmarks", "examples")
        for file in (root / folder).rglob("*.py")
        for page in _PAGE.findall(file.read_text("utf-8"))
        if not (root / page).exists()
    ]
    assert dead == []


def test_no_example_fails() -> None:
    failed = [
        str(page.relative_to(DOCS))
        for page in DOCS.rglob("*.md")
        if "\nTraceback (most recent call last)" in page.read_text("utf-8")
    ]
    assert failed == []


def test_every_name_in_the_reference_is_there() -> None:
    wrong = []
    for page in (DOCS / "reference").glob("*.md"):
        for symbol in _SYMBOL.findall(page.read_text("utf-8")):
            try:
                import_module(symbol)
            except ModuleNotFoundError:
                module, _, name = symbol.rpartition(".")
                if not hasattr(import_module(module), name):
                    wrong.append(symbol)
    assert wrong == []


def test_the_public_names_are_in_the_reference() -> None:
    import leftoff

    text = "".join(page.read_text("utf-8") for page in (DOCS / "reference").glob("*.md"))
    told = set(_SYMBOL.findall(text))
    missing = [
        name
        for name in leftoff.__all__
        if name != "__version__"
        and f"{leftoff._WHERE[name]}.{name}" not in told
        and leftoff._WHERE[name] not in told
    ]
    assert missing == []
