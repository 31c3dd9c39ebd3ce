"""Errors and whether they were fixed, findings, and next steps."""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from itertools import chain, takewhile
from sys import intern
from typing import TypeAlias

from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff.analysis.activities import IDLE, edits, of_command, programs_in
from leftoff.analysis.checks import checks
from leftoff.analysis.done_work import DoneWork, content, is_dropped
from leftoff.analysis.git import git_events
from leftoff.analysis.requests import LAST_WORDS, user_requests
from leftoff.analysis.turns import turn_state
from leftoff.extraction.errors import stands_out
from leftoff.extraction.evidence import CUT, Asked, Called, Failed, Planned, Ran, Touched
from leftoff.extraction.requests import is_pasted
from leftoff.formats.vocabulary import EDITS
from leftoff.model import Ref
from leftoff.session_view import ByCall, Call, SessionView, call_of, number_of, once
from leftoff.shell.paths import relative
from leftoff.summary import ErrorSeen, Finding, NextStep, ToDo, TurnState
from leftoff.tables import table
from leftoff.text.truncation import whole

_RE = re.patterns(table(__file__, "patterns.toml")["insights"])

# A statement of what is left counts if it answers one of the last so many prompts. Chosen by
# hand; not measured.
RECENT_PROMPTS = 2

# A to-do list that was not touched since so many prompts is not what is left. Chosen by hand;
# not measured.
STALE = 4

# At most so many findings, the latest.
MAX_FINDINGS = 40

# At most so many changed files are named in what fixed an error.
MAX_FIXES = 3


def errors(view: SessionView) -> tuple[ErrorSeen, ...]:
    """Failed calls, of equal messages the last, with whether the call succeeded later and what
    was changed in between. The same check counts as the same call, however it was typed, and so
    does the same program on one of the same things with other options. Where only another call
    of that program or tool worked, the same one failed later with another message, or an edit
    of the file has no recorded result, it is not known whether that mended anything."""
    clean = _CleanRuns(view)
    found: dict[tuple[str, str], ErrorSeen] = {}
    last: dict[_Key, tuple[str, str]] = {}
    for failed in view.active(Failed):
        if _RE["not_run"].search(failed.text):
            continue
        place = failed.call
        made = view.calls.get(place)
        looks = (
            made is not None
            and made.kind == "shell"
            and _LOOKS.issuperset(of_command(made.text))
        )
        if looks and not stands_out(failed.text):
            continue  # that something was not found is no failure
        tool = made.name if made else ""
        asked = clean.asked_for(made)
        later = clean.first_after(place, [*clean.checks.get(place, ()), *asked])
        corrected = clean.corrected(place, made, failed.text)
        by = ""
        if corrected is not None and (later is None or corrected < later):
            later = corrected
            by = whole(view.calls[corrected].text.strip().partition("\n")[0], 120)
        like = _like(made, clean.programs_of(made)) if made and later is None else ()
        tried = later is None and any(clean.unrecorded.get(key, place) > place for key in asked)
        fixed = None if tried or clean.first_after(place, like) else later is not None
        if not fixed and looks and _RE["missing"].search(failed.text):
            fixed = None  # a name was guessed; what it was looked for may have been found
        for key in (*asked, *(key for key in like if any(map(_RE["script"].search, key)))):
            before = last.get(key, (tool, failed.text))
            if before != (tool, failed.text) and found[before].fixed is False:
                found[before] = replace(found[before], fixed=None)
            last[key] = tool, failed.text
        known = found.pop((tool, failed.text), None)
        found[tool, failed.text] = ErrorSeen(
            text=failed.text,
            tool=tool,
            ref=view.ref(failed.ref),
            count=known.count + 1 if known else 1,
            fixed=fixed,
            fixed_by=by or (clean.changed_between(place, later) if later else ""),
            fixed_ref=clean.ref_of(later) if later else None,
        )
    return tuple(found.values())


_Key: TypeAlias = tuple[str, ...]


class _CleanRuns:
    """Calls that worked, by what they did.

    Attributes:
        touched, ran: what calls did.
        changed: the files that calls changed.
        at: where each thing was done that a failed call did, by `number_of`, in order.
        refs: of the checks that passed, by their call.
        checks: the checks of a call that failed, else those of which nothing is known.
        unrecorded: the last edit of each file whose result is not recorded."""

    def __init__(self, view: SessionView) -> None:
        self.view = view
        self.touched, self.ran = view.by_call(Touched), view.by_call(Ran)
        changed = [
            (intern(item.path), item.call)
            for item in view.each(Touched, rewound=True)
            if item.path and item.verb != "read" and view.succeeded(item.call)
        ]
        self.changed = ByCall([path for path, _ in changed], (place for _, place in changed))
        at: dict[_Key, set[int]] = {}
        self.refs: dict[Call, Ref] = {}
        self.checks: dict[Call, list[_Key]] = {}
        unknown: dict[Call, list[_Key]] = {}
        for check in checks(view):
            place = (check.ref.message, check.ref.part or 0)
            key: _Key = ("check", check.kind, check.tool, check.scope)
            failed = self.checks.setdefault(place, [])
            if check.verdict == "passed":
                at.setdefault(key, set()).add(number_of(place))
                self.refs[place] = check.ref
            elif check.verdict == "failed":
                failed.append(key)
            else:
                unknown.setdefault(place, []).append(key)
        bad = {place for place, failed in self.checks.items() if failed}
        self.checks |= {place: keys for place, keys in unknown.items() if place not in bad}
        failures = view.active(Failed)
        failed_calls = (view.calls.get(f.call) for f in failures)
        asked_of = {key for made in failed_calls if made for key in self._keys(made)}
        self.unrecorded: dict[_Key, Call] = {}
        for call in view.each(Called, rewound=True):
            place = call.call
            if call.kind in EDITS and place not in view.outcomes:
                self.unrecorded |= dict.fromkeys(self.asked_for(call), place)
            if place not in bad and view.succeeded(place):
                for key in asked_of.intersection(self._keys(call)):
                    at.setdefault(key, set()).add(number_of(place))
        self.at = {key: array("q", sorted(places)) for key, places in at.items()}

    def _keys(self, made: Called) -> list[_Key]:
        return [*_like(made, self.programs_of(made)), *self.asked_for(made)]

    def asked_for(self, made: Called | None) -> list[_Key]:
        """What a call asks for, by its text; of an edit by the one file that it names."""
        if made is None:
            return []
        found: list[_Key] = [(made.name, made.text)] if made.text else []
        if made.kind in EDITS:
            before, after = (made.message, made.part - 1), (made.message, made.part + 1)
            files = {item.path for item in self.touched.between(before, after)} or {made.text}
            found += [("file", path) for path in files if path and len(files) == 1]
        return found

    def programs_of(self, made: Called) -> list[tuple[str, str]]:
        """The programs of a command line with their subcommands, without idle ones."""
        if made.kind != "shell" or not made.text:
            return []
        ran = self.ran.get(made.call)
        # The text of a call may be cut.
        command = ran.command if ran is not None and len(ran.command) > CUT else made.text
        return [fact for fact in programs_in(command) if fact[0] not in IDLE]

    def ref_of(self, place: Call) -> Ref | None:
        """Where a call that worked stands: the check in it, else its last file or command."""
        if place in self.refs:
            return self.refs[place]
        before, after = (place[0], place[1] - 1), (place[0], place[1] + 1)
        here: list[Touched | Ran] = [*self.ran.between(before, after)]
        here += self.touched.between(before, after)
        return self.view.ref(here[-1].ref) if here else None

    def first_after(self, place: Call, keys: Iterable[_Key]) -> Call | None:
        """The first call after a place that did one of these, None if none did."""
        lists = [self.at[key] for key in keys if key in self.at]
        after = ((found, bisect_right(found, number_of(place))) for found in lists)
        first = min((found[at] for found, at in after if at < len(found)), default=None)
        return None if first is None else call_of(first)

    def corrected(self, place: Call, made: Called | None, error: str) -> Call | None:
        """The next call that worked of the one program that failed, if both name the same
        thing or the failed one named nothing. Other tests mend none."""
        if made is None or place in self.checks:
            return None
        programs = self.programs_of(made)
        named = error.partition(":")[0].strip().casefold()
        programs = [p for p in programs if p[0] == named] or programs
        if len(set(programs)) != 1:
            return None
        later = self.first_after(place, [("program", *programs[0])])
        if later is None:
            return None
        mine, other = _operands(made.text, programs[0]), self.view.calls[later]
        return later if not mine or mine & _operands(other.text, programs[0]) else None

    def changed_between(self, start: Call, end: Call) -> str:
        """What was changed between a failed call and the one that worked: names of files, else
        the last command that worked; "" if nothing is known."""
        names = list(dict.fromkeys(self.changed.between(start, end)[::-1]))
        if names:
            cwd = self.view.state.header.cwd
            shown = [relative(path, cwd) for path in names[:MAX_FIXES][::-1]]
            more = len(names) - len(shown)
            return "changes to " + ", ".join(shown) + (f" and {more} more" if more else "")
        for ran in reversed(self.ran.between(start, end)):
            looks = _LOOKS.issuperset(of_command(ran.command, ran.language))
            if not looks and self.view.succeeded(ran.call):
                return whole(ran.command.strip().partition("\n")[0], 120)
        return ""


def _like(made: Called, programs: list[tuple[str, str]]) -> list[_Key]:
    """What a call is like: its programs, else its tool; of editing tools any."""
    if made.kind == "shell":
        return [("program", *fact) for fact in programs]
    return [("tool", "edit" if made.kind in EDITS else made.name)]


def _operands(command: str, program: tuple[str, str]) -> frozenset[str]:
    """The words of a program in a command line that are no options or signs of the shell; of
    the whole line where it has none."""
    parts = re.split(r"[;&|\n]+", command)
    for text in (" ".join(part for part in parts if program[0] in part), command):
        words = re.findall(r"[^\s'\"]*\w[^\s'\"]*", text)
        plain = {w for w in words if w[0] not in "-<>" and not w[0].isdigit()}
        if found := frozenset(plain) - {*program, "cd"}:
            return found
    return frozenset()


_LOOKS = frozenset({"look", "search", "inspect_change", "wait", "fetch"})


def key_findings(view: SessionView) -> tuple[Finding, ...]:
    """Sentences in which the agent says what it found out, without duplicates."""
    found: dict[str, Finding] = {}
    for said in view.sentences("finding"):
        words = " ".join(re.findall(r"\w+", said.text.casefold()))
        if len(words) > 20 and not said.text.rstrip().endswith("?"):
            found.setdefault(words, Finding(said.text, view.ref(said.ref)))
    return tuple(list(found.values())[-MAX_FINDINGS:])


@once
def next_steps(view: SessionView) -> tuple[NextStep, ...]:
    """What is left to do: open items of the last to-do list, the question that the agent ended
    with or the step that it was about to take, what was put off, and what the agent said to be
    left; nothing that later words or commits say to be done. The latest last."""
    prompts = [a for a in view.active(Asked) if a.via in {"prompt", "queued"}]
    found = [
        NextStep(item.text, item.status, item.ref)
        for item in to_dos(view)
        if item.status in {"in_progress", "pending"}
        and sum(a.ref.message > item.ref.message for a in prompts) < STALE
        and not is_dropped(view, item.ref.message, item.text)
    ]
    found.sort(key=lambda step: step.status != "in_progress")
    turn = turn_state(view)
    last = view.state.last_at
    ref = turn.ref or Ref(message=last)
    question = turn.question or (_offered(view) if turn.status == "closed" else "")
    if question:
        found.append(NextStep(question, "question", ref))
    elif prompts and (
        prompts[-1].ref.message > last  # nothing was said to it
        and _unanswered(view, turn, prompts[-1])
        or turn.status != "closed"  # the step that was announced has long been taken
        and sum(1 for _ in takewhile(lambda c: c.message > last, view.latest(Called)))
        > MAX_ACTED
    ):
        asked = prompts[-1]
        found.append(_quoted(view, asked, whole(asked.text, MAX_STEP).rstrip(), 0, "next"))
    elif turn.status != "closed" and (about := _about_to(view)):
        place = _place_of(view, last) or view.ref(Ref(message=last))
        found.append(NextStep(about, "next", place))
    seen = {key: content(key) for key in (_key(step.text) for step in found)}
    steps = [*_put_off(view), *_said_left(view), *_tickets(view)]
    if turn.status == "closed":
        prompted = max((a.ref.message for a in view.active(Asked)), default=-1)
        if not any(call.message > prompted for call in view.each(Called)):
            steps += _said_last(view, "proposal")  # with code to copy
        steps += _said_last(view, "step")
    for step in sorted(steps, key=lambda step: step.ref.message):
        key = _key(step.text)
        words = content(key)
        if not any(key in known or _is_same(words, other) for known, other in seen.items()):
            seen[key] = words
            found.append(step)
    return tuple(found)


def _unanswered(view: SessionView, turn: TurnState, prompt: Asked) -> bool:
    """Whether the last prompt, to which nothing was said, is not done: the agent's turn goes
    on, or it ended with calls that changed nothing or failed to deliver."""
    request = user_requests(view)[-1]
    if request.kind == "remark":
        return False  # it asks for nothing
    if turn.status != "closed":
        return True
    last = next(view.latest(Called), None)
    if last is not None and last.kind == "finish" and last.message > prompt.ref.message:
        return False  # the call that ends the work holds the answer
    done = request.status in {"done", "worked_on"}
    return not (done or turn.ended and request.kind in LAST_WORDS)


def _said_last(view: SessionView, topic: str) -> list[NextStep]:
    """What the agent's last words announce, after their last report of what was done: a message
    of a recorder that leaves calls out holds both."""
    here = view.state.last_at
    did = (s.ref for s in view.sentences("milestone") if s.value == "did")
    reported = max(
        ((ref.part or 0, ref.start or 0) for ref in did if ref.message == here),
        default=(-1, -1),
    )
    return [
        NextStep(said.text.rstrip(": *"), "said", view.ref(said.ref))
        for said in view.sentences(topic)
        if said.ref.message == here and (said.ref.part or 0, said.ref.start or 0) > reported
    ]


def _tickets(view: SessionView) -> list[NextStep]:
    """Tickets that the agent created and that no later words call settled; without a number
    these settle the last one before them."""
    found: dict[str, NextStep] = {}
    at: dict[str, int] = {}
    for one in view.sentences("ticket"):
        number = _RE["ticket"].search(one.text, one.start)
        if number is not None:
            # Not what the sentence says was done before it.
            words = one.text[one.start :]
            place = view.ref_within(one.ref, one.start, words)
            found.setdefault(number[0], NextStep(words, "said", place))
            at.setdefault(number[0], one.ref.message)
    for one in view.sentences("ticket_settled"):
        before = [key for key in found if at[key] < one.ref.message]
        last = before[-1:] if "ticket" in one.text.casefold() else []
        for key in {*(_RE["ticket"].findall(one.text) or last)}.intersection(before):
            del found[key]
    return list(found.values())


def _offered(view: SessionView) -> str:
    """The last question in the agent's last words that asks whether to do something."""
    typed = max((asked.ref.message for asked in view.active(Asked)), default=-1)
    tail = view.heard.tail if view.heard.said > typed else ""
    return whole(next(reversed(_RE["offers"].findall(tail)), "").strip(), MAX_STEP)


def _about_to(view: SessionView) -> str:
    """The last sentence of the agent's last words that announces a step, after the one before
    it, which often says why; "" if it was taken: all calls of that message worked, or more
    words follow."""
    last = view.state.last_at
    if last in view.abandoned:
        return ""
    calls = takewhile(lambda call: call.message >= last, view.latest(Called))
    here = [call.call for call in calls if call.message == last]
    outcomes = [view.outcomes.get(place) for place in here]
    if any(one is not None and one.status == "denied" for one in outcomes):
        return ""  # the person did not want it
    if here and all(view.succeeded(place) for place in here):
        return ""
    sentences = [
        sentence.strip(" *_#>-")
        for sentence in re.split(r"(?<=[.!?])\s+|\n+", view.state.last_words)
    ]
    for at in range(len(sentences) - 1, max(-1, len(sentences) - 2 - MAX_AFTER), -1):
        words = sentences[at]
        if _RE["announces"].search(words) and not _RE["condition"].search(words):
            return whole(" ".join(sentences[max(0, at - 1) : at + 1]), MAX_STEP)
    return ""


# Sentences after one that announces a step: in recordings that stop there none follow, and 13
# or more where the step was taken in the same message.
MAX_AFTER = 2

# Calls after the agent's last words up to which these announce the step that it is at. Chosen
# by hand; not measured.
MAX_ACTED = 5

# Code points of a step that was about to be taken.
MAX_STEP = 400


def _place_of(view: SessionView, message: int) -> Ref | None:
    """A reference to a message: that of any call in it."""
    acts: Iterable[Ran | Touched] = chain(view.each(Ran), view.each(Touched))
    return next((view.ref(act.ref) for act in acts if act.ref.message == message), None)


def _put_off(view: SessionView) -> list[NextStep]:
    found = []
    for asked in view.active(Asked):
        if asked.text.isascii() and not _RE["later"].search(asked.text.lower()):
            continue
        for match in _RE["clause"].finditer(asked.text):
            words = match[0].strip()
            start = match.start() + match[0].index(words)
            if now := _RE["asked_now"].match(words):
                start, words = start + now.end(), words[now.end() :]
            fits = 15 < len(words) <= 300 and words[-1] != "?"
            fits = fits and _RE["person_defers"].search(words) is not None
            if fits and not is_pasted(asked, start, start + len(words)):
                found.append(_quoted(view, asked, words, start, "postponed"))
    return found


def _quoted(view: SessionView, asked: Asked, words: str, start: int, status: str) -> NextStep:
    """A step in the person's words, with the reference to just these."""
    return NextStep(words, status, view.ref_within(asked.ref, start, words))


def _said_left(view: SessionView) -> list[NextStep]:
    """What the agent said to be left: in answer to the last prompts, or put off at any time, in
    its last list of next steps, or not delivered by anything since."""
    sentences = view.sentences("next_step")
    if not sentences:
        return []
    asked = [a for a in view.active(Asked) if a.via == "prompt"]
    prompts = [a.ref.message for a in asked]
    answers = {a.said: a for a in reversed(asked)}  # to reports, as against words in a turn
    since = prompts[-RECENT_PROMPTS] if len(prompts) >= RECENT_PROMPTS else 0
    prompted = max(prompts, default=-1)
    last = view.state.last_at
    sends = [e.ref.message for e in git_events(view) if e.kind in _SENDS]
    sends += [s.ref.message for s in view.sentences("milestone") if s.value in _SENT]
    sent = max(sends, default=-1)
    call = next(view.latest(Called), None)
    goes_on = turn_state(view).status != "closed"
    # The recorder may not say what became of the calls that follow the last words.
    acted = goes_on or call is not None and call.message >= last
    found = []
    listed = max((s.ref.message for s in sentences if s.rule == "next-heading"), default=-1)
    # What was asked for since stands among the requests.
    done = DoneWork([*_done_words(view), *((a.ref.message, a.text) for a in asked)])
    recent = range(prompts[-STALE - 1] if len(prompts) > STALE else 0, last + 1)
    # Where nobody typed anything and nothing was edited, an agent tells another what to do.
    advises = not any(view.active(Asked)) and not edits(view)
    numbers: Counter[tuple[int, str]] = Counter()
    for said in sentences:
        text, at = said.text.strip(), said.ref.message
        numbers[at, said.rule] += 1
        deferred = _RE["deferred"].search(text) is not None
        if text.rstrip("*").endswith(("?", ":")) or _RE["nothing_left"].search(text):
            continue
        undelivered = _RE["undelivered"].search(text) is not None
        stays = undelivered and _RE["supposed"].search(text) is None
        answer = answers.get(at)
        is_report = answer is not None
        counts = deferred or stays or at == last or is_report and _RE["not_yet"].search(text)
        # A turn that ended has a report, which says again what is left.
        reported = not is_report and (not goes_on or at < prompted)
        if (reported or said.rule == "left-undone") and not counts:
            continue
        if said.rule in _LISTS and (at < listed and not deferred or advises):
            continue  # a later list says what is left
        listed_last = said.rule == "next-heading" and at == listed and at in recent
        lasting = deferred or stays or listed_last
        if not (lasting or (at >= since and prompts) or at == last):
            continue
        if at < last and _RE["intends"].search(text):
            continue
        if (at < last or acted) and _RE["announces"].search(text):
            continue  # it was announced, and the agent went on
        if sent > at and (undelivered or reported and _RE["own_commit"].search(text)):
            continue
        if done.after(at, text) or _was_carried_out(view, at, text):
            continue
        if is_dropped(view, at, text, numbers[at, said.rule]):
            continue
        if prompted > at and (_RE["asks_you"].search(text) or _RE["until_prompt"].search(text)):
            continue  # the person answered, or went on
        if answer and not deferred and not stays and _is_taken_up(answer, text):
            continue
        if any(message > at and _names(text) & words for message, words in _claimed(view)):
            continue
        found.append(NextStep(said.text, "said", view.ref(said.ref)))
    return found


@once
def _claimed(view: SessionView) -> list[tuple[int, set[str]]]:
    """What the person says to have done: the words, each with their message. Asked for last,
    since it takes long to look for in what is pasted."""
    asked = (a for a in view.active(Asked) if a.via == "prompt")
    claims = ((a.ref.message, " ".join(_RE["did_self"].findall(a.text))) for a in asked)
    return [(m, set(re.findall(r"\w{3,}", said.casefold()))) for m, said in claims if said]


def _is_same(words: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two steps are one in other words: so short ones may differ in what matters."""
    fewer = min(len(words), len(other))
    return fewer >= MANY and len(words & other) >= SAME_STEP * fewer


# Share of the words of the shorter of two steps that the other has, too, if both are one step,
# and how many words that takes. Chosen by hand.
SAME_STEP, MANY = 0.8, 4


def _is_taken_up(answer: Asked, step: str) -> bool:
    """Whether the person's answer to a report hands on all its steps or this one, or says that
    it is done: what the turn after it left, its own report says."""
    words = answer.text
    if _RE["takes_all"].search(words):
        return True
    agreed = _RE["agrees"].match(words) is not None
    return agreed and len(content(step) & content(f"{answer.question} {words}")) >= COMMON


# So many words in common with a step, and the person's yes is to this step. Chosen by hand: of
# two, one is often the name of what all steps are about.
COMMON = 2


def _names(text: str) -> frozenset[str]:
    """The words of the names in a step: of files, settings and services."""
    return frozenset(re.findall(r"\w{3,}", " ".join(_RE["named"].findall(text)).casefold()))


def _was_carried_out(view: SessionView, at: int, step: str) -> bool:
    """Whether a later call ran the command that a step quotes, or changed the file of which it
    says to create, change or delete it."""
    codes = [*_RE["code"].findall(step), *_RE["runs"].findall(step)]
    # From the end: in a very large session what stands before the step is not unpacked.
    later = takewhile(lambda act: act.ref.message > at, view.latest(Ran) if codes else ())
    for ran in later:
        for code in codes:  # a loop: thousands of commands for each of many steps
            if code in ran.command and view.succeeded(ran.call):
                return True
    changes = _RE["changes_file"].search(step) is not None
    names = _RE["named"].findall(_RE["beside"].sub("", step)) if changes else []
    files = tuple(f"/{name.strip('`')}" for name in names if "." in name)
    acts = takewhile(lambda act: act.ref.message > at, view.latest(Touched) if files else ())
    return any(
        touched.verb != "read"
        and f"/{touched.path}".endswith(files)
        and view.succeeded(touched.call)
        for touched in acts
    )


_LISTS = frozenset({"next-list", "next-heading"})
_SENDS, _SENT = frozenset({"commit", "push"}), frozenset({"committed", "pushed"})


def _done_words(view: SessionView) -> list[tuple[int, str]]:
    """What was said, committed or ticked off as done, and in which message."""
    found = [
        (s.ref.message, s.text)
        for s in view.sentences("milestone")
        if s.value in {"did", "done"}
    ]
    found += [(e.ref.message, e.text) for e in git_events(view) if e.kind == "commit"]
    found += [(t.ref.message, t.text) for t in to_dos(view) if t.status == "completed"]
    return found


def _key(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


@once
def to_dos(view: SessionView) -> list[ToDo]:
    """The to-do list at the end, each item with where it was last changed.

    Subagents complete items of the same list. When, relative to the main thread, is not
    recorded, so what one of them completed stays completed."""
    items: dict[str, ToDo] = {}
    for plan in view.active(Planned):
        ref = view.ref(plan.ref)
        if plan.whole:
            whole_list = enumerate(plan.items)
            items = {f"{n}": ToDo(words, status, ref) for n, (_, words, status) in whole_list}
            continue
        for key, words, status in plan.items:
            old = items.get(f"#{key}", ToDo("", "pending", ref))
            items[f"#{key}"] = ToDo(words or old.text, status or old.status, ref)
    for child in view.children:
        for plan in child.active(Planned):
            for key, _, status in () if plan.whole else plan.items:
                known = items.get(f"#{key}")
                if known is not None and status == "completed":
                    items[f"#{key}"] = replace(known, status=status)
    return [item for item in items.values() if item.text and item.status != "deleted"]
