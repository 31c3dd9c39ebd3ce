"""How commands write: data to stdout or a file, colours only for people."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from leftoff.cli.group import tell
from leftoff.errors import SourceError, UsageError

if TYPE_CHECKING:
    from leftoff.redaction.redactor import Finder, Redactor
    from leftoff.summary import ContextSummary


def coloured() -> bool:
    """Whether stdout wants colours: a terminal, or FORCE_COLOR; never with NO_COLOR."""
    # https://no-color.org: any value but the empty one.
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def columns() -> int:
    """Width of the terminal, at most 200; 96 where there is none."""
    if not sys.stdout.isatty():
        return 96
    import shutil

    # Longer lines are hard to read, however wide a terminal is.
    return min(200, shutil.get_terminal_size((96, 24)).columns)


def rendered(
    summary: ContextSummary, form: str = "text", output: str | None = None, **more: Any
) -> str:
    """A summary in one of the forms of `render`, which takes `more`: in the colours and the
    columns of the terminal, plain for a file."""
    from leftoff.rendering.render_summary import render

    # The width of this terminal says nothing about who reads a file.
    plain = output is not None
    width = 96 if plain else columns()
    return render(summary, form, colour=not plain and coloured(), width=width, **more)


def nothing_fits(budget: int) -> str:
    """What to say where a budget has no room for a single item."""
    return f"nothing of this session fits into {budget} tokens; give a larger --budget"


def deliver(text: str | bytes | Iterator[bytes], output: str | None = None) -> None:
    """Writes a result, text, UTF-8 or pieces of it, to stdout, or to a file of the user's
    choice.

    Raises:
        SourceError: the file, or stdout, cannot be written.
        BrokenPipeError: the reader has closed the pipe."""
    if output is None or output == "-":
        try:
            if isinstance(text, str):
                sys.stdout.write(text)
            else:
                sys.stdout.flush()
                sys.stdout.buffer.writelines(_pieces(text))
            sys.stdout.flush()
        # No failure: the reader has what it wanted, and `__main__` ends with 0.
        except BrokenPipeError:
            raise
        except OSError as error:
            raise SourceError(f"stdout: cannot be written ({error.strerror})") from error
        return
    with written(output) as file:
        file.writelines(_pieces(text))


def _pieces(text: str | bytes | Iterator[bytes]) -> Iterable[bytes]:
    if isinstance(text, (str, bytes)):
        return (text.encode("utf-8") if isinstance(text, str) else text,)
    return text


@contextmanager
def written(output: str) -> Iterator[IO[bytes]]:
    """A file of the user's choice to write into. It takes its place when all is written, and
    only its owner can read it. A pipe or a device is written to as it stands. `SourceError`
    where it cannot be written; a file that was there stays."""
    from leftoff.stores.atomic import Directory, source_errors

    path = Path(output)
    with source_errors(output, OSError):
        # `/dev/stdout` and named pipes cannot be replaced.
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
        else:
            with Directory.open(path.parent) as folder:
                folder.remove_stale_temporaries(path.name)
                with (
                    folder.replacement(path.name) as staged,
                    open(staged.descriptor, "wb", closefd=False) as file,
                ):
                    yield file
                folder.fsync()
    tell(f"wrote {output}")


def gate_of(*, bare: bool, output: str | None, extra: Sequence[Finder] = ()) -> Redactor:
    """The redactor of a command with `--no-redact`; `UsageError` where secrets were asked for
    where they would stay: in a file or a pipe."""
    # A shell asks for its completion whenever it starts.
    from leftoff.redaction.redactor import Redactor

    if not bare:
        return Redactor(extra=extra)
    # A file or a pipe outlives the moment in which a secret was to be seen.
    if output is not None or not sys.stdout.isatty():
        raise UsageError("--no-redact shows secrets on a terminal only, not in a file or pipe")

    # Renderers demand text that has passed a redactor, so this is one.
    class Open(Redactor):
        """Lets everything through."""

        def text(self, s: str) -> str:
            return s

        def value(self, v: object) -> object:
            return v

        def file(self, path: str, content: str) -> str:
            return content

    return Open()
