"""Thresholds: what fires when, and in which words."""

from leftoff.budget.thresholds import preset

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
