"""What a shell offers for the word that is being typed, by what the help calls that word.

Asked for by a shell only: a command that runs pays nothing for it. Nothing is opened but
folders."""

import os
from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from leftoff import lazy_re as re

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
    known = _formats() if "--format" in param.opts else ()
    items = [CompletionItem(one) for one in known if one.startswith(incomplete)]
    word = (param.metavar or param.name or "").strip("[].").upper()
    # A shell completes names of files itself, and better: it is asked where we know nothing.
    if items or word not in _PATHS:
        return items
    return [CompletionItem(incomplete, type=_PATHS[word])]


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


def _formats() -> Iterable[str]:
    from leftoff.formats.reader import formats

    return sorted(formats.names())


# Words for files, and for folders.
_PATHS = dict.fromkeys("FILE FILE|- F OUT PATH SUMMARY LABELS RUN WORKFLOW".split(), "file")
_PATHS["DIR"] = "dir"
