"""Follows a parsed shell command step by step, on what is known of files.

Nothing is run: each step says what it would do to the files, given the directory, the variables
and the known files at that point, and whether it succeeded as far as the recording tells. A
status is True (succeeded), False (failed) or None (cannot be told; taken as success). What only
may have happened gets a higher `rank`: 0 sure, 1 likely, 2 unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leftoff.extraction.deeds import Deeds
from leftoff.extraction.expansion import known_value
from leftoff.extraction.file_state import join, matches
from leftoff.extraction.ground import LONGEST, NOT_FOUND, Status
from leftoff.extraction.script import (
    MAX_FIELDS,
    UNKNOWN,
    Array,
    Background,
    Case,
    Command,
    Document,
    Function,
    Group,
    If,
    Logical,
    Loop,
    Negated,
    Opaque,
    Pipeline,
    Redirect,
    Sequence,
    Statement,
    Substitution,
    Variable,
    While,
    Word,
)

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


class Machine(Deeds):
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
                self.stopped = True
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
        self._maybe(node.right)
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

    def _maybe(self, node: Statement) -> None:
        """Follow what may not have run."""
        rank, cwd = self.rank, self.cwd
        self.rank = 2
        self.run(node)
        self.rank = rank
        self.cwd = cwd
        self.stopped = False

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
            self.stopped = False
        self.stdin, self.cwd, self.captured = stdin, cwd, captured
        self.variables = variables
        return worst if self.pipefail else status

    def _group(self, node: Group, want: Status) -> Status:
        cwd, variables = self.cwd, self.variables
        hidden, stdin, captured = self.hidden, self.stdin, self.captured
        if node.subshell:
            self.variables = dict(variables)
        if node.redirects and not self.redirect(node.redirects):
            return False
        if any(item.operator[:1] == ">" or item.operator[:1] == "&" for item in node.redirects):
            self.captured = self.captured or any(
                item.descriptor in (-1, 1) and item.operator != ">&" for item in node.redirects
            )
        status = self.run(node.item, want)
        self._keep_printed(node.redirects)
        self.hidden, self.stdin, self.captured = hidden, stdin, captured
        if node.subshell:
            self.cwd, self.variables = cwd, variables
            self.stopped = False
        return status

    def _background(self, node: Background, want: Status) -> Status:
        rank, cwd, interrupted = self.rank, self.cwd, self.interrupted
        self.rank = max(rank, 1)
        self.interrupted = False
        self.run(node.item)
        self.rank, self.cwd, self.interrupted = rank, cwd, interrupted
        self.stdout = None
        self.stopped = False
        return True

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
                self._maybe(node.body)
                status = None
            else:
                status = self.run(node.body, wanted)
            printed.append(self.stdout)
            if self.stopped:
                break
        self.stdout = _joined(printed)
        return status

    def _while(self, node: While, want: Status) -> Status:
        condition = node.condition
        if isinstance(condition, Command) and "read" in condition.words[:1]:
            names = [
                word
                for word in condition.words[1:]
                if isinstance(word, str) and not word.startswith("-")
            ] or ["REPLY"]
            text = self.stdin
            if text is not None:
                printed: list[str | None] = []
                status: Status = True
                for line in text.splitlines()[:MAX_FIELDS]:
                    pieces = line.split(None, len(names) - 1) if len(names) > 1 else [line]
                    for i, name in enumerate(names):
                        self.variables[name] = pieces[i] if i < len(pieces) else ""
                    status = self.run(node.body)
                    printed.append(self.stdout)
                    if self.stopped:
                        break
                self.stdout = _joined(printed)
                return status
            for name in names:
                self.variables[name] = UNKNOWN
            self._maybe(node.body)
            self.stdout = None
            return None
        go = not node.until
        for _ in range(MAX_FIELDS):
            status = self.run(condition)
            if status is not go:
                break
            self.run(node.body)
            if self.stopped or self.steps <= 0:
                break
        else:
            status = None
        if status is (not go) or self.stopped:
            self.stopped = False
            self.stdout = None
            return True
        rank = self.rank
        for item in _assigned(node.body):
            self.variables[item] = UNKNOWN
        self.rank = max(rank, 1 if status is not None else 2)
        self.run(node.body)
        self.rank = rank
        self.stdout = None
        self.stopped = False
        return None

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
                self._maybe(body)
                for other_condition, other_body in node.branches[i + 1 :]:
                    self._maybe(other_condition)
                    self._maybe(other_body)
                if node.otherwise is not None:
                    self._maybe(node.otherwise)
                self.stdout = None
                return None
        self.stdout = ""
        return True if node.otherwise is None else self.run(node.otherwise, want)

    def _case(self, node: Case, want: Status) -> Status:
        value = self.text(node.word)
        if UNKNOWN in value:
            for _, body in node.branches:
                self._maybe(body)
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
        for name, value in node.assignments:
            if words[0] in ("export", "local", "declare", "typeset", "readonly"):
                self.assign(name, value)
        hidden, stdin, captured = self.hidden, self.stdin, self.captured
        if node.redirects:
            if not self.redirect(node.redirects):
                self.hidden, self.stdin, self.captured = hidden, stdin, captured
                self.stdout = ""
                return False
            for item in node.redirects:
                if item.descriptor in (-1, 1) and item.operator[-1:] in (">", "|"):
                    self.captured = True
        status = self.call(words, want)
        if node.redirects:
            self._keep_printed(node.redirects)
        self.hidden, self.stdin, self.captured = hidden, stdin, captured
        return status

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
                for key, value in saved.items():
                    if value is None:
                        self.variables.pop(key, None)
                    else:
                        self.variables[key] = value
                self.stopped = False
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
            self.variables[name] = text if len(text) <= LONGEST else UNKNOWN

    def redirect(self, redirects: tuple[Redirect, ...]) -> bool:
        """Open the redirections; False where one of them fails."""
        for item in redirects:
            target = item.target
            operator = item.operator
            if isinstance(target, Document):
                if target.text is not None and target.expands:
                    self.stdin = self._expand_document(target.text)
                else:
                    self.stdin = target.text
                continue
            if operator == "<<<":
                text = self.text(target)
                self.stdin = None if UNKNOWN in text else text + "\n"
                continue
            if isinstance(target, Word):
                inner = [part for part in target.parts if isinstance(part, Substitution)]
                if inner and inner[0].process:
                    self._inner(inner[0].body)
                    if operator == "<":
                        self.stdin = self.stdout
                    continue
            found = self.fields((target,))
            name = found[0] if len(found) == 1 else UNKNOWN
            if operator in (">&", "<&") and (name.isdecimal() or name == "-"):
                if item.descriptor == 2 and name == "-":
                    self.hidden = True
                continue
            if operator == "<":
                self.stdin = self.known_text(name)
                outer, self.tool = self.tool, self.tool or "<"
                done = self.read(name, "<")
                self.tool = outer
                if done is False:
                    return False
                continue
            if item.descriptor == 2 or operator in ("&>", "&>>", ">&"):
                self.hidden = True
            if name == "/dev/null" or name.startswith("/dev/"):
                continue
            append = operator in (">>", "&>>")
            if self.complains(">", name) and self.write_blocked(name) is not False:
                return False
            if not self.write(name, ">>" if append else ">", guess_append=append):
                return False
        return True

    def _expand_document(self, text: str) -> str | None:
        if "$(" in text or "`" in text:
            return None
        out: list[str] = []
        i, size = 0, len(text)
        while i < size:
            char = text[i]
            if char == "\\" and i + 1 < size and text[i + 1] in "$`\\":
                out.append(text[i + 1])
                i += 2
            elif char == "$" and i + 1 < size:
                end = i + 1
                braces = text[end] == "{"
                end += braces
                start = end
                while end < size and (text[end].isalnum() or text[end] == "_"):
                    end += 1
                if end == start:
                    out.append(char)
                    i += 1
                    continue
                value = self.variable(Variable(text[start:end], "", True))
                if len(value) != 1 or UNKNOWN in value[0]:
                    return None
                if braces and text[end : end + 1] != "}":
                    return None
                out.append(value[0])
                i = end + braces
            else:
                out.append(char)
                i += 1
        return "".join(out)

    def _keep_printed(self, redirects: tuple[Redirect, ...]) -> None:
        """What a command printed into a file is its text, where known and short."""
        taken = False
        for item in redirects:
            if item.descriptor not in (-1, 1) or isinstance(item.target, Document):
                continue
            if item.operator not in (">", ">>", ">|", "&>", "&>>"):
                continue
            taken = True
            found = self.fields((item.target,))
            path = join(self.cwd, found[0]) if len(found) == 1 else None
            if path is None or UNKNOWN in path:
                continue
            text = self.stdout
            if item.operator in (">>", "&>>"):
                before = self.contents.get(path)
                text = None if before is None or text is None else before + text
            if text is None or len(text) > LONGEST or item.operator[0] == "&":
                self.contents.pop(path, None)
            else:
                self.contents[path] = text
        if taken:
            self.stdout = ""


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
