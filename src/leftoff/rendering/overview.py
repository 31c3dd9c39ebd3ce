"""What a person is shown of a session: chosen, ordered and worded once for screen, markdown,
HTML page and report.

The forms differ in layout and in how many items of a part they show at first; the decisions
are the same ones everywhere. All text comes from a redacted summary and stands on one line,
cleaned; each form escapes it for its own markup."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff.analysis.decisions.person import ARROW, deciding_part
from leftoff.analysis.decisions.shown import in_context, person_decisions_shown, shown_decisions
from leftoff.analysis.files.edits import temporary_projects
from leftoff.analysis.requests import is_unfinished
from leftoff.analysis.summary_json import SafeSummary
from leftoff.handover.blocks import said_lines
from leftoff.handover.checks import (
    command_of,
    folder_of,
    in_folder,
    last_checks,
    since_of,
    verdict_of,
)
from leftoff.handover.facts import Fact, Handover, goal_of, handover_of, net_files
from leftoff.handover.lines import ANNOUNCES
from leftoff.handover.request_notes import request_notes, without_pastes
from leftoff.handover.standing import FEW_WORDS, has_words, last_commits_branch, may_answer
from leftoff.handover.wording import (
    action_of,
    change_of,
    duration,
    number,
    plural,
    status_words,
    unnamed_changes,
)
from leftoff.model import Ref, utc_time
from leftoff.shell.paths import is_temporary
from leftoff.summary import (
    Check,
    ContextSummary,
    FileModification,
    GitEvent,
    KeyDecision,
    NextStep,
    UserRequest,
    Words,
)
from leftoff.tables import table
from leftoff.text.sanitize import clean
from leftoff.text.truncation import one_line

_RE = re.patterns(table(__file__, "overview.toml"))

# Kinds of requests under "You asked". Choices are decisions. Commands, approvals and remarks
# of few words are listed where the agent was still at work on them, a remark where it led to
# work ("save locally"), or if there is nothing else: "okay, commit and push" asks for more than
# "ok" does.
ASKED = frozenset({"task", "plan", "correction", "constraint", "question"})
# Items of a part that are shown without `--all`. Chosen by hand, so that all parts together fit
# on a screen of sixty lines.
FIRST = {"asked": 5, "words": 4, "checks": 4, "git": 3, "files": 10, "open": 5, "failed": 2}
# Files that are named of those in a branch that may not have run. Chosen by hand.
MAYBE = 3
# Code points of a check with what it ran on. Chosen by hand.
MAX_SCOPE = 60

# The outcome of an item by the status of a request or the verdict of a check.
OUTCOMES = {
    "done": "good",
    "open": "open",
    "interrupted": "open",
    "withdrawn": "past",
    "passed": "good",
    "failed": "bad",
}

# Code points; lines of a first prompt are taken into the goal until it has as many. Chosen by
# hand: a line such as "Implement the following plan:" says nothing alone.
ENOUGH = 60

# Code points of last words beside which the report before them is shown. Chosen by hand: so
# long are "You're welcome" and "Committed as ...".
FEW = 160

# Code points of an item that a screen of 96 columns shows of it. Chosen by hand.
ROOM = 150

GIT_NAMES = {"pull_request": "pull request"}


class Item(Struct, frozen=True):
    """One line of a part."""

    text: str  # the words; a path where `is_path`
    ref: Ref | None = None  # where they stand, None if nowhere in particular
    outcome: str = ""  # good | bad | open | past | ""
    note: str = ""  # what they are, in ours
    output: str = ""  # a line of a tool's output, which every form marks as such
    was: str = ""  # the path of a moved file before
    is_path: bool = False
    short: str = ""  # what to show of `text` without room for all of it; "" for its beginning


class Part(Struct, frozen=True):
    """Items under one title, in the order in which they are shown. `first`: the indices of
    those shown without `--all`. `note`: a line of ours below them."""

    key: str
    title: str
    items: tuple[Item, ...]
    first: tuple[int, ...]
    note: str = ""

    def shown(self, *, everything: bool) -> tuple[Item, ...]:
        """The items that are shown."""
        return self.items if everything else tuple(self.items[n] for n in self.first)

    @property
    def rest(self) -> tuple[Item, ...]:
        """The items that stand behind `--all`."""
        chosen = set(self.first)
        return tuple(item for n, item in enumerate(self.items) if n not in chosen)


class Turn(Struct, frozen=True):
    """One prompt of the time line: what it asked, which changed files were worked on before the
    next one, and what checks and git showed."""

    prompt: Item
    files: tuple[str, ...] = ()
    checks: tuple[Item, ...] = ()
    git: tuple[Item, ...] = ()


class Overview(Struct, frozen=True):
    """What every form begins with."""

    goal: Item
    state: Item
    parts: tuple[Part, ...]
    goal_label: str = "Goal"  # of several requests the first is what it "Began" with

    def part(self, key: str) -> Part:
        """One of the parts, empty where it was left out."""
        return next((part for part in self.parts if part.key == key), Part(key, "", (), ()))


def overview(summary: SafeSummary) -> Overview:
    """The goal, the state and the parts of a summary, empty parts left out."""
    handover, asked = handover_of(summary), _asked(summary)
    words = _last_words(summary, handover)
    found = (
        asked,
        words,
        _decisions("decided", "You decided", summary, asked.shown(everything=False)),
        _decisions("likely", "Likely decided by the agent", summary),
        _checks(summary.checks),
        _part("git", "Git", [_git(e) for e in reversed(summary.git)]),
        _files(summary, handover),
        _open(summary, [item.text for item in words.shown(everything=False)]),
        _failed(summary, handover),
    )
    goal, requests, label = _goal(summary, handover.goal), asked.items, "Goal"
    alone = len(requests) == 1 and requests[0].text == goal.text[:ROOM]
    if alone:  # read there
        goal = replace(goal, note=requests[0].note)
    elif len(requests) > 1 and requests[0].ref == goal.ref:
        label, note = "Began", f"first of {number(len(requests))} requests"
        goal = replace(goal, note=note)
    parts = tuple(part for part in found[alone:] if part.items or part.note)
    return Overview(goal, _state(summary, handover), parts, label)


def session_title(summary: SafeSummary) -> str:
    """The recorded title, else the first lines of the first task, else ""."""
    if summary.session.title:
        return summary.session.title
    goal = _goal(summary, goal_of(summary))
    return goal.text if goal.ref else ""


def main_source(summary: ContextSummary) -> int:
    """The index of the source that holds the end of the main thread: that of the last stage,
    else of the last request."""
    last = summary.progress.timeline[-1:] or summary.user_requests[-1:]
    return last[0].ref.source if last else 0


def flat(text: str) -> str:
    """Text cleaned and on one line, uncut but for drawn lines (`────────`)."""
    return _RE["rule"].sub(r"\1\1\1", " ".join(clean(text).split()))


def moment(time: str) -> str:
    """A recorded time to the minute, in UTC; "" if there is none."""
    return flat(utc_time(time))[:16].replace("T", " ")


def session_facts(summary: SafeSummary) -> list[str]:
    """Recorder, models, start, duration and counts of a session, in short."""
    session, stats = summary.session, summary.stats
    # Exports name the client whose session they hold where others have a version.
    exported = session.agent_version and not any(map(str.isdigit, session.agent_version))
    recorder = f"{session.format} ({session.agent_version})" if exported else session.format
    found = [recorder, "subagent" if session.parent_id else "", *session.models]
    found.append(moment(session.started))
    # Recorders that write one time for all messages give 0 seconds.
    found += [duration(stats.duration_seconds or None), plural(stats.message_count, "message")]
    # Where there is none, the recorder may have left them out.
    calls = stats.tool_call_count
    found += [plural(calls, "tool call") if calls else "", chosen_of(summary)]
    if agents := session.subagents or len(session.children):
        found.append(plural(agents, "subagent"))
    return [flat(fact) for fact in found if fact]


def chosen_of(summary: SafeSummary) -> str:
    """Which session of its file it is; "" where the file holds no other."""
    for issue in summary.issues:
        if issue.code == "several_sessions":
            return f"session {issue.what.split()[-1]} of {number(issue.count)} in the file"
    return ""


def branches(summary: SafeSummary) -> str:
    """The last known branch and, if it is another, that of the last commit."""
    recorded, last = summary.session.branch, last_commits_branch(summary)
    return ", last commit on ".join(dict.fromkeys(filter(None, (recorded, last))))


def session_rows(summary: SafeSummary, *times: tuple[str, str]) -> list[tuple[str, str]]:
    """What is known of a session by name, `times` among it; what is not known is left out."""
    session, stats = summary.session, summary.stats
    kinds = ("message", "turn", "tool_call")
    counts = (plural(getattr(stats, f"{k}_count"), k.replace("_", " ")) for k in kinds)
    rows = (
        ("Session", " · ".join(filter(None, (session.id, chosen_of(summary))))),
        ("Recorder", f"{session.format} {session.agent_version}".strip()),
        ("Models", ", ".join(session.models)),
        ("Directory", session.cwd),
        ("Branch", branches(summary)),
        *times,
        ("Duration", duration(stats.duration_seconds or None)),
        ("Counts", ", ".join(counts)),
    )
    return [row for row in rows if row[1]]


def notes(summary: SafeSummary) -> list[str]:
    """What a reader should know of the recording itself: faults, and secrets replaced."""
    found = [
        # "62 of 121 lines are of kinds ..." says itself how many.
        flat(i.what) if i.code == "drift" else f"{number(i.count)} × {flat(i.what)}"
        for i in summary.issues
        if i.severity != "info"
    ]
    secrets = sum(summary.stats.redactions.values())
    return found + ([f"{plural(secrets, 'secret')} redacted"] if secrets else [])


def _part(key: str, title: str, items: Sequence[Item], note: str = "") -> Part:
    return Part(key, title, tuple(items), tuple(range(len(items)))[: FIRST[key]], note)


def _goal(summary: SafeSummary, goal: Fact | None) -> Item:
    if goal is None:
        if summary.stats.user_message_count:  # all of it before what is asked for by `since`
            return Item("nothing new from a person")
        title, none = flat(summary.session.title), "nothing that a person typed is recorded"
        return Item(f"titled: {title}", note=none) if _RE["word"].search(title) else Item(none)
    before, rest = without_pastes(goal.text) if len(goal.text) > ROOM else ("", "")
    text = flat(rest) if rest and not before else _first_lines(goal.text)
    text = f"{flat(goal.more)}{ARROW}{text}" if goal.more else text
    return Item(text, _ref(summary, goal), note=goal.note)


def _first_lines(text: str) -> str:
    """The first lines of a text that say enough, without marks of headings, lists and code."""
    found = ""
    for line in _RE["template"].sub("\n— ", clean(text)).splitlines():
        found = f"{found} {flat(_RE['mark'].sub('', line))}".strip()
        if len(found) >= ENOUGH and not found.endswith((":", "：")):  # what it announces, too
            break
    return found or flat(text)


def _ref(summary: SafeSummary, fact: Fact) -> Ref | None:
    if fact.message < 0:
        return None
    for request in summary.user_requests:
        if request.ref.message == fact.message:
            return request.ref
    return Ref(main_source(summary), message=fact.message)


def _state(summary: SafeSummary, handover: Handover) -> Item:
    state, turn = handover.state, summary.turn
    when = moment(state.since)
    since, at = (f" {word} {when}" if when else "" for word in ("since", "at"))
    last = f"; last event {when}" if when else ""
    failed, outcome = flat(state.failed), ""
    inner = bool(summary.session.parent_id)  # another agent asked
    # The recorder's word on the turn comes before everything that is read out of it.
    if turn.status == "interrupted":
        text, outcome = f"interrupted by you{at}", "open"
    elif state.manner == "unanswered" and not failed:
        text, outcome = f"no answer to your last message is recorded{last}", "open"
    elif turn.status == "open":
        text, outcome = f"stopped in the middle{at}", "open"
    elif turn.status != "closed":
        text, failed = f"not known{last}", ""
    elif failed:
        text, outcome = f"stopped{at}: the agent could not go on", "bad"
    elif turn.ended:
        text = f"the run ended{at}: {flat(turn.ended)}"
    elif state.question and not inner:
        text, outcome = f"waiting for your answer{since}: {flat(state.question)}", "open"
    elif inner or not (handover.goal or summary.stats.user_message_count):
        text = f"the agent's turn ended{at}"
    else:
        text = f"waiting for you{since}{ANNOUNCES if state.manner else ''}"
    return Item(text, turn.ref, outcome, output=failed)


def _asked(summary: SafeSummary) -> Part:
    notes = request_notes(summary)
    last = max((r.ref.message for r in notes), default=-1)
    asked = [
        r
        for r, (status, _) in notes.items()
        if r.kind in ASKED
        or (is_unfinished(status) and (r.kind != "choice" or r.ref.message == last))
        or (r.kind in {"approval", "remark"} and len(r.text.split()) > FEW_WORDS)
        or (r.kind == "remark" and r.status == "worked_on")
        or (r.kind == "command" and has_words(r))
    ]
    # A session of nothing but remarks shows these.
    asked = asked or list(notes)
    most = FIRST["asked"]
    numbers = range(len(asked))
    # The first request is the goal, the last ones are where the work stands.
    first = numbers if len(asked) <= most else [0, *numbers[1 - most :]]
    return Part(
        "asked", "You asked", tuple(_request(r, *notes[r]) for r in asked), tuple(first)
    )


def _request(request: UserRequest, status: str, note: str) -> Item:
    text, short = flat(_RE["template"].sub("\n— ", request.text)), ""
    if request.question and may_answer(request):
        text = f"{flat(request.question)}{ARROW}{text}"
        short = deciding_part(text, ROOM)
    else:
        short = flat(" ".join(without_pastes(request.text)))
    outcome = OUTCOMES.get(status.rpartition("_")[2], "")  # `push_failed`
    return Item(text, request.ref, outcome, note, short=short)


def _last_words(summary: SafeSummary, handover: Handover) -> Part:
    """The agent's last words; where they are few, or answer no words of the person, its report
    before them, too. A question that the state names is not repeated."""
    said = handover.last_words or Fact("", "", -1)
    working, room = summary.working_set, FIRST["words"]
    items, first = _said(summary, said.text, said.message, room, handover.state.question)
    before = working.report.message
    answers = any(before < r.ref.message < said.message for r in summary.user_requests)
    few = sum(len(item.text) for item in items) < FEW or not answers and len(items) < room
    for words in (working.remark or Words(), working.report) if few else ():
        if words.text and words.message in {fact.message for fact in handover.report}:
            more, shown = _said(summary, words.text, words.message, room - len(first))
            first += tuple(len(items) + n for n in shown)
            heads = {0, *shown[:1]}  # of all, and of those on a short screen
            note = "the report before"
            items += [replace(x, note=note) if n in heads else x for n, x in enumerate(more)]
    return Part("words", "The agent's last words", tuple(items), first)


def _said(
    summary: SafeSummary, text: str, at: int, room: int, asked: str = ""
) -> tuple[list[Item], tuple[int, ...]]:
    """Words of the agent as items, and the places of those that are shown at first."""
    lines, first = said_lines(text, room, flat(asked))
    ref = _ref(summary, Fact("", "", at))
    begins = {0, *first[:1]}
    return [Item(flat(t), ref if n in begins else None) for n, t in enumerate(lines)], first


def _decisions(key: str, title: str, summary: SafeSummary, asked: Sequence[Item] = ()) -> Part:
    person = key == "decided"
    shown = person_decisions_shown(summary) if person else shown_decisions(summary)
    found = [d for d in summary.key_decisions if (d.owner == "user") == person]
    chosen = set(map(id, shown))
    said = {item.text for item in asked}  # a whole request is read there
    first = tuple(
        n for n, d in enumerate(found) if id(d) in chosen and flat(d.text) not in said
    )
    texts = (in_context(d, summary.user_requests, ROOM) if person else d.text for d in found)
    return Part(key, title, tuple(map(_decision, found, map(flat, texts))), first)


def _decision(decision: KeyDecision, text: str) -> Item:
    short = deciding_part(text, ROOM) if decision.owner == "user" else ""
    if decision.status == "made":
        return Item(text, decision.ref, short=short)
    return Item(text, decision.ref, "past", decision.status, short=short)


def _checks(checks: Sequence[Check]) -> Part:
    # A result that is not known tells a reader least.
    found = sorted(last_checks(checks), key=lambda check: check.verdict == "unknown")
    # The same was run in several folders: each is named with its own.
    folders: dict[str, list[str]] = {}
    for check in found:
        folders.setdefault(_check_name(check), []).append(folder_of(check))
    items = [_check(c, in_folder(c, folders[_check_name(c)])) for c in found]
    return _part("checks", "Checks", items)


def _check_name(check: Check) -> str:
    """What ran, and on what."""
    name = f"{check.tool} {check.scope}".strip()
    typed = check.tool in check.command
    built = "build" in check.tool and typed
    # `cargo check` is no `cargo build`, and a runner's target is none of what it runs
    by_target = check.scope and not typed
    if check.tool in {"", "npm"} or by_target or (check.kind == "build" and not built):
        name = _RE["program_folder"].sub("", command_of(check))
    return one_line(name, MAX_SCOPE)


def _check(check: Check, where: str = "") -> Item:
    name = f"{_check_name(check)} {flat(where)}".strip()
    if check.kind == "test":
        both = ((check.failed, "failed"), (check.passed, "passed"))
        counts = ", ".join(f"{number(count)} {word}" for count, word in both if count)
    else:
        counts = plural(check.failed, "error") if check.failed else ""
    text = f"{name} {verdict_of(check)}{f' ({counts})' if counts else ''}"
    telling = ""
    if check.verdict == "failed":
        more = f" and {len(check.failing) - 3} more" if len(check.failing) > 3 else ""
        telling = ", ".join(check.failing[:3]) + more or check.line
    elif check.basis == "not_run":
        telling = check.line
    outcome = OUTCOMES.get(check.verdict, "")
    return Item(text, check.ref, outcome, since_of(check), flat(telling))


def _git(event: GitEvent) -> Item:
    kind = GIT_NAMES.get(event.kind, event.kind)
    label = event.hash[:10] or (f"#{event.number}" if event.number else "")
    words = [kind, label, f"to {event.remote}" if event.remote else ""]
    words.append(f"on {event.branch}" if event.branch not in event.text else "")
    words.append(f"in {event.folder}" if event.folder else "")
    head = " ".join(flat(word) for word in words if word)
    if event.shown:  # a tool printed the subject
        return Item(head, event.ref, "good", output=flat(event.text))
    text = f"{head}: {flat(event.text)}" if event.text else head
    return Item(text, event.ref, note="the agent says so")


def _files(summary: SafeSummary, handover: Handover) -> Part:
    files = handover.files
    changes = summary.file_modifications
    projects = temporary_projects(changes, summary.git)
    did = Counter(_counted_as(f, projects) for f in files)
    did["read"] = sum(_counted_as(f, projects) == "read" for f in changes)
    words = ("created", "moved", "modified", "changed", "deleted", "read")
    counts = [f"{did[word]} {word}" for word in words if did[word]]
    counts += [plural(did[word], word) for word in ("temporary file", "folder") if did[word]]
    title = "Files" + (f": {', '.join(counts)}" if counts else "")
    # Where no commit is made, it would stand at every file.
    with_agents = bool(summary.session.children)
    items = [_file(f, commits=handover.commits, with_agents=with_agents) for f in files]
    maybe = [
        flat(f.path)
        for f in changes
        if f.certainty == "unknown" and _counted_as(f, projects) in {"created", "changed"}
    ]
    more = f" and {len(maybe) - MAYBE} more" if len(maybe) > MAYBE else ""
    notes = [unnamed_changes(summary.unknown_effects, listed=bool(items))]
    notes += [f"perhaps changed: {', '.join(maybe[:MAYBE])}{more}"] if maybe else []
    return _part("files", title, items, "; ".join(filter(None, notes)))


def _counted_as(file: FileModification, projects: Sequence[str]) -> str:
    """As what a file is counted: what happened to it, or that it is none of the project's."""
    if file.path[-1:] == "/":
        return "folder"
    if is_temporary(file.path, projects):
        return "" if file.action == "read" else "temporary file"
    return "moved" if file.renamed_from else action_of(file)


def _file(file: FileModification, *, commits: bool, with_agents: bool) -> Item:
    """A changed file. That it is not committed is said in sessions with `commits` alone; of one
    that only a subagent touched no message is named, since that has numbers of its own."""
    change = change_of(file)
    words = [] if change in {"modified", "moved"} else [change]
    words += [file.certainty] if file.certainty != "sure" else []
    words += [f"{file.branch} branch"] if file.branch else []
    if file.added is not None and file.action != "deleted":
        words.append(f"edits +{number(file.added)} -{number(file.removed or 0)}")
    words += ["not seen committed"] if commits and file.committed is False else []
    ref = next((r for r in reversed(file.refs) if r.message == file.last_message), None)
    if file.last_message < 0 and with_agents:
        words.append("by a subagent")
    elif ref is None and file.refs:
        ref = file.refs[-1]
    what = ", ".join(words)
    was = flat(file.renamed_from)
    return Item(flat(file.path), ref, file.action, what, was=was, is_path=True)


def left_open(summary: SafeSummary) -> list[NextStep]:
    """The to-do list, then what else was left open, the latest message first; the question
    that the state names is not repeated, nor is what stands under "You asked"."""
    asked = flat(summary.turn.question)
    known = {r.ref.message for r in summary.user_requests}
    steps = [
        s
        for s in summary.next_steps
        if (not asked or flat(s.text) != asked)
        and not (s.status == "next" and s.ref.message in known)
    ]
    listed = [s for word in ("in_progress", "pending") for s in steps if s.status == word]
    latest = sorted(steps, key=lambda s: -s.ref.message)
    return listed + [s for s in latest if s.status not in {"in_progress", "pending"}]


def _open(summary: SafeSummary, words: Sequence[str]) -> Part:
    steps = left_open(summary)
    said = " ".join(words)  # what they announce is read there
    items = tuple(Item(flat(s.text), s.ref, "open", status_words(s.status)) for s in steps)
    # The report of a turn that ended says what is left; of what earlier ones said a third is
    # done or passed by (three of eight in the labels of `more`).
    report = summary.working_set.last_words.message if summary.turn.status == "closed" else -1
    asked = (r.ref.message for r in summary.user_requests if r.ref.message < report)
    since = max(asked, default=-1)
    sure = [
        n
        for n, s in enumerate(steps)
        if (s.status != "said" or s.ref.message > since)
        and not (s.status == "next" and flat(s.text) in said)
    ]
    return Part("open", "Left open", items, tuple(sure[: FIRST["open"]]))


def _failed(summary: SafeSummary, handover: Handover) -> Part:
    """Failed calls that were not seen to work later, the latest first. Shown at first are those
    since the last request: of older ones the agent has mostly found another way."""
    wanted = {(fact.text, fact.message) for fact in handover.failures}
    judged = {c.result.message for c in summary.checks if c.result and (c.line or c.failing)}
    errors = [
        e
        for e in reversed(summary.errors)
        if (e.text, e.ref.message) in wanted
        and e.ref.message not in judged
        and len(_RE["word"].findall(flat(e.text).strip("()"))) > 2
    ]
    since = max((r.ref.message for r in summary.user_requests), default=-1)
    recent = [n for n, e in enumerate(errors) if e.ref.message > since]
    times = (f"{e.count} times" if e.count > 1 else "" for e in errors)
    items = tuple(
        Item(flat(e.tool), e.ref, "bad", often, flat(e.text))
        for e, often in zip(errors, times, strict=True)
    )
    title = "Failed, not seen to work later"
    return Part("failed", title, items, tuple(recent[: FIRST["failed"]]))


def turns(summary: SafeSummary) -> list[Turn]:
    """The time line: every prompt with what was done before the next one.

    A file is listed where a call that read or changed it stands, if the session changed it."""
    notes = request_notes(summary)
    prompts = [r for r in notes if has_words(r)]
    prompts.sort(key=lambda r: r.ref.message)
    ends = [*(r.ref.message for r in prompts[1:]), summary.stats.message_count + 1]
    changed = net_files([f for f in summary.file_modifications if f.action != "read"])
    found = []
    for request, end in zip(prompts, ends, strict=False):
        span = range(request.ref.message, end)
        checks = last_checks(c for c in summary.checks if c.ref.message in span)
        files = tuple(
            flat(f.path)
            for f in changed
            if any(r.source == request.ref.source and r.message in span for r in f.refs)
        )
        shown = tuple(_check(check) for check in reversed(checks))
        git = tuple(_git(event) for event in summary.git if event.ref.message in span)
        found.append(Turn(_request(request, *notes[request]), files, shown, git))
    return found
