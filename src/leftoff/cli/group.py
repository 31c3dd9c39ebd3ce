"""The command line. This file imports click and our own words, nothing heavy: commands are
loaded when they are run."""

from __future__ import annotations

import gc
import io
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

import click

from leftoff._version import __version__
from leftoff.tables import table

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from leftoff.redaction.redactor import SafeText

# The sections of the help, with their commands and the line of each.
_SECTIONS = table(__file__, "commands.toml")
_COMMANDS: dict[str, str] = {
    name: line for commands in _SECTIONS.values() for name, line in commands.items()
}
del _SECTIONS["hidden"]
# Where a command stands that is not the function NAME of the module NAME: its name is another
# command's, or one of Python.
_ELSEWHERE = {"eval": "eval:evaluate", "list": "list:list_command", "recall": "search:search"}


class Commands(click.Group):
    """A group that knows its commands by name and imports the one that is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        place = _ELSEWHERE.get(cmd_name, f"{cmd_name}:{cmd_name}")
        module, _, attribute = place.partition(":")
        _import_msgspec()
        command: click.Command = getattr(import_module(f"leftoff.cli.{module}"), attribute)
        if not gc.isenabled():  # `__main__.run`: what is imported now stays to the end
            gc.freeze()
            gc.enable()
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        # People type the file first: `leftoff session.jsonl`.
        if name not in _COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            from leftoff.errors import nearest

            near = nearest(name, _COMMANDS)
            hint = f" Did you mean `leftoff {near}`?" if near else ""
            if os.path.exists(name):  # noqa: PTH110 - a name may be too long for one
                hint = f" To summarize a file: `leftoff summarize {name}`."
            raise click.UsageError(f"No such command: {name}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        words = (name for name in sorted(_COMMANDS) if name.startswith(incomplete))
        found = [CompletionItem(name, help=_COMMANDS[name]) for name in words]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, _COMMANDS))
        for title, names in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), _COMMANDS[name]) for name in names])


def _import_msgspec() -> None:
    """Imports msgspec without `typing_extensions`: where that is installed, msgspec takes from
    it what Python's `typing` has, too. To import it is 2 % of a start."""
    name = "typing_extensions"
    blocked: dict[str, object] = {} if name in sys.modules else {name: None}
    sys.modules.update(blocked)  # type: ignore[arg-type]
    import_module("msgspec")
    for name in blocked:
        del sys.modules[name]


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "LEFTOFF"},
)
@click.version_option(__version__, "--version", message="leftoff %(version)s")
@click.pass_context
def leftoff(ctx: click.Context) -> int:
    """Summarize recorded sessions of AI coding agents: what was asked, decided, changed and
    tested, and what is left to do. Works offline and calls no model.

    Examples: leftoff summarize latest, leftoff search retry webhook

    Without a command: the newest session of this directory. SESSION is a path, - for standard
    input, an id or its beginning, or `latest`. Results go to stdout, messages to stderr. Exit
    0: success. 1: success with a negative answer (nothing found, a check failed). 2: error."""
    if ctx.invoked_subcommand is not None:
        return 0
    from leftoff.cli.list import newest

    return newest()


def main(args: list[str]) -> int:
    """Runs a command line; returns the exit code."""
    from leftoff.errors import LeftoffError

    try:
        # click answers a shell inside of its own `main` only.
        if "_LEFTOFF_COMPLETE" in os.environ:
            leftoff.main(args, prog_name="leftoff")
        # Not click's own `main`: it turns a closed pipe into a failure.
        with leftoff.make_context("leftoff", list(args)) as context:
            result = leftoff.invoke(context)
    # Ctrl-C at a question.
    except click.Abort:
        return 130
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        said = io.StringIO()
        error.show(said)
        print(shown(said.getvalue()), end="", file=sys.stderr)
        return 2
    except LeftoffError as error:
        complain(str(error))
        return 2
    except FileNotFoundError as error:
        if error.filename is not None or _has_directory():
            raise
        complain("the current directory was deleted; change to another one")
        return 2
    # A command that returns nothing has done what it was asked.
    return result if isinstance(result, int) else 0


def _has_directory() -> bool:
    try:
        os.getcwd()  # noqa: PTH109
    except OSError:
        return False
    return True


def complain(message: str) -> None:
    """One line on stderr: what went wrong."""
    tell(f"leftoff: {' '.join(message.split())}")


def tell(line: str) -> None:
    """One line on stderr, safe for a terminal and without secrets; after what stdout holds."""
    with suppress(OSError):  # closed early: later writes report it
        sys.stdout.flush()
    print(shown(line).replace("\n", " "), file=sys.stderr)


def shown(text: str) -> SafeText:
    """Text that stderr may show: what it quotes may be of a recording."""
    from leftoff.redaction.redactor import Redactor

    return Redactor().shown(text)
