"""Which of the agent's single sentences still hold: those that the recording overtakes are left
out.

Most of what an agent says in the middle of a turn is over when the turn is: it announces the
next edit, or names a fault that the next edit mends. The words alone do not show it: "The key
is missing" holds if the turn ended with it, and not if files were edited after it. So sentences
are judged by their form and by whether their turn went on to edit files."""

from bisect import bisect_right

from leftoff import lazy_re as re
from leftoff.analysis.decisions.shown import LIKELY, acts
from leftoff.handover.standing import is_move
from leftoff.summary import ContextSummary
from leftoff.tables import table

# Probability of a decision from which a sentence stays although it announces: what it decides
# holds after the edits. With it a checkpoint states 7 more of 15 labelled decisions. One that
# says how a fault is, and not what is to be done, must be likelier: of 30 read 6 were mended.
DECIDES = 0.3

_RE = re.patterns(table(__file__, "remarks.toml"))


class Overtaken:
    """Says whether what followed a sentence in its turn overtakes it."""

    def __init__(self, summary: ContextSummary) -> None:
        edits = summary.working_set.last_edits or ()
        self._edits = [(ref.message, ref.part or 0) for ref in edits]
        self._typed = sorted(r.ref.message for r in summary.user_requests if not r.question)

    def __call__(self, text: str, message: int, part: int = 0, chance: float = 0.0) -> bool:
        """Whether a sentence of the agent announced a step, or named a fault or a state before
        edits of the same turn. One with a reason or a way not taken stays, and what is no move
        and decides with a `chance` high enough."""
        if _RE["choice"].search(text):
            return False
        if is_move(text):
            return True
        faulty = _RE["fault"].search(text) is not None and not _RE["reason"].search(text)
        if chance >= (DECIDES if acts(text) or not faulty else LIKELY):
            return False
        if _RE["announces"].match(text):
            return True
        if not self._edited_after(message, part):
            return False
        return faulty or _RE["begins"].search(text) is not None

    def _edited_after(self, message: int, part: int) -> bool:
        at = bisect_right(self._edits, (message, part))
        if at == len(self._edits):
            return False
        typed = bisect_right(self._typed, message)
        return typed == len(self._typed) or self._edits[at][0] < self._typed[typed]
