"""Files named in patch texts that an edit tool is given, as the verbs of file evidence."""

from leftoff.shell.embedded.patches import diff_steps, marked_steps

_VERBS = {"add": "create", "modify": "edit", "delete": "delete", "move": "move"}
_MARKS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ")


def patched_files(patch: str) -> list[tuple[str, str, str]]:
    """(verb, path, new path) for each file that a patch touches, in order.

    Verbs are create, edit, delete and move; the new path is "" unless it moves. Both the
    ``*** Begin Patch`` form and unified diffs are read."""
    marked = any(mark in patch for mark in _MARKS)
    steps = marked_steps(patch) if marked else diff_steps(patch)
    moved = {path for verb, path, _ in steps if verb == "move"}
    moved |= {target for verb, _, target in steps if verb == "move"}
    return [
        (_VERBS[verb], path, target)
        for verb, path, target in steps
        if verb != "modify" or path not in moved
    ]
