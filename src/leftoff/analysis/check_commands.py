"""Which check a single program call is, through wrappers, task runners, package managers.

The programs are those of `extraction/rules/check_tools.toml`. What is called by a name ("npm
run test:unit", "make lint", "scripts/check.sh") is of the kind that the name says, and its tool
shows in its output."""

from collections.abc import Sequence

from msgspec import Struct, structs

from leftoff import lazy_re as re
from leftoff.extraction.rule_sets import CHECK_TOOLS, CheckTool
from leftoff.shell.ast import Script
from leftoff.shell.commands import mending, unwrapped
from leftoff.shell.paths import is_temporary
from leftoff.shell.per_command import per_command
from leftoff.tables import table, word_sets

_TABLE = table(__file__, "check_commands.toml")
_RE = re.patterns(_TABLE["patterns"])
WORDS = word_sets(_TABLE["words"])


class How(Struct, frozen=True):
    """How a command is run.

    Attributes:
        shown: how much of the output is shown: all | tail | head | rest | grep | nothing.
        limit: the lines that `head` shows.
        dropped: of "rest", patterns of the lines that a filter leaves out.
        mentions_failure: the filter looks for failures.
        showing: behind a pipe of filters that show some line of any output.
        errors_hidden: its error stream is thrown away.
        merged: errors go where the output goes.
        doubtful: it may not run, or not to its end.
        timed: behind `timeout`, which may stop it."""

    shown: str = "all"
    limit: int = 0
    dropped: tuple[str, ...] = ()
    mentions_failure: bool = False
    showing: bool = False
    errors_hidden: bool = False
    merged: bool = False
    doubtful: bool = False
    timed: bool = False

    @property
    def bare(self) -> bool:
        """Whether it printed nothing if nothing was shown."""
        through = self.shown in {"tail", "head", "rest"} and self.showing
        return through and self.merged and not self.doubtful


class Run(Struct, frozen=True):
    """One check that a command line runs.

    Attributes:
        tool: name in `check_tools.toml`; "" where only the output can tell.
        kind: test | build | lint | typecheck | format | other.
        scope: what it runs on, as the command names it.
        wrapper: a task runner or script that runs tools which the command does not name.
        weak: a script by whose name alone nothing can be said.
        script: the name of a package manager's script.
        text: the words of its own command, without redirects and what it is piped into."""

    tool: str
    kind: str
    scope: str = ""
    wrapper: bool = False
    weak: bool = False
    script: str = ""
    text: str = ""
    how: How = How()


_BY_COMMAND: dict[str, CheckTool] = {
    command: tool for tool in CHECK_TOOLS for command in tool.commands
}
BY_NAME: dict[str, CheckTool] = {tool.name: tool for tool in CHECK_TOOLS}

# Code points of a scope. Chosen by hand; not measured.
MAX_SCOPE = 160

_SCRIPTS, _GOALS = re.patterns(_TABLE["scripts"]), re.patterns(_TABLE["goals"])


def kind_of_script(name: str) -> str:
    """The kind of check that a script or target is called by, "" if it is none."""
    if _RE["skipped_script"].search(name):
        return ""
    low = name.lower()
    return next((kind for kind, pattern in _SCRIPTS.items() if pattern.search(low)), "")


def _kind_of_all(names: Sequence[str]) -> str:
    """The kind of several scripts or targets that are run together, "" if none is a check."""
    kinds = {kind for name in names if (kind := kind_of_script(name))}
    return "other" if len(kinds) > 1 else "".join(kinds)


def identified(words: list[str], depth: int = 0) -> Run | None:
    """The check that one program call is, None if it is none."""
    if depth > 4 or not words or not WORDS["no_run"].isdisjoint(words[1:3]):
        return None
    if any(word[:1] == "-" and word in WORDS["no_run"] for word in words[3:10]):
        return None
    inner, _ = unwrapped(words, tasks=True)
    if len(inner) != len(words):
        check = identified(inner, depth + 1)
        launched = {"--", "exec", "x"}.intersection(words[: len(words) - len(inner)])
        if check is not None or launched or program_of(words[0]) not in WORDS["tasks"]:
            return check
    name, rest = program_of(words[0]), words[1:]
    if _RE["interpreters"].match(name) or name == "coverage":
        module = _RE["module"].match(" ".join(rest[:6]))
        if module is not None:
            return identified(rest[rest.index("-m") + 1 :], depth + 1)
        behind = _behind(name, rest, depth)
        if behind is not None:
            return behind
    if name in WORDS["managers"] or name in {"turbo", "nx"}:
        return _managed(name, rest, depth)
    places = _operands(rest)
    operands = [rest[place] for place in places]
    tool = _BY_COMMAND.get(name)
    for place in (*places[:1], 0):
        second = f"{name} {''.join(rest[place : place + 1])}"
        if second in _BY_COMMAND:
            tool, rest = _BY_COMMAND[second], rest[place + 1 :]
            break
    if name in WORDS["tasks"] and (tool is None or tool.name in {"", "make"}):
        return _target(name, [o for o in operands if o not in WORDS["run"]])
    if tool is None:
        return _script(name, rest)
    if tool.name == "go test" and _RE["no_tests"].search(" ".join(rest)):
        return None
    if tool.needs and not any(w.split("=")[0] in tool.needs for w in rest):
        return None
    kind = tool.kind
    if tool.name in {"gradle", "maven"}:
        goals = [o.rpartition(":")[2] for o in operands]
        kinds = (kind for kind, goal in _GOALS.items() if any(map(goal.search, goals)))
        kind = next(kinds, "")
        tool = structs.replace(tool, kind=kind)
    return Run(tool.name, kind, _scope(rest, tool)) if kind else None


@per_command
def mending_runs(command: str, script: Script) -> tuple[Run | None, ...]:
    """The checks whose programs a command line runs to mend what the check would find; None for
    a program that rewrites files and is known as no check."""
    return tuple(map(_mended_by, mending(command, script)))


def _mended_by(words: list[str]) -> Run | None:
    plain = [word for word in words if word not in WORDS["mends"]]
    run = identified([*plain, "--check", "-l"])
    return structs.replace(run, text=" ".join(plain)) if run is not None else None


def covers(fix: Run | None, tool: str, runs: Sequence[Run]) -> bool:
    """Whether a run of a formatter is of the same program and on all that runs looked at. What
    a linter mends is not all that it finds, and its run is a check of its own."""
    if fix is None or fix.kind != "format" or fix.tool != tool:
        return False
    own = _program(fix, tool)
    if any(own != (_program(run, tool) or own) for run in runs):
        return False
    mended = _places(fix)
    return not mended or all(
        any(path == place or path.startswith(f"{place}/") for place in mended)
        for run in runs
        for path in _places(run) or ["."]
    )


def _program(run: Run, tool: str) -> str:
    """Which of the programs that share the name of a tool a run calls, "" for none of them."""
    text = f" {run.text} ".replace("/", " ")
    return next((name for name in BY_NAME[tool].commands if f" {name} " in text), "")


def _places(run: Run) -> list[str]:
    """The paths that a run is about, [] for everything; a scope leaves `src` out."""
    src = ["src"] if "src" in run.text.split() else []
    return [path.rstrip("/") for path in run.scope.split()] or src


def places_of(run: Run, tool: str) -> list[str]:
    """The files and folders that a run of a tool looks at, as its command names them, "." for
    where it runs; [] where they do not tell what it checks: files of tests, of what a build
    writes, and whatever a script runs."""
    known = BY_NAME.get(tool)
    if known is None or known.scope or known.kind == "other" or tool in WORDS["of_outputs"]:
        return []
    text = run.text.split()
    if run.wrapper and not run.script or any(map(_RE["no_place"].match, text)):
        return []
    words = [word.replace("\\", "/") for word in run.scope.split()]
    paths = [word for word in words if "/" in word and "@" not in word]
    if run.kind == "test":  # or part of a name
        packages = tool == "go test" and all(path[:1] == "." for path in paths)
        if paths and not packages or _RE["level"].search(run.scope):
            return []
    if not paths:
        return ["."]
    # What a scope leaves out.
    words += [word for word in text if word in WORDS["everything"] and word != "--"]
    return [_RE["below_place"].sub("", word) or "." for word in words]


def program_of(word: str) -> str:
    """The name of a program."""
    name = word.replace("\\", "/").rpartition("/")[2]
    return name[:-4] if name.endswith((".exe", ".cmd", ".bat")) else name


def _behind(name: str, rest: list[str], depth: int) -> Run | None:
    """The check that an interpreter's first operand names, or one of `coverage`'s."""
    for i in range(min(len(rest), 12)):
        word = rest[i]
        base = program_of(word)
        if word[:1] == "-" or "=" in word:
            continue
        if base in _BY_COMMAND or f"{base} {(rest[i + 1 : i + 2] or [''])[0]}" in _BY_COMMAND:
            return identified([base, *rest[i + 1 :]], depth + 1)
        if name != "coverage":
            break
    return None


def _operands(words: list[str]) -> list[int]:
    """Where the operands stand among the words behind a program."""
    found: list[int] = []
    skip = False
    for place, word in enumerate(words):
        if skip:
            skip = False
        elif word[:1] == "-":
            skip = word in WORDS["takes"]
        elif "=" not in word:
            found.append(place)
    return found


def _managed(name: str, rest: list[str], depth: int) -> Run | None:
    """The check of a package manager's script, or of the program that it starts."""
    places = _operands(rest)
    operands = [rest[place] for place in places]
    if name == "bun" and operands[:1] == ["test"]:
        return Run("bun", "test", _scope(rest[1:], BY_NAME["bun"]))
    if name in {"turbo", "nx"}:
        named = [w.split("=")[-1].rpartition(":")[2] for w in rest if w not in WORDS["run"]]
        kind = _kind_of_all(named)
        return Run(name, kind, "", True) if kind else None
    while operands and (operands[0] in WORDS["run"] or operands[0] == "workspace"):
        operands = operands[2:] if operands[0] == "workspace" else operands[1:]
    if not operands:
        return None
    script, place = operands[0], places[-len(operands)]
    base = program_of(script)
    known = base in _BY_COMMAND and base not in WORDS["managers"]
    if known or " ".join(operands[:2]) in _BY_COMMAND:
        return identified([base, *rest[place + 1 :]], depth + 1)
    if name in {"npx", "bunx"} or script in {"install", "add", "i", "ci", "create", "init"}:
        return None
    kind = kind_of_script(script)
    if not kind:
        return None
    return Run("npm", kind, _script_scope(place, kind, rest), True, script=script)


def _script_scope(place: int, kind: str, rest: list[str]) -> str:
    """A script's name, which stands at a place, where it says more than its kind, the package
    that it runs in, and what the words after its name choose."""
    script = rest[place]
    named = [script] if re.search(r"[:._-]\w", script) or _RE["level"].search(script) else []
    for before, word in zip(["", *rest], rest, strict=False):
        option, _, value = word.partition("=")
        if value and option in WORDS["packages"]:
            named.append(value)
        elif before in WORDS["packages"] and word not in WORDS["run"]:
            named.append(word)
    if rest[:1] == ["workspace"]:
        named += rest[1:2]
    chosen = _scope(rest[place + 1 :], CheckTool("", kind, ()))
    return _bounded([*named, *(word for word in chosen.split() if word not in named)])


def _bounded(words: list[str]) -> str:
    """Whole words, and of a pattern whole alternatives, with "…" where some are left out."""
    text = " ".join(words)
    if len(text) <= MAX_SCOPE:
        return text
    cut = max(text.rfind(" ", 0, MAX_SCOPE), text.rfind("|", 0, MAX_SCOPE))
    return f"{text[: cut if cut > 0 else MAX_SCOPE - 2]} …"


def _is_value(before: str, word: str, needs: tuple[str, ...] = ()) -> bool:
    """Whether a word is the value of the option before it, as far as their forms say.

    Args:
        needs: flags of the tool, which take none."""
    if before[:1] != "-" or before == "--" or "=" in before or before in needs:
        return False
    if before in WORDS["valued"] or _RE["amount"].fullmatch(word):
        return True
    long = len(before) > 2 or before in {"-D", "-A"}
    return long and "/" not in word and "." not in word


def _target(name: str, targets: list[str]) -> Run | None:
    """The check that a target of a task runner is."""
    tool = "make" if name in {"make", "gmake"} else ""
    if not targets:
        return Run(tool, "build", "", True) if tool else None
    kind = _kind_of_all(targets)
    if not kind:
        return Run(tool, "build", "all", True) if targets == ["all"] else None
    scope = [t for t in targets if re.search(r"[:._-]\w", t) or _RE["level"].search(t)]
    return Run(tool, kind, _bounded(scope), True)


def _script(name: str, rest: list[str]) -> Run | None:
    """A script of the project that is called by what it checks."""
    path = name
    weak = bool(_RE["interpreters"].match(name))
    if weak or name in WORDS["shells"]:
        path = next((w for w in rest if w[:1] != "-"), "")
        if weak and "-c" in rest[:2] or "-e" in rest[:2]:
            return None
    elif not name.endswith((".sh", ".py", ".ps1", ".bat")):
        return None
    if is_temporary(path):
        return None  # a script of the moment, not of the project
    stem = re.sub(r"\.\w+$", "", program_of(path))
    kind = kind_of_script(stem)
    if not kind and not _RE["skipped_script"].search(stem) and _RE["test_script"].search(path):
        kind, weak = "test", True
    # `check-missing.sh` may end well whatever it finds.
    weak = weak or path.endswith(".py") or kind == "other" and bool(_RE["looks"].match(stem))
    return Run("", kind, program_of(path), True, weak) if kind else None


def _scope(rest: list[str], tool: CheckTool) -> str:
    """What a tool runs on, as its arguments say: filters of tests first, since what is cut at
    the end must not make a few tests a whole package, then paths and packages."""
    found = [tool.scope] if tool.scope else []
    filters: list[str] = []
    wanted, chosen = False, found
    for before, word in zip(["", *rest], rest, strict=False):
        option, _, value = word.partition("=")
        if wanted and word[:1] != "-":
            chosen += [word] if word[:3] != "no:" else []
            wanted = False
        elif word[:1] == "-":
            of_tests = option in WORDS["scopes"] and tool.kind == "test"
            if of_tests or option in WORDS["folders"]:
                chosen = filters if of_tests else found
                chosen += [value] if value else []
                wanted = not value
            elif tool.kind == "test" and option in WORDS["narrows"]:
                filters.append(word)
        elif word not in WORDS["everything"] and word != "run" and "=" not in word:
            if not _is_value(before, word, tool.needs) and not _RE["amount"].fullmatch(word):
                found.append(word)
    return _bounded([*filters, *found])
