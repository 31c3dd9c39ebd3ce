"""What a session cost at list prices; unknown where no price is known."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import leftoff
from leftoff.budget import prices


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
