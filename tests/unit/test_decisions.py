"""Key decisions: which sentences are looked at, what is reported, and what became of them."""

from itertools import count

import pytest

import leftoff
from leftoff.analysis.decisions import person
from leftoff.extraction.decision_model import (
    MODEL,
    Model,
    scorer_of,
    sentence_subjects,
    word_features,
    words,
)
from leftoff.extraction.decisions import candidates
from leftoff.extraction.evidence import Asked
from leftoff.extraction.sentences import MAX_SENTENCE
from leftoff.model import Ref

OPEN = Model()
"""A model whose gate lets everything through."""


STRONG = (
    "The root cause is that two workers write one temporary file, so I'll give each its own name"
    " instead of taking a lock around every upload."
)
ROUTINE = "Let me read the file."


# -- which sentences are looked at -------------------------------------------------------------


def test_code_quotes_and_endless_sentences_are_none() -> None:
    assert not list(candidates("```\nwe decided to keep the cache\n```", OPEN))
    assert not list(candidates("> we decided to keep the cache", OPEN))
    assert not list(candidates("word " * MAX_SENTENCE, OPEN))


# -- how sure ----------------------------------------------------------------------------------


def test_the_fast_layout_gives_the_same_scores() -> None:
    for text in (STRONG, ROUTINE, "Use `a` and `a` again, use it; use it."):
        found, others = words(text), ["l:item", "s:edits1", "s:edits1-no-such"]
        slow = MODEL.score(word_features(found) + sentence_subjects(found) + others)
        assert scorer_of(MODEL).score(found, others) == pytest.approx(slow)


# -- the person's own --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("ok, so put the totals below the table", "orders"),
        ("Could you move the legend to the left?", "asks-to"),
        ("It must not be in the header though", "requires"),
        ("If the list is empty, hide the table.", "in-that-case"),
        ("Run the tests, but don't touch the snapshots", "forbids"),
        ("push directly to main", "proceeds"),
        ("it shoud be plase sorted by age", "requires"),
        ("@src/table.py keep the header", "orders"),
        ("store.py — keep the rows sorted", "specifies"),
        ("one table per tenant please", "only-these"),
        ("help me make the header of the page smaller", "orders"),
        ("read the whole page before answering", "order-of-work"),
        ("Run the tests again.", None),
        ("Build the login page", None),
        ("Why is it below the table?", None),
        ("The total should work now", None),
        ('  File "a.py", line 3, use_cache', None),
        ("/plan keep the old table", None),
        ("no lo veo en la raiz, keep", None),
        ("vale, pon los totales debajo de la tabla", "spanish"),
        ("把合计直接放到表格下面", "chinese"),
        ("keep das bitte so, wir brauchen die Tabelle auch für den Bericht der Kollegen", None),
    ],
)
def test_a_sentence_decides_where_it_says_how_or_what(words: str, rule: str | None) -> None:
    act = person.act_of(words)
    assert (act.id if act else None) == rule


@pytest.mark.parametrize("act", person.ACTS, ids=lambda act: act.id)
def test_the_automaton_leaves_out_no_rule_that_is_found(
    act: person.Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in (*act.matches, *act.misses):
        marked = person._marked(one)
        found = [a for a in person.ACTS if a.found_in(marked)]
        monkeypatch.setattr(person, "_read", count(person.FEW))
        assert [a for a in person._acts_of(marked) if a.found_in(marked)] == found


# -- without spaCy -----------------------------------------------------------------------


def decided(text: str) -> list[str]:
    """The person's decisions of a session of one message."""
    summary = leftoff.create_context_summary([{"role": "user", "content": text}])
    return [d.text for d in summary.key_decisions]


def test_the_items_of_a_list_count_with_one_another() -> None:
    items = ["in the header", "use half of the page", "both columns", "why is it red?"]
    listed = "\n".join(f"{n}. {item}" for n, item in enumerate(items, 1))
    assert decided(listed) == items[:3]
    assert decided("- red\n- the table\n- it is slow") == []


def test_a_yes_that_goes_on_may_decide() -> None:
    text = "ok, keep the header as is"
    assert decided(text) == [text]
    assert decided("ok, please go on") == decided("great, thanks a lot") == []


@pytest.mark.parametrize(
    ("question", "words", "rule"),
    [
        ("Shall I move the totals below the table?", "Yes please move the totals", "agreement"),
        ("Shall I run the tests?", "Yes please run the tests", None),
        ("Which layout should the report have?", "B, but with a footer", "reply"),
    ],
)
def test_an_answer_goes_on_with_words_of_the_question(
    question: str, words: str, rule: str | None
) -> None:
    asked = Asked(Ref(message=1, part=0, start=0), words, "prompt", question=question)
    found = person._answer(asked)
    assert found == (None if rule is None else (f"{question} → {words}", rule))
