"""An orchestrator reads what its agent writes, while it is written, and may be killed between
two looks: what it had read is put aside, and the next one goes on from there."""

from __future__ import annotations

import sys
from pathlib import Path

from leftoff import ContextSummary, Pass, summarize

SESSION = Path(__file__).parents[1] / "corpora" / "sessions" / "claude_code" / "prorate.jsonl"
PIECE = 16_000
"""Bytes that the agent writes between two looks; they may end in the middle of a line."""


def main(path: Path = SESSION) -> None:
    """Follows a recording; here a finished one, which is shown a piece at a time."""
    written = path.read_bytes()
    state = Pass(str(path)).save()
    for end in range(PIECE, len(written) + PIECE, PIECE):
        reading = Pass.load(state, str(path))
        reading.feed(written[state.offset : end])
        state = reading.save()  # of the whole lines; half a line is read again
        if reading.format is not None:
            print(line(reading.summary()))
    whole = summarize(path)
    assert reading.summary().key_decisions == whole.key_decisions, "the same as in one go"


def line(summary: ContextSummary) -> str:
    """Where a session stands, on one line."""
    progress = summary.progress
    changed = sum(file.action != "read" for file in summary.file_modifications)
    return (
        f"{summary.stats.message_count:>3} messages, {len(summary.checks)} checks, "
        f"{progress.current_stage or 'not begun'}, {changed} files changed"
    )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
