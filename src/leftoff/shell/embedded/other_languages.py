"""File effects of scripts in JavaScript, Ruby, PHP and Perl, from their calls."""

from __future__ import annotations

import functools

from leftoff.shell.embedded.steps import MAX_SCRIPT, MAX_STEPS, ScriptSteps

__all__ = ["other_effects", "tokens"]

_CALLS: dict[str, dict[str, str]] = {
    "node": {
        "writeFileSync": "write", "writeFile": "write", "appendFileSync": "append",
        "appendFile": "append", "readFileSync": "read", "readFile": "read",
        "unlinkSync": "delete", "unlink": "delete", "rmSync": "delete_tree",
        "rm": "delete_tree", "renameSync": "move", "rename": "move", "copyFileSync": "copy",
        "copyFile": "copy", "mkdirSync": "mkdir", "mkdir": "mkdir",
        "createWriteStream": "write",
        "createReadStream": "read", "truncateSync": "modify", "rmdirSync": "none",
        "cpSync": "copy_tree", "execSync": "shell", "writeTextFileSync": "write",
        "readTextFileSync": "read", "removeSync": "delete_tree", "symlinkSync": "second",
    },
    "ruby": {
        "File.write": "write", "File.read": "read", "File.delete": "delete",
        "File.unlink": "delete", "File.rename": "move", "File.open": "open",
        "FileUtils.rm": "delete", "FileUtils.rm_f": "delete_if", "FileUtils.mv": "move_into",
        "FileUtils.cp": "copy", "FileUtils.rm_rf": "delete_tree", "FileUtils.touch": "touch",
        "FileUtils.mkdir_p": "mkdir", "IO.read": "read", "IO.write": "write",
        "File.readlines": "read", "system": "shell",
    },
    "php": {
        "file_put_contents": "write", "file_get_contents": "read", "unlink": "delete",
        "rename": "move", "copy": "copy", "fopen": "open", "touch": "touch",
    },
    "perl": {"unlink": "delete", "rename": "move", "open": "perl_open", "system": "shell"},
}  # fmt: skip
_ALIASES = {"deno": "node", "bun": "node", "nodejs": "node", "tsx": "node", "irb": "ruby"}


@functools.lru_cache(maxsize=256)
def other_effects(code: str, language: str) -> ScriptSteps:
    """What a script in JavaScript, Ruby, PHP or Perl does, by its calls with literals."""
    language = _ALIASES.get(language, language)
    table = _CALLS.get(language)
    if table is None or len(code) > MAX_SCRIPT:
        return ScriptSteps((), True)
    stream = tokens(code, language)
    steps: list[tuple[str, str, str]] = []
    partial = False
    names: dict[str, str] = {}
    for i, (kind, text) in enumerate(stream):
        if kind != "name":
            continue
        following = stream[i + 1 : i + 8]
        if len(following) > 1 and following[0] == ("mark", "=") and following[1][0] == "text":
            if len(following) < 3 or following[2][1] not in ("+", "."):
                names[text] = following[1][1]
            continue
        verb = table.get(text) or (
            table.get(text.rpartition(".")[2]) if language == "node" else None
        )
        if verb is None or not following:
            continue
        if following[0] == ("mark", "("):
            following = following[1:]
        elif language not in ("perl", "ruby"):
            continue
        values: list[str | None] = []
        for kind_of, word in following:
            if kind_of == "text":
                values.append(word)
            elif kind_of == "name" and (word in names):
                values.append(names[word])
            elif kind_of == "mark" and word == ",":
                continue
            elif kind_of == "name" and word in ("my", "const", "let"):
                continue
            elif kind_of == "name":
                values.append(None)
            else:
                break
        partial = _add_step(steps, verb, values) or partial
    return ScriptSteps(tuple(steps[:MAX_STEPS]), partial)


def _add_step(steps: list[tuple[str, str, str]], verb: str, values: list[str | None]) -> bool:
    if verb == "none":
        return False
    first = values[0] if values else None
    second = values[1] if len(values) > 1 else None
    if verb == "perl_open":
        names = [value for value in values if value is not None]
        mode = names[0].lstrip()[:2] if names else ""
        kind = "append" if mode == ">>" else "write" if mode[:1] == ">" else "read"
        name = names[1] if len(names) > 1 else names[0].strip().lstrip("<>") if names else ""
        if not name or "|" in name or mode[:1] == "+":
            return True
        steps.append((kind, name.strip(), ""))
        return False
    if verb == "second":
        first, verb = second, "add"
    if first is None or (verb in ("move", "move_into", "copy", "copy_tree") and second is None):
        return verb not in ("read", "mkdir", "open")
    if verb == "open":
        mode = second or "r"
        verb = "write" if "w" in mode else "append" if "a" in mode else "read"
        second = ""
    needs_second = verb in ("move", "move_into", "copy", "copy_tree")
    steps.append((verb, first, second if needs_second and second is not None else ""))
    return False


def tokens(code: str, language: str) -> list[tuple[str, str]]:
    """Names (with their dots), literal texts and marks; comments are left out."""
    out: list[tuple[str, str]] = []
    i, size = 0, len(code)
    while i < size:
        char = code[i]
        if char in "'\"" or (char == "`" and language == "node"):
            text, i = _string(code, i, char)
            if char == "`" and "${" in text:
                out.append(("name", "?"))
            elif (
                char == '"'
                and language in ("perl", "ruby", "php")
                and ("$" in text or "#{" in text)
            ):
                out.append(("name", "?"))
            else:
                out.append(("text", text))
        elif char.isalpha() or char in "_$@":
            start = i
            i += 1
            while i < size and (code[i].isalnum() or code[i] in "_.$"):
                i += 1
            name = code[start:i]
            if language == "node" and name == "require":
                end = code.find(")", i)
                i = size if end < 0 else end + 1
                name = "required"
                while i < size and (code[i].isalnum() or code[i] in "_."):
                    name += code[i]
                    i += 1
            out.append(("name", name.rstrip(".")))
        elif char.isdigit():
            start = i
            while i < size and (code[i].isalnum() or code[i] == "."):
                i += 1
            out.append(("number", code[start:i]))
        elif code.startswith("//", i) and language in ("node", "php"):
            end = code.find("\n", i)
            i = size if end < 0 else end
        elif code.startswith("/*", i):
            end = code.find("*/", i)
            i = size if end < 0 else end + 2
        elif char == "#" and language in ("ruby", "perl"):
            end = code.find("\n", i)
            i = size if end < 0 else end
        elif code.startswith(">>", i):
            out.append(("mark", ">>"))
            i += 2
        else:
            if char == "\n" or not char.isspace():
                out.append(("mark", char))
            i += 1
    return out


def _string(code: str, i: int, quote: str) -> tuple[str, int]:
    out: list[str] = []
    j, size = i + 1, len(code)
    while j < size and code[j] != quote:
        if code[j] == "\\" and j + 1 < size:
            out.append({"n": "\n", "t": "\t"}.get(code[j + 1], code[j + 1]))
            j += 2
        else:
            out.append(code[j])
            j += 1
    return "".join(out), j + 1
