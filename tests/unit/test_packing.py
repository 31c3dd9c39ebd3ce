"""One packer: whole facts within a budget, the weightiest first, and what was left out."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.errors import UsageError
from leftoff.handover.packing import BudgetTooSmall, Chosen, Line, Part, pack
from leftoff.tokens import max_tokens

FORMS = st.lists(
    st.text(st.characters(exclude_characters="\n"), max_size=60), min_size=1, max_size=3
)
LINES = st.builds(
    Line,
    FORMS.map(tuple),
    st.floats(0, 1),
    st.sampled_from(["", "**A:**", "**B:**"]),
    st.just(1),
)
PARTS = st.builds(
    Part,
    st.sampled_from(["One", "Two", "Three"]),
    st.lists(LINES, max_size=12).map(tuple),
    st.floats(0, 0.5),
    st.floats(0, 1),
    st.integers(0, 3),
)  # fmt: skip


def render(chosen: Sequence[Chosen]) -> str:
    text = "HEAD\n"
    for part in chosen:
        if part.lines:
            text += f"{part.title}:\n"
        group = ""
        for line, own in part.lines:
            text += (f"{own}\n" if own and own != group else "") + f"{line}\n"
            group = own
        text += f"({part.left_out})\n" if part.left_out else ""
    return text


@given(st.lists(PARTS, max_size=5), st.integers(0, 400))
def test_a_text_never_costs_more_than_its_budget_and_every_line_is_whole(
    parts: list[Part], budget: int
) -> None:
    given_lines = {form for part in parts for line in part.lines for form in line.forms}
    taken: list[Sequence[Chosen]] = []

    def seen(chosen: Sequence[Chosen]) -> str:
        taken.append(chosen)
        return render(chosen)

    try:
        text = pack(parts, budget, render=seen)
    except BudgetTooSmall:
        assert max_tokens(render([Chosen(p.title, (), len(p.lines)) for p in parts])) > budget
        return
    assert max_tokens(text) <= budget
    for part, chosen in zip(parts, taken[-1], strict=True):
        assert {line for line, _ in chosen.lines} <= given_lines
        assert len(chosen.lines) + chosen.left_out == len(part.lines)


def test_a_budget_too_small_for_the_frame_is_an_error_in_words() -> None:
    with pytest.raises(UsageError, match="a prompt needs at least 5 bytes, not 3"):
        pack([], 3, measure=len, render=render, what="a prompt", unit="bytes")
