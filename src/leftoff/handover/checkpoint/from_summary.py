"""The facts of a checkpoint, selected from a summary: one neutralised line each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from leftoff.handover.checkpoint.roles import Role
from leftoff.handover.facts import (
    EARLIER_NOTE,
    MIN_CHOICE_WORDS,
    is_in_force,
    latest_request,
    status_text,
    task_requests,
    unresolved_errors,
)
from leftoff.handover.wording import MAX_ITEM_LENGTH, brief, inline, inline_code, outcome_text
from leftoff.model import Ref
from leftoff.summary import Command, ContextSummary, FileModification, UserRequest

MIN_CONFIDENCE = 0.5
"""Decisions with less confidence are left out: the next agent would take them for settled."""

MAX_LONG_ITEM_LENGTH = 1_200
"""Code points of a task and of the agent's last words."""

MAX_ALSO_SAID = 100
"""Maximum of `also_said`, the sentences that fill the rest of a budget."""

MAX_EARLIER_ERRORS = 5
"""Errors from before the last prompt that are listed; older ones are likely obsolete."""

CHECKS = ("test", "build", "lint")
"""Kinds of commands that tell whether the work is right."""

TITLES = (
    "Task",
    "Asked last",
    "Constraints",
    "Asked",
    "Left open",
    "Last words",
    "Decided",
    "Files modified",
    "Files deleted",
    "Errors",
    "Checks",
    "Commands",
    "Progress",
    "Reached",
    "Found out",
    "Asked and done",
    "Also said",
)
"""Titles of a checkpoint's summary, in the order in which they are shown."""


class CheckpointFacts(Struct, frozen=True):
    """A session in short lines: recorded words made inert, each with its place (`#12`). Lists
    are in the order of the recording unless they say otherwise.

    Attributes:
        task: what is to be done, in its owner's words.
        task_state: what the recording shows of it, and where it was asked; "" if unknown.
        asked_last: the latest request, where it is not the task.
        constraints: those that hold, and earlier ones, marked as such.
        asked, done: other requests that were not seen done, and those that were.
        left_open: steps that were left.
        to_finish: all that is open: these steps, then requests that were not seen done.
        last_words: of the agent.
        decided: decisions of at least `MIN_CONFIDENCE` that stand.
        files_created, files_modified, files_deleted: paths alone.
        files: the same as lines with what happened to each.
        reached: milestones that a tool's output shows.
        claimed: milestones that are claimed but not verified.
        errors: failures that nothing has mended since, the latest first; those before the last
            prompt say so.
        checks: the last test, build and lint run, and how each ended.
        commands: others that may be needed again.
        also_said: the agent's latest sentences that may matter, the latest first.
        touches: how often files were changed; with `reached` it tells whether work got on.
    """

    task: str = ""
    task_state: str = ""
    asked_last: str = ""
    constraints: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    left_open: tuple[str, ...] = ()
    to_finish: tuple[str, ...] = ()
    last_words: str = ""
    decided: tuple[str, ...] = ()
    files_created: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    files_deleted: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    reached: tuple[str, ...] = ()
    claimed: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    found_out: tuple[str, ...] = ()
    also_said: tuple[str, ...] = ()
    stage: str = ""
    touches: int = 0

    def sections(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Titles with their items; empty ones are left out."""
        items = {
            "Task": _as_items(f"{self.task} {self.task_state}".strip()),
            "Asked last": _as_items(self.asked_last),
            "Constraints": self.constraints,
            "Asked": self.asked,
            "Left open": self.left_open,
            "Last words": _as_items(self.last_words),
            "Decided": self.decided,
            "Files modified": self.files_modified,
            "Files deleted": self.files_deleted,
            "Errors": self.errors,
            "Checks": self.checks,
            "Commands": self.commands,
            "Progress": _as_items(self.stage),
            "Reached": (*self.reached, *(f"{c} (said, not shown)" for c in self.claimed)),
            "Found out": self.found_out,
            "Asked and done": self.done,
            "Also said": self.also_said,
        }
        return tuple((title, items[title]) for title in TITLES if items[title])

    def text(self) -> str:
        """The facts as titles and items, one on each line."""
        lines: list[str] = []
        for title, items in self.sections():
            lines += [f"{title}:", *(f"- {item}" for item in items)]
        return "\n".join(lines)


def collect_facts(
    summary: ContextSummary, *, goal: str = "", role: Role | None = None
) -> CheckpointFacts:
    """The facts of a recorded session.

    Args:
        goal: the task in its owner's words; the first that was asked if "".
        role: which files are listed; all if None.
    """
    requests = [r for r in summary.user_requests if r.status != "withdrawn"]
    first = next(iter(task_requests(requests)), None)
    task = goal or (first.text if first else "")
    last = latest_request(requests)
    if last is not None and last.text == task:
        last = None
    others = [r for r in requests if r not in (None if goal else first, last)]
    waiting = [r for r in requests if r.status == "open" and r.kind != "constraint"]
    left_open = tuple(_cited(s.text, s.ref, s.status) for s in summary.next_steps)
    cwd = summary.session.cwd
    changed = [
        f
        for f in summary.file_modifications
        if f.action != "read" and (role is None or role.tracks(relative(f.path, cwd)))
    ]
    milestones = summary.progress.milestones
    since, before = unresolved_errors(summary)
    checks, commands = _commands(summary.working_set.commands)
    return CheckpointFacts(
        task=brief(task, MAX_LONG_ITEM_LENGTH),
        task_state="" if goal or first is None else _label(first.ref, status_text(first)),
        asked_last="" if last is None else _request(last, MAX_LONG_ITEM_LENGTH),
        constraints=tuple(
            _cited(r.text, r.ref, "" if is_in_force(r, requests) else EARLIER_NOTE)
            for r in others
            if r.kind == "constraint"
        ),
        asked=tuple(_request(r) for r in others if r in waiting),
        done=tuple(
            _request(r) for r in others if r.status == "done" and r.kind in _REPORTED_KINDS
        ),
        left_open=left_open,
        to_finish=(*left_open, *(_request(r) for r in waiting)),
        last_words=_last_words(summary),
        decided=tuple(
            _cited(d.text, d.ref, "the person" if d.owner == "user" else "")
            for d in sorted(summary.key_decisions, key=lambda d: d.message_index)
            if d.status == "made"
            and d.confidence >= MIN_CONFIDENCE
            and (d.owner != "user" or len(d.text.split()) >= MIN_CHOICE_WORDS)
        ),
        files_created=_paths(changed, "created", cwd),
        files_modified=_paths(changed, "modified", cwd),
        files_deleted=_paths(changed, "deleted", cwd),
        files=tuple(_file(f, cwd) for f in changed),
        reached=tuple(
            _cited(m.text, m.ref, m.kind) for m in milestones if m.evidence == "verified"
        ),
        claimed=tuple(
            _cited(m.text, m.ref, m.kind) for m in milestones if m.evidence == "claimed"
        ),
        errors=(
            *(_quoted(e.text, e.ref, inline(e.tool)) for e in reversed(since)),
            *(
                _quoted(e.text, e.ref, f"{inline(e.tool)}, before the last prompt")
                for e in before[: -MAX_EARLIER_ERRORS - 1 : -1]
            ),
        ),
        checks=tuple(map(_command, checks)),
        commands=tuple(map(_command, commands)),
        found_out=tuple(_cited(f.text, f.ref) for f in summary.key_findings),
        also_said=tuple(_also_said(summary)),
        stage=_stage(summary),
        touches=sum(f.touch_count for f in changed),
    )


_REPORTED_KINDS = frozenset({"task", "correction"})
"""Kinds of requests that say something once they are done."""


def _as_items(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _request(request: UserRequest, limit: int = MAX_ITEM_LENGTH) -> str:
    return _cited(request.text, request.ref, status_text(request), limit)


def _last_words(summary: ContextSummary) -> str:
    words = summary.working_set.last_words
    return (
        f"{brief(words.text, MAX_LONG_ITEM_LENGTH)} (#{words.message + 1})"
        if words.text
        else ""
    )


def _also_said(summary: ContextSummary) -> list[str]:
    """The agent's latest sentences, without those listed elsewhere."""
    already_listed = {d.text for d in summary.key_decisions} | {
        f.text for f in summary.key_findings
    }
    already_listed |= {m.text for m in summary.progress.milestones}
    last = summary.working_set.last_words.text[:MAX_LONG_ITEM_LENGTH]
    more = [
        w
        for w in summary.working_set.recent
        if w.text not in already_listed and w.text not in last
    ]
    return [f"{brief(w.text)} (#{w.message + 1})" for w in more[:MAX_ALSO_SAID]]


def _commands(commands: Iterable[Command]) -> tuple[list[Command], list[Command]]:
    """The last check of each kind, and the other commands."""
    last: dict[str, Command] = {}
    others: list[Command] = []
    for command in sorted(commands, key=lambda c: -c.ref.message):
        if command.kind in CHECKS and command.kind not in last:
            last[command.kind] = command
        elif command.passed is not False:  # an earlier failure is over, or is among the errors
            others.append(command)
    return list(last.values())[::-1], others[::-1]


def _command(command: Command) -> str:
    note = command.kind + (f", {command.count} times" if command.count > 1 else "")
    return f"{brief(command.text)}: {outcome_text(command.passed)} {_label(command.ref, note)}"


def relative(path: str, cwd: str) -> str:
    """A path as seen from the task's directory; one outside of it stays as it is."""
    root = cwd.replace("\\", "/").rstrip("/")
    plain = path.replace("\\", "/")
    if root and plain.startswith(root + "/"):
        return plain[len(root) + 1 :]
    return plain


def _paths(changed: Sequence[FileModification], action: str, cwd: str) -> tuple[str, ...]:
    found = (inline(relative(f.path, cwd)) for f in changed if f.action == action)
    return tuple(dict.fromkeys(found))


def _file(file: FileModification, cwd: str) -> str:
    path = inline(relative(file.path, cwd))
    renamed = f", was {inline(relative(file.renamed_from, cwd))}" if file.renamed_from else ""
    unsure = "" if file.certainty == "sure" else f", {file.certainty}"
    return f"{file.action}: {path}{renamed}{unsure}"


def _label(ref: Ref, note: str = "") -> str:
    where = f"#{ref.message + 1}"
    return f"({note}, {where})" if note else f"({where})"


def _cited(text: str, ref: Ref, note: str = "", limit: int = MAX_ITEM_LENGTH) -> str:
    return f"{brief(text, limit)} {_label(ref, note)}"


def _quoted(text: str, ref: Ref, note: str) -> str:
    """Tool output as inline code, with its note."""
    return f"{inline_code(text)} {_label(ref, note)}"


def _stage(summary: ContextSummary) -> str:
    """Where the work is, without a percentage: beside figures of capacity it would be taken
    for one of these."""
    progress = summary.progress
    known = progress.current_stage or progress.completed_stages
    words = [f"stage {progress.current_stage or 'unknown'}"] if known else []
    if progress.tests_older_than_last_edit:
        words.append("files were edited after the last test run")
    return "; ".join(words)
