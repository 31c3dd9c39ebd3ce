"""The figures of a run of `leftoff eval files` by half of the recordings.

    python -m benchmarks.accuracy.files.halves RUN

One half was read while file tracking was built, the other was not.
"""

from __future__ import annotations

import sys
from pathlib import Path
from zlib import crc32

from leftoff import codec
from leftoff.evaluation.file_runs import FileRun, figures
from leftoff.evaluation.report import from_json

HALVES = ("development", "held out")


def half_of(name: str) -> str:
    """`development` or `held out`: by the source repository that a recording's name begins
    with (``owner__name__…``), for repositories of many tasks by the whole name."""
    parts = name.split("__")
    repository = "__".join(parts[:2])
    if repository in {
        "SWE-agent__SWE-agent",
        "gruckion__mini-swe-agent",
        "UKGovernmentBEIS__inspect_ai",
    }:
        repository = name
    return "development" if crc32(repository.encode()) % 2 else "held out"


def by_half(run: FileRun) -> codec.JsonObject:
    """The figures of each half."""
    found: codec.JsonObject = {}
    for half in HALVES:
        found[half] = figures(
            [row for row in run.patches if half_of(row.name) == half],
            [row for row in run.patches_seed001 if half_of(row.name) == half],
            [row for row in run.committed if half_of(row.name) == half],
        )
    return found


def main(path: str) -> int:
    run = from_json(Path(path).read_bytes(), FileRun)
    print(codec.dumps(by_half(run), indent=2).decode(), end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
