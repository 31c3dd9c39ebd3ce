"""A summary as JSON and back, redacted."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Struct

from leftoff import codec
from leftoff.errors import StateError, TooNew
from leftoff.redaction.redactor import Redactor
from leftoff.summary import ContextSummary

VERSION = 1
SCHEMA = f"leftoff.summary/{VERSION}"


def to_plain(summary: ContextSummary, redactor: Redactor | None = None) -> dict[str, Any]:
    """The summary as plain JSON values, redacted; `stats.redactions` counts the secrets."""
    value: dict[str, Any] = codec.to_builtins(_redacted(summary, redactor))
    return value


def to_json(
    summary: ContextSummary, redactor: Redactor | None = None, *, indent: int = 0
) -> bytes:
    """The summary as one JSON object, redacted, uncut."""
    return codec.dumps(_redacted(summary, redactor), indent=indent)


def _redacted(summary: ContextSummary, redactor: Redactor | None) -> ContextSummary:
    gate = redactor or Redactor()
    shown: ContextSummary = gate.value(summary)
    counts = dict(sorted(gate.counts.items()))
    stats = msgspec.structs.replace(shown.stats, redactions=counts)
    return msgspec.structs.replace(shown, stats=stats)


class _Schema(Struct):
    schema: str = ""


def from_json(data: bytes | str) -> ContextSummary:
    """A summary that `to_json` wrote.

    Raises:
        StateError: not such a document; the message names the field. `TooNew`: a newer leftoff
            wrote it.
    """
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
