"""The live session: tokens, thresholds, tasks, resume logs, restarts; and what responses tell."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.strategies.clock import Clock
from tests.strategies.together import at_once

from leftoff.live.responses import ResponseTracker
from leftoff.live.session import SessionManager, get_session_manager
from leftoff.live.telemetry import Event
from leftoff.settings import load


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Resume logs are kept in the folder of the project."""
    monkeypatch.chdir(tmp_path)


class Logs:
    """A generator that remembers what it was asked for."""

    enabled = True

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.states: list[dict[str, Any]] = []

    def generate_from_session_state(
        self, session_id: str, session_state: dict[str, Any], stop_reason: str = "end_turn"
    ) -> Any:
        if self.fails:
            raise OSError("disk full, token ghp_0123456789abcdefghijklmnopqrstuvwxyzAB")
        self.states.append(session_state)
        return (session_id, stop_reason)

    def save_resume_log(self, resume_log: Any) -> Path:
        return Path(f"session-{resume_log[0]}.md")

    def get_latest_resume_log(self) -> Any:
        return "the log" if self.states else None


# -- tokens ----------------------------------------------------------------------------------


def test_the_three_thresholds_log_once_and_the_last_writes_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logs = Logs()
    manager = SessionManager(generator=logs, session_id="s1")
    with caplog.at_level(logging.WARNING, "leftoff.live"):
        for tokens in (140_000, 145_000, 171_000, 191_000, 195_000):
            manager.update_token_usage(tokens, 0, message_id=str(tokens))
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("WARNING", "Context usage at 70% - consider wrapping up"),
        ("WARNING", "Context usage at 85% - complete current task"),
        ("CRITICAL", "Context usage at 95% - generating resume log"),
    ]
    assert len(logs.states) == 1
    assert logs.states[0]["context_metrics"]["used_tokens"] == 191_000


def test_a_compaction_arms_again() -> None:
    manager = SessionManager(generator=Logs())
    assert len(manager.update_token_usage(196_000, 0, message_id="a")) == 3
    manager.note_compaction()
    assert manager.get_context_metrics()["used_tokens"] == 0
    assert len(manager.update_token_usage(196_000, 0, message_id="b")) == 3
    assert len(manager.generator.states) == 2


def test_a_stop_at_the_limit_writes_the_log_once() -> None:
    logs = Logs()
    manager = SessionManager(generator=logs)
    for name in "abc":
        manager.update_token_usage(5_000, 0, "model_context_window_exceeded", message_id=name)
    assert len(logs.states) == 1


def test_the_session_is_forecast() -> None:
    manager = SessionManager()
    for n in range(30):
        manager.update_token_usage(20_000 + 800 * n, 0, message_id=str(n))
    said = manager.forecast()
    assert said is not None
    assert said.growth == 800
    assert said.calls_left == round((200_000 - 43_200) / 800)


# -- resume logs -----------------------------------------------------------------------------


def test_without_a_generator_it_keeps_logs_where_the_settings_say(tmp_path: Path) -> None:
    manager = SessionManager(session_id="s1")
    assert manager.load_resume_log_on_startup() is None
    where = manager.pause_session({"mission_summary": "Sort the invoices."})
    assert where == Path(".leftoff/resume-logs/session-s1.md")
    assert "Sort the invoices." in (tmp_path / where).read_text()
    assert manager.load_resume_log_on_startup().session_id == "s1"


def test_pausing_writes_always_and_ending_when_needed() -> None:
    manager = SessionManager(generator=Logs(), session_id="s1")
    assert manager.end_session() is None
    assert manager.pause_session() == Path("session-s1.md")
    assert manager.resume_session() == "the log"
    manager.update_token_usage(150_000, 0, message_id="a")
    assert manager.end_session({"mission_summary": "x"}) == Path("session-s1.md")
    assert manager.end_session() is None
    assert manager.start_session("s2") == "the log"
    assert (manager.session_id, manager.get_context_metrics()["used_tokens"]) == ("s2", 0)


def test_a_log_that_fails_ends_nothing_and_tells_no_secret(
    caplog: pytest.LogCaptureFixture,
) -> None:
    manager = SessionManager(generator=Logs(fails=True))
    with caplog.at_level(logging.WARNING, "leftoff.live"):
        manager.update_token_usage(199_000, 0, message_id="a")
    assert "disk full" in caplog.text
    assert "ghp_0123" not in caplog.text


def test_switched_off_it_writes_nothing() -> None:
    off = load(flags={"context_management.resume_logs.enabled": False}).settings
    manager = SessionManager(generator=Logs(), settings=off)
    manager.update_token_usage(199_000, 0, message_id="a")
    assert manager.generate_resume_log() is None
    assert manager.generator.states == []


# -- tasks -----------------------------------------------------------------------------------


def test_everything_of_a_task_is_told_with_the_fields_of_the_design(
    caplog: pytest.LogCaptureFixture,
) -> None:
    events: list[Event] = []
    manager = SessionManager(clock=Clock())
    manager.subscribe(events.append)
    manager.set_task_budget("t1", "p", 100_000)
    with caplog.at_level(logging.INFO, "leftoff"):
        manager.update_token_usage(50_000, 0, message_id="a", task_id="t1")
        manager.update_token_usage(99_000, 0, message_id="b", task_id="t1")
        manager.record_checkpoint("t1", "cp-1", "98")
        manager.request_dump("t1", ["project.md"])
        assert manager.record_handoff("t1", "q", "98 % reached", "cp-1") == 1
    assert [e.name for e in events] == [
        "TOKEN_BUDGET", "TOKEN_BUDGET", "TOKEN_BUDGET", "TOKEN_BUDGET", "TOKEN_BUDGET",
        "CHECKPOINT_CREATED", "CONTEXT_DUMP_REQUESTED", "HANDOFF_DECISION",
    ]  # fmt: skip
    assert [e.fields["threshold"] for e in events[:5]] == [None, 0.8, 0.9, 0.95, 0.98]
    named = {e.name: tuple(e.fields) for e in events}
    assert named == {
        "TOKEN_BUDGET": (
            "task_id", "provider", "consumed", "remaining", "percent", "threshold",
        ),
        "CHECKPOINT_CREATED": ("checkpoint_id", "reason", "capacity_percent"),
        "CONTEXT_DUMP_REQUESTED": ("task_id", "paths", "status"),
        "HANDOFF_DECISION": ("task_id", "from_provider", "to_provider", "checkpoint_id"),
    }  # fmt: skip
    records = [r for r in caplog.records if r.name == "leftoff.telemetry"]
    assert [r.event for r in records] == [e.name for e in events[1:]]  # type: ignore[attr-defined]
    assert records[-1].to_provider == "q"  # type: ignore[attr-defined]
    assert "[EMERGENCY] Task t1 at 98% capacity. Remaining: 1K tokens. FORCE HANDOFF." in [
        r.getMessage() for r in caplog.records
    ]
    task = manager.task("t1")
    assert task.token_budget is not None
    assert task.token_budget.checkpoints.checkpoint_98 is not None
    assert task.token_budget.checkpoints.checkpoint_98.reason == "window_emergency"
    assert task.token_budget.decisions.force_handoff_at is not None
    assert task.token_budget.decisions.fallback_provider == "q"
    assert task.checkpoints == ("cp-1",)
    assert task.last_handoff is not None
    assert task.last_handoff.reason == "98 % reached"


def test_every_update_is_logged_when_verbose(caplog: pytest.LogCaptureFixture) -> None:
    loud = load(flags={"token_budget.logging.verbose": True}).settings
    manager = SessionManager(settings=loud)
    with caplog.at_level(logging.INFO, "leftoff.telemetry"):
        manager.update_token_usage(10, 0, message_id="a", task_id="t", provider="copilot")
    assert "TOKEN_BUDGET task_id=t provider=copilot consumed=10" in caplog.text


# -- restarts, threads, coroutines -----------------------------------------------------------


def test_a_session_survives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "state.json"
    manager = SessionManager(path, session_id="s9")
    manager.set_task_budget("t", "copilot")
    manager.update_token_usage(150_000, 1, message_id="msg_01AbCdEfGh", task_id="t")
    again = SessionManager(path)
    assert again.session_id == "s9"
    assert again.get_context_metrics() == manager.get_context_metrics()
    assert again.task("t") == manager.task("t")
    assert again.update_token_usage(150_000, 1, message_id="msg_01AbCdEfGh") == ()
    assert again.spent == manager.spent
    assert path.stat().st_mode & 0o777 == 0o600
    assert {p.name for p in path.parent.iterdir()} <= {"state.json", "state.json.lock"}
    assert SessionManager(path, session_id="other").get_context_metrics()["used_tokens"] == 0


def test_without_a_path_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    manager = SessionManager()
    manager.update_token_usage(190_000 - 1, 0, message_id="a")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_and_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = SessionManager(tmp_path / "state.json")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("leftoff.stores.atomic.TemporaryFile.commit", full)
    with caplog.at_level(logging.ERROR, "leftoff.live"):
        manager.update_token_usage(10, 0, message_id="a")
    assert "No space left" in caplog.text
    assert manager.get_context_metrics()["used_tokens"] == 10


def test_threads_lose_no_call_and_fire_each_threshold_once() -> None:
    events: list[Event] = []
    manager = SessionManager()
    manager.subscribe(events.append)
    manager.subscribe(lambda _: manager.get_context_metrics())  # takes the lock again
    at_once(lambda _: [manager.update_token_usage(90, 10) for _ in range(250)], range(8))
    assert manager.get_context_metrics()["used_tokens"] == 200_000
    assert [e.fields["threshold"] for e in events] == [0.7, 0.85, 0.95]


def test_a_subscriber_that_fails_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    events: list[Event] = []
    manager = SessionManager()

    def fail(event: Event) -> None:
        raise RuntimeError("no")

    manager.subscribe(fail)
    leave = manager.subscribe(events.append)
    manager.update_token_usage(150_000, 0)
    leave()
    manager.update_token_usage(30_000, 0)
    assert len(events) == 1
    assert "a subscriber failed" in caplog.text


def test_there_is_one_manager_for_each_process() -> None:
    assert len({id(m) for m in at_once(lambda _: get_session_manager(), range(8))}) == 1


# -- responses -------------------------------------------------------------------------------


def thing(value: Any) -> Any:
    """A dict as the objects of a vendor's library are, for `calls/session_manager.cases`: fields
    as attributes."""
    if isinstance(value, dict):
        return SimpleNamespace(**{k: thing(v) for k, v in value.items()})
    return [thing(v) for v in value] if isinstance(value, list) else value


class Nasty:
    """Raises whatever is asked of it, for the same cases."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_a_manager_that_fails_does_not_reach_the_caller(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = SessionManager()

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(manager, "update_token_usage", fail)
    ResponseTracker(manager).track({"id": "msg_1", "usage": {"output_tokens": 20}})
    assert "could not be tracked" in caplog.text
