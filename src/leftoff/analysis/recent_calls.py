"""The last calls with their outcomes, the steps of the turn in work, and what still runs in the
background."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from operator import itemgetter

from leftoff import lazy_re as re
from leftoff.analysis.activities import activities, of_edit
from leftoff.analysis.checks import all_worked, checks
from leftoff.extraction.checks import Checks
from leftoff.extraction.evidence import Asked, Called, Checked, Edited, Failed, Ran, Touched
from leftoff.formats.vocabulary import EDITS, READ_ONLY_KINDS
from leftoff.model import Ref
from leftoff.session_view import Call, SessionView, once
from leftoff.shell.paths import relative
from leftoff.summary import CallOutcome, Step
from leftoff.text.truncation import short

# The last calls of a session that are listed. Chosen by hand.
MAX_CALLS = 12

# Steps of a turn, and calls that they are made of: the last. Chosen by hand.
MAX_STEPS, MAX_STEP_CALLS = 30, 200

# Files or patterns of one step that are named: the last, with their code points. Chosen by
# hand.
MAX_TARGETS, MAX_TARGET = 6, 50

_STATUS = {one: one for one in ("ok", "denied", "interrupted", "running", "unknown")}
_STATUS["timeout"] = "timed out"
# Kinds of calls that run a program.
_COMMANDS = frozenset({"shell", "powershell", "script"})
# Of these, many in a row stand as one step: which file was read first tells little.
_LOOKS = frozenset({"look", "search", "inspect_change", "fetch", "wait", "other"})


def recent_calls(view: SessionView, limit: int = MAX_CALLS) -> tuple[CallOutcome, ...]:
    """The last calls on the active branch, in order; a job in the background has the outcome
    that a later look at it showed."""
    calls = list(islice(view.latest(Called), limit))[::-1]
    reasons = {f.call: f.text for f in view.active(Failed)}
    first = calls[0].message if calls else 0
    edits = {e.call: e for e in view.each(Edited) if e.message >= first}
    places = _places(view, first)
    ends = _ends(view)
    found = []
    for call in calls:
        place = call.call
        outcome = view.outcomes.get(place)
        status = "" if outcome is None else _STATUS.get(outcome.status, "failed")
        if outcome is not None and status == "running" and place in ends:
            end = view.outcomes.get(ends[place], outcome)
            if end.exit_code is not None or end.status != "ok":  # else the look alone worked
                outcome, status = end, _STATUS.get(end.status, "failed")
        if status in {"ok", "unknown"} and outcome is not None and outcome.exit_code:
            status = "failed"
        ran = view.commands.get(place)
        if (
            status == "ok"
            and call.kind in _COMMANDS
            and not (ran and outcome and all_worked(view, ran, outcome))
        ):
            status = "unknown"
        text, edit = _words(view, call), edits.get(place)
        if edit is not None:
            text = edit.path + (f":{edit.first}-{edit.last}" if edit.first else "")
        ref = view.ref(places.get(place) or _ref(call))
        line = reasons.get(place) or reasons.get(ends.get(place, place), "")
        found.append(CallOutcome(call.name, text, status, ref, line))
    return tuple(found)


def _words(view: SessionView, call: Called) -> str:
    """The words of a call; of a script the commands that it runs."""
    if call.kind != "script":
        return call.text
    ran = [r.command for r in view.active(Ran) if r.call == call.call]
    return "; ".join(ran) or call.text


def _ends(view: SessionView) -> dict[Call, Call]:
    """The call that saw the end of each job in the background, by the call that started it."""
    started: dict[str, Call] = {}
    found: dict[Call, Call] = {}
    for checked in view.each(Checked):
        if checked.task:
            look = checked.call
            found[started.setdefault(checked.task, look)] = look
    for call in running(view):
        found.pop((call.ref.message, call.ref.part or 0), None)
    return found


def _places(view: SessionView, first: int) -> dict[tuple[int, int | None], Ref]:
    """Where the calls from message `first` on stand, as far as something was found in them."""
    found: dict[tuple[int, int | None], Ref] = {}
    kinds: tuple[type[Ran | Touched], ...] = (Ran, Touched)
    for kind in kinds:
        for item in view.latest(kind):
            if item.ref.message < first:
                break
            found.setdefault((item.ref.message, item.ref.part), item.ref)
    return found


def steps(view: SessionView, written: Mapping[Call, Sequence[str]]) -> tuple[Step, ...]:
    """What the agent said and did since its turn began: calls in a row that change files are
    one step, and so are those that only look; other commands stand alone, with their verdict
    where they check the work.

    Args:
        written: the files that each call since then created or modified, by its message and
            part."""
    if "requests" not in view.state.extractors:
        return ()
    heard, did = view.heard, activities(view)
    judged = {(c.ref.message, c.ref.part): c for c in checks(view)}
    cwd = view.state.header.cwd
    found: list[tuple[Call, Step]] = []
    for at, words in heard.trail:
        if at not in view.abandoned:
            found.append(((at, -1), Step("said", words, "", view.ref(Ref(message=at)))))
    for call in recent_calls(view, MAX_STEP_CALLS):
        place = call.ref.message, call.ref.part or 0
        made = view.calls[place]
        if place[0] <= heard.since or made.kind in {"plan", "ask", "poll"}:
            continue
        kind, text, status, line = "ran", call.text or call.tool, call.status, call.line
        check = judged.get(place)
        patches = made.kind == "script" and _words(view, made) == made.text
        if made.kind in EDITS or (patches and written.get(place)):
            # A patch names its files inside; one that failed, none.
            kind = "edited"
            files = [made.text] if made.text and not patches else written.get(place)
            text = files[-1] if files else call.text or call.tool
        elif status == "running":
            status = "started in the background"
        elif check is not None:
            status = check.verdict
            names = ", ".join(check.failing[:2]) if status == "failed" else ""
            line = ": ".join(filter(None, (names, check.line))) if status == "failed" else ""
        elif status in {"ok", "unknown"} and (
            made.kind in READ_ONLY_KINDS or _LOOKS.issuperset(did.get(place, ("run",)))
        ):
            kind = "looked"
            files = [p for p in written.get(place, ()) if of_edit(p) != "edit_scratch"]
            if files:  # `cat` and `echo` print into a file
                kind, text = "edited", files[-1]
        elif made.kind not in {"shell", "powershell", "script"}:
            text = f"{call.tool} {call.text}".rstrip()
        if kind != "ran":
            text = _target(relative(text, cwd))
        found.append((place, Step(kind, text, status, call.ref, line)))
    found.sort(key=itemgetter(0))
    # Of an edit that was tried again the failure is no step.
    bad = {(at, s.text) for at, s in found if (s.kind, s.status) == ("edited", "failed")}
    again = {s.text: at for at, s in found if s.kind == "edited" and (at, s.text) not in bad}
    found = [
        (at, s) for at, s in found if (at, s.text) not in bad or again.get(s.text, at) <= at
    ]
    merged: list[list[Step]] = []
    same: dict[tuple[str, ...], list[Step]] = {}  # since the last words or other command
    typed = [a.ref.message for a in view.active(Asked) if a.ref.message > heard.since]
    for (at, _), step in found:
        quiet = step.kind in {"edited", "looked"}
        if typed and typed[0] < at:
            typed = [message for message in typed if message > at]
            same.clear()
        known = "" if step.status in {"ok", "unknown"} else step.status
        key = (step.kind, known) if quiet else (step.kind, step.text)
        if key not in same:
            if not quiet:
                same.clear()
            same[key] = []
            merged.append(same[key])
        same[key].append(step)
    return tuple(map(_merged, merged[-MAX_STEPS:]))


def _target(text: str) -> str:
    """What a call looked at or changed, in short: the end of a path, the beginning of a
    pattern or command, which is more than the program alone."""
    if " " in text or "\n" in text:
        if " " in short(text, MAX_TARGET, ""):
            return short(text, MAX_TARGET, "…")
        program, _, rest = text.partition(" ")
        return f"{program} {_target(rest.split()[0])}" if rest.strip() else program
    return "/".join(text.split("/")[-3:])


def _merged(several: list[Step]) -> Step:
    """Calls in a row as one step: each path or pattern once, with how often."""
    last = several[-1]
    text = last.text
    if last.kind in {"edited", "looked"}:
        counts = Counter(step.text for step in reversed(several))
        named = list(islice(counts.items(), MAX_TARGETS))
        text = ", ".join(f"{text} ×{n}" if n > 1 else text for text, n in named)
        text += f" and {len(counts) - len(named)} more" if len(counts) > len(named) else ""
    return Step(last.kind, text, last.status, last.ref, last.line, len(several))


@once
def running(view: SessionView) -> tuple[CallOutcome, ...]:
    """The calls that started something in the background whose end is not seen, and whose
    command was not given again. A check that failed by what it printed is as good as over."""
    heard = view.state.extractors.get("checks")
    if not isinstance(heard, Checks) or not heard.open:
        return ()
    jobs = {place: job for job, place in heard.open.items()}
    judged: dict[str, set[Call]] = {}
    for check in checks(view):
        judged.setdefault(check.verdict, set()).add((check.ref.message, check.ref.part or 0))
    failed = judged.get("failed", set()) - judged.get("unknown", set())
    started = [(call, job) for place, job in jobs.items() if (call := view.calls.get(place))]
    texts = {call.text for call, _ in started}
    first = view.by_call(Checked)

    def left(call: Called) -> str:
        """Its words; of several commands of a script those that go on."""
        ran = [r.command for r in view.active(Ran) if r.call == call.call]
        codes = made.codes if (made := first.get(call.call)) else ()
        paired = zip(ran, codes, strict=True) if len(ran) == len(codes) else ()
        return "; ".join(c for c, code in paired if code in heard.open) or _words(view, call)

    last = {c.text: c for c in view.each(Called) if c.text in texts}
    return tuple(
        CallOutcome(call.name, left(call), "running", view.ref(_ref(call)), job)
        for call, job in started
        if call.message not in view.abandoned
        and job not in view.state.header.ended_jobs
        and call.kind != "poll"
        and (not call.text or last.get(call.text) == call)
        and call.call not in failed
        and not _is_over(view, call)
    )


# What a command ends: by a part of its command line, or by the port that it has.
_KILLS = re.compile(
    r"""\b(?:pkill|killall)(?:\s+-\S+)*\s+(?:"([^"]+)"|'([^']+)'|([^\s;&|"']+))"""
    r"|\bkill\b.*\blsof -\w*i\w*(?: ?tcp)? ?:(\d+)|\blsof -\w*i\w*(?: ?tcp)? ?:(\d+).*\bkill\b"
)


def _is_over(view: SessionView, call: Called) -> bool:
    """Whether a later command ended what a call started, or shows that it ended: git makes no
    commit while another one is made."""
    if "git commit" in call.text and any(
        one.ref.message > call.message for one in view.shown({"git_commit"})
    ):
        return True
    return any(
        any(part and part in call.text for part in found.groups())
        for ran in view.each(Ran)
        if ran.ref.message > call.message and "kill" in ran.command
        for found in _KILLS.finditer(ran.command)
    )


def _ref(call: Called) -> Ref:
    return Ref(message=call.message, part=call.part)
