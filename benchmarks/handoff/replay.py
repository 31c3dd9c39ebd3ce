"""One recorded session, replayed call by call before a supervisor."""

from __future__ import annotations

import re
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct

from leftoff import api
from leftoff.budget.tasks import TaskDocument
from leftoff.budget.thresholds import preset
from leftoff.handover.checkpoint import dumps
from leftoff.handover.checkpoint.document import NextAction, validated
from leftoff.handover.checkpoint.injection import block
from leftoff.handover.checkpoint.templates import TEMPLATES, fill_placeholders
from leftoff.incremental.accounts import account_of
from leftoff.live.checkpoints.dumps import Sandbox
from leftoff.live.checkpoints.orchestrator import CheckpointOrchestrator, Outcome
from leftoff.live.checkpoints.recorded import Recorded
from leftoff.live.session import SessionManager
from leftoff.live.telemetry import Event
from leftoff.settings import from_mapping
from leftoff.sources.open import open_lines
from leftoff.stores.files import FileStore
from leftoff.tokens import max_tokens

QUIET = from_mapping({"context_management": {"resume_logs": {"enabled": False}}})
"""The session's own resume logs are not what is measured."""

PROVIDERS = ("a", "b", "c", "d")
NOTES = "# Shop\n\nWritten by hand.\n"
CROSSES_AT = 0.6
"""Share of a session's calls within which the first provider's budget is used up."""


class Killed(BaseException):
    """The supervisor's process ends here."""


class Session:
    """A recording as calls and the prefixes that each of them ended.

    Attributes:
        tokens: what the window held at each call.
        emptied: whether it was emptied before it.
        limit: of every provider, such that the recorded usage goes over it.
    """

    def __init__(self, path: str, folder: Path) -> None:
        self.path, self.name = path, Path(path).name
        curve = account_of(path, preset("handoff")).account.curve
        self.tokens = [point.tokens for point in curve]
        self.emptied = [point.emptied for point in curve]
        early = max(1, int(CROSSES_AT * len(curve)))
        self.limit = int(max(self.tokens[:early]) / 0.985)
        self.messages = [m for m in api.read(path) if not m.agent]
        with open_lines(path) as lines:
            self._lines = list(lines)
        self._ends = self._ends_of([point.message for point in curve])
        self._file = folder / "session.jsonl"
        self._known: dict[int, Recorded] = {}

    def _ends_of(self, points: list[int]) -> list[int]:
        """For each call the line before the first message that came after it."""
        starts = [(m.index, m.line or 0) for m in self.messages]
        ends: list[int] = []
        for point in points:
            later = [line for index, line in starts if index > point]
            ends.append(min(later) - 1 if later else len(self._lines))
        return ends

    def recorded(self, call: int) -> Recorded:
        """What was recorded when a call had come back."""
        end = self._ends[call]
        if end not in self._known:
            self._file.write_bytes(b"".join(self._lines[:end]))
            where = str(self._file)
            self._known[end] = Recorded(api.summarize(where), tuple(api.read(where)))
        return self._known[end]

    def timed(self, call: int) -> Recorded:
        """As `recorded`, read anew, so that its time counts."""
        self._known.pop(self._ends[call], None)
        return self.recorded(call)

    @property
    def prompt(self) -> str:
        """The first thing that a person asked."""
        for message in self.messages:
            if message.typed:
                return message.text
        return "Go on."


def agent_of(number: int, folder: Callable[[], Path]) -> Callable[[str], Any]:
    """A scripted agent: writes its dump into the file, gives it back, says rubbish, or
    nothing."""

    def written(instruction: str) -> str:
        level = next(x for x in TEMPLATES.level if x.headings[0] in instruction)
        filled = fill_placeholders(
            level.dump, dict.fromkeys(level.placeholders, "- told by the agent")
        )
        return re.sub(r"\{[^{}\n]*\}", "unknown", filled)

    def writes(instruction: str) -> None:
        path = folder() / "contexts" / "sandbox" / "shop" / "project.md"
        path.write_text(path.read_text("utf-8") + "\n" + written(instruction), "utf-8")

    agents: list[Callable[[str], Any]] = [
        writes,
        written,
        lambda _: "Sure! I will do that right away, one moment please, thank you very much.",
        lambda _: None,
    ]
    return agents[number % len(agents)]


class Steps:
    """Counts the steps of a supervisor and kills it at one of them."""

    def __init__(self, at: int = 0) -> None:
        self.at, self.count = at, 0

    def step(self) -> None:
        """One more step is about to be taken, or has just been."""
        self.count += 1
        if self.count == self.at:
            raise Killed


class SteppedStore:
    """A store whose saves are steps, before and after."""

    def __init__(self, inner: FileStore, steps: Steps) -> None:
        self.inner, self.steps = inner, steps

    def save(self, kind: str, id: str, document: Mapping[str, Any], *, text: str = "") -> str:
        """Saves, unless the process ends before or after."""
        self.steps.step()
        where = self.inner.save(kind, id, document, text=text)
        self.steps.step()
        return where

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class Held(Struct, frozen=True):
    """What the next agent's first call holds after one handoff.

    Attributes:
        items, items_held: open items that we know of, and those in the prompt.
        files, files_held: files that the recorder's own edit calls changed.
        tail_files_held: those in a tail of the conversation of the same size.
        injected, history, tail: tokens (upper bounds) of the block, of all that was said so
            far, and of the task's text with the last 500 lines.
    """

    items: int
    items_held: int
    files: int
    files_held: int
    tail_files_held: int
    injected: int
    history: int
    tail: int

    @property
    def everything(self) -> bool:
        """Whether every open item and changed file is there."""
        return self.items == self.items_held and self.files == self.files_held


class Replayed(Struct, frozen=True):
    """What came of one session.

    Attributes:
        faults: what went otherwise than it must, as sentences.
        capacities: of the checkpoints, in order.
        seconds: until each checkpoint was saved.
        handoffs: how often the task was handed over.
        carried: it came to its recorded end after a handoff.
        sections: markdown files that were checked.
        steps: steps that the supervisor took.
        crossings: of 80, 90, 95 and 98 %, over all that worked on it.
        refused: calls that were more than a provider takes.
    """

    name: str
    calls: int
    limit: int
    faults: tuple[str, ...]
    capacities: tuple[str, ...]
    seconds: tuple[float, ...]
    handoffs: int
    carried: bool
    sections: int
    steps: int
    told_by_agent: int
    asked: int
    crossings: int
    refused: int
    held: tuple[Held, ...] = ()

    @property
    def end(self) -> tuple[Any, ...]:
        """What must be the same whether the supervisor was killed or not."""
        return self.capacities, self.handoffs, self.carried


def replay(session: Session, number: int, *, kill: int = 0, measure: bool = False) -> Replayed:
    """Replays a session; `kill` ends the process at that step and begins it again."""
    with tempfile.TemporaryDirectory() as folder:
        return _Run(session, number, Path(folder), kill, measure).run()


class _Run:
    def __init__(
        self, session: Session, number: int, folder: Path, kill: int, measure: bool
    ) -> None:
        self.session, self.folder, self.measure = session, folder, measure
        self.steps = Steps(kill)
        self.number = number
        self.faults: list[str] = []
        self.seconds: list[float] = []
        self.held: list[Held] = []
        self.sections = self.told = self.asked = 0
        self.fired: Counter[tuple[int, int, float]] = Counter()
        self.peaks: dict[tuple[int, int], float] = {}
        self.stint = self.filling = self.crossings = 0
        self.call = 0
        self.time = datetime(2026, 1, 2, tzinfo=UTC)
        path = folder / "contexts" / "sandbox" / "shop" / "project.md"
        path.parent.mkdir(parents=True)
        path.write_text(NOTES, "utf-8")
        self.begin()

    def clock(self) -> datetime:
        self.time += timedelta(milliseconds=1)
        return self.time

    def start(self) -> None:
        """A supervisor that knows what is on the disk."""
        store: Any = SteppedStore(FileStore(self.folder / "home"), self.steps)
        self.store = store
        state = self.folder / "state.json"
        self.manager = SessionManager(
            state, session_id="s", settings=QUIET.settings, clock=self.clock
        )
        self.manager.subscribe(self.heard)
        self.orchestrator = CheckpointOrchestrator(
            self.manager,
            store,
            providers=dict.fromkeys(PROVIDERS, self.session.limit),
            diff=lambda *_: None,
            clock=self.clock,
        )
        recorded = self.session.timed if self.measure else self.session.recorded
        agent = agent_of(self.number, lambda: self.folder)

        def stepped(instruction: str) -> Any:
            self.asked += 1
            return agent(instruction)

        self.orchestrator.add(
            "t",
            goal=self.session.prompt[:2000],
            provider="a",
            directory=self.folder,
            project="shop",
            specific="task",
            recording=lambda: recorded(self.call),
            agent=stepped,
        )

    def heard(self, event: Event) -> None:
        if event.name == "TOKEN_BUDGET" and event.fields["threshold"] is not None:
            self.fired[self.stint, self.filling, event.fields["threshold"]] += 1

    def again(self, action: Callable[[], Any]) -> Any:
        """Does something, in a new process if the old one is killed on the way."""
        while True:
            try:
                return action()
            except Killed:
                self.begin()

    def begin(self) -> None:
        """A supervisor of this process; where it is killed at once, another one."""
        while True:
            try:
                return self.start()
            except Killed:
                continue

    def task(self) -> TaskDocument:
        return self.manager.task("t")

    def run(self) -> Replayed:
        original = Sandbox.update
        steps = self.steps

        def update(box: Sandbox, changes: Any) -> Any:
            steps.step()
            found = original(box, changes)
            steps.step()
            return found

        Sandbox.update = update  # type: ignore[method-assign, assignment]
        try:
            return self._run()
        finally:
            Sandbox.update = original  # type: ignore[method-assign]

    def _run(self) -> Replayed:
        session = self.session
        base = session.tokens[0]
        used, carried, stopped, refused = base, False, False, 0
        for self.call, tokens in enumerate(session.tokens):
            emptied = session.emptied[self.call]
            grown = 0
            if self.stint == 0:
                used = tokens
                if emptied:
                    self.again(lambda: self.manager.note_compaction("t"))
                    self.filling += 1
            elif not emptied:
                grown = max(0, tokens - session.tokens[self.call - 1])
                used += grown
            outcomes: list[Outcome] = []
            while used > session.limit and not stopped:
                # The provider refuses the call; somebody else makes it.
                refused += 1
                outcomes = self._refused()
                stopped = self._ended(outcomes)
                if not stopped:
                    used = self._begun(base, outcomes) + grown
                    carried = True
            if stopped:
                break
            outcomes = self._called(used)
            if outcomes and outcomes[-1].decision.now:
                stopped = self._ended(outcomes)
                if stopped:
                    break
                carried = True
                used = self._begun(base, outcomes)
        self.again(lambda: self.orchestrator.collect("t"))
        self._check_notes()
        if (
            not self.steps.at
        ):  # a process that ends takes the events with it that it had not told
            self._check_fired()
        names = self.task().checkpoints
        return Replayed(
            session.name,
            len(session.tokens),
            session.limit,
            tuple(self.faults),
            tuple(n.rsplit("-", 2)[1] for n in names),
            tuple(self.seconds),
            self.stint,
            carried and not stopped,
            self.sections,
            self.steps.count,
            self.told,
            self.asked,
            self.crossings,
            refused,
            tuple(self.held),
        )

    @staticmethod
    def _ended(outcomes: list[Outcome]) -> bool:
        """Whether nobody goes on with the task as it was."""
        return not outcomes or outcomes[-1].decision.type in {"stop", "helper_agent"}

    def _begun(self, base: int, outcomes: list[Outcome]) -> int:
        """What the next agent's first call fills: the first call's share that every session
        begins with, and the checkpoint."""
        self.stint += 1
        last = outcomes[-1]
        if self.measure and not self._ended(outcomes):
            self.held.append(self._held(last))
        return base + max_tokens(block(last.checkpoint))

    def _refused(self) -> list[Outcome]:
        """The provider refuses a call: its window is full."""
        before = self._provider()
        self.again(lambda: self.orchestrator.failed("t", "context_length_exceeded"))
        return self._handled(before, len(self.task().checkpoints))

    def _provider(self) -> str:
        budget = self.task().token_budget
        return budget.provider if budget else ""

    def _called(self, used: int) -> list[Outcome]:
        """One call comes back; the supervisor deals with what it set off."""
        name = f"call-{self.stint}-{self.call}"
        before, made = self._provider(), len(self.task().checkpoints)
        place = (self.stint, self.filling)
        self.peaks[place] = max(self.peaks.get(place, 0), used / self.session.limit)
        self.again(
            lambda: self.manager.update_token_usage(used, 0, message_id=name, task_id="t")
        )
        return self._handled(before, made)

    def _handled(self, before: str, made: int) -> list[Outcome]:
        outcomes: list[Outcome] = []

        def handle() -> None:
            outcomes.extend(self.orchestrator.handle("t", prompt=self.session.prompt[:2000]))

        handoffs = self.task().last_handoff
        self.again(handle)
        # The next call comes long after an agent has written, not within a millisecond.
        for thread in threading.enumerate():
            if thread.name == "leftoff-dump":
                thread.join(5)
        for outcome in outcomes:
            self._check(outcome)
        if outcomes and all(o.checkpoint.capacity_threshold != "98" for o in outcomes):
            self._check_notes()  # at 98 % a dump may have come that nobody waited for
        if not outcomes and self.task().last_handoff != handoffs:
            # Killed after the handoff but before it could be told: the store knows it.
            outcomes = self._told_by_the_store(made)
        if outcomes and outcomes[-1].decision.now and not self._ended(outcomes):
            fresh = outcomes[-1].decision.provider == before
            if (self._provider() == before) != fresh:
                self.faults.append(f"call {self.call}: the next call goes to {before} again")
        return outcomes

    def _told_by_the_store(self, made: int) -> list[Outcome]:
        name = self.task().checkpoints[-1]
        kept = self.store.inner.load("checkpoint", name)
        if kept is None:
            self.faults.append(f"{name}: is not in the store")
            return []
        checkpoint = validated(kept.document)
        decision = NextAction(type="force_handoff", next_provider=self._provider())
        return [Outcome(checkpoint, decision, kept.where)]

    def _check(self, outcome: Outcome) -> None:
        made = outcome.checkpoint
        self.seconds.append(outcome.seconds)
        self.told += outcome.told_by == "agent"
        kept = self.store.inner.load("checkpoint", made.checkpoint_id)
        if kept is None or validated(kept.document).checkpoint_id != made.checkpoint_id:
            self.faults.append(f"{made.checkpoint_id}: is not in the store")
        wanted = ["project"] if made.capacity_threshold == "98" else ["project", "task"]
        level = TEMPLATES.for_capacity(made.capacity_threshold)
        for name in wanted:
            self.sections += 1
            path = self.folder / "contexts" / "sandbox" / "shop" / f"{name}.md"
            text = path.read_text("utf-8") if path.exists() else ""
            found = dumps.sections(text)
            section = found.get(f"t {made.capacity_threshold}", "")
            head = (level.project if name == "project" else level.specific).partition("\n")[0]
            if not section.startswith(head.partition(" (")[0]):
                self.faults.append(f"{name}.md: no section for {made.capacity_threshold} %")
            if text.count("<!-- leftoff:checkpoint ") != len(found):
                self.faults.append(f"{name}.md: a section is there twice, or half")
            fences = [n for n in text.splitlines() if n.lstrip().startswith("```")]
            if len(fences) % 2:
                self.faults.append(f"{name}.md: a fence is open")

    def _check_notes(self) -> None:
        """What others wrote into the project's file is as it was, and nothing is beside it."""
        text = (self.folder / "contexts/sandbox/shop/project.md").read_text("utf-8")
        if dumps.without_sections(text) != NOTES.strip("\n"):
            self.faults.append("project.md: what others wrote has changed")

    def _check_fired(self) -> None:
        """Every threshold that a provider's budget went over fired once, no other did."""
        for place, peak in self.peaks.items():
            for share in (0.80, 0.90, 0.95, 0.98):
                count = self.fired[(*place, share)]
                self.crossings += count
                if count != (peak >= share):
                    self.faults.append(f"stint {place}: {share:.0%} fired {count} times")

    def _held(self, outcome: Outcome) -> Held:
        recorded = self.session.recorded(self.call)
        prompt = outcome.prompt(self.session.prompt)
        # Code stands in backticks there; `brief` has none.
        text = prompt[: len(prompt) - len(self.session.prompt)].replace("`", "'")
        wanted = set(_open_items(recorded))
        files = _edited(recorded)
        said = "\n".join(_spoken(recorded))
        tail = "\n".join(said.splitlines()[-500:])
        injected = max_tokens(text)
        same = _tail_of(said, injected)
        return Held(
            items=len(wanted),
            items_held=sum(item in text for item in wanted),
            files=len(files),
            files_held=sum(name in text for name in files),
            tail_files_held=sum(name in same for name in files),
            injected=injected,
            history=max_tokens(said),
            tail=max_tokens(tail),
        )


def _open_items(recorded: Recorded) -> list[str]:
    """The beginnings of what was asked and not done, and of the steps that were left."""
    from leftoff.handover.wording import brief

    summary = recorded.summary
    asked = [r.text for r in summary.user_requests if r.status == "open"]
    return [brief(t)[:80] for t in [*asked, *(s.text for s in summary.next_steps)]]


_EDITS = frozenset({"edit", "write", "patch"})
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update) File: (\S.*)$", re.MULTILINE)


def _last_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _edited(recorded: Recorded) -> set[str]:
    """Base names of the files that calls of the recorder's edit tools changed with success,
    found without the engine; those that the summary says were deleted are left out."""
    from leftoff.model import ToolCall, ToolResult

    failed = {
        part.call_id
        for message in recorded.messages
        for part in message.parts
        if isinstance(part, ToolResult) and part.status not in {"ok", "unknown"}
    }
    found: set[str] = set()
    for message in recorded.messages:
        for part in message.parts:
            if message.agent or not isinstance(part, ToolCall) or part.id in failed:
                continue
            if part.kind not in _EDITS:
                continue
            given = part.input
            if isinstance(given, dict):
                path = given.get("file_path") or given.get("path") or given.get("notebook_path")
                text = str(given.get("input") or given.get("patch") or "")
            else:
                path, text = None, str(given)
            found.update([str(path)] if path else _PATCHED.findall(text))
    changed = recorded.summary.file_modifications
    gone = {_last_name(f.path) for f in changed if f.action == "deleted" or f.renamed_from}
    gone |= {_last_name(f.renamed_from) for f in changed}
    return {_last_name(name) for name in found} - gone


def _spoken(recorded: Recorded) -> list[str]:
    """Everything that was said or came back on the main thread, as text."""
    from leftoff.model import ToolCall

    found: list[str] = []
    for message in recorded.messages:
        if message.agent:
            continue
        for part in message.parts:
            text = str(part.input) if isinstance(part, ToolCall) else getattr(part, "text", "")
            if text:
                found.append(text)
    return found


def _tail_of(text: str, tokens: int) -> str:
    """The longest end of a text that takes at most so many tokens."""
    low, high = 0, min(len(text), 8 * tokens)
    while low < high:
        middle = (low + high + 1) // 2
        if max_tokens(text[-middle:]) <= tokens:
            low = middle
        else:
            high = middle - 1
    return text[-low:] if low else ""
