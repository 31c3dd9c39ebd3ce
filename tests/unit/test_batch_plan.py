"""Files become sessions before anything is read whole, and work is dealt out in fair pieces."""

from hypothesis import given
from hypothesis import strategies as st

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
