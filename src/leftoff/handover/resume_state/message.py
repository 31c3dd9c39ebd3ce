"""The resume message for the next agent: the design's layout, within a token budget.

Recorded text stands between two markers as data, each item neutralised and on one line with our
bullet; the instruction stands outside. Items are dropped whole, the least important first, and
counted.
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
from leftoff.formats.vocabulary import READ_ONLY_KINDS, kind_of, text_argument
from leftoff.handover.resume_state.calls import changes_by_patch, commands_of, describe_call
from leftoff.handover.resume_state.document import CompletedTool, ResumeState
from leftoff.handover.resume_state.templates import ADDED_TEXTS, MESSAGE_TEXTS, format_elapsed
from leftoff.handover.wording import brief, inline_code, number
from leftoff.model import ToolCall
from leftoff.redaction.redactor import Redactor
from leftoff.tokens import max_tokens

Strategy: TypeAlias = Literal["continue", "partial_resume", "context_migration", "fresh_start"]

DEFAULT_BUDGET = 4_000
"""Default token budget of a message. Chosen by hand."""

MAX_INSIGHTS = 3
"""Discoveries that are named in one line, the latest; earlier ones have a line each."""

MAX_CALLS, MAX_FAILURES = 20, 5
"""Calls that are named one by one: the latest that did something, and that failed."""

_READ_ONLY_KINDS = READ_ONLY_KINDS | {"plan", "think", "ask", "poll", "finish"}
_READ_ONLY_ACTIVITIES = frozenset(
    {"look", "search", "inspect_change", "wait", "read_pull_request", "fetch"}
)
# A line that says something: words, and no markup or bookkeeping of the recorder's.
_INFORMATIVE_LINE = re.compile(
    r"^(?!\s*(?:</?[a-z_]+>\s*$|Output:\s*$|\(no output\)|Process Group PGID|Exit code: 0"
    r"|\{\"chunk_id\"|Script completed|Wall time \d|Original token count))"
    r".*[^\W\d_]{2}"
)

_LATEST_FIRST = frozenset(
    {"key_decisions", "milestones", "open_errors", "calls_without_result"}
)
_TOOL_OUTPUT_KEYS = frozenset({"open_errors"})
"""Variables that hold tool output."""

MAX_ITEM_LENGTH, MAX_LONG_ITEM_LENGTH = 300, 1_200
"""Code points of an item, and of what the person asked for."""

_LONG_KEYS = frozenset({"main_goal", "latest_request", "open_requests", "last_words"})


class _Item(Struct):
    """A line that may be dropped. `heading`: the line before the first item of a list."""

    section: int
    weight: float
    text: str
    heading: str = ""


def resume_message(
    state: ResumeState,
    *,
    budget: int = DEFAULT_BUDGET,
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
    redacted = ResumeState.from_dict(gate.value(state.to_dict()))
    notes = [brief(note) for note in gate.value(list(changed))]
    after = _instruction(redacted, strategy, notes, [brief(t, 80) for t in missing_tools])
    if strategy == "fresh_start":
        text = f"{MESSAGE_TEXTS['title']}\n\n{after}"
        return _check_budget(text, budget)
    heads = [_summary(redacted), _work(redacted, strategy), MESSAGE_TEXTS["state"].strip()]
    items = [*_work_items(redacted), *_state_items(redacted)]
    if notes:
        heads.append(ADDED_TEXTS["since"])
        items += [_Item(3, n * 0.5, f"• {note}") for n, note in enumerate(notes)]
    included = [*items]
    while True:
        text = _render(heads, included, len(items), after)
        over = max_tokens(text) - budget
        if over <= 0:
            return text
        if not included:
            return _check_budget(text, budget)
        included = _without_least_important(included, over)


def _check_budget(text: str, budget: int) -> str:
    needed = max_tokens(text)
    if needed > budget:
        raise UsageError(
            f"a resume message needs {number(needed)} tokens at least, not {number(budget)}"
        )
    return text


def _without_least_important(items: list[_Item], over: int) -> list[_Item]:
    """The items without the least telling ones, so many as cover what is too much."""
    order = sorted(range(len(items)), key=lambda i: (-items[i].weight, -i))
    dropped: set[int] = set()
    for place in order:
        dropped.add(place)
        over -= max_tokens(items[place].text + "\n")
        if over <= 0:
            break
    return [item for place, item in enumerate(items) if place not in dropped]


def _render(heads: list[str], items: list[_Item], total: int, after: str) -> str:
    lines = [MESSAGE_TEXTS["title"], "", "<leftoff>", ADDED_TEXTS["data"]]
    for section, head in enumerate(heads):
        lines += ["", head]
        current = ""
        for item in items:
            if item.section != section:
                continue
            if item.heading and item.heading != current:
                lines.append(item.heading)
            current = item.heading
            lines.append(item.text)
    if len(items) < total:
        lines += ["", ADDED_TEXTS["left_out"].format(count=number(total - len(items)))]
    return "\n".join([*lines, "</leftoff>", "", after])


# -- the parts -------------------------------------------------------------------------------


def _summary(state: ResumeState) -> str:
    return MESSAGE_TEXTS["summary"].strip().format(
        workflow=brief(state.workflow_id, 200),
        phase=brief(state.current_phase, 80),
        strategy=brief(state.current_strategy) or ADDED_TEXTS["unknown"],
        duration=format_elapsed(state.start_time, state.last_activity),
    )  # fmt: skip


def _work(state: ResumeState, strategy: Strategy) -> str:
    done = Counter(brief(t.function_name, 80) for t in state.completed_tools if t.success)
    tools = ", ".join(name if n == 1 else f"{name} ×{n}" for name, n in done.items())
    lost = state.dropped.get("completed_tools", 0)
    if lost:
        tools += ADDED_TEXTS["earlier_calls"].format(count=number(lost))
    insights = [brief(text) for text in state.context_evolution.key_insights[-MAX_INSIGHTS:]]
    text = MESSAGE_TEXTS["work"].strip().format(
        tools=tools or ADDED_TEXTS["none"],
        insights="; ".join(insights) or ADDED_TEXTS["none"],
        count=len(state.context_evolution.current_context),
    )  # fmt: skip
    if strategy == "context_migration":
        return text.replace(text.partition("\n")[0], ADDED_TEXTS["earlier"], 1)
    return text


def _work_items(state: ResumeState) -> Iterable[_Item]:
    """What was done, call by call, what failed, and what was found out before."""
    done = [t for t in state.completed_tools if t.success and _may_have_effect(t)]
    lines = list(dict.fromkeys(_call_line(t) for t in done))[-MAX_CALLS:]
    for n, line in enumerate(lines):
        yield _Item(1, 3 + len(lines) - n, f"  - {line}", ADDED_TEXTS["done"])
    lost = _failed_calls(state)
    for n, line in enumerate(lost):
        yield _Item(1, 4 + 2 * (len(lost) - n), f"  - {line}", ADDED_TEXTS["failed"])
    earlier = state.context_evolution.key_insights[:-MAX_INSIGHTS]
    for n, insight in enumerate(earlier):
        yield _Item(
            1, 6 + 2 * (len(earlier) - n), f"  - {brief(insight)}", ADDED_TEXTS["insights"]
        )


def _may_have_effect(tool: CompletedTool) -> bool:
    """Whether a call may have done something: looking again repeats no work."""
    name, arguments = tool.function_name, tool.parameters
    kind = kind_of(name)
    if kind not in {"shell", "script"}:
        return kind not in _READ_ONLY_KINDS
    if changes_by_patch(name, arguments):
        return True
    commands = commands_of(name, arguments)
    activities = {activity for command in commands for activity in of_command(command)}
    if kind == "script" and not commands:
        call = ToolCall("", name, kind, arguments)
        activities.update(of_command(text_argument(call, "command"), "javascript"))
    return not activities <= _READ_ONLY_ACTIVITIES


def _call_text(tool: CompletedTool) -> str:
    return brief(describe_call(tool.function_name, tool.parameters), 200)


def _failed_calls(state: ResumeState) -> list[str]:
    """Calls that failed, each once, unless one like it worked later."""
    found: dict[str, CompletedTool] = {}
    for tool in state.completed_tools:
        call_text = _call_text(tool)
        if tool.success:
            found.pop(call_text, None)
        elif _may_have_effect(tool):
            found[call_text] = tool
    return [_call_line(tool) for tool in found.values()][-MAX_FAILURES:]


def _call_line(tool: CompletedTool) -> str:
    """A call on one line, with the last words of a command or of a failure."""
    line = _call_text(tool)
    if tool.success and kind_of(tool.function_name) not in {"shell", "script"}:
        return line
    informative = [
        text for text in (tool.result or "").splitlines() if _INFORMATIVE_LINE.search(text)
    ]
    return f"{line} → {inline_code(informative[-1], 120)}" if informative else line


def _state_items(state: ResumeState) -> Iterable[_Item]:
    """The variables: a line each, a list with a line for each of its items."""
    for rank, (key, value) in enumerate(state.context_evolution.current_context.items()):
        name = brief(key, 80)
        limit = MAX_LONG_ITEM_LENGTH if key in _LONG_KEYS else MAX_ITEM_LENGTH
        if not isinstance(value, list) or len(value) == 1:
            words = _value_text(value[0] if isinstance(value, list) else value)
            shown = (
                inline_code(words, limit) if key in _TOOL_OUTPUT_KEYS else brief(words, limit)
            )
            yield _Item(2, rank, MESSAGE_TEXTS["variable"].format(key=name, value=shown))
            continue
        for n, item in enumerate(value):
            order = len(value) - n if key in _LATEST_FIRST else n
            words = _value_text(item)
            shown = (
                inline_code(words, limit) if key in _TOOL_OUTPUT_KEYS else brief(words, limit)
            )
            line = f"  - {shown}"
            yield _Item(2, rank + 1.5 * order, line, f"• {name}:")


def _value_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return codec.dumps(codec.to_valid_json(value)).decode().strip()


def _instruction(
    state: ResumeState, strategy: Strategy, changed: Sequence[str], missing: Sequence[str]
) -> str:
    """What stands after the data, in our words alone."""
    if strategy == "fresh_start":
        parts = [ADDED_TEXTS["fresh"]]
    elif strategy == "context_migration":
        parts = [ADDED_TEXTS["migrated"]]
    else:
        parts = [MESSAGE_TEXTS["instruction"].strip(), ADDED_TEXTS["look"]]
    if strategy == "partial_resume" and missing:
        parts.append(ADDED_TEXTS["partial"].format(tools=", ".join(missing)))
    if changed and strategy != "fresh_start":
        parts.append(ADDED_TEXTS["adapt"])
    if state.needs_value:
        names = ", ".join(brief(name, 80) for name in state.needs_value)
        parts.append(ADDED_TEXTS["ask"].format(names=names))
    return "\n\n".join(part.strip() for part in parts) + "\n"
