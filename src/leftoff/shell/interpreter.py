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
- A function that changes `cwd`, `variables`, `uncertainty`, `captured`, `stdin` or
  `stderr_hidden` for its parts restores it. Only builtins (``cd``, ``read``, ``set``) change
  them for good.
- `stopped` is set by `stop`, by the limits and by an interruption; a jump is ended by the
  construct that it targets.

Before editing: the expected effects in ``tests/unit/shell_cases.jsonl`` were measured by
running the commands in bash; if a change contradicts one, the change is wrong.
``tests/properties/test_shell.py`` holds the limits on time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leftoff.shell import ast, expansion, redirections
from leftoff.shell.globs import matches
from leftoff.shell.parser import parse
from leftoff.shell.state import MAX_TEXT, NOT_FOUND, Status, Walk

# Nested statements and calls; chosen by hand, not measured.
_MAX_DEPTH = 40


def run(walk: Walk, node: ast.Statement, expected_status: Status = None) -> Status:
    """Interpret a statement and return its status.

    `expected_status` is its status where the recording shows it."""
    walk.steps_left -= 1
    if walk.steps_left <= 0 or walk.depth > _MAX_DEPTH:
        walk.effects.unknown("shell")
        walk.stopped = True
        return None
    if walk.stopped:
        return None
    walk.depth += 1
    try:
        return _RUNNERS[type(node)](walk, node, expected_status)
    finally:
        walk.depth -= 1


def run_exit_trap(walk: Walk) -> None:
    """Run the command that ``trap … EXIT`` set, at the end of the shell."""
    text, walk.exit_trap = walk.exit_trap, None
    if text is None:
        return
    walk.resume()
    printed = walk.stdout
    run(walk, parse(text, home=walk.home).body)
    walk.stdout = _joined([printed, walk.stdout])


def _sequence(walk: Walk, node: ast.Sequence, expected_status: Status) -> Status:
    status: Status = True
    last = len(node.items) - 1
    printed: list[str | None] = []
    for i, item in enumerate(node.items):
        expected = (
            expected_status
            if i == last
            else (True if (walk.errexit and not walk.sheltered) and expected_status else None)
        )
        if (walk.errexit and not walk.sheltered) and expected_status is False and i < last:
            status = _run_in_failed_chain(walk, item, list(node.items[i + 1 :]))
        else:
            status = run(walk, item, expected)
        printed.append(walk.stdout)
        if walk.stopped:
            break
        if (walk.errexit and not walk.sheltered) and status is False:
            walk.stop("exit")
            break
    walk.stdout = _joined(printed)
    return status


def _logical(walk: Walk, node: ast.Logical, expected_status: Status) -> Status:
    printed: list[str | None] = []
    if node.both:
        if expected_status is True:
            _tested(walk, node.left, True)
            printed.append(walk.stdout)
            run(walk, node.right, True)
            walk.stdout = _joined([*printed, walk.stdout])
            return True
        ran = walk.echo_evidence(node.right)
        if ran is not None:
            left = _tested(walk, node.left, ran)
            if ran is False:
                return False
        elif expected_status is False:
            left = _run_in_failed_chain(walk, node.left, [node.right])
        else:
            left = _tested(walk, node.left)
            if left is None and _has_error_output(walk, node.left):
                left = False
        printed.append(walk.stdout)
        if left is False or walk.stopped:
            return False
        status = run(walk, node.right, expected_status)
        walk.stdout = _joined([*printed, walk.stdout])
        return status if left is True or status is False else None
    ran = walk.echo_evidence(node.right)
    if expected_status is False:
        _tested(walk, node.left, False)
        run(walk, node.right, False)
        return False
    left = _tested(walk, node.left, None if ran is None else not ran)
    if ran is not None:
        left = not ran
    elif left is None and _has_error_output(walk, node.left):
        left = False
    if left is True or walk.stopped:
        return True
    printed = [walk.stdout]
    if left is False:
        status = run(walk, node.right, expected_status)
        walk.stdout = _joined([*printed, walk.stdout])
        return status
    run_speculatively(walk, node.right)
    walk.stdout = None if walk.stdout else printed[0]
    return True if expected_status else None


def _tested(walk: Walk, node: ast.Statement, expected_status: Status = None) -> Status:
    """A condition, or the left side of ``&&`` or ``||``: in it, ``set -e`` ends nothing."""
    outer, walk.sheltered = walk.sheltered, True
    status = run(walk, node, expected_status)
    walk.sheltered = outer
    return status


def _has_error_output(walk: Walk, node: ast.Statement) -> bool:
    return any(walk.reports_error(name) for name, _ in ast.named_commands(node))


def _run_in_failed_chain(walk: Walk, item: ast.Statement, later: list[ast.Statement]) -> Status:
    """Run one statement of a chain (``a && b``, or a list under ``set -e``) of which one is
    known to have failed; `later` are the statements after it.

    Error messages decide which one failed; without any, the first whose programs are not
    all reliable. The effects of a failed statement are rolled back and recorded again as
    those of a failure."""
    snapshot, cwd = walk.effects.snapshot(), walk.cwd
    status = run(walk, item)
    if status is not None:
        return status
    own_commands = ast.named_commands(item)
    later_commands = [pair for node in later for pair in ast.named_commands(node)]
    if any(walk.reports_error(name) for name, _ in own_commands):
        failed = True
    elif any(walk.reports_error(name) for name, _ in later_commands):
        failed = False
    else:
        failed = any(name not in walk.reliable for name, _ in own_commands)
    if not failed:
        return None
    walk.effects.rollback(snapshot)
    walk.cwd = cwd
    run(walk, item, False)
    return False


def run_speculatively(walk: Walk, node: ast.Statement) -> None:
    """Run a statement that may not have run: its effects have the certainty ``unknown``,
    its
    assignments make variables unknown."""
    uncertainty, cwd, variables = walk.uncertainty, walk.cwd, dict(walk.variables)
    walk.uncertainty = 2
    run(walk, node)
    walk.uncertainty = uncertainty
    walk.cwd = cwd
    walk.resume()
    for name, value in walk.variables.items():
        if variables.get(name) != value:
            walk.variables[name] = ast.UNKNOWN


def _negated(walk: Walk, node: ast.Negated, expected_status: Status) -> Status:
    status = run(walk, node.item, None if expected_status is None else not expected_status)
    return None if status is None else not status


def _pipeline(walk: Walk, node: ast.Pipeline, expected_status: Status) -> Status:
    status: Status = True
    stdin, cwd, captured = walk.stdin, walk.cwd, walk.captured
    variables = dict(walk.variables)
    last = len(node.items) - 1
    worst: Status = True
    for i, item in enumerate(node.items):
        walk.captured = captured or i < last
        expected = expected_status if i == last or (walk.pipefail and expected_status) else None
        status = run(walk, item, expected)
        if status is not True:
            worst = status if worst is True else worst
        walk.stdin = walk.stdout
        walk.resume()
    walk.stdin, walk.cwd, walk.captured = stdin, cwd, captured
    walk.variables = variables
    return worst if walk.pipefail else status


def subshell(walk: Walk, body: ast.Statement, expected_status: Status = None) -> Status:
    """Interpret a statement in a child shell: its directory, variables and jumps stay in it,
    and its exit trap runs at its end."""
    cwd, variables, exit_trap = walk.cwd, walk.variables, walk.exit_trap
    walk.variables, walk.exit_trap = dict(variables), None
    status = run(walk, body, expected_status)
    run_exit_trap(walk)
    walk.cwd, walk.variables, walk.exit_trap = cwd, variables, exit_trap
    walk.resume()
    return status


def _group(walk: Walk, node: ast.Group, expected_status: Status) -> Status:
    saved = walk.stderr_hidden, walk.stdin, walk.captured
    if node.redirects and not redirections.redirect(walk, node.redirects):
        walk.stderr_hidden, walk.stdin, walk.captured = saved
        walk.stdout = ""
        return False
    if any(item.operator[:1] == ">" or item.operator[:1] == "&" for item in node.redirects):
        walk.captured = walk.captured or any(
            item.descriptor in (-1, 1) and item.operator != ">&" for item in node.redirects
        )
    interpret = subshell if node.subshell else run
    status = interpret(walk, node.item, expected_status)
    redirections.store_stdout(walk, node.redirects)
    walk.stderr_hidden, walk.stdin, walk.captured = saved
    return status


def _background(walk: Walk, node: ast.Background, expected_status: Status) -> Status:
    uncertainty, cwd, interrupted = walk.uncertainty, walk.cwd, walk.interrupted
    walk.uncertainty = max(uncertainty, 1)
    walk.interrupted = False
    run(walk, node.item)
    walk.uncertainty, walk.cwd, walk.interrupted = uncertainty, cwd, interrupted
    walk.stdout = None
    walk.resume()
    return True


def _run_iteration(walk: Walk, body: ast.Statement, expected_status: Status = None) -> Status:
    walk.loop_depth += 1
    status = run(walk, body, expected_status)
    walk.loop_depth -= 1
    return status


def _loop_continues(walk: Walk) -> bool:
    """Whether a loop continues after an iteration: not if a jump left it."""
    if not walk.stopped:
        return True
    if walk.jump not in ("break", "continue"):
        return False
    walk.jump_depth -= 1
    if walk.jump_depth > 0:
        return False  # the jump targets an enclosing loop
    again = walk.jump == "continue"
    walk.resume()
    return again


def _loop(walk: Walk, node: ast.Loop, expected_status: Status) -> Status:
    values: list[str] | None = None
    if node.values is not None:
        values = [
            expansion.value_or_unknown(value) for value in expansion.fields(walk, node.values)
        ]
        if ast.UNKNOWN in values:
            values = [value for value in values if value != ast.UNKNOWN] + [ast.UNKNOWN]
    if values is None:
        values = [ast.UNKNOWN]
    status: Status = True
    printed: list[str | None] = []
    for i, value in enumerate(values):
        walk.variables[node.name] = value
        expected = expected_status if i == len(values) - 1 else None
        if ast.UNKNOWN in value:
            run_speculatively(walk, node.body)
            status = None
        else:
            status = _run_iteration(walk, node.body, expected)
        printed.append(walk.stdout)
        if not _loop_continues(walk):
            break
    walk.stdout = _joined(printed)
    return status


def _while(walk: Walk, node: ast.While, expected_status: Status) -> Status:
    condition = node.condition
    if isinstance(condition, ast.Command) and condition.words[:1] == ("read",):
        run(walk, condition)  # what it reads is not followed
        run_speculatively(walk, node.body)
        walk.stdout = None
        return None
    go = not node.until
    for _ in range(ast.MAX_FIELDS):
        status = _tested(walk, condition)
        if status is not go:
            break
        _run_iteration(walk, node.body)
        if not _loop_continues(walk):
            status = not go
            break
    else:
        status = None
    if status is (not go) or walk.stopped:
        walk.stdout = None
        return True
    uncertainty = walk.uncertainty
    for item in _assigned(node.body):
        walk.variables[item] = ast.UNKNOWN
    walk.uncertainty = 2  # how often it runs, if at all, is not known
    _run_iteration(walk, node.body)
    walk.uncertainty = uncertainty
    for item in _assigned(node.body):
        walk.variables[item] = ast.UNKNOWN
    walk.stdout = None
    if walk.jump:
        walk.resume()
    return None


def _if(walk: Walk, node: ast.If, expected_status: Status) -> Status:
    for i, (condition, body) in enumerate(node.branches):
        status = _tested(walk, condition)
        if status is None:
            status = walk.echo_evidence(body)
            if status is None and i == len(node.branches) - 1 and node.otherwise:
                other = walk.echo_evidence(node.otherwise)
                status = None if other is None else not other
        if walk.stopped:
            return None
        if status is True:
            return run(walk, body, expected_status)
        if status is None:
            run_speculatively(walk, body)
            for other_condition, other_body in node.branches[i + 1 :]:
                run_speculatively(walk, other_condition)
                run_speculatively(walk, other_body)
            if node.otherwise is not None:
                run_speculatively(walk, node.otherwise)
            walk.stdout = None
            return None
    walk.stdout = ""
    return True if node.otherwise is None else run(walk, node.otherwise, expected_status)


def _case(walk: Walk, node: ast.Case, expected_status: Status) -> Status:
    value = expansion.word_text(walk, node.word)
    if ast.UNKNOWN in value:
        for _, body in node.branches:
            run_speculatively(walk, body)
        return None
    for patterns, body in node.branches:
        for pattern in patterns:
            if matches(value, expansion.word_text(walk, pattern, keep=True)):
                return run(walk, body, expected_status)
    return True


def _function(walk: Walk, node: ast.Function, expected_status: Status) -> Status:
    walk.functions[node.name] = node.body
    return True


def _opaque(walk: Walk, node: ast.Opaque, expected_status: Status) -> Status:
    walk.effects.unknown("shell")
    walk.stdout = None
    return None


# --- simple commands


def _command(walk: Walk, node: ast.Command, expected_status: Status) -> Status:
    if not node.words:
        for name, value in node.assignments:
            assign(walk, name, value)
        walk.stdout = ""
        if node.redirects:
            return redirections.redirect(walk, node.redirects)
        return expected_status
    words: list[str] = (
        list(node.words) if node.plain else expansion.fields(walk, node.words)  # type: ignore[arg-type]
    )
    if not words:
        walk.stdout = ""
        return True
    replaced: dict[str, str | list[str] | None] = {}
    for name, value in node.assignments:
        if words[0] not in ("export", "local", "declare", "typeset", "readonly"):
            replaced.setdefault(name, walk.variables.get(name))
        elif words[0] in ("local", "declare", "typeset"):
            walk.local.setdefault(name, walk.variables.get(name))
        assign(walk, name, value)
    stderr_hidden, stdin, captured = walk.stderr_hidden, walk.stdin, walk.captured
    if node.redirects:
        if not redirections.redirect(walk, node.redirects):
            walk.stderr_hidden, walk.stdin, walk.captured = stderr_hidden, stdin, captured
            _restore_variables(walk, replaced)
            walk.stdout = ""
            return False
        for item in node.redirects:
            if item.descriptor in (-1, 1) and item.operator[-1:] in (">", "|"):
                walk.captured = True
    status = call(walk, words, expected_status)
    _restore_variables(walk, replaced)
    if node.redirects:
        redirections.store_stdout(walk, node.redirects)
        walk.stdin = stdin
    walk.stderr_hidden, walk.captured = stderr_hidden, captured
    return status


def _restore_variables(walk: Walk, values: dict[str, str | list[str] | None]) -> None:
    for name, value in values.items():
        if value is None:
            walk.variables.pop(name, None)
        else:
            walk.variables[name] = value


def call(walk: Walk, words: list[str], expected_status: Status) -> Status:
    """Run one command given as words: a function of the script, or a program."""
    name = words[0]
    body = walk.functions.get(name)
    outer_tool, outer_want = walk.tool, walk.expected_status
    walk.expected_status = expected_status
    walk.stdout = None
    try:
        if body is not None:
            outer_local = walk.local
            walk.local = {key: walk.variables.get(key) for key in ("@", "#", "1", "2", "3")}
            set_positional(walk, words[1:])
            status = run(walk, body, expected_status)
            _restore_variables(walk, walk.local)
            walk.local = outer_local
            if walk.jump == "return":
                walk.resume()
            return status
        walk.tool = (name.rpartition("/")[2] or name).removesuffix(".exe")
        if walk.interrupted and walk.tool in walk.slow:
            walk.stopped = True
            return None
        if walk.output and walk.reports_error(walk.tool):
            for program, rest in walk.errors():
                if program == walk.tool and rest in NOT_FOUND:
                    return False
        return walk.execute(walk, words)
    finally:
        walk.tool, walk.expected_status = outer_tool, outer_want


def set_positional(walk: Walk, words: list[str]) -> None:
    """Set ``$1``, ``$2``, ``$@`` and ``$#``."""
    words = [expansion.value_or_unknown(word) for word in words]
    walk.variables["@"] = words
    walk.variables["#"] = str(len(words))
    for i in range(1, 10):
        if i <= len(words):
            walk.variables[str(i)] = words[i - 1]
        else:
            walk.variables.pop(str(i), None)


def assign(walk: Walk, name: str, value: str | ast.Word | ast.Array) -> None:
    """Set a variable."""
    if isinstance(value, ast.Array):
        walk.variables[name] = [
            expansion.value_or_unknown(item) for item in expansion.fields(walk, value.items)
        ]
    else:
        text = expansion.word_text(walk, value)
        if len(text) > MAX_TEXT or (text[:1] == "." and _names_here(value)):
            text = ast.UNKNOWN  # a relative $PWD would name another directory after `cd`
        walk.variables[name] = text


def _names_here(value: str | ast.Word) -> bool:
    return isinstance(value, ast.Word) and any(
        isinstance(part, ast.Variable) and part.name == "PWD" for part in value.parts
    )


def _joined(pieces: list[str | None]) -> str | None:
    if any(piece is None for piece in pieces):
        return None
    text = "".join(piece for piece in pieces if piece is not None)
    return text if len(text) <= MAX_TEXT else None


def _assigned(node: ast.Statement) -> list[str]:
    found: list[str] = []
    for item in node.items if isinstance(node, ast.Sequence) else (node,):
        if isinstance(item, ast.Command):
            found.extend(name for name, _ in item.assignments)
    return found


_RUNNERS: dict[type, Callable[[Walk, Any, Status], Status]] = {
    ast.Sequence: _sequence,
    ast.Logical: _logical,
    ast.Negated: _negated,
    ast.Pipeline: _pipeline,
    ast.Group: _group,
    ast.Background: _background,
    ast.Loop: _loop,
    ast.While: _while,
    ast.If: _if,
    ast.Case: _case,
    ast.Function: _function,
    ast.Opaque: _opaque,
    ast.Command: _command,
}
