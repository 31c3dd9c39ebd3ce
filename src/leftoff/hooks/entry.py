"""Where the worker of the hooks comes in. Nobody reads what it says, so what keeps it from its
work is told in the hooks' log, also what fails while the engine is imported.
"""

from __future__ import annotations

import sys
from pathlib import Path

from leftoff.hooks import queue as files


def main(home: Path, session: str) -> None:
    """Does what is wished for a session; a failure is noted, and raised.

    Args:
        home: where leftoff keeps what it keeps for the project.
    """
    try:
        from leftoff.hooks.worker import work

        work(home, session)
    except BaseException as error:
        files.note(home, f"worker: {session} failed: {_words(error)}")
        raise


def _words(error: BaseException) -> str:
    kind = type(error).__name__
    try:
        from leftoff.redaction.redactor import Redactor

        return str(Redactor().text(f"{kind}: {error}"))
    except Exception:  # noqa: BLE001 - the gate itself cannot be imported: what, not why
        return kind


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
