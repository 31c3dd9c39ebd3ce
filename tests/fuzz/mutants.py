"""Breaks one place of a module at a time; the module's tests must notice each.

    python -m tests.fuzz mutants MODULE... [--tests PATH...] [--most N] [--seed S]
        [--only WHICH...] [--limit SECONDS]

MODULE is a file below src/leftoff: `tokens` or `stores/files`. Of all places that can be broken
--most are drawn for each module, the same ones for the same seed. The tests are those of `TESTS`,
else the files in tests/ that import the module; --tests names others. They run on a copy of the
package, so that the checkout is never touched. Prints, for each mutant that survived, its number
(for --only), line and difference; exits 1 if one did: either a test is missing, or what was
broken makes no difference (read it). A mutant for which the tests take too long counts as killed.

Our own, since cosmic-ray and mutmut write mutants into the tree that others work in, and start
anew for every place instead of a sample. Not part of the test suite: it is long.
"""

import ast
import compileall
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.fuzz.harness import options

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "leftoff"

_SHELL = (
    "unit/test_shell_outcomes.py", "unit/test_calls.py", "unit/test_shell_cases.py",
    "rules/test_rules.py", "properties/test_shell.py",
)  # fmt: skip
CASES = "tests/unit/test_format_cases.py"
CALLS = "tests/unit/test_calls.py"
_STORE = (
    "unit/test_calls.py", "unit/test_atomic_writes.py", "unit/test_retention.py",
    "unit/test_file_store.py", "unit/test_foreign_paths.py",
    "regressions/test_planted_links_and_modes.py", "regressions/test_small_defects.py",
    "contracts/test_planted_documents.py", "contracts/test_stores.py",
)  # fmt: skip
_REDACTION = (
    "unit/test_calls.py", "unit/test_plausible_credentials.py", "unit/test_redaction_edges.py",
    "unit/test_redaction.py", "rules/test_redaction_rules.py",
    "regressions/test_words_that_must_not_get_out.py", "properties/test_redaction.py",
)  # fmt: skip
_DECISIONS = (
    "unit/test_calls.py",
    "unit/test_decisions.py",
    "rules/test_decisions.py",
    "golden/test_golden.py",
)
_BUDGET = ("unit/test_calls.py", "unit/test_usage_and_account.py", "golden/test_golden.py")
TESTS = {
    "shell/effects": _SHELL,
    "shell/expansion": _SHELL,
    "shell/interpreter": _SHELL,
    "shell/parser": _SHELL,
    "shell/quoting": _SHELL,
    "shell/redirections": _SHELL,
    "shell/state": _SHELL,
    "shell/statements": _SHELL,
    "extraction/rules": (
        "unit/test_rules_gate.py", "rules/test_rules.py", *_DECISIONS,
    ),
    "extraction/progress": ("unit/test_calls.py", "golden/test_golden.py"),
    "extraction/decision_model": _DECISIONS,
    "budget/account": _BUDGET,
    "budget/usage": _BUDGET,
    "handover/decision_table": ("unit/test_calls.py",),
    "redaction/disguise": _REDACTION,
    "redaction/encodings": _REDACTION,
    "redaction/plausible": _REDACTION,
    "redaction/redactor": _REDACTION,
    "stores/atomic": _STORE,
    "stores/envelope": _STORE,
    "stores/files": _STORE,
    "stores/retention": _STORE,
}  # fmt: skip
"""The tests of a module that is tested through others, quick ones first."""

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}  # fmt: skip
_REDUNDANT = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant)
"""Conditions that are broken as what they are, so that they need no negation."""


class Change(NamedTuple):
    """One place of a source, `start` to `end` in bytes, and what is put there instead."""

    line: int
    start: int
    end: int
    text: str


class Mutant(NamedTuple):
    """Whether a test noticed a change, and after how many seconds."""

    change: Change
    killed: bool
    seconds: float


# -- what can be broken ------------------------------------------------------------------------


def changes(source: bytes) -> list[Change]:
    """Every way in which we break a source, in order of place."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: set[Change] = set()
    for node in _code(ast.parse(source)):
        for text in _instead(node):
            assert isinstance(node, ast.expr | ast.stmt)
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            found.add(Change(node.lineno, start, end, text))
    return sorted(found, key=lambda c: (c.start, c.end, c.text))


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that do something when run: no annotation, decorator, option of a class, or
    piece of a formatted string (`ast` gives no positions for these)."""
    yield node
    left_out: list[object] = []
    if isinstance(node, ast.JoinedStr):
        return
    if isinstance(node, ast.arg | ast.AnnAssign):
        left_out = [node.annotation]
    elif isinstance(node, ast.FunctionDef):
        left_out = [node.returns, *node.decorator_list]
    elif isinstance(node, ast.ClassDef):
        left_out = [*node.decorator_list, *node.keywords]
    for child in ast.iter_child_nodes(node):
        if child not in left_out:
            yield from _code(child)


def _instead(node: ast.AST) -> Iterator[str]:
    """What we put instead of a node."""
    match node:
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            pass
        case ast.Compare():
            for i, operator in enumerate(node.ops):
                swapped = [*node.ops[:i], _COMPARED[type(operator)](), *node.ops[i + 1 :]]
                yield _text(ast.Compare(node.left, swapped, node.comparators))
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield _text(ast.BoolOp(other, node.values))
        case ast.UnaryOp(op=ast.Not()):
            yield _text(node.operand)
        case ast.BinOp(op=ast.Add()):
            yield _text(ast.BinOp(node.left, ast.Sub(), node.right))
        case ast.BinOp(op=ast.Sub()):
            yield _text(ast.BinOp(node.left, ast.Add(), node.right))
        case ast.Constant(value=bool(value)):
            yield str(not value)
        case ast.Constant(value=int(value)):
            yield str(value + 1)
            yield f"({value - 1})"
        case ast.Constant(value=float(value)):
            yield repr(value * 1.1 + 0.01)
        case ast.IfExp(test=test) if not isinstance(test, _REDUNDANT):
            yield _text(ast.IfExp(ast.UnaryOp(ast.Not(), test), node.body, node.orelse))
        case ast.Return(value=value) if value and not _is_none(value):
            yield "return None"
        case ast.Expr(value=ast.Call()) | ast.Assign() | ast.AugAssign() | ast.Raise():
            yield "pass"
        case ast.Continue():
            yield "break"
        case ast.Break():
            yield "continue"
        case _:
            pass


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _text(node: ast.expr) -> str:
    return f"({ast.unparse(ast.fix_missing_locations(node))})"


def broken(source: bytes, change: Change) -> bytes:
    """The source with the change."""
    return source[: change.start] + change.text.encode() + source[change.end :]


def difference(source: bytes, change: Change) -> str:
    """The lines that the change is in, before and after it."""
    first = source.rfind(b"\n", 0, change.start) + 1
    last = source.find(b"\n", change.end)
    before = source[first:last].decode()
    after = broken(source, change)[
        first : last + len(change.text.encode()) - change.end + change.start
    ]
    return "\n".join(
        f"    {sign} {line.strip()}"
        for sign, text in (("-", before), ("+", after.decode()))
        for line in text.splitlines()
    )


# -- running the tests -------------------------------------------------------------------------


def tests_of(module: str) -> list[str]:
    """Paths of the tests that touch a module, from `TESTS` or by what they import."""
    if module in TESTS:
        return [str(ROOT / "tests" / name) for name in TESTS[module]]
    dotted = "leftoff." + module.replace("/", ".")
    folder, _, name = dotted.rpartition(".")
    named = re.compile(
        rf"from {dotted} import|import {dotted}$|from {folder} import (?:\w+, )*{name}\b",
        re.MULTILINE,
    )
    found = [
        str(path)
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if named.search(path.read_text("utf-8"))
    ]
    called = "\n" + dotted.removeprefix("leftoff.") + "."
    if any(called in path.read_text("utf-8") for path in (ROOT / CALLS).parent.glob("calls/*")):
        found.append(str(ROOT / CALLS))
    if folder != "leftoff.formats":
        return found
    # Of the cases of all formats only those that the module reads, or all for a shared module.
    stems = [path.stem for path in sorted((ROOT / CASES).with_name("formats").iterdir())]
    own = [stem for stem in stems if name.startswith(stem) or stem.startswith(name)]
    chosen = [f"[{stem}:" for stem in own] + [Path(path).stem for path in found]
    chosen += [f"format_{stem}" for stem in own]
    return [*found, str(ROOT / CASES), *(["-k", " or ".join(chosen)] if own else [])]


def passes(tree: Path, tests: list[str], limit: float) -> bool:
    """Whether the tests pass with the package in this folder, within so many seconds."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        [*command, *tests],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            return process.wait(limit) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def try_all(module: str, tree: Path, tests: list[str], args: Any) -> list[Mutant]:
    """Breaks a module in the copy of the package, one place after the other."""
    place = tree / "leftoff" / f"{module}.py"
    source = place.read_bytes()
    every = changes(source)
    chosen = list(range(len(every)))
    if args.only:
        chosen = [*map(int, args.only)]
    elif len(every) > args.most:
        chosen = sorted(random.Random(f"{args.seed} {module}").sample(chosen, args.most))
    began = time.monotonic()
    if not passes(tree, tests, args.limit):
        sys.exit(f"{module}: the tests fail, or take too long, with nothing broken: {tests}")
    usual = time.monotonic() - began
    print(f"{module}: {len(every)} places, tests {usual:.1f} s", flush=True)
    tried: list[Mutant] = []
    try:
        for number in chosen:
            change = every[number]
            place.write_bytes(broken(source, change))
            began = time.monotonic()
            killed = not passes(tree, tests, min(args.limit, 4 * usual + 10))
            tried.append(Mutant(change, killed, time.monotonic() - began))
            if not killed:
                print(f"  {number}: {module}.py:{change.line} survived")
                print(difference(source, change), flush=True)
    finally:
        place.write_bytes(source)
    return tried


def main() -> int:
    args = options(__doc__, "modules+", tests=[], most=20, seed=1, only=[], limit=120.0)
    killed = total = 0
    with tempfile.TemporaryDirectory(prefix="leftoff-mutants-") as scratch:
        tree = Path(scratch)
        shutil.copytree(PACKAGE, tree / "leftoff", ignore=shutil.ignore_patterns("__pycache__"))
        # Compiled once; of a module that is written anew the tests compile the text.
        compileall.compile_dir(tree, quiet=1)
        for name in args.modules:
            module = name.removeprefix("src/leftoff/").removesuffix(".py")
            tried = try_all(module, tree, args.tests or tests_of(module), args)
            dead = sum(mutant.killed for mutant in tried)
            seconds = sum(mutant.seconds for mutant in tried)
            print(f"{module}: {dead} of {len(tried)} killed, {seconds:.0f} s", flush=True)
            killed, total = killed + dead, total + len(tried)
    print(f"{killed} of {total} mutants killed ({killed / max(1, total):.0%})")
    return 0 if killed == total else 1
