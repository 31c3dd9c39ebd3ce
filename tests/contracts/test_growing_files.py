"""A growing recording, as every part of leftoff that reads only what was added to it sees it:
whatever happens to the file, the answer is that of reading it from the beginning.

Each of them had an idea of its own of what the same file is. `budget --watch` knew a recording
that was written anew only by its becoming shorter, and read on in the middle of a longer one; it
did not see what a subagent's own file says. The MCP server went by size and time, and answered
about what had been replaced by a file of the same size; of a session in several files it saw the
first. The hooks' worker went by size alone. A batch read on in the middle of a compressed file.
"""

import gzip
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.strategies.writers import claude_line

from leftoff import api
from leftoff.analysis.summary_json import to_json
from leftoff.batch import work
from leftoff.batch.jobs import BatchOptions
from leftoff.batch.pool import InProcess
from leftoff.batch.run import Run
from leftoff.budget.thresholds import preset
from leftoff.errors import FormatError, LeftoffError
from leftoff.hooks import queue, worker
from leftoff.incremental.accounts import AccountFollower, account_of
from leftoff.incremental.follow import Follower
from leftoff.incremental.saved_passes import SavedPass
from leftoff.integrations.mcp_tools import _CachedRecording
from leftoff.sources.encodings import is_plain

ADVISORY = preset("advisory")
LONG_AGO = 1_700_000_000


def session(name: str, turns: int, word: str = "rounding") -> bytes:
    """A session in which the agent answers each prompt."""
    lines = []
    for n in range(2 * turns):
        kind = "user" if n % 2 == 0 else "assistant"
        text = f"Never change the {word} of part {n}." if n % 2 == 0 else f"Part {n} is done."
        about = {}
        if kind == "assistant":
            usage = {"input_tokens": 1000 + n, "output_tokens": 9}
            about = {"id": f"{name}{n}", "model": "claude-opus-4-6", "usage": usage}
        said = [{"type": "text", "text": text}]
        lines.append(json.dumps(claude_line(n, kind, said, name, about)) + "\n")
    return "".join(lines).encode()


ONE, LONGER = session("one", 30), session("one", 40)
OTHER, OTHER_LONGER = session("two", 30), session("two", 60)
LAST = session("one", 41)[len(LONGER) :]


def replace(path: Path, data: bytes) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(data)
    other.replace(path)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def rotate(path: Path) -> None:
    path.rename(path.with_suffix(".1"))
    path.write_bytes(OTHER)


def same_size_and_time(path: Path) -> None:
    status = path.stat()
    replace(path, OTHER)
    assert path.stat().st_size == status.st_size
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def vanish_and_return(path: Path) -> None:
    path.unlink()
    path.write_bytes(LONGER)


# Compressed so that the file is larger than what it holds, and grows with it.
STORED, STORED_LONGER = (
    gzip.compress(ONE, 0),
    gzip.compress(ONE, 0) + gzip.compress(LONGER[len(ONE) :], 0),
)

CASES: dict[str, tuple[bytes, Callable[[Path], object]]] = {
    "untouched": (ONE, Path.exists),
    "appended": (ONE, lambda path: append(path, LONGER[len(ONE) :])),
    "appended to half a line": (LONGER[:9000], lambda path: append(path, LONGER[9000:])),
    "truncated": (LONGER, lambda path: os.truncate(path, len(ONE))),
    "truncated to nothing": (ONE, lambda path: os.truncate(path, 0)),
    "replaced, same size and time": (ONE, same_size_and_time),
    "replaced by a larger one": (ONE, lambda path: replace(path, OTHER_LONGER)),
    "replaced by a smaller one": (LONGER, lambda path: replace(path, OTHER)),
    "rewritten in place, same size": (ONE, lambda path: path.write_bytes(OTHER)),
    "rewritten in place, larger": (ONE, lambda path: path.write_bytes(OTHER_LONGER)),
    "rotated": (ONE, rotate),
    "vanished": (ONE, lambda path: path.unlink()),
    "vanished and back": (ONE, vanish_and_return),
    "gzip, appended": (STORED, lambda path: append(path, STORED_LONGER[len(STORED) :])),
    "gzip, replaced": (STORED, lambda path: replace(path, gzip.compress(OTHER))),
    "compressed in its place": (ONE, lambda path: replace(path, gzip.compress(ONE))),
    "unpacked in its place": (STORED, lambda path: replace(path, LONGER)),
    "UTF-16 in its place": (ONE, lambda path: replace(path, ONE.decode().encode("utf-16"))),
    "a subagent goes on": (ONE, lambda path: subagent(path, 9)),
}


def subagent(path: Path, turns: int) -> None:
    side = path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    side.parent.mkdir(parents=True, exist_ok=True)
    data = session("side", turns).replace(
        b'"type"', b'"isSidechain": true, "agentId": "a1", "type"'
    )
    side.write_bytes(data)


class Reader(Protocol):
    """Reads the recording at a path, again and again."""

    def __call__(self) -> Any: ...


def mcp(path: Path, state: Path) -> Reader:
    recording = _CachedRecording(str(path))
    return lambda: to_json(recording.summary())


def saved_pass(path: Path, state: Path) -> Reader:
    saved = SavedPass(state)

    def read() -> bytes:
        with suppress(LeftoffError):  # the summary then reads all of it
            saved.read_on(str(path))
        return to_json(saved.summary(str(path)))

    return read


def follow(path: Path, state: Path) -> Reader:
    return lambda: to_json(Follower(path, state).summary())


def batch(path: Path, state: Path) -> Reader:
    times = [LONG_AGO]

    def read() -> Any:
        if path.exists():
            times.append(times[-1] + 1)
            os.utime(path, (times[-1], times[-1]))  # the index trusts no time of today
        out, index = state.with_suffix(".jsonl"), state.with_suffix(".index")
        doing = Run([path], BatchOptions(), InProcess(), str(index), {"HOME": "/nowhere"})
        try:
            doing.write([str(out)])
        finally:
            doing.close()
        return [
            json.loads(line).get("document") for line in out.read_text("utf-8").splitlines()
        ]

    return read


def hooks(path: Path, state: Path) -> Reader:
    home = state / ".leftoff"

    def read() -> Any:
        folder = queue.folder_of(home, "s")
        assert folder is not None
        queue.make_folder(home, folder)
        job = {"transcript": str(path), "project": str(state)}
        queue.enqueue(folder, "stop", job)
        worker.process_jobs(home, "s")
        about = queue.load(folder / queue.ABOUT_SESSION)
        block = queue.read_text(folder / queue.BRIEFING)
        return about.get("session"), block.replace(str(state), "")

    return read


READERS = {f.__name__: f for f in (mcp, saved_pass, follow, batch, hooks)}


def outcome(read: Reader) -> Any:
    """What a reader answers, or the kind of its error."""
    try:
        return read()
    except LeftoffError as error:
        return FormatError if isinstance(error, FormatError) else type(error)


@pytest.mark.parametrize(
    ("reader", "case"),
    # `follow` refuses UTF-16 in words: tests/regressions/test_utf16.py.
    [(r, c) for r in READERS for c in CASES if r != "follow" or not c.startswith("UTF-16")],
)
def test_as_from_the_beginning(
    reader: str, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "MIN_SIZE", 1)
    # On a busy machine a summary takes a second, and the next one would be put off.
    monkeypatch.setattr(worker, "MIN_INTERVAL_FACTOR", 0)
    before, happens = CASES[case]
    path = tmp_path / "s.jsonl"
    path.write_bytes(before)
    subagent(path, 3)
    read = READERS[reader](path, tmp_path / "state")
    before_it = outcome(read)
    happens(path)
    fresh = READERS[reader](path, tmp_path / "fresh")
    if reader in {"mcp", "saved_pass", "follow"}:
        fresh = lambda: to_json(api.summarize(str(path)))  # noqa: E731
    for more in (b"", LAST):  # and what is added afterwards
        if more and path.exists() and is_plain(path.read_bytes()[:4096]):
            append(path, more)
        expected = outcome(fresh)
        if reader == "hooks" and expected == (None, ""):
            expected = before_it  # the blocks stay
        assert outcome(read) == expected


@pytest.mark.parametrize("case", CASES)
def test_the_watched_account(case: str, tmp_path: Path) -> None:
    before, happens = CASES[case]
    path = tmp_path / "s.jsonl"
    path.write_bytes(before)
    subagent(path, 3)
    watched = AccountFollower(str(path), ADVISORY)
    assert watched.changed() == account_of(str(path), ADVISORY)
    assert watched.changed() is None
    happens(path)
    if case in {"untouched", "truncated to nothing"}:
        assert watched.changed() is None
    else:
        assert outcome(watched.changed) == outcome(lambda: account_of(str(path), ADVISORY))
    if path.exists() and is_plain(path.read_bytes()[:4096]):
        append(path, LAST)
        assert watched.changed() == account_of(str(path), ADVISORY)


def test_a_session_in_several_files(tmp_path: Path) -> None:
    """One document made of many files: none of them grows, and the first does not change."""
    storage = tmp_path / "storage"
    main = storage / "session" / "p" / "ses_1.json"
    files = {
        main: {"id": "ses_1", "title": "Totals", "directory": "/home/dev", "version": "1"},
        storage / "message" / "ses_1" / "msg_1.json": {"id": "msg_1", "role": "user"},
        storage / "part" / "msg_1" / "prt_1.json": {"type": "text", "text": "Fix the totals."},
    }
    more = {
        storage / "message" / "ses_1" / "msg_2.json": {"id": "msg_2", "role": "user"},
        storage / "part" / "msg_2" / "prt_2.json": {"type": "text", "text": "Add tests."},
    }
    answers: list[object] = []
    recording = _CachedRecording(str(main))
    watched = AccountFollower(str(main), ADVISORY)
    for written in (files, more):
        for path, value in written.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(value))
        assert to_json(recording.summary()) == to_json(api.summarize(main))
        assert watched.changed() == account_of(str(main), ADVISORY)
        assert watched.changed() is None
        answers.append(recording.summary().stats.message_count)
    assert answers == [1, 2]


def test_a_file_that_became_part_of_another_session(tmp_path: Path) -> None:
    """A header is remembered for a file that only grew, not for one that was rewritten: the
    two files of one session stayed two rows."""
    one, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    one.write_bytes(LONGER)
    other.write_bytes(OTHER)
    index = tmp_path / "index"
    for rows, data in ((2, OTHER), (1, LONGER + session("one", 50)[len(LONGER) :])):
        other.write_bytes(data)
        for path in (one, other):
            os.utime(path, (LONG_AGO + rows, LONG_AGO + rows))
        doing = Run([one, other], BatchOptions(), InProcess(), str(index), {"HOME": "/nowhere"})
        try:
            doing.write([str(tmp_path / "out.jsonl")])
        finally:
            doing.close()
        assert len((tmp_path / "out.jsonl").read_bytes().splitlines()) == rows
