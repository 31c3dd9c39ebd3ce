"""What a checkpoint takes from a recorded session: its `Handover`, and the text of it."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from leftoff.handover.checkpoint.prompt_log import (
    ValidationResult,
    first_user_text,
    validations,
)
from leftoff.handover.checkpoint.roles import Role
from leftoff.handover.facts import Fact, Handover, handover_of, with_goal
from leftoff.handover.lines import MIDDLE, recent_failures, state_lines, texts, words_of
from leftoff.model import Message
from leftoff.redaction.redactor import Redactor
from leftoff.summary import ContextSummary


class TaskProgress(Struct, frozen=True):
    """A measure of a task's progress, to detect handoffs without any: `verified` milestones
    that a tool's output shows, and `touches` of changed files."""

    verified: int = 0
    touches: int = 0

    @classmethod
    def of(cls, summary: ContextSummary, facts: Handover) -> "TaskProgress":
        """The progress of a session: its milestones, and the files of its handover."""
        verified = sum(m.evidence == "verified" for m in summary.progress.milestones)
        return cls(verified, sum(f.touch_count for f in facts.files))

    def is_ahead_of(self, before: "TaskProgress") -> bool:
        """Whether there are new verified milestones or file changes since `before`."""
        return self.verified > before.verified or self.touches > before.touches


class CheckpointSource(Struct, frozen=True):
    """What a checkpoint and its sections are made of, collected once for both.

    Attributes:
        facts: redacted; without a recording only the goal is known.
        messages: those of the main thread, not redacted.
        checks: every run of a check, oldest first.
        session: the recorder's id, else the path; "" without a recording."""

    facts: Handover
    messages: Sequence[Message] = ()
    checks: tuple[ValidationResult, ...] = ()
    session: str = ""
    reached: TaskProgress = TaskProgress()

    @property
    def task(self) -> str:
        """The task in its owner's words, "" if it is not known."""
        return self.facts.goal.text if self.facts.goal else ""


def checkpoint_source(
    summary: ContextSummary | None,
    messages: Sequence[Message] = (),
    *,
    goal: str = "",
    role: Role | None = None,
) -> CheckpointSource:
    """The source of a checkpoint.

    Args:
        summary: of the recorded session; None where there is no readable recording.
        goal: the task as its owner stated it; by default the recording's first request.
        role: selects the files to list."""
    if summary is None:
        known = with_goal(Handover(), goal)
        return CheckpointSource(Redactor(personal=True).value(known))
    session = summary.session
    task = goal or ("" if summary.user_requests else first_user_text(messages))
    facts = collect_facts(summary, goal=task, role=role)
    return CheckpointSource(
        facts,
        messages,
        validations(summary, messages),
        session.id or session.path,
        TaskProgress.of(summary, facts),
    )


def collect_facts(
    summary: ContextSummary, *, goal: str = "", role: Role | None = None
) -> Handover:
    """The handover of a recorded session, redacted; `goal` and `role` as for
    `checkpoint_source`.

    It is redacted before it is put into words: on one line, without its marks, a key may look
    like any words."""
    handover = with_goal(handover_of(summary), goal)
    listed = tuple(f for f in handover.files if role is None or role.tracks(f.path))
    redacted: Handover = Redactor(personal=True).value(replace(handover, files=listed))
    return redacted


def summary_text(facts: Handover) -> str:
    """The facts as the state in a line or two, then titles and items, one on each line."""
    lines = state_lines(facts.state)
    for title, items in texts(facts):
        lines += [f"{title}:", *(f"- {item}" for item in items)]
    return "\n".join(lines)


def state_text(facts: Handover) -> str:
    """Where the session stands, on one line."""
    return " ".join(state_lines(facts.state)) or "not known"


def blockers(facts: Handover) -> tuple[str, ...]:
    """Failures that nothing mended and checks that failed last, the latest first."""
    failed = (*recent_failures(facts), *facts.failed_checks)
    found = sorted(failed, key=lambda fact: -fact.message)
    return tuple(words_of(fact, MIDDLE) for fact in found)


def remaining(facts: Handover) -> tuple[str, ...]:
    """What is left to do: the message that an open turn answers, the agent's question, to-dos,
    steps that were left, and what else the person asked and was not seen done."""
    asked = [facts.unfinished] if facts.unfinished else []
    question = [Fact(facts.state.question)] if facts.state.question else []
    open_ = [fact for fact in facts.said if fact.weight == 1.0]
    found = (*asked, *question, *facts.to_dos, *facts.open_items, *open_)
    return tuple(words_of(fact, MIDDLE) for fact in found)


def paths(facts: Handover, action: str) -> tuple[str, ...]:
    """The paths of files by what happened to them."""
    return tuple(dict.fromkeys(f.path for f in facts.files if f.action == action))
