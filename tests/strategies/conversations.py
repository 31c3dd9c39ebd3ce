"""A hypothesis strategy for conversations, for tests that write them and read them back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from leftoff.model import Message, Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


class Call(Struct, frozen=True):
    """A tool call with its result."""

    id: str
    name: str
    input: dict[str, Any]
    result: str
    failed: bool = False


class Step(Struct, frozen=True):
    """One step: of the `user` (text) or of the `agent` (text, calls or both)."""

    role: str
    text: str
    calls: tuple[Call, ...] = ()


class Content(Struct, frozen=True):
    """The content of a conversation, however a format divides it into messages.

    Attributes:
        words: (user | agent, text) and (call, name, input) in order.
        results: (text, failed) of each call, in the order of the calls; None without one.
    """

    words: tuple[tuple[Any, ...], ...]
    results: tuple[tuple[str, bool] | None, ...]


TOOLS = ("lookup_order", "count_rows", "send_report")
"""Tools of no recorder, so that no reader treats them specially."""


def conversations() -> SearchStrategy[tuple[Step, ...]]:
    """Conversations that begin with a prompt; words of any script, of one or many lines."""
    from hypothesis import strategies as st

    anything = st.characters(exclude_categories=["Cs", "Cc", "Cf", "Co", "Cn"])
    letters = st.characters(categories=["Lu", "Ll", "Lo"])
    rest = st.text(anything | st.sampled_from(["\n", "\t", " ", '"', "\\"]), max_size=40)
    words = st.builds(lambda first, more: f"{first}{more}.", letters, rest)
    values = words | st.integers(-(10**6), 10**6) | st.booleans() | st.lists(words, max_size=2)
    inputs = st.dictionaries(
        st.sampled_from(["id", "query", "limit", "to"]), values, max_size=3
    )
    call = st.tuples(st.sampled_from(TOOLS), inputs, words, st.booleans())
    prompt = st.tuples(words, st.just(()))
    answer = st.tuples(words, st.lists(call, max_size=2)) | st.tuples(
        st.just(""), st.lists(call, min_size=1, max_size=2)
    )
    rounds = st.tuples(prompt, st.lists(answer, min_size=1, max_size=3))

    def numbered(found: list[Any]) -> tuple[Step, ...]:
        steps: list[Step] = []
        count = 0
        for (asked, _), answers in found:
            steps.append(Step("user", asked))
            for said, made in answers:
                calls: list[Call] = []
                for name, given, result, failed in made:
                    count += 1
                    calls.append(Call(f"call_{count:04}", name, given, result, failed))
                steps.append(Step("agent", said, tuple(calls)))
        return tuple(steps)

    return st.lists(rounds, min_size=1, max_size=3).map(numbered)


def written_content(steps: Iterable[Step]) -> Content:
    """The content of a conversation before it is written."""
    words: list[tuple[Any, ...]] = []
    results: list[tuple[str, bool] | None] = []
    for step in steps:
        if step.text:
            words.append((step.role, step.text))
        for call in step.calls:
            words.append(("call", call.name, call.input))
            results.append((call.result, call.failed))
    return Content(tuple(words), tuple(results))


def content_of(messages: Iterable[Message]) -> Content:
    """The content of the messages that a reader made, to compare with `written_content`."""
    words: list[tuple[Any, ...]] = []
    results: list[tuple[str, bool] | None] = []
    calls: dict[str, int] = {}
    for message in messages:
        for typed in message.typed:
            text = getattr(message.parts[typed.part], "text", "")
            words.append(("user", text[typed.start : typed.end]))
        for part in message.parts:
            if isinstance(part, Text) and message.origin == "agent":
                words.append(("agent", part.text))
            elif isinstance(part, ToolCall):
                calls[part.id] = len(results)
                words.append(("call", part.name, part.input))
                results.append(None)
            elif isinstance(part, ToolResult) and part.call_id in calls:
                results[calls[part.call_id]] = (part.text, part.status == "error")
    return Content(tuple(words), tuple(results))
