"""Effects of git commands on the files of the working tree.

Git changes many files that the command line does not name; where its output names them
(``rm 'x'``, ``Removing x``, the summary of a merge), that is used. A commit, a tag or a push
changes no file of the tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell import embedded
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.paths import parent_of
from leftoff.shell.programs.interpreters import apply_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.commands import Invocation
    from leftoff.shell.filesystem import Action
    from leftoff.shell.interpreter import Interpreter, Status

__all__ = ["HANDLERS", "SUBCOMMANDS", "summary_lines"]


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


def _visible_lines(shell: Interpreter) -> list[str]:
    return [] if shell.captured or shell.output is None else shell.lines()


def _unquote(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def _rm(shell: Interpreter, words: list[str]) -> Status:
    options, before, after = _split_words(words)
    if "--cached" in options or "-n" in options or "--dry-run" in options:
        return None
    if shell.expected_status is False:
        return False
    named = [_unquote(line[3:]) for line in _visible_lines(shell) if line.startswith("rm '")]
    if named and "-q" not in options:
        root = shell.cwd
        for name in named:
            shell.delete(name, force=True, shown=True)
        shell.cwd = root
        return True
    status: Status = True
    for field in before + after:
        path = shell.path(field) if not shell.is_unresolved(field) else None
        if path is not None and shell.state.kind(path) == "absent":
            status = False
        recursive = bool(options & {"-r", "-rf"}) or "-r" in options
        if shell.delete(field, recursive=recursive) is False:
            status = False
        if path is not None:
            _remove_empty_parents(shell, path)
    return status


def _remove_empty_parents(shell: Interpreter, path: str) -> None:
    """Remove the directories above a path that are now empty, as git does."""
    above = parent_of(path)
    while above not in (".", "/") and shell.uncertainty < 2:
        if not shell.state.is_complete(above) or shell.state.below(above, directories=True):
            return
        shell.state.remove(above)
        above = parent_of(above)


def _mv(shell: Interpreter, words: list[str]) -> Status:
    options, before, after = _split_words(words)
    operands = before + after
    if len(operands) < 2 or shell.expected_status is False or options & {"-n", "--dry-run"}:
        return False if shell.expected_status is False else None
    sources, target = operands[:-1], operands[-1]
    path = shell.path(target) if not shell.is_unresolved(target) else None
    kind = shell.state.kind(path) if path is not None else "unknown"
    into = len(sources) > 1 or target.endswith("/") or kind == "directory"
    status: Status = True
    for source in sources:
        goal = shell.destination(source, target, into)
        if goal is None:
            continue
        goal_path = shell.path(goal) if not shell.is_unresolved(goal) else None
        if goal_path is not None and shell.state.kind(goal_path) == "file":
            if not options & {"-f", "--force"}:
                status = False
                continue
        done = shell.transfer(source, goal, move=True, recursive=True)
        if done is False:
            status = False
    return status


def _looks_like_path(shell: Interpreter, field: str) -> bool:
    if shell.is_unresolved(field):
        return False
    path = shell.path(field)
    kind = shell.state.kind(path) if path is not None else "unknown"
    if kind in ("file", "directory"):
        return True
    name = field.rpartition("/")[2]
    return field == "." or ("." in name[1:] and not field.startswith("origin/"))


def _restore(shell: Interpreter, words: list[str]) -> Status:
    options, before, after = _split_words(words, ("-s", "--source", "--pathspec-from-file"))
    staged = bool(options & {"-S", "--staged"})
    if (staged and not options & {"-W", "--worktree"}) or shell.expected_status is False:
        return False if shell.expected_status is False else None
    return _restore_paths(shell, before + after)


def _restore_paths(shell: Interpreter, fields: list[str]) -> Status:
    """Restore named files; each is modified if it had changes, which is often not known."""
    for field in fields:
        path = shell.path(field) if not shell.is_unresolved(field) else None
        if path is None or field == "." or shell.state.kind(path) == "directory":
            if field == ".":
                _restore_all(shell)
            else:
                shell.effects.unknown("git")
        elif shell.state.kind(path) == "absent":
            shell.write(field, "git")
        else:
            # Without changes a file stays as it is; only those of the session are known.
            seen = path in shell.state.changed()
            uncertainty = max(shell.uncertainty, 0 if seen else 2)
            shell.effects.write(path, "git", uncertainty, guess="modified", restored=True)
            if not seen and shell.uncertainty < 2:
                shell.state.put(path)
    return None


def _restore_all(shell: Interpreter) -> tuple[tuple[str, Action], ...]:
    """Restore every file that the session changed; returns these with their first change."""
    found: list[tuple[str, Action]] = []
    for path, action in sorted(shell.effects.changed().items()):
        if (action == "modified" and shell.state.kind(path) == "file") or (
            action == "deleted" and shell.state.kind(path) == "absent"
        ):
            shell.effects.write(path, "git", max(shell.uncertainty, 1), restored=True)
            found.append((path, action))
    shell.effects.unknown("git")
    return tuple(found)


def _checkout(shell: Interpreter, words: list[str]) -> Status:
    options, before, after = _split_words(words, ("-b", "-B", "--orphan", "--conflict"))
    if shell.expected_status is False:
        return False
    if after:
        return _restore_paths(shell, after)
    if options & {"-b", "-B", "--orphan"} and not before:
        return None
    paths = [field for field in before if _looks_like_path(shell, field)]
    if paths and (len(before) > 1 or options & {"--ours", "--theirs"}):
        return _restore_paths(shell, paths if len(paths) == len(before) else before[1:])
    if paths and len(before) == 1:
        return _restore_paths(shell, paths)
    return _change_commit(shell)


def _change_commit(shell: Interpreter) -> Status:
    """Check out another commit: any file may have changed."""
    if shell.output is not None and not shell.captured:
        if "Already on" in shell.output:
            return None
    shell.effects.unknown("git")
    return None


def _switch(shell: Interpreter, words: list[str]) -> Status:
    options, before, _ = _split_words(words, ("-c", "-C", "--create", "--orphan"))
    if shell.expected_status is False:
        return False
    if options & {"-c", "-C", "--create"} and not before:
        return None
    return _change_commit(shell)


def summary_lines(lines: list[str]) -> list[tuple[str, str, str]]:
    """Files in the summary of a commit, merge or pull, as (what, path, old path).

    `what` is ``created``, ``deleted``, ``renamed`` or ``changed``.
    """
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


def _merge(shell: Interpreter, words: list[str]) -> Status:
    """A command that brings in commits and prints what they changed."""
    if shell.expected_status is False:
        shell.effects.unknown("git")
        return False
    lines = _visible_lines(shell)
    text = "\n".join(lines)
    if "Already up to date" in text or "Already up-to-date" in text:
        return True
    found = summary_lines(lines)
    if not found:
        shell.effects.unknown("git")
        return None
    for what, path, old in found:
        if what == "created":
            shell.write(path, "git")
        elif what == "deleted":
            shell.delete(path, force=True, shown=True)
        elif what == "renamed":
            shell.transfer(old, path, move=True, recursive=False)
        else:
            shell.modify(path, "git")
    return True


def _stash(shell: Interpreter, words: list[str]) -> Status:
    verb = next((word for word in words if word[:1] != "-"), "push")
    if verb in ("list", "show", "drop", "clear", "branch"):
        return None
    lines = _visible_lines(shell)
    if any("No local changes" in line for line in lines):
        return None
    if shell.expected_status is False:
        return False
    stashes = shell.state.stashes
    if verb in ("pop", "apply"):
        stashed = stashes.pop() if stashes and verb == "pop" else stashes[-1] if stashes else ()
        found = False
        for line in lines:
            label, colon, path = line.strip().partition(":")
            path = path.strip()
            if not colon or not path:
                continue
            if label == "modified":
                shell.modify(path, "git")
                found = True
            elif label == "new file":
                shell.write(path, "git")
                found = True
            elif label == "deleted":
                shell.delete(path, force=True, shown=True)
                found = True
        if found:
            return True
        for path, action in stashed:  # the output has no list: undo the stash entry
            if action == "deleted":
                shell.effects.delete(path, "git", max(shell.uncertainty, 1))
            else:
                shell.effects.write(
                    path, "git", max(shell.uncertainty, 1), guess="modified", existed=True
                )
        shell.effects.unknown("git")
        return None
    stashes.append(_restore_all(shell))
    return None


def _reset(shell: Interpreter, words: list[str]) -> Status:
    if "--hard" in words or "--merge" in words or "--keep" in words:
        if shell.expected_status is False:
            return False
        _restore_all(shell)
    return None


def _clean(shell: Interpreter, words: list[str]) -> Status:
    options, before, after = _split_words(words, ("-e", "--exclude"))
    if options & {"-n", "--dry-run"} or shell.expected_status is False:
        return None
    if not options & {"-f", "--force", "-fd", "-fdx", "-df", "-xdf"} and "-f" not in options:
        return False
    removed = [
        _unquote(line[9:]) for line in _visible_lines(shell) if line.startswith("Removing ")
    ]
    if removed:
        for name in removed:
            shell.delete(name, force=True, recursive=True, shown=True)
        return True
    if "-q" in options or shell.captured or shell.output is None:
        for field in before + after:
            shell.effects.unknown("git", shell.path(field))
        if not (before or after):
            shell.effects.unknown("git", action="deleted")
    return True


def _apply(shell: Interpreter, words: list[str]) -> Status:
    options, before, after = _split_words(
        words, ("-C", "-p", "--directory", "--exclude", "--include")
    )
    level = next((w[2:] for w in words if w[:2] == "-p" and w[2:].isdecimal()), "1")
    if (
        options & {"--check", "--stat", "--numstat", "--summary"}
        or shell.expected_status is False
    ):
        return False if shell.expected_status is False else None
    texts: list[str | None] = []
    for field in before + after:
        if field == "-":
            texts.append(shell.stdin)
            continue
        texts.append(shell.known_content(field))
        if shell.read(field) is False:
            return False
    if not before and not after:
        texts.append(shell.stdin)
    if "--cached" in options:
        return None
    for text in texts:
        if text is None:
            shell.effects.unknown("git")
        else:
            reverse = bool(options & {"-R", "--reverse"})
            apply_steps(shell, "git", embedded.patch_effects(text, level, reverse=reverse))
    return None


def _add(shell: Interpreter, words: list[str]) -> Status:
    _, before, after = _split_words(words)
    for field in before + after:
        path = shell.path(field) if not shell.is_unresolved(field) else None
        if path is not None and shell.state.kind(path) == "absent":
            return False
    return None


def _ls_files(shell: Interpreter, words: list[str]) -> Status:
    """``git ls-files`` prints tracked files; with every file known, those are the tree's."""
    return None


def _unknown_changes(shell: Interpreter, words: list[str]) -> Status:
    if shell.expected_status is False:
        return False
    shell.effects.unknown("git")
    return None


def _worktree(shell: Interpreter, words: list[str]) -> Status:
    if words[:1] in (["add"], ["remove"], ["move"]) and shell.expected_status is not False:
        shell.effects.unknown("git")
    return None


def _format_patch(shell: Interpreter, words: list[str]) -> Status:
    if "--stdout" in words or shell.expected_status is False:
        return None
    named = [line.strip() for line in _visible_lines(shell) if line.strip().endswith(".patch")]
    for name in named:
        shell.write(name, "git")
    if not named:
        shell.effects.unknown("git")
    return None


def _archive(shell: Interpreter, words: list[str]) -> Status:
    for i, word in enumerate(words):
        if word in ("-o", "--output") and i + 1 < len(words):
            shell.write(words[i + 1], "git")
        elif word.startswith("--output="):
            shell.write(word[9:], "git")
    return None


def _diff(shell: Interpreter, words: list[str]) -> Status:
    """``git diff``, ``git log``, ``git show``: only ``--output`` writes a file."""
    for word in words:
        if word.startswith("--output=") and UNKNOWN not in word:
            shell.write(word[9:], "git")
    return None


SUBCOMMANDS: dict[str, Callable[[Interpreter, list[str]], Status]] = {
    "rm": _rm, "mv": _mv, "restore": _restore, "checkout": _checkout, "switch": _switch,
    "merge": _merge, "pull": _merge, "rebase": _merge, "cherry-pick": _merge,
    "revert": _merge, "am": _merge, "stash": _stash, "reset": _reset, "clean": _clean,
    "apply": _apply, "add": _add, "ls-files": _ls_files, "clone": _unknown_changes,
    "submodule": _unknown_changes, "worktree": _worktree, "format-patch": _format_patch,
    "archive": _archive, "diff": _diff, "log": _diff, "show": _diff,
    "bisect": _unknown_changes, "read-tree": _unknown_changes,
    "checkout-index": _unknown_changes, "sparse-checkout": _unknown_changes,
    "filter-branch": _unknown_changes, "lfs": _unknown_changes,
}  # fmt: skip


def _git(shell: Interpreter, args: Invocation) -> Status:
    """``git``: reads the options before the subcommand and calls the subcommand's handler."""
    words = args.words
    cwd = shell.cwd
    i = 0
    while i < len(words) and words[i][:1] == "-":
        if words[i] == "-C" and i + 1 < len(words):
            field = words[i + 1]
            shell.cwd = shell.path(field) if not shell.is_unresolved(field) else None
            i += 2
        elif words[i] in ("-c", "--git-dir", "--work-tree", "--namespace"):
            i += 2
        else:
            i += 1
    name = words[i] if i < len(words) else ""
    handler = SUBCOMMANDS.get(name)
    status: Status = None
    if handler is not None:
        status = handler(shell, words[i + 1 :])
    shell.cwd = cwd
    return status


HANDLERS: dict[str, Callable[[Interpreter, Invocation], Status]] = {"git": _git}
