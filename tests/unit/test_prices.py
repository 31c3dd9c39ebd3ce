"""What a session cost at list prices; unknown where no price is known."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import leftoff
from leftoff.budget import prices
from leftoff.budget.prices import PriceRow
from leftoff.budget.thresholds import preset
from leftoff.incremental.accounts import account_of


def session(path: Path, *calls: tuple[str, dict[str, int]]) -> Path:
    name = path.stem
    prompt: dict[str, Any] = {"role": "user", "content": "Go."}
    start = f"u{name}"
    lines: list[dict[str, Any]] = [{"type": "user", "uuid": start, "message": prompt}]
    for n, (model, usage) in enumerate(calls):
        message: dict[str, Any] = {"role": "assistant", "model": model, "id": f"m{name}{n}"}
        message |= {"usage": usage, "content": [{"type": "text", "text": f"Step {n} is done."}]}
        more = {"uuid": f"a{name}{n}", "parentUuid": start, "message": message}
        lines.append({"type": "assistant", **more})
    for n, line in enumerate(lines):
        line |= {"sessionId": name, "cwd": "/w", "timestamp": f"2026-10-01T10:00:{n:02}Z"}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


USAGE = {
    "input_tokens": 1_000, "output_tokens": 2_000,
    "cache_read_input_tokens": 100_000, "cache_creation_input_tokens": 10_000,
}  # fmt: skip


def cost(path: Path, **options: Any) -> prices.Cost:
    return account_of(str(path), preset("advisory"), **options).account.cost


def test_reads_and_writes_of_the_cache_have_prices_of_their_own(tmp_path: Path) -> None:
    found = cost(session(tmp_path / "s.jsonl", ("claude-opus-4-5-20251101", USAGE)))
    least = (1_000 * 5 + 2_000 * 25 + 100_000 * 0.5 + 10_000 * 6.25) / 1e6
    assert found.usd == pytest.approx(least)
    assert found.usd_at_most == pytest.approx(least + 10_000 * (10 - 6.25) / 1e6)
    assert found.unpriced == ()


def test_a_model_without_a_price_makes_the_cost_unknown(tmp_path: Path) -> None:
    calls = ("claude-opus-4-5", USAGE), ("composer-2", USAGE)
    found = cost(session(tmp_path / "s.jsonl", *calls))
    assert (found.usd, found.usd_at_most, found.unpriced) == (None, None, ("composer-2",))


def test_a_call_that_is_longer_than_the_price_holds_for_is_unknown(tmp_path: Path) -> None:
    long = {**USAGE, "cache_read_input_tokens": 190_001}
    assert cost(session(tmp_path / "a.jsonl", ("claude-sonnet-4-5", USAGE))).usd is not None
    assert cost(session(tmp_path / "b.jsonl", ("claude-sonnet-4-5", long))).usd is None


def test_a_session_without_recorded_usage_has_no_cost(tmp_path: Path) -> None:
    empty = {"input_tokens": 0, "output_tokens": 0}
    found = cost(session(tmp_path / "s.jsonl", ("claude-opus-4-5", empty)))
    assert (found.usd, found.unpriced) == (None, ())


def test_the_rows_of_the_user_come_first(tmp_path: Path) -> None:
    path = session(tmp_path / "s.jsonl", ("claude-opus-4-5", USAGE), ("composer-2", USAGE))
    mine = (PriceRow("*", 1.0, 1.0, 1.0, 1.0),)
    assert cost(path, prices=mine).usd == pytest.approx(2 * 113_000 / 1e6)
    (tmp_path / "leftoff.toml").write_text(
        '[[prices]]\nmatch = "*"\ninput = 1\noutput = 1\ncache_read = 1\ncache_write = 1\n'
    )
    command: list[str] = [sys.executable, "-m", "leftoff", "budget", path.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "$0.23 at list prices" in done.stdout


def test_rows_of_a_batch_hold_the_cost(tmp_path: Path) -> None:
    session(tmp_path / "a.jsonl", ("claude-opus-4-5", USAGE))
    session(tmp_path / "b.jsonl", ("composer-2", USAGE))
    rows = [one.row for one in leftoff.summarize_all(sorted(tmp_path.glob("*.jsonl")))]
    assert [row.cost_usd for row in rows if row.models == "composer-2"] == [None]
    priced = [row for row in rows if row.models == "claude-opus-4-5"]
    assert [row.cost_usd for row in priced] == [pytest.approx(0.1675)]


def test_every_price_names_its_source() -> None:
    text = Path(prices.__file__).with_name("prices.toml").read_text("utf-8")
    table = tomllib.loads(text)
    assert {row["source"] for row in table["price"]} == set(table["sources"])
    names = [(row["match"], row.get("since", "")) for row in table["price"]]
    assert len(set(names)) == len(names)
