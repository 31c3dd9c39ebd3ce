"""Thresholds: what fires when, and in which words."""

from pathlib import Path

from leftoff.budget.thresholds import Crossing, preset

ADVISORY = preset("advisory")
HANDOFF = preset("handoff")


def test_the_presets_stand_where_the_designs_put_them() -> None:
    assert [t.at for t in ADVISORY.thresholds] == [0.70, 0.85, 0.95]
    assert [t.at for t in HANDOFF.thresholds] == [0.80, 0.90, 0.95, 0.98]
    assert [t.reason for t in HANDOFF.thresholds[1:]] == [
        "window_warning",
        "window_critical",
        "window_emergency",
    ]


# -- words -----------------------------------------------------------------------------------


def test_the_lines_of_the_handoff_are_those_of_the_design(root: Path) -> None:
    golden = (root / "tests" / "golden" / "handoff_lines.txt").read_text("utf-8")
    said = []
    for threshold in HANDOFF.thresholds[1:]:
        crossing = Crossing(threshold, round(threshold.at * 2_000_000), 2_000_000)
        said += [crossing.words(threshold.logs), crossing.words(threshold.asks)]
    assert "\n".join(said) + "\n" == golden
