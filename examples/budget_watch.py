"""A supervisor looks at a growing recording now and then, and acts when its window passes a
threshold. Only what is new is read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from leftoff.budget.account import Crossed
from leftoff.budget.thresholds import Preset, Threshold
from leftoff.budget.windows import ModelRow
from leftoff.incremental.accounts import AccountFollower

SESSION = Path(__file__).parents[1] / "corpora" / "sessions" / "claude_code" / "prorate.jsonl"

OURS = Preset(
    "ours",
    (
        Threshold("plan the handoff", 0.10, logs="{used:,} tokens are used"),
        Threshold("hand over", 0.11, "critical", logs="{remaining:,} tokens are left"),
    ),
)
"""Low ones, since the session is short. `thresholds.preset("handoff")` has the usual ones."""


WINDOWS = (ModelRow("claude-sonnet-*", 200_000, 33_000),)
"""The model of the session is sold with two windows, and nothing in the session shows which:
without a row of ours its window is unknown, and no threshold is passed."""


def crossed(path: Path, writing: Iterator[None]) -> Iterator[Crossed]:
    """Each threshold when it is passed, as the recording grows."""
    following = AccountFollower(str(path), OURS, windows=WINDOWS)
    known = 0
    for _ in writing:  # with a real agent: `while agent.poll() is None: time.sleep(1)`
        now = following.changed()
        if now is not None:
            yield from now.account.crossed[known:]
            known = len(now.account.crossed)


def growing(path: Path, source: Path) -> Iterator[None]:
    """An agent that writes its recording, a few lines at a time."""
    lines = source.read_bytes().splitlines(keepends=True)
    with path.open("ab") as recording:
        for start in range(0, len(lines), 8):
            recording.writelines(lines[start : start + 8])
            recording.flush()
            yield


def main(source: Path = SESSION) -> None:
    """Tells each threshold that the session passes."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        for one in crossed(path, growing(path, source)):
            crossing = one.crossing
            said = crossing.words(crossing.threshold.logs)
            print(f"#{one.message}: {crossing.threshold.name}: {said}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
