"""Installs and removes our hooks in a client's settings, and reports where they are installed.

Claude Code and Codex keep hooks in the same shape, one in `settings.json` beside everything
else, the other in a `hooks.json` of its own:

    {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "leftoff hook"}]}]}}

Other hooks and all other settings stay as they are. A backup from before the first change
is written beside it, so that removing our hooks restores the same bytes; if another program has
changed the file since, only our entries are removed.

Codex reads `hooks.json` in its folder. It sends the same events and accepts the same replies as
Claude Code, so `leftoff hook` serves both. Differences, observed with codex 0.169:

* It runs a hook only after the user has trusted it in `/hooks`, and skips it silently until
  then. We never write that trust.
* Its `PostCompact` event does not hold the summary, and the transcript may hold it encrypted:
  then what a compaction lost is unknown.
* It gives a hook of `SessionEnd` 3 seconds at most and warns about a longer limit.
* `hooks.json` may hold only the keys `hooks` and `description`."""

import difflib
import os
import shlex
import shutil
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from leftoff import codec
from leftoff import lazy_re as re
from leftoff.errors import SourceError, StateError, UnknownName
from leftoff.formats.lenient_json import dict_of, dicts_of, text_of
from leftoff.sources.discover import home_folder
from leftoff.stores.atomic import source_errors, write_atomic

# Suffix of the backup of the settings from before the first change.
BEFORE = ".before-leftoff"

_OURS = re.compile(
    r"""(?:^|[/\\\s"'])leftoff(?:\.exe)?["']?\s+hook\s*$|-m\s+leftoff\s+hook\s*$"""
)


# Seconds after which a client stops our hook; it ends by itself after 2.
TIMEOUTS = {"claude": 10, "codex": 3}

HINTS = {"claude": "", "codex": "Codex asks you to trust a new hook: type /hooks in it once."}


def settings_files(project: Path, environ: Mapping[str, str]) -> dict[str, dict[str, Path]]:
    """The settings files in which each client looks for hooks, by scope: the user's, that of
    the project (committed with the repository), and the local one (this project on this
    machine, Claude Code only)."""
    home = home_folder(environ)
    claude, codex = project / ".claude", project / ".codex"
    own = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    return {
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


def settings_of(client: str, scope: str, project: Path, environ: Mapping[str, str]) -> Path:
    """One of the settings files; `UnknownName` where the client is unknown or has no such
    scope."""
    known = settings_files(project, environ)
    if client not in known:
        raise UnknownName("client", client, known)
    if scope not in known[client]:
        raise UnknownName(f"scope of {client}", scope, known[client])
    return known[client][scope]


def command_for(scope: str) -> str:
    """The shell command that runs our hook. `SourceError` where it cannot be told whether the
    program is there.

    Shared settings must not contain a path of this machine. Others give the full path of the
    program, since the client's PATH may differ from the shell's."""
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


def missing_program(entries: Iterable[tuple[str, str]]) -> str:
    """The program of one of these entries (see `installed`) that this shell does not find; else
    "". A command that is not as `command_for` writes it is not looked at."""
    for _, command in entries:
        with suppress(ValueError):  # an open quote: edited by hand
            program, *words = shlex.split(command)
            ours = words in (["hook"], ["-P", "-m", "leftoff", "hook"])
            if ours and shutil.which(program) is None:
                return program
    return ""


class Change(Struct, frozen=True):
    """A planned change of a settings file, its links resolved: the old and the new bytes, None
    where there is no file, bytes to write as the backup, None to write none, and whether the
    backup is no longer needed."""

    path: Path
    old: bytes | None
    new: bytes | None
    backup: bytes | None = None
    delete_backup: bool = False

    @property
    def empty(self) -> bool:
        """Whether nothing changes."""
        return self.old == self.new

    def diff(self) -> str:
        """The change as a unified diff."""
        lines = difflib.unified_diff(
            _lines(self.old),
            _lines(self.new),
            str(self.path) if self.old is not None else "/dev/null",
            str(self.path) if self.new is not None else "/dev/null",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)

    def make(self) -> None:
        """Writes the change; `StateError` where the file was changed since it was planned, and
        `SourceError` where it cannot be written."""
        if _read(self.path) != self.old:
            raise StateError(f"{self.path}: changed meanwhile; look at it again")
        backup = self.path.with_name(self.path.name + BEFORE)
        with source_errors(self.path, OSError):
            if self.backup is not None:
                write_atomic(backup, self.backup)
            if self.new is None:
                self.path.unlink(missing_ok=True)
            elif self.new != self.old:
                mode = 0o600
                with suppress(OSError):
                    mode = stat.S_IMODE(self.path.stat().st_mode)
                write_atomic(self.path, self.new, mode=mode)
            if self.delete_backup:
                backup.unlink(missing_ok=True)


def install(
    path: Path, command: str, events: Sequence[str], *, timeout: int = TIMEOUTS["claude"]
) -> Change:
    """The change that registers our hook for these events, with the client's time limit in
    seconds, and removes its earlier entries.

    Raises:
        SourceError: the settings cannot be read.
        StateError: they are not a JSON object, or their hooks have another shape."""
    path = _resolved(path)
    old = _read(path)
    settings = _parse(old, path)
    # Raises before anything is added if the present hooks have another shape.
    hooks = _without_ours(settings.get("hooks"), path)
    entry = {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}
    hooks = {**hooks, **{e: [*hooks.get(e, []), entry] for e in events}}
    new = _serialize({**settings, "hooks": hooks}, old)
    backup = codec.dumps({"existed": old is not None, "text": (old or b"").decode("utf-8")})
    return Change(path, old, new, backup=None if _ours(settings) else backup)


def uninstall(path: Path) -> Change:
    """The change that removes our hooks, see `install`. It restores the bytes from before the
    first change if nothing else in the file has changed since."""
    path = _resolved(path)
    old = _read(path)
    settings = _parse(old, path)
    if not _ours(settings):
        return Change(path, old, old, delete_backup=True)  # left by a killed run
    remaining = {**settings, "hooks": _without_ours(settings["hooks"], path)}
    backup: dict[str, object] = {}
    with suppress(ValueError):
        data = _read(path.with_name(path.name + BEFORE))
        backup = dict_of(codec.parse_strict(data or b""))
    before = (
        text_of(backup.get("text")).encode("utf-8", "replace")
        if backup.get("existed")
        else None
    )
    original = _parse(before, path)
    known = "existed" in backup and isinstance(backup.get("text"), str)
    if known and remaining == {**original, "hooks": original.get("hooks", {})}:
        return Change(path, old, before, delete_backup=True)
    if not remaining["hooks"] and "hooks" not in original:
        del remaining["hooks"]
    return Change(path, old, _serialize(remaining, old), delete_backup=True)


def installed(path: Path) -> list[tuple[str, str]]:
    """The entries of our hook, see `install`, each as its event and its command; [] if there
    are no settings."""
    return _ours(_parse(_read(_resolved(path)), path))


# -- reading ---------------------------------------------------------------------------------


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))  # settings are often links into a dotfiles folder


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror})") from error


def _parse(data: bytes | None, path: Path) -> dict[str, object]:
    if data is None or not data.strip():
        return {}
    try:
        settings = codec.parse_strict(data)
    except ValueError as error:
        raise StateError(f"{path}: no JSON ({error}); nothing was changed") from error
    if not isinstance(settings, dict):
        raise StateError(f"{path}: no JSON object; nothing was changed")
    return settings


def _is_ours(hook: object) -> bool:
    return isinstance(hook, dict) and _OURS.search(str(hook.get("command", ""))) is not None


def _without_ours(hooks: Any, path: Path) -> dict[str, Any]:
    """The hooks without ours; groups and events that held only ours are removed."""
    if hooks is None:
        return {}
    if not isinstance(hooks, dict):
        raise StateError(f"{path}: its hooks are no object; nothing was changed")
    found: dict[str, object] = {}
    for event, groups in hooks.items():
        if not isinstance(groups, list):
            raise StateError(f"{path}: hooks.{event} is no list; nothing was changed")
        remaining: list[object] = []
        for group in groups:
            listed: Any = dict_of(group).get("hooks")
            if not any(map(_is_ours, dicts_of(listed))):
                remaining.append(group)
            elif others := [hook for hook in listed if not _is_ours(hook)]:
                remaining.append({**group, "hooks": others})
        if remaining or not groups:
            found[event] = remaining
    return found


def _ours(settings: dict[str, Any]) -> list[tuple[str, str]]:
    """The commands of our hooks, each with its event."""
    return [
        (event, str(hook["command"]))
        for event, groups in dict_of(settings.get("hooks")).items()
        for group in dicts_of(groups)
        for hook in dicts_of(group.get("hooks"))
        if _is_ours(hook)
    ]


def _serialize(settings: dict[str, object], like: bytes | None) -> bytes:
    """Settings formatted as the client writes them; a final newline as in `like`."""
    data = codec.dumps(settings, indent=2)
    return data if like is None or like.endswith(b"\n") else data.rstrip(b"\n")


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines(keepends=True)
