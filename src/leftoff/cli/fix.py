"""`leftoff fix`."""

import sys

from msgspec.structs import replace

from leftoff.cli.group import tell
from leftoff.cli.memory import Question
from leftoff.cli.params import command
from leftoff.handover.wording import brief
from leftoff.memory.fixes import fixes, last_failure
from leftoff.memory.text import fix_values, fixes_text, short_id


@command("fix")
def fix(error: tuple[str, ...], *, asked: Question) -> int:
    """Find earlier errors like ERROR, how they were fixed, and what was edited in between.

    Example: make 2>&1 | leftoff fix

    Without ERROR, standard input is read; if that is a terminal or empty, the last failure
    recorded in this directory is taken. Exit 1: no similar error was recorded."""
    # An agent runs commands without a standard input, or with an empty one.
    piped = sys.stdin is not None and not sys.stdin.isatty()
    text = " ".join(error) or (sys.stdin.read() if piped and not error else "")
    index = asked.index()
    here = replace(asked, since=None).filters(".")
    last = None if text.strip() else last_failure(index, here)
    if last is not None:
        text = last.text.partition(": ")[2]
        tell(f"the last failure here ({short_id(last)}#{last.number}): {brief(text, 200)}")
    found = fixes(index, text, asked.filters(), limit=asked.limit, but=last)
    return asked.answer(found, fix_values, fixes_text)
