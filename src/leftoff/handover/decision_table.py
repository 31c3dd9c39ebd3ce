"""Who goes on with a task whose window runs out: one table, and its reasons in words.

At 90 % the agent goes on if what is left suffices; at 95 % somebody is named who can take
over; at 98 %, and whenever a provider fails, the task goes to the first of

1. another provider, by the role's order, with room for the prompt and the checkpoint;
2. a fresh session of the same provider;
3. a helper agent;
4. nobody: the task stops, and why.

After three handoffs without progress it stops as well. Everything here is a function of its
arguments.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from leftoff.budget.thresholds import thousands
from leftoff.handover.checkpoint.document import NextAction
from leftoff.handover.checkpoint.from_summary import Facts
from leftoff.handover.checkpoint.roles import Role
from leftoff.handover.checkpoint.templates import WORDS, fill

Outcome: TypeAlias = Literal["continue", "fallback", "force_handoff", "helper_agent", "stop"]

HANDOFFS = 3
"""Handoffs without progress after which a task is given up."""

NEARLY_FULL = 0.90
"""Share of its budget beyond which a provider takes nothing over."""

HELPER = "helper"

_UNUSABLE = frozenset({"circuit_open", "timeout", "unavailable", "rate_limited"})
ERRORS = frozenset({"context_length_exceeded", "model_context_window_exceeded", *_UNUSABLE})
"""Provider errors that end in a handoff. After one that says nothing of the window a fresh
session of the same provider is no way out."""


class Candidate(Struct, frozen=True):
    """A provider that could take over.

    Attributes:
        total: tokens that the task may use with it.
        used: tokens of these that it has used.
        available: False where its circuit is open.
    """

    name: str
    total: int
    used: int = 0
    available: bool = True

    @property
    def remaining(self) -> int:
        """Tokens left, at least 0."""
        return max(0, self.total - self.used)

    def takes(self, need: int) -> bool:
        """Whether `need` tokens more leave it below `NEARLY_FULL`."""
        return self.available and self.used + need < NEARLY_FULL * self.total


class Situation(Struct, frozen=True):
    """All that a decision depends on.

    Attributes:
        capacity: "90" | "95" | "98", or "" where only an error is at hand.
        error: one of `ERRORS`, "" for none.
        current: the provider that works on the task.
        need: tokens of the next prompt with the checkpoint before it.
        growth: tokens that an iteration has taken lately.
        others: providers that may be asked.
        handoffs: without progress since.
        helper: whether there is a helper agent.
        force: whether 98 % forces a handoff.
    """

    capacity: str
    current: Candidate
    error: str = ""
    need: int = 0
    growth: int = 0
    others: tuple[Candidate, ...] = ()
    role: Role | None = None
    handoffs: int = 0
    helper: bool = True
    force: bool = True


class Decision(Struct, frozen=True):
    """What becomes of the task.

    Attributes:
        type: what is done now; `fallback` names who will take over and goes on until then.
        provider: who works on the task next, "" where it stops or a helper takes it.
        fresh: a new session of the same provider.
        role: the helper's, "" for the others.
        reason: in words.
    """

    type: Outcome
    provider: str = ""
    fresh: bool = False
    role: str = ""
    reason: str = ""

    @property
    def now(self) -> bool:
        """Whether the next call goes to somebody else, or nobody."""
        return self.type not in {"continue", "fallback"}

    def action(self, instruction: str = "") -> NextAction:
        """The decision as a checkpoint keeps it."""
        return NextAction(
            type=self.type,
            next_provider=self.provider or None,
            next_role=self.role or None,
            handoff_instruction=instruction or self.reason or None,
        )


def decide(situation: Situation) -> Decision:
    """What becomes of the task, and why.

    >>> full = Candidate("a", 1000, 985)
    >>> decide(Situation("98", full, need=50, others=(Candidate("b", 1000),))).provider
    'b'
    """
    s = situation
    if s.error or (s.capacity == "98" and s.force):
        return _handed_over(s)
    left = f"{thousands(s.current.remaining)}K tokens are left with {s.current.name}"
    wanted = max(s.need, s.growth)
    suffices = s.current.remaining >= wanted
    if s.capacity == "90" and suffices:
        return Decision(
            "continue",
            s.current.name,
            reason=f"{left}; an iteration takes about {thousands(wanted)}K",
        )
    other = _other(s)
    if other is None:
        return Decision("continue", s.current.name, reason=f"{left}; {_nobody(s)}")
    why = "the window is nearly full" if suffices else "the next iteration may not fit"
    return Decision(
        "fallback",
        other.name,
        reason=f"{left}, {why}; {other.name} takes over, with {thousands(other.remaining)}K",
    )


def _handed_over(s: Situation) -> Decision:
    """The first way that is open when the task cannot stay where it is."""
    why = s.error.replace("_", " ") or f"{s.capacity} % of {s.current.name} is used"
    if s.handoffs >= HANDOFFS:
        return Decision(
            "stop", reason=f"{why}, and {s.handoffs} handoffs have brought no progress"
        )
    other = _other(s)
    if other is not None:
        room = f"{thousands(other.remaining)}K tokens left"
        return Decision("force_handoff", other.name, reason=f"{why}; {other.name} has {room}")
    usable = s.current.available and s.error not in _UNUSABLE
    if usable and s.need < NEARLY_FULL * s.current.total:
        return Decision(
            "force_handoff",
            s.current.name,
            fresh=True,
            reason=f"{why}; {_nobody(s)}, so {s.current.name} begins a fresh session",
        )
    if s.helper:
        return Decision(
            "helper_agent",
            role=HELPER,
            reason=f"{why}; {_nobody(s)}, and a fresh session of {s.current.name} is no way "
            "out, so a helper agent looks at it",
        )
    return Decision("stop", reason=f"{why}; {_nobody(s)}, and there is no helper agent")


def _other(s: Situation) -> Candidate | None:
    """The best other provider with room: by the role's order, then by what is left."""
    able = [c for c in s.others if c.name != s.current.name and c.takes(s.need)]
    rank = s.role.rank if s.role is not None else (lambda _: 0)
    return min(able, key=lambda c: (rank(c.name), -c.remaining, c.name), default=None)


def _nobody(s: Situation) -> str:
    """Why no other provider takes over."""
    others = [c for c in s.others if c.name != s.current.name]
    if not others:
        return "there is no other provider"
    full = sum(c.available for c in others)
    if full == len(others):
        return "no other provider has room"
    return "no other provider is available" if not full else "no available provider has room"


def announced(task_id: str, before: str, after: str, checkpoint_id: str) -> str:
    """The log's line for a handoff."""
    return fill(
        WORDS.handoff,
        {
            "task_id": task_id,
            "provider1": before,
            "provider2": after,
            "id": checkpoint_id,
        },
    )


# -- progress --------------------------------------------------------------------------------


class Reached(Struct, frozen=True):
    """How far a task was: what tells whether it got on since.

    Attributes:
        verified: milestones that a tool's output shows.
        touches: changes of files.
    """

    verified: int = 0
    touches: int = 0

    @classmethod
    def of(cls, facts: Facts) -> Reached:
        """The state of a session."""
        return cls(len(facts.reached), facts.touches)

    def beyond(self, before: Reached) -> bool:
        """Whether there are new verified milestones or file changes since `before`."""
        return self.verified > before.verified or self.touches > before.touches
