"""What the lines that a check printed say, and whose of several tools they are.

The rules of `extraction/rules/checks*.toml` found the lines; a rule names the tools that print
such a line, "" for any command."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from leftoff.analysis.check_commands import BY_NAME, Run
from leftoff.extraction.checks import summed
from leftoff.extraction.evidence import Printed
from leftoff.extraction.rule_sets import CHECK_RULES
from leftoff.extraction.rules import Rule

RULES: dict[str, Rule] = {rule.id: rule for rule in CHECK_RULES}
# The rule of statuses that a command line itself prints.
STATUS = "exit-status"


class Share(Struct):
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


def together(printed: Iterable[Printed]) -> list[Printed]:
    """The lines that tools printed, with those of one rule as one."""
    found: dict[str, Printed] = {}
    for one in printed:
        if one.rule != STATUS:
            found[one.rule] = summed(found[one.rule], one) if one.rule in found else one
    return list(found.values())


def as_the_last(
    printed: list[Printed], ends: Sequence[Printed], tool: str, once: bool
) -> list[Printed]:
    """The lines of a tool where an earlier one, or one that other programs print, too, says
    that it failed and the last summary line that it passed: of one run (`once`) the last
    counts, of several none."""
    own = [p for p in ends or ([] if once else printed) if belongs(p, tool)]
    earlier = [*own, *(p for p in printed if not once or RULES[p.rule].own)]
    if not own or fails(own[-1]) or not any(map(fails, earlier)):
        return printed
    if not once:
        return [p for p in printed if not belongs(p, tool)]
    rules = {p.rule for p in earlier}
    return [*(p for p in printed if p.rule not in rules), own[-1]]


def shares_of(
    run: Run, printed: Sequence[Printed], runs: Sequence[Run], alone: bool
) -> list[Share]:
    """The lines that a run printed: several shares for a script that runs several tools.
    `alone`: the call runs nothing else."""
    if not run.wrapper:
        own = [p for p in printed if belongs(p, run.tool) or "" in RULES[p.rule].tools]
        own = [p for p in own if not _explained(p, run, printed, runs)]
        return [Share(run.tool, run.kind, own)]
    named = {other.tool for other in runs if not other.wrapper}
    # Some lines ("Found 2 errors.") are those of several tools.
    taken = {p.line for p in printed if named.intersection(RULES[p.rule].tools)}
    by_tool: dict[str, list[Printed]] = {}
    general: list[Printed] = []
    for p in printed:
        rule = RULES[p.rule]
        tools = [t for t in rule.tools if t in BY_NAME]
        if rule.own or p.line in taken or not tools and "" not in rule.tools:
            continue
        if run.tool in rule.tools or "" in rule.tools:
            if alone:
                general.append(p)
            continue
        kinds = [BY_NAME[t].kind for t in tools]
        if run.kind not in kinds and not alone:
            if not (run.kind == "build" and "typecheck" in kinds or run.kind == "other"):
                continue
        by_tool.setdefault(tools[0], []).append(p)
    if run.kind == "other" and len(by_tool) > 1:
        return [Share(tool, BY_NAME[tool].kind, found) for tool, found in by_tool.items()]
    of_kind = [t for t in by_tool if BY_NAME[t].kind == run.kind] or list(by_tool)
    tool = of_kind[-1] if len(set(of_kind)) == 1 else run.tool
    kind = BY_NAME[tool].kind if run.kind == "other" and tool in BY_NAME else run.kind
    if by_tool and tool in by_tool and run.kind in {"test", "lint"}:
        # A build before the tests that succeeded says nothing about the tests.
        rest = [p for t, ps in by_tool.items() if t != tool for p in ps if fails(p)]
        return [Share(tool, kind, [*general, *rest, *by_tool[tool]])]
    everything = [*general, *(p for found in by_tool.values() for p in found)]
    if by_tool and run.kind == "test" and not any(BY_NAME[t].kind == "test" for t in by_tool):
        everything = [p for p in everything if not passes(p)]
        tool = run.tool
    return [Share(tool, kind, everything)]


def _explained(
    printed: Printed, run: Run, lines: Sequence[Printed], runs: Sequence[Run]
) -> bool:
    """Whether a line that several tools print is another run's, which failed by a line of its
    own."""
    tools = RULES[printed.rule].tools
    others = {r.tool for r in runs if r.tool != run.tool and r.tool in tools}
    return any(
        fails(p) and not belongs(p, run.tool) and others.intersection(RULES[p.rule].tools)
        for p in lines
    )


def tool_of(printed: Printed, kind: str) -> str:
    """The tool of a kind that prints a line, "" if none does."""
    tools = [BY_NAME[t] for t in RULES[printed.rule].tools if t in BY_NAME]
    return next((tool.name for tool in tools if tool.kind == kind), "")


def telling(printed: Sequence[Printed], verdict: str) -> Printed | None:
    """The line that tells most: of a failure a line with numbers, else the last."""
    of_verdict = [p for p in printed if (fails if verdict == "failed" else passes)(p)]
    counted = [p for p in of_verdict if p.passed is not None or p.failed is not None]
    return next(reversed(counted or of_verdict or printed), None)


def count(counts: Iterable[int | None]) -> int | None:
    """The last count that is printed; one line may state what passed, another what failed."""
    known = [count for count in counts if count is not None]
    return known[-1] if known else None


def belongs(printed: Printed, tool: str) -> bool:
    """Whether a tool prints such a line."""
    return tool in RULES[printed.rule].tools


def fails(printed: Printed) -> bool:
    """Whether a line says that something failed."""
    topic = RULES[printed.rule].topic
    return topic == "failed" or topic == "counts" and bool(printed.failed)


def passes(printed: Printed) -> bool:
    """Whether a line says that something was checked and all of it passed."""
    topic = RULES[printed.rule].topic
    if topic == "counts" and not printed.failed:
        unsaid = printed.passed is None and printed.failed == 0
        return bool(printed.passed) or unsaid or not _of_tests(printed)
    return topic == "passed"


def is_empty(printed: Printed) -> bool:
    """Whether a line says that nothing was checked."""
    topic = RULES[printed.rule].topic
    if topic == "counts" and _of_tests(printed):
        return not printed.failed and not printed.passed and not passes(printed)
    return topic == "nothing"


def says_no_more(printed: Printed, nothing: set[str]) -> bool:
    """Whether a line that tells of no failure is no sign that anything was checked, where these
    tools say that a run checked nothing."""
    rule = RULES[printed.rule]
    if is_empty(printed):
        return True
    last = (rule.topic == "counts" or rule.ends) and not nothing.isdisjoint(rule.tools)
    return rule.own or not printed.passed and last


def _of_tests(printed: Printed) -> bool:
    return any(BY_NAME[t].kind == "test" for t in RULES[printed.rule].tools if t)
