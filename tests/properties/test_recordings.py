"""Any recording, conversation and cut of one is read, or refused in words."""

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.strategies import varying
from tests.strategies.conversations import (
    Content,
    Step,
    content_of,
    conversations,
    written_content,
)
from tests.strategies.recordings import examples, recordings
from tests.strategies.writers import SILENT_ON_FAILURE, WRITERS

from leftoff import Pass, api
from leftoff.analysis.summary_json import to_json
from leftoff.errors import UnknownName
from leftoff.extraction.collector import Collector
from leftoff.formats.reader import formats
from leftoff.formats.thread import key64, keys64
from leftoff.model import Message
from leftoff.testing.checks import check_any_input, check_format, check_prefix

# What must hold for any recording and any cut of it.

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
    check_prefix(data, int(cut * len(data)))


@given(data=st.binary(max_size=400))
@settings(max_examples=150)
def test_any_bytes_give_a_summary_or_a_refusal(data: bytes) -> None:
    check_any_input(data)


@pytest.mark.parametrize("path", SESSIONS, ids=lambda p: p.stem)
@given(seed=st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_a_mutated_recording_gives_a_summary_or_a_refusal(path: Path, seed: Random) -> None:
    check_any_input(varying.varied(path.read_bytes(), "text", seed))


# Any input gives a summary that accounts for all of it, or a refusal in words.
#
# A small round over every format; LEFTOFF_EXAMPLES makes it a long one.

FORMATS = formats.names()
EXAMPLES = int(os.environ.get("LEFTOFF_EXAMPLES", "12"))
QUICK = settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])


def test_there_is_an_example_of_every_format() -> None:
    assert set(examples()) == set(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_examples_are_recordings_of_their_format(name: str, tmp_path: Path) -> None:
    check_format(formats.get(name), examples()[name])
    path = tmp_path / "session"
    path.write_bytes(examples()[name])
    assert api.verify(api.summarize(path)) == []


@pytest.mark.parametrize("name", FORMATS)
@QUICK
@given(data=st.data())
def test_any_recording_is_read_or_refused(name: str, data: st.DataObject) -> None:
    recording = data.draw(recordings(name))
    told = name if data.draw(st.booleans()) else None
    check_any_input(recording, told)
    check_prefix(recording, data.draw(st.integers(0, len(recording))), name)


def test_most_varied_recordings_are_still_read() -> None:
    """Else the strategies would only show that rubbish is refused."""
    read = 0
    for name in FORMATS:
        shape = formats.get(name).shape
        made = (varying.varied(examples()[name], shape, Random(seed)) for seed in range(5))
        read += sum(check_any_input(data) is not None for data in made)
    assert read > 5 * len(FORMATS) // 2


@pytest.mark.parametrize("shape", ["lines", "document", "text"])
def test_what_is_varied_is_a_function_of_its_seed(shape: str) -> None:
    example = examples()[{"lines": "codex", "document": "kiro", "text": "aider"}[shape]]
    seeds = range(200)
    first = [varying.varied(example, shape, Random(seed)) for seed in seeds]
    assert first == [varying.varied(example, shape, Random(seed)) for seed in seeds]
    assert len(set(first)) > 100


def test_an_unknown_format_has_no_recordings() -> None:
    with pytest.raises(UnknownName, match="claude_cod"):
        recordings("claude_cod")


def test_a_broken_promise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that nobody counts, and a pass that forgets what it had read."""
    example = examples()["claude_code"]
    conclude = Pass.conclude

    def careless(self: Pass) -> object:
        self.lines.parsed -= 1
        return conclude(self)

    with monkeypatch.context() as patch:
        patch.setattr(Pass, "conclude", careless)
        with pytest.raises(AssertionError, match="not accounted for"):
            check_any_input(example)
    load = Pass.load.__func__  # type: ignore[attr-defined]

    def forgetful(cls: type[Pass], state: object, *given: object) -> Pass:
        found: Pass = load(cls, state, *given)
        found.lines.total -= 1
        found.lines.parsed -= 1
        return found

    monkeypatch.setattr(Pass, "load", classmethod(forgetful))
    with pytest.raises(AssertionError, match="it reads otherwise"):
        check_prefix(example, len(example) // 2, "claude_code")


HEX = st.sampled_from("0123456789abcdefABCDEF-+_ ")
IDS = st.one_of(
    st.uuids().map(str),
    st.text(HEX, min_size=36, max_size=36),
    st.lists(st.text("0123456789abcdef", min_size=4, max_size=12), min_size=5, max_size=5).map(
        lambda parts: "-".join(parts)[:36].ljust(36, "0")
    ),
    st.text(max_size=40),
)


@given(st.lists(IDS, max_size=4))
def test_ids_have_one_key_whatever_stands_beside_them(identities: list[str]) -> None:
    keys = list(keys64(identities))
    assert keys == [key64(identity) for identity in identities]
    assert all(0 <= key < 2**64 for key in keys)


# Any conversation, written as a recorder writes it, is read back as it was held.


class Reading(Collector):
    """A fold that keeps the messages."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Message] = []

    def _message(self, m: Message) -> None:
        self.messages.append(m)
        super()._message(m)


def read(data: bytes, cut: int) -> Reading:
    reading = Reading()
    reading.feed(data[:cut])
    reading.feed(data[cut:])
    reading.close()
    return reading


def without_failures(found: Content) -> Content:
    return replace(found, results=tuple(r and (r[0], False) for r in found.results))


def test_at_least_eight_formats_are_written() -> None:
    assert len(WRITERS) >= 8


@pytest.mark.parametrize("name", sorted(WRITERS))
@settings(max_examples=40)
@given(steps=conversations())
def test_what_was_written_is_read_back(name: str, steps: Sequence[Step]) -> None:
    data = WRITERS[name](steps)
    reading = read(data, len(data) // 3)
    assert reading.format is not None
    assert reading.format.name == name
    assert reading.lines.parsed == reading.lines.total
    assert not reading.issues
    want, found = written_content(steps), content_of(reading.messages)
    if name in SILENT_ON_FAILURE:
        want, found = without_failures(want), without_failures(found)
    assert found == want


@pytest.mark.parametrize("name", sorted(set(WRITERS) - {"leftoff"}))
def test_a_word_less_is_seen(name: str) -> None:
    steps = (Step("user", "Count the apples."), Step("agent", "There are seven."))
    data = WRITERS[name](steps).replace(b"seven", b"eight")
    assert content_of(read(data, 0).messages) != written_content(steps)
