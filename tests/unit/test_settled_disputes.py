"""Disputes that two readers settled, and the labels that follow from them."""

from hashlib import blake2b
from pathlib import Path

import msgspec
import pytest
from benchmarks.accuracy.decisions.settled import Dispute, load_disputes, settled

from leftoff.errors import StateError
from leftoff.evaluation.labels import NEAR_MISSES, UNSURE, Decision, Labels
from leftoff.summary import DECISION_TYPES

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "benchmarks/accuracy/decisions/settled.json"
SAYS = "We keep the queue in SQLite. Next I read the schema. Retries stay with the callers."
TEXTS = {4: SAYS}
QUEUE, READ, RETRIES = (one + "." for one in SAYS.removesuffix(".").split(". "))


def dispute(
    quote: str, verdict: str, *readers: str, reason: str = "", kind: str = ""
) -> Dispute:
    start = SAYS.index(quote)
    return Dispute(
        "session.jsonl",
        4,
        start,
        start + len(quote),
        blake2b(quote.encode(), digest_size=8).hexdigest(),
        "model",
        verdict,
        (readers[0], readers[-1]),
        (reason, reason),
        (kind, kind),
    )


def labels(*quotes: str) -> Labels:
    return Labels("session.jsonl", decisions=tuple(Decision(4, q, "approach") for q in quotes))


def test_what_both_call_a_decision_is_one_label() -> None:
    yes = dispute(QUEUE, "yes", "yes", kind="architecture")
    found = settled(labels(RETRIES), [yes, yes], TEXTS)
    assert [(d.quote, d.type) for d in found.decisions] == [
        (RETRIES, "approach"),
        (QUEUE, "architecture"),
    ]
    assert settled(labels(QUEUE), [yes], TEXTS) == labels(QUEUE)


def test_what_both_call_none_is_a_near_miss() -> None:
    found = settled(labels(READ, QUEUE), [dispute(READ, "no", "no", reason="move")], TEXTS)
    assert [d.quote for d in found.decisions] == [QUEUE]
    assert [(n.quote, n.reason) for n in found.near_misses] == [(READ, "move")]


def test_where_readers_differ_is_unsure() -> None:
    found = settled(labels(RETRIES), [dispute(RETRIES, "unsure", "yes", "no")], TEXTS)
    assert found.decisions == ()
    assert [(n.quote, n.reason) for n in found.near_misses] == [(RETRIES, UNSURE)]


def test_another_text_is_noticed() -> None:
    with pytest.raises(StateError, match="does not say what the readers judged"):
        settled(labels(), [dispute(QUEUE, "yes", "yes")], {4: SAYS.upper()})


def test_the_disputes_in_the_repository_hold_no_words() -> None:
    disputes = [one for each in load_disputes(FILE).values() for one in each]
    assert len({(d.file, d.place, d.start) for d in disputes}) == len(disputes) == 150
    for d in disputes:
        agreed = d.readers[0] == d.readers[1] != "unsure"
        assert d.verdict == (d.readers[0] if agreed else "unsure")
        assert set(d.reasons) <= {"", *NEAR_MISSES}
        assert set(d.types) <= {"", *DECISION_TYPES}
        assert len(d.hash) == 16
        assert d.side in {"model", "label"}
    known = set(Dispute.__struct_fields__)
    assert all(set(row) == known for row in msgspec.json.decode(FILE.read_bytes()))
