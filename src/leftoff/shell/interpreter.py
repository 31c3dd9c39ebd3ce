"""The interpreter: control structure of a parsed shell command.

What may live in this file: one method for each kind of statement in `ast`, and function calls.
What a program does to files belongs into `programs/` or, as data, into `commands.toml`; what
a single file operation does belongs into `operations`.

How it works
------------
Nothing is executed and no file is opened. The interpreter walks the syntax tree in the order in
which the shell would run it. Each statement updates what is known of files (`FileState`),
records effects (`Effects`) and returns a status: True (succeeded), False (failed) or None (not
known; the walk then goes on as after a success).

One object does it all. It is built from five classes, each in its own file, so that each can
call those before it:

    InterpreterState  state         cwd, variables, jumps; error lines and echoes in the output
    Expansion         expansion     words to fields: variables, substitutions, patterns
    FileOperations    operations    read, write, modify, delete, copy and move one path
    Redirections      redirections  ``<``, ``>``, here-documents
    Interpreter       interpreter   lists, pipes, loops, branches, functions

A simple command is expanded to words and given to `programs.dispatch.execute`, which applies a
rule of `commands.toml` or calls a handler ``handler(shell: Interpreter, args: Invocation) ->
Status``.

The recording holds one status for the whole call. `run` passes it down as `expected_status` to
the statement that determines it: to the last one of a list, to both sides of an ``&&`` that
succeeded. Where an ``&&`` failed, evidence decides which side did: an error message with the
name of a program, words of an ``echo`` that are (not) in the output, and last whether the
program ever fails. Only `_run_in_failed_chain` takes effects back, by a snapshot.

Certainty. `uncertainty` is the certainty of the effects recorded at the moment: 0 sure, 1
likely (background, status not recorded), 2 unknown (a branch, a loop or a handler that may not
have run). It is raised for a part of the command and restored after it.

What is not known stays unknown: text as `UNKNOWN` inside a field, a directory as ``cwd =
None``, a printed text as ``stdout = None``, a program without a rule as an effect ``unknown``
with its name. Assignments in a branch that may not have run make the variable `UNKNOWN`.

What must hold
--------------
- No input raises. The limits on statements (`_MAX_STEPS`), nesting (`_MAX_DEPTH`) and text
  (`MAX_TEXT`) end in an ``unknown`` effect or an unknown text, never in a long computation.
- `call` clears `stdout`; a handler that knows the text that its program prints sets it.
- A method that changes `cwd`, `variables`, `uncertainty`, `captured`, `stdin` or
  `stderr_hidden` for its parts restores it. Only builtins (``cd``, ``read``, ``set``) change
  them for good.
- `stopped` is set by `stop`, by the limits and by an interruption; a jump is ended by the
  construct that it targets.

Before editing: the expected effects in ``tests/unit/test_shell_programs.py`` were measured by
running the commands in bash; if a change contradicts one, the change is wrong.
``tests/properties/test_shell.py`` holds the limits on time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leftoff.shell.ast import (
    MAX_FIELDS,
    UNKNOWN,
    Array,
    Background,
    Case,
    Command,
    Function,
    Group,
    If,
    Logical,
    Loop,
    Negated,
    Opaque,
    Pipeline,
    Sequence,
    Statement,
    Variable,
    While,
    Word,
    named_commands,
)
from leftoff.shell.expansion import value_or_unknown
from leftoff.shell.globs import matches
from leftoff.shell.parser import parse
from leftoff.shell.redirections import Redirections
from leftoff.shell.state import MAX_TEXT, NOT_FOUND, Status

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Interpreter", "Status"]

_MAX_DEPTH = 40
"""Nested statements and calls; chosen by hand, not measured."""


class Interpreter(Redirections):
    """The control structure of a command; the last of the five classes."""

    def run(self, node: Statement, expected_status: Status = None) -> Status:
        """Interpret a statement and return its status.

        `expected_status` is its status where the recording shows it.
        """
        self.steps_left -= 1
        if self.steps_left <= 0 or self.depth > _MAX_DEPTH:
            self.effects.unknown("shell")
            self.stopped = True
            return None
        if self.stopped:
            return None
        self.depth += 1
        try:
            return _RUNNERS[type(node)](self, node, expected_status)
        finally:
            self.depth -= 1

    def run_exit_trap(self) -> None:
        """Run the command that ``trap … EXIT`` set, at the end of the shell."""
        text, self.exit_trap = self.exit_trap, None
        if text is None:
            return
        self.resume()
        printed = self.stdout
        self.run(parse(text, home=self.home).body)
        self.stdout = _joined([printed, self.stdout])

    def _sequence(self, node: Sequence, expected_status: Status) -> Status:
        status: Status = True
        last = len(node.items) - 1
        printed: list[str | None] = []
        for i, item in enumerate(node.items):
            expected = (
                expected_status
                if i == last
                else (True if self.errexit and expected_status else None)
            )
            if self.errexit and expected_status is False and i < last:
                status = self._run_in_failed_chain(item, list(node.items[i + 1 :]))
            else:
                status = self.run(item, expected)
            printed.append(self.stdout)
            if self.stopped:
                break
            if self.errexit and status is False:
                self.stop("exit")
                break
        self.stdout = _joined(printed)
        return status

    def _logical(self, node: Logical, expected_status: Status) -> Status:
        printed: list[str | None] = []
        if node.both:
            if expected_status is True:
                self.run(node.left, True)
                printed.append(self.stdout)
                self.run(node.right, True)
                self.stdout = _joined([*printed, self.stdout])
                return True
            ran = self.echo_evidence(node.right)
            if ran is not None:
                left = self.run(node.left, ran)
                if ran is False:
                    return False
            elif expected_status is False:
                left = self._run_in_failed_chain(node.left, [node.right])
            else:
                left = self.run(node.left)
                if left is None and self._has_error_output(node.left):
                    left = False
            printed.append(self.stdout)
            if left is False or self.stopped:
                return False
            status = self.run(node.right, expected_status)
            self.stdout = _joined([*printed, self.stdout])
            return status if left is True or status is False else None
        ran = self.echo_evidence(node.right)
        if expected_status is False:
            self.run(node.left, False)
            self.run(node.right, False)
            return False
        left = self.run(node.left, None if ran is None else not ran)
        if ran is not None:
            left = not ran
        elif left is None and self._has_error_output(node.left):
            left = False
        if left is True or self.stopped:
            return True
        printed = [self.stdout]
        if left is False:
            status = self.run(node.right, expected_status)
            self.stdout = _joined([*printed, self.stdout])
            return status
        self.run_speculatively(node.right)
        self.stdout = None if self.stdout else printed[0]
        return True if expected_status else None

    def _has_error_output(self, node: Statement) -> bool:
        """Whether the output holds an error message of one of a statement's programs."""
        return any(self.reports_error(name) for name, _ in named_commands(node))

    def _run_in_failed_chain(self, item: Statement, later: list[Statement]) -> Status:
        """Run one statement of a chain (``a && b``, or a list under ``set -e``) of which one is
        known to have failed; `later` are the statements after it.

        Error messages decide which one failed; without any, the first whose programs are not
        all reliable. The effects of a failed statement are rolled back and recorded again as
        those of a failure.
        """
        snapshot, cwd = self.effects.snapshot(), self.cwd
        status = self.run(item)
        if status is not None:
            return status
        own_commands = named_commands(item)
        later_commands = [pair for node in later for pair in named_commands(node)]
        if any(self.reports_error(name) for name, _ in own_commands):
            failed = True
        elif any(self.reports_error(name) for name, _ in later_commands):
            failed = False
        else:
            failed = any(name not in self.reliable for name, _ in own_commands)
        if not failed:
            return None
        self.effects.rollback(snapshot)
        self.cwd = cwd
        self.run(item, False)
        return False

    def run_speculatively(self, node: Statement) -> None:
        """Run a statement that may not have run: its effects have the certainty ``unknown``,
        its
        assignments make variables unknown."""
        uncertainty, cwd, variables = self.uncertainty, self.cwd, dict(self.variables)
        self.uncertainty = 2
        self.run(node)
        self.uncertainty = uncertainty
        self.cwd = cwd
        self.resume()
        for name, value in self.variables.items():
            if variables.get(name) != value:
                self.variables[name] = UNKNOWN

    def _negated(self, node: Negated, expected_status: Status) -> Status:
        status = self.run(node.item, None if expected_status is None else not expected_status)
        return None if status is None else not status

    def _pipeline(self, node: Pipeline, expected_status: Status) -> Status:
        status: Status = True
        stdin, cwd, captured = self.stdin, self.cwd, self.captured
        variables = dict(self.variables)
        last = len(node.items) - 1
        worst: Status = True
        for i, item in enumerate(node.items):
            self.captured = captured or i < last
            expected = (
                expected_status if i == last or (self.pipefail and expected_status) else None
            )
            status = self.run(item, expected)
            if status is not True:
                worst = status if worst is True else worst
            self.stdin = self.stdout
            self.resume()
        self.stdin, self.cwd, self.captured = stdin, cwd, captured
        self.variables = variables
        return worst if self.pipefail else status

    def _group(self, node: Group, expected_status: Status) -> Status:
        cwd, variables = self.cwd, self.variables
        stderr_hidden, stdin, captured = self.stderr_hidden, self.stdin, self.captured
        exit_trap = self.exit_trap
        if node.redirects and not self.redirect(node.redirects):
            self.stderr_hidden, self.stdin, self.captured = stderr_hidden, stdin, captured
            self.stdout = ""
            return False
        if node.subshell:
            self.variables = dict(variables)
            self.exit_trap = None
        if any(item.operator[:1] == ">" or item.operator[:1] == "&" for item in node.redirects):
            self.captured = self.captured or any(
                item.descriptor in (-1, 1) and item.operator != ">&" for item in node.redirects
            )
        status = self.run(node.item, expected_status)
        if node.subshell:
            self.run_exit_trap()
            self.exit_trap = exit_trap
        self.store_stdout(node.redirects)
        self.stderr_hidden, self.stdin, self.captured = stderr_hidden, stdin, captured
        if node.subshell:
            self.cwd, self.variables = cwd, variables
            self.resume()
        return status

    def _background(self, node: Background, expected_status: Status) -> Status:
        uncertainty, cwd, interrupted = self.uncertainty, self.cwd, self.interrupted
        self.uncertainty = max(uncertainty, 1)
        self.interrupted = False
        self.run(node.item)
        self.uncertainty, self.cwd, self.interrupted = uncertainty, cwd, interrupted
        self.stdout = None
        self.resume()
        return True

    def _run_iteration(self, body: Statement, expected_status: Status = None) -> Status:
        """Run the body of a loop once."""
        self.loop_depth += 1
        status = self.run(body, expected_status)
        self.loop_depth -= 1
        return status

    def _loop_continues(self) -> bool:
        """Whether a loop continues after an iteration: not if a jump left it."""
        if not self.stopped:
            return True
        if self.jump not in ("break", "continue"):
            return False
        self.jump_depth -= 1
        if self.jump_depth > 0:
            return False  # the jump targets an enclosing loop
        again = self.jump == "continue"
        self.resume()
        return again

    def _loop(self, node: Loop, expected_status: Status) -> Status:
        values: list[str] | None = None
        if node.values is not None:
            values = [value_or_unknown(value) for value in self.fields(node.values)]
            if UNKNOWN in values:
                values = [value for value in values if value != UNKNOWN] + [UNKNOWN]
        if values is None:
            values = [UNKNOWN]
        status: Status = True
        printed: list[str | None] = []
        for i, value in enumerate(values):
            self.variables[node.name] = value
            expected = expected_status if i == len(values) - 1 else None
            if UNKNOWN in value:
                self.run_speculatively(node.body)
                status = None
            else:
                status = self._run_iteration(node.body, expected)
            printed.append(self.stdout)
            if not self._loop_continues():
                break
        self.stdout = _joined(printed)
        return status

    def _while(self, node: While, expected_status: Status) -> Status:
        condition = node.condition
        if isinstance(condition, Command) and condition.words[:1] == ("read",):
            return self._read_loop(condition, node.body)
        go = not node.until
        for _ in range(MAX_FIELDS):
            status = self.run(condition)
            if status is not go:
                break
            self._run_iteration(node.body)
            if not self._loop_continues():
                status = not go
                break
        else:
            status = None
        if status is (not go) or self.stopped:
            self.stdout = None
            return True
        uncertainty = self.uncertainty
        for item in _assigned(node.body):
            self.variables[item] = UNKNOWN
        self.uncertainty = 2  # how often it runs, if at all, is not known
        self._run_iteration(node.body)
        self.uncertainty = uncertainty
        for item in _assigned(node.body):
            self.variables[item] = UNKNOWN
        self.stdout = None
        if self.jump:
            self.resume()
        return None

    def _read_loop(self, condition: Command, body: Statement) -> Status:
        """``while read``: run the body for each line of the input."""
        status: Status = True
        printed: list[str | None] = []
        outer = self.stdin
        for _ in range(MAX_FIELDS):
            there = self.run(condition)
            if there is None:  # what it reads is not known
                self.run_speculatively(body)
                printed = [None]
                status = None
                break
            if there is False:
                break
            status = self._run_iteration(body)
            printed.append(self.stdout)
            if not self._loop_continues():
                break
        self.stdin = outer
        self.stdout = _joined(printed)
        return status

    def _if(self, node: If, expected_status: Status) -> Status:
        for i, (condition, body) in enumerate(node.branches):
            status = self.run(condition)
            if status is None:
                status = self.echo_evidence(body)
                if status is None and i == len(node.branches) - 1 and node.otherwise:
                    other = self.echo_evidence(node.otherwise)
                    status = None if other is None else not other
            if self.stopped:
                return None
            if status is True:
                return self.run(body, expected_status)
            if status is None:
                self.run_speculatively(body)
                for other_condition, other_body in node.branches[i + 1 :]:
                    self.run_speculatively(other_condition)
                    self.run_speculatively(other_body)
                if node.otherwise is not None:
                    self.run_speculatively(node.otherwise)
                self.stdout = None
                return None
        self.stdout = ""
        return True if node.otherwise is None else self.run(node.otherwise, expected_status)

    def _case(self, node: Case, expected_status: Status) -> Status:
        value = self.text(node.word)
        if UNKNOWN in value:
            for _, body in node.branches:
                self.run_speculatively(body)
            return None
        for patterns, body in node.branches:
            for pattern in patterns:
                if matches(value, self.text(pattern, keep=True)):
                    return self.run(body, expected_status)
        return True

    def _function(self, node: Function, expected_status: Status) -> Status:
        self.functions[node.name] = node.body
        return True

    def _opaque(self, node: Opaque, expected_status: Status) -> Status:
        self.effects.unknown("shell")
        self.stdout = None
        return None

    # --- simple commands

    def _command(self, node: Command, expected_status: Status) -> Status:
        if not node.words:
            for name, value in node.assignments:
                self.assign(name, value)
            self.stdout = ""
            if node.redirects:
                return self.redirect(node.redirects)
            return expected_status
        words: list[str] = (
            list(node.words) if node.plain else self.fields(node.words)  # type: ignore[arg-type]
        )
        if not words:
            self.stdout = ""
            return True
        replaced: dict[str, str | list[str] | None] = {}
        for name, value in node.assignments:
            if words[0] not in ("export", "local", "declare", "typeset", "readonly"):
                replaced.setdefault(name, self.variables.get(name))
            self.assign(name, value)
        stderr_hidden, stdin, captured = self.stderr_hidden, self.stdin, self.captured
        if node.redirects:
            if not self.redirect(node.redirects):
                self.stderr_hidden, self.stdin, self.captured = stderr_hidden, stdin, captured
                self._restore_variables(replaced)
                self.stdout = ""
                return False
            for item in node.redirects:
                if item.descriptor in (-1, 1) and item.operator[-1:] in (">", "|"):
                    self.captured = True
        status = self.call(words, expected_status)
        self._restore_variables(replaced)
        if node.redirects:
            self.store_stdout(node.redirects)
            self.stdin = stdin
        self.stderr_hidden, self.captured = stderr_hidden, captured
        return status

    def _restore_variables(self, values: dict[str, str | list[str] | None]) -> None:
        """Restore earlier values of variables; None removes a variable."""
        for name, value in values.items():
            if value is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = value

    def call(self, words: list[str], expected_status: Status) -> Status:
        """Run one command given as words: a function of the script, or a program."""
        name = words[0]
        body = self.functions.get(name)
        outer_tool, outer_want = self.tool, self.expected_status
        self.expected_status = expected_status
        self.stdout = None
        try:
            if body is not None:
                saved = {key: self.variables.get(key) for key in ("@", "#", "1", "2", "3")}
                self.set_positional(words[1:])
                status = self.run(body, expected_status)
                self._restore_variables(saved)
                if self.jump == "return":
                    self.resume()
                return status
            self.tool = name.rpartition("/")[2] or name
            if self.interrupted and self.tool in self.slow:
                self.stopped = True
                return None
            if self.output and self.reports_error(self.tool):
                for program, rest in self.errors():
                    if program == self.tool and rest in NOT_FOUND:
                        return False
            return self.execute(self, words)
        finally:
            self.tool, self.expected_status = outer_tool, outer_want

    def set_positional(self, words: list[str]) -> None:
        """Set ``$1``, ``$2``, ``$@`` and ``$#``."""
        words = [value_or_unknown(word) for word in words]
        self.variables["@"] = words
        self.variables["#"] = str(len(words))
        for i in range(1, 10):
            if i <= len(words):
                self.variables[str(i)] = words[i - 1]
            else:
                self.variables.pop(str(i), None)

    def assign(self, name: str, value: str | Word | Array) -> None:
        """Set a variable."""
        if isinstance(value, Array):
            self.variables[name] = [value_or_unknown(item) for item in self.fields(value.items)]
        else:
            text = self.text(value)
            if len(text) > MAX_TEXT or (text[:1] == "." and _names_here(value)):
                text = UNKNOWN  # a relative $PWD would name another directory after `cd`
            self.variables[name] = text


def _names_here(value: str | Word) -> bool:
    return isinstance(value, Word) and any(
        isinstance(part, Variable) and part.name == "PWD" for part in value.parts
    )


def _joined(pieces: list[str | None]) -> str | None:
    if any(piece is None for piece in pieces):
        return None
    text = "".join(piece for piece in pieces if piece is not None)
    return text if len(text) <= MAX_TEXT else None


def _assigned(node: Statement) -> list[str]:
    found: list[str] = []
    for item in node.items if isinstance(node, Sequence) else (node,):
        if isinstance(item, Command):
            found.extend(name for name, _ in item.assignments)
    return found


_RUNNERS: dict[type, Callable[[Interpreter, Any, Status], Status]] = {
    Sequence: Interpreter._sequence,
    Logical: Interpreter._logical,
    Negated: Interpreter._negated,
    Pipeline: Interpreter._pipeline,
    Group: Interpreter._group,
    Background: Interpreter._background,
    Loop: Interpreter._loop,
    While: Interpreter._while,
    If: Interpreter._if,
    Case: Interpreter._case,
    Function: Interpreter._function,
    Opaque: Interpreter._opaque,
    Command: Interpreter._command,
}
