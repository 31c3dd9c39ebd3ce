"""The ledger: spend, occupancy, windows, curve and forecast of recorded sessions."""

import json
from typing import Any

from leftoff import Pass
from leftoff.budget.account import account
from leftoff.budget.thresholds import preset
from leftoff.session_view import SessionView

OPUS = "claude-opus-4-5"
"""Sold with one window only."""


def call(
    name: str, tokens: int, *, model: str = OPUS, version: str = "2.1.39"
) -> dict[str, Any]:
    """An API response that read `tokens` minus 10 from the cache and wrote 10."""
    return {
        "type": "assistant",
        "uuid": f"u-{name}-{tokens}",
        "sessionId": "s1",
        "version": version,
        "message": {
            "id": f"msg_{name}",
            "role": "assistant",
            "model": model,
            "content": [{"type": "text", "text": "ok"}],
            "usage": {
                "input_tokens": 4,
                "output_tokens": 10,
                "cache_read_input_tokens": tokens - 14,
                "cache_creation_input_tokens": 0,
            },
        },
    }


def compaction(tokens: int, trigger: str = "auto") -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": f"c-{tokens}",
        "sessionId": "s1",
        "compactMetadata": {"trigger": trigger, "preTokens": tokens},
    }


def story(*records: dict[str, Any]) -> SessionView:
    reading = Pass(format="claude_code")
    reading.feed("".join(json.dumps(r) + "\n" for r in records).encode())
    reading.close()
    return SessionView(reading.sessions[-1][""])


def test_a_compaction_at_the_end_empties_the_window() -> None:
    calls = [call(f"c{n}", 20_000 + 800 * n) for n in range(20)]
    before = account(story(*calls), [], preset("advisory"), "claude_code")
    assert before.forecast is not None
    after = account(story(*calls, compaction(40_000)), [], preset("advisory"), "claude_code")
    assert after.forecast is None
    again = account(
        story(*calls, compaction(40_000), *[call(f"d{n}", 9_000 + 500 * n) for n in range(20)]),
        [],
        preset("advisory"),
        "claude_code",
    )
    assert again.forecast is not None
    assert again.forecast.calls_seen == 20
