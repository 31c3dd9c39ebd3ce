"""Effects of git commands on the files of the working tree.

Git changes many files that the command line does not name; where its output names them
(``rm 'x'``, ``Removing x``, the summary of a merge), that is used. A commit, a tag or a push
changes no file of the tree."""

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from leftoff.shell import operations as ops
from leftoff.shell.commands import Invocation, ProgramRule
from leftoff.shell.filesystem import Action
from leftoff.shell.paths import is_temporary
from leftoff.shell.quoting import unmark_patterns
from leftoff.shell.state import Status, Walk


def _split_words(words: list[str], *takes: str) -> tuple[set[str], list[str], list[str]]:
    """Options, operands before ``--`` and operands after it; `takes`: options with a value."""
    end = words.index("--") if "--" in words else len(words)
    args = Invocation("git", words[:end], ProgramRule(("git",), takes=frozenset(takes)))
    return args.flags, args.operands, words[end + 1 :]


def _visible_lines(walk: Walk) -> list[str]:
    return [] if walk.captured or walk.output is None else walk.lines()


def _unquote(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def _rm(walk: Walk, words: list[str]) -> Status:
    options, before, after = _split_words(words)
    # With `--cached` the file stays in the working tree.
    if options & {"--cached", "-n", "--dry-run"} or walk.expected_status is False:
        return None
    # `rm 'a.txt'`: each file, of a pattern and of a folder as well.
    named = [_unquote(line[3:]) for line in _visible_lines(walk) if line.startswith("rm '")]
    paths = [_from_root(walk, name, before + after) for name in named]
    cwd, walk.cwd = walk.cwd, walk.cwd and "."
    for path in paths:
        ops.delete(walk, path, force=True, shown=True)
    walk.cwd = cwd
    for field in [] if named else before + after:
        if _PLAIN(field):
            ops.delete(walk, field, recursive="-r" in options)
        else:
            walk.effects.unknown("git", action="deleted")
    return None


def _from_root(walk: Walk, name: str, fields: list[str]) -> str:
    """The path of a file that git names from the root of the repository, the present folder or
    one above: that which an operand names, and which is known where several are."""
    places = [walk.path(unmark_patterns(field)) for field in fields]
    parts = (walk.cwd or ".").split("/")
    paths = ["/".join([*parts[:i], name]) for i in range(len(parts), -1, -1)]
    named = [path for path in paths if any(_names(place, path) for place in places)]
    known = [path for path in named if walk.state.kind(path) == "file"]
    # `src/a.txt` in a folder `src` is more likely its own file than that of a `src` in it.
    return (known or named or paths[:1])[-1]


def _mv(walk: Walk, words: list[str]) -> Status:
    options, before, after = _split_words(words)
    operands = before + after
    if walk.expected_status is False or options & {"-n", "--dry-run"}:
        return walk.expected_status
    *sources, target = operands or [""]
    # As `mv`: into a directory, or to a new name.
    into = len(sources) > 1 or target.endswith("/") or walk.kind(target) == "directory"
    for source in sources:
        goal = ops.destination(source, target, into)
        ops.transfer(walk, source, goal, move=True, recursive=True)
    return None


def _looks_like_path(walk: Walk, field: str) -> bool:
    if walk.is_unresolved(field):
        return False
    name = field.rpartition("/")[2]
    return (
        walk.kind(field) in ("file", "directory")
        or field == "."
        # `git checkout a.py` restores a file; `main` and `origin/v1.2` are branches.
        or ("." in name[1:] and not field.startswith("origin/"))
    )


def _restore(walk: Walk, words: list[str]) -> Status:
    options, before, after = _split_words(words, "-s", "--source", "--pathspec-from-file")
    staged = bool(options & {"-S", "--staged"})
    if (staged and not options & {"-W", "--worktree"}) or walk.expected_status is False:
        return walk.expected_status
    last = not options & {"-s", "--source"} and not walk.state.indexed
    return _restore_paths(walk, before + after, last=last)


def _restore_paths(walk: Walk, fields: list[str], *, last: bool = True) -> Status:
    """`last`: as they are in the last commit, not in another one."""
    for field in fields:
        path = walk.resolved(field)
        if path is None or not _PLAIN(field) or walk.state.kind(path) == "directory":
            _restore_all(walk, [field], restored=last)
        # A file that was removed is there again.
        elif walk.state.kind(path) == "absent":
            walk.effects.write(path, "git", walk.uncertainty, restored=last)
        else:
            # Without changes a file stays as it is; only those of the session are known.
            seen = path in walk.effects.changed() or walk.effects.wrote(path)
            uncertainty = max(walk.uncertainty, 0 if seen and last else 2)
            walk.effects.write(path, "git", uncertainty, guess="modified", restored=last)
            if not last:
                walk.effects.doubt(only=path)
            if walk.uncertainty < 2:
                walk.state.put(path)
    return None


# A name of one file or directory, as against a pattern that git expands.
_PLAIN = re.compile(r"(?!\.\Z|:)[^*?\[]*\Z").match


def _restore_all(
    walk: Walk, fields: list[str] | None = None, *, restored: bool = True, stash: str = ""
) -> list[tuple[str, Action, object]]:
    """Restore the files that the session changed, as far as they are known, all or those that
    `fields` name or hold; returns them with what stands for their contents. `restored`: to
    their last commit."""
    found: list[tuple[str, Action, object]] = []
    beside = not is_temporary(f"{walk.cwd}/")
    changed = walk.effects.changed()
    named = set(changed)
    if fields:
        places = [walk.path(unmark_patterns(field)) for field in fields]
        named = {path for path in changed for place in places if _names(place, path)}
    for path in sorted(named):
        action = changed[path]
        kind = {"modified": "file", "deleted": "absent"}.get(action)
        if walk.state.kind(path) != kind or (beside and is_temporary(path)):
            continue  # or no file of the repository
        uncertainty = max(walk.uncertainty, 1 if restored else 2)
        found.append((path, action, walk.effects.content(path)))
        walk.effects.write(path, "git", uncertainty, restored=restored, stash=stash)
    walk.effects.doubt(restored=False)
    walk.effects.unknown("git")
    return found


def _names(place: str | None, path: str) -> bool:
    """Whether the path of a word names another for git: itself, a folder that holds it, or a
    pattern."""
    if place in (None, ".", path):
        return place is not None
    return path.startswith(f"{place}/") or fnmatchcase(path, str(place))


def _checkout(walk: Walk, words: list[str]) -> Status:
    options, before, after = _split_words(words, "-b", "-B", "--orphan", "--conflict")
    if walk.expected_status is False:
        return False
    # Without a commit they are as in the index, which differs from it after `git add` and where
    # two branches conflict.
    indexed = walk.state.indexed or bool(options & {"--ours", "--theirs"})
    last = before[:1] in (["HEAD"], ["@"]) or not (before or indexed)
    if after:
        return _restore_paths(walk, after, last=last)
    paths = [field for field in before if _looks_like_path(walk, field)]
    if not paths:
        return _switch(walk, words)
    if len(paths) == len(before):
        return _restore_paths(walk, paths, last=not indexed)
    return _restore_paths(walk, before[1:], last=last)


def _switch(walk: Walk, words: list[str]) -> Status:
    """Another commit; what was changed and not committed mostly stays."""
    options, before, _ = _split_words(words, "-b", "-B", "-c", "-C", "--create", "--orphan")
    made = options & {"-b", "-B", "-c", "-C", "--create", "--orphan"} and not before
    if walk.expected_status is False or made or "Already on" in "\n".join(_visible_lines(walk)):
        return walk.expected_status
    walk.effects.doubt(restored=False)
    walk.effects.unknown("git")
    return None


def summary_lines(lines: list[str]) -> list[tuple[str, str, str]]:
    """Files in the summary of a commit, merge or pull, as (what, path, old path).

    `what` is ``created``, ``deleted``, ``renamed`` or ``changed``."""
    found: list[tuple[str, str, str]] = []
    named: set[str] = set()
    for line in lines:
        text = line.strip()
        if text.startswith(("create mode ", "delete mode ")):
            path = _unquote(text[12:].partition(" ")[2])
            found.append(("created" if text[0] == "c" else "deleted", path, ""))
            named.add(path)
        # `rename src/{a.py => b.py} (90%)`
        elif text.startswith("rename ") and text.endswith("%)"):
            body = text[7:].rpartition(" (")[0]
            old, new = _parse_rename(body)
            if new:
                found.append(("renamed", new, old))
                named.add(new)
    for line in lines:
        # ` src/a.py | 12 +++---` and ` logo.png | Bin 0 -> 512 bytes`
        name, bar, counts = line.partition(" | ")
        counts = counts.strip()
        if not bar or not line.startswith(" ") or not counts:
            continue
        if not (counts[0].isdigit() or counts.startswith("Bin")):
            continue
        path = _unquote(name.strip())
        if " => " in path:
            path = _parse_rename(path)[1]
        # git shortens long paths from the left: which file `.../a.py` is, is not known.
        if path and path not in named and not path.startswith("..."):
            found.append(("changed", path, ""))
            named.add(path)
    return found


def _parse_rename(text: str) -> tuple[str, str]:
    """Both paths of ``a/{b => c}/d`` or ``a => b``."""
    if "{" in text and "}" in text:
        head, _, rest = text.partition("{")
        middle, _, tail = rest.partition("}")
        old, _, new = middle.partition(" => ")
        return (head + old + tail).replace("//", "/"), (head + new + tail).replace("//", "/")
    old, _, new = text.partition(" => ")
    return old.strip(), new.strip()


# Newer and older spelling of git.
_UP_TO_DATE = re.compile(r"(?m)^Already up[ -]to[ -]date|^Current branch \S+ is up to date\.")


def _merge(walk: Walk, words: list[str]) -> Status:
    """A command that brings in commits and prints what they changed."""
    lines = _visible_lines(walk)
    text = "\n".join(lines)
    if walk.expected_status is False:
        if "fatal: " not in text or "CONFLICT" in text:  # else it did not begin
            walk.effects.unknown("git")
        return False
    if _UP_TO_DATE.search(text):
        return True
    found = summary_lines(lines)
    # With `-q`, or where a pipe took the summary, the files are not named.
    if not found:
        walk.effects.unknown("git")
        return None
    for what, path, old in found:
        if what == "created":
            ops.write(walk, path)
        elif what == "deleted":
            ops.delete(walk, path, force=True, shown=True)
        elif what == "renamed":
            ops.transfer(walk, old, path, move=True, recursive=False)
        else:
            ops.modify(walk, path)
    return True


def _revert(walk: Walk, words: list[str]) -> Status:
    walk.effects.doubt()
    return _merge(walk, words)


# The name of a stash entry, which no language translates.
_STASHED = re.compile(r"\b(?:WIP on|On) [^:]+:")


def _stash(walk: Walk, words: list[str]) -> Status:
    """``git stash``: what the session had changed is put away, and changed again later. Other
    files that a list in the output names are as they were before."""
    _, before, after = _split_words(words, "-m", "--message")
    verb = before[0] if before else "push"
    if verb in ("list", "show", "clear", "branch"):
        return None
    if walk.expected_status is False:
        return False
    stashes = walk.state.stashes
    if verb in ("push", "save"):
        named = [word for word in before[1:] + after if verb == "push"]
        shown = _STASHED.search(walk.output or "")
        if not walk.output or shown:
            given, walk.uncertainty = walk.uncertainty, 0 if shown else walk.uncertainty
            stashes.append(_restore_all(walk, named, stash="push"))
            walk.uncertainty = given
        return None  # else what was printed names no stash entry
    entry = stashes[-1:] if verb == "apply" else [stashes.pop()] if stashes else []
    listed = list(filter(None, map(_LISTED.match, _visible_lines(walk))))
    uncertainty = max(walk.uncertainty, 0 if listed else 1)
    for path, action, content in entry[0] if entry and verb != "drop" else ():
        walk.effects.unstash(path, action, content, "git", uncertainty)
    # What an entry of another session holds is not known: the list names other changes, too.
    if verb != "drop" and not (entry and listed):
        walk.effects.unknown("git")
    return None


# A changed file in the list that `git stash pop` prints.
_LISTED = re.compile(r"\s*(?:modified|new file|deleted): +\S")


def _reset(walk: Walk, words: list[str]) -> Status:
    if "--hard" in words or "--merge" in words or "--keep" in words:
        if walk.expected_status is False:
            return False
        _restore_all(walk)
    return None


def _clean(walk: Walk, words: list[str]) -> Status:
    options, _, _ = _split_words(words, "-e", "--exclude")
    if options & {"-n", "--dry-run"} or walk.expected_status is False:
        return None
    removed = [_unquote(line[9:]) for line in _visible_lines(walk) if line[:9] == "Removing "]
    for name in removed:
        ops.delete(walk, name, force=True, recursive=True, shown=True)
    if not removed:
        walk.effects.doubt()
        walk.effects.unknown("git", action="deleted")
    return None


SUBCOMMANDS: dict[str, Callable[[Walk, list[str]], Status]] = {
    "rm": _rm,
    "mv": _mv,
    "restore": _restore,
    "checkout": _checkout,
    "switch": _switch,
    "merge": _merge,
    "pull": _merge,
    "rebase": _merge,
    "cherry-pick": _merge,
    "revert": _revert,
    "am": _merge,
    "stash": _stash,
    "reset": _reset,
    "clean": _clean,
}


def is_indexed(before: bool, verb: str, words: Sequence[str], succeeded: Status) -> bool:
    """Whether the index differs from the last commit after a command."""
    if verb in ("add", "rm", "mv") or verb == "reset" and "--soft" in words:
        return True  # also where it failed: it may have added some
    return before and (succeeded is False or verb not in ("commit", "stash", "reset"))


def _run_git(walk: Walk, args: Invocation) -> Status:
    words, cwd, i = args.words, walk.cwd, 0
    while i < len(words) and words[i][:1] == "-":
        if words[i] == "-C" and i + 1 < len(words):
            walk.cwd = walk.resolved(words[i + 1])
        i += 2 if words[i] in args.entry.takes else 1
    name, rest = words[i] if i < len(words) else "", words[i + 1 :]
    status: Status = None
    walk.state.indexed = is_indexed(walk.state.indexed, name, rest, walk.expected_status)
    if i and name:  # it may have a rule of its own
        status = walk.execute(walk, ["git", *words[i:]])
    elif name in SUBCOMMANDS:
        status = SUBCOMMANDS[name](walk, rest)
    elif name == "worktree" and rest[:1] in (["remove"], ["move"]):
        walk.effects.unknown("git", action="deleted")
    walk.cwd = cwd
    return status
