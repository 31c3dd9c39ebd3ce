"""Key decisions: which sentences are looked at, what is reported, and what became of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftoff.analysis.decisions import person, select
from leftoff.analysis.decisions.person import ANSWER_CONFIDENCE
from leftoff.analysis.decisions.reversals import by_words
from leftoff.analysis.session_pass import Pass
from leftoff.extraction.decision_model import (
    MIN_LOG_ODDS,
    MODEL,
    Model,
    any_log_odds,
    is_english,
    shipped_scorer,
    word_features,
    words,
)
from leftoff.extraction.decisions import candidates, pieces
from leftoff.extraction.evidence import Asked
from leftoff.extraction.sentences import MAX_SENTENCE
from leftoff.model import Ref
from leftoff.session_view import SessionView
from leftoff.summary import KeyDecision
from leftoff.text import sentences

OPEN = Model()
"""A model whose gate lets everything through."""


def story(*lines: tuple[str, str]) -> SessionView:
    reading = Pass()
    for role, text in lines:
        reading.feed(json.dumps({"role": role, "text": text}).encode() + b"\n")
    reading.close()
    return SessionView(reading.sessions[-1][""])


def made(*texts: str, owner: str = "agent") -> list[KeyDecision]:
    """Decisions as judged before repeats and reversals are looked at."""
    one = select.key_decisions(story(("user", "Go."), ("assistant", "Hm.")), least=0.0)
    assert one == ()
    return [
        KeyDecision(
            text, "approach", 0.5, n, Ref(0, n + 1, None, n, 0, 0, len(text), ""), owner
        )
        for n, text in enumerate(texts)
    ]


STRONG = (
    "The root cause is that two workers write one temporary file, so I'll give each its own name"
    " instead of taking a lock around every upload."
)
ROUTINE = "Let me read the file."


def told(found: Sequence[KeyDecision]) -> list[str]:
    return [d.text for d in found]


# -- which sentences are looked at -------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "One sentence stands here. Another one follows it! Is a third one asked for?",
        "- an item without a stop\n- a second item, with `code.in_it()` inside\n\n## A heading",
        "Wrapped prose goes on\nacross a line break and ends here.\n\nNext paragraph: done.",
        "1. First of the numbered items\n2. Second of the items. It has two sentences.",
        "Before the fence:\n\n```\nnot. this. one here\n```\n\nand after the fence.",
    ],
)
def test_without_a_gate_every_sentence_is_a_candidate(text: str) -> None:
    found = [(start, end) for start, end, _ in candidates(text, OPEN)]
    assert found == [(s, e) for s, e in sentences(text) if e - s >= 12]


def test_code_quotes_and_endless_sentences_are_none() -> None:
    assert not list(candidates("```\nwe decided to keep the cache\n```", OPEN))
    assert not list(candidates("> we decided to keep the cache", OPEN))
    assert not list(candidates("word " * MAX_SENTENCE, OPEN))


def test_where_a_sentence_stands_is_told() -> None:
    text = "- Keep the old endpoint. It has callers.\n\nPlain words follow here."
    assert [" ".join(where.split()[:3]) for _, _, where in candidates(text, OPEN)] == [
        f"item 1 {len(text)}",
        f"item 0 {len(text)}",
        f"paragraph 1 {len(text)}",
    ]


def test_the_gate_weighs_each_piece() -> None:
    gate = Model(gate={"instead": 900}, gate_least=500)
    text = "Nothing to be seen here. Use a queue instead of a lock\nand nothing there"
    assert [text[a:b] for a, b in pieces(text, gate)] == ["Use a queue instead of a lock"]
    assert [text[a:b] for a, b, _ in candidates(text, gate)] == [
        "Use a queue instead of a lock\nand nothing there"
    ]


def test_words_keep_what_a_thing_is_not_its_name() -> None:
    assert words("Use `a b` in src/x.py, not my_name: 42 don’t") == [
        "use", "<code>", "in", "<path>", "not", "<id>", ":", "<num>", "don't",
    ]  # fmt: skip


@settings(deadline=None, max_examples=200)
@given(
    st.text(
        st.one_of(
            st.sampled_from(" .!?\n\n-*`>#1)(:…。|é字"), st.characters(max_codepoint=0x2FFF)
        ),
        max_size=120,
    )
)
def test_no_text_breaks_the_division(text: str) -> None:
    found = [(start, end) for start, end, _ in candidates(text, OPEN)]
    assert found == sorted(set(found))
    assert all(0 <= start < end <= len(text) for start, end in found)


# -- how sure ----------------------------------------------------------------------------------


def test_joined_odds_grow_with_every_sentence() -> None:
    assert any_log_odds([]) == MIN_LOG_ODDS
    assert any_log_odds([0.0]) == pytest.approx(0.0)
    assert any_log_odds([0.0, 0.0]) == pytest.approx(1.0986, abs=1e-3)
    assert any_log_odds([-1.0, -2.0]) > any_log_odds([-1.0])


def test_the_fast_layout_gives_the_same_scores() -> None:
    for text in (STRONG, ROUTINE, "Use `a` and `a` again, use it; use it."):
        found, others = words(text), ["l:item", "s:edits1", "s:edits1-no-such"]
        slow = MODEL.score(word_features(found) + others)
        assert shipped_scorer().score(found, others) == pytest.approx(slow)


def test_a_commitment_is_surer_than_a_routine_step() -> None:
    found = select.key_decisions(
        story(
            ("user", "Uploads sometimes break."), ("assistant", ROUTINE), ("assistant", STRONG)
        ),
        least=0.0,
    )
    by_text = {d.text: d.confidence for d in found}
    assert by_text[STRONG] > 2 * by_text.get(ROUTINE, 0.0)
    assert by_text[STRONG] >= select.REPORT_THRESHOLD


@pytest.mark.parametrize(
    "text",
    [
        "I'll use SQLite because the tool has to work without a server.",
        "I decided to store the offsets in a sidecar file.",
        "Choosing tokio over async-std because it is faster.",
        "We should keep the parser in its own module.",
        "The approach is to read the file once and keep an index.",
        "Implementing a token bucket for the rate limiter.",
        "Creating a separate config module for the defaults.",
        "Modifying the reader to return an iterator instead of a list.",
        "I'm using the repository pattern for the storage layer.",
        "Architecture: a small core with one adapter for each format.",
        "Fixing the race by taking the lock before the check.",
        "The bug is that the cache key leaves out the locale, so I'll add it.",
    ],
)
def test_a_short_session_reports_a_plainly_worded_choice(text: str) -> None:
    found = select.key_decisions(story(("user", "Please add a cache."), ("assistant", text)))
    assert told(found) == [text]


@pytest.mark.parametrize(
    "text",
    [
        ROUTINE,
        "I will now open `main.py` to see the handler.",
        "Creating `utils/__init__.py`.",
        "We could use a trie here, or a regex.",
        "This should fix it, hopefully.",
        "The codebase uses the repository pattern.",
        "Done! The login page now works as you asked.",
        "Shall I add a retry there?",
        "Now I'll update the tests.",
    ],
)
def test_a_short_session_reports_no_step(text: str) -> None:
    assert not select.key_decisions(story(("user", "Add a cache."), ("assistant", text)))


def test_each_statement_of_a_message_has_its_own_confidence() -> None:
    view = story(("user", "Uploads sometimes break."), ("assistant", f"{ROUTINE}\n\n{STRONG}"))
    found = {d.text: d.confidence for d in select.key_decisions(view, least=0.0)}
    assert found[STRONG] > 2 * found.get(ROUTINE, 0.0)
    assert {d.text for d in select.key_decisions(view)} == {STRONG}


def test_reasons_and_alternative_are_told_apart() -> None:
    (found,) = [
        d
        for d in select.key_decisions(
            story(("user", "Uploads sometimes break."), ("assistant", STRONG))
        )
        if d.owner == "agent"
    ]
    assert found.text == STRONG
    assert found.alternative == "taking a lock around every upload"
    assert found.type in MODEL.kinds
    assert found.rule
    assert found.ref.start == 0
    assert found.ref.end == len(STRONG)


def test_the_threshold_can_be_lowered_to_see_what_was_left_out() -> None:
    lines = [("user", "Uploads sometimes break."), ("assistant", STRONG)]
    lines += [
        ("assistant", "The parser should be a little simpler than it is today."),
        ("assistant", "Now I'll look at how the retry is wired."),
        ("assistant", "We could also write the rows with one statement."),
    ]
    reported = select.key_decisions(story(*lines))
    every = select.key_decisions(story(*lines), least=0.0)
    assert set(told(reported)) <= set(told(every))
    assert len(every) > len([d for d in every if d.confidence >= select.REPORT_THRESHOLD])
    assert [d.message_index for d in every] == sorted(d.message_index for d in every)


# -- other languages ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "キャッシュのキーにロケールが無いので、毎回消す代わりにキーへ追加します。",
        "Ich werde den Schlüssel um die Sprache erweitern, statt zu leeren, weil sonst alle warten.",
        "Je vais ajouter la langue plutôt que de vider le cache, car sinon tout le monde attend.",
        "Вместо очистки кэша добавлю язык в ключ, потому что иначе все ждут.",
    ],
)
def test_another_language_is_met_with_silence(text: str) -> None:
    assert not is_english(words(text), text)
    found = select.key_decisions(story(("user", "Go."), ("assistant", text)), least=0.0)
    assert found == ()


def test_a_summary_says_that_a_language_is_not_covered() -> None:
    german = (
        "Ich werde den Schlüssel um die Sprache erweitern, weil sonst alle zu lange warten."
    )
    for text, told_so in ((german, True), (STRONG, False), ("- `a` de la", False)):
        reading = Pass()
        reading.feed(json.dumps({"role": "assistant", "text": text}).encode() + b"\n")
        reading.close()
        found = [i for i in reading.summary().issues if i.code == "language"]
        assert [i.count for i in found] == ([1] if told_so else []), text


# -- the person's own --------------------------------------------------------------------------


def test_a_choice_of_the_person_is_theirs() -> None:
    found = select.key_decisions(
        story(
            ("assistant", "Which layout?\n\nA. one table\nB. one table per tenant"),
            ("user", "let's go with option B, because tenants move"),
        )
    )
    (own,) = [d for d in found if d.owner == "user"]
    assert own.text == (
        "Which layout? → let's go with option B, because tenants move: one table per tenant"
    )
    assert own.rationale.startswith("because tenants move")
    assert own.confidence == ANSWER_CONFIDENCE


def test_a_label_without_its_option_is_no_decision() -> None:
    found = select.key_decisions(
        story(("assistant", "All done."), ("user", "option B"), ("user", "Next area"))
    )
    assert found == ()


@pytest.mark.parametrize(
    ("question", "reply", "decided"),
    [
        ("Should I keep the old endpoint beside the new one?", "no", True),
        ("Would you like me to add a lock around the writer process?", "yes please", True),
        ("Shall I commit this now?", "yes", False),
        ("Ready?", "yes", False),
        ("Where should the totals of each month stand?", "yes please", False),
        ("Should I keep the old endpoint beside the new one?", "is it slow?", False),
    ],
)
def test_a_yes_decides_what_the_question_names(
    question: str, reply: str, decided: bool
) -> None:
    found = select.key_decisions(story(("assistant", f"Found it. {question}"), ("user", reply)))
    own = [d.text for d in found if d.owner == "user"]
    assert own == ([f"{question} → {reply}"] if decided else [])


@pytest.mark.parametrize(
    "words",
    [
        "no, use the header for that",
        "No, the header should stay as it is",
        "I don't want any padding there.",
        "never use pandas here",
        "let's use SQLite for this",
    ],
)
def test_the_person_overrules_rejects_and_requires(words: str) -> None:
    found = select.key_decisions(story(("assistant", "Done."), ("user", words)))
    assert [d.text for d in found if d.owner == "user"] == [words]


def test_a_question_tool_is_answered_with_its_question() -> None:
    asked = Asked(Ref(message=1, part=0, start=4, end=8), "Both", "answer", question="Which?")
    assert person._answer(asked) is None  # says nothing by itself
    named = msgspec.structs.replace(asked, question="Which tables should the export hold?")
    assert person._answer(named) == ("Which tables should the export hold? → Both", "answer")


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
        ("read the whole page before answering", "order-of-work"),
        ("Run the tests again.", None),
        ("Build the login page", None),
        ("Why is it below the table?", None),
        ("The total should work now", None),
        ('  File "a.py", line 3, use_cache', None),
        ("/plan keep the old table", None),
        ("no lo veo en la raiz, keep", None),
        ("keep das bitte so, wir brauchen die Tabelle auch für den Bericht der Kollegen", None),
    ],
)
def test_a_sentence_decides_where_it_says_how_or_what(words: str, rule: str | None) -> None:
    act = person.act_of(words)
    assert (act.id if act else None) == rule


def test_each_sentence_of_a_prompt_is_judged_alone() -> None:
    found = select.key_decisions(
        story(("user", "It is too wide. Use half of the page.\nRun it.\nkeep the old colours"))
    )
    assert [d.text for d in found] == ["Use half of the page.", "keep the old colours"]
    assert [d.ref.start for d in found] == [16, 46]


def test_the_items_of_a_list_count_with_one_another() -> None:
    items = ["in the header", "use half of the page", "both columns", "why is it red?"]
    listed = "\n".join(f"{n}. {item}" for n, item in enumerate(items, 1))
    found = select.key_decisions(story(("user", listed)))
    assert [d.text for d in found] == items[:3]
    assert select.key_decisions(story(("user", "- red\n- the table\n- it is slow"))) == ()


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


def test_a_question_of_the_person_is_no_choice() -> None:
    found = select.key_decisions(
        story(("user", "should we use option B?"), ("user", "Which option is faster?"))
    )
    assert found == ()


# -- repeats and reversals ---------------------------------------------------------------------


def test_a_repeat_is_merged_into_the_first_statement() -> None:
    first = "I'll keep one table per tenant, since tenants move."
    kept = select._deduplicated(
        made(first, "Use `parse_all` here.", first.replace("I'll", "We'll"))
    )
    assert told(kept) == [first, "Use `parse_all` here."]


def test_the_persons_words_are_never_merged_away() -> None:
    agent = made("Use one table per tenant.")
    user = made("Use one table per tenant.", owner="user")
    assert len(select._deduplicated([*agent, *user])) == 2


def test_a_later_statement_takes_an_earlier_one_back() -> None:
    out = by_words(
        made(
            "I'll cache parsed results in `load_rows` for each request.",
            "Names stay in snake case.",
            "Reverting the cached results in `load_rows`, since each request differs.",
        )
    )
    assert [(d.status, d.replaced_by) for d in out] == [
        ("reversed", 2), ("made", None), ("made", None),
    ]  # fmt: skip


def test_a_replacement_is_linked_and_strangers_are_not() -> None:
    out = by_words(
        made(
            "Store sessions as JSON beside the recording.",
            "Actually, store sessions in a database instead of JSON.",
            "Actually, the colour of buttons is green.",
        )
    )
    assert [(d.status, d.replaced_by) for d in out] == [
        ("superseded", 1), ("made", None), ("made", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        # it says the same thing again
        (
            "Replace `stat_rows` with `list_rows`.",
            "I'll use `list_rows` instead of `stat_rows`.",
        ),
        # the earlier one rejects what the later one rejects
        ("Use a queue instead of the `RowLock`.", "Use two queues rather than the `RowLock`."),
        # the earlier one only describes
        (
            "The reader holds a `RowLock` while parsing.",
            "Use a queue instead of the `RowLock`.",
        ),
        # likeness alone
        (
            "I'll store the rows of a tenant in one table.",
            "I'll store the logs in a new table.",
        ),
    ],
)
def test_what_still_holds_is_never_struck_through(earlier: str, later: str) -> None:
    assert [d.status for d in by_words(made(earlier, later))] == ["made", "made"]


def test_the_person_ends_a_decision_of_the_agent() -> None:
    agent = made("I'll store the addresses of customers in `profile.json`.")
    own = [
        msgspec.structs.replace(d, rule="instead", message_index=9)
        for d in made("No, keep addresses of customers in the vault instead.", owner="user")
    ]
    first, second = by_words([*agent, *own])
    assert (first.status, first.replaced_by) == ("reversed", 1)
    assert second.status == "made"


# -- without spaCy -----------------------------------------------------------------------


def test_the_default_detector_leaves_spacy_alone() -> None:
    import subprocess

    code = "import leftoff.summary, leftoff.extraction.decisions, sys; print('spacy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    "sentence",
    [
        "I will cache the parsed manifest in memory between requests.",
        "We decided to store the sessions in Redis rather than in files.",
        "choosing tokio over async-std because it is faster",
        "We should validate the payload before it reaches the queue.",
        "The approach is to split the upload into chunks and retry each one.",
        "Implementing a token bucket for the rate limiter.",
        "Creating a separate module for the retry policy.",
        "Modifying the parser so that it accepts empty fields.",
        "Using the repository pattern for database access.",
        "Architecture: a queue between the API and the workers.",
        "Fixing the race between the two flushes with a lock.",
        "The bug is the fixed divisor, so the real month length is used.",
    ],
)
def test_plain_sentences_of_the_twelve_patterns_are_candidates(sentence: str) -> None:
    """Of them "choosing … over …" was found nowhere: the learned filter has no weight for the word."""
    assert [sentence[a:b] for a, b, _ in candidates(sentence)] == [sentence]
