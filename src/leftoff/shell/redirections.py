"""Opens the redirections of a command, and tracks the text that it prints into a file."""

from leftoff.shell import expansion
from leftoff.shell import operations as ops
from leftoff.shell.ast import UNKNOWN, Document, Redirect
from leftoff.shell.state import MAX_TEXT, REFUSED, Walk


def redirect(
    walk: Walk, redirects: tuple[Redirect, ...]
) -> list[tuple[str | None, str]] | None:
    """Open the redirections; the paths that take standard output, each with its operator, and
    None in place of all where one of them fails."""
    taken: list[tuple[str | None, str]] = []
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
                return None
            continue
        if item.descriptor == 2 or operator in ("&>", "&>>", ">&"):
            walk.stderr_hidden = True
        device = ops.no_file(walk, name)
        where = None if device else walk.path(name)
        if item.descriptor in (-1, 1) and operator != ">&":
            walk.captured = True
            taken.append((where, operator))
        if device:
            continue
        append = operator in (">>", "&>>")
        missing = walk.reports_error(">", name) and ops.write_blocked(walk, name) is not False
        if missing or walk.reports_error(REFUSED, name):
            return None
        # `ops.write` forgets the text of a file.
        before = walk.contents.get(where or "") if append else None
        if not ops.write(walk, name, ">>" if append else ">", guess_append=append):
            return None
        if before is not None and where is not None:
            walk.contents[where] = before  # what is printed comes after it
    return taken


def store_stdout(walk: Walk, taken: list[tuple[str | None, str]]) -> None:
    """Track the text that a command printed into files, where it is known and short."""
    for number, (path, operator) in enumerate(taken, 1):
        before = walk.contents.pop(path or "", None)
        # Of several the last one takes all in bash, each one in zsh.
        text = walk.stdout if number == len(taken) else None
        if operator in (">>", "&>>"):
            text = None if before is None or text is None else before + text
        # `&>` takes the error messages as well, which are not known.
        if path is not None and text is not None and len(text) <= MAX_TEXT:
            if operator[0] != "&":
                walk.contents[path] = text
    if taken:
        walk.stdout = ""
