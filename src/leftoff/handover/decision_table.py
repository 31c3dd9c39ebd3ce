"""The handoff decision for a task whose context window runs out, with its reason.

At 90 % the current provider continues if the remaining tokens suffice; at 95 % a fallback
provider is named; at 98 %, and whenever a provider fails, the task goes to the first of

1. another provider, by the role's order, with room for the prompt and the checkpoint;
2. a fresh session of the same provider;
3. a helper agent;
4. none of them: the task stops.

It also stops after three handoffs without progress. All functions are pure."""

from msgspec import Struct

from leftoff.budget.thresholds import thousands
from leftoff.handover.checkpoint.document import Action, NextAction
from leftoff.handover.checkpoint.roles import Role
from leftoff.handover.checkpoint.templates import TEMPLATES, fill_placeholders

# Handoffs without progress after which a task stops.
MAX_HANDOFFS = 3

# A provider takes over only if the task leaves it below this fraction of its budget.
NEARLY_FULL = 0.90

HELPER = "helper"

# Errors of the provider itself.
_UNUSABLE = frozenset({"circuit_open", "timeout", "unavailable", "rate_limited"})
# Provider errors that cause a handoff. After those of `_UNUSABLE`, which do not concern the
# window, a fresh session of the same provider does not help.
PROVIDER_ERRORS = frozenset(
    {"context_length_exceeded", "model_context_window_exceeded", *_UNUSABLE}
)


class Candidate(Struct, frozen=True):
    """A provider that could take over, with the tokens that the task may use with it and has
    used; not `available` if its circuit breaker is open."""

    name: str
    total: int
    used: int = 0
    available: bool = True

    @property
    def remaining(self) -> int:
        """Tokens left, at least 0."""
        return max(0, self.total - self.used)


class Situation(Struct, frozen=True):
    """The input of `decide`: a task with its current provider, and the others that may take
    over.

    Attributes:
        capacity: "90" | "95" | "98", or "" if there is only an error.
        error: one of `PROVIDER_ERRORS`, "" for none.
        need: tokens of the next prompt with the checkpoint before it.
        growth: tokens of a recent iteration.
        handoffs: number of handoffs without progress.
        helper: whether there is a helper agent.
        force: whether 98 % forces a handoff."""

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


def next_action(type_: Action, why: str, provider: str = "", role: str = "") -> NextAction:
    """A decision with its reason."""
    return NextAction(
        type=type_,
        next_provider=provider or None,
        next_role=role or None,
        handoff_instruction=why,
    )


def decide(situation: Situation) -> NextAction:
    """The decision for a situation, with its reason.

    >>> full = Candidate("a", 1000, 985)
    >>> decide(Situation("98", full, need=50, others=(Candidate("b", 1000),))).provider
    'b'"""
    s = situation
    if s.error or (s.capacity == "98" and s.force):
        return _hand_over(s)
    left = f"{thousands(s.current.remaining)}K tokens are left with {s.current.name}"
    needed = max(s.need, s.growth)
    suffices = s.current.remaining >= needed
    if s.capacity == "90" and suffices:
        reason = f"{left}; an iteration takes about {thousands(needed)}K"
        return next_action("continue", reason, s.current.name)
    other = _best_provider(s)
    if other is None:
        return next_action("continue", f"{left}; {_why_no_other(s)}", s.current.name)
    why = "the window is nearly full" if suffices else "the next iteration may not fit"
    taken = f"{other.name} takes over, with {thousands(other.remaining)}K"
    return next_action("fallback", f"{left}, {why}; {taken}", other.name)


def _hand_over(s: Situation) -> NextAction:
    """The decision if the current session cannot continue: the first possible successor."""
    why = s.error.replace("_", " ") or f"{s.capacity} % of {s.current.name} is used"
    if s.handoffs >= MAX_HANDOFFS:
        why += f", and {s.handoffs} handoffs have brought no progress"
        return next_action("stop", why)
    other = _best_provider(s)
    if other is not None:
        room = f"{thousands(other.remaining)}K tokens left"
        return next_action("force_handoff", f"{why}; {other.name} has {room}", other.name)
    name, why = s.current.name, f"{why}; {_why_no_other(s)}"
    usable = s.current.available and s.error not in _UNUSABLE
    if usable and s.need < NEARLY_FULL * s.current.total:
        why += f", so {name} begins a fresh session"
        return next_action("force_handoff", why, name)
    if s.helper:
        why += f", and a fresh session of {name} is no way out, so a helper agent looks at it"
        return next_action("helper_agent", why, role=HELPER)
    return next_action("stop", f"{why}, and there is no helper agent")


def _best_provider(s: Situation) -> Candidate | None:
    """The best other provider with room: by the role's order, then by remaining tokens."""
    candidates = [
        c
        for c in s.others
        if c.available and c.name != s.current.name and c.used + s.need < NEARLY_FULL * c.total
    ]
    rank = s.role.rank if s.role is not None else (lambda _: 0)
    return min(candidates, key=lambda c: (rank(c.name), -c.remaining, c.name), default=None)


def _why_no_other(s: Situation) -> str:
    others = [c for c in s.others if c.name != s.current.name]
    if not others:
        return "there is no other provider"
    available = sum(c.available for c in others)
    if available == len(others):
        return "no other provider has room"
    return "no available provider has room" if available else "no other provider is available"


def handoff_log_line(task_id: str, before: str, after: str, checkpoint_id: str) -> str:
    """The log's line for a handoff."""
    return fill_placeholders(
        TEMPLATES.handoff,
        {"task_id": task_id, "provider1": before, "provider2": after, "id": checkpoint_id},
    )
