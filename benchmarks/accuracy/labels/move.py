"""Moves labels whose quotes stand at another place since a reader changed.

python -m benchmarks.accuracy.labels.move LABELS --transcripts DIR [--write]

Prints each label that stands elsewhere by now, by list, old and new place (no words), and how
many were found nowhere; those keep their place. `--write` changes the label files. Exit 1: a
quote was found nowhere.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from leftoff.evaluation.labels import Labels, load
from leftoff.evaluation.systems import sessions


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.labels.move")
    parser.add_argument("labels")
    parser.add_argument("--transcripts", required=True)
    parser.add_argument("--write", action="store_true", help="change the label files")
    options = parser.parse_args(arguments)
    found, left_out = sessions(load(options.labels), options.transcripts)
    files = {f.name: f for f in Path(options.labels).rglob("*.json")} if options.write else {}
    moved = lost = 0
    for session in found:
        for move in session.moves:
            moved += move.to is not None
            lost += move.to is None
            print(f"{session.labels.file}: {move.what} {move.line} -> {move.to or 'nowhere'}")
        if any(move.to is not None for move in session.moves) and options.write:
            write(files[f"{session.labels.file}.json"], session.labels)
    for line in left_out:
        print(line, file=sys.stderr)
    count = sum(len(list(session.labels.quoted())) for session in found)
    print(f"{count} quotes in {len(found)} recordings: {moved} moved, {lost} found nowhere")
    return 1 if lost else 0


def write(file: Path, labels: Labels) -> None:
    """Writes the places of moved labels into a label file; other fields stay."""
    document: dict[str, Any] = json.loads(file.read_text("utf-8"))
    moved = msgspec.to_builtins(labels)
    for name in ("decisions", "milestones", "directives", "open_items"):
        before = document.get(name, [])
        document[name] = [
            {**(before[n] if n < len(before) else {}), **_shown(new)}
            for n, new in enumerate(moved[name])
        ]
        for item in document[name]:
            item.pop("source_line", None)
    document.pop("swallowed_user_turns", None)
    file.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _shown(label: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in label.items() if k in ("line", "quote", "kind", "type")}


if __name__ == "__main__":
    sys.exit(main())
