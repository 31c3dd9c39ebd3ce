"""Decodes the parts of OpenAI-style chat messages that many recorders embed: text, calls,
usage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from leftoff.formats.lenient_json import count_of, dict_of, dicts_of, text_of
from leftoff.formats.vocabulary import kind_of
from leftoff.model import ToolCall, Usage


def content_text(content: object) -> str:
    """The text of a content that is a string or a list of blocks, without other media."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    found: list[str] = []
    for block in content:
        text = block.get("text") if isinstance(block, dict) else block
        if isinstance(text, str):
            found.append(text)
    return "\n".join(found)


def trim_span(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without the white space at its ends."""
    body = text[start:end]
    start += len(body) - len(body.lstrip())
    return start, start + len(body.strip())


def tag_spans(text: str, names: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """The elements `<name>…</name>`, in order: the name and the span between the tags.

    Runs in linear time on any text: a name without a further closing tag is not searched for
    again."""
    wanted = dict.fromkeys(names, -1)
    position = 0
    while wanted:
        for name, place in list(wanted.items()):
            if place < position:
                wanted[name] = text.find(f"<{name}>", position)
                if wanted[name] < 0:
                    del wanted[name]
        if not wanted:
            return
        name = min(wanted, key=lambda n: wanted[n])
        start = wanted[name] + len(name) + 2
        end = text.find(f"</{name}>", start)
        if end < 0:
            del wanted[name]
            continue
        yield name, start, end
        position = end + len(name) + 3


def decode_arguments(arguments: object) -> Any:
    """Arguments of a call, which are JSON inside a string; text that is no JSON stays text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return msgspec.json.decode(arguments)
    except (ValueError, RecursionError):
        return arguments


def calls_of(tool_calls: object) -> list[ToolCall]:
    """The calls in a `tool_calls` list, in order; [] for anything else."""
    found: list[ToolCall] = []
    for call in dicts_of(tool_calls):
        function = dict_of(call.get("function"))
        name = text_of(function.get("name"))
        given = decode_arguments(function.get("arguments"))
        found.append(ToolCall(text_of(call.get("id")), name, kind_of(name), given))
    return found


def usage_of(usage: object) -> Usage | None:
    """A recorded `usage`; its `prompt_tokens` include cached tokens.

    LiteLLM adds Anthropic's `cache_creation_input_tokens` to the same object and, like the
    cached ones, to `prompt_tokens`."""
    given = dict_of(usage)
    prompt = count_of(given.get("prompt_tokens"))
    output = count_of(given.get("completion_tokens"))
    if not prompt and not output:
        return None
    details = dict_of(given.get("prompt_tokens_details"))
    cached = count_of(details.get("cached_tokens")) or count_of(
        given.get("cache_read_input_tokens")
    )
    written = count_of(given.get("cache_creation_input_tokens"))
    thought = dict_of(given.get("completion_tokens_details")).get("reasoning_tokens")
    return Usage(max(0, prompt - cached - written), output, cached, written, count_of(thought))
