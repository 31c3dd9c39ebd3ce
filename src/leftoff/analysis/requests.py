"""The person's own words: what each of them is, and what became of it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from leftoff import lazy_re as re
from leftoff.analysis.activities import activities, edits, programs_in
from leftoff.analysis.checks import checks
from leftoff.analysis.git import git_events
from leftoff.analysis.git_commands import GitStep, git_steps
from leftoff.analysis.intents import intents
from leftoff.analysis.standing import rules_in
from leftoff.analysis.turns import CLOSED, INTERRUPTED, OPEN, Turns, is_for_client, turn_state
from leftoff.extraction.evidence import Asked, Called, Ran
from leftoff.extraction.requests import RULES, declined, is_pasted, matches
from leftoff.extraction.rules import lowered
from leftoff.formats.thread import ORIGINS
from leftoff.formats.vocabulary import READ_ONLY_KINDS
from leftoff.session_view import SessionView, call_of, once
from leftoff.summary import UserRequest
from leftoff.tables import table

# A question that took the agent at least so many calls was a task. Chosen by hand; not
# measured.
TASK_CALLS = 4

# Code points; so short an answer is shown with its question, whatever its kind. Chosen by hand;
# not measured.
MAX_ELLIPTIC = 40

# Words of the person among which one that was sent again is looked for. Chosen by hand.
MAX_AGAIN = 5

# Kinds that ask for something; the others stand beside them.
DIRECTIVE_KINDS = ("task", "constraint", "correction", "choice", "approval")


# Words that are typed while a turn goes on.
_MIDWAY = frozenset({"queued", "answer", "rejection"})

# The person typed on before the agent said or did anything.
SILENT = "unanswered"

# A person ends a run with such words and expects no answer.
LAST_WORDS = frozenset({"remark", "approval"})

_META = ORIGINS.index("meta")

# Kinds that ask for work.
_WORK = frozenset({"task", "plan", "correction", "choice", "approval", "command"})

# Activities that leave something behind, whatever was asked; after a request for work, programs
# of which nothing is known count, too: they start, stop and send.
_CHANGES = frozenset("commit push pull_request deploy install tidy".split())
_RUNS = _CHANGES | {"run"}

# With these git changes the working tree or the branch: a person may ask for nothing else.
_MOVES = frozenset(
    ("git", verb)
    for verb in "checkout switch restore reset revert merge rebase pull cherry-pick am".split()
)
# After those of them that are made to look at something, too, nothing need have changed.
_VISITS = frozenset(("git", verb) for verb in ("checkout", "switch", "pull"))

# What a call may fail to deliver, the last step of a command line first, and what may stand
# beside it in a line whose exit status is that of the delivery.
_STEPS = ("deploy", "pull_request", "push", "commit")
_ALONE = frozenset({*_STEPS, "sync", "inspect_change", "look"})

# What a clause of a request may ask for that a tool shows by itself, after words that ask for
# nothing.
_WORDS = table(__file__, "patterns.toml")
_DELIVERED = re.patterns(_WORDS["delivered"])
_RE, _GIT = re.patterns(_WORDS["requests"]), re.patterns(_WORDS["git"])

# Intents of a request that a program may be run for without any work on it.
_LOOKS = frozenset({"looking", "design", "review", "ordered review"})


def is_unfinished(status: str) -> bool:
    """Whether a request with this status is known not to be done, and not taken back."""
    return status in {OPEN, INTERRUPTED} or status.endswith("_failed")


@once
def user_requests(view: SessionView) -> tuple[UserRequest, ...]:
    """Everything that the person typed, in order: each prompt, answer and command as what it
    is, and after a prompt the rules that stand inside it.

    A prompt that was interrupted and sent again counts once, where it was sent last."""
    asked = view.active(Asked)
    outcomes = _Outcomes(view, asked)
    changing = (outcomes.edited, outcomes.moved, outcomes.gaps)
    found: list[UserRequest] = []
    for number, item in enumerate(asked):
        later = number + 1 < len(asked)
        start = item.ref.message
        end = asked[number + 1].ref.message if later else 1 << 62
        # Whatever the person changed in the client in between, such as the model.
        others = (a for a in asked[number + 1 : number + MAX_AGAIN] if not is_for_client(a))
        following = next(others, item) if later and not is_for_client(item) else item
        again = following is not item and _is_again(item, following)
        again = again and following.said < start  # no answer came
        effort = _count_between(outcomes.called, start, following.ref.message if again else end)
        if again and not effort:
            continue
        first = not any(r.kind in {"task", "plan"} for r in found)
        edited = any(_count_between(places, start, end) for places in changing)
        kind = _kind(item, effort, edited=edited, first=first)
        status, after = outcomes.status(number, kind), asked[number + later].text
        back = matches("withdraws", after)
        if status == INTERRUPTED and matches("leaves", after):
            # Where the agent works on, only a step is left out.
            until = asked[number + 2].ref.message if number + 2 < len(asked) else 1 << 62
            back = not _count_between(outcomes.called, end, until)
        if later and back and not edited:
            status = "withdrawn"
        answers = kind in {"choice", "approval"} or (
            len(item.text) <= MAX_ELLIPTIC and not is_for_client(item)
        )
        found.append(
            UserRequest(
                text=item.text,
                kind=kind,
                status=status,
                ref=view.ref(item.ref),
                question=question_of(item) if answers else "",
            )
        )
        if item.via in {"prompt", "queued", "plan"}:
            found += _rules(view, item, kind, status)
    return tuple(found)


def _is_again(item: Asked, after: Asked) -> bool:
    """Whether words are the same that stand after them, or these with more behind."""
    words, others = item.text.strip(), after.text.strip()
    more = item.via == after.via != "answer" and others.startswith(words)
    return words == others or more and not f"{words[-1:]}{others[len(words)]}".isalnum()


def _rules(view: SessionView, item: Asked, kind: str, status: str) -> list[UserRequest]:
    """The rules inside a prompt, as constraints of their own."""
    found: list[UserRequest] = []
    for start, end in rules_in(item.text):
        words = item.text[start:end]
        if kind == "constraint" and 2 * len(words) > len(item.text.strip()):
            continue  # the prompt itself is the rule
        if is_pasted(item, start, end):
            continue
        place = view.ref_within(item.ref, start, words)
        found.append(UserRequest(words, "constraint", status, place))
    return found


def question_of(item: Asked) -> str:
    """What the agent had asked, with the option that the answer names only by its label."""
    if not item.option:
        return item.question
    label = item.text.strip().split("\n", 1)[0][:40]
    return f"{item.question} [{label}: {item.option}]".strip()


class _Outcomes:
    """What became of each of the person's words.

    Attributes:
        asked: the words, in order.
        called: the messages of calls, in order.
        edited, moved: messages that changed a file, and those in which git did, in order.
        gaps: messages in which a call was left out, in order.
        silent: the numbers of the words after which others were typed before the agent said or
            did anything."""

    def __init__(self, view: SessionView, asked: Sequence[Asked]) -> None:
        self.asked = asked
        self.edited = sorted({message for message, _ in edits(view)})
        moves = [
            (ran.ref.message, _MOVES.intersection(programs_in(ran.command)), ran.command)
            for ran in view.each(Ran)
            if "git" in ran.command and view.succeeded(ran.call)
        ]
        self.moved = sorted(message for message, verbs, _ in moves if verbs)
        self.rows = view.thread.rows
        # What is removed in a folder for temporary files was no part of the work.
        passing = {at for at, r in view.commands.items() if _RE["temporary"].match(r.command)}
        did = [
            (at[0], {*found} - ({"tidy"} if at in passing else set()))
            for at, found in activities(view).items()
            if view.succeeded(at)
        ]
        # What a server, such as a tracker, was asked to change.
        served = (
            call.message
            for call in view.each(Called)
            if (call.kind == "other" and _RE["changing_tool"].search(call.name))
            or (call.kind == "shell" and _RE["changing_command"].search(call.text))
            if view.succeeded(call.call)
        )
        changed = {*self.edited, *served, *(m for m, verbs, _ in moves if verbs - _VISITS)}
        delivered = [(e.kind, e.ref.message) for e in git_events(view) if e.shown]
        changed.update(view.written, (m for _, m in delivered))
        self.changed = sorted(changed.union(m for m, found in did if _CHANGES & found))
        worked = changed.union(self.moved, (m for m, found in did if _RUNS & found))
        self.worked = sorted(worked)
        # A command that was typed as the request, run as it stands; work that was handed in.
        self.ran: dict[str, list[int]] = {one.text.strip(): [] for one in asked}
        for place in sorted(view.commands):
            command = view.commands[place].command.strip()
            if command in self.ran:
                self.ran[command].append(place[0])
        self.submitted = sorted(c.message for c in view.each(Called) if c.name == "submit")
        # Some recorders leave out all calls, or those that edit: there the agent's words alone
        # speak of work.
        acted = any(call.kind not in READ_ONLY_KINDS for call in view.each(Called))
        claims = () if acted else view.sentences("milestone")
        # What is all in capitals ("PASS") is an answer that was asked for; an item with a tick
        # may be advice.
        own = (c for c in claims if not c.text.isupper() and not c.text.startswith("✅"))
        self.reported = sorted(c.ref.message for c in own)
        heard = view.heard
        self.gaps = heard.gaps
        sent = view.shown({"deployed", "released"})
        run = checks(view)
        passed = [c for c in run if c.kind == "test" and c.verdict == "passed"]
        shown = delivered + [("deploy", s.ref.message) for s in sent if s.good]
        shown += [("test", (c.result or c.ref).message) for c in passed]
        shown += [("undo", m) for m, _, line in moves if any(map(_undoes, git_steps(line)))]
        going = {at[0] for at, o in view.outcomes.items() if o.status == "running"}
        shown += [("start", m) for m in going.difference(c.ref.message for c in run)]
        kinds = dict.fromkeys(kind for kind, _ in shown)
        self.shown = {kind: sorted(m for k, m in shown if k == kind) for kind in kinds}
        self.failed = self._failures(view)
        turns = Turns(view)
        self.called = [call_of(number)[0] for number in turns.calls]
        self.silent: set[int] = set()
        self.ended = self._ends(view, turns)
        self.acted = turns.latest((heard.said, heard.said_part), 1 << 62)
        self.last_act = 1 << 62
        self.unfinished, self.declined = heard.unfinished(), declined(heard.tail)
        self.announces = bool(self.called) and heard.ends == "announcing" and not heard.stop
        turn = turn_state(view)
        self.waits = bool(turn.question) and self.unfinished
        if turn.ended:
            self.last_act = self.acted

    def _failures(self, view: SessionView) -> dict[str, list[int]]:
        """The messages of the calls that failed to deliver something, by what: those after
        which nothing of the kind worked."""
        failed: dict[str, list[int]] = {}
        for at, found in sorted(activities(view).items()):
            outcome, did = view.outcomes.get(at), {*found}.intersection(_STEPS)
            if outcome is None or not did:
                continue
            wrong = outcome.status in {"error", "timeout"} and _ALONE.issuperset(found)
            rejected = _GIT["rejected"].search(outcome.output) is not None
            if wrong or rejected or _GIT["failed"].search(outcome.output):
                until = outcome.message + 1
                did -= {k for k in did if _count_between(self.shown.get(k, ()), at[0], until)}
                if rejected:  # of a pull request behind it nothing is known
                    did &= {"push"}
                if did and (rejected or "nothing to commit" not in outcome.output):
                    one = next(step for step in _STEPS if step in did)
                    failed.setdefault(one, []).append(at[0])
            elif view.succeeded(at):
                for one in did:
                    failed.pop(one, None)
        last = {kind: places[-1] for kind, places in self.shown.items()}
        return {k: [m for m in at if m > last.get(k, -1)] for k, at in failed.items()}

    def _ends(self, view: SessionView, turns: Turns) -> list[tuple[str, int]]:
        """For each of the words: how the turn ended that answers them, and the index of the
        first words after that end (-1 at the end of the recording)."""
        asked = self.asked
        following = (turn_state(view).status or OPEN, -1)
        found: list[tuple[str, int]] = []
        for number in range(len(asked) - 1, -1, -1):
            if number + 1 < len(asked):
                after = asked[number + 1]
                state = self._state(turns, asked[number], after)
                if state == SILENT:
                    self.silent.add(number)
                goes_on = matches("goes_on", after.text)
                if state == CLOSED and not (goes_on and self._unbegun(number, number + 1)):
                    following = (CLOSED, number + 1)
                elif state == INTERRUPTED and not goes_on:
                    again = self._again(number, found)
                    following = again or (INTERRUPTED, number + 1)
            found.append(following)
        return found[::-1]

    def _again(self, number: int, later: Sequence[tuple[str, int]]) -> tuple[str, int] | None:
        """How the same words ended that were sent again, None if they were not: a yes only
        while nothing was finished in between.

        Args:
            later: how the words after these ended, the last first."""
        words = self.asked[number].text.strip()
        for other in range(number + 1, min(number + MAX_AGAIN, len(self.asked))):
            if self.asked[other].text.strip() == words:
                return later[-(other - number)]
            if later[-(other - number)][0] != INTERRUPTED and not wants_words(words):
                return None
        return None

    def _unbegun(self, number: int, place: int) -> bool:
        """Whether nothing is recorded of the work that the agent announced last before the
        words at `place`, in answer to others."""
        start = self.asked[number].ref.message
        after = self.asked[place]
        return after.announced and not _count_between(self.called, start, after.ref.message)

    @staticmethod
    def _state(turns: Turns, item: Asked, after: Asked) -> str:
        """Whose turn it was when the next words were typed."""
        start, until = item.ref.message, after.ref.message
        if after.via in _MIDWAY or start == until:
            return OPEN
        if turns.latest((after.said, after.said_part), until) <= start:
            if _count_between(turns.marks, start, until):
                return INTERRUPTED
            return OPEN if is_for_client(after) else SILENT
        return turns.state_before((after.said, after.said_part), until)

    def status(self, number: int, kind: str) -> str:
        """The status of words, but for `withdrawn`."""
        state, place = self.ended[number]
        asked = self.asked[number]
        start = asked.ref.message
        if asked.via == "answer" and self.rows[start] & 15 == _META:
            return "answered"  # the question was the client's own
        if kind == "command" and is_for_client(asked):
            return "answered"
        if state == INTERRUPTED:
            ended, until = self.ended[place]  # of the words that adjust it
            done = self._is_delivered(asked, place)
            done = done or ended == CLOSED and self._is_delivered(asked, until)
            return "done" if done and kind in _WORK else INTERRUPTED
        silent = number in self.silent and start < self.acted
        if state != CLOSED:
            return SILENT if silent else OPEN
        if place < 0 and self.last_act <= start and kind not in LAST_WORDS:
            return OPEN  # the run ended without a word to it
        end = self.asked[place].ref.message if place >= 0 else 1 << 62
        if kind in _WORK and self._is_delivered(asked, place):
            return "done"
        for one in _deliveries(asked.text)[0] if kind in _WORK else ():
            if _count_between(self.failed.get(one, ()), start, end):
                return f"{one}_failed"
        asks = kind in _WORK and not intents(asked.text) & _LOOKS
        worked = self.worked if asks else self.changed
        places = (worked, self.ran[asked.text.strip()], self.submitted)
        if any(_count_between(p, start, end) for p in places):
            return "worked_on"
        if silent:
            return SILENT
        if asks and place < 0 and self.waits:
            return OPEN  # nothing was done, and the agent asks before it goes on
        lost = asks and _count_between(self.reported, start, end) > 0
        lost = lost or _count_between(self.gaps, start, end) > 0
        # What the agent announced last is not recorded.
        lost = lost or place >= 0 and self.asked[place].announced
        if self.announces and place < 0 and not lost and kind not in LAST_WORDS:
            return OPEN  # nothing was done, and the agent's last words announce what it does
        refused = self.declined if place < 0 else self.asked[place].declined
        if asks and not lost and refused and _is_refused(asked.text, refused):
            return "declined"
        return "unknown" if lost else "answered"

    def _is_delivered(self, item: Asked, place: int) -> bool:
        """Whether tools show all that a request asks for before the words at `place`."""
        if self.unfinished if place < 0 else self.asked[place].unfinished:
            return False
        end = self.asked[place].ref.message if place >= 0 else 1 << 62
        start, (wanted, alone) = item.ref.message, _deliveries(item.text)
        shown = (_count_between(self.shown.get(one, ()), start, end) for one in wanted)
        return alone and bool(wanted) and all(shown)


def _is_refused(text: str, refused: str) -> bool:
    """Whether an order has the verb of what the agent says that it does not do, and the thing
    that it names first, if it does."""
    if _RE["how"].search(text) or not (matches("orders", text) or matches("wants", text)):
        return False
    named = _RE["telling"].findall(refused.lower())[: 2 if _RE["thing"].match(refused) else 1]
    return bool(named) and {*named} <= {*_RE["telling"].findall(text.lower())}


def _undoes(step: GitStep) -> bool:
    """Whether a step of git takes changes back; other forms of these verbs change branches, or
    only what the next commit takes up."""
    back = {
        "revert": not step.has("--abort", "--quit", "--skip"),
        "restore": not step.has("--staged", "-S") or step.has("--worktree", "-W"),
        "reset": step.has("--hard", "--merge", "--keep")
        or any(map(_GIT["revision"].match, step.operands)),
        "checkout": step.has("--", "."),
    }
    return step.program == "git" and back.get(step.verb, False)


def _deliveries(text: str) -> tuple[list[str], bool]:
    """What a request asks for of which a tool shows when it is done, and whether no clause of
    it is about something else."""
    wanted: dict[str, None] = {}
    alone = True
    for clause in _RE["clause"].split(text.lower()):
        rest = _RE["fillers"].sub("", clause, 1)
        found = [name for name, pattern in _DELIVERED.items() if pattern.match(rest)]
        alone = alone and (not rest or bool(found))
        wanted |= dict.fromkeys(found)
    return list(wanted), alone


def _count_between(places: Sequence[int], start: int, end: int) -> int:
    """How many of the sorted places lie after `start` and before `end`."""
    return max(0, bisect_left(places, end) - bisect_right(places, start))


def _kind(item: Asked, effort: int, *, edited: bool, first: bool) -> str:
    """The kind of typed words, one of `REQUEST_KINDS`."""
    words = item.text.strip()
    if item.via in {"command", "client"} or item.via != "answer" and matches("command", words):
        return "command"
    if item.via == "plan":
        return "plan"
    if item.via == "answer" or item.option:
        return "choice"
    first = first and not matches("greeting", words)
    if first or is_request(words, item.via, effort, edited=edited):
        return kind_of_request(words, item.via, first=first)
    if matches("goes_on", words):
        return "approval"
    return "question" if matches("asks", words[:700]) else "remark"


def is_request(text: str, via: str, effort: int, *, edited: bool) -> bool:
    """Whether typed text asks for something.

    Remarks, pasted output without a request, and questions that the agent answered at once do
    not.

    Args:
        effort: number of calls that the agent made before the next prompt.
        edited: whether it changed a file in that time."""
    words = text.strip()
    if matches("bare_command", words):
        return False
    if via in {"answer", "command", "rejection"}:
        return True
    if matches("approval", words) or matches("choice", words) and "?" not in words:
        return True
    own = _own_words(words)
    head = own[:700]
    orders = matches("orders", head)
    wants = orders or matches("wants", head)
    if not head:
        return edited
    if matches("asks", head) and not orders:
        if matches("discusses", head) or matches("casual", head) and not wants:
            return effort >= TASK_CALLS or edited
        return wants or effort >= 2 or edited
    acted = edited or effort >= TASK_CALLS
    # So long a text asks for something, whatever its words. Chosen by hand.
    return wants or acted or matches("objects", head) or len(own) > 200


def _own_words(words: str) -> str:
    """The lines of typed text that are not pasted output, as far as they are looked at."""
    find = RULES["pasted"][0].finder
    found: list[str] = []
    size = 0
    for line in words.splitlines():
        if not find(lowered(line)):
            line = line if found else line.lstrip()
            if line or found:
                found.append(line)
                size += len(line) + 1
                if size > MAX_OWN:
                    return "\n".join(found)
    return "\n".join(found).strip()


# Code points of the person's own words that say what a prompt is; those of the first line that
# goes beyond are read, too.
MAX_OWN = 1000


def kind_of_request(text: str, via: str, *, first: bool = False) -> str:
    """The kind of a request, by its text and channel: one of `DIRECTIVE_KINDS`."""
    if first:
        return "task"
    words = text.strip()
    if len(words) <= 80 and matches("approval", words):
        return "approval"
    if len(words) <= 90 and matches("choice", words):
        return "choice"
    if via == "rejection" or matches("correction", words[:300]):
        return "correction"
    ruled = sum(end - start for start, end in rules_in(words))
    return "constraint" if 2 * ruled > len(words) else "task"


def wants_words(text: str) -> bool:
    """Whether a request says what is wanted: more than "yes", "go on" or an option's letter."""
    words = text.strip()
    if any(matches(topic, words) for topic in ("approval", "choice", "goes_on")):
        return False
    # Code points; a yes in another language has fewer. Chosen by hand.
    return len(words) > 12 or matches("orders", words)
