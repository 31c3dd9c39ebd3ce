"""File operations of the interpreter: read, write, delete, copy, move.

Each operation returns its status (True, False, or None where it is not known) and records its
effect. An operation on a path that is not known is recorded as an unknown effect."""

from leftoff import lazy_re as re
from leftoff.shell.ast import PATTERN_MARKS, UNKNOWN
from leftoff.shell.filesystem import Action
from leftoff.shell.paths import join, parent_of
from leftoff.shell.quoting import unmark_patterns
from leftoff.shell.state import REFUSED, Status, Walk

# Streams, devices, databases in memory, addresses of databases and of the web.
_NO_FILE = re.compile(
    r"-\Z|/dev/|(?:file:)?:memory:|file:.*[?&]mode=memory|(?!file:)[a-z][\w+]+://"
)


def no_file(walk: Walk, name: str) -> bool:
    """Whether a name is no file of the project: what `_NO_FILE` lists, or `nul` of Windows."""
    posix = walk.cwd is not None and walk.cwd[:1] in "/~"
    return _NO_FILE.match(name) is not None or name.lower() == "nul" and not posix


def record_unknown(
    walk: Walk, field: str | None, action: Action, tool: str | None = None
) -> None:
    """Record an effect on an unknown path, or on the unknown matches of a pattern."""
    tool = tool or walk.tool
    if field is not None and UNKNOWN not in field:
        path = join(walk.cwd, field)
        if path is not None and not PATTERN_MARKS.isdisjoint(path):
            walk.effects.unknown(tool, path, action=action, pattern=True)
            return
    walk.effects.unknown(tool, None, action=action)


def read(walk: Walk, field: str, tool: str | None = None, *, named: bool = True) -> Status:
    """Read a file."""
    if no_file(walk, field):
        return True
    tool = tool or walk.tool
    path = walk.resolved(field)
    if path is None:
        if walk.reports_error(tool, unmark_patterns(field)):
            return False
        record_unknown(walk, field, "read", tool)
        return None
    kind = walk.state.kind(path)
    tools = {tool, REFUSED, ">"} if tool == "<" else {tool}
    if kind != "file":  # one that a shell could not write may not be there
        tools.add(REFUSED)
    blamed = any(walk.reports_error(one, field) for one in tools)
    succeeded = walk.expected_status is True and not blamed
    if kind == "absent" and succeeded and not walk.effects.knows(path):
        walk.state.put(path)  # something that is not seen made it again before
        kind = "file"
    if kind == "absent" or kind == "directory" or blamed:
        return False
    if kind == "unknown" and walk.expected_status is False and not walk.reports_error(tool):
        return None
    uncertainty = walk.uncertainty
    # A file that was read exists, unless the command may have failed to read it.
    if kind == "unknown" and not walk.presumed_success():
        uncertainty = max(uncertainty, 1)
    walk.effects.read(path, tool, uncertainty, named=named)
    return True if kind == "file" or walk.expected_status is True else None


def read_tree(walk: Walk, field: str) -> Status:
    """Read a file, or the files below a directory, which are not recorded one by one."""
    kind = walk.kind(field)
    if walk.is_unresolved(field) or (
        kind in ("directory", "unknown")
        and (kind == "directory" or looks_like_directory(field))
    ):
        return True if kind == "directory" else None
    return read(walk, field)


def write_blocked(walk: Walk, field: str) -> Status:
    """True where no file can be written here, False where one can, None where not known."""
    path = walk.path(field)
    if path is None:
        return None
    if walk.state.kind(path) == "directory":
        return True
    above = walk.state.kind(parent_of(path))
    # The directory that the session runs in exists, and so does the root.
    if parent_of(path) in (".", "/"):
        return False
    return True if above in ("absent", "file") else None if above == "unknown" else False


def write(
    walk: Walk,
    field: str,
    tool: str | None = None,
    *,
    guess_append: bool = False,
    existed: bool = False,
    named: bool = True,
) -> bool:
    """Write a file; False where that must fail.

    `guess_append`: where nothing is known of the file, it more likely existed before.
    `existed`: the command works only on a file that exists."""
    tool = tool or walk.tool
    if no_file(walk, field):
        return True
    path = walk.resolved(field)
    if path is None:
        record_unknown(walk, field, "modified" if existed else "unknown", tool)
        return True
    if write_blocked(walk, field) is True or field[-1:] == "/":
        return False
    if existed and walk.state.kind(path) == "absent":
        return False
    walk.contents.pop(path, None)
    walk.effects.write(
        path,
        tool,
        walk.uncertainty,
        guess="modified" if guess_append else "created",
        existed=existed,
        named=named,
    )
    return True


def modify(walk: Walk, field: str, *, suffix: str = "") -> Status:
    """Change a file that exists; `suffix`: how the name of its backup ends, or the whole name,
    with ``*`` for that of the file."""
    tool = walk.tool
    path = walk.resolved(field)
    if path is None:
        record_unknown(walk, field, "modified", tool)
        return None
    kind = walk.state.kind(path)
    if kind in ("absent", "directory") or walk.reports_error(tool, field):
        return False
    if walk.expected_status is False and kind == "unknown":
        return None
    if suffix:
        folder, slash, name = field.rpartition("/")
        copy = suffix.replace("*", name) if "*" in suffix else name + suffix
        target = copy if "/" in copy else folder + slash + copy
        transfer(walk, field, target, move=False, recursive=False)
    walk.contents.pop(path, None)
    walk.effects.write(
        path, tool, walk.uncertainty, guess="modified", existed=walk.presumed_success()
    )
    return True if kind == "file" else None


def delete(
    walk: Walk, field: str, *, force: bool = False, recursive: bool = False, shown: bool = False
) -> Status:
    """Remove a file, or with `recursive` a directory; `shown`: the output names it."""
    path = walk.resolved(field)
    if path is None:
        if not walk.reports_error(walk.tool, unmark_patterns(field)):
            record_unknown(walk, field, "deleted")
        return None
    kind = walk.state.kind(path)
    if kind == "absent":
        # `rm` fails where there is no file, `rm -f` does not.
        return force
    if walk.reports_error(walk.tool, field):
        return False
    if kind == "directory" or (kind == "unknown" and field[-1:] == "/"):
        if not recursive:
            return False
        return _delete_tree(walk, path, kind == "directory")
    if kind == "unknown" and walk.expected_status is False:
        return None
    # `rm -r` of an unknown name: a directory by its name, or else a file.
    if kind == "unknown" and recursive and looks_like_directory(path):
        return _delete_tree(walk, path, False)
    existed = shown or (not force and walk.presumed_success())
    walk.effects.delete(path, walk.tool, walk.uncertainty, existed=existed)
    return True if kind == "file" or force else None


def _delete_tree(walk: Walk, path: str, known: bool) -> Status:
    complete = walk.state.is_complete(path)
    for below in walk.state.below(path):
        walk.effects.delete(below, walk.tool, walk.uncertainty, named=False)
    if not complete:
        # The files in it that the recording never named went with it, so the folder stands for
        # them.
        certainty = "sure" if known and not walk.uncertainty else "likely"
        shown = path + "/"
        walk.effects.unknown(
            walk.tool,
            shown,
            action="deleted",
            certainty=certainty if walk.uncertainty < 2 else "unknown",  # type: ignore[arg-type]
        )
    if walk.uncertainty < 2:
        walk.state.remove(path)
    return True


def make_directory(walk: Walk, field: str, *, parents: bool = False) -> Status:
    """Make a directory: no effect of its own, but the directory is known from here on."""
    path = walk.resolved(field)
    if path is None:
        return None
    kind = walk.state.kind(path)
    if kind == "directory":
        return parents
    if kind == "file" or (not parents and walk.state.kind(parent_of(path)) == "absent"):
        return False
    # Without `-p` it fails on a directory that exists, so the new one is empty.
    if walk.uncertainty < 2 and walk.expected_status is not False:
        walk.state.put_directory(path, empty=kind == "absent" or not parents)
    return True if kind == "absent" else None


def destination(source: str, target: str, target_is_directory: bool) -> str:
    """The field that a copy or move of `source` to `target` creates."""
    if not target_is_directory:
        return target
    name = source.rstrip("/").rpartition("/")[2]
    return target.rstrip("/") + "/" + name


def transfer(walk: Walk, source: str, target: str, *, move: bool, recursive: bool) -> Status:
    """Copy or move a file or a tree to exactly `target`."""
    old, new = walk.resolved(source), walk.resolved(target)
    if old is None or new is None:
        record_unknown(walk, target, "unknown")
        if move:
            record_unknown(walk, source, "deleted")
        return None
    kind = walk.state.kind(old)
    if kind == "absent" or walk.reports_error(walk.tool, source):
        return False
    # `cp a a` and `mv a a` fail.
    if old == new:
        return False
    if kind == "unknown" and walk.expected_status is False:
        return None
    if walk.state.kind(parent_of(new)) == "absent" or walk.reports_error(walk.tool, target):
        if not move and kind == "file":
            walk.effects.read(old, walk.tool, walk.uncertainty)
        return False
    looks_tree = kind == "unknown" and (recursive or move) and looks_like_directory(old)
    # `mv .hidden notes.txt` moves a file, whatever the old name looks like.
    looks_tree = looks_tree and (recursive or looks_like_directory(new) or new.startswith(old))
    if kind == "directory" or looks_tree:
        if not (move or recursive):
            return False
        return _transfer_tree(walk, old, new, move)
    if walk.state.kind(new) == "directory":
        return False
    uncertainty = walk.uncertainty
    certain = walk.presumed_success()
    # Its text goes with it, so that a script is still known when it is run later.
    text = walk.contents.get(old)
    content = walk.effects.content(old)
    if move:
        walk.effects.delete(old, walk.tool, uncertainty, existed=certain)
    else:
        walk.effects.read(old, walk.tool, uncertainty if certain else max(uncertainty, 1))
    walk.effects.write(
        new, walk.tool, uncertainty, renamed_from=old if move else None, content=content
    )
    walk.contents.pop(new, None)
    if text is not None:
        walk.contents[new] = text
    return True if kind == "file" else None


def _moved(path: str, old: str, new: str) -> str:
    """Where a path below the tree `old` is at `new`; either may be "." or "/"."""
    return join(new, path[0 if old == "." else len(old) :].lstrip("/")) or path


def _transfer_tree(walk: Walk, old: str, new: str, move: bool) -> Status:
    # What lies in it beside the known files has moved as well: said as "and others".
    complete = walk.state.is_complete(old)
    known = walk.state.below(old)
    folders = [p for p in walk.state.below(old, directories=True) if p not in set(known)]
    walk.state.put_directory(new, empty=complete and walk.state.kind(new) == "absent")
    for below in known:
        there = _moved(below, old, new)
        content = walk.effects.content(below)
        if move:
            walk.effects.delete(below, walk.tool, walk.uncertainty, named=False)
        else:
            walk.effects.read(below, walk.tool, walk.uncertainty, named=False)
        walk.effects.write(
            there,
            walk.tool,
            walk.uncertainty,
            named=False,
            renamed_from=below if move else None,
            content=content,
        )
    for folder in folders:
        walk.state.put_directory(_moved(folder, old, new))
    if not complete:
        if move:
            walk.effects.unknown(walk.tool, old + "/", action="deleted", certainty="likely")
        walk.effects.unknown(
            walk.tool,
            new.rstrip("/") + "/",
            action="created",
            certainty="likely",
            renamed_from=old + "/" if move else None,
        )
    if move:
        walk.state.remove(old)
    return True


def looks_like_directory(path: str) -> bool:
    """Whether a path of unknown kind is more likely a directory than a file, by its name."""
    name = path.rstrip("/").rpartition("/")[2]
    if path[-1:] == "/":
        return True
    stem, dot, suffix = name.rpartition(".")
    # `dist` and `.venv` are directories, `notes.txt`, `Makefile` and `.gitignore` are files.
    plain = not (dot and stem and suffix) and not name[:1].isupper()
    hidden = name[:1] == "." and name.endswith(_HIDDEN_FILES) and name != ".venv"
    return plain and not hidden or bool(stem) and suffix in _FOLDERS


# Ends of names of hidden files.
_HIDDEN_FILES = ("ignore", "rc", "keep", "attributes", "modules", "editorconfig", "env")

# Ends of names of directories: what macOS opens as one thing, and bare repositories.
_FOLDERS = frozenset("app bundle framework xcodeproj xcworkspace egg-info dSYM git".split())
