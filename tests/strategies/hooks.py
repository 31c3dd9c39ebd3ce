"""What a client hands to a hook, and the end of the workers that hooks leave behind."""

import time
from pathlib import Path
from typing import Any

from leftoff import codec
from leftoff.hooks import queue


def hook_input(
    event: str, session: str = "s1", *, project: object, transcript: object = "", **more: Any
) -> bytes:
    about = {"session_id": session, "cwd": str(project), "hook_event_name": event}
    return codec.dumps({**about, "transcript_path": str(transcript), **more})


def settled(home: Path, seconds: float = 60.0) -> bool:
    """Whether the workers of a `.leftoff` have done what hooks left them, in so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        folders = list((home / queue.STATE).glob("*/"))
        if not any(queue.pending_jobs(f) or (f / queue.BUSY).exists() for f in folders):
            return True
        time.sleep(0.02)
    return False
