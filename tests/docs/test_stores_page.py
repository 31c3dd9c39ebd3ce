"""The store of docs/how-to/add-a-store.md runs as it stands and keeps the promises of a store."""

import re
from pathlib import Path
from typing import Any

from leftoff.settings import Settings, setting_types
from leftoff.stores.naming import LOCATIONS
from leftoff.stores.protocol import KINDS, stores

DOCS = Path(__file__).resolve().parents[2] / "docs"
_EXAMPLE = re.compile(r"<!-- example: (\w+) -->\n```py\n(.*?)```", re.DOTALL)


def test_the_example_keeps_the_promises_of_a_store() -> None:
    names: dict[str, Any] = {"__name__": "example"}
    blocks = _EXAMPLE.findall((DOCS / "how-to" / "add-a-store.md").read_text("utf-8"))
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
