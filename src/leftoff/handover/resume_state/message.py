"""What the next agent is told: the design's layout, within a budget of tokens.

Recorded words stand between two marks as data, each item on one line that begins with a bullet
of ours, made inert; the instruction stands outside. Items are dropped whole, the least telling
first, and what is missing is counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from leftoff import codec
from leftoff.analysis.activities import of_command
from leftoff.errors import UsageError
from leftoff.formats.vocabulary import LOOKS, kind_of, text_argument
from leftoff.handover.resume_state.calls import commands_of, described, patches_of
from leftoff.handover.resume_state.document import CompletedTool, ResumeState
from leftoff.handover.resume_state.templates import MESSAGE, OURS, clock
from leftoff.handover.wording import brief, number, printed
from leftoff.model import ToolCall
from leftoff.redaction.redactor import Redactor
from leftoff.tokens import max_tokens

Strategy: TypeAlias = Literal["continue", "partial_resume", "context_migration", "fresh_start"]

BUDGET = 4_000
"""Tokens of a message unless more or less is wished."""

INSIGHTS = 3
"""Discoveries that are named in one line, the latest; earlier ones have a line each."""

CALLS, FAILURES = 20, 5
"""Calls that are named one by one: the latest that did something, and that failed."""

_LOOKING = LOOKS | {"plan", "think", "ask", "poll", "finish"}
_LOOKING_COMMANDS = frozenset(
    {"look", "search", "inspect_change", "wait", "read_pull_request", "fetch"}
)
# A line that says something: words, and no markup or bookkeeping of the recorder's.
_SAYS = re.compile(
    r"^(?!\s*(?:</?[a-z_]+>\s*$|Output:\s*$|\(no output\)|Process Group PGID|Exit code: 0"
    r"|\{\"chunk_id\"|Script completed|Wall time \d|Original token count))"
    r".*[^\W\d_]{2}"
)

_LATEST_FIRST = frozenset(
    {"key_decisions", "milestones", "open_errors", "calls_without_result"}
)
_OF_TOOLS = frozenset({"open_errors"})
"""What tools said."""

ITEM, LONG_ITEM = 300, 1_200
"""Code points of an item, and of what the person asked for."""

_LONG = frozenset({"main_goal", "latest_request", "open_requests", "last_words"})


class _Item(Struct):
    """A line that may be dropped. `under`: the line that stands before the first of a list."""

    section: int
    weight: float
    text: str
    under: str = ""


def resume_message(
    state: ResumeState,
    *,
    budget: int = BUDGET,
    strategy: Strategy = "continue",
    changed: Sequence[str] = (),
    missing_tools: Sequence[str] = (),
    gate: Redactor | None = None,
) -> str:
    """The message that a workflow is taken up with, redacted, of at most `budget` tokens.

    Args:
        budget: tokens, counted by the upper bound.
        strategy: `continue` goes on; `partial_resume` goes on without the missing tools;
            `context_migration` begins again with what was found out; `fresh_start` begins again
            with nothing.
        changed: how the world differs from when the state was saved, in words.
        missing_tools: tools that were used and are not available now.
        gate: the redactor of the document, where it is part of a larger one.

    Raises:
        UsageError: not even the frame fits the budget.
    """
    gate = gate or Redactor()
    # Redacted before anything is cut, since half a secret is not known for one.
    safe = ResumeState.from_dict(gate.value(state.to_dict()))
    notes = [brief(note) for note in gate.value(list(changed))]
    after = _instruction(safe, strategy, notes, [brief(t, 80) for t in missing_tools])
    if strategy == "fresh_start":
        text = f"{MESSAGE['title']}\n\n{after}"
        return _fitting(text, budget)
    heads = [_summary(safe), _work(safe, strategy), MESSAGE["state"].strip()]
    items = [*_work_items(safe), *_state_items(safe)]
    if notes:
        heads.append(OURS["since"])
        items += [_Item(3, n * 0.5, f"• {note}") for n, note in enumerate(notes)]
    kept = [*items]
    while True:
        text = _assembled(heads, kept, len(items), after)
        over = max_tokens(text) - budget
        if over <= 0:
            return text
        if not kept:
            return _fitting(text, budget)
        kept = _fewer(kept, over)


def _fitting(text: str, budget: int) -> str:
    needed = max_tokens(text)
    if needed > budget:
        raise UsageError(
            f"a resume message needs {number(needed)} tokens at least, not {number(budget)}"
        )
    return text


def _fewer(items: list[_Item], over: int) -> list[_Item]:
    """The items without the least telling ones, so many as cover what is too much."""
    order = sorted(range(len(items)), key=lambda i: (-items[i].weight, -i))
    gone: set[int] = set()
    for place in order:
        gone.add(place)
        over -= max_tokens(items[place].text + "\n")
        if over <= 0:
            break
    return [item for place, item in enumerate(items) if place not in gone]


def _assembled(heads: list[str], items: list[_Item], total: int, after: str) -> str:
    lines = [MESSAGE["title"], "", "<leftoff>", OURS["data"]]
    for section, head in enumerate(heads):
        lines += ["", head]
        under = ""
        for item in items:
            if item.section != section:
                continue
            if item.under and item.under != under:
                lines.append(item.under)
            under = item.under
            lines.append(item.text)
    if len(items) < total:
        lines += ["", OURS["left_out"].format(count=number(total - len(items)))]
    return "\n".join([*lines, "</leftoff>", "", after])


# -- the parts -------------------------------------------------------------------------------


def _summary(state: ResumeState) -> str:
    return MESSAGE["summary"].strip().format(
        workflow=brief(state.workflow_id, 200),
        phase=brief(state.current_phase, 80),
        strategy=brief(state.current_strategy) or OURS["unknown"],
        duration=clock(state.start_time, state.last_activity),
    )  # fmt: skip


def _work(state: ResumeState, strategy: Strategy) -> str:
    done = Counter(brief(t.function_name, 80) for t in state.completed_tools if t.success)
    tools = ", ".join(name if n == 1 else f"{name} ×{n}" for name, n in done.items())
    lost = state.dropped.get("completed_tools", 0)
    if lost:
        tools += OURS["earlier_calls"].format(count=number(lost))
    insights = [brief(text) for text in state.context_evolution.key_insights[-INSIGHTS:]]
    text = MESSAGE["work"].strip().format(
        tools=tools or OURS["none"],
        insights="; ".join(insights) or OURS["none"],
        count=len(state.context_evolution.current_context),
    )  # fmt: skip
    if strategy == "context_migration":
        return text.replace(text.partition("\n")[0], OURS["earlier"], 1)
    return text


def _work_items(state: ResumeState) -> Iterable[_Item]:
    """What was done, call by call, what failed, and what was found out before."""
    done = [t for t in state.completed_tools if t.success and _does(t)]
    lines = list(dict.fromkeys(_told(t) for t in done))[-CALLS:]
    for n, line in enumerate(lines):
        yield _Item(1, 3 + len(lines) - n, f"  - {line}", OURS["done"])
    lost = _failed(state)
    for n, line in enumerate(lost):
        yield _Item(1, 4 + 2 * (len(lost) - n), f"  - {line}", OURS["failed"])
    earlier = state.context_evolution.key_insights[:-INSIGHTS]
    for n, insight in enumerate(earlier):
        yield _Item(1, 6 + 2 * (len(earlier) - n), f"  - {brief(insight)}", OURS["insights"])


def _does(tool: CompletedTool) -> bool:
    """Whether a call may have done something: looking again repeats no work."""
    name, given = tool.function_name, tool.parameters
    kind = kind_of(name)
    if kind not in {"shell", "script"}:
        return kind not in _LOOKING
    if patches_of(name, given):
        return True
    commands = commands_of(name, given)
    did = {activity for command in commands for activity in of_command(command)}
    if kind == "script" and not commands:
        call = ToolCall("", name, kind, given)
        did.update(of_command(text_argument(call, "command"), "javascript"))
    return not did <= _LOOKING_COMMANDS


def _about(tool: CompletedTool) -> str:
    return brief(described(tool.function_name, tool.parameters), 200)


def _failed(state: ResumeState) -> list[str]:
    """Calls that failed, each once, unless one like it worked later."""
    found: dict[str, CompletedTool] = {}
    for tool in state.completed_tools:
        about = _about(tool)
        if tool.success:
            found.pop(about, None)
        elif _does(tool):
            found[about] = tool
    return [_told(tool) for tool in found.values()][-FAILURES:]


def _told(tool: CompletedTool) -> str:
    """A call on one line, with the last words of a command or of a failure."""
    line = _about(tool)
    if tool.success and kind_of(tool.function_name) not in {"shell", "script"}:
        return line
    said = [text for text in (tool.result or "").splitlines() if _SAYS.search(text)]
    return f"{line} → {printed(said[-1], 120)}" if said else line


def _state_items(state: ResumeState) -> Iterable[_Item]:
    """The variables: a line each, a list with a line for each of its items."""
    for rank, (key, value) in enumerate(state.context_evolution.current_context.items()):
        name = brief(key, 80)
        limit = LONG_ITEM if key in _LONG else ITEM
        if not isinstance(value, list) or len(value) == 1:
            words = _words(value[0] if isinstance(value, list) else value)
            shown = printed(words, limit) if key in _OF_TOOLS else brief(words, limit)
            yield _Item(2, rank, MESSAGE["variable"].format(key=name, value=shown))
            continue
        for n, item in enumerate(value):
            order = len(value) - n if key in _LATEST_FIRST else n
            words = _words(item)
            shown = printed(words, limit) if key in _OF_TOOLS else brief(words, limit)
            line = f"  - {shown}"
            yield _Item(2, rank + 1.5 * order, line, f"• {name}:")


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    return codec.dumps(codec.mended(value)).decode().strip()


def _instruction(
    state: ResumeState, strategy: Strategy, changed: Sequence[str], missing: Sequence[str]
) -> str:
    """What stands after the data, in our words alone."""
    if strategy == "fresh_start":
        parts = [OURS["fresh"]]
    elif strategy == "context_migration":
        parts = [OURS["migrated"]]
    else:
        parts = [MESSAGE["instruction"].strip(), OURS["look"]]
    if strategy == "partial_resume" and missing:
        parts.append(OURS["partial"].format(tools=", ".join(missing)))
    if changed and strategy != "fresh_start":
        parts.append(OURS["adapt"])
    if state.needs_value:
        names = ", ".join(brief(name, 80) for name in state.needs_value)
        parts.append(OURS["ask"].format(names=names))
    return "\n\n".join(part.strip() for part in parts) + "\n"
