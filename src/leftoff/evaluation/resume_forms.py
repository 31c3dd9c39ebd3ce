"""What a successor may be given at a cut: every form that is delivered, at its own budget, the
recorder's summary, and that summary with our block."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import TypeAlias

from leftoff.budget.tasks import TaskTokenBudget
from leftoff.handover.briefing import MAX_BYTES, briefing, render_prompt
from leftoff.handover.checkpoint.document import checkpoint_of
from leftoff.handover.checkpoint.from_summary import checkpoint_source
from leftoff.handover.checkpoint.injection import block
from leftoff.handover.packing import BudgetTooSmall
from leftoff.handover.resume_log.document import ResumeLog
from leftoff.live.compactions import Cut
from leftoff.redaction.redactor import Redactor
from leftoff.summary import ContextSummary
from leftoff.tokens import max_tokens

# Makes a text from a cut and leftoff's summary of what stands before it.
Form: TypeAlias = Callable[[Cut, ContextSummary], str]
# Budgets of the log and of the prompt form.
LOG_TOKENS, PROMPT_TOKENS = 10_000, 1_500
# The file that the hook's block names; a made-up one of usual length.
WHERE = "/home/user/project/.leftoff/resume-logs/session.md"
RECORDED, BOTH, HOOK = "recorder's summary", "both, equal length", "hook"


def forms() -> dict[str, Form]:
    """All forms by name, the one that agents get by themselves first."""
    made: dict[str, Form] = {
        HOOK: lambda _, summary: briefing(summary, where=WHERE),
        "prompt 1,500": lambda _, summary: render_prompt(summary, PROMPT_TOKENS),
        "checkpoint": _checkpoint,
        "log": lambda _, summary: _log(summary, LOG_TOKENS),
        "log, recorder's length": lambda cut, summary: _log(summary, max_tokens(cut.recorded)),
    }
    return {**made, **with_recorded(_beside)}


def with_recorded(beside: Callable[[ContextSummary, str, int], str]) -> dict[str, Form]:
    """The forms that hold the recorder's summary; `beside` makes our block of at most so many
    bytes, to stand beside it."""

    def both(cut: Cut, summary: ContextSummary) -> str:
        lines = _fitting(cut.recorded, _size(cut.recorded) - _room(cut.recorded))
        # What the cut takes from the recorder's summary may stand in our block again.
        block = beside(summary, "".join(lines), _room(cut.recorded))
        for measure in (_size, max_tokens):
            while lines and measure("".join(lines) + block) > measure(cut.recorded):
                lines.pop()
        return "".join(lines) + block

    return {RECORDED: lambda cut, _: cut.recorded, BOTH: both}


def made(cut: Cut, summary: ContextSummary, wanted: Mapping[str, Form]) -> dict[str, str]:
    """The texts of a cut by name; a form that cannot be made within its budget is empty."""
    found = dict.fromkeys(wanted, "")
    for name, form in wanted.items():
        with suppress(BudgetTooSmall):
            found[name] = form(cut, summary)
    return found


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
