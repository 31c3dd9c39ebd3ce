"""Applies one simple command: by the rule of its program, or by a handler."""

from collections.abc import Callable

from leftoff import lazy_re as re
from leftoff.shell import operations as ops
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.commands import Invocation, ProgramRule, ProgramRules, program_rules
from leftoff.shell.interpreter import raised
from leftoff.shell.programs import builtins, coreutils, git, interpreters, wrappers
from leftoff.shell.programs.wrappers import launched, only_looks, record_run, run_text
from leftoff.shell.state import Status, Walk, both_succeed
from leftoff.shell.statements import RESERVED

_MODULES = (builtins, coreutils, git, interpreters, wrappers)
# The functions ``_run_NAME`` of the modules, by the name that a rule gives as `handler`.
HANDLERS: dict[str, Callable[[Walk, Invocation], Status]] = {
    name.removeprefix("_run_"): handler
    for module in _MODULES
    for name, handler in vars(module).items()
    if name.startswith("_run_") and handler.__module__ == module.__name__
}


def execute(walk: Walk, line: list[str]) -> Status:
    """Apply the effects of one command and return its status.

    A program without a rule may have changed any file: an ``unknown`` effect names it, and of
    git the subcommand."""
    name = walk.tool
    status = _execute(walk, line, name)
    if name == "git" and len(line) > 1:
        walk.effects.name_unknown(name, f"{name} {line[1]}")
    return status


def _execute(walk: Walk, line: list[str], name: str) -> Status:
    known = program_rules()
    if UNKNOWN in name:
        walk.effects.unknown("shell")
        return None
    arguments = line[1:]
    if name in known.with_subcommands:
        found = _subcommand(name, arguments, known)
        if found is not None:
            entry, rest = found
            return _run_by_rule(walk, Invocation(name, rest, entry))
    rule = known.by_name.get(name)
    if rule is None:
        return _run_unlisted(walk, line[0], arguments)
    return _run_by_rule(walk, Invocation(name, arguments, rule))


def _subcommand(
    name: str, arguments: list[str], known: ProgramRules
) -> tuple[ProgramRule, list[str]] | None:
    rule = known.by_name.get(name)
    takes = rule.takes if rule is not None else frozenset()
    i = 0
    # The handler of git follows the options before the subcommand.
    while i < len(arguments) and arguments[i][:1] == "-" and name != "git":
        i += 2 if arguments[i] in takes else 1
    if i >= len(arguments):
        return None
    found = known.by_name.get(f"{name} {arguments[i]}")
    return None if found is None else (found, arguments[i + 1 :])


def _run_unlisted(walk: Walk, program: str, arguments: list[str]) -> Status:
    if "/" in program and not walk.is_unresolved(program):
        # A script that this session wrote is read; `./build.sh` of the repository is not.
        text = walk.known_content(program)
        if text is not None:
            return run_text(walk, text)
        kind = walk.kind(program)
        if kind == "absent":
            return False
        if kind == "file":
            ops.read(walk, program, named=False)
    # A program without a rule that only says what it is changes nothing.
    if arguments in (["-V"], ["-h"], ["version"]):
        return None
    if (inner := launched(walk, [walk.tool, *arguments])) is not None:
        return inner()
    named = _PROGRAM.fullmatch(walk.tool) and walk.tool not in RESERVED
    if named:
        record_run(walk, arguments, program)
    else:
        walk.effects.unknown("shell")
    return None


# What a program may be called; other words are of a text that was taken for commands.
_PROGRAM = re.compile(r"(?=.*[^\W\d_])(?!.*: )[^{}<>()\[\];,|&$\"'`*?\n]+")


def _run_by_rule(walk: Walk, args: Invocation) -> Status:
    entry = args.entry
    kind = entry.kind
    # Whatever else is given, these only print.
    if "--help" in args.flags or "--version" in args.flags:
        return True
    if args.has(*entry.looks):
        return None
    if entry.handler:
        return HANDLERS[entry.handler](walk, args)
    if kind == "inert":
        return True if entry.reliable else None
    if kind == "opaque":
        return _run_opaque(walk, args)
    return _run_by_table(walk, args)


def _run_opaque(walk: Walk, args: Invocation) -> Status:
    """A program that changes the file that an option names, or those that its output names, or
    any."""
    entry = args.entry
    if (inner := launched(walk, [args.name, *args.words])) is not None:
        return inner()
    # A compiler that may have found an error may have written nothing.
    done = entry.fails != "contents" or walk.expected_status is True
    if done and any(option in args.values for option in entry.roles):
        return _run_by_table(walk, args)
    if walk.expected_status is False or only_looks(args.words):
        return None
    if entry.in_place and not args.has(*entry.in_place):
        return None
    if entry.formats and args.operands and all(walk.kind(f) == "file" for f in args.operands):
        with raised(walk, 2):  # it may find nothing to change in them
            for field in args.operands:
                ops.modify(walk, field)
        return None
    shown = "" if walk.captured or not entry.prints else walk.output or ""
    named = list(re.finditer(entry.prints, shown, re.MULTILINE)) if shown else []
    for line in named:
        path = line[line.lastgroup or 0].replace("\\", "/")
        (ops.write if line.lastgroup == "made" else ops.modify)(walk, path)
    if not named:
        writes = any(re.search(entry.may_write, word) for word in args.words if entry.may_write)
        record_run(walk, args.words, builds=entry.builds and not writes)
    return None


_ROLES: dict[str, Callable[[Walk, str], Status]] = {
    "read": ops.read,
    "tree": ops.read_tree,
    "write": ops.write,
    "append": lambda walk, field: ops.write(walk, field, guess_append=True),
    "touch": lambda walk, field: (
        walk.kind(field) in ("file", "directory") or ops.write(walk, field)
    ),
    "modify": ops.modify,
    "download": lambda walk, url: ops.write(walk, re.split("[?#]", url)[0].rpartition("/")[2]),
    "none": lambda _walk, _field: None,
}


# ``-i`` and the word behind it that BSD's ``sed`` takes as a suffix.
_SUFFIX = re.compile(r"-\w*i (?:\.\w+)?")

# What becomes of operands with one of the options `in_place`.
_IN_PLACE = {"read": "modify", "write": "append", "append": "modify", "none": "download"}


def _run_by_table(walk: Walk, args: Invocation) -> Status:
    entry = args.entry
    operands = args.operands
    role = entry.operands
    suffix = args.suffix()
    skip = 0 if args.has(*entry.skip_unless) else entry.skip
    if args.has(*entry.in_place):
        role = _IN_PLACE[role]
        # BSD's ``sed -i .bak`` and ``sed -i ''`` have the suffix in the next word; but
        # `sed -i -e s/x/y/ .env` and `sed -e s/x/y/ -i .env` change the file.
        if entry.suffix and not suffix and operands:
            first = operands[0]
            before = args.words[args.words.index(first) - 1]
            is_file = first and (len(operands) < skip + 2 or walk.kind(first) == "file")
            if not is_file and _SUFFIX.fullmatch(f"{before} {first}"):
                suffix, *operands = operands
    operands = operands[skip:]
    if entry.recursive and role == "read" and args.has(*entry.recursive):
        role = "tree"
        operands = operands or ["."]
    normal = entry.fails == "normal"
    if walk.expected_status is False and normal:
        walk.expected_status = None
    if role not in ("read", "tree"):
        walk.blame(operands)
    failed = walk.expected_status is False
    # Which of several addresses is printed is not followed: `curl -O example.org/[1-3].txt`.
    if role == "download" and (len(operands) != 1 or not {"[", "{"}.isdisjoint(operands[0])):
        walk.effects.unknown(args.name)
        return None
    if failed and role != "read":
        # Of several operands some may have been changed.
        several = len(operands) > 1 or any(map(walk.is_unresolved, operands))
        if role not in ("none", "tree") and several:
            walk.effects.unknown(args.name)
        return False
    # Code in an argument (`awk`, `sed`) is not followed; a pattern sees that it may write.
    if entry.may_write and not failed:
        if any(re.search(entry.may_write, word) for word in args.words):
            walk.effects.unknown(args.name)
            if role in ("none", "download"):  # where its files are is not known either
                return None
    status: Status = True
    for i, field in enumerate(operands):
        use = role
        if entry.last and i == len(operands) - 1 and i > 0:
            use = entry.last
        if use != role and (failed or status is False):
            return False  # without its input it writes nothing
        if use == "modify":
            done = ops.modify(walk, field, suffix=suffix)
        elif use not in ("read", "tree") and walk.reports_error(args.name, field):
            done = False
        else:
            done = _ROLES[use](walk, field)
        status = both_succeed(status, done)
    for option, use in entry.roles.items():
        for value in args.values.get(option, ()):
            if use == "read" or not (failed or status is False):
                if _ROLES[use](walk, value) is False:
                    status = False
    if entry.fails == "contents" and status is True:
        return None
    if normal:
        return None if status is not False or not operands else status
    return status
