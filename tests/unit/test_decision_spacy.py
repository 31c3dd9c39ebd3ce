"""Decisions with spaCy: an extractor that runs when it is named."""

import json
import subprocess
import sys
from typing import Any

import pytest

from leftoff import Pass
from leftoff.extraction.evidence import Said
from leftoff.extraction.extractor import extractors
from leftoff.summary import ContextSummary
from leftoff.testing.checks import check_extractor

STATED = "The root cause is that two workers write one temporary file."
LEFT_OUT = "This is out of scope today."
ROUTINE = "Let me read the file."
EXAMPLE = b"".join(
    json.dumps({"role": role, "content": text}).encode() + b"\n"
    for role, text in (
        ("user", "Find out why uploads fail."),
        ("assistant", f"{STATED} {LEFT_OUT} {ROUTINE}\n\n```\nroot cause\n```\n"),
    )
)


@pytest.fixture
def spacy() -> Any:
    return pytest.importorskip("spacy", reason="needs leftoff[spacy]")


def findings() -> list[Said]:
    """What the extractor finds in the example, while its promises are checked."""
    found = check_extractor(extractors.get("spacy"), EXAMPLE)
    return [said for said in found if isinstance(said, Said)]


def test_the_name_is_known_and_not_imported() -> None:
    assert "spacy" in extractors
    code = (
        "import sys, leftoff; p = leftoff.Pass(); p.feed(sys.stdin.buffer.read()); p.summary()\n"
        "from leftoff.extraction.extractor import extractors; extractors.names()\n"
        "print('spacy' in sys.modules, 'leftoff.extraction.decision_spacy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=EXAMPLE, capture_output=True, check=True
    )
    assert done.stdout.split() == [b"False", b"False"]


def test_without_spacy_the_error_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['spacy'] = None\n"
        "from leftoff.extraction.extractor import extractors; extractors.get('spacy')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode != 0
    last = done.stderr.decode().splitlines()[-1]
    assert last.startswith("leftoff.errors.UsageError")
    assert "pip install 'leftoff[spacy]'" in last


def test_it_keeps_the_promises_of_an_extractor(spacy: Any) -> None:
    found = findings()
    assert {said.topic for said in found} == {"finding"}


def test_it_finds_sentences_outside_code(spacy: Any) -> None:
    found = findings()
    assert [said.text for said in found] == [STATED, LEFT_OUT]
    assert [said.rule for said in found] == ["decision_fix", "decision_approach"]


def test_it_adds_findings_and_changes_nothing_else(spacy: Any) -> None:
    def summary(*extra: str) -> ContextSummary:
        reading = Pass(extra=extra)
        reading.feed(EXAMPLE)
        return reading.summary()

    plain, more = summary(), summary("spacy")
    assert more.key_decisions == plain.key_decisions
    assert summary() == plain
    added = {f.text for f in more.key_findings} - {f.text for f in plain.key_findings}
    assert LEFT_OUT in added


def test_a_question_is_no_decision(spacy: Any) -> None:
    from leftoff.extraction.decision_spacy import matched_type

    assert matched_type("We will use the cache.") == "approach"
    assert matched_type("We will use the cache?") == ""
    assert matched_type("") == ""
