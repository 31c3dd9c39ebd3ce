"""What a shell offers for the word that is being typed, by what the help calls that word.

Asked for by a shell only: a command that runs pays nothing for it. Nothing is opened but
folders and our settings; errors there print nothing, since a person is typing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from leftoff import lazy_re as re
from leftoff.codec import JsonObject


class Offer(click.types.StringParamType):
    """A word out of several; the name of a file where none begins so, if that is taken too."""

    def __init__(
        self, known: Callable[[click.Context], Iterable[str]], *, files: bool = False
    ) -> None:
        self._known, self._files = known, files

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from leftoff.errors import LeftoffError

        try:
            known = filter(is_harmless, self._known(ctx))
            found = [word for word in known if word.startswith(incomplete)]
        except (LeftoffError, OSError):
            found = []
        if not found and self._files:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(word) for word in found]


_HARMLESS = re.compile(r"[\w@%+=:,./-]+")


def is_harmless(word: str) -> bool:
    """Whether a word means itself in every shell. bash puts it on the line as it is, and a
    folder may come with a file that is called `$(…)`."""
    return _HARMLESS.fullmatch(word) is not None


def _formats(ctx: click.Context) -> Iterable[str]:
    from leftoff.formats.reader import formats

    return sorted(formats.names())


def _plugins(kind: str) -> Callable[[click.Context], Iterable[str]]:
    def known(ctx: click.Context) -> Iterable[str]:
        from leftoff.cli.plugins import registries

        return sorted(registries()[kind].owners())

    return known


def _roles(ctx: click.Context) -> Iterable[str]:
    from leftoff.handover.checkpoint.roles import ROLES

    return sorted(ROLES)


# Which documents a command takes the ids of.
_KINDS = {
    "leftoff ask": "review",
    "leftoff checkpoint inject": "checkpoint",
    "leftoff checkpoint show": "checkpoint",
    "leftoff log pin": "resume_log",
    "leftoff log show": "resume_log",
    "leftoff resume": "resume_state",
}


def _documents(ctx: click.Context) -> Iterable[str]:
    from leftoff.settings import load_here
    from leftoff.stores.files import store_for
    from leftoff.stores.naming import parse_file_name

    kind = _KINDS[ctx.command_path]
    folder = store_for(load_here().settings).folder(kind)
    found = (parse_file_name(kind, path.name) for path in folder.iterdir())
    return sorted({one[0] for one in found if one is not None})


_FILES = click.Path()
# What is taken, by the name of an option or by the word for its value.
_TAKES: dict[str, click.ParamType[object]] = {
    **dict.fromkeys(("FILE", "FILE|-", "F", "OUT", "PATH", "SUMMARY", "LABELS", "RUN"), _FILES),
    "DIR": click.Path(file_okay=False),
    "REVIEW": Offer(_documents),
    "--format": Offer(_formats),
    "--extractor": Offer(_plugins("extractor")),
    "--redactor": Offer(_plugins("redactor")),
    "--role": Offer(_roles),
}


def offering(command: click.Command, path: str) -> None:
    """Sets the completion types of a command and of those below it.

    Args:
        path: the command as it is typed, "leftoff log show".
    """
    for param in command.params:
        if isinstance(param.type, click.types.StringParamType):
            param.type = _taken(param, path) or param.type
    below: JsonObject = getattr(command, "commands", {})
    for name, inner in below.items():
        offering(inner, f"{path} {name}")


def _taken(param: click.Parameter, path: str) -> click.ParamType[object] | None:
    word = (param.metavar or param.name or "").strip("[].").upper()
    if isinstance(param, click.Argument) and path in _KINDS:
        return Offer(_documents, files=path == "leftoff resume")
    return _TAKES.get(param.opts[-1]) or _TAKES.get(word)
