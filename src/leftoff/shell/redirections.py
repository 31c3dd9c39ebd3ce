"""Opens the redirections of a command, and tracks the text that it prints into a file."""

from leftoff.shell import expansion
from leftoff.shell import operations as ops
from leftoff.shell.ast import UNKNOWN, Document, Redirect
from leftoff.shell.paths import join
from leftoff.shell.state import MAX_TEXT, REFUSED, Walk


def redirect(walk: Walk, redirects: tuple[Redirect, ...]) -> bool:
    """Open the redirections; False where one of them fails."""
    for item in redirects:
        target = item.target
        operator = item.operator
        if isinstance(target, Document):
            # What stands for a variable or a command in it is not followed.
            walk.stdin = None if target.expands else target.text
            continue
        found = expansion.fields(walk, (target,))
        name = found[0] if len(found) == 1 else UNKNOWN
        if operator in (">&", "<&") and (name.isdecimal() or name == "-"):
            if item.descriptor == 2 and name == "-":
                walk.stderr_hidden = True
            continue
        if operator == "<":
            walk.stdin = "" if name == "/dev/null" else walk.known_content(name)
            if ops.read(walk, name, "<") is False:
                return False
            continue
        if item.descriptor == 2 or operator in ("&>", "&>>", ">&"):
            walk.stderr_hidden = True
        if item.descriptor in (-1, 1) and operator != ">&":
            walk.captured = True
        # Nothing on a device is a file of the project. `nul` is one of Windows.
        posix = walk.cwd is not None and walk.cwd[:1] in "/~"
        if name.startswith("/dev/") or name.lower() == "nul" and not posix:
            continue
        append = operator in (">>", "&>>")
        missing = walk.reports_error(">", name) and ops.write_blocked(walk, name) is not False
        if missing or walk.reports_error(REFUSED, name):
            return False
        where = walk.path(name) or ""
        # `ops.write` forgets the text of a file.
        before = walk.contents.get(where) if append else None
        if not ops.write(walk, name, ">>" if append else ">", guess_append=append):
            return False
        if before is not None:
            walk.contents[where] = before  # what is printed comes after it
    return True


def store_stdout(walk: Walk, redirects: tuple[Redirect, ...]) -> None:
    """Track the text that a command printed into a file, where it is known and short."""
    taken = False
    for item in redirects:
        if item.descriptor not in (-1, 1) or isinstance(item.target, Document):
            continue
        if item.operator not in (">", ">>", ">|", "&>", "&>>"):
            continue
        taken = True
        found = expansion.fields(walk, (item.target,))
        path = join(walk.cwd, found[0]) if len(found) == 1 else None
        if path is None or UNKNOWN in path:
            continue
        text = walk.stdout
        if item.operator in (">>", "&>>"):
            before = walk.contents.get(path)
            text = None if before is None or text is None else before + text
        # `&>` takes the error messages as well, which are not known.
        if text is None or len(text) > MAX_TEXT or item.operator[0] == "&":
            walk.contents.pop(path, None)
        else:
            walk.contents[path] = text
    if taken:
        walk.stdout = ""
