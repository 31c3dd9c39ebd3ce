"""Thresholds: what fires when, and in which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from leftoff.budget.thresholds import (
    PRESETS,
    Crossing,
    FiredThresholds,
    Preset,
    Threshold,
    crossings,
    instructions,
    preset,
    thousands,
)
from leftoff.errors import UnknownName, UsageError

ADVISORY = preset("advisory")
HANDOFF = preset("handoff")


def names(found: tuple[Crossing, ...]) -> list[str]:
    return [c.threshold.name for c in found]


def test_the_presets_stand_where_the_designs_put_them() -> None:
    assert [t.at for t in ADVISORY.thresholds] == [0.70, 0.85, 0.95]
    assert [t.at for t in HANDOFF.thresholds] == [0.80, 0.90, 0.95, 0.98]
    assert [t.reason for t in HANDOFF.thresholds[1:]] == [
        "window_warning",
        "window_critical",
        "window_emergency",
    ]


@pytest.mark.parametrize("total", [4_096, 180_000, 200_000, 999_999, 1_800_000])
@pytest.mark.parametrize("name", PRESETS)
def test_a_threshold_fires_at_its_share_and_not_a_token_earlier(name: str, total: int) -> None:
    for threshold in preset(name).thresholds:
        exact = -(-round(threshold.at * total * 1_000) // 1_000)  # the ceiling
        assert threshold.name in names(
            crossings(preset(name), FiredThresholds(), exact, total)[0]
        )
        assert threshold.name not in names(
            crossings(preset(name), FiredThresholds(), exact - 1, total)[0]
        )


def test_one_step_fires_all_that_it_jumps_over_in_order() -> None:
    found, armed = crossings(HANDOFF, FiredThresholds(), 99, 100)
    assert names(found) == ["warning", "checkpoint_90", "checkpoint_95", "checkpoint_98"]
    assert crossings(HANDOFF, armed, 100, 100)[0] == ()


def test_a_small_fall_does_not_arm_again() -> None:
    _, armed = crossings(ADVISORY, FiredThresholds(), 86, 100)
    _, armed = crossings(ADVISORY, armed, 60, 100)
    assert crossings(ADVISORY, armed, 86, 100)[0] == ()


def test_a_compaction_arms_again() -> None:
    _, armed = crossings(ADVISORY, FiredThresholds(), 96, 100)
    found, armed = crossings(ADVISORY, armed, 20, 100, compacted=True)
    assert found == ()
    assert names(crossings(ADVISORY, armed, 96, 100)[0]) == ["caution", "warning", "critical"]


def test_a_restart_that_nobody_announced_arms_again() -> None:
    _, armed = crossings(ADVISORY, FiredThresholds(), 96, 100)
    _, armed = crossings(ADVISORY, armed, 5, 100)
    _, armed = crossings(ADVISORY, armed, 9, 100)
    assert names(crossings(ADVISORY, armed, 75, 100)[0]) == ["caution"]


def test_a_single_low_count_beside_the_conversation_does_not_arm_again() -> None:
    _, armed = crossings(ADVISORY, FiredThresholds(), 96, 100)
    _, armed = crossings(ADVISORY, armed, 1, 100)
    found, armed = crossings(ADVISORY, armed, 97, 100)
    assert found == ()
    _, armed = crossings(ADVISORY, armed, 1, 100)
    assert crossings(ADVISORY, armed, 97, 100)[0] == ()


@pytest.mark.parametrize("used", [None, float("nan"), float("inf"), -1, -0.5, True])
def test_a_count_that_is_none_changes_nothing(used: float | None) -> None:
    _, armed = crossings(ADVISORY, FiredThresholds(), 75, 100)
    assert crossings(ADVISORY, armed, used, 100) == ((), armed)


@pytest.mark.parametrize("total", [None, 0, -5, float("nan"), float("inf")])
def test_without_a_total_nothing_is_crossed(total: float | None) -> None:
    assert crossings(ADVISORY, FiredThresholds(), 10**9, total)[0] == ()


def test_more_than_everything_fires_everything_once() -> None:
    found, armed = crossings(ADVISORY, FiredThresholds(), 500, 100)
    assert len(found) == 3
    assert found[0].remaining == 0
    assert found[0].percent == 500.0
    assert crossings(ADVISORY, armed, 501, 100)[0] == ()


def test_own_thresholds_need_no_order() -> None:
    own = [Threshold("late", 0.9), Threshold("early", 0.1)]
    assert names(crossings(own, FiredThresholds(), 95, 100)[0]) == ["early", "late"]


def test_shares_can_be_moved_and_are_checked() -> None:
    moved = ADVISORY.at({"caution": 0.99})
    assert [t.name for t in moved.thresholds] == ["warning", "critical", "caution"]
    with pytest.raises(UnknownName, match="did you mean 'caution'"):
        ADVISORY.at({"cauton": 0.5})
    with pytest.raises(UsageError, match="more than 0 and at most 1"):
        ADVISORY.at({"caution": 1.5})
    with pytest.raises(UsageError, match="same name"):
        crossings([Threshold("a", 0.5), Threshold("a", 0.6)], FiredThresholds(), 1, 2)
    with pytest.raises(UnknownName, match="advisory"):
        preset("advisry")


# -- words -----------------------------------------------------------------------------------


def test_the_instructions_are_those_of_the_design(root: Path) -> None:
    golden = (root / "tests" / "golden" / "advisory_instructions.md").read_text("utf-8")
    assert instructions(ADVISORY, 200_000) == golden


def test_the_lines_of_the_handoff_are_those_of_the_design(root: Path) -> None:
    golden = (root / "tests" / "golden" / "handoff_lines.txt").read_text("utf-8")
    said = []
    for threshold in HANDOFF.thresholds[1:]:
        crossing = Crossing(threshold, round(threshold.at * 2_000_000), 2_000_000)
        said += [crossing.words(threshold.logs), crossing.words(threshold.asks)]
    assert "\n".join(said) + "\n" == golden


def test_the_log_lines_of_the_advisory_are_those_of_the_design() -> None:
    said = [Crossing(t, 0, 1).words(t.logs) for t in ADVISORY.thresholds]
    assert said == [
        "Context usage at 70% - consider wrapping up",
        "Context usage at 85% - complete current task",
        "Context usage at 95% - generating resume log",
    ]


def test_names_are_filled_in_and_unknown_ones_stand() -> None:
    crossing = Crossing(HANDOFF.thresholds[1], 90_000, 100_000)
    line = crossing.words(crossing.threshold.logs, task_id="t-7")
    assert line == "[TOKEN ALERT] Task t-7 at 90% capacity. Remaining: 10K tokens."
    assert crossing.words("{project} {used:,} {percentage}") == "{project} 90,000 {percentage}"


def test_a_preset_without_words_has_instructions_too() -> None:
    own = Preset("own", (Threshold("half", 0.5, says="Half is gone: {remaining:,} left."),))
    assert (
        instructions(own, 1_000) == "**50% (500 of 1,000 tokens):**\nHalf is gone: 500 left.\n"
    )


def test_thousands_are_short() -> None:
    assert [thousands(n) for n in (0, 82, 1_800, 40_000, 199_960)] == [
        "0", "0.1", "1.8", "40", "200",
    ]  # fmt: skip
