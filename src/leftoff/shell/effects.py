"""The interface of the package: what a shell command did to files.

`analyze` is the one entry: it parses a command into plain data (`Script`) for all who ask
(files, activities, checks, git); `per_command` holds what they read in it. `resolve` interprets
the script, given the recorded exit status and output and the files known so far; it returns
which files were read, created, modified or deleted, and updates the known files.
`command_facts` names the programs that were run, `observe` reads listings in the output.
`docs/decisions/008-one-walk-over-a-command.md` draws the way.

No function opens a file or runs anything, and none raises on any input."""

import functools
from typing import Literal

import msgspec

from leftoff import lazy_re as re
from leftoff.shell import interpreter, per_command
from leftoff.shell.ast import Opaque, Script
from leftoff.shell.commands import is_quiet, program_of, programs_of
from leftoff.shell.filesystem import Effects, FileEffect, FileState
from leftoff.shell.listings import Observation, read_listings
from leftoff.shell.parser import parse
from leftoff.shell.paths import join
from leftoff.shell.powershell import QUOTED_TEXT, is_powershell, named_writes, only_looks
from leftoff.shell.programs.dispatch import execute
from leftoff.shell.programs.git import is_indexed
from leftoff.shell.state import Walk

__all__ = [
    "Outcome",
    "analyze",
    "clear_caches",
    "command_facts",
    "observe",
    "program_of",
    "resolve",
]

# Written files whose content is tracked; beyond it the oldest half is dropped. Chosen by hand;
# not measured.
_MAX_CONTENTS = 400

# The shell's own message that it could not parse the command.
_SHELL_SYNTAX_ERROR = re.compile(
    r"(?m)^(?:/\S*/)?(?:ba|da|z|k)?sh: (?:-c: )?(?:line )?\d+: "
    r"(?:[sS]yntax error|unexpected EOF)"
)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded outcome of one call.

    Attributes:
        status: ``ok``, ``failed`` or ``unknown``. Left out, it follows from `exit_code`.
        exit_code: The exit code, where it is recorded.
        output: What the call printed (both streams), None where it is not recorded.
        interrupted: Cut off while it ran, by a person or by a time limit.
        denied: Never run.
        background: Started and not waited for."""

    status: Literal["ok", "failed", "unknown"] = "unknown"
    exit_code: int | None = None
    output: str | None = None
    interrupted: bool = False
    denied: bool = False
    background: bool = False

    def succeeded(self) -> bool | None:
        """True, False, or None where it is not known."""
        if self.exit_code is not None:
            return self.exit_code == 0
        return {"ok": True, "failed": False, "unknown": None}[self.status]


def analyze(command: str, *, cwd: str | None = None, home: str | None = None) -> Script:
    """Parse a command. It never raises; syntax that is not supported becomes `Opaque`.

    Args:
        command: A command line or script for a POSIX shell, or the words of an agent's editor.
        cwd: The absolute directory it ran in. Without it, paths are relative to that directory.
        home: What ``~`` stands for; without it, ``~`` stays as it is."""
    if cwd is not None:
        cwd = join("/", cwd.replace("\\", "/")) if cwd else None
    # Most texts mean the same in every home, so that all who ask share one result.
    found = _parsed(command, home if "~" in command else None)
    return Script(found.body, cwd, home, found.broken, found.quiet, found.programs)


# Parsed commands that are held: few sessions have more, and what judges read in them is held
# for longer (`per_command`).
_HELD = 256


# A quoted text, or a bare path of Windows: one of a drive, or of a program.
_WINDOWS_PATH = re.compile(
    rf"{QUOTED_TEXT}|(?<![^\s=;|&(])([A-Za-z]:\\[\w.\\@~+-]*"
    r"|(?:[\w.-]*\\)+[\w.-]+\.(?:exe|cmd|bat|ps1)\b)"
)
_WINDOWS_SIGN = re.compile(r":\\|\.(?:exe|cmd|bat|ps1)\b")


def _forward(found: re.Match[str]) -> str:
    return found[0].replace("\\", "/") if found[1] else found[0]


@functools.lru_cache(maxsize=_HELD)
def _parsed(command: str, home: str | None) -> Script:
    # Such a path was given to a shell of Windows, where a backslash separates folders. A
    # here document stays as it is.
    windows = "\\" in command and "<<" not in command and _WINDOWS_SIGN.search(command)
    script = _parse_script(_WINDOWS_PATH.sub(_forward, command) if windows else command, home)
    quiet = not script.broken and is_quiet(script.body)
    programs = programs_of(script.body)
    return msgspec.structs.replace(script, quiet=quiet, programs=programs)


def clear_caches() -> None:
    """Empty the caches of parsed commands and of what was read in them."""
    _parsed.cache_clear()
    per_command.clear()


def _parse_script(command: str, home: str | None) -> Script:
    if is_powershell(command):
        seen = "looks" if only_looks(named_writes(command)[1]) else "powershell"
        return Script(Opaque(seen), None, home, True)
    # The text that an agent's editor is given is no command.
    if command.startswith(("edit ", "insert ", "append ")):
        command = command.partition(" ")[0]
    try:
        return parse(command, home=home)
    except (RecursionError, ValueError, MemoryError):
        return Script(Opaque("shell"), None, home, True)


def resolve(
    script: Script, *, outcome: Outcome, known: FileState, seen: list[Observation] | None = None
) -> list[FileEffect]:
    """The effects of a call on files, one for each path, sorted; `known` is updated. Files that
    a program reads while it walks a directory are left out. `seen`: what `observe` gives.

    A denied call has no effects. A call that failed has the effects of the commands before that
    point; where the point is not known, and where the call was interrupted, they are
    ``unknown``. Effects of commands in the background are ``likely`` at most."""
    if outcome.denied:
        return []
    if script.quiet:
        success = outcome.succeeded()
        for name, verb in script.programs:
            if name == "git":
                known.indexed = is_indexed(known.indexed, verb, (), success)
        if success is not False:
            for one in observe(script, outcome=outcome) if seen is None else seen:
                _record_observation(known, one)
        return []
    success = outcome.succeeded()
    walk = Walk(
        state=known,
        effects=Effects(known),
        contents=known.contents,
        cwd=script.cwd if script.cwd is not None else ".",
        home=script.home,
        output=outcome.output,
        execute=execute,
        subshell=interpreter.subshell,
        succeeded=None if outcome.background else success,
    )
    if isinstance(script.body, Opaque):
        if script.body.reason != "looks":
            powershell = script.body.reason == "powershell"
            walk.effects.unknown("powershell" if powershell else "shell")
        return walk.effects.net_effects()
    if outcome.background or success is None or script.broken:
        walk.uncertainty = 1
    if script.broken:
        walk.effects.unknown("shell")
    # A shell that could not parse all of it may have run the lines before.
    shown = (outcome.output or "")[:4000]
    if outcome.interrupted or (success is False and _SHELL_SYNTAX_ERROR.search(shown)):
        walk.uncertainty = 2
    try:
        interpreter.run(walk, script.body, walk.succeeded)
    except RecursionError:  # hundreds of wrappers: `env env env …`
        walk.effects.unknown("shell")
    if success is not False and not outcome.background:
        for one in observe(script, outcome=outcome):
            _record_observation(known, one)
    if len(known.contents) > _MAX_CONTENTS:
        for path in list(known.contents)[: _MAX_CONTENTS // 2]:
            del known.contents[path]
    return walk.effects.net_effects()


def observe(script: Script, *, outcome: Outcome) -> list[Observation]:
    """The facts about files in the output of listings (``ls``, ``git status``), as against
    effects."""
    if outcome.output is None or outcome.denied or outcome.interrupted:
        return []
    return read_listings(script, outcome.output)


def _record_observation(known: FileState, seen: Observation) -> None:
    if known.kind(seen.path) == "unknown":
        record = {"absent": known.remove, "directory": known.put_directory, "file": known.put}
        record[seen.fact](seen.path)


def command_facts(script: Script) -> list[tuple[str, str]]:
    """The programs that a script runs, with their subcommand (``""`` where there is none).

    Wrappers (``sudo``, ``env``, ``timeout``, ``npx``, ``uv run``) are skipped and the program
    that they run is named. ``python -m pytest`` counts as ``("pytest", "")``."""
    return list(script.programs)
