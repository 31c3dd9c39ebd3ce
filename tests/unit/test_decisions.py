"""Key decisions: which sentences are looked at, what is reported, and what became of them."""

from itertools import count

import pytest

from leftoff.analysis.decisions import person
from leftoff.extraction.decision_model import MODEL, sentence_subjects, word_features, words

STRONG = (
    "The root cause is that two workers write one temporary file, so I'll give each its own name"
    " instead of taking a lock around every upload."
)
ROUTINE = "Let me read the file."


# -- how sure ----------------------------------------------------------------------------------


def test_the_fast_layout_gives_the_same_scores() -> None:
    for text in (STRONG, ROUTINE, "Use `a` and `a` again, use it; use it."):
        found, others = words(text), ["l:item", "s:edits1", "s:edits1-no-such"]
        slow = MODEL.score(word_features(found) + sentence_subjects(found) + others)
        assert MODEL.sentence_score(found, others) == pytest.approx(slow)


# -- the person's own --------------------------------------------------------------------------


@pytest.mark.parametrize("act", person.ACTS, ids=lambda act: act.id)
def test_the_automaton_leaves_out_no_rule_that_is_found(
    act: person.Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in (*act.matches, *act.misses):
        marked = person._marked(one)
        found = [a for a in person.ACTS if a.found_in(marked)]
        monkeypatch.setattr(person, "_read", count(person.FEW))
        assert [a for a in person._acts_of(marked) if a.found_in(marked)] == found
