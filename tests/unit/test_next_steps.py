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


def test_what_has_been_done_is_no_step_of_a_list_that_also_says_what_is_next() -> None:
    report = (
        "Here is the state and the next steps:\n\n"
        "1. The till order has been fixed, which should allow the report to be printed.\n"
        "2. The drawer needs to be counted."
    )
    assert left("Mend the till.", report) == ["The drawer needs to be counted."]


def call(number: int, text: str) -> dict[str, object]:
    """A message of the agent with words and a call."""
    made = {"name": "bash", "arguments": json.dumps({"command": "make soup"})}
    calls = [{"id": f"c{number}", "type": "function", "function": made}]
    return {"role": "assistant", "content": text, "tool_calls": calls}


def returned(number: int) -> dict[str, object]:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": "stirred"}


def left_after(*records: dict[str, object]) -> list[str]:
    """The next steps of a chat with calls."""
    reading = Pass("chat.jsonl")
    asked = {"role": "user", "content": "Cook it."}
    reading.feed_lines([json.dumps(r).encode() + b"\n" for r in (asked, *records)])
    reading.close()
    return [step.text for step in reading.conclude().next_steps]


def test_an_announced_step_is_left_until_the_call_with_it_returned() -> None:
    announced = call(1, "The pot is hot. Let me make the soup.")
    assert left_after(announced) == ["The pot is hot. Let me make the soup."]
    assert not left_after(announced, returned(1))


def test_a_step_in_the_middle_of_a_turn_that_ended_is_not_left() -> None:
    started = call(1, "A good next step is to make the soup. I start with the onions.")
    going = (started, returned(1), call(2, "The onions are in."), returned(2))
    assert "A good next step is to make the soup." in left_after(*going)
    assert not left_after(*going, {"role": "assistant", "content": "The soup is on the table."})


def test_a_remark_that_nobody_answered_is_no_step() -> None:
    assert left("Mend the till.", "Mended.", "wow, I think that worked") == []
