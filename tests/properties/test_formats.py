"""Any conversation, written as a recorder writes it, is read back as it was held."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from tests.strategies.conversations import (
    Content,
    Step,
    content_of,
    conversations,
    written_content,
)
from tests.strategies.writers import SILENT_ON_FAILURE, WRITERS

from leftoff.extraction.collector import Collector
from leftoff.model import Message


class Reading(Collector):
    """A fold that keeps the messages."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Message] = []

    def _message(self, m: Message) -> None:
        self.messages.append(m)
        super()._message(m)


def read(data: bytes, cut: int) -> Reading:
    reading = Reading()
    reading.feed(data[:cut])
    reading.feed(data[cut:])
    reading.close()
    return reading


def without_failures(found: Content) -> Content:
    return replace(found, results=tuple(r and (r[0], False) for r in found.results))


def test_at_least_eight_formats_are_written() -> None:
    assert len(WRITERS) >= 8


@pytest.mark.parametrize("name", sorted(WRITERS))
@settings(max_examples=40)
@given(steps=conversations())
def test_what_was_written_is_read_back(name: str, steps: Sequence[Step]) -> None:
    data = WRITERS[name](steps)
    reading = read(data, len(data) // 3)
    assert reading.format is not None
    assert reading.format.name == name
    assert reading.lines.parsed == reading.lines.total
    assert not reading.issues
    want, found = written_content(steps), content_of(reading.messages)
    if name in SILENT_ON_FAILURE:
        want, found = without_failures(want), without_failures(found)
    assert found == want


@pytest.mark.parametrize("name", sorted(set(WRITERS) - {"leftoff"}))
def test_a_word_less_is_seen(name: str) -> None:
    steps = (Step("user", "Count the apples."), Step("agent", "There are seven."))
    data = WRITERS[name](steps).replace(b"seven", b"eight")
    assert content_of(read(data, 0).messages) != written_content(steps)
