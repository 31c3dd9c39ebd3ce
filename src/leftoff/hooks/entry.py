"""Entry point of the worker process. Its output goes nowhere, so failures, also those while
importing the engine, are written to the hooks' log."""

import sys
from pathlib import Path

from leftoff.hooks import queue


def main(home: Path, session: str) -> None:
    """Processes the job queue of a session; a failure is logged and raised."""
    try:
        from leftoff.hooks.worker import process_jobs

        process_jobs(home, session)
    except BaseException as error:
        queue.log_error(home, f"worker: {session} failed", error)
        raise


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
