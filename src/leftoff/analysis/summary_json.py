"""A summary as JSON and back, redacted; and in the shape of the original design."""

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import msgspec
from msgspec import Struct

from leftoff import codec
from leftoff.analysis.seed001 import format_context_summary, percentage_as_number
from leftoff.errors import StateError, TooNew
from leftoff.redaction.redactor import Redactor, SafeValues
from leftoff.summary import ContextSummary, ProgressInfo

VERSION = 1
SCHEMA = f"leftoff.summary/{VERSION}"

# Keys of a message's index, from 0.
INDEXES = frozenset({"message", "message_index"})

# Everything else is written as it is; to look into it would cost a call for each of the values.
_NESTED = frozenset({dict, list, tuple})


class SafeSummary(ContextSummary, frozen=True):
    """A summary without its secrets: what renderers demand. `safe_summary` alone makes it. Its
    strings are as recorded but for secrets; cleaning makes no new one."""


def safe_summary(summary: ContextSummary, redactor: Redactor | None = None) -> SafeSummary:
    """The summary for renderers: redacted once, so that whatever is selected, cut and worded
    afterwards shows no secret; `stats.redactions` counts them."""
    return _safe(_redacted(summary, redactor))


def safe_with(
    summary: ContextSummary, quotes: list[dict[str, object]], redactor: Redactor
) -> tuple[SafeSummary, list[dict[str, object]]]:
    """The summary and plain values that are shown beside it, redacted in one call, so that a
    secret has the same placeholder in both."""
    bare = msgspec.structs.replace(summary, formatted="")
    shown, others = redactor.value((bare, quotes))
    return _safe(_counted(shown, redactor)), others


def _safe(redacted: ContextSummary) -> SafeSummary:
    fields = {name: getattr(redacted, name) for name in redacted.__struct_fields__}
    return SafeSummary(**fields)


def to_plain(summary: ContextSummary, redactor: Redactor | None = None) -> SafeValues:
    """The summary as plain JSON values, redacted; `stats.redactions` counts the secrets."""
    plain: dict[str, Any] = codec.to_builtins(_redacted(summary, redactor))
    # Item by item: all of a long session's values beside their copies take much memory.
    for name, value in plain.items():
        if type(value) is list:
            for place, item in enumerate(value):
                value[place] = numbered(item)
        else:
            plain[name] = numbered(value)
    return SafeValues(plain)


def seed_shape(summary: ContextSummary, redactor: Redactor | None = None) -> dict[str, Any]:
    """The JSON object with exactly the keys and shapes of the original design."""
    value = to_plain(summary, redactor)
    progress = value["progress"]
    stage = {"currentStage": progress["current_stage"]} if progress["current_stage"] else {}
    return {
        "stats": _renamed(value["stats"], "message_count tool_call_count estimated_tokens"),
        "keyDecisions": [
            _renamed(d, "text type confidence message_index") for d in value["key_decisions"]
        ],
        "progress": {
            "completedStages": progress["completed_stages"],
            **stage,
            "progressPercentage": percentage_as_number(summary.progress),
            "milestones": [m["text"] for m in progress["milestones"]],
        },
        "fileModifications": [
            _renamed(f, "path action touch_count tools") for f in value["file_modifications"]
        ],
        "toolsUsed": value["tools_used"],
        "userRequests": [r["text"] for r in value["user_requests"]],
        "formatted": value["formatted"],
    }


def _renamed(row: dict[str, Any], names: str) -> dict[str, Any]:
    """Some values of a row under the names that the original design gives them: messageCount
    for message_count."""
    words = ((name, name.title().replace("_", "")) for name in names.split())
    return {name[0] + word[1:]: row[name] for name, word in words}


def to_json(
    summary: ContextSummary, redactor: Redactor | None = None, *, indent: int = 0
) -> bytes:
    """The summary as one JSON object, redacted, uncut."""
    found = BytesIO()
    found.writelines(json_pieces(summary, redactor, indent=indent))
    return found.getvalue()


def json_pieces(
    summary: ContextSummary, redactor: Redactor | None = None, *, indent: int = 0
) -> Iterator[bytes]:
    """`to_json` in pieces."""
    shown = _redacted(summary, redactor)
    fields = _plain_fields(msgspec.structs.replace(shown, progress=ProgressInfo()))
    fields["progress"] = _plain_fields(shown.progress)
    return codec.json_pieces(fields, indent=indent)


def _plain_fields(value: Struct) -> dict[str, Any]:
    """The fields of a value as plain values; of its lists one item at a time: all of them take
    five times the memory of their JSON in a long session."""
    fields = {name: getattr(value, name) for name in value.__struct_fields__}
    lists = {name: items for name, items in fields.items() if type(items) is tuple}
    plain = codec.to_builtins(msgspec.structs.replace(value, **dict.fromkeys(lists, ())))
    return {
        name: (numbered(codec.to_builtins(one)) for one in lists[name])
        if name in lists
        else numbered(item)
        for name, item in plain.items()
    }


def numbered(value: Any) -> Any:
    """Plain values with `number`, from 1, after each index of a message: the `#n` that people
    see. What is at no message (-1) has none."""
    if isinstance(value, dict):
        found: dict[str, object] = {}
        for key, item in value.items():
            found[key] = numbered(item) if type(item) in _NESTED else item
            if key in INDEXES and isinstance(item, int):
                found["number"] = item + 1 if item >= 0 else None
        return found
    if isinstance(value, (list, tuple)):
        return [numbered(item) if type(item) in _NESTED else item for item in value]
    return value


def numbered_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of values that `numbered` returns, made of that of the types."""
    number = {"description": "The message's number, from 1.", "type": ["integer", "null"]}
    for definition in schema["$defs"].values():
        if INDEXES & set(definition.get("properties", {})):
            definition["properties"]["number"] = number
    return schema


def _redacted(summary: ContextSummary, redactor: Redactor | None) -> ContextSummary:
    gate = redactor or Redactor()
    # The text form is made of redacted values, since it cuts them.
    bare = msgspec.structs.replace(summary, formatted="")
    shown: ContextSummary = gate.value(bare)
    formatted = format_context_summary(shown) if summary.formatted else ""
    return msgspec.structs.replace(_counted(shown, gate), formatted=formatted)


def _counted(shown: ContextSummary, gate: Redactor) -> ContextSummary:
    counts = dict(sorted(gate.counts.items()))
    return msgspec.structs.replace(
        shown, stats=msgspec.structs.replace(shown.stats, redactions=counts)
    )


class _Schema(Struct):
    schema: str = ""


def from_json(data: bytes | str) -> ContextSummary:
    """A summary that `to_json` wrote.

    Raises:
        StateError: not such a document; the message names the field. `TooNew`: a newer leftoff
            wrote it."""
    raw = data.encode() if isinstance(data, str) else data
    try:
        schema = msgspec.json.decode(raw, type=_Schema).schema
        found = re.fullmatch(r"leftoff\.summary/([0-9]{1,6})", schema)
        if found and int(found[1]) > VERSION:
            raise TooNew(f"a summary of a newer leftoff ({schema}); update leftoff to read it")
        summary: ContextSummary = msgspec.json.decode(raw, type=ContextSummary)
    except (ValueError, RecursionError) as error:
        raise StateError(f"not a leftoff summary: {error}") from error
    if found is None:
        raise StateError(f"not a leftoff summary: its schema is {summary.schema!r}")
    return summary
