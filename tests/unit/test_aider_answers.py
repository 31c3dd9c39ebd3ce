"""What becomes of aider's questions, commits and turns in a summary."""

from __future__ import annotations

from leftoff import Pass

HISTORY = """
# aider chat started at 2026-01-02 03:04:05

#### write the table  

Here it is.

> Tokens: 5k sent, 3 received.  
> Create new file? (Y)es/(N)o [Yes]: y  
> Applied edit to table.py  
> Commit 1a2b3c4 feat: write the table as one file  
"""  # noqa: W291


def test_an_answer_carries_its_question_and_a_commit_its_subject() -> None:
    reading = Pass(format="aider")
    reading.feed(HISTORY.encode())
    found = reading.summary()
    answered = [(r.text, r.question) for r in found.user_requests if r.text == "y"]
    assert answered == [("y", "Create new file?")]
    assert [(g.kind, g.hash, g.text) for g in found.git] == [
        ("commit", "1a2b3c4", "feat: write the table as one file")
    ]
    assert found.turn.status == "closed"
