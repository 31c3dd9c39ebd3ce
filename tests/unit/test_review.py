"""The document of a review: read, written, sent in full, and counted."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from leftoff.handover.review import Review, ReviewRound, full_prompt, metrics
from leftoff.model import Usage
from leftoff.tokens import max_tokens

WORDS = st.text(max_size=40)
ROUNDS = st.builds(
    ReviewRound,
    client=st.sampled_from(["claude", "codex"]),
    model=st.sampled_from(["opus", "default"]),
    prompt=WORDS,
    response=WORDS,
    resume=st.sampled_from(["", "off", "elsewhere", "resumed", "unknown", "full", "other"]),
    error=st.sampled_from(["", "other", "time_out"]),
    failure=WORDS,
    age=st.none() | st.floats(0, 1e9),
    seconds=st.floats(0, 1e4),
    sent_tokens=st.integers(0, 1000),
    full_tokens=st.integers(0, 1000),
    usage=st.none() | st.builds(Usage, st.integers(0, 9), st.integers(0, 9)),
    extra=st.dictionaries(st.from_regex(r"x[a-z]{1,5}", fullmatch=True), st.integers()),
)
REVIEWS = st.builds(
    Review,
    review_id=st.from_regex(r"2026-0[1-9]-1[0-9]-[0-9]{3}", fullmatch=True),
    claude_session_ids=st.dictionaries(WORDS, WORDS, max_size=3),
    codex_session_ids=st.dictionaries(WORDS, WORDS, max_size=3),
    rounds=st.lists(ROUNDS, max_size=4).map(tuple),
)


@settings(max_examples=40)
@given(REVIEWS)
def test_what_is_written_is_read(review: Review) -> None:
    assert Review.from_dict(review.to_dict()) == review


# -- the full prompt -------------------------------------------------------------------------


def _talk(*rounds: tuple[str, str]) -> Review:
    return Review("r", rounds=tuple(ReviewRound(prompt=p, response=a) for p, a in rounds))


def test_the_oldest_rounds_are_left_out_first_and_only_the_newest_is_cut() -> None:
    review = _talk(*((f"question {n}", f"answer {n} " + "word " * 200) for n in range(1, 6)))
    sent = full_prompt(review, "now", limit=700)
    assert "question 5" in sent
    assert "question 1" not in sent
    assert "older left out)" in sent
    alone = full_prompt(_talk(("q", "Sentence. " * 500)), "now", limit=200)
    assert alone.endswith("\n\nnow")
    assert 50 < max_tokens(alone.removesuffix("\n\nnow")) <= 200


@given(
    st.lists(st.tuples(WORDS, st.text(max_size=400)), max_size=5),
    st.text(min_size=1, max_size=60),
    st.integers(100, 600),
)
def test_the_earlier_rounds_keep_to_their_limit(
    rounds: list[tuple[str, str]], prompt: str, limit: int
) -> None:
    sent = full_prompt(_talk(*rounds), prompt, limit)
    assert sent.endswith(prompt)
    assert max_tokens(sent.removesuffix(prompt)) <= limit + 2


# -- figures ---------------------------------------------------------------------------------


@settings(max_examples=20)
@given(st.lists(REVIEWS, max_size=5, unique_by=lambda r: r.review_id), st.randoms())
def test_figures_do_not_depend_on_the_order_and_shares_are_shares(
    reviews: list[Review], random: Any
) -> None:
    made = metrics(reviews)
    mixed = list(reviews)
    random.shuffle(mixed)
    assert metrics(mixed) == made
    assert made["resume"]["rate"] is None or 0 <= made["resume"]["rate"] <= 1
    assert made["resume_within_day"]["tried"] <= made["resume"]["tried"]
    assert sum(m["rounds"] for m in made["by_model"].values()) == made["rounds"]
    assert made["reviews"] == len(reviews)
