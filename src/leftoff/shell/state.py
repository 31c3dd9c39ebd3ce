"""Interpreter state: working directory, variables, and the status and output of the call."""

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

__all__ = ["MAX_TEXT", "NOT_FOUND", "UNRESOLVED", "InterpreterState", "Status"]

Status = bool | None
UNRESOLVED = PATTERN_MARKS | {UNKNOWN}
MAX_TEXT = 65_536
"""Longest text, in characters, whose value is tracked; chosen by hand, not measured."""
NOT_FOUND = ("command not found", "not found", "No such file or directory", "Permission denied")
_MAX_STEPS = 4_000
"""Statements interpreted in one command; chosen by hand, not measured."""
_ERROR_WORDS = (
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


class InterpreterState(ABC):
    """The state of one interpretation of one command; the first of five classes (see
    `leftoff.shell.interpreter`).

    Args:
        state: What is known of files; updated while the command is interpreted.
        cwd: The directory it starts in; ``.`` where the recording does not say.
        home: The home directory, where known.
        output: What the call printed, None where the recording does not hold it.
        execute: Applies the effects of one simple command (`programs.dispatch.execute`).
        interrupted: Whether the call was cut off while it ran.
        slow: Programs that may run long, so that an interruption falls on them.
        reliable: Programs that hardly ever fail.

    Attributes:
        contents: Texts of files that this session wrote, by path.
        wide: Whether to record files that a program reads while it walks a directory.
        uncertainty: How sure the effects recorded now are: 0 sure, 1 likely, 2 unknown.
        expected_status: The status of the present command where the recording shows it.
        stderr_hidden: Whether the error messages of the present command are redirected away.
        captured: Whether its standard output goes elsewhere than into the output of the call.
        stdin, stdout: The text that a command reads or printed; None where it is not known.
        stopped: Whether execution skips statements until the target of `jump` is reached.
        jump: ``break``, ``continue``, ``return`` or ``exit``; empty where nothing jumps.
        jump_depth: How many loops ``break`` or ``continue`` still has to leave.
        loop_depth: How many loops are running.
        errexit, pipefail: The options of ``set``.
        exit_trap: The command that ``trap … EXIT`` set.
        directory_stack: The directories of ``pushd``.
        tool: The program of the present command, without its directory.
        steps_left, depth: Limits on statements and on nesting.
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
        reliable: frozenset[str] = frozenset(),
    ) -> None:
        self.state = state
        self.effects = Effects(state)
        self.cwd = cwd
        self.home = home
        self.output = output
        self.execute = execute
        self.interrupted = interrupted
        self.slow = slow
        self.reliable = reliable
        self.variables: dict[str, str | list[str]] = {}
        self.functions: dict[str, Statement] = {}
        self.contents = state.contents
        self.wide = True
        self.uncertainty = 0
        self.expected_status: Status = None
        self.stderr_hidden = False
        self.captured = False
        self.stdin: str | None = None
        self.stdout: str | None = ""
        self.stopped = False
        self.jump = ""
        self.jump_depth = 0
        self.loop_depth = 0
        self.errexit = False
        self.pipefail = False
        self.exit_trap: str | None = None
        self.directory_stack: list[str | None] = []
        self.tool = ""
        self.steps_left = _MAX_STEPS
        self.depth = 0
        self._lines: list[str] | None = None
        self._errors: list[tuple[str, str]] | None = None

    def stop(self, jump: str, jump_depth: int = 1) -> None:
        """Skip statements until the jump has reached its target: ``break`` and ``continue``
        leave `jump_depth` loops, ``return`` a function, ``exit`` the shell."""
        self.stopped, self.jump, self.jump_depth = True, jump, jump_depth

    def resume(self) -> None:
        """End a jump: the next statement runs again."""
        self.stopped, self.jump = False, ""

    # --- evidence from the output

    def lines(self) -> list[str]:
        """The lines that the call printed."""
        if self._lines is None:
            self._lines = (self.output or "")[: MAX_TEXT * 4].splitlines()
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
                if not any(word in lowered for word in _ERROR_WORDS):
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

    def reports_error(self, tool: str, operand: str | None = None) -> bool:
        """Whether the output holds an error of this program (about this operand)."""
        output = self.output
        if self.stderr_hidden or not output:
            return False
        if self._errors is None:  # most output names no program: skip splitting into lines
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

    def presumed_success(self) -> bool:
        """Whether to assume that the present command succeeded: the recording shows it, or
        shows no status while an error message would have been visible."""
        return self.expected_status is True or (
            not self.stderr_hidden and self.expected_status is None
        )

    def echo_evidence(self, node: Statement) -> Status:
        """Whether a statement ran, judged by whether the words that it echoes are in the
        output;
        None where it echoes no literal words."""
        if self.output is None or self.captured or self.stderr_hidden:
            return None
        if isinstance(node, Group) and not node.redirects:
            return self.echo_evidence(node.item)
        if isinstance(node, Sequence) and node.items:
            return self.echo_evidence(node.items[0])
        if isinstance(node, Logical) and node.both:
            return self.echo_evidence(node.left)
        if not isinstance(node, Command) or node.redirects or len(node.words) < 2:
            return None
        if node.words[0] != "echo":
            return None
        words = [word for word in node.words[1:] if isinstance(word, str)]
        if len(words) != len(node.words) - 1 or words[0][:1] == "-":
            return None
        text = " ".join(words)
        if len(text) < 2 or not UNRESOLVED.isdisjoint(text) or "\n" in text or "\\" in text:
            return None
        return text in self.lines()

    @abstractmethod
    def run(self, node: Statement, expected_status: Status = None) -> Status:
        """Interpret a statement; see `Interpreter.run`."""

    @abstractmethod
    def run_exit_trap(self) -> None:
        """Run the command of ``trap … EXIT``; see `Interpreter.run_exit_trap`."""

    @abstractmethod
    def redirect(self, redirects: tuple[Redirect, ...]) -> bool:
        """Open redirections; see `Redirections.redirect`."""


def _mentions(text: str, operand: str) -> bool:
    """Whether a text contains an operand as a whole name."""
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
