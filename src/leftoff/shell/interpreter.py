"""Follows a parsed shell command step by step, on what is known of files.

Nothing is run: each step says what it would do to the files, given the directory, the variables
and the known files at that point, and whether it succeeded as far as the recording tells. A
status is True (succeeded), False (failed) or None (cannot be told; taken as success). What only
may have happened gets a higher `rank`: 0 sure, 1 likely, 2 unknown.
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
    Substitution,
    Variable,
    While,
    Word,
)
from leftoff.shell.expansion import known_value
from leftoff.shell.filesystem import matches
from leftoff.shell.parser import parse
from leftoff.shell.redirections import Redirects
from leftoff.shell.state import LONGEST, NOT_FOUND, Status

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Machine", "Status", "programs"]

_DEPTH = 40


def programs(node: Statement) -> list[tuple[str, Command]]:
    """The commands of a statement with their literal program names, in order of appearance."""
    found: list[tuple[str, Command]] = []
    stack: list[Statement] = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, Command):
            for word in item.words:
                if isinstance(word, Word):
                    inside = [
                        part.body for part in word.parts if isinstance(part, Substitution)
                    ]
                    stack.extend(reversed(inside))
            first = item.words[0] if item.words else None
            if isinstance(first, str):
                found.append((first.rpartition("/")[2], item))
        elif isinstance(item, Sequence | Pipeline):
            stack.extend(reversed(item.items))
        elif isinstance(item, Logical):
            stack.extend((item.right, item.left))
        elif isinstance(item, Negated | Group | Background):
            stack.append(item.item)
        elif isinstance(item, Loop | Function):
            stack.append(item.body)
        elif isinstance(item, While):
            stack.extend((item.body, item.condition))
        elif isinstance(item, If):
            if item.otherwise is not None:
                stack.append(item.otherwise)
            for condition, body in reversed(item.branches):
                stack.extend((body, condition))
        elif isinstance(item, Case):
            stack.extend(body for _, body in reversed(item.branches))
    return found


class Machine(Redirects):
    """Follows the control structure of a command."""

    def run(self, node: Statement, want: Status = None) -> Status:
        """Follow a statement; `want` is its status where the recording tells it."""
        self.steps -= 1
        if self.steps <= 0 or self.depth > _DEPTH:
            self.effects.unknown("shell")
            self.stopped = True
            return None
        if self.stopped:
            return None
        self.depth += 1
        try:
            return _STEPPERS[type(node)](self, node, want)
        finally:
            self.depth -= 1

    def leave(self) -> None:
        """The shell ends: follow what ``trap … EXIT`` set down for that."""
        text, self.parting = self.parting, None
        if text is None:
            return
        self.resume()
        printed = self.stdout
        self.run(parse(text, home=self.home).body)
        self.stdout = _joined([printed, self.stdout])

    def _sequence(self, node: Sequence, want: Status) -> Status:
        status: Status = True
        last = len(node.items) - 1
        printed: list[str | None] = []
        for i, item in enumerate(node.items):
            wanted = want if i == last else (True if self.strict and want else None)
            if self.strict and want is False and i < last:
                status = self._link(item, list(node.items[i + 1 :]))
            else:
                status = self.run(item, wanted)
            printed.append(self.stdout)
            if self.stopped:
                break
            if self.strict and status is False:
                self.stop("exit")
                break
        self.stdout = _joined(printed)
        return status

    def _logical(self, node: Logical, want: Status) -> Status:
        printed: list[str | None] = []
        if node.both:
            if want is True:
                self.run(node.left, True)
                printed.append(self.stdout)
                self.run(node.right, True)
                self.stdout = _joined([*printed, self.stdout])
                return True
            told = self.echoed(node.right)
            if told is not None:
                left = self.run(node.left, told)
                if told is False:
                    return False
            elif want is False:
                left = self._link(node.left, [node.right])
            else:
                left = self.run(node.left)
                if left is None and self._blamed(node.left):
                    left = False
            printed.append(self.stdout)
            if left is False or self.stopped:
                return False
            status = self.run(node.right, want)
            self.stdout = _joined([*printed, self.stdout])
            return status if left is True or status is False else None
        told = self.echoed(node.right)
        if want is False:
            self.run(node.left, False)
            self.run(node.right, False)
            return False
        left = self.run(node.left, None if told is None else not told)
        if told is not None:
            left = not told
        elif left is None and self._blamed(node.left):
            left = False
        if left is True or self.stopped:
            return True
        printed = [self.stdout]
        if left is False:
            status = self.run(node.right, want)
            self.stdout = _joined([*printed, self.stdout])
            return status
        self.suppose(node.right)
        self.stdout = None if self.stdout else printed[0]
        return True if want else None

    def _blamed(self, node: Statement) -> bool:
        """Whether the output holds an error of one of a statement's programs."""
        return any(self.complains(name) for name, _ in programs(node))

    def _link(self, item: Statement, later: list[Statement]) -> Status:
        """One link of a chain that is known to have failed somewhere."""
        mark, cwd = self.effects.mark(), self.cwd
        status = self.run(item)
        if status is not None:
            return status
        mine = programs(item)
        others = [pair for node in later for pair in programs(node)]
        if any(self.complains(name) for name, _ in mine):
            failed = True
        elif any(self.complains(name) for name, _ in others):
            failed = False
        else:
            failed = any(name not in self.firm for name, _ in mine)
        if not failed:
            return None
        self.effects.rewind(mark)
        self.cwd = cwd
        self.run(item, False)
        return False

    def suppose(self, node: Statement) -> None:
        """Follow what may not have run."""
        rank, cwd, variables = self.rank, self.cwd, dict(self.variables)
        self.rank = 2
        self.run(node)
        self.rank = rank
        self.cwd = cwd
        self.resume()
        for name, value in self.variables.items():
            if variables.get(name) != value:
                self.variables[name] = UNKNOWN

    def _negated(self, node: Negated, want: Status) -> Status:
        status = self.run(node.item, None if want is None else not want)
        return None if status is None else not status

    def _pipeline(self, node: Pipeline, want: Status) -> Status:
        status: Status = True
        stdin, cwd, captured = self.stdin, self.cwd, self.captured
        variables = dict(self.variables)
        last = len(node.items) - 1
        worst: Status = True
        for i, item in enumerate(node.items):
            self.captured = captured or i < last
            wanted = want if i == last or (self.pipefail and want) else None
            status = self.run(item, wanted)
            if status is not True:
                worst = status if worst is True else worst
            self.stdin = self.stdout
            self.resume()
        self.stdin, self.cwd, self.captured = stdin, cwd, captured
        self.variables = variables
        return worst if self.pipefail else status

    def _group(self, node: Group, want: Status) -> Status:
        cwd, variables = self.cwd, self.variables
        hidden, stdin, captured = self.hidden, self.stdin, self.captured
        parting = self.parting
        if node.redirects and not self.redirect(node.redirects):
            self.hidden, self.stdin, self.captured = hidden, stdin, captured
            self.stdout = ""
            return False
        if node.subshell:
            self.variables = dict(variables)
            self.parting = None
        if any(item.operator[:1] == ">" or item.operator[:1] == "&" for item in node.redirects):
            self.captured = self.captured or any(
                item.descriptor in (-1, 1) and item.operator != ">&" for item in node.redirects
            )
        status = self.run(node.item, want)
        if node.subshell:
            self.leave()
            self.parting = parting
        self.keep_printed(node.redirects)
        self.hidden, self.stdin, self.captured = hidden, stdin, captured
        if node.subshell:
            self.cwd, self.variables = cwd, variables
            self.resume()
        return status

    def _background(self, node: Background, want: Status) -> Status:
        rank, cwd, interrupted = self.rank, self.cwd, self.interrupted
        self.rank = max(rank, 1)
        self.interrupted = False
        self.run(node.item)
        self.rank, self.cwd, self.interrupted = rank, cwd, interrupted
        self.stdout = None
        self.resume()
        return True

    def _turn(self, body: Statement, want: Status = None) -> Status:
        """One turn of a loop."""
        self.loops += 1
        status = self.run(body, want)
        self.loops -= 1
        return status

    def _turns_again(self) -> bool:
        """Whether a loop goes on after a turn: not if the turn left it."""
        if not self.stopped:
            return True
        if self.leap not in ("break", "continue"):
            return False
        self.levels -= 1
        if self.levels > 0:
            return False  # it is a loop around this one that is left, or that goes on
        again = self.leap == "continue"
        self.resume()
        return again

    def _loop(self, node: Loop, want: Status) -> Status:
        values: list[str] | None = None
        if node.values is not None:
            values = [known_value(value) for value in self.fields(node.values)]
            if UNKNOWN in values:
                values = [value for value in values if value != UNKNOWN] + [UNKNOWN]
        if values is None:
            values = [UNKNOWN]
        status: Status = True
        printed: list[str | None] = []
        for i, value in enumerate(values):
            self.variables[node.name] = value
            wanted = want if i == len(values) - 1 else None
            if UNKNOWN in value:
                self.suppose(node.body)
                status = None
            else:
                status = self._turn(node.body, wanted)
            printed.append(self.stdout)
            if not self._turns_again():
                break
        self.stdout = _joined(printed)
        return status

    def _while(self, node: While, want: Status) -> Status:
        condition = node.condition
        if isinstance(condition, Command) and condition.words[:1] == ("read",):
            return self._each_line(condition, node.body)
        go = not node.until
        for _ in range(MAX_FIELDS):
            status = self.run(condition)
            if status is not go:
                break
            self._turn(node.body)
            if not self._turns_again():
                status = not go
                break
        else:
            status = None
        if status is (not go) or self.stopped:
            self.stdout = None
            return True
        rank = self.rank
        for item in _assigned(node.body):
            self.variables[item] = UNKNOWN
        self.rank = 2  # how often it runs, if at all, is not known
        self._turn(node.body)
        self.rank = rank
        for item in _assigned(node.body):
            self.variables[item] = UNKNOWN
        self.stdout = None
        if self.leap:
            self.resume()
        return None

    def _each_line(self, condition: Command, body: Statement) -> Status:
        """``while read``: the body for each line of the input."""
        status: Status = True
        printed: list[str | None] = []
        outer = self.stdin
        for _ in range(MAX_FIELDS):
            there = self.run(condition)
            if there is None:  # what it reads is not known
                self.suppose(body)
                printed = [None]
                status = None
                break
            if there is False:
                break
            status = self._turn(body)
            printed.append(self.stdout)
            if not self._turns_again():
                break
        self.stdin = outer
        self.stdout = _joined(printed)
        return status

    def _if(self, node: If, want: Status) -> Status:
        for i, (condition, body) in enumerate(node.branches):
            status = self.run(condition)
            if status is None:
                status = self.echoed(body)
                if status is None and i == len(node.branches) - 1 and node.otherwise:
                    other = self.echoed(node.otherwise)
                    status = None if other is None else not other
            if self.stopped:
                return None
            if status is True:
                return self.run(body, want)
            if status is None:
                self.suppose(body)
                for other_condition, other_body in node.branches[i + 1 :]:
                    self.suppose(other_condition)
                    self.suppose(other_body)
                if node.otherwise is not None:
                    self.suppose(node.otherwise)
                self.stdout = None
                return None
        self.stdout = ""
        return True if node.otherwise is None else self.run(node.otherwise, want)

    def _case(self, node: Case, want: Status) -> Status:
        value = self.text(node.word)
        if UNKNOWN in value:
            for _, body in node.branches:
                self.suppose(body)
            return None
        for patterns, body in node.branches:
            for pattern in patterns:
                if matches(value, self.text(pattern, keep=True)):
                    return self.run(body, want)
        return True

    def _function(self, node: Function, want: Status) -> Status:
        self.functions[node.name] = node.body
        return True

    def _opaque(self, node: Opaque, want: Status) -> Status:
        self.effects.unknown("shell")
        self.stdout = None
        return None

    # --- simple commands

    def _command(self, node: Command, want: Status) -> Status:
        if not node.words:
            for name, value in node.assignments:
                self.assign(name, value)
            self.stdout = ""
            if node.redirects:
                return self.redirect(node.redirects)
            return want
        words: list[str] = (
            list(node.words) if node.plain else self.fields(node.words)  # type: ignore[arg-type]
        )
        if not words:
            self.stdout = ""
            return True
        lent: dict[str, str | list[str] | None] = {}
        for name, value in node.assignments:
            if words[0] not in ("export", "local", "declare", "typeset", "readonly"):
                lent.setdefault(name, self.variables.get(name))
            self.assign(name, value)
        hidden, stdin, captured = self.hidden, self.stdin, self.captured
        if node.redirects:
            if not self.redirect(node.redirects):
                self.hidden, self.stdin, self.captured = hidden, stdin, captured
                self._put_back(lent)
                self.stdout = ""
                return False
            for item in node.redirects:
                if item.descriptor in (-1, 1) and item.operator[-1:] in (">", "|"):
                    self.captured = True
        status = self.call(words, want)
        self._put_back(lent)
        if node.redirects:
            self.keep_printed(node.redirects)
            self.stdin = stdin
        self.hidden, self.captured = hidden, captured
        return status

    def _put_back(self, values: dict[str, str | list[str] | None]) -> None:
        """Give variables the values that they had before; None where they had none."""
        for name, value in values.items():
            if value is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = value

    def call(self, words: list[str], want: Status) -> Status:
        """Carry out one command given as words."""
        name = words[0]
        body = self.functions.get(name)
        outer_tool, outer_want = self.tool, self.want
        self.want = want
        self.stdout = None
        try:
            if body is not None:
                saved = {key: self.variables.get(key) for key in ("@", "#", "1", "2", "3")}
                self.positional(words[1:])
                status = self.run(body, want)
                self._put_back(saved)
                if self.leap == "return":
                    self.resume()
                return status
            self.tool = name.rpartition("/")[2] or name
            if self.interrupted and self.tool in self.slow:
                self.stopped = True
                return None
            if self.output and self.complains(self.tool):
                for program, rest in self.errors():
                    if program == self.tool and rest in NOT_FOUND:
                        return False
            return self.execute(self, words)
        finally:
            self.tool, self.want = outer_tool, outer_want

    def positional(self, words: list[str]) -> None:
        """Set ``$1``, ``$2``, ``$@`` and ``$#``."""
        words = [known_value(word) for word in words]
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
            self.variables[name] = [known_value(item) for item in self.fields(value.items)]
        else:
            text = self.text(value)
            if len(text) > LONGEST or (text[:1] == "." and _names_here(value)):
                text = UNKNOWN  # a directory that is known only from here is another one later
            self.variables[name] = text


def _names_here(value: str | Word) -> bool:
    return isinstance(value, Word) and any(
        isinstance(part, Variable) and part.name == "PWD" for part in value.parts
    )


def _joined(pieces: list[str | None]) -> str | None:
    if any(piece is None for piece in pieces):
        return None
    text = "".join(piece for piece in pieces if piece is not None)
    return text if len(text) <= LONGEST else None


def _assigned(node: Statement) -> list[str]:
    found: list[str] = []
    for item in node.items if isinstance(node, Sequence) else (node,):
        if isinstance(item, Command):
            found.extend(name for name, _ in item.assignments)
    return found


_STEPPERS: dict[type, Callable[[Machine, Any, Status], Status]] = {
    Sequence: Machine._sequence,
    Logical: Machine._logical,
    Negated: Machine._negated,
    Pipeline: Machine._pipeline,
    Group: Machine._group,
    Background: Machine._background,
    Loop: Machine._loop,
    While: Machine._while,
    If: Machine._if,
    Case: Machine._case,
    Function: Machine._function,
    Opaque: Machine._opaque,
    Command: Machine._command,
}
