"""The resume message for the next agent: the design's layout, within a token budget.

Recorded text stands between two markers as data, each item neutralised and on one line with our
bullet; the instruction stands outside. Items are dropped whole, the least important first, and
counted."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal, TypeAlias

from leftoff import codec
from leftoff import lazy_re as re
from leftoff.analysis.activities import of_command
from leftoff.formats.vocabulary import READ_ONLY_KINDS, kind_of, subject_of, text_argument
from leftoff.handover.lines import stored_part
from leftoff.handover.packing import Chosen, Line, Part, pack
from leftoff.handover.resume_state.document import CompletedTool, ResumeState
from leftoff.handover.resume_state.from_summary import KEYS
from leftoff.handover.resume_state.templates import ADDED_TEXTS, MESSAGE_TEXTS, format_elapsed
from leftoff.handover.wording import brief, inline_code, number
from leftoff.model import ToolCall
from leftoff.redaction.redactor import Redactor
from leftoff.text.truncation import short

Strategy: TypeAlias = Literal["continue", "partial_resume", "context_migration", "fresh_start"]
# Default token budget of a message. Chosen by hand.
DEFAULT_BUDGET = 4_000
# Discoveries that are named in one line, the latest; earlier ones have a line each.
MAX_INSIGHTS = 3
# Calls that are named one by one: the latest that did something, and that failed.
MAX_CALLS, MAX_FAILURES = 20, 5
# Code points of a call on one line. Chosen by hand.
MAX_CALL_LENGTH = 160

_READ_ONLY_KINDS = READ_ONLY_KINDS | {"plan", "think", "ask", "poll", "finish"}
_READ_ONLY_ACTIVITIES = frozenset(
    {"look", "search", "inspect_change", "wait", "read_pull_request", "fetch"}
)
# A line of a tool's output that says something.
_WORDS = re.compile(r"^(?!\(no output\)|\s*Output:\s*$).*[^\W\d_]{2}")
# A variable of a recording is packed as the part that it was made of.
_TITLES = {key: title for title, key in KEYS.items()}


def resume_message(
    state: ResumeState,
    *,
    budget: int = DEFAULT_BUDGET,
    strategy: Strategy = "continue",
    changed: Sequence[str] = (),
    missing_tools: Sequence[str] = (),
) -> str:
    """The message that a workflow is taken up with, redacted, of at most `budget` tokens.

    Args:
        budget: tokens, counted by the upper bound.
        strategy: `continue` goes on; `partial_resume` goes on without the missing tools;
            `context_migration` begins again with what was found out; `fresh_start` begins again
            with nothing.
        changed: how the world differs from when the state was saved, in words.
        missing_tools: tools that were used and are not available now.

    Raises:
        BudgetTooSmall: not even the frame fits the budget."""
    gate = Redactor()
    # Redacted before anything is cut, since half a secret is not known for one.
    redacted = ResumeState.from_dict(gate.value(state.to_dict()))
    notes = [brief(note) for note in gate.value(list(changed))]
    after = _instruction(redacted, strategy, notes, [brief(t, 80) for t in missing_tools])
    sections = [
        (_summary(redacted), []),
        (_work(redacted, strategy), [*_work_items(redacted)]),
        (MESSAGE_TEXTS["state"], [*_variables(redacted)]),
    ]
    if notes:
        since = tuple(Line((f"• {note}",), -place) for place, note in enumerate(notes))
        sections.append((ADDED_TEXTS["since"], [Part("", since, 0.1, 0.3, -1)]))
    if strategy == "fresh_start":
        sections = []

    def render(chosen: Sequence[Chosen]) -> str:
        if not sections:
            return f"{MESSAGE_TEXTS['title']}\n\n{after}"
        lines = [MESSAGE_TEXTS["title"], "", "<leftoff>", ADDED_TEXTS["data"]]
        rest = iter(chosen)
        for head, own in sections:
            lines += ["", head]
            for part in islice(rest, len(own)):
                lines += [part.title] if part.title and part.lines else []
                lines += [text for text, _ in part.lines]
        left_out = sum(part.left_out for part in chosen)
        if left_out:
            lines += ["", ADDED_TEXTS["left_out"].format(count=number(left_out))]
        return "\n".join([*lines, "</leftoff>", "", after])

    parts = [part for _, own in sections for part in own]
    return pack(parts, budget, render=render, what="a resume message")


# -- the parts -------------------------------------------------------------------------------


def _summary(state: ResumeState) -> str:
    return MESSAGE_TEXTS["summary"].format(
        workflow=brief(state.workflow_id, 200),
        phase=brief(state.current_phase, 80),
        strategy=brief(state.current_strategy) or ADDED_TEXTS["unknown"],
        duration=format_elapsed(state.start_time, state.last_activity),
    )


def _work(state: ResumeState, strategy: Strategy) -> str:
    done = Counter(brief(t.function_name, 80) for t in state.completed_tools if t.success)
    tools = ", ".join(name if n == 1 else f"{name} ×{n}" for name, n in done.items())
    lost = state.dropped.get("completed_tools", 0)
    if lost:
        tools += ADDED_TEXTS["earlier_calls"].format(count=number(lost))
    insights = [brief(text) for text in state.context_evolution.key_insights[-MAX_INSIGHTS:]]
    text = MESSAGE_TEXTS["work"].format(
        tools=tools or ADDED_TEXTS["none"],
        insights="; ".join(insights) or ADDED_TEXTS["none"],
        count=len(state.context_evolution.current_context),
    )
    if strategy == "context_migration":
        return text.replace(text.partition("\n")[0], ADDED_TEXTS["earlier"], 1)
    return text


def _work_items(state: ResumeState) -> Iterator[Part]:
    """What was found out before, and, unless the last calls of a recording are known, what was
    done, call by call, and what failed; the latest come first where there is little room."""
    found: list[tuple[str, list[str]]] = []
    if not {"last_steps", "last_calls"} & state.context_evolution.current_context.keys():
        done = [t for t in state.completed_tools if t.success and _may_have_effect(t)]
        lines = list(dict.fromkeys(_call_line(t) for t in done))[-MAX_CALLS:]
        found = [(ADDED_TEXTS["done"], lines), (ADDED_TEXTS["failed"], _failed_calls(state))]
    insights = state.context_evolution.key_insights[:-MAX_INSIGHTS]
    found.append((ADDED_TEXTS["insights"], [brief(text) for text in insights]))
    for title, items in found:
        packed = tuple(Line((f"  - {item}",), place) for place, item in enumerate(items))
        yield Part(title, packed, 0.03, 0.15, 3)


def _may_have_effect(tool: CompletedTool) -> bool:
    """Whether a call may have done something: looking again repeats no work."""
    kind = kind_of(tool.function_name)
    if kind != "shell":
        return kind not in _READ_ONLY_KINDS
    call = ToolCall("", tool.function_name, kind, tool.parameters)
    return not _READ_ONLY_ACTIVITIES.issuperset(of_command(text_argument(call, "command")))


def _failed_calls(state: ResumeState) -> list[str]:
    """Calls that failed, each once, unless one like it worked later."""
    found: dict[str, CompletedTool] = {}
    for tool in state.completed_tools:
        call_text = _described(tool)
        if tool.success:
            found.pop(call_text, None)
        elif _may_have_effect(tool):
            found[call_text] = tool
    return [_call_line(tool) for tool in found.values()][-MAX_FAILURES:]


def _call_line(tool: CompletedTool) -> str:
    """A call on one line, with the last words of a command or of a failure."""
    line = brief(_described(tool))
    if tool.success and kind_of(tool.function_name) not in {"shell", "script"}:
        return line
    telling = [text for text in (tool.result or "").splitlines() if _WORDS.search(text)]
    return f"{line} → {inline_code(telling[-1], 120)}" if telling else line


def _variables(state: ResumeState) -> Iterator[Part]:
    """The variables: a line each, a list with a line for each of its items."""
    known = state.context_evolution.current_context
    for key, value in known.items():
        if key == "main_goal" and value == known.get("latest_request"):
            continue
        items = [
            v if isinstance(v, str) else codec.dumps(codec.to_valid_json(v)).decode().strip()
            for v in (value if isinstance(value, list) else [value])
        ]
        if key == "open_errors":  # tool output, in states of earlier versions without marks
            items = [i if i.startswith("`") else inline_code(i) for i in items]
        name, kind = brief(key, 80), _TITLES.get(key, key)
        alone = MESSAGE_TEXTS["variable"].format(key=name, value="")
        bullet, title = (alone, "") if len(items) == 1 else ("  - ", f"• {name}:")
        yield stored_part(kind, items, bullet=bullet, title=title)


def _instruction(
    state: ResumeState, strategy: Strategy, changed: Sequence[str], missing: Sequence[str]
) -> str:
    """What stands after the data, in our words alone."""
    if strategy == "fresh_start":
        parts = [ADDED_TEXTS["fresh"]]
    elif strategy == "context_migration":
        parts = [ADDED_TEXTS["migrated"]]
    else:
        parts = [MESSAGE_TEXTS["instruction"], ADDED_TEXTS["look"]]
    if strategy == "partial_resume" and missing:
        parts.append(ADDED_TEXTS["partial"].format(tools=", ".join(missing)))
    if changed and strategy != "fresh_start":
        parts.append(ADDED_TEXTS["adapt"])
    if state.needs_value:
        names = ", ".join(brief(name, 80) for name in state.needs_value)
        parts.append(ADDED_TEXTS["ask"].format(names=names))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _described(tool: CompletedTool) -> str:
    """A call on one line: the tool, and what it is about."""
    name = tool.function_name
    subject = subject_of(ToolCall("", name, kind_of(name), tool.parameters))
    return short(f"{name} {subject}".strip(), MAX_CALL_LENGTH, "…")
