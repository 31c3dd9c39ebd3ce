"""The texts of resuming, from `templates.toml` in this directory."""

from leftoff.codec import JsonObject
from leftoff.model import parse_time
from leftoff.tables import table

# Read at import, since functions of this package must not open files.
_TEMPLATES: JsonObject = table(__file__, "templates.toml")

MESSAGE_TEXTS: dict[str, str] = {
    name: text.strip("\n") for name, text in _TEMPLATES["message"].items()
}
COMPATIBILITY_TEXTS: dict[str, str] = _TEMPLATES["compatibility"]
STRATEGY_TEXTS: dict[str, str] = _TEMPLATES["strategies"]
COMMAND_TEXTS: dict[str, str] = _TEMPLATES["command"]
ADDED_TEXTS: JsonObject = _TEMPLATES["ours"]


def format_elapsed(started: str, ended: str) -> str:
    """The duration of a session as mm:ss, from an hour on h:mm:ss; "unknown" without times."""
    first, last = parse_time(started), parse_time(ended)
    if first is None or last is None or last < first:
        return "unknown"
    minutes, seconds = divmod(int((last - first).total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"
