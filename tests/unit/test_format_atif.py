"""ATIF trajectories, read and written."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from leftoff.formats.atif import FORMAT, write
from leftoff.formats.reader import Cursor, Sample
from leftoff.model import (
    Message,
    Part,
    Reasoning,
    SessionFacts,
    Text,
    ToolCall,
    ToolResult,
    Typed,
    Usage,
)

# -- writing ------------------------------------------------------------------------------------


def _back(data: bytes) -> list[Message]:
    assert FORMAT.detect(Sample(data, complete=True))
    return [r for r in FORMAT.reader().read(data, Cursor()) if isinstance(r, Message)]


_words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(
    lambda t: t.strip() and not t.lstrip().startswith(("{", "<", "[", "#"))
)
_turn = st.tuples(
    _words,
    st.one_of(st.none(), _words),
    st.lists(
        st.tuples(_words, _words, st.sampled_from(["ok", "error", "denied", "running"])),
        max_size=3,
    ),
    st.booleans(),
)


def _conversation(
    turns: list[tuple[str, str | None, list[tuple[str, str, str]], bool]],
) -> list[Message]:
    found: list[Message] = []
    number = 0
    for place, (words, thought, uses, prompted) in enumerate(turns):
        if prompted:
            span = Typed(0, 0, len(words))
            found.append(
                Message(len(found), "user", (Text(words),), origin="prompt", typed=(span,))
            )
        parts: list[Part] = [Reasoning(thought)] if thought is not None else []
        parts.append(Text(words))
        results: list[Part] = []
        for command, output, status in uses:
            number += 1
            parts.append(ToolCall(f"c{number}", "bash", "shell", {"command": command}))
            results.append(
                ToolResult(f"c{number}", output, status, 1 if status == "error" else None)
            )
        usage = Usage(place + 1, 2, 3, 0, 1)
        found.append(
            Message(
                len(found),
                "assistant",
                tuple(parts),
                response=f"r{place}",
                model="m",
                usage=usage,
            )
        )
        if results:
            found.append(Message(len(found), "tool", tuple(results), origin="tool"))
    return found


@given(st.lists(_turn, min_size=1, max_size=6))
@settings(max_examples=60)
def test_what_is_written_reads_back_the_same(turns: Any) -> None:
    given_messages = _conversation(turns)
    found = _back(write(given_messages, SessionFacts(id="s")))

    def content(m: Message) -> Any:
        typed = m.parts[m.typed[0].part].text[m.typed[0].start :].strip() if m.typed else ""  # type: ignore[union-attr]
        return m.index, m.role, m.origin, m.parts, m.response, m.model, m.usage, typed

    assert [content(m) for m in found] == [content(m) for m in given_messages]
