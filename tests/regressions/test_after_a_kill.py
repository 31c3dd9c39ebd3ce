"""What a killed process, a full disk or a clock that was set back left behind, and lost.

Found by tests/fuzz: disturbed, clocks and flip_bits.
"""

import errno
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from tests.strategies.hooks import hook_input

from leftoff.batch import outputs
from leftoff.batch.rows import TABLES
from leftoff.errors import Damaged, StateError
from leftoff.handover.resume_log.document import ResumeLog
from leftoff.hooks import answer, install, queue, worker
from leftoff.incremental.saved_passes import FOUND, HEAD, SavedPass
from leftoff.live.checkpoints.dumps import Sandbox
from leftoff.live.resume_logs import ResumeLogGenerator
from leftoff.live.resume_states import states
from leftoff.live.resume_states.states import FileResumeStateManager
from leftoff.settings import Settings
from leftoff.stores.files import FileStore

ROOT = Path(__file__).resolve().parents[2]
SESSION = ROOT / "corpora/sessions/claude_code/prorate.jsonl"
LEFT = ".0123456789abcdef.tmp"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a session whose hook has just asked for a summary."""
    monkeypatch.setattr(answer, "start_worker", lambda *_: None)
    monkeypatch.setattr(worker, "SUMMARY_TIMEOUT", 0.0)
    answer.answer(hook_input("Stop", project=tmp_path, transcript=SESSION), {})
    return tmp_path / ".leftoff" / "state" / "s1"


def test_a_wish_outlives_the_worker_that_took_it(asked: Path) -> None:
    """A worker removed a wish before it did what was wished: one that was killed in between
    (a compaction, say) left neither a checkpoint nor the wish."""
    assert queue.dequeue(asked, "stop")  # and is killed
    assert queue.pending_jobs(asked) == ["stop"]
    worker.process_jobs(asked.parents[1], "s1")
    assert queue.pending_jobs(asked) == []
    assert queue.read_briefing(asked)


def test_a_wish_outlives_a_full_disk(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the disk had no room for was noted in a log and never tried again."""
    write = queue.write

    def full(*given: Any, durable: bool = False) -> None:
        if durable:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(*given)

    with monkeypatch.context() as patched:
        patched.setattr(queue, "write", full)
        worker.process_jobs(asked.parents[1], "s1")
    assert queue.pending_jobs(asked) == ["stop"]
    worker.process_jobs(asked.parents[1], "s1")
    assert queue.pending_jobs(asked) == []


def test_what_a_killed_hook_left_is_swept(asked: Path) -> None:
    """Temporary files of hooks had names that nobody knew again."""
    home = asked.parents[1]
    for jobs in (1, 0):  # the project's ledger is written after the last job
        for place in (asked / f".wants.stop{LEFT}", home / f"..gitignore{LEFT}"):
            place.write_bytes(b"half")
        assert len(queue.pending_jobs(asked)) == jobs
        worker.process_jobs(home, "s1")
        assert not [p for p in home.rglob("*") if p.name.endswith(".tmp")]


def test_a_new_home_is_ignored_although_its_maker_was_killed(tmp_path: Path) -> None:
    """The folder was made first: who was killed before `.gitignore` stood in it left a home
    that the next hook took for an old one."""
    home = tmp_path / ".leftoff"
    home.mkdir()
    (home / f"..gitignore{LEFT}").write_bytes(b"")
    queue.make_folder(home, home / "state" / "s1")
    assert (home / ".gitignore").read_text() == "*\n"


def test_the_markdown_of_tasks_is_swept(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "billing")
    box.update({"project.md": lambda _: "one"})
    (page,) = tmp_path.rglob("project.md")
    page.with_name(f".project.md{LEFT}").write_bytes(b"half")
    box.update({"project.md": lambda _: "two"})
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_task_whose_markdown_is_held_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It said that "the file lock could not be acquired", and named the file of the lock."""
    from filelock import FileLock

    monkeypatch.setattr("leftoff.stores.atomic.LOCK_TIMEOUT", 0.05)
    box = Sandbox(tmp_path, "billing")
    box.update({"project.md": lambda _: "one"})
    (lock,) = tmp_path.rglob(".leftoff.lock")
    with FileLock(lock), pytest.raises(StateError, match="held by another process"):
        box.update({"project.md": lambda _: "two"})


def test_the_outputs_of_a_batch_are_swept(tmp_path: Path) -> None:
    """`.out.jsonl.1234.part` stayed beside the output for ever."""
    where = tmp_path / "out.jsonl"
    (tmp_path / f".out.jsonl{LEFT}").write_bytes(b"half")
    outputs.write(str(where), [[b"{}\n", *[b""] * (len(TABLES) - 1)]])
    assert where.read_bytes() == b"{}\n"
    assert not list(tmp_path.glob(".*"))


def test_a_log_stays_although_the_clock_was_set_back(tmp_path: Path) -> None:
    """Where ten logs came from a clock that was ahead, the eleventh looked like the oldest and
    was removed in the moment in which it was saved."""
    maker = ResumeLogGenerator(Settings(), project=tmp_path)
    ahead = time.time() + 3 * 86_400
    for n in range(10):
        path = maker.save_resume_log(ResumeLog.from_dict({"session_id": f"n{n}"}))
        for file in (path, path.with_suffix(".json")):
            os.utime(file, (ahead, ahead))
    maker.save_resume_log(ResumeLog.from_dict({"session_id": "fresh"}))
    assert maker.load_resume_log("fresh") is not None
    assert maker.removed == ()


def test_a_clock_that_was_set_back_does_not_put_a_summary_off(
    asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A last summary that seemed to lie in the future put off the next until then."""
    work = worker._Job(asked.parents[1], asked, {}, 0.0)
    work.watch = {"cost": 2.0, "at": time.time() + 3 * 86_400}
    assert work._summary_due()
    work.watch["at"] = time.time() - 1
    assert not work._summary_due()


def test_notes_of_a_clean_up_that_cannot_be_written_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`resume --clean` ended with a traceback on a disk that was full or read only."""

    def refused(*_: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    store = FileStore(tmp_path / ".leftoff")
    store.save("resume_state", "w", {"workflow_id": "w"})
    monkeypatch.setattr(states, "write_atomic", refused)
    with pytest.raises(StateError, match="Read-only"):
        FileResumeStateManager(store=store).clean_up()


def test_a_seal_of_another_name_is_damage(tmp_path: Path) -> None:
    """A flipped bit in the name of the seal made a document that "was not saved by leftoff"."""
    store = FileStore(tmp_path)
    store.save("task", "t", {"n": 1})
    path = Path(store.save("task", "t", {"n": 2}))
    path.write_bytes(path.read_bytes().replace(b'"leftoff":', b'"leftofg":'))
    kept = store.load("task", "t")
    assert kept is not None
    assert kept.document == {"n": 1}
    assert "backup_used" in {issue.code for issue in kept.issues}
    path.with_suffix(".json.bak").unlink()
    with pytest.raises(Damaged):
        store.load("task", "t")


@pytest.mark.parametrize("name", [HEAD, FOUND])
def test_a_kept_pass_that_is_damaged_is_read_again(tmp_path: Path, name: str) -> None:
    """A flipped bit in what hooks keep of a reading was told as if it stood in the recording."""
    kept = SavedPass(tmp_path)
    kept.read_on(str(SESSION))
    want = kept.summary(str(SESSION))
    path = tmp_path / name
    whole = path.read_bytes()
    for at in range(40, len(whole), len(whole) // 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert kept.whole(str(SESSION)) is None
    assert kept.summary(str(SESSION)) == want


def test_settings_keep_who_may_read_them_and_forget_what_a_kill_left(tmp_path: Path) -> None:
    """The mode was put back after the file stood in its place; and the bytes of before, left by
    a kill in the middle of `uninstall`, were taken for those of before the next change."""
    path = tmp_path / "settings.json"
    path.write_text('{"model": "opus"}\n')
    path.chmod(0o644)
    before = path.with_name(path.name + install.BEFORE)
    before.write_text('{"existed": true, "text": "{}"}')  # left by a kill
    install.install(path, "leftoff hook", ["Stop"]).make()
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    install.uninstall(path).make()
    assert path.read_text() == '{"model": "opus"}\n'
    before.write_text("left once more")
    install.uninstall(path).make()
    assert not before.exists()
