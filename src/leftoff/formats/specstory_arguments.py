"""The arguments, output and outcome of one tool use, as far as SpecStory's markdown shows them.

Its generations show them as JSON under "Parameters:", as one or two fences, in backticks, or in
the summary line (`Read file: x`)."""

from urllib.parse import unquote

from leftoff import lazy_re as re
from leftoff.formats.lenient_json import Fields
from leftoff.formats.openai_parts import decode_arguments

FENCE = re.compile(r"`{3,}")
# An item of a to-do list; the flame marks a high priority.
TASK = re.compile(r"^[ \t]*- \[(.)\] (?:🔥 )?(.*)$", re.MULTILINE)
_TASK_STATES = {"x": "completed", "X": "completed", "⚡": "in_progress", "-": "in_progress"}
_INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)", re.DOTALL)
_WHOLE = re.compile(r"\s*`(?!`)(.+)(?<!`)`\s*", re.DOTALL)
_NAMED = re.compile(r"\b(\w+) `([^`\n]*)`")
_FILE = re.compile(r"\b(?:Read|Edit|Write|Delete|Create)?d? ?file: (?!undefined)(\S.*)$")
_QUERY = re.compile(r'(?:Searched|Grep)[^"\n]*"([^"\n]*)"')
_PARAMETERS = re.compile(r"\s*Parameters:\s*\n```json\n(.*?)\n```[ \t]*(?:\n|$)", re.DOTALL)
# How far the client was with a call when the file was written; "completed" says nothing of what
# came of it.
_STATUS = re.compile(r"^Status: \*\*(\w+)\*\*\s*\Z", re.MULTILINE)
_LINK = re.compile(r"\[[^\]\[\n]*\]\(file://(/[^)#\n]+)")
_COMMAND_FENCE = re.compile(r"\s*```(?:bash|sh|shell|zsh|powershell|pwsh)\n")
_WITH_PATH = frozenset({"read", "edit", "create", "delete", "list"})
_RESULT = re.compile(r"^Result:[ \t]*", re.MULTILINE)
_FENCE_LINES = re.compile(r"^`{3,}", re.MULTILINE)
_PATH = re.compile(r"\s*Path: `([^`\n]+)`[ \t]*(?:\n|\Z)")
_PATCH_FILE = re.compile(r"(?m)^\*\*(Add|Update|Delete): `([^`\n]+)`\*\*")
_NEW_FILE = re.compile(r"@@\n-\n(\+.*(?:\n\+.*)*)\n\+")
_INPUT = re.compile(r"\s*\*\*Input:\*\*[ \t]*\n")
# An argument: in backquotes, or in a fence below its name.
_GIVEN = re.compile(
    r"^- (\w+):(?: `(.*?)`|[ \t]*\n\n(`{3,})[^\n]*\n(.*?)\n?\3)[ \t]*"
    r"(?=\n+- \w+:|\n+\*\*Result:\*\*|\s*\Z)",
    re.DOTALL | re.MULTILINE,
)
_LISTED_TASK = re.compile(r"map\[(?:description:.*? )?id:\d+ status:([\w-]+) title:(.*?)\]")
_LISTED_EDIT = re.compile(
    r"map\[(?:explanation:.*? )?filePath:(.+?) newString:(.*?) oldString:(.*?)\]"
    r"(?= map\[|\]\s*\Z)",
    re.DOTALL,
)
_PATH_IN_OUTPUT = re.compile(
    r"(?:File created successfully at: |The file )(.+?)"
    r"(?: has been (?:updated|modified|overwritten|edited)\b.*| \(file state is .*)?$",
    re.MULTILINE,
)
_EXIT_CODE = re.compile(r"(?:Process exited with code|Exit code:?) (-?\d{1,9})")
# What Codex writes above an output.
_OUTPUT = re.compile(r"(?:Chunk ID|Wall time|Exit code): ")
# A command whose output ends so waits for words that were not typed.
_ASKS_PASSWORD = re.compile(r"(?:^|\n)(?:\[sudo\] p|P)assword(?: for [^\n:]+)?:\s*\Z")
_IN_BACKGROUND = ("Async agent launched", "Command running in background")
_DENIED = "The user doesn't want to proceed with this tool use"
_FAILED = (
    "Error: ",
    "<tool_use_error>",
    "String to replace not found",
    "apply_patch verification failed",
)
# What Gemini CLI's file tools answer where they did nothing.
REFUSALS = (
    "Failed to edit, ",
    "File path must be ",
    "Path must be within ",
    "File not found: ",
)


def _parse_parameters(
    kind: str, rest: str, parameters: str, after: str
) -> tuple[dict[str, object], str | None]:
    value = decode_arguments(as_printed(unescape(parameters)))
    given = value if isinstance(value, dict) else {"parameters": value}
    if kind == "shell" and isinstance(given.get("commandLine"), dict):
        return _terminal(given)
    if kind == "patch":
        given = {**given, **_applied(Fields(given).text("relativeWorkspacePath"), after)}
    after = re.sub(r"\A\s*Result:[ \t]*\n", "\n", after)
    output = _one_fence(after)[1]
    if kind == "plan" and output and '"finalTodos"' in output and "todos" not in given:
        # The arguments hold the changed items at most, the result the whole list.
        listed = Fields(decode_arguments(output)).get("finalTodos")
        given = {**given, "todos": listed} if isinstance(listed, list) else given
    return given, output


def _applied(path: str, after: str) -> dict[str, object]:
    """The patch that a result shows: Cursor records the file and what came of it, not what was
    asked for."""
    _, answer = _split_answer(after)
    # Behind the sign of each line stands a blank of the recorder's own.
    chunks = [
        re.sub(r"(?m)^([-+ ]) ", r"\1", as_printed(chunk.text("diffString")))
        for chunk in Fields(decode_arguments(answer or "")).each("diff.chunks")
    ]
    undecided = "User decision: **" in after.replace("User decision: **accepted**", "")
    if not path or not chunks or undecided:
        return {}
    verb, patch = "Update", "\n".join(f"@@\n{chunk}" for chunk in chunks)
    # A file that was not there counts as one empty line, which stands behind the new ones, too.
    if new := _NEW_FILE.fullmatch(patch):
        verb, patch = "Add", new[1]
    return {"patch": f"*** Begin Patch\n*** {verb} File: {path}\n{patch}\n*** End Patch\n"}


def parse_tool_use(kind: str, rest: str, body: str) -> tuple[dict[str, object], str | None]:
    """Arguments and output of a tool use, as far as the markdown has them.

    Args:
        kind: of the tool.
        rest: what follows the tool's name in its summary.
        body: what follows the summary."""
    if "Status: **" in body:
        body = _STATUS.sub("", body)
    parameters = _PARAMETERS.match(body)
    if parameters is not None:
        return _parse_parameters(kind, rest, parameters[1], body[parameters.end() :])
    if (listed := _INPUT.match(body)) is not None:
        return _parse_listed(body[listed.end() :])
    body, answer = _split_answer(body)
    path = _PATH.match(body) if kind in _WITH_PATH else None
    given, output = _parse_shown(kind, rest, body if path is None else body[path.end() :])
    if path is not None:
        given = {**given, "file_path": unescape(path[1])}
    if given.get("file_path") == "" and answer is not None:
        given["file_path"] = path_in(answer)
    return given, output if answer is None else answer


def _parse_listed(body: str) -> tuple[dict[str, object], str | None]:
    shown, mark, result = body.partition("\n**Result:**")
    given: dict[str, object] = {}
    for found in _GIVEN.finditer(shown):
        text = unescape(found[2] if found[2] is not None else found[4])
        listed = [
            {"title": title, "status": status} for status, title in _LISTED_TASK.findall(text)
        ] or [
            {"filePath": path, "newString": new, "oldString": old}
            for path, new, old in _LISTED_EDIT.findall(text)
        ]
        flag = {"true": True, "false": False}.get(text)
        plain = text if flag is None else flag
        given[found[1]] = listed or (int(text) if text.isdecimal() else plain)
    return given, _one_fence(result)[1] if mark else None


def _split_answer(body: str) -> tuple[str, str | None]:
    """What stands above and below the last `Result:` that is in no fence."""
    if "Result:" not in body:
        return body, None
    # The arguments may quote a result; the call's own is last.
    results = list(_RESULT.finditer(body))
    result = results[-1] if results else None
    if result is None or len(_FENCE_LINES.findall(body, 0, result.start())) % 2:
        return body, None
    shown = body[result.end() :].strip()
    answer = _one_fence(shown)[1] if shown.startswith("```") else unescape(shown)
    return body[: result.start()], answer


def _parse_shown(kind: str, rest: str, body: str) -> tuple[dict[str, object], str | None]:
    if kind == "ask":
        question, mark, answer = body.partition("**Answer:**")
        output = f"{mark}{unescape(answer).rstrip()}" if mark else None
        if not mark:
            question, output = _one_fence(body)
        return {"question": unescape(question.strip())}, output
    file = _FILE.search(rest)
    named = unescape(file[1].strip()) if file is not None else ""
    if kind == "create" and named and "```diff" in body:
        return {"file_path": named, "diff": _one_fence(body)[1]}, None
    if kind in {"patch", "create"}:
        # What was written may hold fences itself, so the outermost ones count.
        content, output = _two_fences(body)
        if kind == "create":
            return {"file_path": path_in(output), "content": content}, output
        return {"patch": _patch(body)}, output
    if kind == "plan" and (listed := tasks(body)):
        return listed, unescape(body.strip())
    head, output = _one_fence(body)
    given: dict[str, object] = {}
    inline = _INLINE.search(rest) or (None if named else _INLINE.search(head))
    if kind in {"shell", "powershell", "python", "script"}:
        # Backquotes in the summary may be the command's own.
        whole = _WHOLE.fullmatch(rest) or inline
        given["command"] = unescape(whole[1]) if whole is not None else ""
        fenced = inline is None or _COMMAND_FENCE.match(body) is not None
        if kind == "shell" and fenced and output is not None:
            command, last = _two_fences(body)
            if command:
                return {"command": command.rstrip("\n")}, last
    elif kind == "search":
        given = {name: unescape(value) for name, value in _NAMED.findall(head or rest)}
        query = _QUERY.search(rest)
        if query is not None:
            given = {"query": query[1]}
            output = body.strip("\n") if body.strip() else output
    elif kind == "edit" and inline is None:
        given["file_path"] = named or path_in(output)
        if named and output is not None and "```diff" in body:
            return {**given, "diff": output}, None
    elif kind in {"read", "edit", "list", "notebook", "delete"}:
        if inline is not None or named:
            given["file_path"] = unescape(inline[1]) if inline is not None else named
        elif (link := _LINK.search(rest) or _LINK.search(head)) is not None:
            path = unquote(link[1])
            given["file_path"] = path[1:] if path[2:3] == ":" else path
        elif kind == "delete" and head.strip():
            given["explanation"] = unescape(head.strip().removeprefix("Explanation: "))
    elif kind == "fetch" and inline is not None:
        given["url"] = unescape(inline[1])
    elif head.strip():
        given["description"] = unescape(head.strip())
    return given, output


def _terminal(given: dict[str, object]) -> tuple[dict[str, object], str | None]:
    """A command of VS Code's terminal, which holds its output and exit code beside it."""
    shown = Fields(given)
    command = shown.at("commandLine").text("userEdited", "toolEdited", "original")
    code, text = shown.number("terminalCommandState.exitCode"), "terminalCommandOutput.text"
    made: dict[str, object] = {"command": command}
    if code is not None:
        made["exit_code"] = code
    output = shown.text(text) if isinstance(shown.get(text), str) or code is not None else None
    return made, output


def _fence_lines(body: str) -> tuple[list[str], list[int]]:
    lines = body.split("\n")
    return lines, [n for n, line in enumerate(lines) if FENCE.match(line)]


def _one_fence(body: str) -> tuple[str, str | None]:
    if "```" not in body:
        return body, None
    lines, fences = _fence_lines(body)
    if not fences:
        return body, None
    last = fences[-1] if len(fences) > 1 else len(lines)
    inside = "\n".join(lines[fences[0] + 1 : last])
    return "\n".join(lines[: fences[0]]), unescape(inside)


def _two_fences(body: str) -> tuple[str, str | None]:
    """The contents of the first and of the last fence; None for a missing last one."""
    if "```" not in body:
        return "", None
    lines, fences = _fence_lines(body)
    if len(fences) < 2:
        return "", None
    # The recorder leaves a blank line between two of its own fences, but for Codex's outputs.
    split = next(
        (
            n
            for n in reversed(fences[1:-1])
            if not lines[n - 1].strip() or n - 1 in fences and _OUTPUT.match(lines[n + 1])
        ),
        None,
    )
    if split is None:
        return unescape("\n".join(lines[fences[0] + 1 : fences[-1]]) + "\n"), None
    closing = max(n for n in fences if n < split)
    content = "\n".join(lines[fences[0] + 1 : closing]) + "\n"
    return unescape(content), unescape("\n".join(lines[split + 1 : fences[-1]]))


def _patch(body: str) -> str:
    heads = list(_PATCH_FILE.finditer(body))
    ends = [*(head.start() for head in heads[1:]), len(body)]
    patch = ["*** Begin Patch"]
    for head, end in zip(heads, ends, strict=False):
        patch.append(f"*** {head[1]} File: {head[2]}")
        diff, _ = _two_fences(body[head.end() : end])
        if diff:
            patch.append(diff.rstrip("\n"))
    patch.append("*** End Patch")
    return "\n".join(patch) + "\n"


def path_in(output: str | None) -> str:
    """The path of the file that an output says was changed; "" for none."""
    found = _PATH_IN_OUTPUT.search(output or "")
    return found[1].strip() if found is not None else ""


def tasks(body: str) -> dict[str, object]:
    """The items of a to-do list as arguments of its tool; empty if there are none."""
    items = [
        {"content": unescape(found[2]), "status": _TASK_STATES.get(found[1], "pending")}
        for found in TASK.finditer(body)
    ]
    return {"todos": items} if items else {}


def outcome(output: str) -> tuple[str, int | None]:
    """The status of an output and its exit code, as far as its words say."""
    if output.startswith((_DENIED, "Permission to use ")):
        return "denied", None
    if output.startswith("[Request interrupted"):
        return "interrupted", None
    if _ASKS_PASSWORD.search(output, len(output) - 80 if len(output) > 80 else 0):
        return "error", None
    if output.startswith(_IN_BACKGROUND):
        return "running", None
    code = _EXIT_CODE.search(output, 0, 400)
    if code is not None:
        return ("error" if int(code[1]) else "ok"), int(code[1])
    return ("error" if output.startswith(_FAILED) else "ok"), None


def is_loading(body: str) -> bool:
    """Whether a call had no outcome yet when the file was written."""
    status = _STATUS.search(body) if "Status: **" in body else None
    return status is not None and status[1] == "loading"


def unescape(text: str) -> str:
    """The text without the recorder's escapes of backquotes."""
    return text.replace("&#96;", "`") if "&#96;" in text else text


def as_printed(output: str) -> str:
    """What a terminal printed: some clients write its `<`, `>` and `&` as HTML. One that holds
    a plain `<` or `>` was not rewritten."""
    if "&" not in output or "<" in output or ">" in output:
        return output
    return output.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
