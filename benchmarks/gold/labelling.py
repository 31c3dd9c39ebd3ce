"""Label files from the marks of a dialogue and the places at which its steps were written."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.gold.dialogues import Dialogue, DialogueError
from benchmarks.gold.layouts import Place

ANNOTATOR = "authors"


def labels(dialogue: Dialogue, file: str, places: list[Place]) -> bytes:
    """The label file of a session, in the layout of docs/how-to/label-and-evaluate.md.

    Args:
        places: of each step.

    Raises:
        DialogueError: a repeat of a decision that nobody named, or a mark at words that the
            layout does not keep.
    """
    found: dict[str, list[dict[str, Any]]] = {
        "decisions": [], "milestones": [], "stages": [], "directives": [], "open_items": [],
    }  # fmt: skip
    named: dict[str, dict[str, Any]] = {}
    for step, place in zip(dialogue.steps, places, strict=True):
        if step.stage:
            found["stages"].append({"line": place.first, "stage": step.stage})
        for mark in step.marks:
            if place.words is None:
                raise DialogueError(f"{dialogue.name}: marks at a step without words")
            here: dict[str, Any] = {"line": place.words, "quote": mark.quote}
            if mark.what == "decision":
                here |= {"type": mark.kind, "importance": mark.importance, "also": []}
                found["decisions"].append(here)
                if mark.key:
                    named[mark.key] = here
            elif mark.what == "also":
                if mark.key not in named:
                    raise DialogueError(f"{dialogue.name}: nothing is named {mark.key!r}")
                named[mark.key]["also"].append(place.words)
            elif mark.what == "milestone":
                found["milestones"].append({**here, "kind": mark.kind})
            elif mark.what == "directive":
                found["directives"].append({**here, "kind": mark.kind})
            else:
                found["open_items"].append(here)
    rows = [f' "file": {_json(file)},', f' "annotator": {_json(ANNOTATOR)},']
    for name, listed in found.items():
        comma = "," if name != "open_items" else ""
        inner = ",\n".join(f"  {_json(row)}" for row in listed)
        rows.append(f' "{name}": [\n{inner}\n ]{comma}' if listed else f' "{name}": []{comma}')
    return ("{\n" + "\n".join(rows) + "\n}\n").encode()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
