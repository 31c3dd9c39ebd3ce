"""What must hold for any recording and any cut of it."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftoff import FormatError, Pass
from leftoff.analysis.summary_json import from_json, to_json

SESSIONS = sorted(
    (Path(__file__).resolve().parents[2] / "corpora" / "sessions").glob("*/*.json*")
)


def summary_of(data: bytes, cuts: list[int] | None = None) -> bytes:
    reading = Pass()
    edges = [0, *sorted(cuts or []), len(data)]
    for start, end in pairwise(edges):
        reading.feed(data[start:end])
    return to_json(reading.summary())


@pytest.mark.parametrize("path", SESSIONS, ids=lambda p: p.stem)
@given(cuts=st.lists(st.floats(0, 1), max_size=4))
@settings(max_examples=8)
def test_how_bytes_are_cut_changes_nothing(path: Path, cuts: list[float]) -> None:
    data = path.read_bytes()
    assert summary_of(data, [int(c * len(data)) for c in cuts]) == summary_of(data)


@pytest.mark.parametrize("path", SESSIONS, ids=lambda p: p.stem)
@given(cut=st.floats(0, 1))
@settings(max_examples=8)
def test_a_pass_put_aside_and_taken_up_says_the_same(path: Path, cut: float) -> None:
    data = path.read_bytes()
    first = Pass()
    first.feed(data[: int(cut * len(data))])
    state = first.save()
    second = Pass.load(state)
    second.feed(data[state.offset :])
    assert to_json(second.summary()) == summary_of(data)


@given(data=st.binary(max_size=400))
@settings(max_examples=150)
def test_any_bytes_give_a_summary_or_a_refusal(data: bytes) -> None:
    try:
        summary_of(data)
    except FormatError as error:
        assert str(error).startswith("<bytes>: ")  # noqa: PT017


@pytest.mark.parametrize("path", SESSIONS, ids=lambda p: p.stem)
@given(seed=st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_a_mutated_recording_gives_a_summary_or_a_refusal(
    path: Path, seed: st.DataObject
) -> None:
    data = mutated(path.read_bytes(), seed)
    reading = Pass()
    try:
        reading.feed(data)
        got = reading.summary()
    except FormatError:
        return
    lines = got.stats.lines
    assert lines.total == lines.parsed + lines.unknown + lines.repaired + lines.skipped
    assert from_json(to_json(got)).stats.message_count == got.stats.message_count > 0


def mutated(data: bytes, seed: object) -> bytes:
    """The recording with lines cut, dropped, doubled, swapped, glued or retyped."""
    random = seed
    lines = data.split(b"\n")
    for _ in range(random.randint(1, 6)):  # type: ignore[attr-defined]
        at = random.randrange(len(lines))  # type: ignore[attr-defined]
        line = lines[at]
        kind = random.randrange(7)  # type: ignore[attr-defined]
        if kind == 0:
            lines[at] = line[: random.randint(0, len(line))]  # type: ignore[attr-defined]
        elif kind == 1:
            lines[at] = b""
        elif kind == 2:
            lines.insert(at, line)
        elif kind == 3:
            other = random.randrange(len(lines))  # type: ignore[attr-defined]
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == 4 and at + 1 < len(lines):
            lines[at : at + 2] = [line + lines[at + 1]]
        elif kind == 5:
            lines[at] = line.replace(b'":"', b'":[', 1).replace(b'":{', b'":7,"x":{', 1)
        else:
            lines[at] = line.replace(b'"', b"\x00", 1).replace(b"e", b"\xff", 1)
    return b"\n".join(lines)
