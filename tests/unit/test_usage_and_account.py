"""The ledger: spend, occupancy, windows, curve and forecast of recorded sessions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leftoff import Pass
from leftoff.budget.account import account
from leftoff.budget.forecast import MIN_CALLS, forecast
from leftoff.budget.thresholds import preset
from leftoff.budget.usage import context, conversation_tokens, curve, spend
from leftoff.budget.windows import PROVIDER_LIMITS, ModelRow, fit, reserve_of, window_of
from leftoff.model import Usage
from leftoff.session_view import SessionView

OPUS = "claude-opus-4-5"
"""Sold with one window only."""

SEVERAL = "claude-sonnet-4-5"
"""Sold with 200,000 and with 1,000,000 tokens under one name."""


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


def test_a_response_on_several_lines_is_spent_once_with_its_largest_usage() -> None:
    told = story(call("a", 1_000), call("b", 2_000), call("a", 1_200))
    assert {m: u.total for m, u in spend(told).items()} == {OPUS: 3_200}


def test_spend_is_told_by_model() -> None:
    told = story(call("a", 1_000), call("b", 500, model="claude-haiku-4-5"))
    assert {m: u.total for m, u in spend(told).items()} == {
        "claude-haiku-4-5": 500,
        OPUS: 1_000,
    }


def test_occupancy_is_the_last_call_and_not_the_sum() -> None:
    found = context(story(call("a", 50_000), call("b", 60_000)), {}, "claude_code")
    assert found.occupancy == 60_000
    assert (found.window, found.usable_window) == (200_000, 167_000)
    assert found.fraction == round(60_000 / 167_000, 4)
    assert found.fraction_of_window == 0.3


def test_the_reserve_follows_the_recorders_version() -> None:
    old = context(story(call("a", 50_000, version="2.1.20")), {}, "claude_code")
    assert old.usable_window == 155_000
    assert reserve_of("claude_code", "2.1.21", 200_000) == 33_000
    assert reserve_of("claude_code", "2.0.76", 200_000) == 45_000
    assert reserve_of("claude_code", "", 200_000) == 33_000
    assert reserve_of("codex", "0.47.0", 258_400) == 25_840
    assert reserve_of("somebody", "1", 200_000) is None


def test_an_automatic_compaction_teaches_the_usable_window() -> None:
    told = story(call("a", 150_000), compaction(151_000), call("b", 30_000))
    assert context(told, {}, "claude_code").usable_window == 151_000
    told = story(call("a", 150_000), compaction(151_000, "manual"), call("b", 30_000))
    assert context(told, {}, "claude_code").usable_window == 167_000


def test_a_session_that_held_more_than_the_window_has_the_larger_one_or_none() -> None:
    large = call("a", 300_000, model=SEVERAL)
    told = story(large, compaction(300_000, "manual"), call("b", 20_000, model=SEVERAL))
    found = context(told, {}, "claude_code")
    assert (found.window, found.window_source) == (1_000_000, "shown")
    told = story(call("a", 300_000, model="o3-mini"))
    assert context(told, {}, "claude_code").window is None


def test_of_several_windows_none_is_assumed_until_the_session_shows_one() -> None:
    """A model sold with 200,000 and 1,000,000 tokens: a threshold fired at 15 % of the window."""
    quiet = story(call("a", 160_000, model=SEVERAL))
    found = context(quiet, {}, "claude_code")
    assert (found.window, found.window_source, found.fraction) == (None, "", None)
    assert account(quiet, [], preset("advisory"), "claude_code").crossed == ()
    by_hand = story(call("a", 160_000, model=SEVERAL), compaction(161_000, "manual"))
    assert context(by_hand, {}, "claude_code").window is None
    full = story(call("a", 160_000, model=SEVERAL), compaction(161_000))
    found = context(full, {}, "claude_code")
    assert (found.window, found.window_source) == (200_000, "shown")
    mine = [ModelRow(SEVERAL, 200_000, 33_000)]
    found = context(quiet, {}, "claude_code", windows=mine)
    assert (found.window, found.window_source) == (200_000, "user")
    named = story(call("a", 160_000, model=SEVERAL + "[1m]"))
    found = context(named, {}, "claude_code")
    assert (found.window, found.window_source) == (1_000_000, "model")


def test_a_model_that_nobody_knows_has_no_window() -> None:
    found = context(story(call("a", 1_000, model="house-model-7")), {}, "claude_code")
    assert (found.window, found.usable_window, found.fraction) == (None, None, None)
    mine = [ModelRow("house-*", 32_000)]
    found = context(story(call("a", 1_000, model="house-model-7")), {}, windows=mine)
    assert found.window == 32_000


@pytest.mark.parametrize(
    "model,window",
    [
        ("claude-opus-4-6", 200_000),
        ("anthropic/claude-sonnet-4-5", 200_000),
        ("claude-sonnet-4-5[1m]", 1_000_000),
        ("GPT-5.4", 272_000),
        ("gemini-2.0-pro-exp", 2_097_152),
        ("no-such-model", None),
        ("", None),
    ],
)
def test_windows_are_found_by_name(model: str, window: int | None) -> None:
    found = window_of(model)
    assert (found.window if found else None) == window


def test_a_recorded_window_wins() -> None:
    found = fit("gpt-5.4", recorded=258_400, peak=260_000, format="codex")
    assert found is not None
    assert (found.window, found.reserve) == (258_400, 25_840)


def test_the_limits_of_providers_are_those_of_the_design() -> None:
    assert PROVIDER_LIMITS == {
        "gemini-2.0-pro": 1_800_000,
        "gemini-1.5-pro": 1_800_000,
        "gpt-4-turbo": 120_000,
        "claude-3.5-sonnet": 180_000,
        "copilot": 4_096,
    }


def test_the_curve_has_a_point_for_each_call_and_resets_at_compactions() -> None:
    told = story(
        call("a", 100_000), call("a", 100_000), call("b", 150_000), compaction(150_100),
        call("c", 30_000), call("d", 40_000),
    )  # fmt: skip
    assert [(p.tokens, p.emptied) for p in curve(told)] == [
        (100_000, False),
        (150_000, False),
        (30_000, True),
        (40_000, False),
    ]


def test_an_account_crosses_thresholds_again_after_a_compaction() -> None:
    told = story(
        call("a", 100_000), call("b", 160_000), compaction(167_000), call("c", 30_000),
        call("d", 145_000),
    )  # fmt: skip
    found = account(told, [], preset("advisory"), "claude_code")
    assert [(c.message, c.crossing.threshold.name) for c in found.crossed] == [
        (1, "caution"),
        (1, "warning"),
        (1, "critical"),
        (3, "caution"),
        (3, "warning"),
    ]


def test_subagents_are_counted_apart() -> None:
    side = story(call("z", 9_000, model="claude-haiku-4-5"))
    found = account(story(call("a", 1_000)), [side], preset("advisory"), "claude_code")
    assert sum(u.total for u in found.spend.values()) == 1_000
    assert found.subagents["claude-haiku-4-5"].total == 9_000
    assert found.context.spend.input == 4


def test_a_session_without_usage_has_an_estimate_and_no_occupancy() -> None:
    reading = Pass()
    reading.feed(b'{"role": "user", "text": "Add a retry to the uploader."}\n')
    reading.close()
    found = account(SessionView(reading.sessions[-1][""]), [], preset("advisory"))
    assert found.context.occupancy is None
    assert found.forecast is None
    assert found.estimated is not None
    assert 4 <= found.estimated <= 12


def test_a_response_that_is_written_again_keeps_its_place_and_its_largest_size() -> None:
    told = story(
        call("a", 100_000), call("b", 110_000), call("a", 120_000), call("b", 105_000),
        compaction(130_000), call("c", 20_000), call("c", 25_000),
    )  # fmt: skip
    assert [(p.message, p.tokens, p.emptied) for p in curve(told)] == [
        (0, 120_000, False),
        (1, 110_000, False),
        (4, 25_000, True),
    ]


def test_a_conversation_is_what_was_before_each_compaction_and_what_is_now() -> None:
    told = story(call("a", 100_000), compaction(101_000), call("b", 30_000))
    assert conversation_tokens(told) == 131_000
    assert conversation_tokens(story(call("a", 100_000))) == 100_000
    untold = call("a", 0)
    del untold["message"]["usage"]
    assert conversation_tokens(story(untold)) is None


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


def test_the_context_lists_compactions_and_what_subagents_spent() -> None:
    told = story(call("a", 100_000), compaction(101_000, "manual"), call("b", 30_000))
    found = context(told, {"z": Usage(1), "y": Usage(2)}, "claude_code")
    assert [(c.trigger, c.recorded) for c in found.compactions] == [("manual", 101_000)]
    assert list(found.spend.subagents) == ["y", "z"]
    assert (found.spend.input, found.spend.output) == (8, 20)
    assert found.spend.cache_read == 130_000 - 28


# -- forecast --------------------------------------------------------------------------------


def test_an_even_session_is_forecast_exactly() -> None:
    said = forecast(list(range(20_000, 100_000, 800)), 180_000)
    assert said is not None
    assert said.growth == 800
    assert said.tokens_left == 180_000 - 99_200
    assert said.calls_left == round((180_000 - 99_200) / 800)


def test_one_huge_result_does_not_move_the_forecast() -> None:
    even = [20_000 + 800 * i for i in range(60)]
    jump = even[:50] + [c + 40_000 for c in even[50:]]
    said, other = forecast(even, 190_000), forecast(jump, 190_000)
    assert said is not None
    assert other is not None
    assert other.growth < 1.3 * said.growth


def test_there_is_no_forecast_without_calls_window_or_growth() -> None:
    assert forecast([1_000] * (MIN_CALLS - 1), 200_000) is None
    assert forecast([1_000, 2_000, 3_000, 4_000], None) is None
    assert forecast(list(range(100_000, 0, -1_000)), 200_000) is None
    full = forecast([1_000, 2_000, 3_000, 4_000], 3_500)
    assert full is not None
    assert (full.tokens_left, full.calls_left) == (0, 0)


def test_usage_adds_up() -> None:
    assert Usage(1, 2, 3, 4, 5) + Usage(1, 1, 1, 1, 1) == Usage(2, 3, 4, 5, 6)
