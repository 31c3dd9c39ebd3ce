"""What a client hands to a hook, and the end of the workers that hooks leave behind."""

import time
from pathlib import Path
from typing import Any

import pytest

from leftoff import codec
from leftoff.hooks import answer, queue, worker


def hook_input(
    event: str, session: str = "s1", *, project: object, transcript: object = "", **more: Any
) -> bytes:
    about = {"session_id": session, "cwd": str(project), "hook_event_name": event}
    return codec.dumps({**about, "transcript_path": str(transcript), **more})


def without_worker(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Hooks leave jobs and start no worker; homes and settings are below a folder."""
    patch.setattr(answer, "start_worker", lambda *_: None)
    patch.setattr(answer, "WORKER_TIMEOUT", 0.0)
    patch.setattr(worker, "SUMMARY_TIMEOUT", 0.0)
    patch.delenv("XDG_STATE_HOME")
    names = {"HOME": "home", "XDG_CONFIG_HOME": "config", "CLAUDE_CONFIG_DIR": "claude"}
    for name, place in {**names, "CODEX_HOME": "codex"}.items():
        patch.setenv(name, str(folder / place))


def settled(home: Path, seconds: float = 60.0) -> bool:
    """Whether the workers of a `.leftoff` have done what hooks left them, in so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        folders = list((home / queue.STATE).glob("*/"))
        if not any(map(queue.pending_jobs, folders)):
            return True
        time.sleep(0.02)
    return False
