"""`leftoff verify`."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument("summary", metavar="SUMMARY")
def verify(summary: str) -> int:
    """Re-read the recording of a saved JSON SUMMARY (or -) and check every reference.

    Exit 0: every reference holds. 1: some do not; each is named.
    """
    from leftoff import api
    from leftoff.cli import complain
    from leftoff.errors import SourceError
    from leftoff.summary import from_json

    if summary == "-":
        data = sys.stdin.buffer.read()
    else:
        try:
            data = Path(summary).read_bytes()
        except OSError as error:
            raise SourceError(f"{summary}: {error.strerror}") from error
    value = from_json(data)
    problems = api.verify(value)
    for problem in problems:
        complain(problem)
    count = sum(1 for _ in api.refs_of(value))
    print(f"{count - len(problems)} of {count} references hold")
    return 1 if problems else 0
