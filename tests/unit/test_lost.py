"""What a compaction kept, by kind."""

from pathlib import Path
from typing import Any

import pytest

from leftoff import codec
from leftoff.handover.audit_table import as_dict, lost_table
from leftoff.handover.lost import Point, Share, total_shares
from leftoff.live.compactions import audit_compactions


def line(number: int, **more: Any) -> bytes:
    return codec.dumps({"uuid": f"u{number}", "parentUuid": f"u{number - 1}", **more, **COMMON})


COMMON = {
    "sessionId": "5e55",
    "cwd": "/p",
    "version": "2.1.0",
    "isSidechain": False,
    "timestamp": "2026-01-01T00:00:00Z",
}
SUMMARY = (
    "This session is being continued from a previous conversation that ran out of context. "
    "The queue is kept in SQLite, since it survives a crash and needs no server. "
    + "Fine. "
    * 90
)


@pytest.fixture
def compacted(tmp_path: Path) -> Path:
    """A session that decides, is told a rule, and is compacted with a summary that has
    forgotten the rule."""
    path = tmp_path / "s.jsonl"
    user, agent = {"type": "user"}, {"type": "assistant"}
    said = "I'll keep the queue in SQLite because it survives a crash and needs no server."
    lines = [
        line(1, **user, message={"role": "user", "content": "Write the queue."}),
        line(
            2,
            **agent,
            message={"role": "assistant", "content": [{"type": "text", "text": said}]},
        ),
        line(3, **user, message={"role": "user", "content": "Don't ever touch legacy.py."}),
        line(4, type="system", subtype="compact_boundary", content="Conversation compacted"),
        line(5, **user, isCompactSummary=True, message={"role": "user", "content": SUMMARY}),
    ]
    path.write_bytes(b"".join(lines))
    return path


def test_a_recording_is_audited_at_each_compaction(compacted: Path) -> None:
    (found,) = audit_compactions(str(compacted))
    # Whether the decision is found is the business of its own tests.
    assert found.shares["decision"].kept == found.shares["decision"].had
    assert found.shares["constraint"] == Share(1, 0)
    (lost,) = found.lost
    assert lost == Point("constraint", "Don't ever touch legacy.py.", "constraint", 2)
    assert total_shares([found, found])["constraint"] == Share(2, 0)
    shown = lost_table([found], listed=1)
    assert "0/1 0 %" in shown
    assert "constraint: Don't ever touch legacy.py. (constraint, #3)" in shown
    value = as_dict(str(compacted), 1, lost=[found])
    assert codec.parse(codec.dumps(value))["audits"][0]["lost"][0]["kind"] == "constraint"


def test_the_command_says_what_was_lost(
    compacted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from leftoff.cli.audit import audit

    assert audit.main([str(compacted), "--words"], standalone_mode=False) in (0, None)
    assert "legacy.py" in capsys.readouterr().out
    assert audit.main([str(compacted), "--words", "--json"], standalone_mode=False) in (0, None)
    told = codec.parse(capsys.readouterr().out)
    assert told["compactions"] == told["audited"] == 1
    plain_session = compacted.with_name("plain.jsonl")
    plain_session.write_bytes(b"".join(compacted.read_bytes().splitlines(keepends=True)[:3]))
    assert audit.main([str(plain_session)], standalone_mode=False) == 1
    assert "no compaction" in capsys.readouterr().err
