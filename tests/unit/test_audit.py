"""What a compaction kept, by kind, and what is read, run or asked again after it."""

from pathlib import Path

import pytest
from tests.strategies.claude_code import Recording

from leftoff import codec
from leftoff.cli.audit import audit
from leftoff.handover.audit_table import as_dict, rework_table
from leftoff.handover.rediscovery import CALLS
from leftoff.live.compactions import rework_after_compactions

SUMMARY = (
    "This session is being continued from a previous conversation that ran out of context. "
    "The queue is kept in SQLite, since it survives a crash and needs no server. "
    + "Fine. "
    * 90
)
TOKEN = "ghp_" + "a1B2" * 9


def begun() -> Recording:
    """A session that decides and is told a rule."""
    made = Recording(version="2.1.0", isSidechain=False)
    made.say("Write the queue.")
    made.answer(
        "I'll keep the queue in SQLite because it survives a crash and needs no server."
    )
    made.say("Don't ever touch legacy.py.")
    return made


def compact(made: Recording) -> None:
    """A compaction with a summary that has forgotten the rule."""
    made.add("user", "", type="system", subtype="compact_boundary")
    made.say(SUMMARY, isCompactSummary=True)


def read(made: Recording, path: str, **more: bool) -> None:
    made.call("Read", {"file_path": f"/p/{path}"}, "1 def put(): 1", **more)


def test_what_is_read_and_written_again_is_told_and_counted(tmp_path: Path) -> None:
    made = begun()
    read(made, "src/a.py")
    made.say(f"Keep `makeOutbox`; the token is {TOKEN}")
    compact(made)
    read(made, "src/a.py")
    change = {"file_path": "/p/src/b.py", "old_string": "a", "new_string": "makeOutbox"}
    made.call("Edit", change, "ok")
    (one,) = rework_after_compactions(str(made.save(tmp_path / "s.jsonl")))
    shown = rework_table([one, one], listed=1)
    assert "together" in shown
    assert " read src/a.py (known since #4," in shown
    assert "not in the summary" in shown
    assert "message: Keep 'makeOutbox'" in shown
    value = codec.parse(codec.dumps(as_dict("s.jsonl", 2, rework=[one])))
    assert (value["compactions"], value["audited"]) == (2, 1)
    assert value["audits"][0]["again"][0]["text"] == "src/a.py"
    assert TOKEN[4:] not in shown + repr(value)
    assert len(rework_table([one]).splitlines()) == 2


def test_only_the_next_calls_of_the_main_thread_are_looked_at(tmp_path: Path) -> None:
    made = begun()
    read(made, "src/a.py")
    compact(made)
    own = made.about
    made.about = own | {"isSidechain": True, "agentId": "helper"}
    read(made, "src/a.py")
    made.about = own
    for number in range(CALLS):
        read(made, f"new/{number}.py")
    read(made, "src/a.py")
    (found,) = rework_after_compactions(str(made.save(tmp_path / "s.jsonl")))
    assert (found.calls, found.again) == (CALLS, ())


def test_the_command_says_what_was_lost_and_what_was_read_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = begun()
    read(made, "src/queue.py")
    plain = str(made.save(tmp_path / "plain.jsonl"))
    compact(made)
    read(made, "src/queue.py")
    path = str(made.save(tmp_path / "s.jsonl"))

    def run(*words: str) -> str:
        assert audit.main([path, *words], standalone_mode=False) in (0, None)
        return capsys.readouterr().out

    assert "legacy.py" in run("--words")
    told = codec.parse(run("--words", "--json"))
    assert told["compactions"] == told["audited"] == 1
    assert "read src/queue.py" in run()
    assert codec.parse(run("--json"))["audits"][0]["calls"] == 1
    assert audit.main([plain], standalone_mode=False) == 1
    assert "no compaction" in capsys.readouterr().err
