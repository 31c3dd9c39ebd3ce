"""The log of evidence: packed or not, it holds the same in the same order."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff import Pass
from leftoff.analysis.summary_json import to_json
from leftoff.extraction import evidence_log
from leftoff.extraction.evidence import Called, Evidence, Noted, Returned, Said
from leftoff.extraction.evidence_log import EvidenceLog
from leftoff.model import Ref

BLOCK = 5


class Odd:
    """What a plug-in may note and no format can hold."""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence_log, "BLOCK", BLOCK)


def called(number: int) -> Called:
    return Called(number, 0, "Bash", "shell", f"make {number}")


pieces = st.lists(
    st.one_of(
        st.builds(Called, st.integers(0, 99), st.integers(0, 3), st.text(), st.text()),
        st.builds(Returned, st.integers(0, 99), st.integers(0, 3), st.just(-1), st.just(-1), st.just("ok")),
        st.builds(Said, st.sampled_from(["decision", "stage"]), st.text(), st.builds(Ref), st.text(), st.text()),
    )
)  # fmt: skip


@given(pieces, st.integers(0, 40))
def test_it_is_a_list_by_kind_and_by_order(given: list[Evidence], cut: int) -> None:
    log = EvidenceLog(given[:cut])
    for item in given[cut:]:
        log.append(item)
    assert list(log) == given
    assert len(log) == len(given)
    for kind in (Called, Returned, Said):
        assert log.of(kind) == [item for item in given if type(item) is kind]
        assert list(log.latest(kind)) == log.of(kind)[::-1]


@given(pieces, st.sampled_from([0, 1 << 30]), st.integers(0, 3))
def test_it_is_grouped_by_topic(given: list[Evidence], vast: int, few: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence_log, "LARGE", vast)
        patch.setattr(evidence_log, "FEW", few)
        log = EvidenceLog(given)
        calls = log.grouped(Called, lambda c: c.part > 0)
        said = log.grouped(Said, lambda s: s.text != "")
    wanted: dict[str, list[Any]] = {"": [c for c in given if type(c) is Called and c.part > 0]}
    for topic in ("decision", "stage"):
        of_topic = [s for s in given if type(s) is Said and s.topic == topic]
        wanted[topic] = [s for s in of_topic if s.text]
    for topic, pieces in wanted.items():
        found = said if topic else calls
        assert list(found.get(topic, ())) == pieces
        assert list(found.get(topic, ())[1:-1]) == pieces[1:-1]
    assert set(said) == {topic for topic in ("decision", "stage") if wanted[topic]}


def test_a_copy_grows_by_itself() -> None:
    log = EvidenceLog(called(n) for n in range(7))
    twin = log.copy()
    twin.extend(called(n) for n in range(7, 20))
    assert [c.message for c in log.of(Called)] == list(range(7))
    assert [c.message for c in twin.of(Called)] == list(range(20))


def test_what_a_plug_in_noted_stays_its_own_object() -> None:
    odd = Odd()
    log = EvidenceLog([Noted("mine", Ref(), odd), *(called(n) for n in range(9))])
    assert log.of(Noted)[0].value is odd
    assert next(iter(log)) == Noted("mine", Ref(), odd)


def test_words_that_come_back_are_held_once() -> None:
    log = EvidenceLog(called(n) for n in range(9))
    first, *others = log.of(Called)
    assert all(other.name is first.name for other in others)


def test_a_summary_is_the_same_however_much_is_packed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vast = 0
    for path in sorted((root / "corpora" / "sessions").rglob("*.jsonl"))[:6]:
        said: list[bytes] = []
        for most in (3, 1 << 30):
            monkeypatch.setattr(evidence_log, "BLOCK", most)
            monkeypatch.setattr(evidence_log, "LARGE", most)
            reading = Pass(str(path))
            data = path.read_bytes()
            reading.feed(data[: len(data) // 2])
            reading = Pass.load(reading.save(), str(path))
            reading.feed(data[reading.offset :])
            vast += reading.sessions[-1][""].evidence.large
            said.append(to_json(reading.summary()))
        assert said[0] == said[1], path.name
    assert vast >= 3
