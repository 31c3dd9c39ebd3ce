"""`leftoff verify`."""

import sys

from leftoff import api
from leftoff.analysis.summary_json import from_json
from leftoff.cli.group import complain
from leftoff.cli.params import command
from leftoff.sources.open import STDIN, read_whole

MEANING = "the words are where the summary says, which does not make a claim true"


@command("verify")
def verify(summary: str) -> int:
    """Check every reference of a saved JSON SUMMARY (- for standard input) against the
    recording.

    Example: leftoff verify summary.json

    A reference holds if the words stand in the recording where the summary says. Whether what
    they claim is true is not checked.

    Exit 0: all references hold. Exit 1: some do not; each is listed."""
    data = sys.stdin.buffer.read() if summary == STDIN else read_whole(summary)
    value = from_json(data)
    problems = api.verify(value)
    for problem in problems:
        complain(problem)
    count = sum(1 for _ in api.refs_of(value))
    print(f"{count - len(problems)} of {count} references hold: {MEANING}")
    return 1 if problems else 0
