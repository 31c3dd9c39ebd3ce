"""Two processes that shared one saved session lost each other's counts: each saved what it
remembered itself, over what the other had saved. Now they take turns, and each takes in what
the others did before it adds its own."""

import logging
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from leftoff.live.session import SessionManager

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # resume logs are kept in the folder of the project


def counting(path: Path, calls: int) -> int:
    """A process that counts so many calls of ten tokens; its id."""
    child = os.fork()
    if child:
        return child
    try:
        manager = SessionManager(path)
        for n in range(calls):
            manager.update_token_usage(7, 3)
            manager.record_progress("t")
            if n % 5 == 0:
                time.sleep(0.001)
        os._exit(0)
    except BaseException as error:  # noqa: BLE001 - told by the exit code
        print(repr(error), file=sys.stderr)
    finally:
        os._exit(1)


@posix
def test_what_two_processes_count_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    before = SessionManager(path, session_id="s")
    before.set_task_budget("t", "copilot")
    children = [counting(path, 20) for _ in range(3)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert SessionManager(path).get_context_metrics()["used_tokens"] == 3 * 20 * 10
    before.update_token_usage(1, 1)  # one that was there before them counts on from theirs
    assert before.get_context_metrics()["used_tokens"] == 3 * 20 * 10 + 2


@posix
def test_killed_ones_leave_what_they_counted(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    SessionManager(path, session_id="s").set_task_budget("t", "copilot")
    used = 0
    for n in range(4):
        child = counting(path, 1_000_000)
        time.sleep(0.05 + 0.03 * n)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        now = SessionManager(path).get_context_metrics()["used_tokens"]
        assert now >= used
        used = now
    SessionManager(path).update_token_usage(1, 0)  # nobody holds it
    assert SessionManager(path).get_context_metrics()["used_tokens"] == used + 1
    assert not list(tmp_path.glob(".*.tmp"))


def test_one_that_begins_another_session_has_the_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "state.json"
    old = SessionManager(path, session_id="old")
    old.update_token_usage(100, 0)
    new = SessionManager(path, session_id="new")
    new.update_token_usage(5, 0)
    with caplog.at_level(logging.ERROR, "leftoff"):
        old.update_token_usage(100, 0)
        old.update_token_usage(100, 0)
    said = [r.message for r in caplog.records if "another session" in r.message]
    assert len(said) == 1
    assert old.get_context_metrics()["used_tokens"] == 300  # in memory it goes on
    assert SessionManager(path).session_id == "new"
    old.start_session("newest")
    new.update_token_usage(5, 0)
    again = SessionManager(path)
    assert again.session_id == "newest"
    assert again.get_context_metrics()["used_tokens"] == 0
