"""What git commands do to the files of the working tree.

Git changes many files whose names the command line does not hold; where its output names them
(``rm 'x'``, ``Removing x``, the summary of a merge), that is used. A commit, a tag or a push
changes no file of the tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell import embedded
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.programs.interpreters import follow

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.filesystem import Action
    from leftoff.shell.interpreter import Machine, Status

__all__ = ["SUBCOMMANDS", "summary_lines"]


def _split(
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


def _visible(machine: Machine) -> list[str]:
    return [] if machine.captured or machine.output is None else machine.lines()


def _quoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def _rm(machine: Machine, words: list[str]) -> Status:
    options, before, after = _split(words)
    if "--cached" in options or "-n" in options or "--dry-run" in options:
        return None
    if machine.want is False:
        return False
    named = [_quoted(line[3:]) for line in _visible(machine) if line.startswith("rm '")]
    if named and "-q" not in options:
        root = machine.cwd
        for name in named:
            machine.delete(name, force=True, shown=True)
        machine.cwd = root
        return True
    status: Status = True
    for field in before + after:
        path = machine.path(field) if not machine.special(field) else None
        if path is not None and machine.state.kind(path) == "absent":
            status = False
        recursive = bool(options & {"-r", "-rf"}) or "-r" in options
        if machine.delete(field, recursive=recursive) is False:
            status = False
        if path is not None:
            _drop_empty(machine, path)
    return status


def _drop_empty(machine: Machine, path: str) -> None:
    """Git removes the directories that it empties."""
    from leftoff.shell.filesystem import parent_of

    above = parent_of(path)
    while above not in (".", "/") and machine.rank < 2:
        if not machine.state.is_complete(above) or machine.state.below(above, directories=True):
            return
        machine.state.remove(above)
        above = parent_of(above)


def _mv(machine: Machine, words: list[str]) -> Status:
    options, before, after = _split(words)
    operands = before + after
    if len(operands) < 2 or machine.want is False or options & {"-n", "--dry-run"}:
        return False if machine.want is False else None
    sources, target = operands[:-1], operands[-1]
    path = machine.path(target) if not machine.special(target) else None
    kind = machine.state.kind(path) if path is not None else "unknown"
    into = len(sources) > 1 or target.endswith("/") or kind == "directory"
    status: Status = True
    for source in sources:
        goal = machine.place(source, target, into)
        if goal is None:
            continue
        goal_path = machine.path(goal) if not machine.special(goal) else None
        if goal_path is not None and machine.state.kind(goal_path) == "file":
            if not options & {"-f", "--force"}:
                status = False
                continue
        done = machine.transfer(source, goal, move=True, recursive=True)
        if done is False:
            status = False
    return status


def _looks_like_path(machine: Machine, field: str) -> bool:
    if machine.special(field):
        return False
    path = machine.path(field)
    kind = machine.state.kind(path) if path is not None else "unknown"
    if kind in ("file", "directory"):
        return True
    name = field.rpartition("/")[2]
    return field == "." or ("." in name[1:] and not field.startswith("origin/"))


def _restore(machine: Machine, words: list[str]) -> Status:
    options, before, after = _split(words, ("-s", "--source", "--pathspec-from-file"))
    staged = bool(options & {"-S", "--staged"})
    if (staged and not options & {"-W", "--worktree"}) or machine.want is False:
        return False if machine.want is False else None
    return _paths_restored(machine, before + after)


def _paths_restored(machine: Machine, fields: list[str]) -> Status:
    """Named files get other contents, if they had changes: that is not known."""
    for field in fields:
        path = machine.path(field) if not machine.special(field) else None
        if path is None or field == "." or machine.state.kind(path) == "directory":
            if field == ".":
                _all_restored(machine)
            else:
                machine.effects.unknown("git")
        elif machine.state.kind(path) == "absent":
            machine.write(field, "git")
        else:
            # Without changes it stays as it is; changes are known only where we saw them.
            seen = path in machine.state.changed()
            rank = max(machine.rank, 0 if seen else 2)
            machine.effects.write(path, "git", rank, guess="modified", restored=True)
            if not seen and machine.rank < 2:
                machine.state.put(path)
    return None


def _all_restored(machine: Machine) -> tuple[tuple[str, Action], ...]:
    """Every tracked file with changes that we saw has its committed contents again: which
    files, and what had happened to them."""
    found: list[tuple[str, Action]] = []
    for path, action in sorted(machine.effects.changed().items()):
        if (action == "modified" and machine.state.kind(path) == "file") or (
            action == "deleted" and machine.state.kind(path) == "absent"
        ):
            machine.effects.write(path, "git", max(machine.rank, 1), restored=True)
            found.append((path, action))
    machine.effects.unknown("git")
    return tuple(found)


def _checkout(machine: Machine, words: list[str]) -> Status:
    options, before, after = _split(words, ("-b", "-B", "--orphan", "--conflict"))
    if machine.want is False:
        return False
    if after:
        return _paths_restored(machine, after)
    if options & {"-b", "-B", "--orphan"} and not before:
        return None
    paths = [field for field in before if _looks_like_path(machine, field)]
    if paths and (len(before) > 1 or options & {"--ours", "--theirs"}):
        return _paths_restored(machine, paths if len(paths) == len(before) else before[1:])
    if paths and len(before) == 1:
        return _paths_restored(machine, paths)
    return _switched(machine)


def _switched(machine: Machine) -> Status:
    """Another commit was checked out: files may have changed."""
    if machine.output is not None and not machine.captured:
        if "Already on" in machine.output:
            return None
    machine.effects.unknown("git")
    return None


def _switch(machine: Machine, words: list[str]) -> Status:
    options, before, _ = _split(words, ("-c", "-C", "--create", "--orphan"))
    if machine.want is False:
        return False
    if options & {"-c", "-C", "--create"} and not before:
        return None
    return _switched(machine)


def summary_lines(lines: list[str]) -> list[tuple[str, str, str]]:
    """Files in the summary of a commit, merge or pull, as (what, path, old path).

    `what` is ``created``, ``deleted``, ``renamed`` or ``changed``.
    """
    found: list[tuple[str, str, str]] = []
    named: set[str] = set()
    for line in lines:
        text = line.strip()
        if text.startswith(("create mode ", "delete mode ")):
            path = _quoted(text[12:].partition(" ")[2])
            found.append(("created" if text[0] == "c" else "deleted", path, ""))
            named.add(path)
        elif text.startswith("rename ") and text.endswith("%)"):
            body = text[7:].rpartition(" (")[0]
            old, new = _renamed(body)
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
        path = _quoted(name.strip())
        if " => " in path:
            path = _renamed(path)[1]
        if path and path not in named and not path.startswith("..."):
            found.append(("changed", path, ""))
            named.add(path)
    return found


def _renamed(text: str) -> tuple[str, str]:
    """Both paths of ``a/{b => c}/d`` or ``a => b``."""
    if "{" in text and "}" in text:
        head, _, rest = text.partition("{")
        middle, _, tail = rest.partition("}")
        old, _, new = middle.partition(" => ")
        return (head + old + tail).replace("//", "/"), (head + new + tail).replace("//", "/")
    old, _, new = text.partition(" => ")
    return old.strip(), new.strip()


def _merged(machine: Machine, words: list[str]) -> Status:
    """A command that brings in commits and prints what they changed."""
    if machine.want is False:
        machine.effects.unknown("git")
        return False
    lines = _visible(machine)
    text = "\n".join(lines)
    if "Already up to date" in text or "Already up-to-date" in text:
        return True
    found = summary_lines(lines)
    if not found:
        machine.effects.unknown("git")
        return None
    for what, path, old in found:
        if what == "created":
            machine.write(path, "git")
        elif what == "deleted":
            machine.delete(path, force=True, shown=True)
        elif what == "renamed":
            machine.transfer(old, path, move=True, recursive=False)
        else:
            machine.modify(path, "git")
    return True


def _stash(machine: Machine, words: list[str]) -> Status:
    verb = next((word for word in words if word[:1] != "-"), "push")
    if verb in ("list", "show", "drop", "clear", "branch"):
        return None
    lines = _visible(machine)
    if any("No local changes" in line for line in lines):
        return None
    if machine.want is False:
        return False
    stashes = machine.state.stashes
    if verb in ("pop", "apply"):
        kept = stashes.pop() if stashes and verb == "pop" else stashes[-1] if stashes else ()
        found = False
        for line in lines:
            label, colon, path = line.strip().partition(":")
            path = path.strip()
            if not colon or not path:
                continue
            if label == "modified":
                machine.modify(path, "git")
                found = True
            elif label == "new file":
                machine.write(path, "git")
                found = True
            elif label == "deleted":
                machine.delete(path, force=True, shown=True)
                found = True
        if found:
            return True
        for path, action in kept:  # it says nothing: what was put away comes back
            if action == "deleted":
                machine.effects.delete(path, "git", max(machine.rank, 1))
            else:
                machine.effects.write(
                    path, "git", max(machine.rank, 1), guess="modified", existed=True
                )
        machine.effects.unknown("git")
        return None
    stashes.append(_all_restored(machine))
    return None


def _reset(machine: Machine, words: list[str]) -> Status:
    if "--hard" in words or "--merge" in words or "--keep" in words:
        if machine.want is False:
            return False
        _all_restored(machine)
    return None


def _clean(machine: Machine, words: list[str]) -> Status:
    options, before, after = _split(words, ("-e", "--exclude"))
    if options & {"-n", "--dry-run"} or machine.want is False:
        return None
    if not options & {"-f", "--force", "-fd", "-fdx", "-df", "-xdf"} and "-f" not in options:
        return False
    removed = [_quoted(line[9:]) for line in _visible(machine) if line.startswith("Removing ")]
    if removed:
        for name in removed:
            machine.delete(name, force=True, recursive=True, shown=True)
        return True
    if "-q" in options or machine.captured or machine.output is None:
        for field in before + after:
            machine.effects.unknown("git", machine.path(field))
        if not (before or after):
            machine.effects.unknown("git", action="deleted")
    return True


def _apply(machine: Machine, words: list[str]) -> Status:
    options, before, after = _split(
        words, ("-C", "-p", "--directory", "--exclude", "--include")
    )
    level = next((w[2:] for w in words if w[:2] == "-p" and w[2:].isdecimal()), "1")
    if options & {"--check", "--stat", "--numstat", "--summary"} or machine.want is False:
        return False if machine.want is False else None
    texts: list[str | None] = []
    for field in before + after:
        if field == "-":
            texts.append(machine.stdin)
            continue
        texts.append(machine.known_text(field))
        if machine.read(field) is False:
            return False
    if not before and not after:
        texts.append(machine.stdin)
    if "--cached" in options:
        return None
    for text in texts:
        if text is None:
            machine.effects.unknown("git")
        else:
            reverse = bool(options & {"-R", "--reverse"})
            follow(machine, "git", embedded.patch_effects(text, level, reverse=reverse))
    return None


def _add(machine: Machine, words: list[str]) -> Status:
    _, before, after = _split(words)
    for field in before + after:
        path = machine.path(field) if not machine.special(field) else None
        if path is not None and machine.state.kind(path) == "absent":
            return False
    return None


def _listing(machine: Machine, words: list[str]) -> Status:
    """``git ls-files`` prints tracked files; with every file known, those are the tree's."""
    return None


def _clone(machine: Machine, words: list[str]) -> Status:
    if machine.want is False:
        return False
    machine.effects.unknown("git")
    return None


def _worktree(machine: Machine, words: list[str]) -> Status:
    if words[:1] in (["add"], ["remove"], ["move"]) and machine.want is not False:
        machine.effects.unknown("git")
    return None


def _format_patch(machine: Machine, words: list[str]) -> Status:
    if "--stdout" in words or machine.want is False:
        return None
    named = [line.strip() for line in _visible(machine) if line.strip().endswith(".patch")]
    for name in named:
        machine.write(name, "git")
    if not named:
        machine.effects.unknown("git")
    return None


def _archive(machine: Machine, words: list[str]) -> Status:
    for i, word in enumerate(words):
        if word in ("-o", "--output") and i + 1 < len(words):
            machine.write(words[i + 1], "git")
        elif word.startswith("--output="):
            machine.write(word[9:], "git")
    return None


def _shows(machine: Machine, words: list[str]) -> Status:
    """``git diff``, ``git log`` …: they change nothing, but ``--output`` writes."""
    for word in words:
        if word.startswith("--output=") and UNKNOWN not in word:
            machine.write(word[9:], "git")
    return None


SUBCOMMANDS: dict[str, Callable[[Machine, list[str]], Status]] = {
    "rm": _rm, "mv": _mv, "restore": _restore, "checkout": _checkout, "switch": _switch,
    "merge": _merged, "pull": _merged, "rebase": _merged, "cherry-pick": _merged,
    "revert": _merged, "am": _merged, "stash": _stash, "reset": _reset, "clean": _clean,
    "apply": _apply, "add": _add, "ls-files": _listing, "clone": _clone,
    "submodule": _clone, "worktree": _worktree, "format-patch": _format_patch,
    "archive": _archive, "diff": _shows, "log": _shows, "show": _shows, "bisect": _clone,
    "read-tree": _clone, "checkout-index": _clone, "sparse-checkout": _clone,
    "filter-branch": _clone, "lfs": _clone,
}  # fmt: skip
