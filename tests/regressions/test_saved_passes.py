"""What a kept pass got wrong until a follower was killed and rotated under it.

- A recording that was emptied and filled again while it was read, between the reading and the
  saving, was kept under the mark of the new bytes: the old words were then told as the new
  file's for ever. Now bytes that were read before must still be there when it is saved.
- In a history that holds several sessions (aider) only the newest is kept. The summary then did
  not say that there are others; and when the newest had only just begun, there was no summary
  at all, where `summarize` tells the one before.
- When another session began, its findings were written over those that the old head spoke of,
  before there was a new head: killed between the two, the next one told a mixture.
- A message of a text recording that was not at its end was kept as the lines that were read:
  with the secrets in them, because the gate replaces text, not bytes.
- Secrets were replaced before anything was judged: counts, places and sometimes kinds were not
  those of `summarize`.
- A state that could not be written was reported as a recording that cannot be read.

The last three tests say that garbage collection is left as it was and what is read on at all.
"""

import errno
import gc
import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from leftoff import api
from leftoff.analysis.summary_json import to_json
from leftoff.errors import SourceError
from leftoff.incremental import saved_passes
from leftoff.incremental.cursor import Cursor, NotResumable
from leftoff.incremental.follow import Follower
from leftoff.incremental.saved_passes import FOUND, HEAD, SavedPass

ROOT = Path(__file__).resolve().parents[2]
SECRET = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


def history(session: int, prompts: int) -> str:
    """A session as aider writes it down."""
    head = f"\n# aider chat started at 2026-01-0{session} 03:04:05\n\n"
    return head + "".join(
        f"#### Change part {n}.  \n\nI decided to keep part {n} as it is.\n\n"
        for n in range(prompts)
    )


def same(kept: SavedPass, path: Path) -> bool:
    return to_json(kept.summary(str(path))) == to_json(api.summarize(str(path)))


def grow(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


@pytest.mark.parametrize("before", [False, True])
def test_a_recording_that_is_written_anew_while_it_is_read(
    before: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = (ROOT / "corpora/sessions/claude_code/prorate.jsonl").read_bytes()
    other = (ROOT / "corpora/sessions/claude_code/outbox.jsonl").read_bytes()
    path, kept = tmp_path / "s.jsonl", SavedPass(tmp_path / "state")
    path.write_bytes(one[:20_000])
    if before:
        kept.read_on(str(path))
    path.write_bytes(one)
    marked = Cursor.at
    times = 0

    def at(file: BinaryIO, offset: int) -> Cursor:
        nonlocal times
        times += offset > 0
        if times == 1 and offset > 20_000:  # what was read is about to be kept
            path.write_bytes(other)
        return marked(file, offset)

    monkeypatch.setattr(Cursor, "at", at)
    kept.read_on(str(path))
    assert same(kept, path)
    assert kept.whole(str(path)) is not None


def test_several_sessions_in_one_history(tmp_path: Path) -> None:
    path, kept = tmp_path / "h.md", SavedPass(tmp_path / "state")
    steps = [history(1, 9), history(2, 2), history(3, 0), "#### Go on.  \n\n", history(4, 9)]
    for step in steps:
        grow(path, step)
        kept.read_on(str(path))
        assert same(kept, path), step
    assert kept.whole(str(path)) is not None
    (issue,) = [i for i in kept.summary(str(path)).issues if i.code == "several_sessions"]
    assert issue.count == 4


def test_killed_before_the_head_of_another_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, kept = tmp_path / "h.md", SavedPass(tmp_path / "state")
    grow(path, history(1, 9))
    kept.read_on(str(path))
    grow(path, history(2, 30))

    def killed(path: Path, data: bytes) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(saved_passes, "write_atomic", killed)
        with pytest.raises(KeyboardInterrupt):
            kept.read_on(str(path))
    assert (tmp_path / "state" / FOUND).exists()
    assert same(kept, path)
    kept.read_on(str(path))
    assert same(kept, path)


def test_lines_with_a_secret_are_not_kept(tmp_path: Path) -> None:
    path, kept = tmp_path / "h.md", SavedPass(tmp_path / "state")
    grow(path, history(1, 9))
    kept.read_on(str(path))
    for step in (f"Here it is: {SECRET}\n", "and more of it\n", "\n#### Thanks.  \n\nFine.\n"):
        grow(path, step)
        kept.read_on(str(path))
        for place in (tmp_path / "state").iterdir():
            assert SECRET.encode() not in place.read_bytes()
        assert same(kept, path)
    assert kept.whole(str(path)) is not None


def test_with_secrets_it_is_the_same_summary(tmp_path: Path) -> None:
    data = (ROOT / "corpora/sessions/claude_code/prorate.jsonl").read_text()
    data = data.replace("The fix is", f"The token is {SECRET}. The fix is")
    path, kept = tmp_path / "s.jsonl", SavedPass(tmp_path / "state")
    path.write_text(data[: len(data) // 2])
    kept.read_on(str(path))
    grow(path, data[len(data) // 2 :])
    kept.read_on(str(path))
    assert same(kept, path)
    told = kept.summary(str(path), exact=False)  # of what was kept alone
    assert [d.message_index for d in told.key_decisions]
    assert SECRET not in str(told)
    size = len(data.encode())
    grow(path, "\n")
    read = kept.read_on(str(path))
    assert read < size / 2  # and it still reads only what is new


def test_a_state_that_cannot_be_written_is_not_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, kept = tmp_path / "s.jsonl", SavedPass(tmp_path / "state")
    path.write_bytes((ROOT / "corpora/sessions/claude_code/prorate.jsonl").read_bytes())

    (tmp_path / "state").mkdir(mode=0o700)

    def full(_: int) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left") as told:
            kept.read_on(str(path))
    assert not isinstance(told.value, SourceError)
    assert str(tmp_path / "state") in str(told.value)
    assert not (tmp_path / "state" / HEAD).exists()
    kept.read_on(str(path))
    assert same(kept, path)


@pytest.mark.parametrize("on", [True, False])
def test_garbage_collection_is_left_as_it_was(
    on: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes((ROOT / "corpora/sessions/claude_code/prorate.jsonl").read_bytes())
    was_on: list[bool] = []

    def fail(*_: object) -> None:
        was_on.append(gc.isenabled())
        raise ZeroDivisionError

    monkeypatch.setattr(api.SessionReading, "summary", fail)
    kept, follower = SavedPass(tmp_path / "state"), Follower(str(path), tmp_path / "followed")
    if not on:
        gc.disable()
    summaries: list[Callable[[], object]] = [lambda: kept.summary(str(path)), follower.summary]
    try:
        for summary in summaries:
            with pytest.raises(ZeroDivisionError):
                summary()
            assert gc.isenabled() is on
    finally:
        gc.enable()
    assert was_on == [False, False]


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    data = (ROOT / "corpora/sessions/claude_code/prorate.jsonl").read_bytes()
    path, kept = tmp_path / "s.jsonl", SavedPass(tmp_path / "state")
    path.write_bytes(data[:-1000])
    assert kept.read_on(str(path)) == len(data) - 1000
    path.write_bytes(data)  # the same inode, the same beginning
    read = kept.read_on(str(path))
    assert 1000 <= read < 20_000  # from the last whole line on


def test_what_cannot_be_read_on_is_read_whole(tmp_path: Path) -> None:
    path, kept = tmp_path / "s.json", SavedPass(tmp_path / "state")
    path.write_text('[{"role": "user", "content": "Sort it."}]')
    with pytest.raises(NotResumable, match="one document"):
        kept.read_on(str(path))
    assert kept.whole(str(path)) is None
    assert to_json(kept.summary(str(path))) == to_json(api.summarize(str(path)))
    path.write_bytes(
        gzip.compress((ROOT / "corpora/sessions/claude_code/prorate.jsonl").read_bytes())
    )
    with pytest.raises(SourceError, match="compressed"):
        kept.read_on(str(path))
    assert to_json(kept.summary(str(path))) == to_json(api.summarize(str(path)))
    with pytest.raises(SourceError, match="no such file"):
        SavedPass(tmp_path / "state").read_on(str(tmp_path / "none.jsonl"))
