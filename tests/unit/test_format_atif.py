"""ATIF trajectories, read and written."""

from collections.abc import Sequence
from itertools import cycle
from typing import Any

from hypothesis import given, settings
from msgspec.structs import replace
from tests.strategies.conversations import Step, conversations
from tests.strategies.writers import messages_of

from leftoff.formats.atif import FORMAT, write
from leftoff.formats.reader import Cursor, Sample
from leftoff.model import Message, Reasoning, SessionFacts, Usage


def told(steps: Sequence[Step]) -> list[Message]:
    """A conversation with thoughts, models and usage, and the results of a turn in one message."""
    found: list[Message] = []
    outcomes = cycle([("ok", None), ("error", 1), ("denied", None), ("running", None)])
    for message in messages_of(steps):
        if message.role == "tool":
            status, code = next(outcomes)
            ended = [replace(part, status=status, exit_code=code) for part in message.parts]
            message = replace(message, parts=tuple(ended))
        last = found[-1] if found else message
        if message.role == "tool" == last.role:
            found[-1] = replace(last, parts=(*last.parts, *message.parts))
            continue
        here = len(found)
        if message.role == "assistant":
            parts, usage = (
                (Reasoning(f"thought {here}"), *message.parts),
                Usage(here, 2, 3, 0, 1),
            )
            message = replace(message, parts=parts, response=f"r{here}", model="m", usage=usage)
        found.append(replace(message, index=here))
    return found


@given(conversations())
@settings(max_examples=60)
def test_what_is_written_reads_back_the_same(steps: Sequence[Step]) -> None:
    given_messages = told(steps)
    data = write(given_messages, SessionFacts(id="s"))
    assert FORMAT.detect(Sample(data, complete=True))
    found = [r for r in FORMAT.reader().read(data, Cursor()) if isinstance(r, Message)]

    def content(m: Message) -> Any:
        typed = m.parts[m.typed[0].part].text[m.typed[0].start :].strip() if m.typed else ""  # type: ignore[union-attr]
        return m.index, m.role, m.origin, m.parts, m.response, m.model, m.usage, typed

    assert [content(m) for m in found] == [content(m) for m in given_messages]
