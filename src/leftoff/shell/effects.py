"""What a shell command did to files: read by syntax tree, judged by its outcome.

`analyze` parses a command once into plain data (`Script`). `resolve` follows the script with
what the recording tells of the call, its exit status and output, and with what is known of
files so far; it says which files were read, created, modified or deleted, and brings the
knowledge up to date. `command_facts` names the programs that were run. `observe` reads
listings in the output.

No function opens a file or runs anything, and none raises on any input.
"""

from __future__ import annotations

import functools
import re
from typing import Literal

import msgspec

from leftoff.shell.ast import UNKNOWN, Opaque, Script, Sequence, Statement
from leftoff.shell.commands import is_quiet, knowledge
from leftoff.shell.filesystem import FileEffect, FileState, join
from leftoff.shell.interpreter import Machine, programs
from leftoff.shell.listings import Observation, observed
from leftoff.shell.parser import parse
from leftoff.shell.programs.dispatch import execute

__all__ = [
    "FileEffect",
    "FileState",
    "Observation",
    "Outcome",
    "Script",
    "analyze",
    "command_facts",
    "forget",
    "observe",
    "resolve",
]

_MOST_TEXTS = 400
"""How many written files are remembered by their contents; the oldest are forgotten first."""

_POWERSHELL = (
    "Get-ChildItem", "Get-Content", "Set-Content", "Remove-Item", "New-Item", "Copy-Item",
    "Move-Item", "Select-String", "Out-File", "Add-Content", "Test-Path", "Get-Location",
    "Set-Location", "Write-Output", "Write-Host", "ForEach-Object", "Where-Object",
    "Select-Object", "Get-Command", "Invoke-WebRequest", "Get-Process", "Start-Process",
    "Rename-Item", "Get-Item", "Invoke-Expression", "Measure-Object", "ConvertTo-Json",
)  # fmt: skip
_POWERSHELL_HINT = re.compile(
    r"-(?:Item|Object|File|Path|Content|String|Process|Json|Error|Literal)|\$(?:env:|PSV|_\.)"
    r"|(?:Get|Set|Write|Invoke|Test|Out|Add|New|Start|Measure|ConvertTo)-[A-Z]"
)
_POWERSHELL_SIGN = re.compile(r"-[A-Z]|\$[eP_]")
"""Stands in every hint, and is found quickly."""
_POWERSHELL_MARKS = ("$env:", "$PSVersionTable", "-ErrorAction", "$_.", "-LiteralPath")

_NOT_READ = re.compile(
    r"(?m)^(?:/\S*/)?(?:ba|da|z|k)?sh: (?:-c: )?(?:line )?\d+: "
    r"(?:[sS]yntax error|unexpected EOF)"
)
"""The shell's word that it did not understand the command either."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What the recording tells of one call.

    Attributes:
        status: ``ok``, ``failed`` or ``unknown``. Left out, it follows from `exit_code`.
        exit_code: The exit code, where it is recorded.
        output: What the call printed (both streams), None where it is not recorded.
        interrupted: Cut off while it ran, by a person or by a time limit.
        denied: Never run.
        background: Started and not waited for.
    """

    status: Literal["ok", "failed", "unknown"] = "unknown"
    exit_code: int | None = None
    output: str | None = None
    interrupted: bool = False
    denied: bool = False
    background: bool = False

    def succeeded(self) -> bool | None:
        """True, False, or None where it cannot be told."""
        if self.exit_code is not None:
            return self.exit_code == 0
        return {"ok": True, "failed": False, "unknown": None}[self.status]


def analyze(command: str, *, cwd: str | None = None, home: str | None = None) -> Script:
    """The command as data. It never raises; what is not understood stays unknown.

    Args:
        command: A command line or script for a POSIX shell, or the words of an agent's editor.
        cwd: The absolute directory it ran in. Without it, paths are relative to that directory.
        home: What ``~`` stands for; without it, ``~`` stays as it is.
    """
    if cwd is not None:
        cwd = join("/", cwd.replace("\\", "/")) if cwd else None
    body, broken, quiet = _parsed(command, home)
    return Script(body, cwd, home, broken, quiet)


@functools.lru_cache(maxsize=2048)
def _parsed(command: str, home: str | None) -> tuple[Statement, bool, bool]:
    script = _read(command, home)
    return script.body, script.broken, not script.broken and is_quiet(script.body)


def forget() -> None:
    """Drop what is cached of commands analysed so far."""
    _parsed.cache_clear()
    _facts.cache_clear()


def _read(command: str, home: str | None) -> Script:
    if _is_powershell(command):
        return Script(Opaque("powershell"), None, home, True)
    if command.startswith(("edit ", "insert ", "append ")):
        head = _editor_command(command)
        if head is not None:
            return parse(head, home=home)
    try:
        return parse(command, home=home)
    except (RecursionError, ValueError, MemoryError):
        return Script(Opaque("shell"), None, home, True)


def _is_powershell(command: str) -> bool:
    head = command[:4000]
    if _POWERSHELL_SIGN.search(head) is None or _POWERSHELL_HINT.search(head) is None:
        return False
    if head.lstrip()[:10].lower().startswith(("powershell", "pwsh")):
        return False
    if any(mark in head for mark in _POWERSHELL_MARKS) and "powershell" not in head.lower():
        return any(name in head for name in _POWERSHELL) or "$env:" in head[:200]
    first = head.split(None, 1)[0] if head.strip() else ""
    return first in _POWERSHELL or any(
        f"| {name}" in head or f"; {name}" in head for name in _POWERSHELL
    )


def _editor_command(command: str) -> str | None:
    """The first line of ``edit 1:9 … end_of_edit``: its body is text, not commands."""
    first, _, body = command.partition("\n")
    word = first.split(" ")[1] if " " in first else ""
    lines = word.partition(":")
    if lines[0].isdecimal() and (not lines[2] or lines[2].isdecimal()):
        return f"{first.split(' ')[0]} {word}"
    if "end_of_edit" in body or command.startswith(("insert ", "append ")):
        return first.split(" ")[0]
    if first.startswith(('edit "', "edit '")):
        return "edit"
    return None


def resolve(
    script: Script, *, outcome: Outcome, known: FileState, wide: bool = True
) -> list[FileEffect]:
    """What the call came to, one effect for each path, sorted; `known` is brought up to date.

    Unless `wide`, files that a program reads on its way through a directory are not
    told.

    A denied call did nothing. A call that failed or was cut off did what came before; where
    that cannot be told, nothing is claimed. What runs in the background is likely at most.
    """
    if outcome.denied:
        return []
    if script.quiet:
        if outcome.output is not None and outcome.succeeded() is not False:
            for seen in observe(script, outcome=outcome):
                _note(known, seen)
        return []
    success = outcome.succeeded()
    machine = Machine(
        known,
        script.cwd if script.cwd is not None else ".",
        script.home,
        outcome.output,
        execute,
        interrupted=outcome.interrupted,
        slow=knowledge().slow,
        firm=knowledge().firm,
    )
    machine.wide = wide
    if isinstance(script.body, Opaque):
        machine.effects.unknown("powershell" if script.body.reason == "powershell" else "shell")
        return machine.effects.settle()
    if outcome.interrupted:
        return _interrupted(script, machine)
    if outcome.background or success is None:
        machine.rank = 1
    if script.broken:
        machine.rank = max(machine.rank, 1)
        machine.effects.unknown("shell")
    if success is False and _NOT_READ.search((outcome.output or "")[:4000]):
        machine.rank = 2
    want = None if outcome.background else success
    try:
        machine.run(script.body, want)
        machine.leave()
    except RecursionError:
        machine.effects.unknown("shell")
    if success is not False and not outcome.background:
        for seen in observe(script, outcome=outcome):
            _note(known, seen)
    if len(known.texts) > _MOST_TEXTS:
        for path in list(known.texts)[: _MOST_TEXTS // 2]:
            del known.texts[path]
    return machine.effects.settle()


def _interrupted(script: Script, machine: Machine) -> list[FileEffect]:
    """What came before the program that was running is likely; the rest did not happen."""
    body = script.body
    items = body.items if isinstance(body, Sequence) else (body,)
    names = [name for name, _ in programs(body)]
    if not any(name in machine.slow for name in names):
        return []
    machine.rank = 1
    for item in items:
        machine.run(item)
        if machine.stopped:
            break
    return [effect for effect in machine.effects.settle() if effect.action != "unknown"]


def observe(script: Script, *, outcome: Outcome) -> list[Observation]:
    """What the output of a listing says about files: a fact, not an effect."""
    if outcome.output is None or outcome.denied or outcome.interrupted:
        return []
    return observed(script, outcome.output)


def _note(known: FileState, seen: Observation) -> None:
    if seen.fact == "absent":
        if known.kind(seen.path) == "unknown":
            known.remove(seen.path)
    elif seen.fact == "directory":
        if known.kind(seen.path) == "unknown":
            known.put_directory(seen.path)
    elif known.kind(seen.path) == "unknown":
        known.put(seen.path)


_WRAPPERS = frozenset(
    (
        "sudo",
        "env",
        "time",
        "timeout",
        "nice",
        "nohup",
        "command",
        "exec",
        "stdbuf",
        "npx",
        "bunx",
        "uv",
        "poetry",
        "pipenv",
        "mise",
        "xargs",
        "doas",
        "gtimeout",
        "busybox",
    )
)
_RUNS = {"uv": ("run",), "poetry": ("run",), "pipenv": ("run",), "mise": ("exec", "x")}


def command_facts(script: Script) -> list[tuple[str, str]]:
    """The programs that a script runs, with their subcommand (``""`` where there is none).

    Programs behind ``sudo``, ``env``, ``timeout``, ``npx``, ``uv run`` and their like are named
    themselves. ``python -m pytest`` counts as ``("pytest", "")``.
    """
    return list(_facts(script))


@functools.lru_cache(maxsize=1024)
def _facts(script: Script) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for _, command in programs(script.body):
        words = [word for word in command.words if isinstance(word, str)]
        found.append(_fact(words))
    return tuple(fact for fact in found if fact[0])


def _fact(words: list[str]) -> tuple[str, str]:
    i = 0
    for _ in range(6):
        if i >= len(words):
            return "", ""
        name = words[i].rpartition("/")[2]
        if name not in _WRAPPERS:
            break
        start = i
        i += 1
        needed = _RUNS.get(name)
        if needed is not None:
            if i >= len(words) or words[i] not in needed:
                i = start
                break
            i += 1
        while i < len(words) and (
            words[i][:1] == "-"
            or ("=" in words[i] and words[i].partition("=")[0].isidentifier())
            or (name in ("timeout", "gtimeout") and words[i][:1].isdigit())
        ):
            i += 1
    if i >= len(words):
        return "", ""
    name = words[i].rpartition("/")[2]
    rest = words[i + 1 :]
    if name.startswith("python") and rest[:1] == ["-m"] and len(rest) > 1:
        name, rest = rest[1], rest[2:]
    while rest and rest[0][:1] == "-" and name in ("git", "cargo", "npm", "pnpm", "go"):
        rest = rest[2:] if rest[0] in ("-C", "-c", "--prefix", "--git-dir") else rest[1:]
    sub = next((word for word in rest if word[:1] != "-"), "")
    if name in ("bash", "sh", "zsh") and "-c" in rest[:2]:
        return name, "-c"
    return name, "" if UNKNOWN in sub or len(sub) > 60 or "\n" in sub else sub
