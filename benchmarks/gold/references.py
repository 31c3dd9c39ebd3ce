"""corpora/public.toml from a folder of public recordings and the labels beside it.

python -m benchmarks.gold.references PUBLIC LABELS -o corpora/public.toml

PUBLIC holds MANIFEST.tsv (file, source_repo, path_in_repo, commit, licence, format) and the
recordings; LABELS holds `double/` and `single/`. Positions, kinds and hashes are written, never
words.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from benchmarks.corpora.references import SETS, Ranges, Reference, to_ranges, to_toml
from leftoff import api
from leftoff.evaluation.labels import Labels, load
from leftoff.evaluation.sessions import LabelledSession

HEAD = """\
Public recorded sessions by reference: repository, commit, path and hash, and labels as places
and code points (benchmarks/accuracy/labels). Nothing of the recordings is here.
Made by `python -m benchmarks.gold.references`;
fetched by `python -m benchmarks.corpora fetch`."""


def references(public: Path, labels: Path) -> tuple[list[Reference], list[str]]:
    """A reference for every row of the manifest, and what was left out, as sentences."""
    known = {
        label.file: (name, label)
        for name in SETS
        if (labels / name).is_dir()
        for label in load(str(labels / name))
    }
    found: list[Reference] = []
    problems: list[str] = []
    with (public / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in sorted(rows, key=lambda row: row["file"]):
        data = (public / row["file"]).read_bytes()
        if row["file"].endswith(".gz") and not row["path_in_repo"].endswith(".gz"):
            data = gzip.decompress(data)
        where, label = known.get(PurePosixPath(row["file"]).name, ("", None))
        ranges: Ranges | None = None
        if label is not None:
            path = str(public / row["file"])
            ranges, left_out = to_ranges(label, _texts(label, path))
            problems += left_out
        found.append(
            Reference(
                file=row["file"],
                format=row["format"],
                url=f"https://github.com/{row['source_repo']}",
                commit=row["commit"],
                path=row["path_in_repo"],
                sha256=hashlib.sha256(data).hexdigest(),
                bytes=len(data),
                licence=row["licence"],
                set=where,
                labels=ranges,
            )
        )
    return found, problems


def _texts(label: Labels, path: str) -> dict[int, str]:
    return LabelledSession(label, path, list(api.read(path))).texts


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the file; what could not be expressed goes to stderr."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gold.references")
    parser.add_argument("public", type=Path)
    parser.add_argument("labels", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    found, problems = references(options.public, options.labels)
    print("\n".join(problems), file=sys.stderr)
    options.output.write_text(to_toml(found, HEAD), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
