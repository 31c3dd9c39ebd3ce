"""From a crossing to a handoff: checkpoints, dumps, decisions, and what a kill leaves."""

import asyncio
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.strategies.clock import Clock
from tests.strategies.together import at_once

from leftoff.errors import NotPlainName, StateError, UnknownName, UsageError
from leftoff.handover.checkpoint import dumps
from leftoff.handover.checkpoint.document import validated
from leftoff.live.checkpoints import recorded as recordings
from leftoff.live.checkpoints.dumps import Sandbox
from leftoff.live.checkpoints.orchestrator import CheckpointOrchestrator, Outcome
from leftoff.live.checkpoints.recorded import Recorded, git_diff
from leftoff.live.session import SessionManager
from leftoff.live.telemetry import Event
from leftoff.settings import load
from leftoff.stores.files import FileStore

DUMP = """## Context Dump: 90% Capacity

### What was accomplished:
- the outbox keeps its entries over a restart

### Next steps needed:
- wire the form to the outbox
"""


class World:
    """A supervisor with a store and a directory; it can be started again."""

    def __init__(self, folder: Path, session: Path, **flags: Any) -> None:
        self.folder, self.session = folder, session
        self.store: Any = FileStore(folder / "home")
        self.settings = load(flags=flags).settings
        self.clock = Clock()
        self.events: list[Event] = []
        self.start()

    def start(self) -> None:
        """Begins anew with nothing but what is on the disk."""
        self.manager = SessionManager(settings=self.settings, clock=self.clock)
        self.manager.subscribe(self.events.append)
        self.orchestrator = CheckpointOrchestrator(
            self.manager,
            self.store,
            providers={"a": 1_000_000, "b": 1_000_000, "c": 500_000},
            clock=self.clock,
            diff=lambda *_: None,
        )

    def add(self, task: str = "t1", **more: Any) -> None:
        options: dict[str, Any] = {"provider": "a", "recording": self.session, **more}
        self.orchestrator.add(
            task, goal="Keep inspections", directory=self.folder, project="shop", **options
        )

    def use(self, percent: float, task: str = "t1") -> None:
        """The provider that works on the task reports so much of its budget."""
        budget = self.manager.task(task).token_budget
        assert budget is not None
        self.manager.update_token_usage(
            int(percent * budget.total_allocated / 100), 0, message_id=str(self.clock()),
            task_id=task,
        )  # fmt: skip

    def cross(self, percent: float, task: str = "t1") -> list[Outcome]:
        """What is done about the use of so much of the budget."""
        self.use(percent, task)
        return self.orchestrator.handle(task)

    def fail(self, error: str) -> list[Outcome]:
        """What is done about an error of the provider."""
        self.orchestrator.failed("t1", error)
        return self.orchestrator.handle("t1")

    @property
    def notes(self) -> Path:
        return self.folder / "contexts" / "sandbox" / "shop" / "project.md"

    def markdown(self, name: str = "project") -> str:
        path = self.notes.with_name(f"{name}.md")
        return path.read_text("utf-8") if path.exists() else ""

    def write(self, change: Callable[[str], str]) -> None:
        """Writes into the project's notes, as an agent does."""
        self.notes.write_text(change(self.markdown()), "utf-8")

    def named(self, name: str) -> list[dict[str, Any]]:
        return [e.fields for e in self.events if e.name == name]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions keep their own resume logs in the directory they run in. Nothing here cuts the
    power, so nothing need wait for the disk."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.fsync", lambda _: None)


@pytest.fixture
def session(root: Path) -> Path:
    return root / "corpora" / "sessions" / "claude_code" / "outbox.jsonl"


@pytest.fixture
def world(tmp_path: Path, session: Path) -> World:
    return World(tmp_path, session)


# -- crossings -------------------------------------------------------------------------------


def test_each_crossing_makes_one_checkpoint_and_its_sections(world: World) -> None:
    world.add()
    kinds = []
    for percent in (50, 82, 91, 92, 96, 99):
        world.use(percent)
        for outcome in world.orchestrator.handle("t1"):
            kept = world.store.load("checkpoint", outcome.checkpoint.checkpoint_id)
            assert validated(kept.document) == outcome.checkpoint
            kinds.append((outcome.checkpoint.capacity_threshold, outcome.decision.type))
    assert kinds == [("90", "continue"), ("95", "fallback"), ("98", "force_handoff")]
    project, specific = world.markdown(), world.markdown("keep-inspections")
    assert list(dumps.sections(project)) == ["t1 90", "t1 95", "t1 98"]
    assert list(dumps.sections(specific)) == ["t1 90", "t1 95"]
    assert "## EMERGENCY Checkpoint at 98% Capacity (Iteration 4)" in project
    assert "src/outbox.js" in project
    task = world.manager.task("t1")
    assert len(task.checkpoints) == 3
    assert task.token_budget is not None
    assert task.token_budget.provider == "b"
    assert [e["capacity_percent"] for e in world.named("CHECKPOINT_CREATED")] == [90, 95, 98]
    assert [e["to_provider"] for e in world.named("HANDOFF_DECISION")] == ["b"]


def test_one_step_over_all_thresholds_asks_the_agent_once(world: World) -> None:
    asked: list[str] = []
    world.add(agent=asked.append)
    outcomes = world.cross(99)
    assert [o.checkpoint.capacity_threshold for o in outcomes] == ["90", "95", "98"]
    time.sleep(0.05)  # nobody waited for it
    assert [a.splitlines()[0] for a in asked] == [
        "EMERGENCY: Dump critical state only. Handoff IMMINENT."
    ]
    assert world.orchestrator.handle("t1") == []


def test_after_a_handoff_the_prompt_carries_the_checkpoint(world: World) -> None:
    world.add()
    last = world.cross(99)[-1]
    prompt = last.prompt("Go on.\n")
    assert prompt.startswith(f"[Context Checkpoint: {last.checkpoint.checkpoint_id}]\n")
    assert prompt.endswith("\nContinue task: Go on.\n")


def test_a_section_is_replaced_when_a_threshold_is_crossed_again(world: World) -> None:
    world.add()
    world.cross(91)
    world.write(lambda text: "# Shop\n\nBy hand.\n\n" + text)
    world.manager.note_compaction("t1")
    (again,) = world.cross(93)
    text = world.markdown()
    assert text.startswith("# Shop\n\nBy hand.\n")
    assert text.count("## Checkpoint at 90% Capacity") == 1
    assert again.checkpoint.created_at in text
    assert len(world.manager.task("t1").checkpoints) == 2


def test_without_a_recording_the_checkpoint_says_what_the_budget_says(world: World) -> None:
    world.add(recording=world.folder / "missing.jsonl")
    (outcome,) = world.cross(91)
    assert outcome.checkpoint.tokens.percent_used == pytest.approx(91)
    assert "## Checkpoint at 90% Capacity" in world.markdown()


def test_a_slow_recording_does_not_hold_the_checkpoint_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leftoff.live.checkpoints.orchestrator.RECORDING_TIMEOUT", 0.05)
    released = threading.Event()
    world.add(recording=lambda: released.wait(20))
    (outcome,) = world.cross(91)
    released.set()
    assert outcome.checkpoint.conversation.full_history == ()


# -- the agent's dump ------------------------------------------------------------------------


async def _async_dump(instruction: str) -> str:
    await asyncio.sleep(0)
    return DUMP


@pytest.mark.parametrize("agent", [lambda _: DUMP, _async_dump], ids=["plain", "async"])
@pytest.mark.parametrize("driver", ["handle", "handle_async"])
def test_a_dump_that_is_given_back_takes_the_place_of_ours(
    world: World, agent: Any, driver: str
) -> None:
    world.add(agent=agent)
    world.use(91)
    if driver == "handle":
        (outcome,) = world.orchestrator.handle("t1")
    else:
        (outcome,) = asyncio.run(world.orchestrator.handle_async("t1"))
    assert (outcome.told_by, outcome.why) == ("agent", "")
    assert "keeps its entries over a restart" in world.markdown()
    assert "## Checkpoint at 90% Capacity (Iteration 4)" in world.markdown()
    assert [e["status"] for e in world.named("CONTEXT_DUMP_REQUESTED")] == ["sent", "written"]


def _between_the_marks(text: str) -> str:
    mark = "<!-- leftoff:checkpoint t1 90 -->\n"
    start, end = text.index(mark) + len(mark), text.index("<!-- /leftoff:checkpoint t1")
    return text[:start] + DUMP + text[end:]


@pytest.mark.parametrize(
    "change",
    [lambda text: f"{text}\n{DUMP}", _between_the_marks, lambda _: f"# My own notes\n\n{DUMP}"],
)
def test_a_dump_written_into_the_file_is_found_and_stands_once(
    world: World, change: Callable[[str], str]
) -> None:
    world.add(agent=lambda _: world.write(change))
    world.add("t0", agent=None)
    world.cross(91, "t0")
    (outcome,) = world.cross(91)
    text = world.markdown()
    assert outcome.told_by == "agent"
    assert text.count("keeps its entries over a restart") == 1
    assert "keeps its entries" in dumps.sections(text)["t1 90"]
    assert set(dumps.sections(text)) == {"t0 90", "t1 90"}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "it wrote nothing"),
        ("done", "it is nearly empty"),
        ("I cannot do that, because it would take too long and I am tired.", "none of the"),
        (DUMP.replace("- the outbox", "{git diff summary}\n- the outbox"), "is the form"),
        ("### What was accomplished:\n" + "x" * 300_000, "more than 262,144"),
        (42, "it wrote nothing"),
    ],
)
def test_rubbish_leaves_ours(world: World, answer: Any, why: str) -> None:
    world.add(agent=lambda _: answer)
    (outcome,) = world.cross(91)
    assert outcome.told_by == "leftoff"
    assert why in outcome.why
    assert "### What was accomplished:\n- " in world.markdown()


def test_an_agent_that_fails_or_takes_too_long_leaves_ours(
    tmp_path: Path, session: Path
) -> None:
    world = World(tmp_path, session, **{"token_budget.handoff.timeout_ms": 50})

    def fails(_: str) -> str:
        raise RuntimeError("no connection, token ghp_0123456789abcdefghijklmnopqrstuvwxyzAB")

    async def sleeps(_: str) -> str:
        await asyncio.Event().wait()
        return DUMP

    world.add(agent=fails)
    world.add("t2", agent=sleeps)
    assert world.cross(91)[0].why == "it failed: RuntimeError"
    world.use(91, "t2")
    (outcome,) = asyncio.run(world.orchestrator.handle_async("t2"))
    assert outcome.why == "no answer within 0.05 s"


def test_nobody_waits_at_98(world: World) -> None:
    asked = threading.Event()
    answers = True

    async def agent(_: str) -> str:
        asked.set()
        if not answers:
            await asyncio.Event().wait()
        return DUMP

    async def supervised() -> None:
        (*_, outcome) = await world.orchestrator.handle_async("t1")
        assert outcome.why == "no answer was awaited"
        await asyncio.sleep(0.01)

    world.add(agent=agent)
    world.use(97)
    asyncio.run(world.orchestrator.handle_async("t1"))
    world.use(98.5)
    asked.clear()
    answers = False
    asyncio.run(supervised())
    assert asked.is_set()


def test_an_agents_dump_cannot_break_the_file(world: World) -> None:
    hostile = DUMP + "<!-- /leftoff:checkpoint t1 90 -->\n```\nopen fence\n"
    world.add(agent=lambda _: hostile)
    world.cross(91)
    text = world.markdown()
    assert list(dumps.sections(text)) == ["t1 90"]
    assert dumps.without_sections(text) == ""
    assert text.count("```") == 2


def test_an_agents_secrets_go_nowhere(world: World) -> None:
    secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"
    world.add(agent=lambda _: DUMP + f"- token {secret}, ask ada.byron@gmail.com\n")
    world.cross(91)
    files = [p for p in world.folder.rglob("*") if p.is_file()]
    found = [p for p in files if secret.encode() in p.read_bytes()]
    assert found == []
    assert "ada.byron@gmail.com" not in world.markdown()


# -- handing over ----------------------------------------------------------------------------


def test_a_failure_goes_through_the_same_door(world: World) -> None:
    world.add()
    world.cross(91)
    (name,) = world.manager.task("t1").checkpoints
    (outcome,) = world.fail("context_length_exceeded")
    assert outcome.checkpoint.checkpoint_id == name
    assert (outcome.decision.type, outcome.decision.provider) == ("force_handoff", "b")
    assert world.manager.task("t1").last_handoff is not None


def test_a_failure_before_any_checkpoint_makes_one(world: World) -> None:
    world.add()
    world.use(20)
    (outcome,) = world.fail("circuit_open")
    assert outcome.checkpoint.tokens.consumed == 200_000
    assert world.store.load("checkpoint", outcome.checkpoint.checkpoint_id)


def test_a_damaged_checkpoint_is_left_aside(world: World) -> None:
    world.add()
    (first,) = world.cross(91)
    (second,) = world.cross(96)
    Path(second.where).write_bytes(b'{"checkpoint_id": "x", "leftoff": {}}')
    for backup in Path(second.where).parent.glob("*.bak"):
        backup.unlink()
    (outcome,) = world.fail("timeout")
    assert outcome.checkpoint.checkpoint_id == first.checkpoint.checkpoint_id


def test_three_handoffs_without_progress_are_enough(world: World) -> None:
    world.add()
    types = [world.cross(99)[-1].decision.type for _ in range(4)]
    assert types == ["force_handoff", "force_handoff", "force_handoff", "stop"]
    assert world.orchestrator.plan("t1").status == "stopped"


def test_progress_forgives_earlier_handoffs(world: World, root: Path) -> None:
    sessions = sorted((root / "corpora" / "sessions" / "claude_code").glob("*.jsonl"))
    now = {"path": sessions[0]}

    def recorded() -> Recorded:
        return recordings.recorded(now["path"])

    world.add(recording=recorded)
    for number in range(5):  # another session each time, with changes of its own
        now["path"] = sessions[number % 2]
        assert world.cross(99)[-1].decision.type == "force_handoff"


def test_a_provider_whose_circuit_is_open_takes_nothing_over(world: World) -> None:
    world.orchestrator.unavailable = {"b"}
    world.add()
    assert world.cross(99)[-1].decision.provider == "c"


def test_a_completed_task_leaves_no_checkpoints(world: World) -> None:
    world.add()
    world.cross(96)
    assert len(world.store.list("checkpoint")) == 2
    assert world.orchestrator.complete("t1") == 2
    assert world.store.list("checkpoint") == []
    assert world.store.load("task", "t1") is not None


def test_what_is_asked_wrongly_is_refused(world: World) -> None:
    with pytest.raises(NotPlainName):
        world.add("../t")
    with pytest.raises(UnknownName):
        world.add("t", role="backnd")
    with pytest.raises(UnknownName):
        world.orchestrator.handle("nobody")
    with pytest.raises(UsageError, match="no limit"):
        CheckpointOrchestrator(world.manager, world.store, providers=["nobody"])
    with pytest.raises(NotPlainName):
        world.orchestrator.add("t", directory=world.folder, project="..")


# -- many at once, and kills -----------------------------------------------------------------


def test_tasks_do_not_disturb_each_other(world: World) -> None:
    names = [f"t{n}" for n in range(8)]
    waiting = threading.Barrier(len(names), timeout=20)

    def agent(_: str) -> str:
        waiting.wait()  # all of them are being asked at once
        return DUMP

    for name in names:
        world.add(name, agent=agent)

    def run(name: str) -> list[Any]:
        world.use(91, name)
        return list(world.orchestrator.handle(name))

    outcomes = at_once(run, names)
    assert all(len(o) == 1 and o[0].told_by == "agent" for o in outcomes)
    assert set(dumps.sections(world.markdown())) == {f"{name} 90" for name in names}
    assert len(world.store.list("checkpoint")) == len(names)


class Killed(BaseException):
    """The process ends here."""


class DyingStore:
    """A store in a process that is killed at the n-th save, before or after it."""

    def __init__(self, inner: FileStore, at: int, *, after: bool) -> None:
        self.inner, self.at, self.after, self.saves = inner, at, after, 0

    def save(self, kind: str, id: str, document: Any, *, text: str = "") -> str:
        self.saves += 1
        if self.saves == self.at and not self.after:
            raise Killed
        where = self.inner.save(kind, id, document, text=text)
        if self.saves == self.at:
            raise Killed
        return where

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def _replayed(world: World, agent: Any) -> list[tuple[str, str]]:
    """A task over all thresholds, begun again wherever it is killed."""
    dealt: list[tuple[str, str]] = []
    store = world.store
    for percent in (85, 91, 96, 99):
        for _ in range(3):
            try:
                if "t1" not in world.manager._state.tasks:
                    world.add(agent=agent)
                if world.manager.task("t1").token_budget.provider == "a":  # type: ignore[union-attr]
                    world.use(percent)
                outcomes = world.orchestrator.handle("t1")
                dealt += [(o.checkpoint.capacity_threshold, o.decision.type) for o in outcomes]
                break
            except Killed:
                world.store = store = getattr(store, "inner", store)
                world.start()
    return dealt


# After one save is before the next.
@pytest.mark.parametrize(("at", "after"), [*((n, False) for n in range(1, 18)), (17, True)])
def test_killed_at_any_save_it_goes_on_from_the_store(
    tmp_path: Path, session: Path, at: int, after: bool
) -> None:
    world = World(tmp_path, session)
    world.store = DyingStore(world.store, at, after=after)
    world.start()
    dealt = _replayed(world, lambda _: DUMP.replace("90%", "95%"))
    task = world.manager.task("t1")
    assert {c for c, _ in dealt} <= {"90", "95", "98"}
    capacities = [name.split("-")[2] for name in task.checkpoints]
    assert capacities == ["90p", "95p", "98p"]
    assert sorted(e.id for e in world.store.list("checkpoint")) == sorted(task.checkpoints)
    assert task.handoffs == 1
    assert task.token_budget is not None
    assert task.token_budget.provider == "b"
    assert set(dumps.sections(world.markdown())) == {"t1 90", "t1 95", "t1 98"}
    assert world.orchestrator.plan("t1").pending == ()


def test_killed_while_the_agent_writes_its_dump_is_taken_afterwards(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    world.add(agent=lambda _: world.write(lambda text: f"{text}\n{DUMP}"))
    world.use(91)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("leftoff.live.checkpoints.dumps.accept", killed)
        world.orchestrator.handle("t1")  # the supervisor is gone, the agent has written
    world.start()
    world.add(agent=lambda _: pytest.fail("it was asked already"))
    (outcome,) = world.orchestrator.handle("t1")
    assert outcome.told_by == "agent"
    assert world.markdown().count("keeps its entries over a restart") == 1
    assert len(world.manager.task("t1").checkpoints) == 1


# -- files and git ---------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["contexts", "contexts/sandbox", "contexts/sandbox/shop"])
def test_links_are_not_followed(tmp_path: Path, part: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    home = tmp_path / "home"
    link = home / part
    link.parent.mkdir(parents=True)
    link.symlink_to(outside, target_is_directory=True)
    with pytest.raises(StateError):
        Sandbox(home, "shop").update({"project.md": lambda _: "x"})
    assert list(outside.iterdir()) == []


def test_a_file_that_is_a_link_is_not_read_or_written(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("keep out", "utf-8")
    folder = tmp_path / "contexts" / "sandbox" / "shop"
    folder.mkdir(parents=True)
    (folder / "project.md").symlink_to(secret)
    with pytest.raises(StateError):
        Sandbox(tmp_path, "shop").update({"project.md": lambda old: old + "x"})
    assert secret.read_text("utf-8") == "keep out"


def test_a_diff_leaves_secrets_out(tmp_path: Path) -> None:
    def git(*args: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *args], check=True, timeout=20)

    git("init", "-q")
    (tmp_path / "app").mkdir()
    names = (".env", "src.py", "app/src.py")
    for name in names:
        (tmp_path / name).write_text("A=1\n", "utf-8")
    git("add", "-A")
    git("commit", "-qm", "first")
    for name in names:
        (tmp_path / name).write_text("A=2 changed\n", "utf-8")
    diff = git_diff(tmp_path) or ""
    assert diff.count("+A=2 changed") == 2
    assert "left out" in diff
    assert git_diff(tmp_path, ["*.md"]) == ""
    for found in (git_diff(tmp_path / "app"), git_diff(tmp_path / "app", ["src.py"])):
        assert found is not None
        assert found.count("diff --git") == 1
        assert found.startswith("diff --git a/src.py b/src.py\n")  # as seen from the folder
    assert git_diff(tmp_path / "nowhere") is None


def test_a_dump_that_nobody_waited_for_is_taken_at_the_next_look(world: World) -> None:
    write = threading.Event()

    def agent(_: str) -> None:
        write.wait(5)
        dump = DUMP.replace("What was accomplished", "Critical State Summary")
        world.write(lambda text: f"{text}\n{dump}")

    world.add(agent=agent)
    last = world.cross(99)[-1]
    assert last.told_by == "leftoff"
    write.set()
    for thread in threading.enumerate():
        if thread.name == "leftoff-call":
            thread.join(5)
    dumped = world.orchestrator.collect("t1")
    assert dumped is not None
    assert dumped.told_by == "agent"
    text = world.markdown()
    assert text.count("keeps its entries over a restart") == 1
    assert dumps.without_sections(text) == ""
    assert world.orchestrator.collect("t1") is None


def test_without_a_prompt_the_goal_has_to_fit(world: World) -> None:
    world.add(recording=None)
    world.use(91)
    (outcome,) = world.orchestrator.handle("t1", growth=95_000)
    assert outcome.decision.type == "fallback"
    assert world.orchestrator.plan("t1").staged == "b"


def test_an_iteration_is_taken_to_need_what_the_last_one_took(world: World) -> None:
    """What the last call added was never noted, so it never counted against what is left."""
    world.add(recording=None)
    world.use(80)
    world.use(91)  # the last iteration took 11 %, and 9 % are left
    (outcome,) = world.orchestrator.handle("t1")
    assert outcome.decision.type == "fallback"


def test_what_is_switched_off_is_not_done(tmp_path: Path, session: Path) -> None:
    flags = {
        "token_budget.context_dump.markdown_update": False,
        "token_budget.handoff.enabled": False,
    }
    world = World(tmp_path, session, **flags)
    world.add(agent=lambda _: pytest.fail("no dump is wanted"))
    outcomes = world.cross(99)
    assert [o.decision.type for o in outcomes] == ["continue"] * 3
    assert len(world.store.list("checkpoint")) == 3
    assert world.markdown() == ""
    assert outcomes[0].checkpoint.context_dump_outputs.project_md_updated == ""


def test_a_handoff_that_is_not_forced_waits_for_the_dump(tmp_path: Path, session: Path) -> None:
    world = World(tmp_path, session, **{"token_budget.handoff.force_at_98_percent": False})
    text = DUMP.replace("What was accomplished", "Critical State Summary")
    world.add(agent=lambda _: text)
    last = world.cross(99)[-1]
    assert (last.decision.type, last.told_by) == ("fallback", "agent")


def test_a_disk_that_is_full_for_markdown_costs_no_checkpoint(world: World) -> None:
    (world.folder / "contexts").write_text("in the way", "utf-8")
    world.add(agent=lambda _: DUMP)
    (outcome,) = world.cross(91)
    assert world.store.load("checkpoint", outcome.checkpoint.checkpoint_id)
    assert outcome.told_by == "leftoff"


def test_the_helper_is_the_third_way(tmp_path: Path, session: Path) -> None:
    world = World(tmp_path, session)
    world.orchestrator.providers = {"a": 1_000_000}
    world.add()
    world.use(50)
    (outcome,) = world.fail("HTTP 529")
    assert outcome.decision.type == "helper_agent"
    assert outcome.checkpoint.next_action.next_role == "helper"
    assert outcome.checkpoint.execution_state.status == "paused_for_handoff"
    assert world.named("HANDOFF_DECISION")[-1]["to_provider"] == "helper"
