"""How commands write: data to stdout or a file, colours only for people."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from leftoff.errors import SourceError


def coloured() -> bool:
    """Whether stdout wants colours: a terminal, or FORCE_COLOR; never with NO_COLOR."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def columns() -> int:
    """Width of the terminal, at most 110; 96 where there is none."""
    if not sys.stdout.isatty():
        return 96
    return min(110, shutil.get_terminal_size((96, 24)).columns)


def deliver(text: str, output: str | None) -> None:
    """Writes a result to stdout, or to a file of the user's choice.

    Raises:
        SourceError: the file, or stdout, cannot be written.
        BrokenPipeError: nobody reads any more.
    """
    if output is None or output == "-":
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise SourceError(f"stdout: cannot be written ({error.strerror})") from error
        return
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise SourceError(f"{output}: cannot be written ({error.strerror})") from error
    print(f"wrote {output}", file=sys.stderr)
