"""The interpreter: control structure of a parsed shell command.

What may live in this file: one function for each kind of statement in `ast`, and function
calls. What a program does to files belongs into `programs/` or, as data, into `commands.toml`;
what a single file operation does belongs into `operations`.

How it works
------------
Nothing is executed and no file is opened. The interpreter walks the syntax tree in the order in
which the shell would run it. Each statement updates what is known of files (`FileState`),
records effects (`Effects`) and returns a status: True (succeeded), False (failed) or None (not
known; the walk then goes on as after a success).

All state is one value, `state.Walk`; the rest is functions that take it first. A module calls
only those above it in this list; two that need one below are given it as a field of the walk
(`subshell` for command substitutions, `execute` for programs):

    state         cwd, variables, jumps; error lines and echoes in the output
    expansion     words to fields: variables, substitutions, patterns
    operations    read, write, modify, delete, copy and move one path
    redirections  ``<``, ``>``, here-documents
    interpreter   lists, pipes, loops, branches, functions
    programs      a simple command, by its rule in `commands.toml` or by a handler

A simple command is expanded to words and given to `programs.dispatch.execute`, which applies a
rule of `commands.toml` or calls a handler ``handler(walk: Walk, args: Invocation) -> Status``.

The recording holds one status for the whole call. `run` passes it down as `expected_status` to
the statement that determines it: to the last one of a list, to both sides of an ``&&`` that
succeeded. Where an ``&&`` failed, an error message with the name of a program says which side
did; without one both sides may have changed files.

Certainty. `uncertainty` is the certainty of the effects recorded at the moment: 0 sure, 1
likely (background, status not recorded), 2 unknown (it may not have run). It is raised for a
part of the command and restored after it. Branches of ``if`` and ``case``, bodies of ``while``
and of functions are never decided, they are 2: of 2,669 files changed in 405 recordings none
depended on such a decision (decision record 008). After an ``exit`` that may have run, and
after ``set -e`` in a call that is not known to have succeeded, the rest is 2 as well.

What is not known stays unknown: text as `UNKNOWN` inside a field, a directory as ``cwd =
None``, a printed text as ``stdout = None``, a program without a rule as an effect ``unknown``
with its name. What a substituted command prints is not known.

What must hold
--------------
- No input raises. The limits on statements (`_MAX_STEPS`), nesting (`_MAX_DEPTH`) and text
  (`MAX_TEXT`) end in an ``unknown`` effect or an unknown text, never in a long computation.
- `call` clears `stdout`; a handler that knows the text that its program prints sets it.
- A function that changes `cwd`, `variables`, `uncertainty`, `captured`, `stdin` or
  `stderr_hidden` for its parts restores it. Only builtins (``cd``, ``read``) change them for
  good.

Before editing: the expected effects in ``tests/unit/shell_cases.jsonl`` were measured by
running the commands in bash; if a change contradicts one, the change is wrong.
``tests/properties/test_shell.py`` holds the limits on time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from leftoff.shell import ast, expansion, redirections
from leftoff.shell.commands import program_rules
from leftoff.shell.quoting import unmark_patterns
from leftoff.shell.state import MAX_TEXT, NOT_FOUND, Status, Walk

# Nested statements and calls; chosen by hand, not measured.
_MAX_DEPTH = 40


def run(walk: Walk, node: ast.Statement, expected_status: Status = None) -> Status:
    """Interpret a statement and return its status.

    `expected_status` is its status where the recording shows it."""
    walk.steps_left -= 1
    if walk.steps_left <= 0 or walk.depth > _MAX_DEPTH:
        # What comes behind the limit is not followed, so it may have changed anything.
        walk.effects.unknown("shell")
        walk.stopped = True
        return None
    if walk.stopped:
        return None
    # Each statement asks anew, because the block that raised it puts the old value back.
    if walk.perhaps_ended:
        walk.uncertainty = 2
    walk.depth += 1
    try:
        return _RUNNERS[type(node)](walk, node, expected_status)
    finally:
        walk.depth -= 1


@contextmanager
def raised(walk: Walk, uncertainty: int) -> Iterator[None]:
    """What is recorded in the block is at most so certain."""
    before, walk.uncertainty = walk.uncertainty, max(walk.uncertainty, uncertainty)
    yield
    walk.uncertainty = before


def subshell(walk: Walk, body: ast.Statement, expected_status: Status = None) -> Status:
    """Interpret a statement in a child shell: its directory, its variables and its end stay in
    it."""
    saved = walk.cwd, walk.variables, walk.succeeded, walk.stopped, walk.perhaps_ended
    walk.variables, walk.succeeded = dict(walk.variables), expected_status
    uncertainty = walk.uncertainty
    status = run(walk, body, expected_status)
    walk.cwd, walk.variables, walk.succeeded, walk.stopped, walk.perhaps_ended = saved
    walk.uncertainty = uncertainty
    return status


def run_speculatively(walk: Walk, node: ast.Statement) -> None:
    """Run a statement that may not have run, or more than once: its effects have the
    certainty ``unknown``, and so have the values of the variables that it sets."""
    set_in_it = dict.fromkeys(_assigned(node), ast.UNKNOWN)
    walk.variables.update(set_in_it)
    # A branch that may not have run leaves the shell in one of two directories.
    cwd = walk.cwd
    with raised(walk, 2):
        run(walk, node)
    walk.variables.update(set_in_it)
    walk.cwd = cwd if walk.cwd == cwd else None
    walk.stdout = None


def _assigned(node: ast.Statement) -> Iterator[str]:
    stack = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, ast.Command):
            yield from (name for name, _ in item.assignments)
        stack.extend(ast.parts(item))


def _sequence(walk: Walk, node: ast.Sequence, expected_status: Status) -> Status:
    status: Status = True
    for i, item in enumerate(node.items):
        status = run(walk, item, expected_status if i == len(node.items) - 1 else None)
        if walk.stopped:
            break
    walk.stdout = None
    return status


def _logical(walk: Walk, node: ast.Logical, expected_status: Status) -> Status:
    return (_and if node.both else _or)(walk, node, expected_status)


def _or(walk: Walk, node: ast.Logical, expected_status: Status) -> Status:
    # Where the whole failed, both sides did.
    left = run(walk, node.left, False if expected_status is False else None)
    if left is True or walk.stopped:
        return True
    if left is False or expected_status is False:
        status = run(walk, node.right, expected_status)
        walk.stdout = None
        return status
    run_speculatively(walk, node.right)
    return True if expected_status else None


def _and(walk: Walk, node: ast.Logical, expected_status: Status) -> Status:
    ran = expected_status
    if ran is False:
        ran = _left_of_failed(walk, node)
        if ran is None:
            cwd = walk.cwd
            with raised(walk, 2):
                run(walk, node.left)
                run(walk, node.right)
            walk.cwd = cwd if walk.cwd == cwd else None
            walk.stdout = None
            return False
    left = run(walk, node.left, ran)
    if left is False or ran is False or walk.stopped:
        return False
    # Most programs succeed, and are taken to; a condition is there because it may fail.
    if left is None and ran is None and _may_fail(walk, node.left):
        run_speculatively(walk, node.right)
        return None
    status = run(walk, node.right, expected_status)
    walk.stdout = None
    return status if left is True or ran is True or status is False else None


def _left_of_failed(walk: Walk, node: ast.Logical) -> Status:
    """Whether the left side of an ``&&`` that failed succeeded: an error message names one of
    its programs, or one of the right side; or its programs hardly ever fail in silence."""
    left, right = ast.named_commands(node.left), ast.named_commands(node.right)
    if any(walk.reports_error(name) for name, _ in left):
        return False
    if any(walk.reports_error(name) for name, _ in right):
        return True
    # Silence says something only where an error message would have been heard.
    heard = walk.output is not None and not walk.stderr_hidden
    for name, command in left:
        hidden = any(
            item.descriptor == 2 or item.operator[0] == "&" for item in command.redirects
        )
        if not heard or hidden or name not in program_rules().reliable:
            return None
    return True


def _may_fail(walk: Walk, node: ast.Statement) -> bool:
    """Whether a statement is a condition (``test``), or its error is in the output."""
    rules = program_rules().by_name
    return any(
        (name in rules and rules[name].fails == "normal") or walk.reports_error(name)
        for name, _ in ast.named_commands(node)
    )


def _negated(walk: Walk, node: ast.Negated, expected_status: Status) -> Status:
    status = run(walk, node.item, None if expected_status is None else not expected_status)
    return None if status is None else not status


def _pipeline(walk: Walk, node: ast.Pipeline, expected_status: Status) -> Status:
    status: Status = True
    stdin, captured = walk.stdin, walk.captured
    for i, item in enumerate(node.items):
        last = i == len(node.items) - 1
        walk.captured = captured or not last
        status = subshell(walk, item, expected_status if last else None)
        walk.stdin = walk.stdout
    walk.stdin, walk.captured = stdin, captured
    return None if status else status  # with ``set -o pipefail`` another one decides


def _group(walk: Walk, node: ast.Group, expected_status: Status) -> Status:
    saved = walk.stderr_hidden, walk.stdin, walk.captured
    status: Status = False
    walk.stdout = ""
    if (taken := redirections.redirect(walk, node.redirects)) is not None:
        interpret = subshell if node.subshell else run
        status = interpret(walk, node.item, expected_status)
        redirections.store_stdout(walk, taken)
    walk.stderr_hidden, walk.stdin, walk.captured = saved
    return status


def _background(walk: Walk, node: ast.Background, expected_status: Status) -> Status:
    # It may not have come to its end when the call did.
    with raised(walk, 1):
        subshell(walk, node.item)
    walk.stdout = None
    return True


def _loop(walk: Walk, node: ast.Loop, expected_status: Status) -> Status:
    values = [ast.UNKNOWN]
    # With a jump in the body, which values it ran for is not known.
    jumps = ("break", "continue", "return")
    if node.values is not None and not any(
        name in jumps for name, _ in ast.named_commands(node.body)
    ):
        fields = expansion.fields(walk, node.values)
        values = list(map(expansion.value_or_unknown, fields))
    status: Status = True
    # A value that comes again does the same again.
    for i, value in enumerate(dict.fromkeys(values)):
        walk.variables[node.name] = value
        if value == ast.UNKNOWN:
            run_speculatively(walk, node.body)
            status = None
        else:
            status = run(walk, node.body, expected_status if i == len(values) - 1 else None)
        if walk.stopped:
            break
    walk.stdout = None
    return status


def _branches(walk: Walk, node: ast.Branches, expected_status: Status) -> Status:
    for item in node.items:
        run_speculatively(walk, item)
    return None


def _function(walk: Walk, node: ast.Function, expected_status: Status) -> Status:
    walk.functions[node.name] = node.body
    return True


def _opaque(walk: Walk, node: ast.Opaque, expected_status: Status) -> Status:
    walk.effects.unknown("shell")
    walk.stdout = walk.cwd = None  # there may have been a `cd` in it
    return None


# --- simple commands


def _command(walk: Walk, node: ast.Command, expected_status: Status) -> Status:
    walk.stdout = ""
    words: list[str] = (
        list(node.words) if node.plain else expansion.fields(walk, node.words)  # type: ignore[arg-type]
    )
    # `X=1 program` sets a variable for the program alone, and no program reads it here.
    lasting = not words or words[0] in _DECLARING
    for name, value in node.assignments:
        text = _assigned_value(walk, value)
        if lasting:
            walk.variables[name] = text
    saved = walk.stderr_hidden, walk.stdin, walk.captured
    status: Status = False
    unmatched = not node.plain and any(
        walk.reports_error("zsh", unmark_patterns(word))
        for word in words
        if not ast.PATTERN_MARKS.isdisjoint(word)
    )
    if not unmatched and (taken := redirections.redirect(walk, node.redirects)) is not None:
        status = call(walk, words, expected_status) if words else expected_status
        redirections.store_stdout(walk, taken)
    walk.stderr_hidden, walk.stdin, walk.captured = saved
    return status


# Builtins whose assignments last; those of other commands are for the command alone.
_DECLARING = frozenset(("export", "local", "declare", "typeset", "readonly"))


def call(walk: Walk, words: list[str], expected_status: Status) -> Status:
    """Run one command given as words: a function of the script, or a program."""
    name = words[0]
    walk.stdout = None
    if name in walk.functions:  # its arguments are not followed
        run_speculatively(walk, walk.functions[name])
        return None
    outer_tool, outer_want = walk.tool, walk.expected_status
    walk.expected_status = expected_status
    walk.tool = (name.replace("\\", "/").rpartition("/")[2] or name).removesuffix(".exe")
    if name[:1] != ".":  # else a script of the project
        walk.tool = walk.tool.removesuffix(".cmd")
    try:
        # A program that the shell did not find did nothing, whatever its rule says.
        if walk.output and walk.reports_error(walk.tool):
            for program, rest in walk.errors():
                if program == walk.tool and rest in NOT_FOUND:
                    return False
        return walk.execute(walk, words)
    finally:
        walk.tool, walk.expected_status = outer_tool, outer_want


def _assigned_value(walk: Walk, value: str | ast.Word) -> str:
    text = expansion.word_text(walk, value)
    parts = value.parts if isinstance(value, ast.Word) else ()
    here = any(isinstance(part, ast.Variable) and part.name == "PWD" for part in parts)
    # A relative $PWD would name another directory after `cd`.
    return ast.UNKNOWN if len(text) > MAX_TEXT or (here and text[:1] == ".") else text


_RUNNERS: dict[type, Callable[[Walk, Any, Status], Status]] = {
    ast.Sequence: _sequence,
    ast.Logical: _logical,
    ast.Negated: _negated,
    ast.Pipeline: _pipeline,
    ast.Group: _group,
    ast.Background: _background,
    ast.Loop: _loop,
    ast.Branches: _branches,
    ast.Function: _function,
    ast.Opaque: _opaque,
    ast.Command: _command,
}
