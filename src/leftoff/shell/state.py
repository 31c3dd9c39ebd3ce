"""What a walk over a command knows: its place, its variables, and how the call came back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from leftoff.shell.ast import (
    PATTERN_MARKS,
    UNKNOWN,
    Command,
    Group,
    Logical,
    Redirect,
    Sequence,
    Statement,
)
from leftoff.shell.filesystem import Effects, FileState

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LONGEST", "NOT_FOUND", "SPECIAL", "Ground", "Status"]

Status = bool | None
SPECIAL = PATTERN_MARKS | {UNKNOWN}
LONGEST = 65_536
"""Characters of text above which a value is not followed."""
NOT_FOUND = ("command not found", "not found", "No such file or directory", "Permission denied")
_STEPS = 4_000
_ERRORS = (
    "no such file",
    "cannot ",
    "can't ",
    "permission denied",
    "not found",
    "is a directory",
    "not a directory",
    "file exists",
    "omitting directory",
    "missing ",
    "error",
    "fatal",
    "are the same file",
    "invalid",
    "unrecognized",
    "unable",
    "failed",
    "does not exist",
    "read-only",
    "unknown",
    "directory not empty",
    "not removed",
    "illegal",
    "already exists",
    "did not match",
    "did not apply",
    "doesn't match",
    "no match",
    "cannot overwrite",
    "usage:",
    "unexpected",
    "needs ",
    "not a git",
)


class Ground(ABC):
    """One walk over one command.

    Args:
        state: What is known of files; changed as the walk goes on.
        cwd: The directory it starts in; ``.`` where the recording does not say.
        home: The home directory, where known.
        output: What the call printed, None where the recording does not hold it.
        execute: Carries out one simple command: the knowledge of programs.
        interrupted: Whether the call was cut off while it ran.
    """

    def __init__(
        self,
        state: FileState,
        cwd: str | None,
        home: str | None,
        output: str | None,
        execute: Callable[[Any, list[str]], Status],
        *,
        interrupted: bool = False,
        slow: frozenset[str] = frozenset(),
        firm: frozenset[str] = frozenset(),
    ) -> None:
        self.state = state
        self.effects = Effects(state)
        self.cwd = cwd
        self.home = home
        self.output = output
        self.execute = execute
        self.interrupted = interrupted
        self.slow = slow
        self.firm = firm
        self.variables: dict[str, str | list[str]] = {}
        self.functions: dict[str, Statement] = {}
        self.contents = state.texts
        self.wide = True
        self.rank = 0
        self.want: Status = None
        self.hidden = False
        self.captured = False
        self.stdin: str | None = None
        self.stdout: str | None = ""
        self.stopped = False
        self.leap = ""
        self.levels = 0
        self.loops = 0
        self.strict = False
        self.pipefail = False
        self.parting: str | None = None
        self.directories: list[str | None] = []
        self.tool = ""
        self.steps = _STEPS
        self.depth = 0
        self._lines: list[str] | None = None
        self._errors: list[tuple[str, str]] | None = None

    def stop(self, leap: str, levels: int = 1) -> None:
        """Nothing more is followed until what `leap` leaves has been left: ``break`` and
        ``continue`` so many loops, ``return`` a function, ``exit`` the shell."""
        self.stopped, self.leap, self.levels = True, leap, levels

    def resume(self) -> None:
        """Go on after what was left."""
        self.stopped, self.leap = False, ""

    # --- evidence from the output

    def lines(self) -> list[str]:
        """The lines that the call printed."""
        if self._lines is None:
            self._lines = (self.output or "")[: LONGEST * 4].splitlines()
        return self._lines

    def errors(self) -> list[tuple[str, str]]:
        """Lines that look like ``program: … error``, as (program, rest)."""
        if self._errors is None:
            self._errors = []
            for line in self.lines():
                head, found, rest = line.partition(": ")
                if not found:
                    continue
                lowered = rest.lower()
                if not any(word in lowered for word in _ERRORS):
                    continue
                program = head.rpartition("/")[2]
                if program in ("fatal", "error"):
                    program = "git"
                if program in ("bash", "sh", "zsh", "dash", "-bash"):
                    if rest.startswith("line "):
                        rest = rest.partition(": ")[2]
                    program, _, rest = rest.partition(": ")
                    if program not in ("cd", "pushd", "source"):
                        self._errors.append((">", f"{program}: {rest}"))
                    program = program.rpartition("/")[2]
                elif " " in program:
                    program = program.partition(" ")[0]
                self._errors.append((program, rest))
        return self._errors

    def complains(self, tool: str, operand: str | None = None) -> bool:
        """Whether the output holds an error of this program (about this operand)."""
        output = self.output
        if self.hidden or not output:
            return False
        if self._errors is None:  # most output names no program: then no line is looked at
            if tool == ">":
                if "sh: " not in output:
                    return False
            elif tool != "git":
                if tool not in output:
                    return False
            elif "fatal:" not in output and "error:" not in output and "git" not in output:
                return False
        for program, rest in self.errors():
            if program != tool:
                continue
            if operand is None or _mentions(rest, operand):
                return True
        return False

    def sure(self) -> bool:
        """Whether the present command is known to have succeeded."""
        return self.want is True or (not self.hidden and self.want is None)

    def echoed(self, node: Statement) -> Status:
        """Whether a statement ran, by the words that it echoes. None: it does not say."""
        if self.output is None or self.captured or self.hidden:
            return None
        if isinstance(node, Group) and not node.redirects:
            return self.echoed(node.item)
        if isinstance(node, Sequence) and node.items:
            return self.echoed(node.items[0])
        if isinstance(node, Logical) and node.both:
            return self.echoed(node.left)
        if not isinstance(node, Command) or node.redirects or len(node.words) < 2:
            return None
        if node.words[0] != "echo":
            return None
        words = [word for word in node.words[1:] if isinstance(word, str)]
        if len(words) != len(node.words) - 1 or words[0][:1] == "-":
            return None
        text = " ".join(words)
        if len(text) < 2 or not SPECIAL.isdisjoint(text) or "\n" in text or "\\" in text:
            return None
        return text in self.lines()

    @abstractmethod
    def run(self, node: Statement, want: Status = None) -> Status:
        """Follow a statement; see `Machine.run`."""

    @abstractmethod
    def leave(self) -> None:
        """The shell ends; see `Machine.leave`."""

    @abstractmethod
    def redirect(self, redirects: tuple[Redirect, ...]) -> bool:
        """Open redirections; see `Machine.redirect`."""


def _mentions(text: str, operand: str) -> bool:
    start = text.find(operand)
    while start >= 0:
        before = text[start - 1] if start else " "
        after = text[start + len(operand) : start + len(operand) + 1] or " "
        if not (before.isalnum() or before in "._-/") and not (
            after.isalnum() or after in "_-/" or (after == "." and text[-1:] != ".")
        ):
            return True
        start = text.find(operand, start + 1)
    return False
