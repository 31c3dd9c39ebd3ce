"""What `summarize --since last` remembers."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from leftoff import ContextSummary, Pass, StateError
from leftoff.live import last_summarized
from leftoff.live.last_summarized import exchange_position


def summary(identity: str, messages: int = 1) -> ContextSummary:
    reading = Pass(format="leftoff")
    reading.feed(b'{"leftoff":"session/1","id":"%s"}\n' % identity.encode())
    reading.feed(b'{"role":"user","text":"Rename the flag."}\n' * messages)
    return reading.summary()


def test_the_oldest_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_summarized, "MAX_SESSIONS", 2)
    memory = tmp_path / "asked.json"
    for name in "abca":
        exchange_position(memory, summary(name))
    assert exchange_position(memory, summary("c")) is not None
    assert exchange_position(memory, summary("b")) is None


def test_two_that_ask_at_once_do_not_lose_each_other(tmp_path: Path) -> None:
    path = tmp_path / "asked.json"
    names = [f"s{number}" for number in range(24)]
    made = [summary(name) for name in names]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda one: exchange_position(path, one), made))
    assert all(exchange_position(path, one) is not None for one in made)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("planted", ["pipe", "link"])
def test_what_is_no_file_of_ours_is_refused(planted: str, tmp_path: Path) -> None:
    path, victim = tmp_path / "asked.json", tmp_path / "victim"
    victim.write_text("{}")
    if planted == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(victim)
    with pytest.raises(StateError, match=r"not a regular file|is a link"):
        exchange_position(path, summary("a"))
    assert victim.read_text() == "{}"
