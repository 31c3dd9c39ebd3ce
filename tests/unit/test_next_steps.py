"""What is left to do at the end of a session, by who said it and where."""

import json

import pytest

from leftoff import Pass


def left(*said: str) -> list[str]:
    """The next steps of a chat in which the person and the agent speak in turn."""
    reading = Pass("chat.jsonl")
    roles = ("user", "assistant")
    records = ({"role": roles[n % 2], "content": text} for n, text in enumerate(said))
    reading.feed_lines([json.dumps(record).encode() + b"\n" for record in records])
    reading.close()
    return [step.text for step in reading.conclude().next_steps]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            ("Log it.", "Created issue #31 for the slow till.", "Thanks.", "Good night."),
            "Created issue #31 for the slow till.",
        ),
        (
            ("Sort the receipts.", "Sorted. I did not rename the columns yet.", "Why?", "So."),
            "I did not rename the columns yet.",
        ),
        (
            ("From here, I'd like to add the vouchers.", "Noted."),
            "From here, I'd like to add the vouchers.",
        ),
        (
            ("How?", "Let's create the drawer first:\n```ts\nopen()\n```\nIt opens then."),
            "Let's create the drawer first",
        ),
        (
            ("Write it.", "Written. If you want, I can commit the page now."),
            "If you want, I can commit the page now.",
        ),
    ],
)
def test_what_is_left(said: tuple[str, ...], words: str) -> None:
    assert words in left(*said)


def test_a_ticket_that_is_closed_is_not_left() -> None:
    said = ("Log it.", "Created issue #31 for the till.", "And now?", "Issue #31 is fixed.")
    assert not left(*said)
