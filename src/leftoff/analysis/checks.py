"""Runs of tests, builds, linters and type checkers, and how each of them ended.

The one judge: whatever says that a check passed or failed asks here. `check_runs` says which
checks a command line runs; the extractor `checks` recorded what was printed. A verdict rests on
the output (summary lines and counts), then on the exit status where nothing in the command line
masks it, and is unknown otherwise. A job in the background is judged by what was printed later.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, groupby

from msgspec import Struct
from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff.analysis.activities import edits
from leftoff.analysis.check_commands import BY_NAME, Run
from leftoff.analysis.check_runs import (
    Line,
    implied,
    never_ran,
    printed_nothing,
    runs_of,
    shown_by_later,
)
from leftoff.extraction.checks import summed
from leftoff.extraction.evidence import Checked, Printed, Ran, Returned
from leftoff.extraction.rule_sets import CHECK_RULES
from leftoff.extraction.rules import Rule
from leftoff.model import Ref
from leftoff.session_view import SessionView, once
from leftoff.shell import analyze
from leftoff.shell.commands import may_mend, mending
from leftoff.summary import Check

# Names of failing tests: more than a screen shows, and a run of thousands fails for one reason.
MAX_FAILING = 20
_RULES: dict[str, Rule] = {rule.id: rule for rule in CHECK_RULES}
# Exit codes of a program that was stopped, or never ran: they say nothing about the check.
_KILLED = frozenset({124, 126, 127, 130, 137, 143})

# What a script of Codex prints of a command that still runs where it prints its exit code, and
# of one that ended.
_UNFINISHED = re.compile(r"\bexit\w*\W{1,3}(?:undefined|null)\b", re.IGNORECASE)
_ENDED = re.compile(r"\b(?:exit\w*|code)\W{1,3}\d", re.IGNORECASE)

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


class _Output(Struct):
    """What is recorded of the output of a call, or of a job in the background."""

    printed: list[Printed]
    failing: list[tuple[str, str]]
    ends: list[Printed] = []
    tail: str = ""
    silent: bool = False
    ref: Ref | None = None
    running: bool = False
    lines: int = 0
    scripts: tuple[tuple[str, str], ...] = ()
    exit_code: int | None = None
    head: str = ""
    outcome: Returned | None = None

    @property
    def stopped(self) -> bool:
        """Whether the end of the call is not known."""
        return self.outcome is None or self.outcome.status in _NO_OUTCOME or self.running


class _Share(Struct):
    """What a call shows of one tool that it ran.

    Attributes:
        printed: the lines of its output that are the tool's.
        passed: whether it succeeded, as far as exit codes say so.
        silent: it printed nothing, and its errors would have been seen."""

    tool: str
    kind: str
    printed: list[Printed]
    passed: bool | None = None
    silent: bool = False


class _Judge:
    def __init__(self, view: SessionView) -> None:
        self.view = view
        # Programs that rewrite files to mend what a check finds.
        formatted = {
            ran.ref.message
            for ran in view.each(Ran)
            if may_mend(ran.command) and view.succeeded(ran.call)
            if mending(analyze(ran.command).body)
        }
        self.edits = sorted({message for message, _ in edits(view)} | formatted)
        self.outputs = view.by_call(Checked)
        self.jobs: dict[str, list[Checked]] = {}
        for checked in view.each(Checked):
            if checked.task:
                self.jobs.setdefault(checked.task, []).append(checked)
        self.reported = any(
            r.status == "error" and r.exit_code is not None
            for r in view.each(Returned, rewound=True)
        )

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
            each = [{(run.tool, run.kind) for run in line.runs} for _, line in lines]
            counts = Counter(chain.from_iterable(each))
            for (ran, line), ran_here in zip(lines, each, strict=True):
                own, ok = output, None
                if len(several) == 1:
                    ok = self._ok(ran, output)
                elif any(counts[one] > 1 for one in ran_here):
                    # Whose the lines are of two commands of a script, nothing tells.
                    own = replace(output, running=True, printed=[], ends=[], failing=[])
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
            found.ends += [p for p in piece.printed if _RULES[p.rule].ends]
            found.printed += _together(piece.printed)
            found.failing += [f for f in piece.failing if f not in found.failing]
            found.tail = piece.tail or found.tail
            found.head = found.head or piece.head
            found.ref = piece.ref
            found.running = piece.running or _UNFINISHED.search(piece.tail) is not None
            found.lines += piece.lines
            found.scripts += piece.scripts
            if piece.exit_code is not None:
                found.exit_code = piece.exit_code
        if len(pieces) > 1 and not found.ends and self.view.calls[place].kind == "script":
            # It waited long, and may have printed what came until its yield time.
            found.running |= found.exit_code is None and not _ENDED.search(found.tail)
        found.silent = bool(pieces) and all(piece.silent for piece in pieces)
        return found

    def _ok(self, ran: Ran, output: _Output) -> bool | None:
        """Whether a command line succeeded, None where the recorder does not say."""
        outcome = output.outcome
        if outcome is None or output.stopped:
            return None
        code = outcome.exit_code if output.exit_code is None else output.exit_code
        if code is not None:
            return None if code in _KILLED else code == 0
        # Claude Code marks a failed command and says nothing of one that worked; other clients
        # say "ok" of any command that they could start.
        trusted = ran.tool == "Bash" or (ran.tool == "bash" and self.reported)
        started = outcome.status == "ok" and not ran.background
        return True if started and trusted else None

    def _of_line(
        self, ran: Ran, line: Line, output: _Output, ok: bool | None, total: int
    ) -> list[Check]:
        status = implied(line.tree, ok) if ok is not None else {}
        runs_named = [_named(run, output.scripts) for run in line.runs]
        status |= _shown_status(line, runs_named, output)
        groups: dict[tuple[str, str], list[int]] = {}
        for number, run in enumerate(runs_named):
            groups.setdefault((run.tool, run.kind), []).append(number)
        found: list[Check | None] = []
        failed = {number for number, did in status.items() if not did}
        failed |= {
            number
            for number, run in enumerate(runs_named)
            if status.get(number) is not True
            and any(_fails(p) and _belongs(p, run.tool) for p in output.printed)
        }
        last = tuple(part.strip() for part in output.tail.splitlines())
        first = tuple(part.strip() for part in output.head.splitlines()) or last
        silent = {
            number
            for number, run in enumerate(runs_named)
            if run.bare and (output.silent or printed_nothing(line.tree, number, first, last))
        }
        unreached = never_ran(line.tree, frozenset(failed))
        for numbers in groups.values():
            if unreached.issuperset(numbers):
                continue
            runs = [runs_named[number] for number in numbers]
            known = {status.get(number) for number in numbers}
            passed = False if False in known else None if None in known else True
            alone = len(groups) == 1 and len(numbers) == total
            one = _share(runs[0], output.printed, runs_named, alone)
            one.passed, one.silent = passed, silent.issuperset(numbers)
            if passed:
                others = {run.tool for run in runs_named} - {one.tool}
                one.printed = [
                    p
                    for p in one.printed
                    if not _fails(p)
                    or total == len(line.runs)
                    and others.isdisjoint(_RULES[p.rule].tools)
                ]
            found.append(self._check(ran, runs, one, output))
        return [check for check in found if check is not None]

    def _check(
        self, ran: Ran, runs: Sequence[Run], one: _Share, output: _Output
    ) -> Check | None:
        run, tool, printed, outcome = runs[0], one.tool, one.printed, output.outcome
        verdict, basis = self._verdict(run, one, output)
        if run.weak and basis != "output":
            return None  # a script by whose name alone nothing can be said
        if basis == "exit_code" and (outcome is None or outcome.exit_code is None):
            basis = "recorder"
        telling = _telling(printed, verdict)
        shown = {t for p in printed for t in _RULES[p.rule].tools}
        tools = shown if run.wrapper or not tool else {tool}
        failing = [n for rule, n in output.failing if tools.intersection(_RULES[rule].tools)]
        line = telling.line if telling is not None else ""
        if not line and outcome is not None:
            line = _NO_OUTCOME.get(outcome.status, "")
        place = bisect_right(self.edits, ran.ref.message)
        return Check(
            kind=one.kind,
            tool=tool,
            command=ran.command,
            verdict=verdict,
            ref=self.view.ref(ran.ref),
            scope=", ".join(dict.fromkeys(r.scope for r in runs if r.scope)),
            basis=basis,
            passed=_count(p.passed for p in printed),
            failed=_count(p.failed for p in printed),
            skipped=_count(p.skipped for p in printed),
            failing=tuple(failing[:MAX_FAILING]) if verdict == "failed" else (),
            line=line,
            tail=output.tail,
            edited_since=place < len(self.edits),
            result=self.view.ref(output.ref) if output.ref is not None else None,
        )

    def _verdict(self, run: Run, one: _Share, output: _Output) -> tuple[str, str]:
        """The verdict on one run and what it rests on."""
        printed, passed, outcome = one.printed, one.passed, output.outcome
        known = BY_NAME.get(one.tool)
        bad = [p for p in printed if _fails(p)]
        good = [p for p in printed if _passes(p)]
        nothing = any(_is_empty(p) for p in printed)
        # That there are no errors in no files says nothing.
        if nothing and all(
            _RULES[p.rule].own or _RULES[p.rule].topic == "counts" and not p.passed
            for p in good
        ):
            good = []
        if bad:
            # Where the last summary passed, an earlier run of several may have failed, or a
            # test printed what a failure looks like.
            last = [p for p in output.ends if _belongs(p, run.tool)][-1:]
            mixed = last and not run.wrapper and not _fails(last[0])
            return ("unknown", "") if mixed else ("failed", "output")
        if output.stopped:
            return "unknown", ""
        if good:
            if passed is False:
                # All tests passed, and the command failed: coverage, or another package.
                return ("unknown", "") if run.kind == "test" else ("failed", "exit_code")
            hides = run.shown == "grep" and not run.mentions_failure
            hides = hides or (run.shown == "head" and output.lines >= run.limit)
            if hides and passed is None and (known is None or known.partial):
                return "unknown", ""
            return "passed", "output"
        if nothing:
            missing = [p.line for p in printed if p.rule == "not-run"]
            # What a shell that does not find a program, or a package manager a script, names.
            program = run.text.partition(" ")[0].rpartition("/")[2]
            names = [*filter(None, (program, run.tool, run.script))]
            if any(name in line for line in missing for name in names):
                return "unknown", "not_run"
            failed = passed is False and not missing
            return ("failed", "exit_code") if failed else ("unknown", "")
        if passed is not None:
            return ("passed" if passed else "failed"), "exit_code"
        if known is not None and not run.errors_hidden:
            # Clients that say nothing of failures show their messages.
            whole = known.silent and output.silent and run.shown == "all"
            if one.silent and known.loud or whole:
                if outcome is not None and outcome.status in {"ok", "unknown"}:
                    return "passed", "output"
        return "unknown", ""


def _together(printed: Iterable[Printed]) -> list[Printed]:
    """The lines of an output with those of one rule as one."""
    found: dict[str, Printed] = {}
    for one in printed:
        found[one.rule] = summed(found[one.rule], one) if one.rule in found else one
    return list(found.values())


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


def _share(run: Run, printed: Iterable[Printed], runs: Sequence[Run], alone: bool) -> _Share:
    """The lines that a run printed. `alone`: the call runs nothing else."""
    lines = list(printed)
    if not run.wrapper:
        own = [p for p in lines if _belongs(p, run.tool) or "" in _RULES[p.rule].tools]
        own = [p for p in own if not _explained(p, run, lines, runs)]
        return _Share(run.tool, run.kind, own)
    named = {other.tool for other in runs if not other.wrapper}
    # Some lines ("Found 2 errors.") are those of several tools.
    taken = {p.line for p in lines if named.intersection(_RULES[p.rule].tools)}
    by_tool: dict[str, list[Printed]] = {}
    found: list[Printed] = []
    for p in lines:
        rule = _RULES[p.rule]
        tools = [t for t in rule.tools if t in BY_NAME]
        if rule.own or p.line in taken or not tools and "" not in rule.tools:
            continue
        if run.tool in rule.tools or "" in rule.tools:
            if alone:
                found.append(p)
            continue
        kinds = [BY_NAME[t].kind for t in tools]
        if run.kind not in kinds and not alone:
            if not (run.kind == "build" and "typecheck" in kinds or run.kind == "other"):
                continue
        by_tool.setdefault(tools[0], []).append(p)
    of_kind = [t for t in by_tool if BY_NAME[t].kind == run.kind]
    tools = of_kind or list(by_tool)
    tool = tools[0] if len(tools) == 1 else run.tool
    for name, own in by_tool.items():
        # A build before the tests that succeeded says nothing about the tests.
        every = run.kind not in {"test", "lint"} or name in of_kind
        found += [p for p in own if every or _fails(p)]
    kind = BY_NAME[tool].kind if run.kind == "other" and tool in BY_NAME else run.kind
    return _Share(tool, kind, found)


def _explained(
    printed: Printed, run: Run, lines: Sequence[Printed], runs: Sequence[Run]
) -> bool:
    """Whether a line that several tools print is another run's, which failed by a line of its
    own."""
    tools = _RULES[printed.rule].tools
    others = {r.tool for r in runs if r.tool != run.tool and r.tool in tools}
    return any(
        _fails(p) and not _belongs(p, run.tool) and others.intersection(_RULES[p.rule].tools)
        for p in lines
    )


def _count(counts: Iterable[int | None]) -> int | None:
    """The last count that is printed; one line may state what passed, another what failed."""
    known = [count for count in counts if count is not None]
    return known[-1] if known else None


def _belongs(printed: Printed, tool: str) -> bool:
    return tool in _RULES[printed.rule].tools


def _fails(printed: Printed) -> bool:
    topic = _RULES[printed.rule].topic
    return topic == "failed" or topic == "counts" and bool(printed.failed)


def _passes(printed: Printed) -> bool:
    topic = _RULES[printed.rule].topic
    if topic == "counts" and not printed.failed:
        unsaid = printed.passed is None and printed.failed == 0
        return bool(printed.passed) or unsaid or not _of_tests(printed)
    return topic == "passed"


def _is_empty(printed: Printed) -> bool:
    """Whether a line says that nothing was checked."""
    topic = _RULES[printed.rule].topic
    if topic == "counts" and _of_tests(printed):
        return not printed.failed and not printed.passed and not _passes(printed)
    return topic == "nothing"


def _of_tests(printed: Printed) -> bool:
    return any(BY_NAME[t].kind == "test" for t in _RULES[printed.rule].tools if t)


def _telling(printed: Sequence[Printed], verdict: str) -> Printed | None:
    """The line that tells most: of a failure a line with numbers, else the last."""
    of_verdict = [p for p in printed if (_fails if verdict == "failed" else _passes)(p)]
    counted = [p for p in of_verdict if p.passed is not None or p.failed is not None]
    chosen = counted or of_verdict or list(printed)
    return chosen[-1] if chosen else None


def _shown_status(line: Line, runs: Sequence[Run], output: _Output) -> dict[int, bool]:
    """What the outputs of later commands of a chain say about earlier ones."""
    tools = [run.tool for run in runs]
    ran = {
        number
        for number, run in enumerate(runs)
        if not run.wrapper
        and tools.count(run.tool) == 1
        and any(_belongs(p, run.tool) for p in output.printed)
    }
    if output.scripts:
        started = {name for name, _ in output.scripts}
        ran |= {n for n, run in enumerate(runs) if run.script and run.script in started}
    lines = frozenset(part.strip() for part in output.tail.splitlines())
    return shown_by_later(line.tree, frozenset(ran), lines)
