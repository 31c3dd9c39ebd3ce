"""`leftoff blame`."""

from functools import partial
from pathlib import Path

from leftoff import lazy_re as re
from leftoff.cli.memory import Question
from leftoff.cli.params import command
from leftoff.errors import UsageError
from leftoff.memory.blame import blame as origins_of
from leftoff.memory.text import blame_text, origin_values

_PLACE = re.compile(r"(?P<file>.+?):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?", re.DOTALL)


@command("blame")
def blame(file: str, *, asked: Question) -> int:
    """Show which session last wrote each line of FILE: the edit, what the person had asked,
    the decisions of that turn and the commit.

    Example: leftoff blame src/app.py:12-20

    Exit 1: no line comes from a recorded session."""
    # A file may be called `a:1`.
    place = None if Path(file).exists() else _PLACE.fullmatch(file)
    path = Path(place["file"] if place else file)
    lines = None
    if place:
        lines = int(place["first"]), int(place["last"] or place["first"])
        if not 1 <= lines[0] <= lines[1]:
            raise UsageError(f"{file}: lines count from 1, and the first comes first")
    found = origins_of(asked.index(), path, lines)
    # Lines that no session wrote are an answer only beside lines that one wrote.
    if not any(origin.edit for origin in found):
        found = []
    text = path.read_text("utf-8", errors="replace").splitlines()
    return asked.answer(found, origin_values, partial(blame_text, path.name, text))
