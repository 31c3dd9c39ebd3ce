"""Any input gives a summary that accounts for all of it, or a refusal in words.

A small round over every format; `tests/reliability/fuzz.py` goes on for as long as it is let.
"""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.strategies import varying
from tests.strategies.recordings import examples, recordings

from leftoff import Pass
from leftoff.errors import UnknownName
from leftoff.formats.reader import formats
from leftoff.formats.thread import key64, keys64
from leftoff.testing.checks import check_any_input, check_format, check_prefix

FORMATS = formats.names()
QUICK = settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])


def test_there_is_an_example_of_every_format() -> None:
    assert set(examples()) == set(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_examples_are_recordings_of_their_format(name: str) -> None:
    check_format(formats.get(name), examples()[name])


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
