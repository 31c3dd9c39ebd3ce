"""Scripts of other languages than Python: the tools that an agent's JavaScript calls
(``tools.exec_command({cmd: "..."})``), and the calls of JavaScript, Ruby and PHP that read or
write a file.

Only literals count, and names that were given a literal."""

from __future__ import annotations

from leftoff import lazy_re as re
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.embedded.steps import MAX_SCRIPT, MAX_STEPS, ScriptSteps

# Strings before comments: `//` in an address of the web begins none.
_TOKEN = re.compile(
    r"""(?P<text>'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?|`(?:\\.|[^`\\])*`?)"""
    r"""|(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))|(?P<name>[^\W\d][\w.$]*|\$[\w.$]*|@[\w.$]*)"""
    r"""|(?P<number>\d[\w.]*)|(?P<mark>>>|\n|\S)""",
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
    if "tools." not in code or len(code) > 4 * MAX_SCRIPT:
        return []
    found: list[tuple[str, str, str]] = []
    names: dict[str, str] = {}
    stream = _tokens(code)
    for i, (kind, text) in enumerate(stream):
        if kind != "name":
            continue
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


_FILE_CALL = re.compile(
    r"(?:.*\.)?(?P<a>read|write|append|unlink|rm)(?:(?:Text)?File)?Sync"
    r"|(?:(?:fs|fsp|fs\.promises|promises)\.)?(?P<b>read|write|append)File"
    r"|(?:fs|fsp|fs\.promises|promises)\.(?P<c>unlink|rm)|(?:File|IO|Bun)\.(?P<d>read|write)"
    r"|Deno\.(?P<e>read|write)TextFile|file_(?P<f>get|put)_contents"
)
_VERBS = {"get": "read", "put": "write", "unlink": "delete", "rm": "delete_tree"}
_WORDS = r"(?:write|append|unlink|rename|copy|cp|mv|rm|truncate|symlink|createWrite)"
# What a script does beyond reading and printing, or names in order to do it.
_CHANGES = re.compile(
    rf"(?<!stdout\.)(?<!stderr\.)(?<!STDOUT\.)(?<!STDERR\.)\b(?:{_WORDS}|remove|touch|mkdir_p"
    r"|exec|eval|spawn|fork|system|file_put|delete|output[FJ])\w*[\]'\"]*\s*[$(`'\"]"
    rf"|\b{_WORDS}\w*(?:File|Sync|Stream)(?!\s*[(,}}])\b|\.{_WORDS}\w*\s*[,}}]"
    r"|\bqx\b|%x|\blink(?:Sync)?\s*\("
)
_OPEN = re.compile(r"\bf?open(?:Sync)?\b")
_LAST_READ_MODE = re.compile(r".*(['\"](?:<|r['\"]))")
_CONTROL = frozenset(
    "if else for while do switch case catch try function class def unless until begin module"
    " foreach elsif sub".split()
)
_EXITS = frozenset(("process.exit", "exit", "die", "return", "Deno.exit"))


def script_steps(code: str, tool: str) -> ScriptSteps:
    """The calls of a script that read or write a file of a literal name; where it changes
    files in other ways, it is `partial`. Only statements outside of braces and without a
    condition have surely run."""
    if len(code) > MAX_SCRIPT or UNKNOWN in code or "chdir" in code:
        return ScriptSteps((), True)
    stream = [*_tokens(code.replace("<?php", "").replace("?>", "")), *[("mark", ";")] * 4]
    names: dict[str, str] = {}
    for i, (kind, name) in enumerate(stream[:-3]):
        sign, value, after = stream[i + 1 : i + 4]
        if kind == "name" and sign[1] in "=+-?|&" and "=" in (sign[1], value[1]):
            given = value[1] if value[0] == "text" and after[1] in ";,\n)" else UNKNOWN
            names[name] = given if names.get(name, given) == given else UNKNOWN
    steps: list[tuple[str, str, str]] = []
    depth, claimed, begun, loose, over = 0, 0, 0, False, False
    for i, (kind, text) in enumerate(stream[:-2]):
        following, second = stream[i + 1], stream[i + 2]
        if kind == "mark":
            depth += (text in "{[(") - (text in "}])")
            loose = loose or text in "?&|" or (text == ">" and stream[i - 1] == ("mark", "="))
            ends = (
                text == ";"
                or following[0] == "name"
                and (
                    text == "}"
                    or (text == "\n" and not loose and stream[i - 1][1] not in "&|?,=+(")
                )
            )
            if depth <= 0 and ends:
                if loose or over:
                    steps[begun:] = _doubted(steps[begun:])
                begun, loose = len(steps), loose and tool == "ruby"
        elif kind == "name" and text in _CONTROL:
            loose = True
        elif kind == "name" and text in _EXITS and second[1] not in "123456789":
            over = True
        elif kind == "name" and following == ("mark", "(") and i + 3 < len(stream):
            found = _FILE_CALL.fullmatch(text)
            path = second[1] if second[0] == "text" else names.get(second[1], UNKNOWN)
            if found is None or stream[i + 3][1] not in (",", ")") or not path.isprintable():
                continue
            word = found[found.lastgroup or 0]
            step = (_VERBS.get(word, word), path, "")
            if UNKNOWN not in path and not set(path) & set("$`#"):
                claimed += step[0] != "read" and not text.startswith(("File", "IO"))
                claimed += text.startswith(("File.w", "IO.w"))
                steps += [step] if depth <= 0 or step[0] == "read" else _doubted([step])
    partial = sum(1 for _ in _CHANGES.finditer(code)) + _opened(code) > claimed
    if tool in ("ruby", "irb", "perl", "php"):  # between backticks stands a command
        partial = partial or re.search(r"(?:^|[=(;,]|puts|print|echo)\s*`", code) is not None
    return ScriptSteps(tuple(steps[:MAX_STEPS]), partial)


def _opened(code: str) -> int:
    """How many times a file is opened with no mode for reading behind it in the statement."""
    # A look ahead from each of them would take quadratic time in the length of a statement.
    count = 0
    for statement in re.split(r"[;\n]", code) if "open" in code else ():
        mode = _LAST_READ_MODE.match(statement)
        behind = mode.start(1) if mode is not None else -1
        count += sum(found.end() > behind for found in _OPEN.finditer(statement))
    return count


def _doubted(steps: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    return [("maybe", "", ""), *steps, ("surely", "", "")] if steps else []


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
        at += 1
        while stream[at : at + 1] == [("mark", "\n")]:
            at += 1
        if stream[at : at + 1] != [("mark", "+")]:
            return "".join(pieces)
        at += 1
        while stream[at : at + 1] == [("mark", "\n")]:
            at += 1
    return None


def _joined_list(stream: list[tuple[str, str]], at: int) -> str | None:
    items: list[str] = []
    while at < len(stream) and stream[at] != ("mark", "]"):
        kind, text = stream[at]
        if kind == "text":
            items.append(text)
        elif text not in (",", "\n"):
            return None
        at += 1
    after = [word for word in stream[at + 1 : at + 6] if word != ("mark", "\n")]
    if len(after) > 3 and after[:2] == [("mark", "."), ("name", "join")]:
        return after[3][1].join(items) if after[3][0] == "text" else None
    return None


def _arguments(
    stream: list[tuple[str, str]], at: int, names: dict[str, str]
) -> tuple[str, str]:
    """(command or patch, directory) of a call whose arguments begin at a place."""
    while stream[at : at + 1] == [("mark", "\n")]:
        at += 1
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
        elif depth == 1 and stream[at - 1][1] in ("{", ",", "\n"):
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
