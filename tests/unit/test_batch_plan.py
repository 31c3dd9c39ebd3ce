"""Files become sessions before anything is read whole, and work is dealt out in fair pieces."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from leftoff.batch.files import find_files, is_url
from leftoff.batch.jobs import (
    CHUNK,
    CHUNK_FILES,
    BatchOptions,
    FileHeader,
    InputFile,
    Job,
    plan_jobs,
    split_into_chunks,
)


def paths(found: list[Job]) -> list[tuple[str, ...]]:
    return [tuple(file.path for file in job.files) for job in found]


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.sets(st.integers(1, 5), max_size=3)))
def test_no_two_jobs_share_a_key_and_every_file_is_in_one(keys: dict[str, set[int]]) -> None:
    heads = {path: FileHeader(tuple(found)) for path, found in keys.items()}
    found = plan_jobs([InputFile(path) for path in keys], heads)
    assert sorted(path for group in paths(found) for path in group) == sorted(keys)
    told = [{key for path in group for key in keys[path]} for group in paths(found)]
    assert all(not a & b for n, a in enumerate(told) for b in told[:n])
    assert [job.number for job in found] == list(range(len(found)))


@given(st.lists(st.integers(0, 3 * CHUNK), max_size=60), st.integers(1, 4), st.booleans())
def test_every_job_is_dealt_out_once_and_no_chunk_is_too_large(
    sizes: list[int], workers: int, in_order: bool
) -> None:
    given_ = [Job(n, (InputFile(str(n), size),)) for n, size in enumerate(sizes)]
    dealt = split_into_chunks(BatchOptions(), given_, workers, in_order=in_order)
    numbers = [job.number for chunk in dealt for job in chunk.jobs]
    assert sorted(numbers) == list(range(len(sizes)))
    if in_order:
        assert numbers == sorted(numbers)
    for chunk in dealt:
        assert len(chunk.jobs) <= CHUNK_FILES
        size = sum(job.size for job in chunk.jobs)
        assert size <= CHUNK + 1 or len(chunk.jobs) == 1


def test_what_paths_come_to(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.json.gz", "c.png", "sub/d.md", ".git/e.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"{}")
    found = find_files([tmp_path, tmp_path / "c.png", tmp_path / "gone", tmp_path / "*.gz"], {})
    assert sorted(Path(path).name for path in found.files) == [
        "a.jsonl",
        "b.json.gz",
        "c.png",
        "d.md",
        "gone",
    ]
    assert found.left_out == 1
    assert is_url("s3://bucket/x.jsonl")
    assert not is_url("C:\\x.jsonl")


def test_a_clients_home_is_read_as_its_client_keeps_it(tmp_path: Path) -> None:
    claude = tmp_path / ".claude"
    for name in (
        "projects/-p/one.jsonl",
        "projects/-p/one/subagents/agent-1.jsonl",
        "todos/one.json",
        "history.jsonl",
    ):
        (claude / name).parent.mkdir(parents=True, exist_ok=True)
        (claude / name).write_bytes(b"{}\n")
    storage = tmp_path / "pieces" / "storage"
    for name in ("session/p/ses_1.json", "message/ses_1/msg_1.json", "part/msg_1/prt_1.json"):
        (storage / name).parent.mkdir(parents=True, exist_ok=True)
        (storage / name).write_bytes(b"{}\n")
    found = find_files([claude, storage.parent], {"HOME": str(tmp_path)})
    assert sorted(Path(path).name for path in found.files) == [
        "agent-1.jsonl",
        "one.jsonl",
        "ses_1.json",
    ]
