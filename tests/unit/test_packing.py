"""Markdown within a budget: what is taken, what is left out, what flows where."""

from __future__ import annotations

from leftoff.handover.packing import FILLER_RANK, TRUNCATED, Item, Section, fit
from leftoff.tokens import max_tokens

WORDS = "The parser keeps its own table of names so that nothing is looked up twice."


def section(title: str, count: int, share: int = 100, urgency: int = 0) -> Section:
    items = tuple(Item(f"- {title} {n}: {WORDS}", rank=n) for n in range(count))
    return Section(title, items, share, urgency)


def test_everything_stands_where_there_is_room() -> None:
    text = fit("# Title", [section("A", 2), Section("B", share=10)], 1000)
    assert text == (
        f"# Title\n\n## A\n\n- A 0: {WORDS}\n- A 1: {WORDS}\n\n## B\n\n(nothing recorded)\n"
    )


def test_items_are_dropped_whole_and_counted() -> None:
    text = fit("# Title", [section("A", 50), section("B", 1)], 200)
    lines = [line for line in text.splitlines() if line.startswith("- A")]
    assert 0 < len(lines) < 50
    assert all(line.endswith(WORDS) for line in lines)
    assert f"- ({50 - len(lines)} left out)" in text
    assert "- B 0" in text
    assert max_tokens(text) <= 200


def test_the_most_important_are_taken_and_shown_in_their_place() -> None:
    items = (Item("- first", rank=2), Item(f"- second {WORDS * 3}", rank=1), Item("- third"))
    text = fit("#", [Section("A", items, 10)], 40)
    assert "- first\n- third\n- (1 left out)" in text


def test_what_one_section_leaves_flows_on() -> None:
    starved = fit("#", [section("A", 40, share=10), section("B", 40, share=10)], 500)
    fed = fit("#", [Section("A", share=10), section("B", 40, share=10)], 500)
    assert fed.count("- B") > starved.count("- B")
    assert max_tokens(fed) >= 0.95 * 500


def test_what_is_left_at_the_end_goes_to_the_more_urgent() -> None:
    def shown(urgent: str) -> int:
        parts = [section(t, 30, share=1, urgency=t != urgent) for t in "AB"]
        return fit("#", [*parts, Section("C", share=98)], 800).count(f"- {urgent} ")

    assert shown("A") > 15
    assert shown("B") > 15


def test_what_must_be_told_comes_before_every_share() -> None:
    must = tuple(Item(f"- must {n}: {WORDS}", rank=-1) for n in range(3))
    text = fit("#", [section("A", 40, share=1000), Section("B", must, 0, 9)], 300)
    assert text.count("- must") == 3


def test_fillers_come_when_nobody_else_has_more_to_say() -> None:
    filler = tuple(Item(f"- filler {n}: {WORDS}", rank=FILLER_RANK + n) for n in range(40))
    full = fit("#", [Section("F", filler, 1000), section("A", 40, share=1, urgency=5)], 600)
    assert "- filler" not in full
    spare = fit("#", [Section("F", filler, 1000), section("A", 2, share=1)], 600)
    assert spare.count("- A") == 2
    assert spare.count("- filler") > 5


def test_an_item_that_alone_is_too_long_is_cut_at_a_sentence() -> None:
    text = fit("#", [Section("A", (Item(" ".join([WORDS] * 60)),), 10)], 200)
    body, _, marker = text.partition(TRUNCATED)
    assert not marker.strip()
    assert body.endswith(WORDS)
    assert max_tokens(text) <= 200


def test_groups_stand_once_and_only_with_items() -> None:
    items = tuple(Item(f"- {g}{n}", group=f"**{g}:**") for g in "xy" for n in range(2))
    text = fit("#", [Section("A", items, 10)], 200)
    assert "## A\n\n**x:**\n- x0\n- x1\n\n**y:**\n- y0\n- y1\n" in text
    none_of_y = (*items[:2], Item(f"- y {WORDS * 20}", rank=5, group="**y:**"))
    assert "**y:**" not in fit("#", [Section("A", none_of_y, 10)], 60)


def test_a_budget_below_the_frame_gives_what_fits() -> None:
    for budget in range(0, 40, 3):
        assert max_tokens(fit("# Title of it", [section("A", 3)], budget)) <= budget
