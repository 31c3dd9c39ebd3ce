"""The baselines do what they are named for."""

import re

from leftoff.evaluation import baselines


def test_seed_001_has_twelve_three_and_four_patterns() -> None:
    sizes = [
        len(baselines.DECISION_PATTERNS),
        len(baselines.STAGE_PATTERNS),
        len(baselines.MILESTONE_PATTERNS),
    ]
    assert sizes == [12, 3, 4]
    assert re.search(baselines.STAGE_PATTERNS[1], "testing stage completed")
