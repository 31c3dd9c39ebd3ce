"""The settings file in which each client looks for hooks, and the command of our hook.

Codex reads `hooks.json` in its folder. It sends the same events and accepts the same replies as
Claude Code, so `leftoff hook` serves both. Differences, observed with codex 0.169:

* It runs a hook only after the user has trusted it in `/hooks`, and skips it silently until
  then. We never write that trust.
* Its `PostCompact` event does not hold the summary, and the transcript may hold it encrypted:
  then what a compaction lost is unknown.
* It gives a hook of `SessionEnd` 3 seconds at most and warns about a longer limit.
* `hooks.json` may hold only the keys `hooks` and `description`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from leftoff.errors import SourceError, UnknownName
from leftoff.hooks.answer import EVENTS
from leftoff.sources.discover import home_folder

CLIENTS = ("claude", "codex")
SCOPES = ("user", "project", "local")
# Seconds after which a client stops our hook; it ends by itself after 2.
TIMEOUTS = {"claude": 10, "codex": 3}

HINTS = {"claude": "", "codex": "Codex asks you to trust a new hook: type /hooks in it once."}


def settings_of(client: str, scope: str, project: Path, environ: Mapping[str, str]) -> Path:
    """The settings file in which a client looks for hooks: the user's, that of the project
    (committed with the repository), or the local one (this project on this machine, Claude Code
    only). `UnknownName` where the client is unknown or has no such scope."""
    home = home_folder(environ)
    claude, codex = project / ".claude", project / ".codex"
    own = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    paths = {
        "claude": {
            "user": own / "settings.json",
            "project": claude / "settings.json",
            "local": claude / "settings.local.json",
        },
        "codex": {
            "user": Path(environ.get("CODEX_HOME") or home / ".codex") / "hooks.json",
            "project": codex / "hooks.json",
        },
    }
    if client not in paths:
        raise UnknownName("client", client, CLIENTS)
    if scope not in paths[client]:
        raise UnknownName(f"scope of {client}", scope, paths[client])
    return paths[client][scope]


def command_for(scope: str) -> str:
    """The shell command that runs our hook.

    Shared settings must not contain a path of this machine. Others give the full path of the
    program, since the client's PATH may differ from the shell's.

    Raises:
        SourceError: whether the program is there cannot be determined.
    """
    if scope == "project":
        return "leftoff hook"
    program = Path(sys.executable).with_name("leftoff.exe" if os.name == "nt" else "leftoff")
    try:  # not shutil.which: after an error of the disk it says that there is no program
        if program.stat().st_mode & stat.S_IXUSR:
            return f"{shlex.quote(str(program))} hook"
    except FileNotFoundError:
        pass
    except OSError as error:
        why = f"cannot be looked for ({error.strerror}); nothing was changed"
        raise SourceError(f"{program}: {why}") from error
    # -P: a folder named leftoff in the client's directory must not be imported.
    return f"{shlex.quote(sys.executable)} -P -m leftoff hook"


def missing_program(commands: Iterable[str]) -> str:
    """The program of one of these commands that this shell does not find; else "". A command
    that is not as `command_for` writes it is not looked at."""
    for command in commands:
        with suppress(ValueError):  # an open quote: edited by hand
            program, *words = shlex.split(command)
            ours = words in (["hook"], ["-P", "-m", "leftoff", "hook"])
            if ours and shutil.which(program) is None:
                return program
    return ""


__all__ = ["EVENTS"]
