"""Effects of git commands on the files of the working tree.

Git changes many files that the command line does not name; where its output names them
(``rm 'x'``, ``Removing x``, the summary of a merge), that is used. A commit, a tag or a push
changes no file of the tree."""

from __future__ import annotations

import re
from collections.abc import Callable

from leftoff.shell import operations as ops
from leftoff.shell.commands import Invocation
from leftoff.shell.filesystem import Action
from leftoff.shell.paths import parent_of
from leftoff.shell.state import Status, Walk


def _split_words(
    words: list[str], takes: tuple[str, ...] = ()
) -> tuple[set[str], list[str], list[str]]:
    """Options, operands before ``--`` and operands after it."""
    options: set[str] = set()
    before: list[str] = []
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        if word == "--":
            return options, before, words[i:]
        if word[:1] == "-" and len(word) > 1:
            options.add(word.partition("=")[0])
            if word[:2] != "--":
                options.update("-" + letter for letter in word[1:])
            if word in takes and i < len(words):
                i += 1
        else:
            before.append(word)
    return options, before, []


def _visible_lines(walk: Walk) -> list[str]:
    return [] if walk.captured or walk.output is None else walk.lines()


def _unquote(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def _rm(walk: Walk, words: list[str]) -> Status:
    options, before, after = _split_words(words)
    if "--cached" in options or "-n" in options or "--dry-run" in options:
        return None
    if walk.expected_status is False:
        return False
    named = [_unquote(line[3:]) for line in _visible_lines(walk) if line.startswith("rm '")]
    if named and "-q" not in options:
        root = walk.cwd
        for name in named:
            ops.delete(walk, name, force=True, shown=True)
        walk.cwd = root
        return True
    status: Status = True
    for field in before + after:
        path = walk.resolved(field)
        if not _PLAIN(field):
            walk.effects.unknown("git", action="deleted")
            continue
        if path is not None and walk.state.kind(path) == "absent":
            status = False
        recursive = bool(options & {"-r", "-rf"}) or "-r" in options
        if ops.delete(walk, field, recursive=recursive) is False:
            status = False
        if path is not None:
            _remove_empty_parents(walk, path)
    return status


def _remove_empty_parents(walk: Walk, path: str) -> None:
    """Remove the directories above a path that are now empty, as git does."""
    above = parent_of(path)
    while above not in (".", "/") and walk.uncertainty < 2:
        if not walk.state.is_complete(above) or walk.state.below(above, directories=True):
            return
        walk.state.remove(above)
        above = parent_of(above)


def _mv(walk: Walk, words: list[str]) -> Status:
    options, before, after = _split_words(words)
    operands = before + after
    if len(operands) < 2 or walk.expected_status is False or options & {"-n", "--dry-run"}:
        return False if walk.expected_status is False else None
    sources, target = operands[:-1], operands[-1]
    path = walk.resolved(target)
    kind = walk.state.kind(path) if path is not None else "unknown"
    into = len(sources) > 1 or target.endswith("/") or kind == "directory"
    status: Status = True
    for source in sources:
        goal = ops.destination(source, target, into)
        goal_path = walk.resolved(goal)
        if goal_path is not None and walk.state.kind(goal_path) == "file":
            if not options & {"-f", "--force"}:
                status = False
                continue
        done = ops.transfer(walk, source, goal, move=True, recursive=True)
        if done is False:
            status = False
    return status


def _looks_like_path(walk: Walk, field: str) -> bool:
    if walk.is_unresolved(field):
        return False
    path = walk.path(field)
    kind = walk.state.kind(path) if path is not None else "unknown"
    if kind in ("file", "directory"):
        return True
    name = field.rpartition("/")[2]
    return field == "." or ("." in name[1:] and not field.startswith("origin/"))


def _restore(walk: Walk, words: list[str]) -> Status:
    options, before, after = _split_words(words, ("-s", "--source", "--pathspec-from-file"))
    staged = bool(options & {"-S", "--staged"})
    if (staged and not options & {"-W", "--worktree"}) or walk.expected_status is False:
        return False if walk.expected_status is False else None
    return _restore_paths(walk, before + after)


def _restore_paths(walk: Walk, fields: list[str]) -> Status:
    for field in fields:
        path = walk.resolved(field)
        if path is None or not _PLAIN(field) or walk.state.kind(path) == "directory":
            if field == ".":
                _restore_all(walk)
            else:
                walk.effects.doubt()
                walk.effects.unknown("git")
        elif walk.state.kind(path) == "absent":
            walk.effects.write(path, "git", walk.uncertainty, restored=True)
        else:
            # Without changes a file stays as it is; only those of the session are known.
            seen = path in walk.state.changed()
            uncertainty = max(walk.uncertainty, 0 if seen else 2)
            walk.effects.write(path, "git", uncertainty, guess="modified", restored=True)
            if not seen and walk.uncertainty < 2:
                walk.state.put(path)
    return None


# A name of one file or directory, as against a pattern that git expands.
_PLAIN = re.compile(r"(?!\.\Z|:)[^*?\[]*\Z").match


def _restore_all(walk: Walk) -> tuple[tuple[str, Action], ...]:
    """Restore every file that the session changed; returns these with their first change."""
    found: list[tuple[str, Action]] = []
    for path, action in sorted(walk.effects.changed().items()):
        if (action == "modified" and walk.state.kind(path) == "file") or (
            action == "deleted" and walk.state.kind(path) == "absent"
        ):
            walk.effects.write(path, "git", max(walk.uncertainty, 1), restored=True)
            found.append((path, action))
    walk.effects.doubt(restored=False)
    walk.effects.unknown("git")
    return tuple(found)


def _checkout(walk: Walk, words: list[str]) -> Status:
    options, before, after = _split_words(words, ("-b", "-B", "--orphan", "--conflict"))
    if walk.expected_status is False:
        return False
    if after:
        return _restore_paths(walk, after)
    if options & {"-b", "-B", "--orphan"} and not before:
        return None
    paths = [field for field in before if _looks_like_path(walk, field)]
    if paths and (len(before) > 1 or options & {"--ours", "--theirs"}):
        return _restore_paths(walk, paths if len(paths) == len(before) else before[1:])
    if paths and len(before) == 1:
        return _restore_paths(walk, paths)
    return _change_commit(walk)


def _change_commit(walk: Walk) -> Status:
    if walk.output is not None and not walk.captured:
        if "Already on" in walk.output:
            return None
    walk.effects.doubt()
    walk.effects.unknown("git")
    return None


def _switch(walk: Walk, words: list[str]) -> Status:
    options, before, _ = _split_words(words, ("-c", "-C", "--create", "--orphan"))
    if walk.expected_status is False:
        return False
    if options & {"-c", "-C", "--create"} and not before:
        return None
    return _change_commit(walk)


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
        elif text.startswith("rename ") and text.endswith("%)"):
            body = text[7:].rpartition(" (")[0]
            old, new = _parse_rename(body)
            if new:
                found.append(("renamed", new, old))
                named.add(new)
    for line in lines:
        name, bar, counts = line.partition(" | ")
        counts = counts.strip()
        if not bar or not line.startswith(" ") or not counts:
            continue
        if not (counts[0].isdigit() or counts.startswith("Bin")):
            continue
        path = _unquote(name.strip())
        if " => " in path:
            path = _parse_rename(path)[1]
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


def _merge(walk: Walk, words: list[str]) -> Status:
    """A command that brings in commits and prints what they changed."""
    if walk.expected_status is False:
        walk.effects.unknown("git")
        return False
    lines = _visible_lines(walk)
    text = "\n".join(lines)
    if "Already up to date" in text or "Already up-to-date" in text:
        return True
    found = summary_lines(lines)
    if not found:
        walk.effects.unknown("git")
        return None
    for what, path, old in found:
        if what == "created":
            ops.write(walk, path, "git")
        elif what == "deleted":
            ops.delete(walk, path, force=True, shown=True)
        elif what == "renamed":
            ops.transfer(walk, old, path, move=True, recursive=False)
        else:
            ops.modify(walk, path, "git")
    return True


def _revert(walk: Walk, words: list[str]) -> Status:
    walk.effects.doubt()
    return _merge(walk, words)


# The name of a stash entry, which no language translates.
_STASHED = re.compile(r"\b(?:WIP on|On) [^:]+:")


def _stash(walk: Walk, words: list[str]) -> Status:
    verb = next((word for word in words if word[:1] != "-"), "push")
    if verb in ("list", "show", "drop", "clear", "branch"):
        return None
    lines = _visible_lines(walk)
    if any("No local changes" in line for line in lines):
        return None
    if walk.expected_status is False:
        return False
    if verb in ("push", "save") and walk.output and not _STASHED.search(walk.output):
        return None  # what was printed names no stash entry
    stashes = walk.state.stashes
    if verb in ("pop", "apply"):
        stashed = stashes.pop() if stashes and verb == "pop" else stashes[-1] if stashes else ()
        found = False
        for line in lines:
            label, colon, path = line.strip().partition(":")
            path = path.strip()
            if not colon or not path:
                continue
            if label == "modified":
                ops.modify(walk, path, "git")
                found = True
            elif label == "new file":
                ops.write(walk, path, "git")
                found = True
            elif label == "deleted":
                ops.delete(walk, path, force=True, shown=True)
                found = True
        if found:
            return True
        for path, action in stashed:  # the output has no list: undo the stash entry
            if action == "deleted":
                walk.effects.delete(path, "git", max(walk.uncertainty, 1))
            else:
                walk.effects.write(
                    path, "git", max(walk.uncertainty, 1), guess="modified", existed=True
                )
        walk.effects.unknown("git")
        return None
    stashes.append(_restore_all(walk))
    return None


def _reset(walk: Walk, words: list[str]) -> Status:
    if "--hard" in words or "--merge" in words or "--keep" in words:
        if walk.expected_status is False:
            return False
        _restore_all(walk)
    return None


def _clean(walk: Walk, words: list[str]) -> Status:
    options, before, after = _split_words(words, ("-e", "--exclude"))
    if options & {"-n", "--dry-run"} or walk.expected_status is False:
        return None
    if not options & {"-f", "--force", "-fd", "-fdx", "-df", "-xdf"} and "-f" not in options:
        return False
    removed = [
        _unquote(line[9:]) for line in _visible_lines(walk) if line.startswith("Removing ")
    ]
    if removed:
        for name in removed:
            ops.delete(walk, name, force=True, recursive=True, shown=True)
        return True
    if "-q" in options or walk.captured or walk.output is None:
        for field in before + after:
            walk.effects.unknown("git", walk.path(field))
        if not (before or after):
            walk.effects.doubt()
            walk.effects.unknown("git", action="deleted")
    return True


def _apply(walk: Walk, words: list[str]) -> Status:
    options, before, after = _split_words(
        words, ("-C", "--directory", "--exclude", "--include")
    )
    if walk.expected_status is False:
        return False
    for field in before + after:
        if field != "-" and ops.read(walk, field) is False:
            return False
    if not options & {"--check", "--stat", "--numstat", "--summary", "--cached"}:
        walk.effects.unknown("git")
    return None


def _add(walk: Walk, words: list[str]) -> Status:
    _, before, after = _split_words(words)
    for field in before + after:
        path = walk.resolved(field)
        if path is not None and walk.state.kind(path) == "absent":
            return False
    return None


def _unknown_changes(walk: Walk, words: list[str]) -> Status:
    if "--stdout" in words:
        return None
    if walk.expected_status is False:
        return False
    walk.effects.unknown("git")
    return None


def _worktree(walk: Walk, words: list[str]) -> Status:
    makes = words[:1] in (["add"], ["move"], ["remove"])
    return _unknown_changes(walk, words) if makes else None


def _output(walk: Walk, words: list[str]) -> Status:
    """``git diff``, ``git log``, ``git archive``: only ``--output`` writes a file."""
    for i, word in enumerate(words):
        name = word.partition("--output=")[2]
        if word in ("--output", "-o") and i + 1 < len(words):
            name = words[i + 1]
        elif word[:2] == "-o":
            name = word[2:]
        if name:
            ops.write(walk, name, "git")
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
    "apply": _apply,
    "add": _add,
    "clone": _unknown_changes,
    "submodule": _unknown_changes,
    "worktree": _worktree,
    "format-patch": _unknown_changes,
    "archive": _output,
    "diff": _output,
    "log": _output,
    "show": _output,
    "bisect": _unknown_changes,
    "read-tree": _unknown_changes,
    "checkout-index": _unknown_changes,
    "sparse-checkout": _unknown_changes,
    "filter-branch": _unknown_changes,
    "lfs": _unknown_changes,
}


def _run_git(walk: Walk, args: Invocation) -> Status:
    words = args.words
    cwd = walk.cwd
    i = 0
    while i < len(words) and words[i][:1] == "-":
        if words[i] == "-C" and i + 1 < len(words):
            field = words[i + 1]
            walk.cwd = walk.resolved(field)
            i += 2
        elif words[i] in ("-c", "--git-dir", "--work-tree", "--namespace"):
            i += 2
        else:
            i += 1
    name = words[i] if i < len(words) else ""
    handler = SUBCOMMANDS.get(name)
    status: Status = None
    if handler is not None:
        status = handler(walk, words[i + 1 :])
    walk.cwd = cwd
    return status
