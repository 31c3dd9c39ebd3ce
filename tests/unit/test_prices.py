"""What a session cost at list prices; unknown where no price is known."""

import tomllib
from pathlib import Path

import pytest
from tests.strategies.claude_code import Recording

import leftoff
from leftoff.budget import prices


def session(path: Path, model: str) -> None:
    """A session with one answer of a model."""
    made = Recording(key=f"{path.stem}{{n}}", sessionId=path.stem)
    made.say("Go.")
    said = [{"type": "text", "text": "It is done."}]
    about = {"role": "assistant", "model": model, "id": path.stem, "usage": USAGE}
    made.add("assistant", said, message={**about, "content": said})
    made.save(path)


USAGE = {
    "input_tokens": 1_000, "output_tokens": 2_000,
    "cache_read_input_tokens": 100_000, "cache_creation_input_tokens": 10_000,
}  # fmt: skip


def test_rows_of_a_batch_hold_the_cost(tmp_path: Path) -> None:
    session(tmp_path / "a.jsonl", "claude-opus-4-5")
    session(tmp_path / "b.jsonl", "composer-2")
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
