"""A batch tells of every file once, remembers what it read, and lets nothing secret out."""

import asyncio
import gzip
import json
import os
import random
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from leftoff import api
from leftoff.analysis.summary_json import from_json, to_json
from leftoff.batch import work
from leftoff.batch.index import Index
from leftoff.batch.jobs import BatchOptions
from leftoff.batch.outputs import columns_of
from leftoff.batch.pool import InProcess
from leftoff.batch.rows import TABLES
from leftoff.batch.run import Report, Run
from leftoff.batch.summarize_many import Summarized, summarize_all, summarize_all_async
from leftoff.errors import SourceError, StateError, UsageError

SECRET = "ghp_" + "".join(random.Random(7).choices("abcdefghijkmnpqrstuvwxyz23456789", k=36))
LONG_AGO = 1_790_000_000


@pytest.fixture
def folder(root: Path, tmp_path: Path) -> Path:
    """Our own sessions, a damaged one, an empty one and one that is no session."""
    place = tmp_path / "in"
    shutil.copytree(root / "corpora" / "sessions", place)
    whole = (place / "langchain" / "labels.json").read_bytes()
    (place / "cut.json").write_bytes(whole[: len(whole) // 2])
    (place / "empty.jsonl").write_bytes(b"")
    (place / "picture.jsonl.gz").write_bytes(b"\x1f\x8b" + bytes(range(256)))
    for path in place.rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO))
    return place


def run(
    paths: list[Path], out: list[Path], index: Path | str = ":memory:", **wanted: Any
) -> Report:
    doing = Run(paths, BatchOptions(**wanted), InProcess(), str(index), {"HOME": "/nowhere"})
    try:
        return doing.write([str(path) for path in out])
    finally:
        doing.close()


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_one_row_for_each_session_and_for_each_file_that_cannot_be_read(
    folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    report = run([folder], [out])
    found = rows(out)
    failed = {Path(r["path"]).name: r["failure"] for r in found if r["status"] == "failed"}
    assert failed == {
        "cut.json": "no_session",
        "empty.jsonl": "no_session",
        "picture.jsonl.gz": "unreadable",
    }
    assert all(r["reason"] for r in found if r["status"] == "failed")
    told = [r for r in found if r["status"] == "ok"]
    assert report.sessions == len(told)
    assert report.failures == 3
    assert [r["path"] for r in found] == sorted(r["path"] for r in found)
    for row in told:
        alone = api.summarize(row["path"])
        assert row["document"] == json.loads(to_json(alone))
        assert row["messages"] == alone.stats.message_count
        assert row["decisions"] == len(alone.key_decisions)
    by_key = {r["key"]: r for r in found}
    assert len(by_key) == len(found)
    for table in ("decisions", "milestones", "files"):
        lines = rows(tmp_path / f"out.{table}.jsonl")
        assert {r["key"] for r in lines} <= set(by_key)
        assert all(set(r) == set(columns_of(table)) for r in lines)
    changed = [r for r in rows(tmp_path / "out.files.jsonl") if r["action"] != "read"]
    moved = {(r["key"], r["renamed_from"]) for r in changed}
    changed = [r for r in changed if (r["key"], r["path"]) not in moved]
    assert len(changed) == sum(r["files_changed"] for r in told)


def test_subagents_belong_to_their_session(folder: Path) -> None:
    (tenants,) = summarize_all(folder / "claude_code" / "tenants")
    assert tenants.row.subagents == 2
    assert len(tenants.summary.session.sources) == 3


def test_copies_of_a_session_are_one_session(folder: Path, tmp_path: Path) -> None:
    twice = tmp_path / "twice"
    twice.mkdir()
    shutil.copy(folder / "claude_code" / "prorate.jsonl", twice / "a.jsonl")
    shutil.copy(folder / "claude_code" / "prorate.jsonl", twice / "b.jsonl")
    shutil.copy(folder / "claude_code" / "outbox.jsonl", twice / "c.jsonl")
    one, other = summarize_all(twice)
    assert (one.row.files, other.row.files) == (2, 1)
    assert one.row.messages == api.summarize(twice / "a.jsonl").stats.message_count


def test_outputs_hold_the_same_rows(folder: Path, tmp_path: Path) -> None:
    plain, packed, base = (tmp_path / f"out{e}" for e in (".jsonl", ".jsonl.gz", ".sqlite"))
    run([folder], [plain, packed, base])
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    db = sqlite3.connect(base)
    db.row_factory = sqlite3.Row
    for table in TABLES:
        path = plain if table == "sessions" else tmp_path / f"out.{table}.jsonl"
        kept = [dict(row) for row in db.execute(f"SELECT * FROM {table} ORDER BY rowid")]
        for row in kept:
            if row.get("document") is not None:
                row["document"] = json.loads(row["document"])
        assert kept == rows(path)  # 0 and 1 are SQLite's booleans, and equal them
    db.close()
    again = tmp_path / "again.jsonl.gz"
    run([folder], [again])
    assert again.read_bytes() == packed.read_bytes()


def test_what_has_not_changed_is_not_read_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, index = tmp_path / "out.jsonl", tmp_path / "index"
    first = run([folder], [out], index)
    before = out.read_bytes()
    assert first.read > 0

    with monkeypatch.context() as patched:
        patched.setattr("leftoff.batch.work.open_lines", None)
        patched.setattr("leftoff.batch.work.read_head", None)
        second = run([folder], [out], index)
        assert (second.read, second.done, second.known) == (0, 0, second.jobs)
        assert second.unchanged == [str(out)]
        assert second.counts == first.counts
        assert [f.path for f in second.failed] == [f.path for f in first.failed]
        out.write_bytes(b"")  # somebody else's hand
        third = run([folder], [out], index)
    assert third.written == [str(out)]
    assert out.read_bytes() == before

    changed = folder / "codex" / "sift.jsonl"
    data = changed.read_bytes()
    changed.write_bytes(data + data.splitlines(keepends=True)[-1])
    fourth = run([folder], [out], index)
    assert fourth.done == 1
    changed.unlink()
    fifth = run([folder], [out], index)
    assert (fifth.done, fifth.jobs) == (0, fourth.jobs - 1)
    assert str(changed) not in {row["path"] for row in rows(out)}


def test_other_wishes_are_other_results(folder: Path, tmp_path: Path) -> None:
    out, index = tmp_path / "out.jsonl", tmp_path / "index"
    run([folder], [out], index)
    assert run([folder], [out], index, what="files").known == 0
    for row in rows(out):
        if row["status"] == "ok":
            alone = api.summarize(row["path"])
            document = row["document"]
            assert (
                document["file_modifications"]
                == json.loads(to_json(alone))["file_modifications"]
            )
            assert "key_decisions" not in document
            assert row["decisions"] is None
            assert row["files_changed"] is not None
    run([folder], [out], index, what="budget")
    told = [row for row in rows(out) if row["status"] == "ok"]
    assert {row["document"]["schema"] for row in told} == {"leftoff.budget/1"}
    run([folder], [out], index, only=("decisions",))
    told = [row for row in rows(out) if row["status"] == "ok"]
    assert any(row["decisions"] for row in told)
    assert {row["files_changed"] for row in told} == {None}


def big(path: Path, source: Path, size: int) -> list[bytes]:
    """A session of at least `size` bytes: our own, its records repeated under other ids."""
    lines = source.read_bytes().splitlines(keepends=True)
    written: list[bytes] = []
    length = turn = 0
    while length < size:
        for line in lines:
            other = line.replace(b'uuid":"', f'uuid":"{turn:03x}'.encode())
            other = other.replace(b'parentUuid":"', f'parentUuid":"{turn:03x}'.encode())
            written.append(other)
            length += len(other)
        turn += 1
    path.write_bytes(b"".join(written))
    os.utime(path, (LONG_AGO, LONG_AGO))
    return written


@pytest.mark.parametrize("seed", range(4))
def test_a_file_that_has_grown_is_read_from_where_it_was(
    seed: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "MIN_SIZE", 1 << 16)
    recent = bool(seed)  # else it seemed to be finished, and is read whole
    if recent:
        monkeypatch.setattr(work, "RECENT", time.time_ns())
    session, out, index = tmp_path / "s.jsonl", tmp_path / "out.jsonl", tmp_path / "index"
    lines = big(session, folder / "claude_code" / "outbox.jsonl", 1 << 18)
    whole = session.read_bytes()
    cut = random.Random(seed).randrange(1 << 17, len(whole) - 1)
    session.write_bytes(whole[:cut])  # anywhere, in the middle of a line, too
    os.utime(session, (LONG_AGO, LONG_AGO))
    run([session], [out], index)
    with session.open("ab") as file:
        file.write(whole[cut:])
    report = run([session], [out], index)
    assert len(lines) > 10
    most = len(whole) - cut + max(map(len, lines))
    assert 0 < report.read <= most if recent else report.read == len(whole)
    fresh = tmp_path / "fresh.jsonl"
    run([session], [fresh])
    assert out.read_bytes() == fresh.read_bytes()


def test_nothing_secret_leaves(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "MIN_SIZE", 1)
    place = tmp_path / "secrets"
    place.mkdir()
    data = (folder / "claude_code" / "prorate.jsonl").read_bytes()
    said = b"Support has eleven tickets"
    assert said in data
    told = data.replace(said, f"The token is {SECRET}. Support has eleven tickets".encode())
    (place / f"{SECRET}.jsonl").write_bytes(told)
    (place / f"x-{SECRET}.json").write_text(f'{{"token": "{SECRET}"', "ascii")
    index, out = tmp_path / "index", tmp_path / "out"
    out.mkdir()
    for _ in range(2):
        places = [out / "o.jsonl", out / "o.sqlite"]
        report = run([place], places, index)
    for path in [*out.iterdir(), index]:
        assert SECRET.encode() not in path.read_bytes(), path.name
    assert SECRET not in json.dumps([f.path for f in report.failed])
    db = sqlite3.connect(index)
    assert db.execute("SELECT count(*) FROM states").fetchone() == (0,)
    db.close()
    (one, other) = summarize_all(place)
    assert (one.ok, other.ok) == (True, False)
    assert SECRET not in repr((one, other))
    assert one.row.redactions is not None
    assert one.row.redactions > 0


def test_the_library_gives_what_the_files_hold(folder: Path) -> None:
    found = list(summarize_all([folder / "claude_code", folder / "cut.json"]))
    assert [one.ok for one in found] == [True] * (len(found) - 1) + [False] or not found[0].ok
    for one in found:
        if one.ok:
            assert to_json(one.summary) == to_json(
                from_json(to_json(api.summarize(one.row.path)))
            )
            assert len(one.decisions) == one.row.decisions
        else:
            with pytest.raises(UsageError, match=r"no transcript|damaged"):
                _ = one.summary


def test_several_sessions_in_one_file_are_several_rows(folder: Path, tmp_path: Path) -> None:
    page = "\n".join(
        f"\n# aider chat started at 2026-03-0{day} 10:00:00\n\n#### fix bug {day}\n\nFixed it.\n"
        for day in (1, 2, 3)
    )
    path = tmp_path / "chat.md"
    path.write_text(page, encoding="utf-8")
    found = list(summarize_all(path))
    assert [one.row.number for one in found] == [0, 1, 2]
    assert len({one.row.key for one in found}) == 3


def test_the_async_variant_gives_the_same(folder: Path) -> None:
    async def collected() -> list[Summarized]:
        return [one async for one in summarize_all_async(folder / "codex")]

    async def first() -> Summarized:
        told = summarize_all_async(folder / "codex")
        async for one in told:
            await told.aclose()  # type: ignore[attr-defined]
            return one
        raise AssertionError

    everything = asyncio.run(collected())
    assert everything == list(summarize_all(folder / "codex"))
    assert asyncio.run(first()) == everything[0]


def test_the_callers_mistakes_raise(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ends in one of"):
        run([folder], [tmp_path / "out.csv"])
    with pytest.raises(SourceError, match="no folder"):
        run([folder], [tmp_path / "gone" / "out.jsonl"])
    (tmp_path / "other").write_bytes(b"not a database" * 100)
    with pytest.raises(StateError, match="no index, or damaged"):
        run([folder], [tmp_path / "out.jsonl"], tmp_path / "other")


def test_two_runs_do_not_share_an_index(tmp_path: Path) -> None:
    first = Index(str(tmp_path / "index"), "rules", 0)
    with pytest.raises(StateError, match="in use by another run"):
        Index(str(tmp_path / "index"), "rules", 0)
    first.close()
    Index(str(tmp_path / "index"), "rules", 0).close()


class _Stopped:
    """An engine that is interrupted after so many chunks."""

    workers = 1

    def __init__(self, after: int) -> None:
        self.after = after

    def run(self, chunks: Any) -> Iterator[Any]:
        for number, found in enumerate(InProcess().run(chunks)):
            if number >= self.after and found[0].jobs:
                raise KeyboardInterrupt
            yield found

    def close(self) -> None:
        """Nothing."""


class _NoRows(InProcess):
    """An engine whose jobs give no rows."""

    def run(self, chunks: Any) -> Iterator[Any]:
        for chunk, done in super().run(chunks):
            results = tuple(replace(result, tables=()) for result in done.results)
            yield chunk, replace(done, results=results)


def test_an_engine_may_give_no_rows(folder: Path, tmp_path: Path) -> None:
    whole, index, out = folder / "claude_code", tmp_path / "index", tmp_path / "out.jsonl"
    for _ in range(2):  # done, then remembered
        assert list(summarize_all([whole], engine=_NoRows(), index=index)) == []
    doing = Run([whole], BatchOptions(), _NoRows(), ":memory:", {})
    doing.write([str(out)])
    doing.close()
    assert rows(out) == []


def test_an_interrupted_run_leaves_whole_rows_and_goes_on(folder: Path, tmp_path: Path) -> None:
    out, index = tmp_path / "out.jsonl", tmp_path / "index"
    doing = Run([folder], BatchOptions(), _Stopped(5), str(index), {})
    report = doing.write([str(out)])
    doing.close()
    assert report.interrupted
    partly = rows(out)
    assert 0 < len(partly) < report.jobs
    after = run([folder], [out], index)
    assert (after.known, after.interrupted) == (len(partly), False)
    fresh = tmp_path / "fresh.jsonl"
    run([folder], [fresh])
    assert out.read_bytes() == fresh.read_bytes()
