"""`ResumeLogGenerator`: making, keeping and cleaning up resume logs, and when to make one."""

import json
import logging
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from leftoff.budget.tasks import ContextMetrics
from leftoff.errors import StateError, UnknownName, UsageError
from leftoff.handover.resume_log.document import ResumeLog
from leftoff.live.resume_logs import ResumeLogGenerator

STATE = {"mission_summary": "Sort the invoices.", "next_steps": ["Ask finance."]}


def at(share: float) -> ContextMetrics:
    return ContextMetrics.of(200_000, round(200_000 * share))


@pytest.fixture
def generator(tmp_path: Path) -> ResumeLogGenerator:
    return ResumeLogGenerator(
        {"storage_dir": str(tmp_path)}, clock=lambda: datetime(2026, 1, 2, tzinfo=UTC)
    )


def kept(generator: ResumeLogGenerator, name: str, age: float = 0.0) -> Path:
    """A log saved so many seconds ago."""
    where = generator.save_resume_log(generator.generate_from_session_state(name, STATE))
    then = time.time() - age
    for path in (where, where.with_suffix(".json")):
        os.utime(path, (then, then))
    return where


# -- keeping -----------------------------------------------------------------------------------


def test_make_save_load_clean(generator: ResumeLogGenerator, tmp_path: Path) -> None:
    log = generator.generate_from_session_state("test_session", STATE)
    assert log.context_metrics.timestamp == "2026-01-02T00:00:00+00:00"
    asked = generator.generate_from_session_state("s", STATE, "max_tokens", trigger="asked")
    assert asked.metadata["trigger"] == "asked"
    where = generator.save_resume_log(log)
    assert where == tmp_path / "session-test_session.md"
    assert "Sort the invoices." in where.read_text()
    assert generator.load_resume_log("test_session") == log
    assert generator.load_resume_log("another") is None
    assert generator.cleanup_old_logs(0) == [where.with_suffix(".json")]
    assert generator.list_resume_logs() == []


def test_json_alone_where_the_settings_say(tmp_path: Path) -> None:
    config = {"context_management": {"resume_logs": {"format": "json"}}}
    generator = ResumeLogGenerator(config, project=tmp_path)
    where = generator.save_resume_log(generator.generate_from_session_state("s", STATE))
    assert where == tmp_path / ".leftoff" / "resume-logs" / "session-s.json"
    assert not where.with_suffix(".md").exists()


def test_the_newest_comes_first_and_a_damaged_one_is_passed_over(
    generator: ResumeLogGenerator, caplog: pytest.LogCaptureFixture
) -> None:
    kept(generator, "old", 100)
    new = kept(generator, "new")
    assert [name for name, _ in generator.list_resume_logs()] == ["new", "old"]
    new.with_suffix(".json").write_text("{")
    with caplog.at_level(logging.WARNING, "leftoff.live"):
        latest = generator.get_latest_resume_log()
    assert latest is not None
    assert latest.session_id == "old"
    with pytest.raises(StateError):
        generator.load_resume_log("new")


def test_old_logs_go_when_a_new_one_is_kept(tmp_path: Path) -> None:
    config = {"storage_dir": str(tmp_path), "cleanup": {"keep_count": 2}}
    generator = ResumeLogGenerator(config)
    for number in range(4):
        kept(generator, f"s{number}", age=100 - number)
    assert [name for name, _ in generator.list_resume_logs()] == ["s3", "s2"]


def test_a_dry_run_removes_nothing(generator: ResumeLogGenerator) -> None:
    kept(generator, "a", 10)
    kept(generator, "b")
    assert [p.stem for p in generator.cleanup_old_logs(1, dry_run=True)] == ["session-a"]
    assert len(generator.list_resume_logs()) == 2


def test_statistics(generator: ResumeLogGenerator) -> None:
    assert generator.get_stats() == {
        "count": 0, "bytes": 0, "oldest": None, "newest": None, "by_trigger": {},
    }  # fmt: skip
    kept(generator, "a", 50)
    full = generator.generate_from_session_state("b", STATE, "max_tokens")
    generator.save_resume_log(full)
    stats = generator.get_stats()
    assert (stats["count"], stats["by_trigger"]) == (2, {"manual": 1, "max_tokens": 1})
    assert stats["bytes"] > 0
    assert stats["oldest"] < stats["newest"]


def test_a_pinned_log_stays_and_what_went_is_told(tmp_path: Path) -> None:
    config = {"storage_dir": str(tmp_path), "cleanup": {"keep_count": 1}}
    generator = ResumeLogGenerator(config)
    kept(generator, "first", age=100)
    generator.pin_resume_log("first")
    kept(generator, "second", age=50)
    assert not generator.removed
    kept(generator, "third")
    assert [path.name for path in generator.removed] == ["session-second.json"]
    assert [(e.id, e.pinned) for e in generator.entries()] == [
        ("third", False),
        ("first", True),
    ]
    with pytest.raises(UnknownName):
        generator.pin_resume_log("nobody")


def test_logs_of_the_original_program_are_read_and_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / ".claude-mpm" / "resume-logs"
    folder.mkdir(parents=True)
    old = ResumeLog.from_session_state("20251101_115000", STATE)
    path = folder / "session-20251101_115000.json"
    path.write_text(json.dumps(old.to_dict()))
    before = path.read_bytes()
    generator = ResumeLogGenerator(project=tmp_path)
    latest = generator.get_latest_resume_log()
    assert latest is not None
    assert latest.mission_summary == "Sort the invoices."
    generator.save_resume_log(generator.generate_from_session_state("new", STATE))
    assert [name for name, _ in generator.list_resume_logs()] == ["new", "20251101_115000"]
    generator.cleanup_old_logs(0)
    assert path.read_bytes() == before


# -- when --------------------------------------------------------------------------------------


class ErrorCount:
    """The design's own example."""

    def __init__(self, most: int) -> None:
        self.most = most

    def should_trigger(self, context_metrics: ContextMetrics, session_state: Any) -> bool:
        return len(session_state["errors"]) >= self.most


def test_a_trigger_of_ones_own(
    generator: ResumeLogGenerator, caplog: pytest.LogCaptureFixture
) -> None:
    generator.register_trigger(ErrorCount(2))
    assert generator.should_generate(at(0.1), "", {"errors": ["a", "b"]})
    assert not generator.should_generate(at(0.1), "", {"errors": ["a"]})
    with caplog.at_level(logging.WARNING, "leftoff.live"):
        assert not generator.should_generate(at(0.1), "", {})
    assert "ErrorCount failed (KeyError" in caplog.text


# -- extending ---------------------------------------------------------------------------------


class Changes:
    def get_section_name(self) -> str:
        return "Code Changes"

    def get_token_budget(self) -> int:
        return 1500

    def generate_content(self, session_state: dict[str, Any]) -> str:
        return f"goal: {session_state['mission_summary']}"


def test_a_provider_adds_a_section_and_a_failing_one_costs_only_its_own(
    generator: ResumeLogGenerator,
) -> None:
    generator.register_section_provider(Changes())
    log = generator.generate_from_session_state("s", STATE)
    assert "## Code Changes\n\ngoal: Sort the invoices.\n" in log.to_markdown()
    generator.save_resume_log(log)
    again = generator.load_resume_log("s")
    assert again is not None
    assert again.sections == log.sections
    failed = generator.generate_from_session_state("s", {"next_steps": ["Ask."]})
    assert failed.sections == ()
    assert failed.metadata["failed_sections"] == ["Code Changes: KeyError: 'mission_summary'"]
    assert failed.next_steps == ("Ask.",)


class Backend:
    """A storage backend with the design's four methods."""

    def __init__(self) -> None:
        self.logs: dict[str, ResumeLog] = {}

    def save(self, resume_log: ResumeLog) -> str:
        key = f"resume-logs/{resume_log.session_id}.json"
        self.logs[key] = resume_log
        return key

    def load(self, identifier: str) -> ResumeLog | None:
        return self.logs.get(identifier)

    def list(self) -> list[str]:
        return list(self.logs)

    def delete(self, identifier: str) -> bool:
        return self.logs.pop(identifier, None) is not None


def test_a_backend_of_ones_own(generator: ResumeLogGenerator) -> None:
    backend = Backend()
    generator.set_storage_backend(backend)
    for name in ("a", "b", "c"):
        generator.save_resume_log(generator.generate_from_session_state(name, STATE))
    found = generator.load_resume_log("b")
    assert found is not None
    assert found.session_id == "b"
    latest = generator.get_latest_resume_log()
    assert latest is not None
    assert latest.session_id == "c"
    generator.cleanup_old_logs(1)
    assert backend.list() == ["resume-logs/c.json"]
    with pytest.raises(UsageError, match=r"object is no storage backend: it has no save\(\)"):
        generator.set_storage_backend(object())  # type: ignore[arg-type]
