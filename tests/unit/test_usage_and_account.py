"""The ledger: spend, occupancy, windows, curve and forecast of recorded sessions."""

import json
from typing import Any

from tests.strategies.writers import claude_call, claude_compaction

from leftoff import Pass
from leftoff.budget.account import account
from leftoff.budget.thresholds import preset
from leftoff.session_view import SessionView


def story(*records: dict[str, Any]) -> SessionView:
    reading = Pass(format="claude_code")
    reading.feed("".join(json.dumps(r) + "\n" for r in records).encode())
    reading.close()
    return SessionView(reading.sessions[-1][""])


def test_a_compaction_at_the_end_empties_the_window() -> None:
    calls = [claude_call(n, 20_000 + 800 * n) for n in range(20)]
    before = account(story(*calls), [], preset("advisory"), "claude_code")
    assert before.forecast is not None
    calls.append(claude_compaction(40_000))
    after = account(story(*calls), [], preset("advisory"), "claude_code")
    assert after.forecast is None
    calls += [claude_call(20 + n, 9_000 + 500 * n) for n in range(20)]
    again = account(story(*calls), [], preset("advisory"), "claude_code")
    assert again.forecast is not None
    assert again.forecast.calls_seen == 20
