"""The options of all commands, and SESSION, the same everywhere: a path, -, an id or its
beginning, or `latest`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click
from msgspec import Struct
from msgspec.structs import astuple

from leftoff import codec
from leftoff.cli.group import complain
from leftoff.errors import UnknownName, UsageError
from leftoff.sources import discover
from leftoff.sources.session_choice import split_choice
from leftoff.tables import table

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from leftoff.second_reading import SecondReading
    from leftoff.summary import ContextSummary


# What click calls: it does not say more of it.
Command: TypeAlias = Callable[..., object]

# The options and arguments of all commands: the file says how they are written.
_TABLE = table(__file__, "options.toml")


def command(typed: str, group: click.Group | None = None) -> Callable[[Command], click.Command]:
    """Makes a function a command, one of a `group` if it is given, with the options and
    arguments that `options.toml` lists. `typed` is what stands after `leftoff`, such as
    "log show". A parameter whose type is a `Struct` gets the values of several options, those
    that are its fields."""
    named = (group.command if group else click.command)(
        typed.rpartition(" ")[2], params=list(_params(_TABLE[typed]))
    )

    def decorate(function: Command) -> click.Command:
        kinds = {
            n: t for n, t in function.__annotations__.items() if hasattr(t, "__struct_fields__")
        }

        @wraps(function)
        def run(**given: object) -> object:
            for name, kind in kinds.items():
                own = {f: given.pop(f) for f in given.keys() & kind.__struct_fields__}
                given[name] = kind(**own)
            return function(**given)

        return named(run)

    return decorate


def _params(rows: codec.JsonObject) -> Iterator[click.Parameter]:
    for name, row in rows.items():
        if not row and f"+{name}" in _TABLE:
            yield from _params(_TABLE[f"+{name}"])
            continue
        # A row that says what it is does not mean the shared option of the same name.
        shared = _TABLE["shared"].get(name, {}) if _TYPES.keys().isdisjoint(row) else {}
        yield _param(name, {**shared, **row})


def _param(name: str, row: codec.JsonObject) -> click.Parameter:
    typed = f"{row.pop('option', '--' + name.replace('_', '-'))} {name}".split()
    kind = next((kind for kind in _TYPES if kind in row), "is_flag")
    value = row.pop(kind, True)
    if kind == "is_flag":
        return click.Option(typed, is_flag=True, **row)
    if kind == "argument":
        inner = next((inner for inner in ("choice", "path", "unprocessed") if inner in row), "")
        type_ = _TYPES[inner](row.pop(inner)) if inner else None
        if not inner:
            row["shell_complete"] = partial(_complete, sessions=row.pop("sessions", False))
        row.setdefault("required", True)
        return click.Argument([name], metavar=value or None, type=type_, **row)
    if kind == "text":
        row |= {"metavar": value, "shell_complete": _complete}
    row.setdefault("show_default", row.get("default", "") != "" or None)
    return click.Option(typed, type=_TYPES[kind](value), **row)


def _choice(known: Any) -> click.Choice[str]:
    if isinstance(known, str):
        module, _, constant = known.partition(":")
        known = getattr(import_module(module), constant)
    return click.Choice(known)


# Thirty years: more than any poll lasts, and within what every clock can wait for.
MAX_SECONDS = 1e9


class Seconds(click.FloatRange):
    """Seconds; not `nan` or `inf`, which click's ranges accept."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds = float(super().convert(value, param, ctx))
        if not seconds <= MAX_SECONDS:
            self.fail(f"must be at most {MAX_SECONDS:.0e} seconds, not {value!r}.", param, ctx)
        return seconds


# What a row may say that it is, the first that it says, and the type for the value there.
_TYPES: Mapping[str, Callable[[Any], Any]] = {
    "argument": lambda _: None,
    "text": lambda _: None,
    "int": lambda least: click.INT if least == "any" else click.IntRange(min=least),
    "float": lambda least: click.FloatRange(min=least),
    "seconds": lambda least: Seconds(min=least),
    "choice": _choice,
    "path": lambda _: click.Path(),
    "unprocessed": lambda _: click.UNPROCESSED,
}


class SessionFilter(Struct, frozen=True):
    """Which sessions of this machine."""

    project: str | None = None
    recorder: str | None = None
    since: str | None = None
    until: str | None = None

    @property
    def given(self) -> list[str]:
        """The options that were given, as they are typed."""
        names = ("--project", "--format", "--since", "--until")
        return [name for name, value in zip(names, astuple(self), strict=True) if value]

    @property
    def sessions(self) -> Callable[..., Iterator[discover.SessionInfo]]:
        """`discover.list_sessions` with these options: the last changed session first."""
        from leftoff.sources.discover import folder_of  # only when sessions are asked for

        now = time.time()
        return partial(
            discover.list_sessions,
            os.environ,
            project=folder_of(self.project),
            format=self.recorder or "",
            since=discover.parse_time(self.since, now) if self.since else None,
            until=discover.parse_time(self.until, now) if self.until else None,
        )


def path_of(session: str, which: str | None = None) -> str:
    """The path of the session that is meant, seen from the current directory; with the session
    `which` of a file that holds several as `FILE@N`."""
    # A path or an id means the same in a directory that was deleted; only `latest` does not.
    latest = session.partition("@")[0] == discover.LATEST
    cwd = os.getcwd() if latest else ""  # noqa: PTH109 - the logical path, as a string
    path = discover.find_session(session, os.environ, cwd)
    return path if which is None else f"{split_choice(path)[0]}@{which}"


def _complete(*asked: Any, sessions: bool = False) -> list[CompletionItem]:
    # A shell asks seldom, and each command makes its options.
    from leftoff.cli import completions

    return completions.complete(*asked, sessions=sessions)


class ReaderOptions(Struct, frozen=True):
    """Whether a second reader is asked."""

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


class RecordingOptions(ReaderOptions, frozen=True):
    """Which session a command reads, and how."""

    which: str | None = None
    recorder: str | None = None

    @property
    def how(self) -> dict[str, Any]:
        """How the recording is read, as `api.summarize` and others take it."""
        return {"format": self.recorder, "reader": self.reading}

    @staticmethod
    def warn(path: str, summary: ContextSummary) -> None:
        """Says on stderr that a file holds several sessions, where its path names none, and why
        a second reader gave nothing."""
        for issue in summary.issues:
            if issue.code == "several_sessions" and split_choice(path)[1] is None:
                complain(f"{issue.count} {issue.what} ({CHOOSE})")
        for issue in summary.issues:
            if issue.code == "second_reader":
                complain(issue.what)


# Follows the warning that a file holds several sessions.
CHOOSE = "choose with --session N, or FILE@N"


def chosen_id(kind: str, given: str, known: Sequence[str]) -> str:
    """The id of a document that is meant by it or its beginning; `UnknownName` or `UsageError`
    where none or several are."""
    meant = [given] if given in known else [one for one in known if one.startswith(given)]
    if len(meant) > 1:
        raise UsageError(f"{given}: may be {', '.join(meant[:5])}; give more of its characters")
    if not meant:
        raise UnknownName(kind, given, known[:20])
    return meant[0]
