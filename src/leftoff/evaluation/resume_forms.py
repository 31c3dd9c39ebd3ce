"""What a successor may be given at a cut: every form that is delivered, at its own budget, the
recorder's summary, the tail of the session, and the recorder's summary with our block."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TypeAlias

from leftoff.budget.tasks import TaskTokenBudget
from leftoff.evaluation.resume_truth import flatten_text
from leftoff.handover.briefing import MAX_BYTES, briefing, render_prompt
from leftoff.handover.checkpoint.document import checkpoint_of
from leftoff.handover.checkpoint.from_summary import checkpoint_source
from leftoff.handover.checkpoint.injection import block
from leftoff.handover.packing import BudgetTooSmall
from leftoff.handover.resume_log.document import ResumeLog
from leftoff.live.compactions import Cut
from leftoff.model import Message, ToolCall
from leftoff.redaction.redactor import Redactor
from leftoff.summary import ContextSummary
from leftoff.tokens import max_tokens

# Makes a text from a cut and leftoff's summary of what stands before it; None where the form
# does not exist (no recorder's summary).
Form: TypeAlias = Callable[[Cut, ContextSummary], "str | None"]
# Budgets of the log and of the prompt form.
LOG_TOKENS, PROMPT_TOKENS = 10_000, 1_500
# The file that the hook's block names; a made-up one of usual length.
WHERE = "/home/user/project/.leftoff/resume-logs/session.md"
# Titles of what only fills room.
FILLERS = ("Also said", "Also said then", "Names in use")
RECORDED, TAIL = "recorder's summary", "tail"
BOTH, BOTH_WHOLE = "both, equal length", "both, as given"
HOOK, LOG = "hook", "log"

_FILLER = re.compile(
    rf"^(?:#+ |\*\*)?(?:{'|'.join(FILLERS)}):?(?:\*\*)?:?\n+(?:(?:[-*] |\s+\S).*\n+)*",
    re.MULTILINE,
)


def forms() -> dict[str, Form]:
    """All forms by name, the one that agents get by themselves first."""
    made: dict[str, Form] = {
        HOOK: lambda _, summary: briefing(summary, where=WHERE),
        "prompt 1,500": lambda _, summary: render_prompt(summary, PROMPT_TOKENS),
        "checkpoint": _checkpoint,
        LOG: lambda _, summary: _log(summary, LOG_TOKENS),
        "log, recorder's length": lambda cut, summary: (
            _log(summary, max_tokens(cut.recorded)) if cut.recorded else None
        ),
    }
    return {**made, **with_recorded(_beside)}


def with_recorded(beside: Callable[[ContextSummary, str, int], str]) -> dict[str, Form]:
    """The forms that hold the recorder's summary or the tail; `beside` makes our block of at
    most so many bytes, to stand beside a recorder's summary."""

    def both(cut: Cut, summary: ContextSummary) -> str | None:
        if not cut.recorded:
            return None
        lines = _fitting(cut.recorded, _size(cut.recorded) - _room(cut.recorded))
        # What the cut takes from the recorder's summary may stand in our block again.
        block = beside(summary, "".join(lines), _room(cut.recorded))
        for measure in (_size, max_tokens):
            while lines and measure("".join(lines) + block) > measure(cut.recorded):
                lines.pop()
        return "".join(lines) + block

    return {
        RECORDED: lambda cut, _: cut.recorded or None,
        BOTH: both,
        BOTH_WHOLE: lambda cut, summary: (
            f"{cut.recorded}\n{beside(summary, cut.recorded, MAX_BYTES)}"
            if cut.recorded
            else None
        ),
        TAIL: lambda cut, _: tail(
            cut, max_tokens(cut.recorded) if cut.recorded else PROMPT_TOKENS * 2, max_tokens
        ),
    }


def made(cut: Cut, summary: ContextSummary, wanted: Mapping[str, Form]) -> dict[str, str]:
    """The texts of a cut by name; a form that cannot be made within its budget is empty.
    A text with filler sections is also there without them."""
    found: dict[str, str] = {}
    for name, form in wanted.items():
        try:
            text = form(cut, summary)
        except BudgetTooSmall:
            text = ""
        if text is None:
            continue
        found[name] = text
        if name in (HOOK, LOG):
            found[f"{name}, no fillers"] = without_fillers(text)
    return found


def without_fillers(text: str) -> str:
    """A text without the sections that only fill room."""
    return _FILLER.sub("", text)


def _checkpoint(cut: Cut, summary: ContextSummary) -> str:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    budget = TaskTokenBudget.start(
        "task", "provider", created_at=at.isoformat(), total_allocated=200_000
    ).used(190_000)
    messages = tuple(m for m in cut.prefix if not m.agent)
    source = checkpoint_source(summary, messages)
    return block(checkpoint_of(source, budget=budget, capacity="95", at=at))


def _log(summary: ContextSummary, budget: int) -> str:
    return ResumeLog.from_summary(summary).to_markdown(budget)


def _beside(summary: ContextSummary, recorded: str, room: int) -> str:
    shown = Redactor().text(recorded)
    return briefing(summary, where=WHERE, recorded=shown, whole=room)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _room(recorded: str) -> int:
    """Bytes of our block beside a recorder's summary: no more than half of its length."""
    return min(MAX_BYTES, _size(recorded) // 2)


def _fitting(text: str, room: int) -> list[str]:
    found: list[str] = []
    for line in text.splitlines(keepends=True):
        room -= _size(line)
        if room < 0:
            break
        found.append(line)
    return found


# -- the tail: the last messages that fit a budget ---------------------------------------------

# Characters of a tool call's arguments in a tail. Chosen by hand.
MAX_ARGUMENTS = 200


def tail(cut: Cut, budget: int, count_tokens: Callable[[str], int]) -> str:
    """The last messages and tool calls before the cut that fit. Tool results are left
    out, because they would take nearly all of the budget."""
    blocks: list[str] = []
    left = budget
    for message in reversed(cut.prefix):
        lines = _block(message).splitlines(keepends=True)
        whole = len(lines)
        # The earliest message is cut at its beginning.
        while lines and count_tokens("".join(lines)) > left:
            del lines[0]
        blocks.append("".join(lines))
        left -= count_tokens(blocks[-1])
        if len(lines) < whole:
            break
    return "".join(reversed(blocks))


def _block(message: Message) -> str:
    if message.agent or message.origin not in ("prompt", "agent"):
        return ""
    lines = [message.text] if message.text.strip() else []
    for part in message.parts:
        if type(part) is ToolCall:
            given = " ".join(flatten_text(part.input).split())
            mark = "…" if len(given) > MAX_ARGUMENTS else ""
            lines.append(f"[{part.name} {given[:MAX_ARGUMENTS]}{mark}]")
    return f"{message.role}: " + "\n".join(lines) + "\n" if lines else ""
