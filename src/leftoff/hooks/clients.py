"""Where each client looks for hooks, and the command that it is given.

Codex reads `hooks.json` in its folder and sends the events, and takes the replies, that Claude
Code does, so `leftoff hook` serves both. What differs, as seen with codex 0.169:

* it runs a hook only after somebody has looked at it and trusted it, in `/hooks`, and skips it
  silently until then. We never write that trust;
* its `PostCompact` does not hold the summary, and what it writes in its place may be encrypted:
  then nobody can tell what a compaction lost;
* `hooks.json` may hold nothing but `hooks` and `description`.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from leftoff.errors import UnknownName
from leftoff.hooks.answer import EVENTS
from leftoff.sources.discover import home_folder

CLIENTS = ("claude", "codex")
SCOPES = ("user", "project", "local")

HINTS = {
    "claude": "",
    "codex": "Codex asks you to trust a new hook: type /hooks in it once.",
}


def settings_of(client: str, scope: str, project: Path, environ: Mapping[str, str]) -> Path:
    """The file in which a client looks for hooks.

    Args:
        client: one of `CLIENTS`.
        scope: "user", "project" (shared with whoever has the repository) or "local" (this
            machine's, for Claude Code only).

    Raises:
        UnknownName: there is no such client, or it has no such scope.
    """
    home = home_folder(environ)
    places = {
        "claude": {
            "user": Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
            / "settings.json",
            "project": project / ".claude" / "settings.json",
            "local": project / ".claude" / "settings.local.json",
        },
        "codex": {
            "user": Path(environ.get("CODEX_HOME") or home / ".codex") / "hooks.json",
            "project": project / ".codex" / "hooks.json",
        },
    }
    if client not in places:
        raise UnknownName("client", client, CLIENTS)
    if scope not in places[client]:
        raise UnknownName(f"scope of {client}", scope, places[client])
    return places[client][scope]


def command_for(scope: str) -> str:
    """The command that runs our hook.

    Settings that are shared must not name a folder of this machine; others name the program
    whole, since a client's PATH need not be the shell's.
    """
    if scope == "project":
        return "leftoff hook"
    beside = shutil.which("leftoff", path=str(Path(sys.executable).parent))
    if beside:
        return f"{shlex.quote(beside)} hook"
    # -P: a folder named leftoff where the client works must not be imported.
    return f"{shlex.quote(sys.executable)} -P -m leftoff hook"


__all__ = ["CLIENTS", "EVENTS", "HINTS", "SCOPES", "command_for", "settings_of"]
