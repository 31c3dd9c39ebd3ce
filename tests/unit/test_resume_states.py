"""Keeping resume states: tracked, saved, found, judged, cleaned up, taken up again."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.strategies.clock import Clock
from tests.strategies.together import at_once

from leftoff.errors import StateError
from leftoff.handover.compatibility import Limits, Workspace, assess
from leftoff.handover.resume_state.document import (
    ChatMessage,
    CompletedTool,
    ExecutionHistoryEntry,
    FunctionCall,
    ResumeState,
    WorkflowExecutionContext,
)
from leftoff.live.resume_states.orchestrator import ResumeOrchestrator, resumption
from leftoff.live.resume_states.states import FileResumeStateManager as Manager
from leftoff.live.resume_states.transcripts import from_transcript
from leftoff.settings import Resume, Settings
from leftoff.stores.files import FileStore, store_for

PLAN = "# Plan\nRead, then write.\n"


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "kept")


@pytest.fixture
def manager(store: FileStore) -> Manager:
    return Manager(store, clock=Clock())


def file_of(store: FileStore, workflow: str) -> Path:
    return store.folder("resume_state") / f"{workflow}.json"


def reopened(store: FileStore) -> Manager:
    """A manager of another process."""
    return Manager(store, clock=Clock())


def saved(store: FileStore, workflow: str) -> ResumeState:
    """What another process finds of a workflow."""
    found = reopened(store).load(workflow)
    assert found is not None
    assert found.issues == ()
    return found.state


# -- tracking --------------------------------------------------------------------------------


def test_every_call_is_kept_as_it_happens(manager: Manager, store: FileStore) -> None:
    workflow = manager.begin("a/plan.prompt.md", PLAN, tools=["read", "write"])
    assert workflow.startswith("workflow_plan_20260102_0304")
    with manager.tracking(workflow, "read", {"path": "a"}, reasoning="to know it") as call:
        call.result = {"lines": 3}
    with manager.tracking(workflow, "nothing", reasoning=""):
        pass
    with (
        pytest.raises(OSError, match="full"),
        manager.tracking(workflow, "write", {"path": "b"}),
    ):
        raise OSError("the disk is full")
    state = saved(store, workflow)
    assert [
        (t.function_name, t.success, t.result, t.ai_reasoning) for t in state.completed_tools
    ] == [
        ("read", True, '{"lines":3}', "to know it"),
        ("nothing", True, None, None),
        ("write", False, "ERROR: the disk is full", "Tool execution failed"),
    ]
    assert state.completed_tools[0].parameters == {"path": "a"}
    assert all(t.executed_at for t in state.completed_tools)
    assert state.original_workflow_content == PLAN
    assert state.available_tools == ("read", "write")


def test_the_decorator_captures_sync_and_async(manager: Manager, store: FileStore) -> None:
    workflow = manager.begin(name="deco")

    @manager.tracked(workflow)
    def add(a: int, b: int = 2, *, reasoning: str = "", **more: int) -> int:
        """Adds."""
        return a + b

    @manager.tracked(workflow, name="slow", reasoning="because")
    async def fails(x: str) -> str:
        await asyncio.sleep(0)
        raise ValueError(x)

    assert add(1, reasoning="sum", c=5) == 3
    assert add.__doc__ == "Adds."
    with pytest.raises(TypeError):
        add()  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="bad"):
        asyncio.run(fails("bad"))
    found = reopened(store).load(workflow)
    assert found is not None
    told = [
        (t.function_name, t.parameters, t.success, t.ai_reasoning)
        for t in found.state.completed_tools
    ]
    assert told[0] == ("add", {"a": 1, "b": 2, "c": 5}, True, "sum")
    assert told[1][0::2] == ("add", False)
    assert told[2] == ("slow", {"x": "bad"}, False, "because")


def test_calls_without_a_workflow_belong_to_the_session(manager: Manager) -> None:
    @manager.tracked()
    def look(workflow_id: str = "") -> None: ...

    look()
    other = manager.begin(name="other")
    look(workflow_id=other)
    own = manager.session_workflow()
    listed = {w.workflow_id: w.tools_completed for w in manager.list_available_workflows()}
    assert listed == {own: 1, other: 1}
    assert not any("unknown" in name for name in listed)


def test_the_frequency_says_when_it_is_saved(store: FileStore) -> None:
    settings = Settings(resume=Resume(checkpoint_frequency=3))
    manager = Manager(store, settings=settings, clock=Clock())
    workflow = manager.begin(name="w")
    counts = []
    for n in range(7):
        manager.track_completed_tool(
            workflow, CompletedTool(function_name=f"t{n}", success=True)
        )
        found = reopened(store).load(workflow)
        counts.append(len(found.state.completed_tools) if found else 0)
    assert counts == [0, 0, 3, 3, 3, 6, 6]
    manager.checkpoint(workflow)
    state = saved(store, workflow)
    assert len(state.completed_tools) == 7


def test_what_does_not_fit_is_counted_once(store: FileStore) -> None:
    settings = Settings(resume=Resume(checkpoint_frequency=350))
    manager = Manager(store, settings=settings, clock=Clock())
    workflow = manager.begin(name="many")
    for n in range(700):
        tool = CompletedTool(function_name=f"t{n}", success=True)
        manager.track_completed_tool(workflow, tool)
    state = saved(store, workflow)
    assert state.dropped == {"completed_tools": 650}
    assert [t.function_name for t in state.completed_tools][::49] == ["t650", "t699"]


def test_a_tool_is_not_disturbed_by_a_store_that_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    manager = Manager(FileStore(blocked / "below"))
    with manager.tracking(None, "t") as call:
        call.result = 7
    assert call.result == 7
    assert "a call of t is not saved" in caplog.text
    with pytest.raises(StateError):
        manager.track_completed_tool(None, CompletedTool(function_name="t"))


def test_threads_do_not_lose_each_others_calls(manager: Manager, store: FileStore) -> None:
    workflow = manager.begin(name="threads")

    def work(name: str) -> None:
        for n in range(5):
            with manager.tracking(workflow, f"{name}{n}"):
                pass

    at_once(work, "abcd")
    state = saved(store, workflow)
    assert len({t.function_name for t in state.completed_tools}) == 20


# -- saving and loading ----------------------------------------------------------------------

CHAT = (
    ChatMessage(role="user", content="Add a retry to the uploader."),
    ChatMessage(
        role="assistant",
        content="I'll use exponential backoff instead of a fixed delay, because the server asks for it.",
        function_calls=(FunctionCall(function_name="edit_file", parameters={"path": "up.py"}, call_id="c1"),),
    ),
    ChatMessage(role="tool", content="edited", tool_call_id="c1"),
)  # fmt: skip


def test_saving_again_adds_nothing_twice(manager: Manager, store: FileStore) -> None:
    workflow = manager.begin("plan.md", PLAN)
    step = ExecutionHistoryEntry(
        step_name="s", step_type="function", start_time="2026-03-02T09:00:00Z", success=True
    )
    context = WorkflowExecutionContext(
        variables={"a": 1, "current_phase": "reading"}, execution_history=(step,)
    )
    chat = tuple(ChatMessage(role="user", content=f"m{n}") for n in range(25))
    for _ in range(3):
        manager.save_resume_state(workflow, context, chat)
    manager.save_resume_state(workflow, replace(context, variables={"a": 2}), chat)
    state = saved(store, workflow)
    assert len(state.completed_tools) == 1
    assert state.dropped == {"chat_history": 5}
    assert [(c.key, c.old_value, c.new_value) for c in state.context_evolution.changes] == [
        ("a", None, 1),
        ("a", 1, 2),
    ]
    assert state.current_phase == "reading"


def test_where_both_are_damaged_the_error_is_clear_and_the_files_stay(
    manager: Manager, store: FileStore
) -> None:
    workflow = manager.begin("plan.md", PLAN)
    for name in ("first", "second"):
        manager.track_completed_tool(workflow, CompletedTool(function_name=name, success=True))
    files = [f for f in file_of(store, workflow).parent.iterdir() if f.is_file()]
    assert len(files) == 2
    for file in files:
        file.write_bytes(b"{ half")
    other = reopened(store)
    with pytest.raises(StateError, match=f"{workflow}.*damaged"):
        other.load(workflow)
    assert all(file.read_bytes() == b"{ half" for file in files)
    (listed,) = other.list_available_workflows()
    assert "damaged" in listed.problem
    assert other.cleanup_old_resume_files(0) == 0


def test_the_designs_own_file_loads_and_says_that_it_has_no_checksum(
    root: Path, manager: Manager, store: FileStore
) -> None:
    workflow = "workflow_project-analysis_20250710_143022_1234"
    file = file_of(store, workflow)
    file.parent.mkdir(parents=True)
    file.write_bytes((root / "tests" / "golden" / "resume_state.json").read_bytes())
    found = manager.load(workflow)
    assert found is not None
    assert [i.code for i in found.issues] == ["unsealed"]
    context, chat = manager.load_resume_state(workflow) or (None, ())
    assert context is not None
    assert len(chat) == 5
    manager.track_completed_tool(workflow, CompletedTool(function_name="more", success=True))
    state = saved(store, workflow)
    assert len(state.completed_tools) == 3
    assert state.chat_history == chat


def test_a_large_state_is_compressed_where_settings_say_so(tmp_path: Path, root: Path) -> None:
    settings = Settings(resume=Resume(enable_compression=True, max_file_size_bytes=1000))
    store = store_for(settings, tmp_path)
    manager = Manager(store, settings=settings)
    workflow = manager.begin("plan.md", PLAN * 500)
    where = manager.checkpoint(workflow)
    assert Path(where).read_bytes()[:2] == b"\x1f\x8b"
    found = Manager(store).load(workflow)
    assert found is not None
    assert found.state.original_workflow_content == PLAN * 500


def test_the_designs_place_is_read_where_there_is_one(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    theirs = tmp_path / ".dotnet-prompt" / "resume"
    theirs.mkdir(parents=True)
    data = (root / "tests" / "golden" / "resume_state.json").read_bytes()
    workflow = "workflow_project-analysis_20250710_143022_1234"
    (theirs / f"{workflow}.json").write_bytes(data)
    manager = Manager()
    assert [w.workflow_id for w in manager.list_available_workflows()] == [workflow]
    manager.track_completed_tool(workflow, CompletedTool(function_name="t", success=True))
    assert (theirs / f"{workflow}.json").read_bytes() == data
    assert (tmp_path / ".leftoff" / "resume" / f"{workflow}.json").is_file()
    assert [w.tools_completed for w in manager.list_available_workflows()] == [3]


# -- judging, cleaning -----------------------------------------------------------------------


def test_compatibility_of_a_saved_workflow(manager: Manager) -> None:
    workflow = manager.begin("plan.md", PLAN)
    manager.checkpoint(workflow)
    quiet = Workspace()
    assert (
        manager.validate_resume_compatibility(workflow, PLAN, workspace=quiet).verdict == "same"
    )
    assert (
        manager.validate_resume_compatibility(workflow, "no", workspace=quiet).verdict
        == "refuse"
    )
    none = manager.validate_resume_compatibility("workflow_gone")
    assert (none.can_resume, none.compatibility_score) == (False, 0.0)
    asynchronous = asyncio.run(
        manager.validate_resume_compatibility_async(workflow, PLAN, workspace=quiet)
    )
    assert asynchronous.compatibility_score == 1.0


def test_the_limits_are_settings(store: FileStore) -> None:
    settings = Settings(resume=Resume(minimum_score=0.05, similarity_warning=0.05))
    manager = Manager(store, settings=settings)
    workflow = manager.begin("plan.md", "abcdefghij" * 5)
    manager.checkpoint(workflow)
    found = manager.validate_resume_compatibility(
        workflow, "abc" + "#" * 47, workspace=Workspace()
    )
    assert (found.verdict, found.compatibility_score) == ("same", 0.06)


def test_only_what_is_done_or_old_goes(store: FileStore) -> None:
    clock = Clock()
    clock.now = datetime.now(UTC)
    manager = Manager(store, clock=clock)
    names = [manager.begin(name=name) for name in ("open", "done", "pinned")]
    for name in names:
        manager.checkpoint(name)
    manager.complete(names[1])
    store.pin("resume_state", names[2], True)
    assert manager.cleanup_old_resume_files() == 1
    assert {w.workflow_id for w in manager.list_available_workflows()} == {names[0], names[2]}
    note = json.loads((store.folder("resume_state") / "cleanup_metadata.json").read_bytes())
    assert note["removed"] == [names[1]]
    assert note["kept"] == 2
    clock.now += timedelta(days=8)
    assert manager.cleanup_old_resume_files(9) == 0
    assert manager.cleanup_old_resume_files() == 1
    assert [w.workflow_id for w in manager.list_available_workflows()] == [names[2]]


def test_the_list_begins_with_the_newest(manager: Manager) -> None:
    names = [manager.begin(name=name) for name in ("b", "a", "c")]
    for name in names:
        manager.checkpoint(name)
    assert [
        w.workflow_id for w in asyncio.run(manager.list_available_workflows_async())
    ] == names[::-1]


# -- taking up -------------------------------------------------------------------------------


def ran(manager: Manager, **options: Any) -> tuple[Any, list[Any]]:
    """A workflow with two tools, resumed; what came of it and what the callable was given."""
    given: list[Any] = []

    def run(
        file: str,
        context: WorkflowExecutionContext,
        chat: list[ChatMessage],
        *,
        is_resume: bool,
    ) -> str:
        given.extend([file, context, chat, is_resume])
        return "went on"

    workflow = manager.begin("plan.md", PLAN, tools=["edit_file", "gone"])
    chat = (
        *CHAT,
        ChatMessage(
            role="assistant", function_calls=(FunctionCall(function_name="gone", call_id="c2"),)
        ),
        ChatMessage(role="tool", content="x", tool_call_id="c2"),
    )
    for name in ("edit_file", "gone"):
        manager.track_completed_tool(workflow, CompletedTool(function_name=name, success=True))
    manager.save_resume_state(
        workflow, WorkflowExecutionContext(variables={"goal": "retry"}), chat
    )
    return ResumeOrchestrator(manager, run).resume(workflow, **options), given


def test_a_workflow_that_fits_goes_on_with_message_history_and_context(
    manager: Manager,
) -> None:
    done, (file, context, chat, again) = ran(manager, workspace=Workspace(content=PLAN))
    assert (done.success, done.result, file, again) == (True, "went on", "plan.md", True)
    assert chat[0].role == "system"
    assert chat[0].content.startswith("WORKFLOW RESUME CONTEXT")
    assert len(chat) == 6
    assert context.variables["goal"] == "retry"
    assert done.resumption.strategy == "continue"


def test_a_partial_resume_leaves_missing_tools_out(manager: Manager) -> None:
    now = Workspace(content=PLAN, tools=frozenset({"edit_file"}))
    done, (_, _, chat, _) = ran(manager, workspace=now)
    assert done.resumption.strategy == "partial_resume"
    assert [m.tool_call_id for m in chat if m.role == "tool"] == ["c1"]
    assert "not available now: gone" in chat[0].content


@pytest.mark.parametrize("strategy", ["context_migration", "partial_context"])
def test_a_migration_keeps_context_and_counts_nothing_as_done(
    manager: Manager, strategy: str
) -> None:
    done, (_, context, chat, _) = ran(
        manager, workspace=Workspace(content="other"), strategy=strategy
    )
    assert done.success
    assert len(chat) == 1
    assert "DO NOT REPEAT" not in chat[0].content
    assert context.variables["goal"] == "retry"
    assert context.execution_history == ()


@pytest.mark.parametrize("strategy", ["fresh_start", "reset_workflow"])
def test_a_fresh_start_carries_nothing(manager: Manager, strategy: str) -> None:
    _, (_, context, chat, _) = ran(
        manager, workspace=Workspace(content="other"), strategy=strategy
    )
    assert len(chat) == 1
    assert context.variables == {"workflow_file": "plan.md"}
    assert "retry" not in chat[0].content


def test_a_workflow_that_does_not_fit_is_not_called(manager: Manager) -> None:
    done, given = ran(manager, workspace=Workspace(content="other"))
    assert (done.success, given) == (False, [])
    assert "changed significantly" in done.error_message
    done, given = ran(manager, workspace=Workspace(content="other"), force=True)
    assert done.success


def test_an_async_callable_is_awaited(manager: Manager) -> None:
    async def run(*args: Any, is_resume: bool) -> int:
        await asyncio.sleep(0)
        return len(args)

    workflow = manager.begin("plan.md", PLAN)
    manager.checkpoint(workflow)
    orchestrator = ResumeOrchestrator(manager, run)
    done = asyncio.run(orchestrator.resume_async(workflow, workspace=Workspace(content=PLAN)))
    assert (done.success, done.result) == (True, 3)


def test_names_variables_and_limits_are_the_callers(store: FileStore) -> None:
    limits = Limits(minimum_score=0.9)
    manager = Manager(store, session_id="nightly", limits=limits)
    assert manager.limits == limits
    assert manager.session_workflow().startswith("workflow_nightly_")
    workflow = manager.begin("plan.md", PLAN, variables={"branch": "main"})
    manager.checkpoint(workflow)
    assert saved(store, workflow).workflow_variables == {"branch": "main"}


# -- from recordings -------------------------------------------------------------------------


def test_a_recorded_session_becomes_a_state(root: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.md"
    plan.write_text(PLAN)
    path = root / "corpora" / "sessions" / "codex" / "sift.jsonl"
    state = from_transcript(path, workflow=plan)
    assert state == from_transcript(path, workflow=plan)
    named = from_transcript(path, workflow=plan, name="sift")
    assert named.workflow_id.startswith("workflow_sift_20260618_162031_")
    assert state.workflow_id.startswith("workflow_plan_20260618_162031_")
    assert (state.workflow_file_path, state.original_workflow_content) == (str(plan), PLAN)
    assert state.world is not None
    assert state.world.session_format == "codex"
    assert {f.path for f in state.world.files} >= {"sift/filter.py", "tests/test_levels.py"}
    context = state.context_evolution.current_context
    assert context["main_goal"].startswith("`sift error` lets lines through")
    assert context["main_goal"].endswith(" #3")
    assert [t.function_name for t in state.completed_tools].count("apply_patch") == 2
    calls = {c.call_id for m in state.chat_history for c in m.function_calls or ()}
    answers = [m.tool_call_id for m in state.chat_history if m.role == "tool"]
    assert answers
    assert set(answers) <= calls


def keys(value: Any) -> list[str]:
    """Every key of a document, at every depth."""
    if isinstance(value, dict):
        return [*value, *(key for item in value.values() for key in keys(item))]
    return [key for item in value for key in keys(item)] if isinstance(value, list) else []


def test_every_shipped_session_is_kept_and_taken_up(
    root: Path, manager: Manager, store: FileStore
) -> None:
    for path in sorted((root / "corpora" / "sessions").rglob("*.json*")):
        if "subagents" in path.parts:
            continue
        state = from_transcript(path, hashes=False)
        manager.save(state)
        found = reopened(store).load(state.workflow_id)
        assert found is not None, path
        kept = found.state
        assert ResumeState.from_dict(kept.to_dict()) == kept
        assert kept.start_time == state.start_time
        ready = resumption(kept, assess(kept, Workspace()))
        assert ready.chat_history[0].content is not None
        document = json.loads(file_of(store, state.workflow_id).read_bytes())
        assert not any("percent" in key for key in keys(document))
