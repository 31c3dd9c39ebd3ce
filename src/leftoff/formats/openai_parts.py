"""Decodes the parts of OpenAI-style chat messages that many recorders embed: text, calls,
usage."""

from collections.abc import Iterable

import msgspec

from leftoff.formats.lenient_json import Fields, dicts_of, usage_by
from leftoff.formats.vocabulary import tool_call
from leftoff.model import Media, Part, Reasoning, Text, ToolCall, Usage


def texts_of(content: object) -> list[str]:
    """The texts of a content that is a string, a block or a list of blocks, without media."""
    texts = (block.get("text") for block in blocks_of(content))
    return [text for text in texts if isinstance(text, str)]


def content_text(content: object) -> str:
    """The text of such a content."""
    return content if isinstance(content, str) else "\n".join(texts_of(content))


def output_of(content: object) -> tuple[str, bool]:
    """The text of a result, and whether it says itself that it failed: tools that the API has
    run give the pages that were found, or an object with what was printed."""
    shown: list[str] = []
    failed = False
    for block in blocks_of(content):
        if text := block.text("text"):
            shown.append(text)
            continue
        code = block.text("error_code")
        page = " ".join(filter(None, (block.text("title"), block.text("url"))))
        shown += filter(None, (code, page, block.text("stdout"), block.text("stderr")))
        failed |= bool(code or block.number("return_code"))
    return "\n".join(shown), failed


def blocks_of(content: object) -> list[Fields]:
    """The blocks of a content; one of text for a string, alone or in the list: some recorders
    write bare strings among the blocks."""
    if isinstance(content, (str, dict)):
        content = [content] if content else []
    if not isinstance(content, list):
        return []
    return [
        Fields({"type": "text", "text": b} if isinstance(b, str) else b)
        for b in content
        if isinstance(b, (str, dict))
    ]


def part_of(block: Fields) -> Part:
    """A block of a thought, of a call or with a text; of anything else its kind alone."""
    kind = block.text("type")
    if kind in {"thinking", "reasoning"}:
        return Reasoning(block.text("thinking", "reasoning", "text"))
    if kind in {"tool_use", "toolCall"}:
        given = block.get("input" if "input" in block.value else "arguments")
        return tool_call(block.identity("id"), block.text("name"), given)
    if kind in {"text", "refusal"} or isinstance(block.get("text"), str):
        return Text(block.text("text", "refusal"))
    return Media(block.text("mimeType") or kind)


def parts_of(content: object) -> tuple[Part, ...]:
    """The parts of a content that holds nothing but such blocks."""
    return tuple(map(part_of, blocks_of(content)))


def reply_parts(thought: str, words: str, calls: Iterable[Part] = ()) -> tuple[Part, ...]:
    """A reply's thought, words and calls, without what is empty."""
    said = (Reasoning(thought), Text(words))
    return (*(part for part in said if part.text), *calls)


def trim_span(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without the white space at its ends."""
    body = text[start:end]
    start += len(body) - len(body.lstrip())
    return start, start + len(body.strip())


def decode_arguments(arguments: object) -> object:
    """Arguments of a call, which are JSON inside a string; text that is no JSON stays text."""
    if not isinstance(arguments, str):
        return arguments
    # Models write broken JSON at times, and custom tools take text that never was any.
    try:
        return msgspec.json.decode(arguments)
    except (ValueError, RecursionError):
        return arguments


def recorded_arguments(text: str) -> object:
    """Arguments that stand as JSON in a text; one that is no JSON as `recorded`."""
    given = decode_arguments(text)
    return {"recorded": text} if isinstance(given, str) else given


def calls_of(tool_calls: object) -> list[ToolCall]:
    """The calls in a `tool_calls` list, in order; [] for anything else."""
    found: list[ToolCall] = []
    for call in map(Fields, dicts_of(tool_calls)):
        given = decode_arguments(call.get("function.arguments"))
        found.append(tool_call(call.text("id"), call.text("function.name"), given))
    return found


# Two providers' names of what came from the cache: LiteLLM passes on either.
_TOKENS = (
    "prompt_tokens completion_tokens "
    "prompt_tokens_details.cached_tokens|cache_read_input_tokens "
    "cache_creation_input_tokens completion_tokens_details.reasoning_tokens"
)


def usage_of(usage: object) -> Usage | None:
    """A recorded `usage`; its `prompt_tokens` include cached tokens.

    LiteLLM adds Anthropic's `cache_creation_input_tokens` to the same object and, like the
    cached ones, to `prompt_tokens`."""
    found = usage_by(usage, _TOKENS, inclusive=True)
    return found if found is not None and found.total else None
