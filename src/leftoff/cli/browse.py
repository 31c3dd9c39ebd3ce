"""`leftoff browse`: the sessions of this machine in the terminal."""

from leftoff.cli.group import complain
from leftoff.cli.list import NONE
from leftoff.cli.params import SessionFilter, command
from leftoff.errors import UsageError


@command("browse")
def browse(*, chosen: SessionFilter) -> int:
    """Browse the sessions of this machine: a list, the summary of each, and its messages.

    Example: leftoff browse --since 2w

    Arrow keys choose, Enter shows the messages and again the summary, / searches the list, q
    ends. Needs `pip install "leftoff[browse]"`. Exit 1: no session was found."""
    # Before the sessions are looked for, which takes longer than to miss a package.
    try:
        from leftoff.cli.browser import Browser
    except ImportError:
        raise UsageError('leftoff browse needs `pip install "leftoff[browse]"`') from None
    sessions = list(chosen.sessions())
    if not sessions:
        complain(NONE)
        return 1
    Browser(sessions).run()
    return 0
