"""Extractor of checks: what a run of tests, a build, a linter or a type checker printed.

An output is cleaned first (terminal escapes, prefixes that task runners put before each line,
headers that a client puts before the output), so that a rule sees the line as the tool printed
it. What is recorded is bounded: telling lines, counts, names of what failed, the last lines.
Whose lines they are, and what they mean, `analysis.checks` decides, which sees the command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import starmap
from typing import Any, ClassVar

from msgspec import Struct, field

from leftoff import lazy_re as re
from leftoff.extraction.evidence import CUT, Called, Checked, Evidence, Printed
from leftoff.extraction.extractor import CALL, RESULT, TYPED, View, remember
from leftoff.extraction.rule_sets import CHECK_OUTPUTS, CHECK_TOOLS
from leftoff.extraction.rules import Rule
from leftoff.formats.injected import JOB_ENDED
from leftoff.model import Ref, ToolCall, ToolResult
from leftoff.redaction.scanner import QuoteEnds
from leftoff.tables import table, word_sets
from leftoff.text.truncation import whole

_TABLE = table(__file__, "patterns.toml")
_RE, _WORDS = re.patterns(_TABLE["checks"]), word_sets(_TABLE["words"])

# Code points at either end of a longer output that are read: summaries stand at the end, and of
# several checks in one command the first stand at the beginning. Chosen by hand; not measured.
HEAD, TAIL = 6_000, 24_000

MAX_PRINTED, MAX_FAILING, MAX_LINE, MAX_TAIL, MAX_HEAD, MAX_NAME = 24, 20, 200, 400, 160, 160
# The counts of `Printed`, in the order of its fields.
_COUNTS = ("passed", "failed", "skipped")
# Summary lines that are recorded one by one: more runs of one tool in a command are rare.
MAX_APART = 4

_KINDS = frozenset({"shell", "powershell", "script", "python", "other"})
# Jobs in the background that are remembered: a loop that starts one for each file must not grow
# the state. Chosen by hand; not measured.
_MAX_TASKS = 64

_PROGRAMS = "|".join(
    sorted({re.escape(command.split()[0]) for tool in CHECK_TOOLS for command in tool.commands})
)


@cache
def _commands_gate() -> Any:
    """The signs of a command that may run a check."""
    pattern = (
        rf"(?:^|[^\w.-])(?:{_PROGRAMS})(?:\.exe|\.cmd)?(?:[^\w-]|$)"
        r"|(?:^|[^a-z])(?:test|check|lint|build|spec)"
    )
    return re.automaton([pattern])


@lru_cache(maxsize=512)
def may_run_a_check(command: str) -> bool:
    """Whether a command, as far as it is recorded, may run a check."""
    if len(command) < CUT and _RE["looking"].fullmatch(command):
        return False
    return bool(_commands_gate()(command.encode()))


_RUNNING = "\nProcess running with session ID"
_JSON_ESCAPES = {"n": "\n", "t": "\t", "r": "\n", '"': '"', "\\": "\\", "/": "/"}
# Each client has its own word for the id with which the output of a job is asked for.
_TASK_KEYS = "task_id bash_id shell_id session_id cell_id sessionId shellId id".split()


class Checks(Struct):
    """Records what checks printed, and what jobs in the background printed later.

    `jobs` holds, by call id, the jobs that a pending call asks for; `open` those that had not
    ended, with message and part of the call that started each; `roots` the first job of that
    call, by the others; `waits` by the job that a script became those that it asks for; `ends`
    the exit codes of jobs of which the recorder does not tell which they are; `logs` the job by
    the file that its output is written to."""

    name: ClassVar[str] = "checks"
    wants: ClassVar[int] = RESULT | CALL | TYPED

    jobs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    open: dict[str, tuple[int, int]] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)
    waits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)
    logs: dict[str, str] = field(default_factory=dict)

    def see(self, view: View) -> Iterable[Evidence]:
        for number, text in view.texts if view.message.origin == "injected" else ():
            for ended in JOB_ENDED.finditer(text):
                code = _RE["ended_with"].match(text, ended.end())
                if self.open.pop(ended[1], None) and code:
                    yield self._ended(view.record_ref(number), ended[1], int(code[1]))
        for number, part, call in view.tools:
            if type(part) is ToolResult:
                yield from self._result(view, number, part, call)
            elif type(part) is ToolCall:
                if part.id and (part.kind in {"poll", "script"} or self.logs):
                    self._asks(part)

    def _ended(self, ref: Ref, job: str, code: int | None) -> Checked:
        task = self.roots.get(job, job)
        return Checked(ref, -1, -1, task=task, exit_code=code, job=job)

    def _asks(self, call: ToolCall) -> None:
        given = call.input if isinstance(call.input, dict) else {}
        named = [str(given[key]) for key in _TASK_KEYS if given.get(key)][:1]
        if call.kind == "script":
            # What a script prints that runs another command is no job's.
            script = str(call.input)[:4000]
            found = () if "exec_command" in script else _RE["job_in_script"].findall(script)
            named = list(dict.fromkeys(found))
        elif call.kind != "poll":
            words = str(given.get("file_path") or given.get("path") or given.get("command", ""))
            named = [job for path, job in self.logs.items() if path in words][:1]
        elif not named and len(self.open) == 1:
            named = [*self.open]  # the recorder gives no number, and only one is running
        if named:
            remember(self.jobs, call.id, tuple(named), _MAX_TASKS)

    def _result(
        self, view: View, number: int, result: ToolResult, call: Called
    ) -> Iterable[Checked]:
        text = result.text
        asked = self.jobs.pop(result.call_id, ())
        self.ends = self.ends if self.open else []
        if asked and asked[0] in self.waits and not _RE["still_running"].match(text):
            self.open.pop(asked[0], None)  # the script ended, what it asked for may go on
            asked = self.waits.pop(asked[0])
        every = [(text, asked)]
        if len(asked) > 1 and len(pieces := _results(text)) == len(asked):
            every = [(piece, (job,)) for piece, job in zip(pieces, asked, strict=True)]
        for piece, jobs in every:
            found = self._of_jobs(view, number, piece, jobs, result, call)
            if found is not None:
                yield found
        if call.kind == "poll" and not asked and result.exit_code is not None and self.open:
            self.ends.append(result.exit_code)
            if len(self.ends) >= len(self.open):  # so all have ended
                code = self.ends[0] if len({*self.ends}) == 1 else None
                for job in self.open:
                    yield self._ended(view.record_ref(number), job, code)
                self.open, self.ends = {}, []

    def _of_jobs(
        self,
        view: View,
        number: int,
        text: str,
        asked: tuple[str, ...],
        result: ToolResult,
        call: Called,
    ) -> Checked | None:
        """What an output, or the part of it that is a job's, says.

        Args:
            asked: the jobs whose output it is."""
        judged = bool(asked) or call.kind in _KINDS
        if not judged and result.status != "running":
            return None
        codes = _codes(text) if asked or call.kind == "script" else ()
        yielded = _RE["still_running"].match(text) is not None
        running = (
            result.status == "running"
            or yielded
            or not all(type(code) is int for code in codes)
            or text.find(_RUNNING, 0, 6000) >= 0
        )
        job = asked[0] if len(asked) == 1 else ""
        ids: list[str] = []
        if running:
            started = _RE["started"].search(text, 0, 2000) or _RE["started"].search(
                text, max(0, len(text) - 400)
            )
            shown = [code for code in codes if isinstance(code, str)]
            ids = shown or ([started[1]] if started is not None else [])
            job = job or (ids[0] if ids and not asked else "")
        task = self.roots.get(job, job)
        place = self.open.get(job, call.call)
        for one in ids:
            remember(self.open, one, place, _MAX_TASKS)
            if one != task:
                remember(self.roots, one, task, _MAX_TASKS)
        if asked and yielded and ids and ids[0] not in asked:
            remember(self.waits, ids[0], asked, _MAX_TASKS)
        log = _RE["log"].search(text, 0, 2000) if ids else None
        if log is not None:
            remember(self.logs, log[1], task, _MAX_TASKS)
        if job and (
            running
            and (yielded or not ids or job in ids)
            or _RE["unfinished"].search(text, 0, 400)
        ):
            remember(self.open, job, place, _MAX_TASKS)
        elif job:
            self.open.pop(job, None)  # what a script leaves behind goes on under its own number
        if not judged:
            return None
        known = bool(task) or may_run_a_check(call.text)
        if not known and not (text and len(call.text) >= CUT):
            return None
        found = read_output(text, always=known)
        if not known and not found.get("printed"):
            return None
        code = codes[0] if len(codes) == 1 else None
        return Checked(
            view.record_ref(number),
            *call.call,
            task=task,
            running=running,
            exit_code=code if isinstance(code, int) else None,
            lines=text.rstrip().count("\n") + 1 if text.strip() else 0,
            codes=codes,
            job=job,
            **found,
        )


def _results(text: str) -> list[str]:
    """The results that a script prints whole, in order."""
    pieces = _RE["json_start"].split(text)[1:]
    return [piece for piece in pieces if _RE["json_result"].search(piece, 0, 400)]


def _codes(text: str) -> tuple[int | str | None, ...]:
    """The exit codes of the commands whose results a script prints whole, in order; of one that
    goes on the job that it became."""
    if (ended := _RE["job_code"].match(text)) is not None:
        return (int(ended[1]),)
    found: list[int | str | None] = []
    for piece in _results(text):
        code, job = _RE["json_code"].search(piece), _RE["json_job"].search(piece)
        found.append(int(code[1]) if code else job[1] if job else None)
    return tuple(found)


def clean(text: str) -> str:
    """An output as its tool printed it: without terminal escapes, a client's header and the
    prefixes of task runners."""
    if len(text) > HEAD + TAIL:
        end = text[-TAIL:]  # from its first whole line on: redaction knows no half of a secret
        rest = end.partition("\n")[2] or end.partition(" ")[2] or end.partition('"')[2]
        head = whole(text, HEAD) or text[: text.rfind('"', 0, HEAD) + 1]  # JSON without blanks
        text = f"{head}\n{rest}"
    if "\x1b" in text:
        text = _RE["escapes"].sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "&gt;" in text or "&lt;" in text or "&amp;" in text:
        from html import unescape

        text = unescape(text)
    if any(map(text.__contains__, ("ebugger", "npm notice", "\x07", "➜"))):
        text = _RE["noise"].sub("", text)
    text = text.replace("\u2009", " ").replace("\xa0", " ")  # RE2 knows no other spaces
    text = _RE["header"].sub("", text, count=1)
    if text[:400].lstrip()[:1] == "{" and '"output"' in text:
        found = _RE["json_output"].findall(text)
        text = "\n".join(
            re.sub(r"\\(.)", lambda m: _JSON_ESCAPES.get(m[1], m[0]), one) for one in found
        )
    if text.startswith("<"):
        text = text.replace("<output>", "\n").replace("</output>", "\n")
    return _RE["prefix"].sub("\n", f"\n{text}")[1:]


def read_output(text: str, *, always: bool = True) -> dict[str, Any]:
    """What an output says, as the fields of `Checked` that are read from it.

    Args:
        always: also read the last lines of an output without a telling one."""
    text = clean(text).rstrip()
    banner = _RE["banner"]
    scripts = tuple((m[1] or "", (m[2] or m[3])[:200]) for m in banner.finditer(text))[:8]
    rest = banner.sub("", text) if scripts and len(text) < 2000 else text
    if len(rest) < 200 and _is_empty(rest):
        return {"silent": True, "scripts": scripts}
    found: dict[str, tuple[int, Printed]] = {}
    failing: dict[str, str] = {}
    ends: Counter[str] = Counter()
    quotes = QuoteEnds(text)
    for _, rule, matches in CHECK_OUTPUTS.matches(text):
        several = list(matches)
        if not (rule.exact.groupindex or rule.ends or rule.topic == "status"):
            del several[1:-1]  # without counts, only the first place and the last line count
        for match in several:
            if rule.topic == "name":
                start = match.start("name")
                if start >= 0 and len(failing) < MAX_FAILING:
                    end = quotes.end(start, min(match.end("name"), start + MAX_NAME))
                    failing.setdefault(text[start:end].strip(), rule.id)
                continue
            one = _printed(rule, match, text, quotes)
            key = rule.id
            if rule.topic == "status" or rule.ends and ends[key] < MAX_APART:
                ends[key] += 1
                key = f"{rule.id} {ends[key]}"
            place, before = found.get(key, (match.start(), None))
            found[key] = place, summed(before, one) if before else one
    tail = _tail(text, quotes, near=not found) if found or always else ""
    head, shown = "", text.lstrip()
    if tail and len(shown) > MAX_TAIL:
        quotes = quotes if shown is text else QuoteEnds(shown)
        head = shown[: quotes.near(0, shown.rfind("\n", 0, MAX_HEAD) + 1)].rstrip()
    in_order = sorted(found.items(), key=lambda item: (item[1][0], item[0]))
    return {
        "printed": tuple(one for _, (_, one) in in_order[:MAX_PRINTED]),
        "failing": tuple((rule, name) for name, rule in failing.items() if name),
        "tail": tail,
        "head": head,
        "scripts": scripts,
    }


def _is_empty(text: str) -> bool:
    """Whether a short output holds no more than a client's words for one that is empty."""
    # The pattern takes long for a line of many signs, such as a rule around a word.
    words = _RE["word"].findall(text.lower())
    return _WORDS["empty"].issuperset(words) and _RE["empty"].match(text) is not None


def _printed(rule: Rule, match: re.Match[str], text: str, quotes: QuoteEnds) -> Printed:
    groups = match.groupdict() if match.re.groupindex else {}
    numbers: dict[str, int | None] = {}
    counts = list(_RE["count"].finditer((groups.get("counts") or "").lower()))
    for key in _COUNTS:
        found = [int((m[1] or m[4])[:9]) for m in counts if (m[2] or m[3]) in _WORDS[key]]
        numbers[key] = (
            int(groups[key][:9]) if groups.get(key) else sum(found) if found else None
        )
    errors = int((groups.get("errors") or "0")[:9]) + int((groups.get("more") or "0")[:9])
    if errors:
        numbers["failed"] = (numbers["failed"] or 0) + errors
    if groups.get("total") and numbers["passed"] is not None and not groups.get("failed"):
        numbers["failed"] = max(0, int(groups["total"][:9]) - numbers["passed"])
    elif groups.get("total") and numbers["passed"] is None:
        rest = int(groups["total"][:9]) - (numbers["failed"] or 0) - (numbers["skipped"] or 0)
        numbers["passed"] = max(0, rest)
    # Of several lines that match the one with the counts.
    first = match.start("counts" if groups.get("counts") else 0)
    first += len(text[first : match.end()]) - len(text[first : match.end()].lstrip())
    start = text.rfind("\n", 0, first) + 1
    end = text.find("\n", first)
    end = min(len(text) if end < 0 else end, start + MAX_LINE)
    end = quotes.end(start, end)
    return Printed(rule.id, text[start:end].strip(), **numbers)


def summed(before: Printed, one: Printed) -> Printed:
    """Two matches of a rule as one, with the line of the one where more failed, else where more
    passed, else of the last."""
    less = (one.failed or 0, one.passed or 0) < (before.failed or 0, before.passed or 0)
    line = before.line if less else one.line
    both = ((getattr(before, key), getattr(one, key)) for key in _COUNTS)
    return Printed(one.rule, line, *starmap(_added, both))


def _added(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b


def _tail(text: str, quotes: QuoteEnds, *, near: bool) -> str:
    """The last whole lines, at most `MAX_TAIL` code points; `near`: without a scan of the whole
    text."""
    start = max(0, len(text) - MAX_TAIL)
    if start:
        line = text.find("\n", start)
        start = line + 1 if line >= 0 else max(start, text.rfind(" ", start, start + 80) + 1)
    end = len(text)
    end = quotes.near(start, end) if near else quotes.end(start, end)
    return text[start:end].strip("\n")
