"""The redaction of a saved pass: what an output hides does not stand in a saved state."""

from __future__ import annotations

from typing import Any

from leftoff import codec
from leftoff.extraction.collector import State
from leftoff.redaction.redactor import Redactor


def redacted_state(state: State, gate: Redactor) -> tuple[bytes, object] | None:
    """The head of a pass and its evidence, unpacked, both redacted.

    None if the reader holds raw lines with a secret, in which nothing can be replaced: they
    belong to an unfinished message and are read again."""
    head = _redacted_head(state.head, gate)
    if head is None:
        return None
    return head, gate.value(codec.unpack_state(state.evidence, Any))


def _redacted_head(frozen: bytes, gate: Redactor) -> bytes | None:
    # Parts of a head are MessagePack inside MessagePack.
    head, issues = codec.unpack_state(frozen, Any)
    parts = [codec.unpack_state(place[name], Any) for place, name in _parts(head)]
    raw = (held for held in codec.leaves(parts) if isinstance(held, bytes))
    lines = b"\n".join(raw).decode(errors="replace")
    if lines and gate.text(lines) != lines:
        return None
    head, parts = gate.value((head, parts))
    for (place, name), part in zip(_parts(head), parts, strict=True):
        place[name] = codec.pack_state(part)
    return codec.pack_state((head, issues))


def _parts(head: codec.JsonObject) -> list[tuple[codec.JsonObject, str]]:
    found = [(head, "reader")]
    for recording in head["recordings"]:
        found += [(recording["extractors"], name) for name in recording["extractors"]]
    return found
