"""The state of one walk over a command: its directory, variables, status and output.

`Walk` is a plain value with the questions that its fields answer. What changes it stands in
modules of functions, which take it as their first argument; `interpreter` says which they are.
"""

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct, field

from leftoff.shell import ast
from leftoff.shell.filesystem import Effects, FileState, Kind
from leftoff.shell.paths import join

Status: TypeAlias = bool | None
UNRESOLVED = ast.PATTERN_MARKS | {ast.UNKNOWN}
# Longest text, in characters, whose value is tracked; chosen by hand, not measured.
MAX_TEXT = 65_536
NOT_FOUND = {"command not found", "not found", "No such file or directory", "Permission denied"}
NOT_FOUND |= set(map(str.lower, NOT_FOUND))  # as zsh says it
# Statements interpreted in one command; chosen by hand, not measured.
_MAX_STEPS = 4_000
# As GNU and BSD programs, git and patch word their errors, in small letters.
_ERROR_WORDS = tuple(
    "no such file|cannot |can't |permission denied|not found|is a directory|"
    "not a directory|file exists|omitting directory|missing |error|fatal|"
    "not permitted|are the same file|invalid|unrecognized|unable|failed|does not exist|"
    "read-only|unknown|directory not empty|not removed|illegal|already exists|did not match|"
    "did not apply|doesn't match|no match|cannot overwrite|usage:|unexpected|"
    "needs |not a git".split("|")
)
# What is said of a file that is there, or that could be made there.
_REFUSALS = ("permission denied", "not permitted", "is a directory", "read-only")
# As whose error a shell's own is recorded that could not open the target of a redirection.
REFUSED = "> refused"
# What PowerShell calls the commands that it names as a Unix shell does.
_CMDLETS = {"Copy-Item": "cp", "Move-Item": "mv", "Remove-Item": "rm", "New-Item": "mkdir"}


class Walk(Struct, kw_only=True):
    """The state of one interpretation of one command.

    Attributes:
        state: What is known of files; updated while the command is interpreted.
        effects: The effects so far.
        contents: Texts of files that this session wrote, by path.
        cwd: The present directory, None where it is not known; at the start ``.`` where the
            recording does not say.
        home: The home directory, where known.
        output: What the call printed, None where the recording does not hold it.
        execute: Applies the effects of one simple command (`programs.dispatch.execute`).
        subshell: Interprets a statement in a child shell (`interpreter.subshell`).
        succeeded: Whether the present shell ended well: the call, or a child shell in it.
        uncertainty: How sure the effects recorded now are: 0 sure, 1 likely, 2 unknown.
        expected_status: The status of the present command where the recording shows it.
        stderr_hidden: Whether the error messages of the present command are redirected away.
        captured: Whether its standard output goes elsewhere than into the output of the call.
        stdin, stdout: The text that a command reads or printed; None where it is not known.
        stopped: The shell has ended: what comes next does not run.
        perhaps_ended: The shell may have ended: what comes next may not run.
        tool: The program of the present command, without its directory.
        steps_left, depth: Limits on statements and on nesting."""

    state: FileState
    effects: Effects
    contents: dict[str, str]
    cwd: str | None
    home: str | None
    output: str | None
    execute: "Callable[[Walk, list[str]], Status]"
    subshell: "Callable[[Walk, ast.Statement, Status], Status]"
    succeeded: bool | None = None
    uncertainty: int = 0
    variables: dict[str, str] = field(default_factory=dict)
    functions: dict[str, ast.Statement] = field(default_factory=dict)
    expected_status: Status = None
    stderr_hidden: bool = False
    captured: bool = False
    stdin: str | None = None
    stdout: str | None = ""
    stopped: bool = False
    perhaps_ended: bool = False
    tool: str = ""
    steps_left: int = _MAX_STEPS
    depth: int = 0
    _lines: list[str] | None = None
    _errors: list[tuple[str, str]] | None = None

    def end(self, *, surely: bool) -> None:
        """End the shell, as ``exit`` does, or as ``set -e`` may."""
        if surely and self.uncertainty < 2:
            self.stopped = True
        else:
            self.perhaps_ended = True

    # --- what a field names; a field is a word after expansion

    def path(self, field: str) -> str | None:
        """The normal path that a field names; None where it cannot be known."""
        return None if ast.UNKNOWN in field or not field else join(self.cwd, field)

    def is_unresolved(self, field: str) -> bool:
        """Whether a field names no single known path: it holds unknown text or a pattern, or
        it is relative and the working directory is not known."""
        return not UNRESOLVED.isdisjoint(field) or (self.cwd is None and field[:1] not in "/~")

    def resolved(self, field: str) -> str | None:
        """The path that a field names, None where it names no single known one."""
        return None if self.is_unresolved(field) else self.path(field)

    def kind(self, field: str) -> Kind:
        """The kind of the path that a field names."""
        path = self.resolved(field)
        return "unknown" if path is None else self.state.kind(path)

    def known_content(self, field: str) -> str | None:
        """The contents of a file that this session wrote itself."""
        path = self.path(field)
        return None if path is None else self.contents.get(path)

    # --- evidence from the output

    def lines(self) -> list[str]:
        """The lines that the call printed."""
        if self._lines is None:
            # The limit was chosen by hand; not measured.
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
                if head in _CMDLETS:  # which of several files it did is not printed
                    self._errors.append((_CMDLETS[head], "command not found"))
                if not any(word in lowered for word in _ERROR_WORDS):
                    continue
                program = head.rpartition("/")[2]
                shell, *places = program.split(":")
                named = ""
                # zsh names a program, or what it could not open, last: `zsh:cd:1: not a
                # directory: a.txt`.
                if shell in ("zsh", "(eval)"):
                    message, _, named = rest.rpartition(": ")
                    builtin = "".join(place for place in places if not place.isdecimal())
                    if builtin or message == "no matches found":  # of a pattern: nothing runs
                        program, rest, named = builtin or "zsh", f"{named}: {message}", ""
                elif program in ("bash", "sh", "dash", "-bash"):
                    if rest.startswith("line "):
                        rest = rest.partition(": ")[2]
                    named, _, message = rest.partition(": ")
                # Git begins its messages with the word alone.
                elif program in ("fatal", "error"):
                    program = "git"
                if named:
                    # A redirection that failed: the shell names its target alone.
                    if named not in ("cd", "pushd", "source"):
                        refused = any(word in lowered for word in _REFUSALS)
                        tool = REFUSED if refused else ">"
                        self._errors.append((tool, f"{named}: {message}"))
                    program, rest = named.rpartition("/")[2], message
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
            if tool in (">", REFUSED, "zsh"):
                if "sh:" not in output and "(eval):" not in output:
                    return False
            elif tool != "git":
                if tool not in output and "-Item: " not in output:
                    return False
            elif "fatal:" not in output and "error:" not in output and "git" not in output:
                return False
        for program, rest in self.errors():
            if program != tool:
                continue
            if operand is None or _mentions(rest, operand):
                return True
        return False

    def blame(self, operands: list[str]) -> None:
        """A program that failed and names some of its operands in errors did the others: of
        each by itself it is not known any more that it failed."""
        # One that is named twice was there at first: `rm a a`.
        apart = self.expected_status is False and 1 < len(operands) == len(set(operands))
        if apart and any(self.reports_error(self.tool, field) for field in operands):
            self.expected_status = None

    def presumed_success(self) -> bool:
        """Whether to assume that the present command succeeded: the recording shows it, or
        shows no status while an error message would have been visible."""
        return self.expected_status is True or (
            not self.stderr_hidden and self.expected_status is None
        )


def both_succeed(left: Status, right: Status) -> Status:
    """The combined status of two steps that must both succeed."""
    if left is False or right is False:
        return False
    return True if left is True and right is True else None


def _mentions(text: str, operand: str) -> bool:
    start = text.find(operand)
    while start >= 0:
        before = text[start - 1] if start else " "
        after = text[start + len(operand) : start + len(operand) + 1] or " "
        # `a.txt` is mentioned in `rm: a.txt: error` and at the end of a sentence, not in
        # `b/a.txt`.
        if not (before.isalnum() or before in "._-/") and not (
            after.isalnum() or after in "_-/" or (after == "." and text[-1:] != ".")
        ):
            return True
        start = text.find(operand, start + 1)
    return False
