"""What a shell offers for the word that is being typed, by what the help calls that word.

Asked for by a shell only: a command that runs pays nothing for it. Nothing is opened but
folders and our settings; errors there print nothing, since a person is typing."""

import os
from collections.abc import Callable, Iterable, Mapping

import click
from click.shell_completion import CompletionItem

from leftoff import lazy_re as re
from leftoff.errors import LeftoffError

_HARMLESS = re.compile(r"[\w@%+=:,./-]+")


def is_harmless(word: str) -> bool:
    """Whether a word means itself in every shell. bash puts it on the line as it is, and a
    folder may come with a file that is called `$(…)`."""
    return _HARMLESS.fullmatch(word) is not None


def complete(
    ctx: click.Context, param: click.Parameter, incomplete: str, *, sessions: bool
) -> list[CompletionItem]:
    """What may stand for an argument or the value of an option: `sessions`, or what the word
    for it in the help says."""
    if sessions:
        return _sessions(incomplete)
    word = (param.metavar or param.name or "").strip("[].").upper()
    # `show ID` means another kind of document under each command.
    ids = isinstance(param, click.Argument) and ctx.command_path in _KINDS
    known = _documents if ids else _KNOWN.get(param.opts[-1]) or _KNOWN.get(word)
    try:
        found = [one for one in known(ctx) if one.startswith(incomplete)] if known else []
    except (LeftoffError, OSError):
        found = []
    items = [CompletionItem(one) for one in found if is_harmless(one)]
    paths = word in _PATHS or (ids and ctx.command_path == "leftoff resume")
    # A shell completes names of files itself, and better: it is asked where we know nothing.
    if items or not paths:
        return items
    return [CompletionItem(incomplete, type=_PATHS.get(word, "file"))]


def _sessions(incomplete: str) -> list[CompletionItem]:
    """Ids of sessions, by file names alone, and files; where a shell cannot offer both, files
    if no id begins so."""
    from leftoff.sources.discover import session_files

    found = [
        CompletionItem(recorded.id, help=recorded.place.client)
        for recorded in session_files(os.environ)
        if recorded.id.startswith(incomplete) and is_harmless(recorded.id)
    ]
    if "latest".startswith(incomplete):
        found.append(CompletionItem("latest", help="newest of this directory"))
    # The file first: bash forgets what came before it.
    return [CompletionItem(incomplete, type="file"), *found]


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


# What is known, by the name of an option or by the word for its value.
_KNOWN: Mapping[str, Callable[[click.Context], Iterable[str]]] = {
    "REVIEW": _documents,
    "--format": _formats,
    "--extractor": _plugins("extractor"),
    "--redactor": _plugins("redactor"),
    "--role": _roles,
}
# Words for files, and for folders.
_PATHS = dict.fromkeys("FILE FILE|- F OUT PATH SUMMARY LABELS RUN".split(), "file")
_PATHS["DIR"] = "dir"
