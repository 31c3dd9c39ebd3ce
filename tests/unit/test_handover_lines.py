"""What keeps the handover's lines short says the same in fewer words."""

from __future__ import annotations

import pytest

from leftoff.handover.wording import condensed


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Ok, can you please add a test for the parser?", "can you add test for parser?"),
        ("I think we should not use the cache", "I think we should not use cache"),
        ("No, don't do that.", "No, don't do that."),
        ("Task A is still running", "Task A is still running"),
        ("It works well, I'll use that.", "It works well, I'll use that."),
        ("Is it done? It is not so, is it?", "Is it done? It is not so, is it?"),
        ("look at /home/kim/shop/billing/exports/monthly/2025/rows.py", "look at …/kim/shop/billing/exports/monthly/2025/rows.py"),
        ("/tmp/x/Screenshot\\ 1.png shows two rows", "[picture] shows two rows"),
        ("can we not read the row again?", "can we not read row again?"),
        ("but both just for that test", "but both just for that test"),
        ("It seems this is the only place that sorts rows", "It seems this is the only place that sorts rows"),
        ("so the three calls that skip it are cheap", "the three calls that skip it are cheap"),
        ("hide it rather than just adding a flag", "hide it rather than just adding flag"),
        ("ok", "ok"),
    ],
)  # fmt: skip
def test_condensed_text_keeps_negations_names_and_questions(text: str, short: str) -> None:
    assert condensed(text) == short
