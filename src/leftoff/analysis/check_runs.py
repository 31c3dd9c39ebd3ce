"""Which checks a command line runs, and what its exit status says about each of them.

`runs_of` walks the parsed command (`leftoff.shell`) and names each program that checks the work
by `extraction/rules/check_tools.toml`, through wrappers, task runners and package managers.
`implied` turns the status of the whole line into those of its runs: the status of a pipe is
that of its last program, `a && b` succeeds if both do, `a || true` says nothing about `a`."""

from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct, structs

from leftoff import lazy_re as re
from leftoff.analysis.check_commands import WORDS, How, Run, identified, program_of
from leftoff.shell import analyze
from leftoff.shell.ast import (
    Command,
    Function,
    Group,
    Logical,
    Negated,
    Opaque,
    Pipeline,
    Redirect,
    Script,
    Sequence,
    Statement,
    Variable,
    Word,
    parts,
)
from leftoff.shell.commands import unwrapped
from leftoff.shell.per_command import per_command
from leftoff.tables import table

_RE = re.patterns(table(__file__, "patterns.toml")["check_runs"])

# A run's number, a node with its branches, or "quiet" (a command that hardly fails), "echo:X"
# (one that prints a line, X* where only its beginning is known), "stop" (one that always
# fails), "other".
Tree: TypeAlias = "int | tuple[str, tuple[Tree, ...]] | str"


class Line(Struct, frozen=True):
    """The checks of a command line. `reports`: what each printed `$?` is the status of."""

    runs: tuple[Run, ...] = ()
    tree: Tree = "other"
    pipefail: bool = False
    errexit: bool = False
    reports: tuple[tuple[Tree, bool], ...] = ()


# Lines that a filter has to show: a report may begin or end with a blank one.
_MIN_SHOWN = 3


def implied(tree: Tree, ok: bool, line: Line) -> dict[int, bool]:
    """What the status of a statement says about its runs, by their numbers."""
    if isinstance(tree, int):
        return {tree: ok}
    if isinstance(tree, str) or not tree[1]:
        return {}
    name, items = tree
    if name == "not":
        return implied(items[0], not ok, line)
    if name == "pipe":
        if line.pipefail and (ok or len(items) == 1):
            return _all(items, ok, line)
        if line.pipefail and numbers_of(tree) and not any(map(numbers_of, items[1:])):
            return implied(items[0], ok, line) if "grep" not in items[1:] else {}
        return implied(items[-1], ok, line)
    if name == "seq":
        if line.errexit:
            return _all(items, True, line) if ok else {}
        return implied(items[-1], ok, line)
    left, right = items
    if name == "and":
        if ok:
            return _all(items, True, line)
        if not _may_fail(left):
            return implied(right, False, line)
        return implied(left, False, line) if not _may_fail(right) else {}
    if name == "or":
        if not ok:
            return _unstopped(left, line) | implied(right, False, line)
        return implied(left, True, line) if right == "stop" else {}
    return {}


def _all(items: tuple[Tree, ...], ok: bool, line: Line) -> dict[int, bool]:
    found: dict[int, bool] = {}
    for item in items:
        found |= implied(item, ok, line)
    return found


def _unstopped(tree: Tree, line: Line) -> dict[int, bool]:
    """What the failure of a statement says whose exit code nothing shows: it may be the one of
    `timeout`, which stopped a run."""
    found = implied(tree, False, line)
    return {run: did for run, did in found.items() if did or not line.runs[run].how.timed}


def _may_fail(tree: Tree) -> bool:
    return any(
        isinstance(leaf, int) or leaf != "quiet" and not leaf.startswith("echo:")
        for leaf in _leaves(tree)
    )


def shown_by_later(
    tree: Tree, ran: frozenset[int], lines: frozenset[str], line: Line
) -> dict[int, bool]:
    """What the runs and the echoes that came after `&&` or `||` say about those before it.

    Args:
        tree: a statement.
        ran: the numbers of runs that printed something of their own.
        lines: the last lines of the output."""
    if isinstance(tree, int | str):
        return {}
    name, items = tree
    found: dict[int, bool] = {}
    for item in items:
        found |= shown_by_later(item, ran, lines, line)
    if name in {"and", "or"} and len(items) == 2:
        left, right = items
        came = ran.intersection(numbers_of(right)) or _echoed(right, lines)
        if came:
            found |= implied(left, True, line) if name == "and" else _unstopped(left, line)
    return found


def never_ran(tree: Tree, failed: frozenset[int], line: Line) -> set[int]:
    """The runs that came after `&&` and were not reached, because one before them failed."""
    if isinstance(tree, int | str):
        return set()
    found: set[int] = set()
    for item in tree[1]:
        found |= never_ran(item, failed, line)
    if tree[0] == "and" and failed.intersection(implied(tree[1][0], True, line)):
        found.update(numbers_of(tree[1][1]))
    return found


def _echoed(tree: Tree, lines: frozenset[str]) -> bool:
    """Whether the first thing that a statement prints stands in the output."""
    while isinstance(tree, tuple) and tree[1] and tree[0] in {"seq", "and"}:
        tree = tree[1][0]
    if not isinstance(tree, str) or len(tree) <= len("echo:") + 3:
        return False  # a program may print "OK", too
    return any(_is_echo(tree, line) for line in lines)


def _is_echo(leaf: Tree, line: str) -> bool:
    """Whether a line is the one that an echo prints."""
    if not isinstance(leaf, str) or not leaf.startswith("echo:"):
        return False
    return line.startswith(leaf[5:-1]) if leaf.endswith("*") else line == leaf[5:]


def printed_nothing(
    tree: Tree, number: int, first: tuple[str, ...], last: tuple[str, ...]
) -> bool:
    """Whether a run printed nothing, as the echoes before and after it show: they stand one
    under the other in the output, or it begins or ends with one of them.

    Args:
        number: of a run whose errors are among its output.
        first, last: the lines at both ends of the output."""
    leaves = list(_leaves(tree))
    place = leaves.index(number) if number in leaves else len(leaves)
    before, after = [
        next((leaf for leaf in side if str(leaf).startswith("echo:")), None)
        for side in (leaves[:place][::-1], leaves[place + 1 :])
    ]
    lines = last if before is not None else first
    at = []
    for echo in (before, after):
        places = [i for i, line in enumerate(lines) if echo and _is_echo(echo, line)]
        if echo is not None and (len(places) != 1 or leaves.count(echo) != 1):
            return False
        at += places
    if before is None:
        return at == [0]
    return at[-1] == (at[0] + 1 if after is not None else len(lines) - 1)


def _leaves(tree: Tree) -> Iterator[int | str]:
    if isinstance(tree, int | str):
        yield tree
        return
    for item in tree[1]:
        yield from _leaves(item)


def numbers_of(tree: Tree) -> list[int]:
    """The numbers of the runs of a statement that are run once if it is."""
    return [leaf for leaf in _leaves(tree) if isinstance(leaf, int)]


_NOTHING = Line()


@per_command
def runs_of(command: str, script: Script) -> Line:
    """The checks that a command line runs."""
    if "&amp;" in command or "&gt;" in command or "&lt;" in command:
        from html import unescape

        command = unescape(command)
        script = analyze(command)
    walk = _Walk()
    if isinstance(script.body, Opaque):
        tree = walk.powershell(command)
    else:
        merged = "|&" in command and not _RE["plain_pipe"].search(command)
        tree = walk.statement(script.body, How(merged=merged))
    if not walk.runs:
        return _NOTHING  # of thousands of commands, one object
    return Line(tuple(walk.runs), tree, walk.pipefail, walk.errexit, tuple(walk.reports))


@per_command
def tells_of_all(command: str, script: Script) -> bool:
    """Whether the success of a command line is that of all that it runs. A filter behind a
    pipe, a later command, `||` or a loop may succeed whatever the program before it did."""
    return _tells_of_all(script.body, strict="pipefail" in command)


def _tells_of_all(node: Statement, *, strict: bool) -> bool:
    if isinstance(node, Command):
        inner = _inner_script(_words(node))
        return inner is None or _tells_of_all(analyze(inner).body, strict="pipefail" in inner)
    if isinstance(node, Group):
        return _tells_of_all(node.item, strict=strict)
    if isinstance(node, Logical):
        sides = node.left, node.right
        return node.both and all(_tells_of_all(side, strict=strict) for side in sides)
    if not isinstance(node, Sequence | Pipeline):
        return False
    before = node.items[:-1]
    quiet = all(
        isinstance(i, Command) and program_of([*_words(i, 1), ""][0]) in WORDS["quiet"]
        for i in before
    )
    whole = quiet or strict and isinstance(node, Pipeline)
    return whole and all(_tells_of_all(item, strict=strict) for item in node.items)


def own_command(command: str, kind: str, tool: str) -> str:
    """The part of a command line that is a check itself, "" if it cannot be found.

    Args:
        kind, tool: of the check, as judged; a script's tool shows in its output alone."""
    runs = runs_of(command).runs
    for fits in (
        [r for r in runs if r.kind == kind and r.tool == tool],
        [r for r in runs if r.kind == kind and r.wrapper],
        [r for r in runs if r.tool == tool or r.wrapper],
    ):
        if fits:
            return " && ".join(dict.fromkeys(r.text for r in fits))
    return ""


def _redirected(how: How, redirects: tuple[Redirect, ...]) -> How:
    """How a command is run behind redirects."""
    if not redirects:
        return how
    shown, hidden, merged = how.shown, how.errors_hidden, how.merged
    for one in redirects:
        target = one.target
        if one.operator in {">", ">>", ">|"} and one.descriptor == 2:
            hidden = True
        elif one.operator in {">", ">>", ">|", "&>", "&>>"}:
            shown = "nothing"
        elif one.operator == ">&" and not (isinstance(target, str) and target.isdigit()):
            shown = "nothing"
        merged |= one.operator == ">&" and one.descriptor == 2 and target == "1"
    return structs.replace(how, shown=shown, errors_hidden=hidden, merged=merged)


def folders(command: str) -> list[str]:
    """The paths that a command line goes to (`cd`), as it writes them."""
    return ["".join(found) for found in _RE["folder"].findall(command)]


class _Walk:
    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.reports: list[tuple[Tree, bool]] = []
        self.pipefail = self.errexit = False

    def powershell(self, command: str) -> Tree:
        """The runs of a line that is not understood: each as if a filter followed."""
        for piece in re.split(r"[;\n]|&&|\|\|", command):
            first, _, rest = piece.partition("|")
            words = [w.strip("\"'") for w in first.split() if not re.match(r"\d?>|&$", w)]
            run = identified(words)
            if run is not None:
                shown = "all" if not rest else "tail" if "Select-Object -L" in rest else "grep"
                self.add(run, How(shown), words)
        return "other"

    def add(self, run: Run, how: How, words: list[str]) -> int:
        self.runs.append(structs.replace(run, text=" ".join(words), how=how))
        return len(self.runs) - 1

    def statement(self, node: Statement, how: How) -> Tree:
        if isinstance(node, Command):
            return self.command(node, how)
        if isinstance(node, Sequence):
            items: list[Tree] = []
            for item in node.items:
                report = _reports_status(item)
                if report and items:
                    self.reports.append((items[-1], report == "PIPESTATUS"))
                items.append(self.statement(item, how))
            return "seq", tuple(items)
        if isinstance(node, Logical):
            left = self.statement(node.left, how)
            if not node.both or _speechless(node.left):
                how = structs.replace(how, doubtful=True)
            return "and" if node.both else "or", (left, self.statement(node.right, how))
        if isinstance(node, Pipeline):
            return self.pipeline(node, how)
        if isinstance(node, Group):
            return self.statement(node.item, _redirected(how, node.redirects))
        if isinstance(node, Negated):
            return "not", (self.statement(node.item, how),)
        if isinstance(node, Function):
            return "quiet"
        for item in parts(node):  # loops, branches, jobs in the background
            self.statement(item, structs.replace(how, doubtful=True))
        return "other"

    def pipeline(self, node: Pipeline, how: How) -> Tree:
        limit, failure, dropped, showing = how.limit, how.mentions_failure, how.dropped, True
        filters: list[str] = []
        for item in node.items[1:]:
            words, shown = [""], "all"
            if isinstance(item, Command):
                words, shown = _words(item) or words, _redirected(how, item.redirects).shown
            name, rest = program_of(words[0]), " ".join(words[1:])
            pattern = _left_out(name, words)
            kind = "tail" if name in WORDS["tails"] else "rest" if pattern else "grep"
            if shown == "nothing" or name == "wc":
                kind = "nothing"
            elif name == "head":
                kind, number = "head", re.search(r"\d+", rest)
                limit = int(number[0][:6]) if number else 10
            elif kind == "rest":
                dropped = (*dropped, pattern)
            elif kind == "grep":
                failure = failure or bool(_RE["filters_of_failure"].search(rest))
            showing = showing and (bool(pattern) or _shows(name, rest))
            filters.append(kind)
        order = ("nothing", "grep", "rest", "head", "tail")
        how = structs.replace(
            how,
            shown=min((how.shown, *filters), key=(*order, "all").index),
            mentions_failure=failure,
            limit=limit,
            dropped=dropped,
            showing=showing,
        )
        leaves = {"tail": "quiet", "nothing": "other"}
        after = tuple(leaves.get(kind, "grep") for kind in filters)
        return "pipe", (self.statement(node.items[0], how), *after)

    def command(self, node: Command, how: How) -> Tree:
        words = _words(node)
        if not words:
            return "quiet"
        name = program_of(words[0])
        if name == "set":
            self.pipefail |= "pipefail" in words
            letters = "".join(w[1:] for w in words[1:] if w[:1] == "-")
            self.errexit |= "e" in letters.replace("pipefail", "")
            return "quiet"
        if name == "echo" and words[1:] and words[1][:1] != "-":
            said, variable, _ = " ".join(words[1:]).strip().partition("$")
            if len(said) > 1:
                return f"echo:{said}*" if variable else f"echo:{said}"
        if name in WORDS["quiet"]:
            return "quiet"
        if name in {"exit", "return", "false"}:
            return "quiet" if words[1:] == ["0"] else "stop"
        how = _redirected(how, node.redirects)
        launched, _ = unwrapped(words, tasks=True)
        names = set(map(program_of, words[: len(words) - len(launched) + 1]))
        timed = how.timed or not WORDS["timers"].isdisjoint(names)
        if timed or not WORDS["killers"].isdisjoint(names):
            how = structs.replace(how, doubtful=True, timed=timed)
        inner = _inner_script(words)
        if inner is not None:
            return self.statement(analyze(inner).body, how)
        run = identified(words)
        return "other" if run is None else self.add(run, how, words)


def _speechless(node: Statement) -> bool:
    """Whether a statement may fail and print nothing."""
    while isinstance(node, Logical | Sequence):
        if isinstance(node, Logical) and _speechless(node.left):
            return True
        node = node.right if isinstance(node, Logical) else node.items[-1]
    if not isinstance(node, Command):
        return not isinstance(node, Pipeline | Group)
    words = _words(node)
    return bool(words) and program_of(words[0]) in WORDS["speechless"]


def _shows(name: str, rest: str) -> bool:
    """Whether a filter of a pipe shows some line of any output."""
    if name in {"tail", "head"} and rest:
        count = _RE["shown_lines"].fullmatch(rest)
        return count is not None and int(count[1]) >= _MIN_SHOWN
    return name in {"tail", "head", "cat", "tee"}


def _left_out(name: str, words: list[str]) -> str:
    """The pattern of the lines that `grep -v` leaves out, "" where it is not that plain: of
    filters it alone can leave lines out and show whatever else comes."""
    options = "".join(word[1:] for word in words[1:] if word[:1] == "-")
    patterns = [word for word in words[1:] if word[:1] != "-"]
    if "v" not in options or not set(options) <= set("vEeiaF") or len(patterns) != 1:
        return ""
    return patterns[0].replace("\\|", "|") if name in {"grep", "egrep"} else ""


def _words(node: Command, most: int | None = None) -> list[str]:
    return [word if isinstance(word, str) else _literal(word) for word in node.words[:most]]


def _literal(word: Word) -> str:
    return "".join(part if isinstance(part, str) else "$" for part in word.parts)


def _reports_status(node: Statement) -> str:
    """Which variable a statement prints as a status: "?", "PIPESTATUS" or ""."""
    while isinstance(node, Logical | Group):
        node = node.left if isinstance(node, Logical) else node.item
    if not isinstance(node, Command) or _words(node, 1) not in (["echo"], ["printf"]):
        return ""
    for word in node.words:
        for part in word.parts if isinstance(word, Word) else ():
            if isinstance(part, Variable) and part.name in {"?", "PIPESTATUS"}:
                return part.name
    return ""


def _inner_script(words: list[str]) -> str | None:
    """The script of `bash -lc "..."`, behind launchers such as `timeout 60`."""
    _, script = unwrapped(words)
    if script:
        return script
    names = [program_of(word) for word in words[:8]]
    at = next((n for n, name in enumerate(names) if name in WORDS["shells"]), len(words))
    for n in range(at + 1, min(at + 5, len(words) - 1)):
        if _RE["command_option"].fullmatch(f"{names[at]} {words[n]}"):
            return " ".join(words[n + 1 :]) if names[at] == "cmd" else words[n + 1]
    return None
