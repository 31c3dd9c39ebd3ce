"""The words, thoughts and tool uses in one turn of an agent: docs/formats/specstory.md.

Each generation of the recorder writes them in another way: `<tool-use>` blocks, lines such as
`Tool use: **x**` with fences, and in the oldest steps between `---` lines that are a fence or a
`<details>` block and nothing else.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any

from leftoff import codec
from leftoff.formats.vocabulary import kind_of
from leftoff.model import Part, Reasoning, Text, ToolCall, ToolResult

TOOL_ENDS = frozenset({"</details></tool-use>", "</tool-use>"})
_TOOL = re.compile(
    r'<tool-use data-tool-type="(?P<type>[^"]*)" data-tool-name="(?P<name>[^"]*)">'
)
_SUMMARY = "<summary>Tool use: **"
_THINK = re.compile(r"<think>(?:<details><summary>.*?</summary>)?")
_OLD_TOOL = re.compile(r"Tool use: \*\*([^*\n]+)\*\*(.*)$")
_OLD_DETAILS = re.compile(r"\s*<summary>(.*?)</summary>\s*$")
_STEP_NAMES = (
    ("Searched codebase", "codebase_search"),
    ("Searched web", "web_search"),
    ("Searched files", "file_search"),
    ("Grep", "grep"),
    ("Listed ", "list_dir"),
    ("Read lints", "read_lints"),
    ("Read file", "read_file"),
    ("Edit file", "edit_file"),
    ("MCP tool call", "mcp_tool_call"),
)
"""How the summaries of older steps begin, and the name of the tool that they are given."""
_READ_STEP = re.compile(r"Read file: (\S.*)$")
_ERROR_STEP = re.compile(
    r"(?:Cancelled$|Error calling tool |Tool call timed out|Path does not exist: "
    r"|File not found|The string to replace was not found|String to replace not found"
    r"|Fetch timed out"
    r"|Incorrect tool arguments|Model performed no edit|The model made no changes to the file"
    r"|(?:The m|M)odel (?:supplied|provided) an ambiguous )"
)
"""What the recorder writes in place of a result, alone in a step or above an empty block."""
_INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)", re.DOTALL)
_NAMED = re.compile(r"\b(\w+) `([^`\n]*)`")
_FILE = re.compile(r"\b(?:Read|Edit|Write|Delete|Create)?d? ?file: (?!undefined)(\S.*)$")
_QUERY = re.compile(r'(?:Searched|Grep)[^"\n]*"([^"\n]*)"')
_PARAMETERS = re.compile(r"\s*Parameters:\s*\n```json\n(.*?)\n```[ \t]*(?:\n|$)", re.DOTALL)
_PATCH_FILE = re.compile(
    r"(?m)^\*\*(Add|Update|Delete|Move): `([^`\n]+)`(?: (?:→|->|to) `([^`\n]+)`)?\*\*"
)
_FENCE = re.compile(r"`{3,}")
_PATH_IN_OUTPUT = re.compile(
    r"(?:File created successfully at: |The file )(.+?)"
    r"(?: has been (?:updated|modified|overwritten|edited)\b.*)?$",
    re.MULTILINE,
)
_EXIT_CODE = re.compile(r"(?:Process exited with code|Exit code:?) (-?\d{1,9})")
_WITH_OUTPUT = frozenset({"other", "search", "fetch", "list", "plan", "todo"})
"""Kinds of older tool uses whose text without a fence is their output."""
_DENIED = "The user doesn't want to proceed with this tool use"
_RECORDED_KINDS = {"read": "read", "search": "search", "shell": "shell", "write": "edit"}
"""The recorder's own kinds, for tool names that the vocabulary lacks."""


class Turn:
    """One turn of an agent, taken apart.

    Args:
        calls: how many calls the session has had so far; they are numbered through.
        waiting: the names of calls that an empty block of the same name may still repeat, with
            how many there are; changed by `read`.

    Attributes:
        parts: words, thoughts and calls, in order.
        results: the results of the calls, as far as they are recorded.
    """

    def __init__(self, calls: int, waiting: dict[str, int]) -> None:
        self.calls = calls
        self.waiting = waiting
        self.parts: list[Part] = []
        self.results: list[ToolResult] = []
        self._words: list[str] = []
        self._lines: list[str] = []
        self._step = True
        self._fence = ""
        self._no_end = False
        self._unclosed: set[str] = set()

    def read(self, body: str) -> None:
        """Takes the turn's text apart."""
        self._lines = lines = body.split("\n")
        self._tool_ends = [n for n, x in enumerate(lines) if x.rstrip() in TOOL_ENDS]
        self._tool_starts = [n for n, x in enumerate(lines) if x.startswith("<tool-use ")]
        self._thought_ends = [n for n, x in enumerate(lines) if "</think>" in x]
        self._detail_ends = [n for n, x in enumerate(lines) if x.strip() == "</details>"]
        self._rules = [n for n, x in enumerate(lines) if _is_rule(lines, n)]
        at = 0
        while at < len(lines):
            at = self._take(at, lines[at])
        self._say()

    def _take(self, at: int, line: str) -> int:
        """Reads what begins at a line; returns where the next thing begins."""
        step = self._step
        if line.startswith("<tool-use ") and (opening := _TOOL.match(line)):
            return self._tool_use(at, line, opening)
        if line.strip():
            self._step = False
        thought = None if self._fence else _THINK.search(line)
        if thought is not None and line.count("`", 0, thought.start()) % 2 == 0:
            return self._thought(at, line, thought)
        if line.strip() in {"---", "_****_"} and _is_rule(self._lines, at):
            if not self._fence or line.strip() == "_****_":
                # A step's end: what follows may be a step of its own kind.
                self._step, self._fence = True, ""
                if line.strip() == "_****_":
                    return at + 1
            self._words.append(line)
            return at + 1
        fence = _FENCE.match(line)
        if not self._fence:
            if line.startswith("```thinking"):
                return self._thinking_fence(at)
            if line.startswith("Tool use: **") and (old := _OLD_TOOL.match(line)):
                return self._old_tool(at, old)
            if step and line.strip():
                after = self._old_step(at, line)
                if after:
                    return after
            if line.startswith("<details>"):
                after = self._details(at, line)
                if after:
                    return after
            if fence is not None:
                self._fence = fence[0]
        elif (
            fence is not None and line.strip("` \t") == "" and len(fence[0]) >= len(self._fence)
        ):
            self._fence = ""
        self._words.append(line)
        return at + 1

    def _say(self) -> None:
        """Ends the words before a block."""
        words, self._words, self._fence = self._words, [], ""
        while words and words[-1].strip() in {"", "---"}:
            words.pop()
        first = next((n for n, x in enumerate(words) if x.strip() not in {"", "---"}), 0)
        if words:
            self.parts.append(Text("\n".join(words[first:])))

    def _next(self, places: list[int], at: int) -> int:
        """The first of some places after a line, or -1."""
        found = bisect_right(places, at)
        return places[found] if found < len(places) else -1

    def _tool_use(self, at: int, line: str, opening: re.Match[str]) -> int:
        end = at if line.rstrip().endswith("</tool-use>") else self._next(self._tool_ends, at)
        end = len(self._lines) - 1 if end < 0 else end
        text = "\n".join(self._lines[at : end + 1])
        name = _unescape(opening["name"])
        known = kind_of(name)
        if known == "other":
            known = _RECORDED_KINDS.get(opening["type"], "other")
        rest, body = "", text
        start = text.find(_SUMMARY)
        summary = text.find("</summary>", start) if start >= 0 else -1
        if summary >= 0:
            rest = text[start + len(_SUMMARY) : summary].partition("**")[2]
            body = text[summary + len("</summary>") :]
        body = body.rstrip().removesuffix("</tool-use>").rstrip().removesuffix("</details>")
        empty = not body.strip() and not rest.strip()
        error = ""
        if empty:
            error = "\n".join(self._words).strip("\n -")
            if _ERROR_STEP.match(error):
                self._words = []
            else:
                error = ""
        self._say()
        self._step = True
        if empty and self.waiting.get(name):
            # The recorder repeats the call without its contents: it is the same one.
            self.waiting[name] -= 1
            if error:
                self.results.append(ToolResult(f"call-{self.calls}", error, "error"))
            return end + 1
        given, output = _parse_tool_use(known, rest, body)
        if not empty:
            self.waiting[name] = self.waiting.get(name, 0) + 1
        self._call(name, known, given, error or output, failed=bool(error))
        return end + 1

    def _call(
        self,
        name: str,
        kind: str,
        given: dict[str, Any],
        output: str | None,
        *,
        failed: bool = False,
    ) -> None:
        self.calls += 1
        identity = f"call-{self.calls}"
        self.parts.append(ToolCall(identity, name, kind, given))
        if output is not None:
            status = ("error", None) if failed else _outcome(output)
            self.results.append(ToolResult(identity, output, *status))

    def _thought(self, at: int, line: str, opening: re.Match[str]) -> int:
        before = line[: opening.start()]
        if before.strip():
            self._words.append(before)
        self._say()
        # Its end may stand on the same line.
        same = line.find("</think>", opening.end())
        end = at if same >= 0 else self._next(self._thought_ends, at)
        block = self._next(self._tool_starts, at)
        if end < 0 or 0 <= block < end:  # never closed
            end = block if block >= 0 else len(self._lines)
            inside = [line[opening.end() :], *self._lines[at + 1 : end]]
            after = end
        else:
            closing = same if end == at else self._lines[end].find("</think>")
            last = self._lines[end]
            if end == at:
                inside = [line[opening.end() : closing]]
            else:
                inside = [line[opening.end() :], *self._lines[at + 1 : end], last[:closing]]
            tail = last[closing + len("</think>") :]
            after = end + 1
            if tail.strip():
                self._lines[end] = tail
                after = end
        thought = "\n".join(inside).rstrip().removesuffix("</details>")
        self.parts.append(Reasoning(_unescape(thought).strip("\n")))
        self._step = True
        return after

    def _thinking_fence(self, at: int) -> int:
        """A fence that is called "thinking", with the fences inside it."""
        self._say()
        depth, end = 0, at + 1
        while end < len(self._lines):
            line = self._lines[end].strip()
            if line == "```" and not depth:
                break
            if line.startswith("```"):
                depth = 1 if line != "```" else 0
            end += 1
        thought = "\n".join(self._lines[at + 1 : end]).strip("\n")
        self.parts.append(Reasoning(thought))
        self._step = True
        return end + 1

    def _old_tool(self, at: int, opening: re.Match[str]) -> int:
        """`Tool use: **x**`, which ends with a rule outside its fences."""
        end, fence = at + 1, ""
        while not self._no_end and end < len(self._lines):
            line = self._lines[end]
            found = _FENCE.match(line)
            if found is None:
                if not fence and _is_rule(self._lines, end):
                    break
            elif not fence:
                fence = found[0]
            elif not line.strip("` \t") and len(found[0]) >= len(fence):
                fence = ""
            end += 1
        if self._no_end or (end >= len(self._lines) and fence):
            # A fence inside is odd: the first rule ends this one and, to spare time, the rest.
            self._no_end = True
            end = self._next(self._rules, at)
            end = len(self._lines) if end < 0 else end
        self._say()
        body = "\n".join(self._lines[at + 1 : end]).strip("\n")
        rest, name = opening[2], opening[1].strip()
        details = re.match(
            r"\s*<details>\s*<summary>(.*?)</summary>\n?(.*?)(?:</details>\s*)?$",
            body,
            re.DOTALL,
        )
        if details is not None and "\n" not in details[1].strip():
            rest, body = f"{rest} {details[1]}", details[2]
        body = re.sub(r"\A\s*Result:[ \t]*\n", "\n", body)
        self._finish(name, rest, body)
        return end

    def _finish(self, name: str, rest: str, body: str) -> None:
        kind = kind_of(name)
        given, output = _parse_tool_use(kind, rest, body)
        if output is None and body.strip() and kind in _WITH_OUTPUT:
            output = _unescape(body.strip("\n"))
        self._call(name, kind, given, output)
        self._step = True

    def _details(self, at: int, line: str) -> int:
        """An older tool use, `<details>` with a summary of known words; 0 if it is none."""
        first = line.removeprefix("<details>")
        head = at
        if not first.strip():
            head = at + 1
            first = self._lines[head] if head < len(self._lines) else ""
        summary = _OLD_DETAILS.match(first)
        if summary is None:
            return 0
        name = next((n for words, n in _STEP_NAMES if summary[1].startswith(words)), "")
        end = self._next(self._detail_ends, head)
        if not name or end < 0:
            return 0
        self._say()
        body = "\n".join(self._lines[head + 1 : end]).rstrip()
        if name == "list_dir":
            path = re.match(r"Listed (?:directory )?(.*?)(?: • .*)?$", summary[1])
            given = {"path": path[1] if path is not None else ""}
            self._call(name, kind_of(name), given, body.strip("\n") or None)
            self._step = True
        else:
            self._finish(name, summary[1], body)
        return end + 1

    def _old_step(self, at: int, line: str) -> int:
        """A step of the oldest layouts that is a tool use and nothing else; 0 if it is none."""
        end = self._next(self._rules, at)
        end = len(self._lines) if end < 0 else end
        read = _READ_STEP.match(line)
        alone = not any(x.strip() for x in self._lines[at + 1 : min(end, at + 6)])
        if (
            read is not None
            and at + 1 <= end
            and (at + 1 == end or not self._lines[at + 1].strip())
        ):
            self._say()
            path = "" if read[1] == "undefined" else read[1].strip()
            self._call("read_file", "read", {"file_path": path}, None)
            self._step = True
            return at + 1
        if alone and _ERROR_STEP.match(line):
            self._say()
            status = "interrupted" if line.startswith("Cancelled") else "error"
            last = self.parts[-1] if self.parts else None
            if isinstance(last, ToolCall) and not any(
                r.call_id == last.id for r in self.results[-1:]
            ):
                self.results.append(ToolResult(last.id, line.strip(), status))
            else:
                self._call("tool", "other", {}, None)
                self.results.append(ToolResult(f"call-{self.calls}", line.strip(), status))
            return at + 1
        fence = _FENCE.match(line)
        info = line.strip().lstrip("`")
        if fence is None or info not in {"bash", "diff"}:
            return 0
        close = self._fence_end(at, fence[0])
        if close < 0:
            return 0
        inside = "\n".join(self._lines[at + 1 : close])
        if info == "diff":
            if any(x.strip() for x in self._lines[close + 1 : close + 3] if x.strip() != "---"):
                return 0
            self._say()
            self._call("edit_file", "edit", {"file_path": "", "diff": inside}, None)
            self._step = True
            return close + 1
        second = close + 1
        while second < len(self._lines) and not self._lines[second].strip():
            second += 1
        if second >= len(self._lines) or self._lines[second].strip() != "```":
            return 0
        after = self._fence_end(second, "```")
        self._say()
        after = len(self._lines) if after < 0 else after
        output = "\n".join(self._lines[second + 1 : after])
        self._call("run_terminal_cmd", "shell", {"command": inside}, output)
        self._step = True
        return after + 1

    def _fence_end(self, at: int, fence: str) -> int:
        """The line that closes a fence, or -1."""
        if fence in self._unclosed:
            return -1  # further up there was none either
        for place in range(at + 1, len(self._lines)):
            line = self._lines[place]
            if line.startswith(fence) and not line.strip("` \t"):
                return place
        self._unclosed.add(fence)
        return -1


def _is_rule(lines: list[str], at: int) -> bool:
    """Whether a line is the recorder's rule between two steps: alone between blank lines."""
    return lines[at].strip() in {"---", "_****_"} and (
        (not at or not lines[at - 1].strip())
        and (at + 1 >= len(lines) or not lines[at + 1].strip())
    )


def _parse_parameters(
    kind: str, rest: str, parameters: str, after: str
) -> tuple[dict[str, Any], str | None]:
    """The arguments of a tool use that stand in it as JSON, and its output after them."""
    try:
        value: Any = codec.parse_strict(_unescape(parameters).encode())
    except ValueError:
        value = parameters
    given = value if isinstance(value, dict) else {"parameters": value}
    after = re.sub(r"\A\s*Result:[ \t]*\n", "\n", after)
    head, output = _one_fence(after)
    if output is None and head.strip():
        output = _unescape(head.strip())
    named = _FILE.search(rest)
    if named is not None and kind in {"read", "edit", "create", "delete"}:
        given = {**given, "file_path": _unescape(named[1].strip())}
    return given, output


def _parse_tool_use(kind: str, rest: str, body: str) -> tuple[dict[str, Any], str | None]:
    """Arguments and output of a tool use, as far as the markdown has them.

    Args:
        kind: of the tool.
        rest: what follows the tool's name in its summary.
        body: what follows the summary.
    """
    parameters = _PARAMETERS.match(body)
    if parameters is not None:
        return _parse_parameters(kind, rest, parameters[1], body[parameters.end() :])
    if rest.strip() and not body.strip():
        body = ""
    if kind == "ask":
        question, mark, answer = body.partition("**Answer:**")
        if not mark:
            return {"question": _unescape(body.strip())}, None
        return {"question": _unescape(question.strip())}, f"{mark}{_unescape(answer).rstrip()}"
    if kind in {"patch", "create"}:
        content, output = _two_fences(body)
        if kind == "create":
            return {"file_path": _path_in_output(output), "content": content}, output
        return {"patch": _patch(body)}, output
    head, output = _one_fence(body)
    given: dict[str, Any] = {}
    named = _FILE.search(rest)
    inline = _INLINE.search(rest) or (None if named else _INLINE.search(head))
    if kind in {"shell", "powershell", "python", "script"}:
        given["command"] = _unescape(inline[1]) if inline is not None else ""
        if kind == "shell" and inline is None and output is not None:
            command, last = _two_fences(body)
            if command:
                return {"command": command.rstrip("\n")}, last
    elif kind == "search":
        given = {name: _unescape(value) for name, value in _NAMED.findall(head or rest)}
        query = _QUERY.search(rest)
        if query is not None:
            given = {"query": query[1]}
            output = body.strip("\n") if body.strip() else output
    elif kind == "edit" and inline is None:
        path = named[1].strip() if named is not None else ""
        given["file_path"] = _unescape(path) or _path_in_output(output)
        if named is not None and output is not None and "```diff" in body:
            return {**given, "diff": output}, None
    elif kind in {"read", "edit", "list", "notebook", "delete"}:
        if inline is not None:
            given["file_path"] = _unescape(inline[1])
        elif named is not None:
            given["file_path"] = _unescape(named[1].strip())
    elif kind == "fetch" and inline is not None:
        given["url"] = _unescape(inline[1])
    elif head.strip():
        given["description"] = _unescape(head.strip())
    return given, output


def _fence_lines(body: str) -> tuple[list[str], list[int]]:
    lines = body.split("\n")
    return lines, [n for n, line in enumerate(lines) if _FENCE.match(line)]


def _one_fence(body: str) -> tuple[str, str | None]:
    """The text before the first fence, and the contents of the outermost fence."""
    lines, fences = _fence_lines(body)
    if not fences:
        return body, None
    last = fences[-1] if len(fences) > 1 else len(lines)
    inside = "\n".join(lines[fences[0] + 1 : last])
    return "\n".join(lines[: fences[0]]), _unescape(inside)


def _two_fences(body: str) -> tuple[str, str | None]:
    """The contents of the first and of the last fence; None for a missing last one."""
    lines, fences = _fence_lines(body)
    if len(fences) < 2:
        return "", None
    split = next(
        (n for n in reversed(fences[1:-1]) if not lines[n - 1].strip()),
        None,
    )
    if split is None:
        return _unescape("\n".join(lines[fences[0] + 1 : fences[-1]]) + "\n"), None
    closing = max(n for n in fences if n < split)
    content = "\n".join(lines[fences[0] + 1 : closing]) + "\n"
    return _unescape(content), _unescape("\n".join(lines[split + 1 : fences[-1]]))


def _patch(body: str) -> str:
    """The files of an `apply_patch` as patch text again."""
    heads = list(_PATCH_FILE.finditer(body))
    patch = ["*** Begin Patch"]
    for place, head in enumerate(heads):
        end = heads[place + 1].start() if place + 1 < len(heads) else len(body)
        verb = "Update" if head[1] == "Move" else head[1]
        patch.append(f"*** {verb} File: {head[2]}")
        if head[3]:
            patch.append(f"*** Move to: {head[3]}")
        diff, _ = _two_fences(body[head.end() : end])
        if diff:
            patch.append(diff.rstrip("\n"))
    patch.append("*** End Patch")
    return "\n".join(patch) + "\n"


def _path_in_output(output: str | None) -> str:
    found = _PATH_IN_OUTPUT.search(output or "")
    return found[1].strip() if found is not None else ""


def _outcome(output: str) -> tuple[str, int | None]:
    if output.startswith((_DENIED, "Permission to use ")):
        return "denied", None
    if output.startswith("[Request interrupted"):
        return "interrupted", None
    code = _EXIT_CODE.search(output, 0, 400)
    if code is not None:
        return ("error" if int(code[1]) else "ok"), int(code[1])
    failed = output.startswith(("Error: ", "<tool_use_error>", "String to replace not found"))
    return ("error" if failed else "ok"), None


def _unescape(text: str) -> str:
    """The text without the recorder's escapes of backquotes."""
    return text.replace("&#96;", "`") if "&#96;" in text else text
