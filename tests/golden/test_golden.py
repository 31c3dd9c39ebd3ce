"""Shipped sessions give exactly the committed output.

`LEFTOFF_UPDATE_GOLDEN=1 pytest tests/golden` writes what is made now; read the difference.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from leftoff import ContextSummary, api, render
from leftoff.analysis.summary_json import to_plain

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
UPDATE = bool(os.environ.get("LEFTOFF_UPDATE_GOLDEN"))
SESSIONS = sorted(
    path
    for path in (ROOT / "corpora" / "sessions").glob("*/*")
    if path.is_dir() or path.suffix in {".json", ".jsonl", ".md"}
)


def name_of(path: Path) -> str:
    return f"{path.parent.name}-{path.name.split('.json')[0]}"


def summary_of(path: Path, monkeypatch: pytest.MonkeyPatch) -> ContextSummary:
    monkeypatch.chdir(ROOT)
    return api.summarize(path.relative_to(ROOT))


def steady(value: dict[str, Any]) -> dict[str, Any]:
    """Without what changes with every release."""
    return {k: v for k, v in value.items() if k not in {"leftoff", "rules"}}


def compare(path: Path, made: str) -> None:
    if UPDATE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(made, encoding="utf-8")
    assert path.exists(), "run LEFTOFF_UPDATE_GOLDEN=1 python -m pytest tests/golden"
    assert made == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", SESSIONS, ids=name_of)
def test_the_summary_is_the_committed_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    value = steady(to_plain(summary_of(path, monkeypatch)))
    made = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    compare(HERE / "summaries" / f"{name_of(path)}.json", made)


@pytest.mark.parametrize("form", ["text", "markdown", "prompt"])
def test_the_forms_are_the_committed_ones(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ROOT / "corpora" / "sessions" / "claude_code" / "outbox.jsonl"
    compare(HERE / "forms" / f"outbox.{form}", render(summary_of(path, monkeypatch), form))


def test_there_is_a_golden_file_for_each_session_and_no_other() -> None:
    committed = {p.stem for p in (HERE / "summaries").glob("*.json")}
    assert committed == {name_of(path) for path in SESSIONS}
