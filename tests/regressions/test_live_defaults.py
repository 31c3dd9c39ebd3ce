"""What the classes of the library do where they are given nothing: ids, settings, metrics.

Each test tells how it was found: two managers of one second wrote one log; a configuration file
that `leftoff config` showed was ignored by the library; a log said "Used: 0 tokens" while its
manager had counted a thousand; and a log of a to-do list had no line "Generated:".
"""

import base64
import gzip
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.budget.tasks import ContextMetrics
from leftoff.errors import Damaged
from leftoff.live import session
from leftoff.live.responses import ResponseTracker
from leftoff.live.resume_logs import ResumeLogGenerator
from leftoff.live.resume_states.states import FileResumeStateManager
from leftoff.live.session import SessionManager, get_session_manager
from leftoff.settings import load_here
from leftoff.stores import open_store

EVENT = {
    "id": "m1",
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 900, "output_tokens": 9},
}
YAML = """
context_management:
  budget_total: 1000
  thresholds: {caution: 0.5}
  resume_logs: {storage_dir: logs, max_tokens: 4000}
"""


def noon() -> datetime:
    return datetime(2026, 1, 2, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(session, "_managers", {})


def test_sessions_of_one_second_have_ids_of_their_own() -> None:
    ids = {SessionManager(clock=noon).session_id for _ in range(100)}
    assert len(ids) == 100
    assert all(re.fullmatch(r"20260102_120000_[0-9a-f]{8}", one) for one in ids)
    logs = [SessionManager(clock=noon).generate_resume_log() for _ in range(2)]
    assert len(set(logs)) == 2


def test_the_id_of_a_response_chooses_the_manager() -> None:
    tracker = ResponseTracker()
    tracker.track_stop_response(EVENT, "first", {}, [])
    tracker.track_stop_response({**EVENT, "id": "m2"}, "second", {}, [])
    tracker.track_stop_response({**EVENT, "id": "m3"}, "second", {}, [])
    assert get_session_manager().session_id == "first"
    assert get_session_manager() is get_session_manager("first")
    assert get_session_manager("first").spent.input == 900
    assert get_session_manager("second").spent.input == 1800


def test_an_id_given_later_is_that_of_the_unused_manager_of_the_process() -> None:
    unnamed = get_session_manager()
    assert get_session_manager("s1") is unnamed
    assert unnamed.session_id == "s1"
    unnamed.update_token_usage(1, 1)
    assert get_session_manager("s2") is not unnamed


def test_a_used_manager_keeps_its_id() -> None:
    manager = get_session_manager()
    manager.update_token_usage(1, 1)
    assert get_session_manager("s1") is not manager


def test_a_log_of_a_state_without_metrics_has_those_of_the_session() -> None:
    manager = SessionManager(session_id="s1", clock=noon)
    manager.update_token_usage(1000, 1, "max_tokens", model="claude-x")
    where = manager.generate_resume_log({"mission_summary": "Sort the invoices."})
    assert where is not None
    text = where.read_text()
    assert "- Used: 1,001 tokens (0.5%)" in text
    assert "- Model: claude-x" in text
    given = ContextMetrics.of(2000, 20).to_dict()
    manager.generate_resume_log({"context_metrics": given})
    assert "- Used: 20 tokens (1.0%)" in where.read_text()


@pytest.mark.parametrize("stamp", ["", None])
def test_metrics_without_a_time_have_that_of_the_clock(stamp: str | None) -> None:
    generator = ResumeLogGenerator(clock=noon)
    metrics = ContextMetrics.of(2000, 20)
    todo = generator.generate_from_todo_list("t", [{"content": "Sort"}], metrics)
    state = {"context_metrics": {**metrics.to_dict(), "timestamp": stamp}}
    of_state = generator.generate_from_session_state("s", state)
    for log in (todo, of_state, generator.generate_from_session_state("u", {})):
        assert log.context_metrics.timestamp == "2026-01-02T12:00:00+00:00"
        assert "\nGenerated: 2026-01-02T12:00:00+00:00\n" in log.to_markdown()


def test_the_configuration_of_a_project_is_in_force_in_the_library(tmp_path: Path) -> None:
    (tmp_path / ".claude-mpm").mkdir()
    (tmp_path / ".claude-mpm" / "configuration.yaml").write_text(YAML)
    manager = SessionManager(session_id="s1")
    assert manager.settings == load_here().settings
    assert manager.context_metrics().total_budget == 1000
    assert [c.threshold.at for c in manager.update_token_usage(500, 0)] == [0.5]
    generator = ResumeLogGenerator()
    assert generator.max_tokens == 4000
    saved = generator.save_resume_log(generator.generate_from_session_state("s1", {}))
    assert saved == Path("logs/session-s1.md")


def test_the_configuration_of_another_project_is_that_of_its_generator(tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".claude-mpm").mkdir(parents=True)
    (other / ".claude-mpm" / "configuration.yaml").write_text(YAML)
    assert ResumeLogGenerator(project=other).max_tokens == 4000
    assert ResumeLogGenerator().max_tokens == 10_000


def test_the_environment_comes_before_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "leftoff.toml").write_text("[resume]\nretention_days = 30\n")
    assert FileResumeStateManager().settings.resume.retention_days == 30
    monkeypatch.setenv("LEFTOFF_RESUME_RETENTION_DAYS", "2")
    assert FileResumeStateManager().settings.resume.retention_days == 2
    given = load_here({"resume.retention_days": 9}).settings
    assert FileResumeStateManager(settings=given).settings.resume.retention_days == 9


def test_a_store_reads_gzip_as_base64(tmp_path: Path) -> None:
    """The original design compresses, then writes Base64 text, and looks for gzip's magic
    number: it could not read its own files."""
    document = {"workflow_metadata": {"id": "w1", "file_path": "plan.md"}}
    text = base64.b64encode(gzip.compress(json.dumps(document).encode()))
    folder = tmp_path / ".leftoff" / "resume"
    folder.mkdir(parents=True)
    (folder / "w1.json").write_bytes(text)
    manager = FileResumeStateManager()
    found = manager.load("w1")
    assert found is not None
    assert found.state.workflow_file_path == "plan.md"
    assert [one.workflow_id for one in manager.list_available_workflows()] == ["w1"]
    (folder / "w2.json").write_bytes(text[:40])
    with pytest.raises(Damaged, match="w2"):
        open_store(tmp_path / ".leftoff").load("resume_state", "w2")


def test_a_store_at_a_path_compresses_as_the_settings_say(tmp_path: Path) -> None:
    document = {"workflow_metadata": {"id": "w1"}}
    assert open_store(tmp_path / "a").save("resume_state", "w1", document).endswith(".json")
    (tmp_path / "leftoff.toml").write_text(
        "[resume]\nenable_compression = true\nmax_file_size_bytes = 10\n"
    )
    packed = Path(open_store(tmp_path / "a").save("resume_state", "w1", document))
    assert packed.name == "w1.json.gz"
    assert packed.read_bytes()[:2] == b"\x1f\x8b"
    plain = open_store(tmp_path / "a", compress={}).save("resume_state", "w1", document)
    assert plain.endswith(".json")
