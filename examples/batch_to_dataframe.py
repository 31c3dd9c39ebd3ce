"""Many sessions as one table. A file that cannot be read is a row that says why."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from leftoff import UsageError, summarize_all, to_dataframe

SESSIONS = Path(__file__).parents[1] / "corpora" / "sessions"


def main(folder: Path = SESSIONS) -> None:
    """What the sessions of a folder cost and did."""
    sessions = list(summarize_all(folder))
    for one in sessions:
        row = one.row
        print(f"{row.format:<18} {row.messages:>4} messages  {row.path.rpartition('/')[2]}")
    actions = Counter(file.action for one in sessions for file in one.files)
    print(
        len(sessions),
        "sessions, files:",
        ", ".join(f"{count} {action}" for action, count in sorted(actions.items())),
    )
    try:
        frame = to_dataframe(sessions, "decisions")
    except UsageError as error:  # neither pandas nor polars is installed
        print(error)
        return
    print(frame.shape[0], "decisions in a", type(frame).__module__.partition(".")[0], "frame")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
