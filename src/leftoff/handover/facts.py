"""What a session leaves to its successor, selected once for every form that is delivered.

`handover_of` turns a `ContextSummary` into a `Handover`: facts in the order of
`docs/handover.md`, each with its words, its place, its speaker and its weight. Nothing is cut,
escaped or redacted here: `lines` does the wording, `packing` the budget, and the forms (resume
log, prompt, hook's block, checkpoint, resume message) only differ in frame and budget."""

from collections.abc import Container, Iterable, Sequence
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import asdict, replace

from leftoff import lazy_re as re
from leftoff.analysis.decisions.shown import LikelyDecisions, binds, by_weight
from leftoff.extraction.errors import is_frame
from leftoff.formats.vocabulary import READ_ONLY_KINDS, kind_of
from leftoff.handover.blocks import openness, plan_blocks, report_blocks, task_blocks
from leftoff.handover.checks import last_checks, since_of, verdict_of, where_of
from leftoff.handover.names import names_in_use
from leftoff.handover.remarks import Overtaken
from leftoff.handover.standing import (
    INTENT,
    MIN_WORDS,
    Decided,
    decided,
    first_task,
    is_announced,
    is_deleted,
    is_move,
    is_overtaken,
    is_rule,
    is_statement,
    last_commits_branch,
    manner_of,
    points_back,
    quoting,
    takes_up,
    with_words,
)
from leftoff.handover.wording import status_words
from leftoff.summary import (
    Check,
    ContextSummary,
    DiscardedFile,
    FileModification,
    GitEvent,
    TurnState,
    UnknownEffect,
    UserRequest,
    Words,
    WorkingSet,
)
from leftoff.text.truncation import short

# Code points; a longer first request is given block by block. Chosen by hand.
MIN_SPLIT_LENGTH = 400
# Probability that a sentence states a decision, 0 where it is not known, from which it may fill
# room. Of 200 lines below it that were read, hardly one was of use to a successor.
LEAST_LIKELY = 0.06
# So many files without a later commit are named with the state. Chosen by hand.
MAX_LOOSE = 2
# Code points of what mended a failure. Chosen by hand.
MAX_FIX = 140
# Code points of a message whose words are not given again as a decision or a constraint: it is
# shown nearly whole. Chosen by hand.
MAX_REPEATED = 240
# Messages after which the text of a plan or a ticket is not given. Chosen by hand.
PLAN_AGE = 160
# What only cuts the output of a check: with another cut it is the same check.
_FILTER = re.compile(
    r"(?: 2>&1)?(?: \| (?:tail|head|grep)\b(?:[^|;&\"'\n]|\"[^\"\n]*\"|'[^'\n]*')*)*$"
)
_WORD = re.compile(r"\w+")

_place = attrgetter("ref.place")


class Fact(Struct, frozen=True):
    """One thing worth knowing.

    Attributes:
        text: the words, raw.
        note: what they are, in ours, e.g. "constraint"; "" for nothing to add.
        message: index of the message, -1 for none.
        speaker: person | agent | tool | leftoff; a tool's words are shown as code.
        weight: 0 to 1; the higher, the sooner it is taken.
        more: a second text that belongs to it: an answer's question, a decision's reason."""

    text: str
    note: str = ""
    message: int = -1
    speaker: str = "agent"
    weight: float = 0.5
    more: str = ""


class State(TurnState, frozen=True):
    """Where the session stands: whose turn it is, and what git knows.

    Attributes:
        branch, commit: as last seen, "" if not known.
        uncommitted: changed files without a later commit; None where that is not known.
        loose: the names of these, the latest first, where they are few.
        attended: a person typed something.
        manner: as `manner_of` gives it.
        elsewhere: the last commit where it was made in another folder, with its branch and
            that folder."""

    branch: str = ""
    commit: str = ""
    uncommitted: int | None = None
    loose: tuple[str, ...] = ()
    attended: bool = True
    manner: str = ""
    elsewhere: str = ""


class Handover(Struct, frozen=True):
    """Everything that a successor is given, newest first unless said otherwise.

    Attributes:
        goal: the first task, in one fact.
        task: the blocks of the first task where it is long, in order.
        last_message: the person's last message, uncut; None if there is none.
        said: the person's other messages.
        constraints: what the person required or forbade, in order of weight.
        last_words: the agent's last words.
        steps: what the agent said and did since its turn began, in order: its words, calls
            (tool) and what was changed or looked at in a row (leftoff).
        plan: the call that last read or wrote a plan or a ticket, then the blocks of its text.
        links: the last addresses that the agent gave.
        report: the blocks of the words with which it ended the turn before that.
        running: what was started in the background and is not seen to have ended.
        queued: what the person typed and the agent has not been given.
        to_dos: items in progress, then pending.
        open_items: what else was left to do.
        checks: the last run of each check.
        files: changed files by recency.
        unnamed: programs that may have changed other files, with how often they ran.
        read: files only read, by recency.
        lessons: failures with what mended them.
        failures: failures that nothing is seen to have mended, the latest first.
        decisions: those that stand, the person's by what they settle, then the agent's.
        likely, on_the_way: what may have changed since, and what else the agent would take up.
        discarded: files that were written and removed or renamed again.
        git: commits, pushes, pull requests.
        findings, sentences, names, commands: what fills room that is left."""

    state: State = State()
    goal: Fact | None = None
    task: tuple[Fact, ...] = ()
    last_message: Fact | None = None
    said: tuple[Fact, ...] = ()
    constraints: tuple[Fact, ...] = ()
    last_words: Fact | None = None
    steps: tuple[Fact, ...] = ()
    plan: tuple[Fact, ...] = ()
    links: tuple[Fact, ...] = ()
    report: tuple[Fact, ...] = ()
    running: tuple[Fact, ...] = ()
    queued: tuple[Fact, ...] = ()
    to_dos: tuple[Fact, ...] = ()
    open_items: tuple[Fact, ...] = ()
    checks: tuple[Fact, ...] = ()
    files: tuple[FileModification, ...] = ()
    unnamed: tuple[UnknownEffect, ...] = ()
    read: tuple[str, ...] = ()
    lessons: tuple[Fact, ...] = ()
    failures: tuple[Fact, ...] = ()
    decisions: tuple[Fact, ...] = ()
    likely: tuple[Fact, ...] = ()
    on_the_way: tuple[Fact, ...] = ()
    discarded: tuple[DiscardedFile, ...] = ()
    git: tuple[Fact, ...] = ()
    findings: tuple[Fact, ...] = ()
    sentences: tuple[Fact, ...] = ()
    names: tuple[str, ...] = ()
    commands: tuple[Fact, ...] = ()

    @property
    def unfinished(self) -> Fact | None:
        """The last message, if the turn that answers it was not finished."""
        return self.last_message if self.state.status in {"open", "interrupted"} else None

    @property
    def commits(self) -> bool:
        """Whether a commit is seen, so that what is in none can be told from the rest."""
        made = any(fact.note.startswith("commit") for fact in self.git)
        return made or any(file.committed for file in self.files)

    @property
    def failed_checks(self) -> tuple[Fact, ...]:
        """The checks whose last run failed."""
        return tuple(check for check in self.checks if check.note.startswith("failed"))


def goal_of(summary: ContextSummary) -> Fact | None:
    """The session's task alone: `goal` of its handover."""
    first = first_task(summary, *with_words(_standing(summary)))
    if first:
        return _request(first)
    given = summary.working_set.assigned
    return Fact(given.text, "given to this subagent", given.message) if given else None


def _standing(summary: ContextSummary) -> list[UserRequest]:
    return [r for r in summary.user_requests if r.status != "withdrawn"]


def changed_files(summary: ContextSummary) -> list[FileModification]:
    """The files that the session changed, by recency."""
    return _by_recency(net_files(f for f in summary.file_modifications if f.action != "read"))


def handover_of(summary: ContextSummary) -> Handover:
    """The handover of a recorded session; a pure function."""
    requests = _standing(summary)
    wholes, typed = with_words(requests)
    first, last = first_task(summary, wholes, typed), max(typed, key=_place, default=None)
    goal = goal_of(summary)
    files, changed = summary.file_modifications, changed_files(summary)
    found = decided(summary, judged=bool(summary.second_reader))
    ruled = [r.text for r in requests if r.kind == "constraint"]
    overtaken, quoted = Overtaken(summary), quoting(summary)
    standing, likely, on_the_way = _decisions(found, wholes, ruled, overtaken)
    rules = {r for r in requests if is_rule(r) and not is_overtaken(r, typed)}
    known = {d.text for d in (*standing, *likely, *on_the_way)}
    typed_before = LikelyDecisions(requests)
    working, folder = summary.working_set, summary.session.cwd
    words = working.last_words
    steps = tuple(_steps(working, folder))
    reports = (working.remark or Words(), working.report)
    report = tuple(f for r in reports if r.message != words.message for f in _report(r))
    shown = [fact.text for fact in (*steps, *report) if fact.speaker == "agent"]

    def holds(text: str, message: int, part: int, chance: float = 0.0) -> bool:
        new = text not in known and message != words.message and is_statement(text)
        return new and not points_back(text) and not overtaken(text, message, part, chance)

    return Handover(
        state=_state(summary, changed),
        goal=goal,
        task=_blocks(goal) if goal and (first is None or first is not last) else (),
        last_message=_request(last, quoted) if last else None,
        said=tuple(
            _request(r, quoted)
            for r in sorted(typed, key=_place, reverse=True)
            if r is not last and r is not first and r not in rules
        ),
        constraints=tuple(
            _request(r)
            for r in reversed(requests)
            if r in rules
            and r is not last
            and not _is_repeated(r, wholes)
            and not r.text.rstrip(" *_").endswith(":")  # what it asks for stands below
        ),
        last_words=Fact(words.text, "", words.message) if words.text else None,
        steps=steps,
        links=tuple(Fact(w.text, "", w.message) for w in working.links or ()),
        plan=_plan(summary),
        report=report,
        running=tuple(
            Fact(_inside(c.text or c.tool, folder), f"job {c.line}", c.ref.message, "tool")
            for c in working.running
        ),
        queued=tuple(Fact(text, "", -1, "person", 1.0) for text in working.queued),
        to_dos=tuple(
            Fact(t.text, status_words(t.status), t.ref.message)
            for wanted in ("in_progress", "pending")
            for t in summary.next_steps
            if t.status == wanted
        ),
        open_items=tuple(
            Fact(s.text, status_words(s.status), s.ref.message)
            for s in reversed(summary.next_steps)
            if s.status not in {"in_progress", "pending"}
            and s.text not in known
            and (
                last is None or s.ref.message > last.ref.message  # else the person answered
                if s.status == "question"
                else is_statement(s.text, moves=s.status != "said")
            )
        ),
        checks=_checks(summary.checks, folder),
        files=tuple(changed),
        unnamed=summary.unknown_effects,
        read=tuple(f.path for f in _by_recency(f for f in files if f.action == "read")),
        # Failures that something mended, the latest first.
        lessons=tuple(
            Fact(e.text, f"{e.tool}, then {short(e.fixed_by, MAX_FIX)}", e.ref.message, "tool")
            for e in reversed(summary.errors)
            if e.fixed and e.fixed_by and not is_frame(e.text)
        ),
        failures=_failures(summary),
        decisions=tuple(standing),
        likely=tuple(likely),
        # A fault that stands with its remedy among the sentences is not given alone.
        on_the_way=tuple(
            f
            for f in on_the_way
            if f.message != words.message
            and not any(f.text in w.text != f.text for w in working.recent)
        ),
        discarded=tuple(working.discarded or ()),
        git=tuple(_git(summary.git)),
        findings=tuple(
            Fact(f.text, "", f.ref.message)
            for f in reversed(summary.key_findings)
            if holds(f.text, f.ref.message, f.ref.part or 0)
        ),
        sentences=tuple(
            Fact(w.text, "", w.message, weight=w.weight)
            for w in working.recent
            if holds(w.text, w.message, w.part or 0, w.weight)
            and not typed_before.objected(w.text, w.message)
            and not w.text.rstrip(" *_").endswith("?")
            and not any(w.text in text for text in shown)
            and not 0 < w.weight < LEAST_LIKELY
        ),
        names=names_in_use(summary, changed),
        commands=tuple(
            Fact(c.text, "ok", c.ref.message, "tool")
            for c in working.commands
            if c.kind not in {"test", "build", "lint"} and "|" not in c.text
        ),
    )


def _is_repeated(request: UserRequest, wholes: Sequence[UserRequest]) -> bool:
    """Whether a request is a part of another one that is short, and so is shown in words."""
    return any(
        whole is not request
        and whole.kind != "constraint"
        and whole.ref.message == request.ref.message
        and len(whole.text) <= MAX_REPEATED
        and request.text in whole.text
        for whole in wholes
    )


def _request(request: UserRequest, quoted: Container[UserRequest] = ()) -> Fact:
    # Whether it is done is not in its status alone: the agent may have answered in between.
    return Fact(
        request.text,
        "quotes the agent" if request in quoted else "",
        request.ref.message,
        "person",
        1.0 if request.status == "open" or request.status.endswith("_failed") else 0.5,
        request.question if takes_up(request) else "",
    )


def with_goal(handover: Handover, goal: str) -> Handover:
    """A handover whose task is given in its owner's words; the first request stands with what
    else the person said. The handover itself where that is the same, or there is no goal."""
    first, last = handover.goal, handover.last_message
    if not goal or any(fact and fact.text == goal for fact in (first, last)):
        return handover
    said = handover.said if first is None or first == last else (*handover.said, first)
    given = Fact(goal, speaker="person")
    return replace(handover, goal=given, task=_blocks(given), said=said)


def _blocks(goal: Fact) -> tuple[Fact, ...]:
    if len(goal.text) <= MIN_SPLIT_LENGTH:
        return ()
    blocks = task_blocks(goal.text)
    return tuple(
        Fact(
            text, "" if n else goal.note, goal.message, goal.speaker, 1 - n / (len(blocks) + 1)
        )
        for n, text in enumerate(blocks)
    )


def _state(summary: ContextSummary, changed: Sequence[FileModification]) -> State:
    loose = [f for f in changed if f.committed is False]
    git = any(f.committed for f in changed) or bool(summary.git) or summary.session.branch
    turn = summary.turn
    last = next((e for e in reversed(summary.git) if e.kind == "commit"), None)
    return State(
        **asdict(turn if turn.status else replace(turn, since=summary.session.ended)),
        branch=summary.session.branch or last_commits_branch(summary),
        commit=summary.working_set.commit,
        uncommitted=len(loose) if git else None,
        loose=tuple(f.path.rpartition("/")[2] for f in loose if len(loose) <= MAX_LOOSE),
        attended=bool(summary.user_requests),
        manner=manner_of(summary),
        elsewhere=_place_of(last) if last and last.folder else "",
    )


def _by_recency(files: Iterable[FileModification]) -> list[FileModification]:
    """The newest first; files outside the project after those in it."""
    return sorted(
        (f for f in files if f.certainty != "unknown"),
        # The project's own paths are relative.
        key=lambda f: (
            f.path.startswith(("/", "~", "..")) or f.path[1:2] == ":",
            -f.last_message,
            f.path,
        ),
    )


def net_files(files: Iterable[FileModification]) -> list[FileModification]:
    """Changed files without the old places of moved ones, which the new ones name, and without
    those of which no more is known than that a folder was made or removed with them."""
    files = list(files)
    moved = {f.renamed_from for f in files if f.renamed_from}
    folders = [f for f in files if f.path[-1:] == "/"]
    return [
        f
        for f in files
        if not (f.action == "deleted" and f.path in moved)
        and not any(
            f.path.startswith(folder.path)
            and f.path != folder.path
            and (f.action, f.last_message) == (folder.action, folder.last_message)
            and f.refs[:1] == folder.refs[:1]
            for folder in folders
        )
    ]


def _inside(text: str, folder: str) -> str:
    """A call's words with paths below the session's folder as seen from there."""
    if len(folder) < 2:
        return text
    text = text.removeprefix(f"cd {folder} && ").replace(f"git -C {folder} ", "git ")
    return text.replace(f"{folder.rstrip('/')}/", "")


def check_command(check: Check, folder: str) -> str:
    """The command of a check, as seen from a folder; what only cuts its output is no part."""
    return _FILTER.sub("", _inside(check.command or check.tool, folder))


def _checks(checks: Sequence[Check], folder: str) -> tuple[Fact, ...]:
    """The last run of each check, the latest first."""
    lines: dict[str, list[Check]] = {}
    for check in last_checks(checks):
        ran = lines.setdefault(check_command(check, folder), [])
        if all(one.ref == check.ref for one in ran):  # else the line ran again since
            ran.append(check)
    found: list[Fact] = []
    for command, ran in lines.items():
        # Of several that one line ran, one that failed says most.
        check = next((one for one in ran if one.verdict == "failed"), ran[0])
        verdict = verdict_of(check)
        alone = all(verdict_of(one) == verdict for one in ran)
        counts = "" if alone else check.tool
        for count, word in ((check.failed, "failed"), (check.passed, "passed")):
            counts += f"{', ' if counts else ''}{count} {word}" if count else ""
        note = f"{verdict}{f' ({counts})' if counts else ''}"
        note = ", ".join(filter(None, [note, where_of(check, command), since_of(check)]))
        failed = check.verdict == "failed"
        telling = [", ".join(check.failing[:5]), check.line] if failed else []
        # A failure with nothing edited since comes first where room is short, then the latest.
        weight = 1.0 if failed and not check.edited_since else 0.5 if found else 0.9
        more = _inside(": ".join(filter(None, telling)), folder)
        found.append(Fact(command, note, check.ref.message, "tool", weight, more))
    return tuple(found)


_DID = {"edited": "edited", "looked": "looked at"}
# What is said of a step's result: nothing where the recorder does not tell how it ended.
_RESULTS = {"": "no result recorded", "unknown": ""}
# A hundredth is worth one step. Chosen by hand; not measured.
_STEP_WEIGHTS = {"ran": 0.05, "looked": -0.1}


def _steps(working: WorkingSet, folder: str) -> Iterable[Fact]:
    """The steps without the last words, which stand alone; the later weigh more, commands that
    do something more, and what only looks less. The last that did something comes first."""
    did = [place for place, step in enumerate(working.steps) if step.kind in {"ran", "edited"}]
    for place, step in enumerate(working.steps):
        weight = place / 100 + _STEP_WEIGHTS.get(step.kind, 0.0) + (place in did[-1:])
        at, text = step.ref.message, _inside(step.text, folder)
        if step.kind != "said":
            note = _RESULTS.get(step.status, step.status)
            speaker = "tool" if step.kind == "ran" else "leftoff"
            if speaker != "tool":  # several calls in a row, with the result of the last
                last = {"": "result of the last not recorded", "ok": ""}
                text, note = f"{_DID[step.kind]} {text}", last.get(step.status, note)
            yield Fact(text, note, at, speaker, weight, step.line)
        elif at not in {working.last_words.message, working.report.message}:
            yield Fact(step.text, "", at, "agent", weight)


def _plan(summary: ContextSummary) -> tuple[Fact, ...]:
    """The call that lately showed the text of a task, and its blocks: the first say why."""
    call, end = summary.working_set.task, summary.stats.message_count
    if not call or call.ref.message < end - PLAN_AGE or is_deleted(call, summary):
        return ()
    blocks = plan_blocks(call.line)
    return (
        Fact(call.text or call.tool, "", call.ref.message, "tool", 1.0),
        *(
            Fact(block, "", -1, "tool", 0.9 - n / (2 * len(blocks)) + openness(block))
            for n, block in enumerate(blocks)
        ),
    )


def _report(words: Words) -> tuple[Fact, ...]:
    """The blocks of a report, without what only announces a step: older exports hold all words
    of a turn in one message."""
    blocks = [block for block in report_blocks(words.text) if not is_announced(block)]
    return tuple(
        Fact(block, "", -1 if n else words.message, "agent", 1 - n / (len(blocks) + 1))
        for n, block in enumerate(blocks)
    )


def _failures(summary: ContextSummary) -> tuple[Fact, ...]:
    """Failures that nothing is seen to have mended: those since the last request weigh more.
    Failed reading and searching is left out, and errors that say nothing."""
    since = max((r.ref.message for r in summary.user_requests), default=-1)
    checked = {
        (c.result.message, c.result.part)
        for c in summary.checks
        if c.result and c.verdict != "unknown"
    }
    return tuple(
        Fact(
            e.text,
            e.tool + (f", {e.count} times" if e.count > 1 else ""),
            e.ref.message,
            "tool",
            0.9 if e.ref.message > since else 0.3,
        )
        for e in reversed(summary.errors)
        if e.fixed is False
        and (e.ref.message, e.ref.part) not in checked
        and kind_of(e.tool) not in READ_ONLY_KINDS
        and len(e.text.split()) > 1
        and not is_frame(e.text)
    )


def _decisions(
    found: Iterable[Decided],
    requests: Sequence[UserRequest],
    rules: Sequence[str],
    overtaken: Overtaken,
) -> tuple[list[Fact], list[Fact], list[Fact]]:
    """Those that stand, other likely ones, and what else was said on the way, `by_weight`;
    what was reversed stands with what took its place. What a short message of the person says,
    or one of the `rules`, is there in the person's words."""
    quoted = [r.text for r in requests if len(r.text) <= MAX_REPEATED]
    standing, likely, others = list[Fact](), list[Fact](), list[Fact]()
    ranked = sorted(found, key=lambda one: by_weight(one.decision))
    for place, one in enumerate(ranked):
        decision, text = one.decision, one.decision.text
        own = decision.owner == "user"
        notes = ["the person's"] if own else []
        notes += [decision.status] if decision.status != "made" else []
        notes += [f"instead of: {one.before.text}"] if one.before else []
        if own and not binds(decision):
            continue  # in the person's words, if there is room
        if own and len(notes) == 1:
            if len(_WORD.findall(text)) <= MIN_WORDS:
                continue
            answer = text.rpartition(" → ")[2]
            if any(text in other or answer == other for other in quoted):
                continue
            if any(text in rule or rule in text for rule in rules):
                continue
        chosen = one.likely and INTENT.match(text)  # "I'll divide by ..."
        if not notes and not chosen and is_move(text):
            continue  # by now it was made, or it is among the last steps
        may_stand = one.likely and decision.status != "reversed"
        kind = standing if one.stands else likely if may_stand else others
        at = decision.message_index, decision.ref.part or 0
        if kind is others and not notes:
            if points_back(text) or overtaken(text, *at, decision.confidence):
                continue
        why = "" if decision.rationale in text else decision.rationale
        speaker, note = "person" if own else "agent", ", ".join(notes)
        weight = 1 - place / len(ranked)
        kind.append(Fact(text, note, decision.message_index, speaker, weight, why))
    return standing, likely, others


def _place_of(event: GitEvent) -> str:
    """Which commit or pull request it was, and where."""
    place = [event.hash[:10], f"#{event.number}" if event.number else "", event.url]
    place += [f"to {event.remote} {event.branch}".rstrip()] if event.remote else []
    place += [f"on {event.branch}"] if event.branch and not event.remote else []
    place += [f"in {event.folder}"] if event.folder else []
    return " ".join(filter(None, place))


def _git(events: Sequence[GitEvent]) -> Iterable[Fact]:
    for event in reversed(events):
        note = f"{event.kind.replace('_', ' ')} {_place_of(event)}".rstrip()
        yield Fact(event.text, note, event.ref.message, "tool" if event.shown else "agent")
