"""Our hooks in a client's settings: put in, taken out, looked for. Bytes in, bytes out.

Claude Code and Codex keep hooks in the same shape, one in `settings.json` beside everything
else, the other in a `hooks.json` of its own:

    {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "leftoff hook"}]}]}}

Other hooks and all other settings stay as they are. What was there before the first change is
kept beside the file, so that taking our hooks out gives the same bytes again; where somebody
else has changed the file since, only our entries go.
"""

from __future__ import annotations

import difflib
import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from leftoff import codec
from leftoff.errors import SourceError, StateError
from leftoff.stores.atomic import NotSynced, write_whole

TIMEOUT = 10
"""Seconds that a client may wait for our hook; the hook itself gives up long before."""

BEFORE = ".before-leftoff"
"""Ending of the file that keeps what was there before."""

_OURS = re.compile(
    r"""(?:^|[/\\\s"'])leftoff(?:\.exe)?["']?\s+hook\s*$|-m\s+leftoff\s+hook\s*$"""
)


class Change(Struct, frozen=True):
    """What would become of a settings file.

    Attributes:
        path: the file, links followed.
        old, new: its bytes; None where there is no file.
        keep: bytes to keep as those before the first change; None to keep none.
        forget: what was kept is not needed any more.
    """

    path: Path
    old: bytes | None
    new: bytes | None
    keep: bytes | None = None
    forget: bool = False

    @property
    def empty(self) -> bool:
        """Whether nothing changes."""
        return self.old == self.new

    def diff(self) -> str:
        """The change as people read it."""
        lines = difflib.unified_diff(
            _lines(self.old),
            _lines(self.new),
            str(self.path) if self.old is not None else "/dev/null",
            str(self.path) if self.new is not None else "/dev/null",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)

    def make(self) -> None:
        """Makes the change.

        Raises:
            StateError: the file was changed meanwhile; nothing is done.
            SourceError: it cannot be written.
        """
        if _read(self.path) != self.old:
            raise StateError(f"{self.path}: changed meanwhile; look at it again")
        before = self.path.with_name(self.path.name + BEFORE)
        try:
            if self.keep is not None:
                write_whole(before, self.keep)
            if self.new is None:
                self.path.unlink(missing_ok=True)
            elif self.new != self.old:
                mode = 0o600
                with suppress(OSError):
                    mode = stat.S_IMODE(self.path.stat().st_mode)
                write_whole(self.path, self.new, mode=mode)
            if self.forget:
                before.unlink(missing_ok=True)
        except NotSynced as error:
            why = f"written, but not certain to stay ({error.strerror})"
            raise SourceError(f"{self.path}: {why}") from error
        except OSError as error:
            raise SourceError(f"{self.path}: cannot be written ({error.strerror})") from error


def install(path: Path, command: str, events: Sequence[str]) -> Change:
    """The change that asks for our hook at these events; ours of before are replaced.

    Raises:
        SourceError: the settings cannot be read.
        StateError: they are no JSON object, or their hooks have another shape.
    """
    path = _real(path)
    old = _read(path)
    tree = _tree(old, path)
    hooks = tree.get("hooks")
    # What is wrong with hooks that are there is said before anything is added.
    _without(hooks, path)
    hooks = {} if hooks is None else _without(hooks, path)
    entry = {"hooks": [{"type": "command", "command": command, "timeout": TIMEOUT}]}
    hooks = {**hooks, **{e: [*hooks.get(e, []), entry] for e in events}}
    new = _written({**tree, "hooks": hooks}, old)
    first = not any(_counts(tree).values())
    record = codec.dumps({"existed": old is not None, "text": (old or b"").decode("utf-8")})
    return Change(path, old, new, keep=record if first else None)


def uninstall(path: Path) -> Change:
    """The change that takes our hooks out: the bytes of before the first change, if only we
    changed the file since.

    Raises:
        SourceError: the settings cannot be read.
        StateError: they are no JSON object, or their hooks have another shape.
    """
    path = _real(path)
    old = _read(path)
    tree = _tree(old, path)
    if not any(_counts(tree).values()):
        return Change(path, old, old, forget=True)  # a run that was killed may not have
    rest = {**tree, "hooks": _without(tree["hooks"], path)}
    kept = _kept(path)
    if kept is not None:
        existed, text = kept
        was = _tree(text if existed else None, path)
        if rest == {**was, "hooks": was.get("hooks", {})}:
            return Change(path, old, text if existed else None, forget=True)
        if not rest["hooks"] and "hooks" not in was:
            del rest["hooks"]
    elif not rest["hooks"]:
        del rest["hooks"]
    return Change(path, old, _written(rest, old), forget=True)


def installed(path: Path) -> dict[str, int]:
    """How often our hook is asked for, by event; {} if there are no settings.

    Raises:
        SourceError, StateError: as for `install`.
    """
    path = _real(path)
    found = _counts(_tree(_read(path), path))
    return {event: count for event, count in found.items() if count}


# -- reading ---------------------------------------------------------------------------------


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # settings are often links into a folder of dotfiles


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror})") from error


def _tree(data: bytes | None, path: Path) -> dict[str, Any]:
    if data is None or not data.strip():
        return {}
    try:
        tree = codec.exact(data)
    except ValueError as error:
        raise StateError(f"{path}: no JSON ({error}); nothing was changed") from error
    if not isinstance(tree, dict):
        raise StateError(f"{path}: no JSON object; nothing was changed")
    return tree


def _kept(path: Path) -> tuple[bool, bytes] | None:
    data = _read(path.with_name(path.name + BEFORE))
    if data is None:
        return None
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        value = codec.exact(data)
        return bool(value["existed"]), value["text"].encode("utf-8")
    return None


def _is_ours(hook: Any) -> bool:
    return isinstance(hook, dict) and _OURS.search(str(hook.get("command", ""))) is not None


def _without(hooks: Any, path: Path) -> dict[str, Any]:
    """The hooks without ours; a group and an event that only held ours go."""
    if hooks is None:
        return {}
    if not isinstance(hooks, dict):
        raise StateError(f"{path}: its hooks are no object; nothing was changed")
    found: dict[str, Any] = {}
    for event, groups in hooks.items():
        if not isinstance(groups, list):
            raise StateError(f"{path}: hooks.{event} is no list; nothing was changed")
        rest: list[Any] = []
        for group in groups:
            listed = group.get("hooks") if isinstance(group, dict) else None
            if not isinstance(listed, list) or not any(map(_is_ours, listed)):
                rest.append(group)
                continue
            others = [hook for hook in listed if not _is_ours(hook)]
            if others:
                rest.append({**group, "hooks": others})
        if rest or not groups:
            found[event] = rest
    return found


def _counts(tree: dict[str, Any]) -> dict[str, int]:
    hooks = tree.get("hooks")
    found: dict[str, int] = {}
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            listed = group.get("hooks") if isinstance(group, dict) else None
            ours = sum(map(_is_ours, listed)) if isinstance(listed, list) else 0
            found[event] = found.get(event, 0) + ours
    return found


def _written(tree: dict[str, Any], like: bytes | None) -> bytes:
    """Settings as their client writes them; the final newline is that of before."""
    data = codec.dumps(tree, indent=2)
    return data if like is None or like.endswith(b"\n") else data.rstrip(b"\n")


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines(keepends=True)
