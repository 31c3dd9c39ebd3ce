"""Extractor of file calls and command lines: which call asks for what on which file."""

from collections.abc import Iterable, Iterator
from typing import ClassVar
from urllib.parse import unquote

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.extraction.evidence import Evidence, Ran, Touched
from leftoff.extraction.extractor import FILE, View
from leftoff.formats.vocabulary import argument, first_text, text_argument
from leftoff.model import ToolCall, ToolResult
from leftoff.shell.embedded.steps import RUNNABLE
from leftoff.shell.paths import absolute
from leftoff.tables import table

_RE = re.patterns(table(__file__, "patterns.toml")["files"])

# Code points of a written script that is recorded, so that a later run of it can be analysed; a
# longer one is not recorded. Chosen by hand; not measured.
MAX_SCRIPT = 20_000

_LANGUAGES = {"shell": "bash", "powershell": "powershell", "python": "python"}
# Tools that refuse to write a file that exists.
_CREATE_ONLY = frozenset({"create", "create_file", "copilot_createFile", "newFileCreated"})

# Editors that create a file as well, of which some recordings show nothing but the path.
_EDIT_CREATES = frozenset({"edit_file", "edit_file_v2"})

# Editors whose `create` replaces a file that exists; others refuse.
_CREATE_REPLACES = frozenset(
    {"str_replace_based_edit_tool", "text_editor", "fs_write", "strReplace"}
)


class Files(Struct):
    """Records file calls and command lines."""

    name: ClassVar[str] = "files"
    wants: ClassVar[int] = FILE

    def see(self, view: View) -> Iterable[Evidence]:
        for number, part, _ in view.tools:
            if type(part) is ToolCall:
                yield from _evidence_of(view, number, part)


def _evidence_of(view: View, number: int, call: ToolCall) -> Iterable[Evidence]:
    if call.kind == "script":
        return _script(view, number, call)
    cwd = view.message.cwd
    language = _LANGUAGES.get(call.kind)
    if language is not None:
        command = text_argument(call, "command")
        place = absolute(text_argument(call, "cwd") or cwd, cwd)
        apart = argument(call, "background") is True
        ref = view.record_ref(number)
        ran = Ran(ref, number, call.name, command, place, language, apart)
        return [ran] if command else []
    verb = operation(call)
    if not verb:
        return []
    if verb == "patch":
        found = _patch(view, number, call, text_argument(call, "patch"), cwd)
        if found or call.kind == verb:
            return found
        verb = call.kind  # a difference that names no file, as exports show it
    old = argument(call, "old") if verb == "edit" else None
    if old and old == argument(call, "new"):
        return []  # the file stays as it is, whatever the tool says
    ref = view.record_ref(number)
    target = absolute(text_argument(call, "target"), cwd)
    unnamed = [""] if verb != "read" else []
    why = _RE["named_first"].match(text_argument(call, "reason")) if verb == "delete" else None
    return [
        Touched(ref, number, call.name, verb, absolute(path, cwd), target, *new)
        for path in edited_paths(call) or unnamed
        for new in ((why[1],) if why else _new_text(call, verb, path),)
    ]


def operation(call: ToolCall) -> str:
    """What is done: read | write | edit | undo | create | delete | move | patch | ""."""
    kind = call.kind
    if kind in {"read", "edit", "create", "delete", "move", "patch"}:
        # One editor tool with a `command` argument may view, create or edit.
        command = text_argument(call, "verb")
        if command in {"view", "undo_edit"}:
            return "read" if command == "view" else "undo"
        if command == "create":
            return "write" if call.name in _CREATE_REPLACES else "create"
        if command in {"str_replace", "insert", "append", "strReplace"}:
            return "edit"
        if kind == "edit" and argument(call, "old") == "" and call.name in {"edit", "Edit"}:
            return "write"  # an empty old text creates the file
        given = call.input if isinstance(call.input, dict) else {}
        if kind in {"edit", "create"} and (shown := first_text(given, ("diff",))):
            return "write" if _RE["whole_file"].fullmatch(shown) else "edit"
        if call.name in _EDIT_CREATES and len(given) == 1 and edited_paths(call):
            return "write"
        if kind == "edit" and not edited_paths(call) and text_argument(call, "patch"):
            return "patch"
        if kind == "create":
            return "create" if call.name in _CREATE_ONLY else "write"
        return kind
    return "edit" if kind == "notebook" else ""


def edited_paths(call: ToolCall) -> list[str]:
    """The paths that a file call names, as it names them."""
    several: object = argument(call, "paths")
    if isinstance(several, list):
        return [p for p in several if isinstance(p, str)]
    path = text_argument(call, "path")
    if path:
        return [_decoded(path)]
    # Several edits in one call, each with its own path.
    edits: object = argument(call, "edits")
    found: list[str] = []
    for edit in edits if isinstance(edits, list) else ():
        if isinstance(edit, dict):
            found += [edit[key] for key in PATH_KEYS if isinstance(edit.get(key), str)]
    return list(dict.fromkeys(found))


# Names of the path in one of several edits of a call.
PATH_KEYS = ("filePath", "file_path", "path")


def _decoded(path: str) -> str:
    """A path that was written as part of a URI, as Visual Studio Code records it."""
    return unquote(path) if _RE["escaped"].search(path) else path


def _new_text(call: ToolCall, verb: str, path: str) -> tuple[str, str, int, int]:
    """What a call writes into a file that may be run: (text, replaced text, first line, last
    line); see `Touched`."""
    if verb not in {"write", "create", "edit"} or not path.endswith(RUNNABLE):
        return "", "", 0, 0
    text, old = argument(call, "content") if verb != "edit" else None, argument(call, "old")
    text = argument(call, "new") if text is None else text
    if isinstance(text, str) and len(text) <= MAX_SCRIPT:
        if verb != "edit":
            return text, "", 0, 0
        if isinstance(old, str) and old and len(old) <= MAX_SCRIPT:
            return text, old, 0, 0
        given = call.input if isinstance(call.input, dict) else {}
        first, last = given.get("start"), given.get("end")
        if type(first) is int and type(last) is int and 0 < first <= last:
            return text, "", first, last
    return "", "", 0, 0


# An empty one of these is known to do nothing when it is run.
_SCRIPTS = (".py", ".sh", ".js")


def text_after(before: str | None, act: Touched, path: str) -> str | None:
    """The text of a script after a call that wrote it; None where it is not known."""
    if act.verb != "edit":
        known = act.text or (act.verb == "create" and path.endswith(_SCRIPTS))
        return act.text if known else None
    if before is not None and act.old and act.old in before:
        return before.replace(act.old, act.text, 1)
    if before is None or not act.first:
        return None
    lines = before.split("\n")
    lines[act.first - 1 : act.last] = act.text.rstrip("\n").split("\n")
    return "\n".join(lines)


def _patch(view: View, number: int, call: ToolCall, patch: str, cwd: str) -> list[Evidence]:
    ref = view.record_ref(number)
    return [
        Touched(ref, number, call.name, did, absolute(path, cwd), absolute(target, cwd))
        for did, path, target in patched_files(patch)
    ]


_VERBS = {"add": "create", "modify": "edit", "delete": "delete", "move": "move"}
_MARKS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ")


def patched_files(patch: str) -> list[tuple[str, str, str]]:
    """(verb, path, new path) for each file that a patch touches, in order.

    Verbs are create, edit, delete and move; the new path is "" unless it moves. Both the
    ``*** Begin Patch`` form and unified diffs are read."""
    from leftoff.shell.embedded.patches import diff_steps, marked_steps

    marked = any(mark in patch for mark in _MARKS)
    steps = marked_steps(patch) if marked else diff_steps(patch)
    moved = {name for verb, *names in steps if verb == "move" for name in names}
    return [
        (_VERBS[verb], path, target)
        for verb, path, target in steps
        if verb != "modify" or path not in moved
    ]


def _script(view: View, number: int, call: ToolCall) -> Iterator[Evidence]:
    """A script that calls the agent's other tools: commands and patches in its literals."""
    from leftoff.shell.embedded.tool_script import tool_steps

    here = view.message.cwd
    for kind, text, place in tool_steps(text_argument(call, "command")):
        cwd = absolute(place or here, here)
        if kind == "patch":
            yield from _patch(view, number, call, text, cwd)
        else:
            yield Ran(view.record_ref(number), number, call.name, text, cwd, "bash")


def was_created(result: ToolResult, kind: str) -> bool | None:
    """Whether a result says that the file is new: by what the recorder states, or by the words
    of a tool that writes whole files; None where neither says so."""
    stated = result.detail.get("created") if result.detail else None
    if isinstance(stated, bool):
        return stated
    if kind != "create" or result.status != "ok":
        return None
    # SpecStory puts outputs in fences.
    head = result.text[:500].lstrip("`\n").partition("\n")[0]
    return (
        True if _RE["is_new"].search(head) else False if _RE["was_there"].search(head) else None
    )
