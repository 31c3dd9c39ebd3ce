"""The words of resuming, from `words.toml` beside this file."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

# Read at import, since nothing here may open a file later.
_WORDS: dict[str, Any] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text("utf-8").replace("\r\n", "\n")
)

MESSAGE: dict[str, str] = _WORDS["message"]
COMPATIBILITY: dict[str, str] = _WORDS["compatibility"]
STRATEGIES: dict[str, str] = _WORDS["strategies"]
COMMAND: dict[str, str] = _WORDS["command"]
OURS: dict[str, Any] = _WORDS["ours"]


def moment(text: str) -> datetime | None:
    """A recorded time with its zone; None if it is none. Without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(text)
    except (ValueError, TypeError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def clock(started: str, ended: str) -> str:
    """How long a session took as mm:ss, from an hour on h:mm:ss; "unknown" without times."""
    first, last = moment(started), moment(ended)
    if first is None or last is None or last < first:
        return "unknown"
    minutes, seconds = divmod(int((last - first).total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"
