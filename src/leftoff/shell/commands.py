"""What programs do to files, given their arguments.

The rules are data: `commands.toml` says for each program which options take a value,
which operands it reads, writes or changes, and examples that must and must not fire. A program
whose arguments need more than that names a handler of `programs/`."""

from functools import cache, lru_cache
from typing import Any

import msgspec

from leftoff.shell import ast
from leftoff.tables import table


class ProgramRule(msgspec.Struct, frozen=True):
    """The rule for one program, or for several that behave alike.

    Attributes:
        names: Program names; two words for a program with subcommands.
        kind: ``inert`` (no effect on files), ``table`` (the fields below say it),
            ``opaque`` (may change files whose paths are not known).
        operands: What happens to operands: ``read``, ``write``, ``append``, ``modify``,
            ``touch``, ``tree`` (read, directories as well) or ``none``.
        skip: Leading operands that are no files.
        skip_unless: Options that give what the skipped operand would have given.
        last: What happens to the last of several operands, where that differs.
        takes: Options that take a value, those of `roles` and `code` as well.
        roles: Options whose value is a file, and what happens to it.
        in_place: Options with which operands are changed, not read; appended to, not written;
            addresses whose last part is written.
        bundles: Whether several letters stand behind one dash; else all of it is one option.
        suffix: Whether what is attached to such an option ends the name of a copy.
        recursive: Options with which directories are read as trees.
        fails: ``normal`` where a non-zero exit says nothing about the effects; ``contents``
            where it may come from what a file holds, as of a compiler.
        reliable: Whether the program hardly ever fails.
        formats: Whether an opaque program formats or mends the files that it changes.
        builds: Whether an opaque program makes files and leaves those that it reads alone, as a
            build or a task that tests; not with what `may_write` matches.
        looks: Options with which an opaque program or a script changes nothing.
        may_write: A pattern of words with which a program may change files that are not known.
        script: Options end at the first operand, which is a script with operands of its own.
        code: Options whose value is a script.
        prints: What an opaque program prints of each file: a pattern for one line that captures
            the path as `made` or `changed`.
        handler: A handler in `programs.dispatch.HANDLERS`, which then decides; else empty.
        fires: Examples: files before, command, effects.
        silent: Commands that must have no effect."""

    names: tuple[str, ...]
    kind: str = "table"
    operands: str = "none"
    skip: int = 0
    skip_unless: tuple[str, ...] = ()
    last: str = ""
    takes: frozenset[str] = frozenset()
    roles: dict[str, str] = {}
    in_place: tuple[str, ...] = ()
    bundles: bool = True
    suffix: bool = False
    recursive: tuple[str, ...] = ()
    fails: str = ""
    reliable: bool = False
    formats: bool = False
    builds: bool = False
    looks: tuple[str, ...] = ()
    may_write: str = ""
    script: bool = False
    code: tuple[str, ...] = ()
    prints: str = ""
    handler: str = ""
    fires: tuple[tuple[str, str, str], ...] = ()
    silent: tuple[str, ...] = ()


class Launcher(msgspec.Struct, frozen=True):
    """A program that runs another one; `commands.toml` says what the fields mean.

    Attributes:
        runs: Examples: command, the program that it runs with its words.
        silent: Commands that run none."""

    names: tuple[str, ...]
    after: tuple[str, ...] = ()
    takes: frozenset[str] = frozenset()
    skip: int = 0
    script: tuple[str, ...] = ()
    tasks: bool = False
    runs: tuple[tuple[str, str], ...] = ()
    silent: tuple[str, ...] = ()


class ProgramRules(msgspec.Struct, frozen=True):
    """All rules, the launchers, and the names of programs that are reliable or have
    subcommands."""

    by_name: dict[str, ProgramRule]
    rules: tuple[ProgramRule, ...]
    reliable: frozenset[str]
    with_subcommands: frozenset[str]
    launchers: dict[str, Launcher]


def load(document: dict[str, Any]) -> ProgramRules:
    """The knowledge that a parsed TOML document holds.

    Raises:
        msgspec.ValidationError: A rule does not have the shape of `ProgramRule`."""
    listed = ("takes", "code", "roles")
    rules = tuple(
        msgspec.convert(
            item | {"takes": {option for name in listed for option in item.get(name, ())}},
            ProgramRule,
        )
        for item in document["command"]
    )
    by_name = {name: rule for rule in rules for name in rule.names}
    wrappers = (rule for rule in rules if rule.handler == "wrapper")
    launchers = [Launcher(rule.names, takes=rule.takes, skip=rule.skip) for rule in wrappers]
    launchers += msgspec.convert(document.get("launcher", []), list[Launcher])
    return ProgramRules(
        by_name,
        rules,
        frozenset(name for rule in rules if rule.reliable for name in rule.names),
        frozenset(name.partition(" ")[0] for name in by_name if " " in name),
        {name: launcher for launcher in launchers for name in launcher.names},
    )


@cache
def program_rules() -> ProgramRules:
    """The rules that ship with the package."""
    return load(table(__file__, "commands.toml"))


# Launchers behind each other that are looked through. Chosen by hand.
_MAX_LAUNCHERS = 6


def unwrapped(words: list[str], *, tasks: bool = False) -> tuple[list[str], str]:
    """The words of the program that is run behind launchers such as ``sudo`` or ``uv run``, and
    the command line where one is given as a string (``nix-shell --run "…"``), else "".

    Args:
        words: of a command.
        tasks: look through launchers whose operand may be the name of a task."""
    for _ in range(_MAX_LAUNCHERS):
        launcher = program_rules().launchers.get(words[0].rpartition("/")[2]) if words else None
        if launcher is None or launcher.tasks and not tasks:
            break
        for option in launcher.script:
            if option in words[:-1]:
                return words, words[words.index(option) + 1]
        inner = behind(launcher, words)
        if not inner:
            break
        words = inner
    return words, ""


def behind(launcher: Launcher, words: list[str]) -> list[str]:
    """What stands behind a launcher and its own options and operands; [] for no program."""
    i, wanted = 1, launcher.after
    skip = launcher.skip
    if launcher.script or words[0].endswith("command") and words[1:2] in (["-v"], ["-V"]):
        return []
    while i < len(words):
        word = words[i]
        if word in launcher.takes:
            i += 2
        elif word == "--":
            return words[i + 1 :] if not wanted else []
        elif word[:1] == "-" or "=" in word and word.partition("=")[0].isidentifier():
            i += 1
        elif wanted:
            if word in wanted:
                wanted = ()
            elif word != "compose":
                return []
            i += 1
        elif "@" in word and "--" in words[i:]:  # `mise exec go@1.22 -- go test`
            i = words.index("--", i)
        elif skip:
            skip -= 1
            i += 1
            if not skip and words[i : i + 1] != ["--"]:
                return words[i:]
        else:
            return words[i:]
    return []


class Invocation:
    """One program with its arguments taken apart.

    Attributes:
        name: The program, without its directory.
        words: All arguments.
        flags: Options that were given: ``-r`` (letters apart), ``--force``.
        values: Option values, in order, by option.
        operands: The rest.
        entry: The rule of the program."""

    __slots__ = ("entry", "flags", "name", "operands", "values", "words")

    def __init__(self, name: str, words: list[str], entry: ProgramRule) -> None:
        self.name = name
        self.words = words
        self.entry = entry
        self.flags: set[str] = set()
        self.values: dict[str, list[str]] = {}
        self.operands: list[str] = []
        takes = entry.takes
        i, size = 0, len(words)
        while i < size:
            word = words[i]
            i += 1
            if word[:1] != "-" or word == "-":
                self.operands.append(word)
                if entry.script:
                    self.operands += words[i:]
                    break
            elif word == "--":
                self.operands.extend(words[i:])
                break
            elif word[:2] == "--" or word in takes or not entry.bundles:
                option, found, value = word.partition("=")
                self.flags.add(option)
                if found:
                    self.values.setdefault(option, []).append(value)
                elif option in takes and i < size:
                    self.values.setdefault(option, []).append(words[i])
                    i += 1
            else:
                i = self._letters(word, words, i, takes)

    def _letters(self, word: str, words: list[str], i: int, takes: frozenset[str]) -> int:
        for j in range(1, len(word)):
            option = "-" + word[j]
            self.flags.add(option)
            if option in takes:
                value = word[j + 1 :]
                if not value and i < len(words):
                    value = words[i]
                    i += 1
                self.values.setdefault(option, []).append(value)
                break
            # `sed -i.bak`: what follows `-i` is a suffix, not more options.
            if word[j] == "i" and option in self.entry.in_place:
                self.values[option] = [word[j + 1 :]]
                break
        # It may be one long option with a single dash: `find -delete`.
        if len(word) > 2:
            self.flags.add(word)
        return i

    def has(self, *options: str) -> bool:
        """Whether one of these options was given."""
        return not self.flags.isdisjoint(options)

    def suffix(self) -> str:
        """How the name of the backup of a file changed in place ends."""
        return (self.entry.suffix and self.value(*self.entry.in_place)) or ""

    def value(self, *options: str) -> str | None:
        """The last value of an option, if given."""
        for option in options:
            if option in self.values:
                return self.values[option][-1]
        return None


_QUIET_GIT = frozenset(
    "status log diff show add commit push fetch branch remote tag config rev-parse show-ref"
    " describe blame ls-files reflog shortlog grep rev-list merge-base cat-file"
    " for-each-ref symbolic-ref ls-remote".split()
)
# Programs with at most so many words besides options are quiet in a pipe; 99 for any number.
_MAX_QUIET_OPERANDS = {
    name: limit
    for limit, names in (
        (0, "head tail wc sort uniq cut cat column tac nl"),
        (1, "grep egrep fgrep jq"),
        (99, "echo printf ls pwd true seq basename dirname tr [ [[ test"),
        (99, "break continue exit false"),
    )
    for name in names.split()
}


def is_quiet(body: ast.Statement) -> bool:
    """Whether no program of a statement reads or changes a file by name, so that there is
    nothing to follow."""
    stack: list[ast.Statement] = [body]
    while stack:
        node = stack.pop()
        if type(node) is ast.Command:
            if node.words and not _is_quiet_command(node):
                return False
            for item in node.redirects:
                if (
                    item.operator != ">&"
                    and item.target != "/dev/null"
                    and (item.operator[0] != "<" or not isinstance(item.target, ast.Document))
                ):
                    return False
            if node.assignments:
                stack += ast.substituted(value for _, value in node.assignments)
        elif isinstance(node, ast.Loop):
            stack += ast.substituted(node.values or ())
        elif isinstance(node, ast.Opaque | ast.Function) or (
            isinstance(node, ast.Group) and node.redirects
        ):
            return False
        stack += ast.parts(node)
    return True


def _is_quiet_command(node: ast.Command) -> bool:
    words = node.words
    name = words[0]
    if not isinstance(name, str):
        return False
    if name == "git":
        at = 3 if len(words) > 3 and words[1] in ("-C", "-c") else 1
        written = any(isinstance(w, str) and w.startswith("--output") for w in words)
        return len(words) > at and words[at] in _QUIET_GIT and not written
    limit = _MAX_QUIET_OPERANDS.get(name)
    if limit is not None:
        count = 0
        taken = name in ("head", "tail")
        for word in words[1:]:
            if isinstance(word, str) and word[:1] == "-":
                # `grep -r`, `sort -o out`, `grep -f list`: these name files.
                if len(word) > 1 and word[1] in "rRof" and limit < 9:
                    return False
            # `head -n 5`: the number belongs to the option.
            elif not (taken and isinstance(word, str) and word.isdecimal()):
                count += 1
        return count <= limit
    if name == "cd":
        return len(words) == 2 and words[1] != "-"
    rule = program_rules().by_name.get(name)
    if rule is None or rule.kind != "inert":
        second = words[1] if len(words) > 1 else ""
        rule = program_rules().by_name.get(f"{name} {second}")
    return rule is not None and rule.kind == "inert"


def programs_of(body: ast.Statement) -> tuple[tuple[str, str], ...]:
    """The programs of a statement, each as `program_of` names it."""
    found = [
        program_of([word for word in command.words if isinstance(word, str)])
        for _, command in ast.named_commands(body)
    ]
    return tuple(_same(*pair) for pair in found if pair[0])


@lru_cache(maxsize=4096)
def _same(program: str, sub: str) -> tuple[str, str]:
    # 12,500 commands of 500 MB run 1,600 different ones.
    return program, sub


def program_of(words: list[str]) -> tuple[str, str]:
    """The program behind its launchers and its subcommand; ``""`` where there is none."""
    name, rest = _own_words(words)
    sub = next((word for word in rest if word[:1] != "-"), "")
    if name in ("bash", "sh", "zsh") and "-c" in rest[:2]:
        return name, "-c"
    # A longer word is text, not a subcommand; the limit was chosen by hand.
    return name, "" if ast.UNKNOWN in sub or len(sub) > 60 or "\n" in sub else sub


def _own_words(words: list[str]) -> tuple[str, list[str]]:
    """The program behind its launchers, ``""`` for none, and its words without the options that
    stand before a subcommand."""
    words, _ = unwrapped(words)
    name, rest = words[0].rpartition("/")[2] if words else "", words[1:]
    launcher = program_rules().launchers.get(name)
    if not words or launcher is not None and not launcher.after:
        return "", []  # it runs nothing: `env`, `command -v x`
    if name.startswith("python") and rest[:1] == ["-m"] and len(rest) > 1:
        name, rest = rest[1], rest[2:]
    # `git -C folder status`, `cargo +nightly fmt`: options before the subcommand.
    while rest and rest[0][:1] in ("-", "+") and name in ("git", "cargo", "npm", "pnpm", "go"):
        rest = rest[2:] if rest[0] in ("-C", "-c", "--prefix", "--git-dir") else rest[1:]
    return name, rest


# Options with which a check mends what it finds: behind the name of a script, too.
_MENDS = frozenset({"--fix", "--write", "--autocorrect"})


@cache
def _formatters() -> frozenset[str]:
    known = program_rules().by_name
    return frozenset(name.partition(" ")[0] for name, rule in known.items() if rule.formats)


def mending(command: str, script: ast.Script) -> list[list[str]]:
    """The words of the commands of a line that rewrite files: formatters, and checks that mend
    what they find."""
    formats = not _formatters().isdisjoint(name for name, _ in script.programs)
    if not formats and not any(option in command for option in _MENDS):
        return []
    found = [
        [word for word in one.words if isinstance(word, str)]
        for _, one in ast.named_commands(script.body)
    ]
    return [words for words in found if _mends(words)]


def _mends(words: list[str]) -> bool:
    name, rest = _own_words(words)
    known = program_rules().by_name
    rule = known.get(f"{name} {rest[0]}") if rest else None
    rule = rule or known.get(name)
    if rule is None or not rule.formats:
        asked = not _MENDS.isdisjoint(rest) and not {"--check", "--dry-run"} & {*rest}
        # What any other program writes with such an option is not known.
        return asked and rule is not None and rule.kind == "inert"
    if not {"--help", "--version", *rule.looks}.isdisjoint(rest):
        return False
    return not rule.in_place or Invocation(name, rest, rule).has(*rule.in_place)
