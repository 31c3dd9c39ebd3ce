"""The words, thoughts and tool uses in one turn of an agent: docs/formats/specstory.md.

Each generation of the recorder writes them in another way: `<tool-use>` blocks, lines such as
`Tool use: **x**` with fences, and in the oldest steps between `---` lines that are a fence or a
`<details>` block and nothing else."""

from bisect import bisect_left, bisect_right

from leftoff import lazy_re as re
from leftoff.formats.specstory_arguments import (
    FENCE,
    REFUSALS,
    TASK,
    as_printed,
    is_loading,
    outcome,
    parse_tool_use,
    path_in,
    tasks,
    unescape,
)
from leftoff.formats.vocabulary import NAMES, kind_of
from leftoff.model import Part, Reasoning, Text, ToolCall, ToolResult

TOOL_ENDS = frozenset({"</details></tool-use>", "</tool-use>"})
_TOOL = re.compile(
    r'<tool-use data-tool-type="(?P<type>[^"]*)" data-tool-name="(?P<name>[^"]*)">'
)
_SUMMARY = "<summary>Tool use: **"
_THINK = re.compile(r"<think>(?:<details><summary>.*?</summary>)?")
_OLD_TOOL = re.compile(r"Tool use: \*\*([^*\n]+)\*\*(.*)$")
_OLD_DETAILS = re.compile(r"\s*<summary>(.*?)</summary>\s*$")
# How the summaries of older steps begin, and the name of the tool that they are given.
_STEP_NAMES = NAMES["specstory_steps"].items()
_READ_STEP = re.compile(r"Read file: (\S.*)$")
# What the recorder writes in place of a result, alone in a step or above an empty block.
_ERROR_STEP = re.compile(
    r"(?:Cancelled$|Error calling tool |Tool call timed out|Path does not exist: "
    r"|File not found|The string to replace was not found|String to replace not found"
    r"|Tool [\w.-]+ not found|Fetch timed out|Error fetching URL, |Path is a directory, not"
    r"|Could not (?:find file '|access path '|resolve URI: )|rg: [^\n]*IO error"
    r"|Incorrect tool arguments|Model performed no edit|The model made no changes to the file"
    r"|(?:The m|M)odel (?:supplied|provided) (?:an ambiguous|invalid|non-existent) )"
)
_STEP_BEGINS = re.compile(r"Read file: |`{3,}diff\s*$|<details>\s*$|Tool use: \*\*")
_LISTED = re.compile(r"Listed (?:directory )?(.*?)(?: • .*)?$")
_RULE_FILE = re.compile(r"### Rule: (\S.*)$")
_CALLING = re.compile(r"Error calling tool '([\w.-]+)'")
_ANSWERED = re.compile(r"(?:Result|Error):[ \t]*$")
# Lines between the steps of one turn: a rule, or a heading without a name (the last one
# escaped).
_RULES = frozenset({"---", "_****_", r"_\*\*\*\*_"})
# What the client writes when an agent may take no further step.
_STOPPED = re.compile(
    r"Copilot has been working on this problem for a while\. It can continue to iterate, or you"
    r" can send a new message to refine your prompt\."
)
# Kinds of older tool uses whose text without a fence is their output.
_WITH_OUTPUT = frozenset({"other", "search", "fetch", "list", "plan"})
# The recorder's own kinds, for tool names that the vocabulary lacks.
_RECORDED_KINDS = {"read": "read", "search": "search", "shell": "shell", "write": "edit"}


class Turn:
    """One turn of an agent, taken apart.

    Args:
        calls: how many calls the session has had so far; they are numbered through.
        waiting: the names of calls that an empty block of the same name may still repeat, with
            how many there are; changed by `read`.
        pending: ids of the calls whose results may stand in a later turn, first those of the
            same speaker, then those of the one that called it; empty where the recorder writes
            each result below its call. Changed by `read`.

    Attributes:
        parts: words, thoughts and calls, in order.
        results: the results of the calls, as far as they are recorded.
        notices: what the client wrote among the agent's words.
        stopped: the person cancelled the last call, and nothing came after it."""

    def __init__(
        self, calls: int, waiting: dict[str, int], pending: tuple[list[str], ...] = ()
    ) -> None:
        self.calls = calls
        self.waiting = waiting
        self.pending = pending
        self.parts: list[Part] = []
        self.results: list[ToolResult] = []
        self.notices: list[str] = []
        self.stopped = False
        self._words: list[str] = []
        self._lines: list[str] = []
        self._step = True
        self._fence = ""
        self._no_end = False
        self._unclosed: set[str] = set()
        self._several: list[str] = []

    def read(self, body: str) -> None:
        """Takes the turn's text apart."""
        self._lines = lines = body.split("\n")
        self._tool_ends = [n for n, x in enumerate(lines) if x.rstrip() in TOOL_ENDS]
        self._tool_starts = [n for n, x in enumerate(lines) if x.startswith("<tool-use ")]
        self._thought_ends = [n for n, x in enumerate(lines) if "</think>" in x]
        self._detail_ends = [n for n, x in enumerate(lines) if x.strip() == "</details>"]
        self._rules = [n for n, x in enumerate(lines) if _is_rule(lines, n)]
        self._filled = [n for n, x in enumerate(lines) if x.strip()]
        self._unlisted = [n for n in self._filled if not lines[n].startswith("- ")]
        answers = [n for n, x in enumerate(lines) if self.pending and _is_answer(lines, n)]
        self._answers, self._answered_at = answers, frozenset(answers)
        at = 0
        while at < len(lines):
            at = self._take(at, lines[at])
        self._say()
        self._several.clear()

    def read_flat(self, body: str) -> bool:
        """Takes apart a turn that is a tool use without its markup; whether it is one.

        SpecStory writes them so into a session that it continues in another agent."""
        lines = body.rstrip().split("\n")
        if lines[-1] != "```" or "```text" not in lines:
            return False
        at = lines.index("```text")
        before = [x for x in lines[:at] if x.strip()]
        output = unescape("\n".join(lines[at + 1 : -1]))
        if not before and not path_in(output):
            self.results.append(ToolResult("", output, *outcome(output)))
            return True
        name = _flat_name(before)
        if not name:
            return False
        kind = kind_of(name)
        given, _ = parse_tool_use(kind, "", body)
        if name == "Bash" and before[1].startswith("```"):
            command = "\n".join(lines[lines.index(before[1]) + 1 : at]).rstrip()
            given = {"command": unescape(command.removesuffix("```").rstrip("\n"))}
        self._call(name, kind, given, output)
        return True

    def _take(self, at: int, line: str) -> int:
        step = self._step
        if line.startswith("<tool-use ") and (opening := _TOOL.match(line)):
            return self._tool_use(at, line, opening)
        if line.strip():
            self._step = False
        thought = None if self._fence else _THINK.search(line)
        if thought is not None and line.count("`", 0, thought.start()) % 2 == 0:
            return self._thought(at, line, thought)
        if _is_rule(self._lines, at):
            unnamed = line.strip() != "---"
            if not self._fence or unnamed or self._begins_step(at + 1):
                # A step's end: what follows may be a step of its own kind.
                self._step, self._fence = True, ""
                if unnamed:
                    return at + 1
            self._words.append(line)
            return at + 1
        fence = FENCE.match(line)
        if not self._fence:
            if line.startswith("```thinking"):
                return self._thinking_fence(at)
            if line.startswith("Tool use: **") and (old := _OLD_TOOL.match(line)):
                return self._old_tool(at, old)
            if at in self._answered_at:
                return self._answer(at)
            if line.rstrip() == "**Agent task list:**":
                return self._tasks(at)
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

    def _begins_step(self, at: int) -> bool:
        """Whether a tool use of an older layout follows: then the fence that is open is odd."""
        after = next((x for x in self._lines[at : at + 3] if x.strip()), "")
        return _STEP_BEGINS.match(after) is not None

    def _say(self) -> None:
        words, self._words, self._fence = self._words, [], ""
        filled = [n for n, x in enumerate(words) if x.strip() not in {"", "---"}]
        words = words[filled[0] : filled[-1] + 1] if filled else []
        said = "\n".join(words)
        if _STOPPED.search(said):
            self.notices += _STOPPED.findall(said)
            said = _STOPPED.sub("", said).strip()
        if not said.strip("`\n "):
            said = ""  # blocks of code that the recorder left out
        if said or words and not self.notices:
            self.parts.append(Text(said))
            self.stopped = False

    def _next(self, places: list[int], at: int) -> int:
        """The first of these places behind a line; the end where there is none."""
        found = bisect_right(places, at)
        return places[found] if found < len(places) else len(self._lines)

    def _tool_use(self, at: int, line: str, opening: re.Match[str]) -> int:
        closed = line.rstrip().endswith("</tool-use>")
        after = (at if closed else self._next(self._tool_ends, at)) + 1
        text = "\n".join(self._lines[at:after])
        name = unescape(opening["name"])
        known = kind_of(name)
        if known == "other":
            known = _RECORDED_KINDS.get(opening["type"], known)
        summary, closing, below = text.partition(_SUMMARY)[2].partition("</summary>")
        rest, body = (summary.partition("**")[2], below) if closing else ("", text)
        body = body.rstrip().removesuffix("</tool-use>").rstrip().removesuffix("</details>")
        empty = not body.strip() and not rest.strip()
        error = "\n".join(self._words).strip("\n -") if empty else ""
        if _ERROR_STEP.match(error) and "\n\n" not in error:
            self._words = []
        else:
            error = ""
        self._say()
        self._step = True
        repeats = empty and bool(line[opening.end() :].strip())
        if repeats and self.waiting.get(name):
            # The recorder repeats the call without its contents, and with `<details>` on the
            # first line: it is the same one.
            self.waiting[name] -= 1
            if error:
                self._answered(error, (self._failure(error), None))
            return after
        given, output = parse_tool_use(known, rest, body)
        if not repeats:
            self.waiting[name] = self.waiting.get(name, 0) + 1
        self._call(name, known, given, error or output, failed=bool(error))
        if output is None and is_loading(body):
            self._answered("", ("running", None))
        return after

    def _call(
        self,
        name: str,
        kind: str,
        given: dict[str, object],
        output: str | None = None,
        *,
        failed: bool = False,
    ) -> None:
        self._say()
        self._step, self.stopped = True, False
        self.calls += 1
        self.parts.append(ToolCall(f"call-{self.calls}", name, kind, given))
        if output is not None:
            shell = kind in {"shell", "powershell"}
            output = as_printed(output) if shell else output
            status = (self._failure(output), None) if failed else outcome(output)
            if type(code := given.get("exit_code")) is int:
                status = ("error" if code else "ok", code)
            elif status == ("ok", None) and shell and name != "Bash":
                status = ("unknown", None)  # only Claude Code marks what failed
            elif status == ("ok", None) and not shell and output.startswith(REFUSALS):
                status = ("error", None)
            self._answered(output, status)

    def _answered(self, output: str, status: tuple[str, int | None]) -> None:
        """Adds the result of the last call."""
        self.results.append(ToolResult(f"call-{self.calls}", output, *status))

    def _thought(self, at: int, line: str, opening: re.Match[str]) -> int:
        before, first = line[: opening.start()], line[opening.end() :]
        if before.strip():
            self._words.append(before)
        self._say()
        # Its end may stand on the same line; one that is never closed ends with the next tool.
        end = at if "</think>" in first else self._next(self._thought_ends, at)
        after = min(end + 1, self._next(self._tool_starts, at))
        inside = "\n".join([first, *self._lines[at + 1 : after]])
        thought, _, tail = inside.partition("</think>")
        if tail.strip():
            self._lines[end] = tail
            after = end
        thought = thought.rstrip().removesuffix("</details>")
        self.parts.append(Reasoning(unescape(thought).strip("\n")))
        self._step = True
        return after

    def _thinking_fence(self, at: int) -> int:
        self._say()
        nested, end = False, at + 1
        while end < len(self._lines):
            line = self._lines[end].strip()
            # The recorder leaves a blank line after its own fence.
            below = "".join(self._lines[end + 1 : end + 2]).strip()
            if line == "```" and not nested and not below:
                break
            if line.startswith("```"):
                nested = line != "```" or not nested
            end += 1
        thought = "\n".join(self._lines[at + 1 : end]).strip("\n")
        self.parts.append(Reasoning(thought))
        self._step = True
        return end + 1

    def _old_tool(self, at: int, opening: re.Match[str]) -> int:
        """`Tool use: **x**`, which ends with a rule outside its fences."""
        end, odd = at + 1, False
        # The results of several calls stand below the last of them.
        apart = bool(self.pending) and (
            bool(self.pending[0]) or len(self._answers) - bisect_right(self._answers, at) > 1
        )
        while not (self._no_end or odd) and end < len(self._lines):
            if _is_rule(self._lines, end) or apart and end in self._answered_at:
                break
            if fence := FENCE.match(self._lines[end]):
                end = self._fence_end(end, fence[0], len(self._lines))
                odd = end < 0
            end += 1
        if self._no_end or odd:
            # A fence inside is odd: the first rule ends this one and, to spare time, the rest.
            self._no_end = True
            end = self._next(self._rules, at)
        body = "\n".join(self._lines[at + 1 : end]).strip("\n")
        rest, name = opening[2], opening[1].strip()
        details = re.match(
            r"\s*<details>\s*<summary>(.*?)</summary>\n?(.*?)(?:</details>\s*)?$",
            body,
            re.DOTALL,
        )
        if details is not None and "\n" not in details[1].strip():
            rest, body = f"{rest} {details[1]}", details[2]
        failed = re.match(r"\s*Error:[ \t]*\n", body) is not None
        body = re.sub(r"\A\s*(?:Result|Error):[ \t]*\n", "\n", body)
        answered = self._finish(name, rest, body, failed=failed)
        if self.pending and not answered:
            self.pending[0].append(f"call-{self.calls}")
        return end

    def _answer(self, at: int) -> int:
        """A result that stands apart from its call.

        Results come as they are ready: of several calls, it is not known which one it answers,
        and it has no call's id."""
        self._say()
        end = self._next(self._answers, at)
        output = parse_tool_use("other", "", "\n".join(self._lines[at + 1 : end]))[1] or ""
        waiting = next((calls for calls in self.pending if calls), [])
        identity = waiting.pop() if len(waiting) == 1 else ""
        self._several = self._several or waiting
        failed = self._lines[at].startswith("Error:")
        status = ("error", None) if failed else outcome(output)
        self.results.append(ToolResult(identity, output, *status))
        return end

    def _tasks(self, at: int) -> int:
        end = at + 1
        while end < len(self._lines) and TASK.match(self._lines[end]):
            end += 1
        if end == at + 1:
            self._words.append(self._lines[at])
            return end
        self._call("TodoWrite", "plan", tasks("\n".join(self._lines[at:end])))
        return end

    def _finish(self, name: str, rest: str, body: str, *, failed: bool = False) -> bool:
        """Adds a call of an older layout; whether its result is there too."""
        kind = kind_of(name)
        given, output = parse_tool_use(kind, rest, body)
        if output is None and body.strip() and kind in _WITH_OUTPUT:
            output = unescape(body.strip("\n"))
        self._call(name, kind, given, output, failed=failed)
        return output is not None

    def _details(self, at: int, line: str) -> int:
        """An older tool use, `<details>` with a summary of known words; 0 if it is none."""
        first, head = line.removeprefix("<details>"), at
        if not first.strip():
            head = at + 1
            first = "".join(self._lines[head : head + 1])
        summary = _OLD_DETAILS.match(first)
        shown = summary[1] if summary is not None else ""
        name = next((n for words, n in _STEP_NAMES if shown.startswith(words)), "")
        end = self._next(self._detail_ends, head)
        if not name or end == len(self._lines):
            return 0
        body = "\n".join(self._lines[head + 1 : end]).rstrip()
        if name == "list_dir":
            path = _LISTED.match(shown)
            where = path[1] if path is not None else ""
            where = {"current directory": ".", "undefined": ""}.get(where, where)
            self._call(name, kind_of(name), {"path": where}, body.strip("\n") or None)
        else:
            self._finish(name, shown, body)
        return end + 1

    def _old_step(self, at: int, line: str) -> int:
        """A step of the oldest layouts that is a tool use and nothing else; 0 if it is none."""
        end = self._next(self._rules, at)
        # A turn may have no rule at all, so that not every step may look at all the rest.
        below = self._lines[at + 1 : min(end, at + 7)]
        read = _READ_STEP.match(line)
        if read is not None and not (below and below[0].strip()):
            path = "" if read[1] == "undefined" else read[1].strip()
            self._call("read_file", "read", {"file_path": path})
            return at + 1
        if _ERROR_STEP.match(line) and self._next(self._unlisted, at) >= end:
            return self._failed_step(line, at, end)
        rules = _RULE_FILE.match(line)
        if rules is not None and any(x.startswith("```") for x in below):
            inside = "\n".join(self._lines[at:end]).rstrip()
            self._call("fetch_rules", "read", {"rule": rules[1]}, inside)
            return end
        fence = FENCE.match(line)
        info = line.strip().lstrip("`")
        if fence is None or info not in {"bash", "diff"}:
            return 0
        if info == "diff":
            return self._edit_step(at, end, fence[0])
        close = self._fence_end(at, fence[0], end)
        if close < 0:
            return 0
        # A command, and its output, if any, to the end of the step: fences in it may be odd.
        first, output = self._next(self._filled, close), None
        if first < end:
            last = self._filled[bisect_left(self._filled, end) - 1]
            if last == first or {self._lines[n].rstrip() for n in (first, last)} != {"```"}:
                return 0
            output = "\n".join(self._lines[first + 1 : last])
        command = "\n".join(self._lines[at + 1 : close])
        self._call("run_terminal_cmd", "shell", {"command": command}, output)
        return end

    def _failed_step(self, line: str, at: int, end: int) -> int:
        """What stands in place of a tool use that failed: the call itself is not recorded."""
        self._say()
        text = "\n".join(x.strip() for x in self._lines[at:end] if x.strip())
        if calling := _CALLING.match(line):
            self._call(calling[1], kind_of(calling[1]), {})
        identity = f"call-{self.calls}" if calling else ""
        self.results.append(ToolResult(identity, text, self._failure(text)))
        return end

    def _failure(self, text: str) -> str:
        self.stopped = text.startswith("Cancelled")
        return "interrupted" if self.stopped else "error"

    def _edit_step(self, at: int, end: int, fence: str) -> int:
        """A step of nothing but `diff` fences is one edit; 0 if it is none."""
        inside: list[str] = []
        close = at - 1
        for place in range(at, end):
            line = self._lines[place].rstrip()
            if place > close and line:
                close = self._fence_end(place, fence, end) if line == f"{fence}diff" else -1
                if close < 0:
                    return 0
                inside += self._lines[place + 1 : close]
        self._call("edit_file", "edit", {"file_path": "", "diff": "\n".join(inside)})
        return end

    def _fence_end(self, at: int, fence: str, end: int) -> int:
        if fence in self._unclosed:
            return -1  # further up there was none either
        for place in range(at + 1, end):
            line = self._lines[place]
            if line.startswith(fence) and not line.strip("` \t"):
                return place
        if end == len(self._lines):
            self._unclosed.add(fence)
        return -1


def _flat_name(before: list[str]) -> str:
    """The tool whose use is written above an output without markup; "" for words."""
    first, last = (before[0], before[-1]) if before else ("", "")
    if not first:
        return "Edit"
    if first.startswith(" "):
        return ("Grep" if " pattern `" in first else "Read") if len(before) == 1 else ""
    if first.startswith("`"):
        return "Write" if last == "```" else ""
    return "Bash" if before[1:2] and before[1].startswith("`") and last.endswith("`") else ""


def _is_rule(lines: list[str], at: int) -> bool:
    """Whether a line is the recorder's rule between two steps: alone between blank lines."""
    return lines[at].strip() in _RULES and not any(
        line.strip() for line in (*lines[max(0, at - 1) : at], *lines[at + 1 : at + 2])
    )


def _is_answer(lines: list[str], at: int) -> bool:
    """Whether a line is the heading of a result: a fence stands below it."""
    if not _ANSWERED.match(lines[at]) or at and lines[at - 1].strip():
        return False
    return any(line.startswith("```") for line in lines[at + 1 : at + 3])
