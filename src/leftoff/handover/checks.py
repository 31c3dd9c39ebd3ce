"""Which runs of checks say where the work stands: of each check the last."""

from collections.abc import Iterable, Sequence

from leftoff import lazy_re as re
from leftoff.analysis.check_runs import folders, own_command
from leftoff.model import Ref
from leftoff.shell.paths import is_temporary
from leftoff.summary import Check
from leftoff.tables import table

_TABLE = table(__file__, "checks.toml")
_RE, _INCLUDES = re.patterns(_TABLE["patterns"]), _TABLE["includes"]
# What these find may be no error of a compiler.
_CHECKS_MORE = frozenset({"go vet", "go test", "cargo test"})


def last_checks(checks: Iterable[Check]) -> list[Check]:
    """The last run of each check, the latest first; a run is left out where a later one of the
    same tool or command covered it, the same command line passed, or its program mended what
    it found. What ran in a folder for temporary files is left out once others ran elsewhere."""
    last: list[Check] = []
    checks = list(checks)
    # Of a line that stopped at one check, the others may not have run again.
    stopped = {check.ref for check in checks if check.verdict != "passed"}
    for check in checks:
        last = [other for other in last if not _replaces(check, other, stopped)]
        if not check.mended:
            last.append(check)
    found = list[Check]()
    for check in reversed(last):
        if not is_temporary(check.folder) or all(is_temporary(c.folder) for c in found):
            found.append(check)
    return found


def _replaces(check: Check, other: Check, stopped: set[Ref]) -> bool:
    """Whether a later run of a check says more than the earlier one; one with an unknown result
    says less than one with a known result."""
    if check.verdict == "passed" and other.verdict == "failed" and check.ref not in stopped:
        # One line runs several tools; some print nothing where they pass.
        if check.command == other.command and _RE["several"].search(check.command) is None:
            return True
    if check.verdict == "passed" and other.failing and check.tool == other.tool:
        # It named the tests that had failed: `go test -run`, or files of pytest.
        whole = _RE["leaves_out"].search(check.command) is None
        words = _RE["selected"].findall(check.scope) if whole else []
        if all(any(_selects(word, name) for word in words) for name in other.failing):
            return True
    if check.verdict == "passed" and other.verdict != "unknown" and _compiles(check, other):
        return True
    known = check.verdict != "unknown"
    covers = known and _is_wider(check, other)
    same = other.scope == check.scope
    if not same and other.tool == check.tool:
        same = _place_of(other) == _place_of(check) != ""
    same = same and (known or other.verdict == "unknown") and _adds(other) <= _adds(check)
    # Without a path Go looks at one folder.
    if check.tool.startswith("go ") and check.tool in command_of(check):
        same = same and ("./..." in check.command or "./..." not in other.command)
    return (covers or same) and _is_same(check, other)


def _is_wider(check: Check, other: Check) -> bool:
    """Whether a run looked at all that one of the same tool did: at everything, or at what
    holds each path of the other, and chose nothing in it that the other did not."""
    levels = [_RE["level"].search(c.scope) for c in (other, check)]
    if other.verdict == "failed" and levels[0] and not levels[1]:
        return False
    if _runs_all(check):
        return True
    had = _adds(check)
    if not _adds(other) <= had or "…" in check.scope:
        return False
    if not check.scope:  # without a path Go looks at one folder
        return not check.tool.startswith("go ") or "./..." in check.command
    scopes = (c.scope.replace(",", "").split() for c in (check, other))
    both = [[word for word in words if word not in had] for words in scopes]
    paths, its_paths = ([w for w in words if _RE["path"].match(w)] for words in both)
    choices, its = ([w for w in words if not _RE["path"].match(w)] for words in both)
    return len(choices) <= len(its) and _hold(paths, its_paths) and _hold(choices, its)


def _adds(check: Check) -> set[str]:
    """The options with which more is tested or compiled."""
    return {*_RE["adds"].findall(command_of(check))}


def _runs_all(check: Check) -> bool:
    """Whether a task or a script ran a tool, and its name chooses nothing."""
    named = check.tool in command_of(check)
    return not named and _RE["whole"].fullmatch(check.scope) is not None


def _hold(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether each of other words, of which there are some, lies in what one of the words
    names; no word names everything."""
    return not words or bool(others) and all(any(_holds(w, o) for w in words) for o in others)


def _holds(word: str, other: str) -> bool:
    place, below = (w.removeprefix("./").removesuffix("/") for w in (word, other))
    if set(below.split("|")) <= set(place.split("|")):
        return True
    # A package of Go holds no other one.
    place = place.removesuffix("/...") if word[:2] != "./" or "..." in word else f"{place}::"
    return below.startswith((f"{place}/", f"{place}::", f"{place}.")) or place == below


def _compiles(check: Check, other: Check) -> bool:
    """Whether a run compiled all that an earlier one could not: it is a task for the whole
    project, or its command has the same options and leaves out no package."""
    if check.tool not in _INCLUDES.get(other.tool, "").split(", "):
        return False
    if other.tool in _CHECKS_MORE:
        printed = f"{other.line}\n{other.tail}"
        if other.verdict == "passed" or other.failing or not _RE["uncompiled"].search(printed):
            return False
    linted = check.tool == "golangci-lint"
    if other.verdict == "passed" and (linted or _runs_all(check)):
        return not linted  # that it builds is more than that it can be read
    variables = [sorted(_RE["variable"].findall(c.command)) for c in (other, check)]
    if variables[0] != variables[1] or not _in_one_folder(check, other):
        return False
    if _runs_all(check) or linted and not check.scope:
        chosen = linted and _RE["chooses"].search(check.command) is not None
        return not (chosen or _adds(other)) and folder_of(check) == folder_of(other)
    asked, had = _compiled(other), _compiled(check)
    if any(_RE["narrows"].fullmatch(word) for word in had - asked):
        return False
    if check.tool.startswith("go "):  # packages by their paths; without one, the folder
        paths = {word for word in asked if word[:1] != "-"}
        if "./..." in had:
            asked -= paths
        elif not paths and any(word[:1] != "-" for word in had):
            return False
    return asked <= had


def _compiled(check: Check) -> set[str]:
    """The words of a compiling command that say what it compiles."""
    return set(_RE["output"].sub("", command_of(check)).split()[2:])


def _place_of(check: Check) -> str:
    """The path that a check looked at, seen from where its command line begins."""
    scope, folder = check.scope.replace("\\", "/"), folder_of(check)
    whole = not folder or scope[:1] == "/" or scope[1:2] == ":"
    return scope if whole else f"{folder}/{scope}".rstrip("/")


def _selects(word: str, test: str) -> bool:
    """Whether a word of a selection names a test, its file or class, or how its name begins."""
    plain = "/" not in test and word.isidentifier()
    return test == word or test.startswith((f"{word}::", f"{word}/", *[word] * plain))


def _is_same(check: Check, other: Check) -> bool:
    if check.kind != other.kind:
        return False
    if not _in_one_folder(check, other):
        return False  # of two packages one may work and one not
    # A script's tool shows in the output of a run that failed, and often in none of one that
    # passed.
    if check.tool == other.tool and (check.tool or check.command == other.command):
        return True
    named = command_of(check)
    return named == command_of(other) and any(
        not c.tool or c.tool in named.split() for c in (check, other)
    )


def command_of(check: Check) -> str:
    """The command of a check alone, of a longer command line too."""
    found = own_command(check.command, check.kind, check.tool)
    return found or _RE["plumbing"].split(_RE["go_to"].sub("", check.command))[0]


def verdict_of(check: Check) -> str:
    """How a check ended in words."""
    if check.verdict != "unknown":
        return check.verdict
    return "did not run" if check.basis == "not_run" else "result unknown"


def since_of(check: Check) -> str:
    """What is said of edits after a check, "" for nothing."""
    if not check.edited_since or check.basis == "not_run":
        return ""
    return "edited elsewhere since" if check.edited_elsewhere else "edited since"


def folder_of(check: Check) -> str:
    """The path of the folder in which a check ran, as its command line writes it, without what
    leads up; "" if none is written.

    >>> folder_of(Check("test", "pytest", "cd ../web/ && pytest -q", "passed", Ref()))
    'web'
    >>> folder_of(Check("test", "pytest", "cd 'my web/app'; pytest", "passed", Ref()))
    'my web/app'
    >>> folder_of(Check("test", "pytest", "cd $ROOT && pytest", "passed", Ref()))
    ''"""
    start = check.command.find(command_of(check))
    found = folders(check.command[:start] if start >= 0 else check.command)
    path = ["", *found][-1].replace("\\", "/").rstrip("/")
    return "" if "$" in path else _RE["upwards"].sub("", path)


def _in_one_folder(check: Check, other: Check) -> bool:
    same = check.folder == other.folder
    return same and may_be_one(folder_of(check), folder_of(other))


def may_be_one(folder: str, other: str) -> bool:
    """Whether two paths of `folder_of` may name one folder."""
    ends = f"/{folder}", f"/{other}"
    return "/" in ends or ends[0].endswith(ends[1]) or ends[1].endswith(ends[0])


def where_of(check: Check, command: str) -> str:
    """Words for the folder of a check outside of the session's, unless its command names it."""
    last = check.folder.rpartition("/")[2]
    named = any(f"{before}{last}" in command for before in ("/", "cd "))
    return f"in {check.folder}" if check.folder and not named else ""


def in_folder(check: Check, folders: Iterable[str]) -> str:
    """Words for the folder of a check outside of the session's, or beside those of others, ""
    for the only one."""
    if check.folder:
        return f"in {check.folder}"
    folder = folder_of(check)
    others = [other for other in folders if not may_be_one(folder, other)]
    last = folder.rpartition("/")[2]
    alike = any(other.rpartition("/")[2] == last for other in others)
    return f"in {folder if alike else last}" if others else ""
