"""The tools that an agent's JavaScript calls (``tools.exec_command({cmd: "..."})``).

Only literals count, and names that were given a literal."""

from leftoff import lazy_re as re
from leftoff.shell.embedded.steps import MAX_SCRIPT, MAX_STEPS

# Strings before comments: `//` in an address of the web begins none.
_TOKEN = re.compile(
    r"""(?P<text>'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?|`(?:\\.|[^`\\])*`?)"""
    r"""|(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))|(?P<name>[^\W\d][\w.$]*|\$[\w.$]*|@[\w.$]*)"""
    r"""|(?P<number>\d[\w.]*)|(?P<mark>>>|\S)""",
    re.DOTALL,
)

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_COMMANDS = frozenset({"tools.exec_command", "tools.shell", "tools.shell_command"})
_PATCHES = frozenset({"tools.apply_patch", "tools.applyPatch"})
_COMMAND_KEYS = frozenset({"cmd", "command"})
_PLACE_KEYS = frozenset({"workdir", "cwd"})
_PATCH_KEYS = frozenset({"patch", "input"})


def tool_steps(code: str) -> list[tuple[str, str, str]]:
    """(command | patch, its text, its directory or "") for each call, in order."""
    # The factor was chosen by hand; not measured.
    if "tools." not in code or len(code) > 4 * MAX_SCRIPT:
        return []
    found: list[tuple[str, str, str]] = []
    names: dict[str, str] = {}
    stream = _tokens(code)
    for i, (kind, text) in enumerate(stream):
        if kind != "name":
            continue
        # `const patch = "…"`, and the call below takes `patch`.
        if stream[i + 1 : i + 2] == [("mark", "=")]:
            value = _literal(stream, i + 2, names)
            if value is not None:
                names[text] = value
            continue
        wanted = text in _COMMANDS or text in _PATCHES
        if not wanted or stream[i + 1 : i + 2] != [("mark", "(")] or len(found) >= MAX_STEPS:
            continue
        given, place = _arguments(stream, i + 2, names)
        if given:
            found.append(("patch" if text in _PATCHES else "command", given, place))
    return found


def _literal(stream: list[tuple[str, str]], at: int, names: dict[str, str]) -> str | None:
    """The text of the expression at an index: a literal, literals joined by ``+``, or a joined
    list of them; None for any other expression."""
    if at < len(stream) and stream[at] == ("name", "String.raw"):
        at += 1
    if stream[at : at + 1] == [("mark", "[")]:
        return _joined_list(stream, at + 1)
    pieces: list[str] = []
    while at < len(stream):
        kind, text = stream[at]
        if kind == "text":
            pieces.append(text)
        elif kind == "name" and text in names:
            pieces.append(names[text])
        else:
            return None
        if stream[at + 1 : at + 2] != [("mark", "+")]:
            return "".join(pieces)
        at += 2
    return None


def _joined_list(stream: list[tuple[str, str]], at: int) -> str | None:
    items: list[str] = []
    while at < len(stream) and stream[at] != ("mark", "]"):
        kind, text = stream[at]
        if kind == "text":
            items.append(text)
        elif text != ",":
            return None
        at += 1
    after = stream[at + 1 : at + 5]
    if len(after) > 3 and after[:2] == [("mark", "."), ("name", "join")]:
        return after[3][1].join(items) if after[3][0] == "text" else None
    return None


def _arguments(
    stream: list[tuple[str, str]], at: int, names: dict[str, str]
) -> tuple[str, str]:
    """(command or patch, directory) of a call whose arguments begin at a place."""
    if stream[at : at + 1] != [("mark", "{")]:
        return _literal(stream, at, names) or "", ""
    given = place = ""
    depth = 0
    while at < len(stream):
        kind, text = stream[at]
        if kind == "mark":
            depth += (text in "{[(") - (text in "}])")
            if depth <= 0:
                break
        elif depth == 1 and stream[at - 1][1] in ("{", ","):
            if stream[at + 1 : at + 2] == [("mark", ":")]:
                value = _literal(stream, at + 2, names)
            else:
                value = names.get(text) if kind == "name" else None  # {cmd}
            if value is not None and text in _COMMAND_KEYS | _PATCH_KEYS:
                given = value
            elif value is not None and text in _PLACE_KEYS:
                place = value
        at += 1
    return given, place


def _tokens(code: str) -> list[tuple[str, str]]:
    """Names (with their dots), literal texts, numbers and marks; a template with values is a
    name, since its text is not known."""
    out: list[tuple[str, str]] = []
    for found in _TOKEN.finditer(code):
        kind, text = found.lastgroup or "", found[0]
        if kind == "text":
            quote, body = text[0], text[1:].removesuffix(text[0])
            if quote == "`" and "${" in body:
                kind, text = "name", "?"
            else:
                text = _ESCAPE.sub(lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), body)
        if kind != "comment":
            out.append((kind, text.rstrip(".") if kind == "name" else text))
    return out
