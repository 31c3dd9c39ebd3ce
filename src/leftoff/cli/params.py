"""SESSION, the same everywhere: a path, -, an id or its beginning, or `latest`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click
from msgspec import Struct

from leftoff.cli.group import complain
from leftoff.errors import UnknownName, UsageError
from leftoff.sources.discover import LATEST, find_session, session_files
from leftoff.sources.session_choice import Choice, as_choice

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from leftoff.second_reading import SecondReading
    from leftoff.summary import ContextSummary


# What click calls, and what adds an option to it: click itself does not say more of either.
Command: TypeAlias = Callable[..., object]
Decorator: TypeAlias = Callable[[Command], Command]


def grouped(name: str, kind: type[Struct], *options: Decorator) -> Decorator:
    """Gives a command the values of several options as one: the parameter `name`, a `kind` with
    a field for each of them."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(*args: object, **given: object) -> object:
            own = {field: given.pop(field) for field in given.keys() & kind.__struct_fields__}
            return command(*args, **{name: kind(**own)}, **given)

        found: Command = run
        for option in reversed(options):
            found = option(found)
        return found

    return decorate


def path_of(session: str) -> str:
    """The path of the session that is meant, seen from the current directory."""
    # A path or an id means the same in a directory that was deleted; only `latest` does not.
    latest = session.partition("@")[0] == LATEST
    cwd = os.getcwd() if latest else ""  # noqa: PTH109 - the logical path, as a string
    return find_session(session, os.environ, cwd)


def complete(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Ids of sessions for the shell, by file names alone, and files; where a shell cannot offer
    both, files if no id begins so."""
    from click.shell_completion import CompletionItem

    from leftoff.cli.completions import is_harmless

    found = [
        CompletionItem(recorded.id, help=recorded.place.client)
        for recorded in session_files(os.environ)
        if recorded.id.startswith(incomplete) and is_harmless(recorded.id)
    ]
    if "latest".startswith(incomplete):
        found.append(CompletionItem("latest", help="newest of this directory"))
    # The file first: bash forgets what came before it.
    return [CompletionItem(incomplete, type="file"), *found]


# Which recorder wrote the recording. `--format` is the older name.
recorder_option = click.option(
    "--from",
    "--format",
    "recorder",
    metavar="NAME",
    help="Read as this format.  [default: detected from the content]",
)


class ReaderOptions(Struct, frozen=True):
    """Whether a second reader is asked: the options of `reader_options`."""

    reader: str | None = None
    reader_refresh: bool = False

    @property
    def reading(self) -> SecondReading | None:
        """How the reader is asked, None without one."""
        if self.reader is None:
            return None
        from leftoff.second_reading import project_reading
        from leftoff.settings import load_here

        home = Path(load_here().settings.home)
        return project_reading(self.reader, home, refresh=self.reader_refresh)


_READER_OPTIONS = (
    click.option(
        "--reader",
        metavar="NAME|COMMAND",
        help="A model that chooses among what was found: claude, codex, or a command that "
        "takes a question on stdin and writes the answer to stdout.",
    ),
    click.option(
        "--reader-refresh", is_flag=True, help="Ask the reader again, stored answers or not."
    ),
)
reader_options = grouped("asked", ReaderOptions, *_READER_OPTIONS)


class RecordingOptions(ReaderOptions, frozen=True):
    """Which session a command reads, and how: the options of `recording_options`."""

    which: str | None = None
    recorder: str | None = None

    @property
    def session(self) -> Choice:
        """The session of a file; if nothing is said, the newest in which the agent worked."""
        return None if self.which is None else as_choice(self.which)

    def warn(self, summary: ContextSummary) -> None:
        """Says on stderr that a file holds several sessions, where none was chosen, and why a
        second reader gave nothing."""
        for issue in summary.issues:
            if issue.code == "several_sessions" and self.which is None:
                complain(f"{issue.count} {issue.what} ({CHOOSE})")
        for issue in summary.issues:
            if issue.code == "second_reader":
                complain(issue.what)


# Follows the warning that a file holds several sessions.
CHOOSE = "choose with --session N, or FILE@N"

which_option = click.option(
    "--session",
    "which",
    metavar="N|ID|DATE",
    help="Which session of a file that holds several: its number from 1, its id or date.",
)
recording_options = grouped(
    "recording", RecordingOptions, which_option, recorder_option, *_READER_OPTIONS
)
json_lines_option = click.option(
    "--json", "as_json", is_flag=True, help="One JSON object on each line."
)
output_option = click.option(
    "-o", "--output", metavar="FILE", help="Write here instead of to stdout."
)
extractor_option = click.option(
    "--extractor", "extra", metavar="NAME", multiple=True, help="Also run this plug-in."
)
redactor_option = click.option(
    "--redactor", "hide", metavar="NAME", multiple=True, help="Also run this plug-in."
)
no_redact_option = click.option(
    "--no-redact", "bare", is_flag=True, help="Show secrets as recorded; only on a terminal."
)
workers_option = click.option(
    "-w",
    "--workers",
    type=click.IntRange(min=1),
    help="Number of worker processes.  [default: as many as there are processors]",
)


def chosen_id(kind: str, given: str, known: Sequence[str]) -> str:
    """The id of a document that is meant by it or its beginning; `UnknownName` or `UsageError`
    where none or several are."""
    meant = [given] if given in known else [one for one in known if one.startswith(given)]
    if len(meant) > 1:
        raise UsageError(f"{given}: may be {', '.join(meant[:5])}; give more of its characters")
    if not meant:
        raise UnknownName(kind, given, known[:20])
    return meant[0]


def form_option(forms: Sequence[str]) -> Decorator:
    """The option that chooses the output form, the first by default. `--form` is the older
    name of `--to`."""
    return click.option(
        "-f",
        "--to",
        "--form",
        "form",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
    )


def session_argument(name: str = "session", *, several: bool = False) -> Decorator:
    """The argument that names a session, or several, with completion."""
    return click.argument(
        name,
        metavar="SESSION..." if several else "SESSION",
        nargs=-1 if several else 1,
        required=True,
        shell_complete=complete,
    )
