"""How a recording is named for `leftoff show`, from any directory."""

import os
import shlex
from collections.abc import Mapping

from leftoff.sources.discover import client_roots, leads_to_session
from leftoff.sources.open import STDIN


def place_of(path: str, environ: Mapping[str, str]) -> str:
    """What a shell writes after `leftoff show` for a recording: its full path; "" where the
    start of its id is enough, since it lies where its client keeps it, and for standard input.
    """
    if path.partition("@")[0] == STDIN or leads_to_session(path, client_roots(environ)):
        return ""
    return shlex.quote(os.path.abspath(path))  # noqa: PTH100 - links stay as given


def folder_of(project: str | None) -> str:
    """The absolute path of a project's directory, as a person types it; "" for any."""
    return os.path.abspath(os.path.expanduser(project)) if project else ""  # noqa: PTH100, PTH111
