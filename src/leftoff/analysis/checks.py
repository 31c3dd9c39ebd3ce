"""Runs of tests, builds, linters and type checkers, and how each of them ended.

The one judge: whatever says that a check passed or failed asks here. `check_runs` says which
checks a command line runs; the extractor `checks` recorded what was printed. A verdict rests on
the output (summary lines and counts), then on the exit status where nothing in the command line
masks it, and is unknown otherwise. A job in the background is judged by what was printed later.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Sequence
from itertools import chain, groupby

import re2
from msgspec import Struct
from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff.analysis.activities import code_edits, edits
from leftoff.analysis.check_commands import (
    BY_NAME,
    Run,
    covers,
    mending_runs,
    places_of,
    program_of,
)
from leftoff.analysis.check_lines import (
    RULES,
    STATUS,
    Share,
    as_the_last,
    belongs,
    count,
    fails,
    is_empty,
    passes,
    says_no_more,
    shares_of,
    telling,
    together,
    tool_of,
)
from leftoff.analysis.check_runs import (
    Line,
    folders,
    implied,
    never_ran,
    numbers_of,
    printed_nothing,
    runs_of,
    shown_by_later,
    tells_of_all,
)
from leftoff.extraction.checks import MAX_APART
from leftoff.extraction.evidence import Checked, Printed, Ran, Returned
from leftoff.extraction.rule_sets import CheckTool
from leftoff.model import Ref
from leftoff.session_view import SessionView, once
from leftoff.shell.paths import absolute, is_test, is_within
from leftoff.summary import Check

# Names of failing tests: more than a screen shows, and a run of thousands fails for one reason.
MAX_FAILING = 20
# Exit codes of a program that was stopped, or never ran: they say nothing about the check.
_KILLED = frozenset({124, 126, 127, 130, 137, 143})
_TIMED_OUT = 124  # of `timeout`

# What a script of Codex prints of a command that still runs where it prints its exit code, and
# of one that ended.
_UNFINISHED = re.compile(r"\bexit\w*\W{1,3}(?:undefined|null)\b", re.IGNORECASE)
_ENDED = re.compile(r"\b(?:exit\w*|code)\W{1,3}\d", re.IGNORECASE)

_NOT_ROOTED = re.compile(r"[^/\w]|\w[^:]")
# A path that the command does not show, and a folder to which it goes back.
_UNKNOWN_PLACE = re.compile(r"[$`%]|/-(?:/|$)")
# What runs a command where paths are others.
_ELSEWHERE = re.compile(r"\b(?:docker|podman|nerdctl|kubectl|vagrant|ssh|popd|pushd)\b")
# A shell of its own that has ended.
_ENDED_SHELL = re.compile(r"\([^()]*\)")

# A build whose one tool is a type checker: the compiler of the same name.
_COMPILES = ("build", "typecheck")

# What is shown instead of a result that did not come.
_NO_OUTCOME = {
    "timeout": "(timed out)",
    "interrupted": "(interrupted)",
    "running": "(still running)",
}


@once
def checks(view: SessionView) -> tuple[Check, ...]:
    """The checks of a session in order. A call that was refused ran none."""
    return _Judge(view).judge()


@once
def _reports_failures(view: SessionView) -> bool:
    """Whether the recorder gives failed calls with exit codes."""
    returned = view.each(Returned, rewound=True)
    return any(r.status == "error" and r.exit_code is not None for r in returned)


def _worked(view: SessionView, ran: Ran, status: str, code: int | None) -> bool | None:
    """Whether a command line as a whole succeeded, None where the recorder does not say.

    Args:
        status, code: of its result."""
    if code is not None:
        return None if code in _KILLED else code == 0
    # Claude Code marks a failed command and says nothing of one that worked; other clients
    # say "ok" of any command that they could start.
    trusted = ran.tool == "Bash" or (ran.tool == "bash" and _reports_failures(view))
    return True if trusted and status == "ok" and not ran.background else None


def all_worked(view: SessionView, ran: Ran, outcome: Returned) -> bool:
    """Whether a command line is known to have succeeded, with all that it runs."""
    whole = tells_of_all(ran.command)
    return whole and _worked(view, ran, outcome.status, outcome.exit_code) is True


class _Output(Struct):
    """What is recorded of the output of a call, or of a job in the background."""

    printed: list[Printed]
    failing: list[tuple[str, str]]
    ends: list[Printed] = []
    statuses: list[int | None] = []
    tail: str = ""
    silent: bool = False
    ref: Ref | None = None
    running: bool = False
    lines: int = 0
    scripts: tuple[tuple[str, str], ...] = ()
    exit_code: int | None = None
    codes: tuple[int | str | None, ...] = ()
    head: str = ""
    outcome: Returned | None = None

    @property
    def code(self) -> int | None:
        """The exit code, None where none is recorded."""
        if self.exit_code is not None or self.outcome is None:
            return self.exit_code
        return self.outcome.exit_code

    @property
    def stopped(self) -> bool:
        """Whether the end of the call is not known."""
        ended = self.outcome is not None and self.outcome.status not in _NO_OUTCOME
        return self.exit_code is None and not ended or self.running

    def only(self, rules: Container[str]) -> _Output:
        """With no other lines than those of some rules."""
        return replace(
            self,
            printed=[p for p in self.printed if p.rule in rules],
            ends=[p for p in self.ends if p.rule in rules],
            failing=[f for f in self.failing if f[0] in rules],
            statuses=[],
        )

    def with_code(self, code: int | str | None) -> _Output:
        """That of one of several commands, no number for one that was cut off: whose its lines
        are is not known."""
        if not isinstance(code, int):
            return replace(self.only(()), running=True)
        return replace(self, running=False, exit_code=code)

    def without(self, again: set[tuple[str, str, bool]]) -> _Output:
        """Without the lines of tools that several commands of a script ran: which of them
        printed one, nothing tells. A wrapper may print those of any tool."""
        tools = {"", *(tool for tool, *_ in again)}
        wrapped = any(wrapper for *_, wrapper in again)
        sure = (r for r in RULES if not wrapped and tools.isdisjoint(RULES[r].tools))
        return self.only(set(sure))


class _Judge:
    def __init__(self, view: SessionView) -> None:
        self.view = view
        # The runs of programs that rewrote files to mend what a check finds, each with its
        # message and folder; None for one that is known as no check.
        self.mended = [
            (ran.ref.message, _folder(ran, view.state.header.cwd), run)
            for ran in view.each(Ran)
            for run in mending_runs(ran.command)
            if view.succeeded(ran.call)
        ]
        formatted = {message for message, *_ in self.mended}
        self.edits = sorted({message for message, _ in edits(view)} | formatted)
        self.code_edits = sorted(code_edits(view) | formatted)
        self.outputs = view.by_call(Checked)
        self.jobs: dict[str, list[Checked]] = {}
        for checked in view.each(Checked):
            if checked.task:
                self.jobs.setdefault(checked.task, []).append(checked)

    def judge(self) -> tuple[Check, ...]:
        found: list[Check] = []
        commands = (r for r in self.view.each(Ran) if r.language in {"bash", "powershell"})
        for place, call in groupby(commands, key=lambda ran: ran.call):
            several = list(call)
            outcome = self.view.outcomes.get(place)
            if outcome is not None and outcome.status == "denied":
                continue
            lines = [(ran, runs_of(ran.command)) for ran in several]
            if not any(line.runs for _, line in lines):
                continue
            output = self._output(place, outcome)
            total = sum(len(line.runs) for _, line in lines)
            apart = len(several) == max(1, len(output.codes))
            ran_here = [{(r.tool, r.kind, r.wrapper) for r in line.runs} for _, line in lines]
            times = Counter(chain.from_iterable(ran_here))
            again = {one for one in times if times[one] > 1}
            for number, (ran, line) in enumerate(lines):
                each = apart and len(several) > 1
                own = output.with_code(output.codes[number]) if each else output
                if not again.isdisjoint(ran_here[number]):
                    own = own.without(again)
                ok = self._ok(ran, own) if apart else None
                found += self._of_line(ran, line, own, ok, total)
        return tuple(found)

    def _output(self, place: tuple[int, int], outcome: Returned | None) -> _Output:
        """The output of a call with that of the job that it started, and the last outcome."""
        first = self.outputs.get(place)
        pieces = [first] if first is not None else []
        if first is not None and first.task:
            pieces = [c for c in self.jobs[first.task] if c.ref.message >= first.ref.message]
            last = pieces[-1]
            outcome = self.view.outcomes.get(last.call, outcome)
        found = _Output([], [], outcome=outcome)
        for piece in pieces:
            known = list(found.ends)  # what is read twice is one run's
            found.ends += [p for p in piece.printed if RULES[p.rule].ends and p not in known]
            found.printed += together(piece.printed)
            found.statuses += [p.failed for p in piece.printed if p.rule == STATUS]
            found.failing += [f for f in piece.failing if f not in found.failing]
            found.tail = piece.tail or found.tail
            found.head = found.head or piece.head
            found.ref = piece.ref
            found.running = piece.running or _UNFINISHED.search(piece.tail) is not None
            found.lines += piece.lines
            found.scripts += piece.scripts
            if piece.exit_code is not None:
                found.exit_code = piece.exit_code
            ended = self.view.outcomes.get(piece.call)
            code = ended.exit_code if piece.exit_code is None and ended else piece.exit_code
            if code is not None and piece.job:
                found.codes = tuple(code if c == piece.job else c for c in found.codes)
            found.codes = found.codes or piece.codes
        if len(pieces) > 1 and not found.ends and self.view.calls[place].kind == "script":
            # It waited long, and may have printed what came until its yield time.
            found.running |= not found.codes and not _ENDED.search(found.tail)
        found.silent = bool(pieces) and all(piece.silent for piece in pieces)
        return found

    def _ok(self, ran: Ran, output: _Output) -> bool | None:
        """Whether a command line succeeded, None where the recorder does not say."""
        outcome = output.outcome
        if outcome is None or output.stopped:
            return None
        return _worked(self.view, ran, outcome.status, output.code)

    def _of_line(
        self, ran: Ran, line: Line, output: _Output, ok: bool | None, total: int
    ) -> list[Check]:
        status = implied(line.tree, ok, line) if ok is not None else {}
        status |= _printed_status(line, output.statuses)
        runs_named = [_named(run, output.scripts) for run in line.runs]
        status |= _shown_status(line, runs_named, output)
        groups: dict[tuple[str, str], list[int]] = {}
        for number, run in enumerate(runs_named):
            groups.setdefault((run.tool, run.kind), []).append(number)
        own: dict[int, Printed] = {}
        if total == len(line.runs):
            for numbers in groups.values():
                own |= _one_each(line, runs_named, numbers, output)
        found: list[tuple[int, Check | None]] = []
        failed = {number for number, did in status.items() if not did}
        failed |= {
            number
            for number, run in enumerate(runs_named)
            if status.get(number) is not True
            and any(
                fails(p) and belongs(p, run.tool)
                for p in ([own[number]] if number in own else output.printed)
            )
        }
        last = tuple(part.strip() for part in output.tail.splitlines())
        first = tuple(part.strip() for part in output.head.splitlines()) or last
        silent = {
            number
            for number, run in enumerate(runs_named)
            if run.how.bare
            and (output.silent or printed_nothing(line.tree, number, first, last))
        }
        unreached = never_ran(line.tree, frozenset(failed), line)
        for numbers in groups.values():
            if unreached.issuperset(numbers):
                continue
            runs = [runs_named[number] for number in numbers]
            if not own.keys().isdisjoint(numbers):
                for number in filter(own.get, numbers):
                    run, end = runs_named[number], own[number]
                    tool = run.tool if not run.wrapper else tool_of(end, run.kind)
                    one = Share(tool, run.kind, [end], status.get(number))
                    found.append((number, self._check(ran, [run], one, output)))
                continue
            known = [status.get(number) for number in numbers]
            passed = (
                False if False in known else True if all(k is True for k in known) else None
            )
            alone = len(groups) == 1 and len(numbers) == total
            shares = shares_of(runs[0], output.printed, runs_named, alone)
            for one in shares:
                # Of several tools of a script the status tells nothing of each.
                one.passed = passed if len(shares) == 1 else None
                one.silent = silent.issuperset(numbers)
                if passed:
                    others = {run.tool for run in runs_named} - {one.tool}
                    one.printed = [
                        p
                        for p in one.printed
                        if not fails(p)
                        or total == len(line.runs)
                        and others.isdisjoint(RULES[p.rule].tools)
                    ]
                if not runs[0].wrapper:
                    once = len(numbers) == 1 and numbers[0] in numbers_of(line.tree)
                    one.printed = as_the_last(one.printed, output.ends, one.tool, once)
                found.append((numbers[0], self._check(ran, runs, one, output)))
        found.sort(key=lambda item: item[0])
        return [check for _, check in found if check is not None]

    def _check(
        self, ran: Ran, runs: Sequence[Run], one: Share, output: _Output
    ) -> Check | None:
        run, tool, printed, outcome = runs[0], one.tool, one.printed, output.outcome
        verdict, basis = self._verdict(run, one, output)
        if run.weak and basis != "output":
            return None  # a script by whose name alone nothing can be said
        if basis == "exit_code" and output.code is None:
            basis = "recorder"
        decides = telling(printed, verdict)
        tools = {tool} if tool else {t for p in printed for t in RULES[p.rule].tools}
        failing = [n for rule, n in output.failing if tools.intersection(RULES[rule].tools)]
        if sum(map(fails, output.ends)) > 1 and any(run.scope in n for n in failing):
            failing = [n for n in failing if run.scope in n]
        if decides is not None and None not in (decides.passed, decides.failed):
            printed = [decides]  # the numbers are those of the run that decides
        elif verdict != "unknown":
            # Playwright counts what it skipped in a line of its own.
            printed = [p for p in printed if not is_empty(p) or p.passed is None]
        line = decides.line if decides is not None else ""
        if not line and outcome is not None and verdict == "unknown":
            stopped = run.how.timed and output.code == _TIMED_OUT
            line = _NO_OUTCOME.get("timeout" if stopped else outcome.status, "")
        at, known = ran.ref.message, BY_NAME.get(tool)
        of_code = known is not None and not known.documents
        of_code = of_code and not (run.wrapper and run.kind != "test")
        edited = self.code_edits if of_code else self.edits
        edited = edited[bisect_right(edited, at) :]
        return Check(
            kind=one.kind,
            tool=tool,
            command=ran.command,
            verdict=verdict,
            ref=self.view.ref(ran.ref),
            scope=", ".join(dict.fromkeys(r.scope for r in runs if r.scope)),
            basis=basis,
            passed=count(p.passed for p in printed),
            failed=count(p.failed for p in printed),
            skipped=count(p.skipped for p in printed),
            failing=tuple(failing[:MAX_FAILING]) if verdict == "failed" else (),
            line=line,
            tail=output.tail,
            edited_since=bool(edited),
            edited_elsewhere=bool(edited) and self._are_elsewhere(edited, ran, tool, runs),
            mended=verdict == "failed"
            and any(
                message > at
                and folder == _folder(ran, self.view.state.header.cwd)
                and covers(fix, tool, runs)
                for message, folder, fix in self.mended
            ),
            result=self.view.ref(output.ref) if output.ref is not None else None,
            folder=_folder_outside(ran, run, self.view.state.header.cwd),
        )

    def _are_elsewhere(
        self, edited: Sequence[int], ran: Ran, tool: str, runs: Sequence[Run]
    ) -> bool:
        """Whether all files are known that messages edited, and lie outside of the places that
        runs of a check name."""
        if len(runs) > 1 and len(folders(ran.command)) > 1:
            return False
        folder = _known_folder(ran, runs[0], self.view.state.header.cwd)
        places = [absolute(place, folder) for run in runs for place in places_of(run, tool)]
        apart = runs[0].kind == "test" and any(is_test(f"{place}/") for place in places)
        if not (places and folder) or apart or any(map(_NOT_ROOTED.match, places)):
            return False
        if any(map(_UNKNOWN_PLACE.search, places)):
            return False
        inside = tuple(f"{place}/".lower() for place in places)
        for message in reversed(edited):
            paths = self.view.written.get(message, ())
            # A path that is not known from the root may be any.
            if not paths or any(
                f"{path}/".lower().startswith(inside) or _NOT_ROOTED.match(path)
                for path in paths
            ):
                return False
        return True

    def _verdict(self, run: Run, one: Share, output: _Output) -> tuple[str, str]:
        """The verdict on one run and what it rests on."""
        printed, passed, outcome = one.printed, one.passed, output.outcome
        known = BY_NAME.get(one.tool)
        bad = [p for p in printed if fails(p)]
        good = [p for p in printed if passes(p)]
        nothing = {t for p in printed if is_empty(p) for t in RULES[p.rule].tools}
        # That there are no errors in no files says nothing.
        if nothing and run.kind != "build" and all(says_no_more(p, nothing) for p in printed):
            good = []
        if bad:
            counted = any(p.failed for p in bad)
            if passed and good and not counted and output.code == 0:
                return "passed", "output"  # a test that prints what a failure looks like
            return "failed", "output"
        if output.stopped:
            return "unknown", ""
        if good:
            if passed is False:
                # All tests passed, and the command failed: coverage, or another package.
                return ("unknown", "") if run.kind == "test" else ("failed", "exit_code")
            hides = run.how.shown == "grep" and not run.how.mentions_failure
            hides = hides or (run.how.shown == "head" and output.lines >= run.how.limit)
            hides = hides or (run.how.timed and output.code == _TIMED_OUT)
            if hides and passed is None and (known is None or known.partial):
                return "unknown", ""
            return "passed", "output"
        if nothing:
            missing = [p.line for p in printed if p.rule == "not-run"]
            # What a shell that does not find a program, or a package manager a script, names.
            program = program_of(run.text.partition(" ")[0])
            names = [*filter(None, (program, run.tool, run.script))]
            if any(name in line for line in missing for name in names):
                return "unknown", "not_run"
            failed = passed is False and not missing
            return ("failed", "exit_code") if failed else ("unknown", "")
        if passed is not None:
            return ("passed" if passed else "failed"), "exit_code"
        if known is not None and not run.how.errors_hidden:
            # Clients that say nothing of failures show their messages.
            quiet = known.loud if run.how.shown != "rest" else _drops_no_failure(run, known)
            clean = known.silent and output.silent and run.how.shown == "all"
            ended = outcome is not None and outcome.status in {"ok", "unknown"}
            if (clean or one.silent and quiet) and ended:
                return "passed", "output"
        return "unknown", ""


def _folder(ran: Ran, root: str) -> str:
    """The folder that a command line went to last."""
    return absolute([".", *folders(ran.command)][-1], absolute(ran.cwd, root) or root)


def _known_folder(ran: Ran, run: Run, root: str) -> str:
    """Where a check ran, from the root, "" where its command line does not show it."""
    before = ran.command[: max(0, ran.command.find(run.text))]
    gone = folders(_ENDED_SHELL.sub("", before))
    if _UNKNOWN_PLACE.search("/".join(["", *gone])) or _ELSEWHERE.search(before):
        return ""
    if len(gone) > 1 and _NOT_ROOTED.match(absolute(gone[-1], "")):
        return ""
    folder = absolute([".", *gone][-1], absolute(ran.cwd, root) or root)
    return "" if _NOT_ROOTED.match(folder) else folder


def _folder_outside(ran: Ran, run: Run, root: str) -> str:
    """Where a check ran, if that is known to be neither the session's folder `root` nor one
    below or above it."""
    folder = _known_folder(ran, run, root) if root else ""
    return "" if is_within(folder, root) or is_within(root, folder) else folder


def _one_each(
    line: Line, runs: Sequence[Run], numbers: Sequence[int], output: _Output
) -> dict[int, Printed]:
    """The summary line of each of several runs of one tool, by their numbers, where there are
    as many of them as runs were reached; else {}."""
    run = runs[numbers[0]]
    ends = [p for p in output.ends if tool_of(p, run.kind)]
    if not run.wrapper:
        ends = [p for p in ends if belongs(p, run.tool)]
    rules = {p.rule for p in ends}
    tools = {tool_of(p, run.kind) for p in ends}
    others = [p for p in output.printed if (fails(p) or is_empty(p)) and p.rule not in rules]
    if len(numbers) < 2 or len(tools) > 1 or not 0 < len(ends) <= min(len(numbers), MAX_APART):
        return {}
    if any(tools.intersection(RULES[p.rule].tools) for p in others):
        return {}  # whose line it is, nothing tells
    if len(ends) < len(numbers):
        stopped = frozenset({numbers[len(ends) - 1]})
        unreached = never_ran(line.tree, stopped, line) if fails(ends[-1]) else set()
        if not unreached.issuperset(numbers[len(ends) :]):
            return {}
    return dict(zip(numbers, ends, strict=False))


def _drops_no_failure(run: Run, tool: CheckTool) -> bool:
    """Whether the filters behind a run show the line that every failure of its tool prints."""
    if not tool.failure:
        return False
    options = re2.Options()
    options.log_errors = options.case_sensitive = False
    try:
        return not any(re2.search(p, tool.failure, options=options) for p in run.how.dropped)
    except re2.error:
        return False


def _named(run: Run, scripts: Sequence[tuple[str, str]]) -> Run:
    """A package manager's script as the one tool that it runs, where the output says so."""
    if not run.script or not scripts:
        return run
    commands = [command for name, command in scripts if name in {run.script, ""}]
    inner = [r for command in commands for r in runs_of(command).runs]
    tools = {r.tool for r in inner if r.tool and not r.wrapper}
    if len(tools) != 1:
        return run
    tool = BY_NAME[tools.pop()]
    kind = tool.kind if run.kind == "other" else run.kind
    if kind != tool.kind and tool.kind != "test" and (kind, tool.kind) != _COMPILES:
        return run
    return replace(run, tool=tool.name, kind=kind, wrapper=False)


def _shown_status(line: Line, runs: Sequence[Run], output: _Output) -> dict[int, bool]:
    """What the outputs of later commands of a chain say about earlier ones."""
    tools = [run.tool for run in runs]
    ran = {
        number
        for number, run in enumerate(runs)
        if not run.wrapper
        and tools.count(run.tool) == 1
        and any(belongs(p, run.tool) for p in output.printed)
    }
    if output.scripts:
        started = {name for name, _ in output.scripts}
        ran |= {n for n, run in enumerate(runs) if run.script and run.script in started}
    lines = frozenset(part.strip() for part in output.tail.splitlines())
    return shown_by_later(line.tree, frozenset(ran), lines, line)


def _printed_status(line: Line, statuses: Sequence[int | None]) -> dict[int, bool]:
    """What the statuses that the command line itself printed (`echo $?`) say of its runs."""
    found: dict[int, bool] = {}
    if len(statuses) == len(line.reports):
        for (tree, of_pipe), status in zip(line.reports, statuses, strict=True):
            if status not in _KILLED:
                whole = replace(line, pipefail=True) if of_pipe else line
                found |= implied(tree, status == 0, whole)
    return found
