"""Whose turn it is: at the end of a recording, and where each of the person's words was typed.

The agent has ended its turn where its last event is words without a call after them, or a call
that ends its work. What the recorder says itself (`Message.stop`, `Turned`) comes first."""

from __future__ import annotations

from array import array
from bisect import bisect_left

from leftoff.extraction.evidence import Asked, Called, Compacted, Turned
from leftoff.extraction.requests import RULES, Requests, last_question, matches
from leftoff.formats.injected import is_client_command
from leftoff.formats.thread import ORIGINS
from leftoff.model import Ref
from leftoff.session_view import SessionView, call_of, number_of, once
from leftoff.summary import TurnState

OPEN, CLOSED, INTERRUPTED = "open", "closed", "interrupted"

# Tools beside the question tools with which the agent waits for the person.
_WAITING = frozenset(
    {"ExitPlanMode", "exit_plan_mode", "ExitSpecMode", "plan_mode_respond", "plan_exit"}
)

_INTERRUPTION = ORIGINS.index("interruption")
_PROMPT, _AGENT, _TOOL = (ORIGINS.index(name) for name in ("prompt", "agent", "tool"))
# Origins of the events of a conversation, as against notices around it.
_EVENTS = frozenset({_PROMPT, _AGENT, _TOOL, _INTERRUPTION})


# After so many messages without a call that the agent itself followed, and none that a person
# did, words do not end its turn. Chosen by hand; not measured.
ALONE = 3


class Turns:
    """The places where turns ended.

    Attributes:
        calls: every call of the agent, as `number_of` gives it, in order.
        marks: messages that mark an interruption, in order.
        turned: what the recorder says of turns, in order."""

    def __init__(self, view: SessionView) -> None:
        self.view = view
        self.calls = array("q", sorted(number_of(c.call) for c in view.each(Called)))
        self.marks = [
            index
            for index, row in enumerate(view.thread.rows)
            if row & 15 == _INTERRUPTION and index not in view.abandoned
        ]
        self.turned = view.active(Turned)

    def call_before(self, message: int) -> tuple[int, int]:
        """The last call before a message, (-1, -1) if there is none."""
        number = bisect_left(self.calls, number_of((message, -1))) - 1
        return call_of(self.calls[number]) if number >= 0 else (-1, -1)

    def latest(self, said: tuple[int, int], until: int) -> int:
        """The message of the agent's last words or call before message `until`."""
        return max(said[0], self.call_before(until)[0])

    def state_before(self, said: tuple[int, int], until: int) -> str:
        """Whose turn it was before message `until`, by the agent's last words before it."""
        last = self.call_before(until)
        mark = bisect_left(self.marks, until) - 1
        latest = max(said[0], last[0])
        if mark >= 0 and self.marks[mark] >= latest:
            return INTERRUPTED
        ended = next((t for t in reversed(self.turned) if latest <= t.message < until), None)
        if ended is not None and ended.state == "interrupted":
            return INTERRUPTED
        if latest < 0:
            return OPEN
        if said > last or self._ends(last) or ended is not None and ended.state == "ended":
            return CLOSED
        outcome = self.view.outcomes.get(last)
        if outcome is not None and outcome.status == "interrupted":
            return INTERRUPTED
        return OPEN

    def _ends(self, place: tuple[int, int]) -> bool:
        """Whether a call ends the agent's turn: it finishes the work or waits for the person's
        answer."""
        call = self.view.calls.get(place)
        if call is None:
            return False
        if call.kind == "finish":
            return True
        if call.kind == "ask" or call.name in _WAITING:
            return place not in self.view.outcomes
        # A command line may end the work of an agent, too.
        return call.kind == "shell" and any(r.search(call.text) for r in RULES["finishes"])


@once
def turn_state(view: SessionView) -> TurnState:
    """Whose turn it is at the end of the recording.

    Notices, reminders and other injected records at the end change nothing."""
    turns, words = Turns(view), view.heard
    said = (words.said, words.said_part)
    call = turns.call_before(len(view.thread))
    rows = view.thread.rows
    unanswered = {a.ref.message for a in view.active(Asked) if is_for_client(a)}
    asked = (a.ref.message for a in view.active(Asked))
    typed = max((m for m in asked if m not in unanswered), default=-1)
    latest = len(view.thread) - 1
    passed_over = unanswered | view.abandoned
    while latest >= 0 and (latest in passed_over or rows[latest] & 15 not in _EVENTS):
        latest -= 1
    if latest < 0:
        return TurnState()
    status, failed, run = OPEN, "", ""
    acted = max(said[0], call[0]) > typed
    if acted or turns.marks and turns.marks[-1] > typed:
        status = turns.state_before(said, len(view.thread))
        # Words that only announce work, though calls before the prompt are recorded.
        idle = words.ends == "announcing" and not words.stop and 0 <= call[0] < typed
        if status == CLOSED and said >= call and (idle or _goes_on(view, words, latest)):
            status = OPEN
    compactions = view.all(Compacted)
    if compactions and compactions[-1].trigger == "manual":
        if compactions[-1].ref.message > latest:
            status = CLOSED  # only a person at rest compacts by hand
    ended = turns.turned[-1] if turns.turned else None
    if ended is not None and ended.message >= typed:
        if ended.state == "started":
            if status == CLOSED and said > call and words.stop != "end":
                status = OPEN
        elif ended.message >= latest and (
            ended.state != "ended" or acted or ended.why or _is_answer(view, typed)
        ):
            status = {"ended": CLOSED, "interrupted": INTERRUPTED}.get(ended.state, OPEN)
            failed = ended.why or "failed" if ended.state == "failed" else ""
            run = ended.why if ended.state == "ended" else ""
    if status == CLOSED and said > call and matches("failed", words.tail):
        status, failed = OPEN, words.tail.strip().split("\n", 1)[0][:300]
    question = ""
    if status == CLOSED:
        if call > said and call in view.calls and view.calls[call].kind == "ask":
            question = "\n".join(words.questions)
        elif words.said > typed:  # what was asked before is answered
            question = last_question(words.tail)
    return TurnState(
        status=status,
        since=view.state.header.ended if failed else view.state.header.acted,
        ref=view.ref(_place(view, latest)),
        question=question,
        failed=failed,
        ended=run,
    )


def is_for_client(asked: Asked) -> bool:
    """Whether the client carries out a command itself, so that no agent answers it."""
    return asked.via == "client" or is_client_command(asked.text)


def _is_answer(view: SessionView, message: int) -> bool:
    """Whether what was typed in a message answers the client, in the middle of the turn."""
    return {a.via for a in view.active(Asked) if a.ref.message == message} == {"answer"}


def _goes_on(view: SessionView, words: Requests, latest: int) -> bool:
    """Whether the agent's last words are not the end of its turn: the recorder says so, it
    thought on after them, or they announce what it does next.

    Some recorders leave calls out, so that such words do end a turn there, and some agents
    speak in turns without any person: what followed such words earlier in the session decides.
    """
    if words.stop:
        return words.stop == "more"
    if latest > words.said and view.thread.rows[latest] & 15 == _AGENT:
        return True
    on, stopped = words.went_on.get(words.ends, 0), words.stopped.get(words.ends, 0)
    if words.ends == "announcing":
        return stopped <= on
    if words.ends == "code" and on > stopped:
        return True
    return on >= ALONE and not stopped and not view.active(Called)


def _place(view: SessionView, message: int) -> Ref:
    """A reference to a message: to the words where the person typed it."""
    typed = (a.ref for a in reversed(view.active(Asked)) if a.ref.message == message)
    return next(typed, Ref(message=message))
