"""Something secret of one's own, hidden in every output beside what leftoff hides anyway."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from leftoff import render, summarize
from leftoff.redaction import Redactor, Span, redactors
from leftoff.testing import check_redactor

SESSION = Path(__file__).parents[1] / "corpora" / "sessions" / "claude_code" / "prorate.jsonl"


@redactors.register("customers")
def customers(text: str) -> Iterator[Span]:
    """How many customers something happened to is nobody's business."""
    for found in re.finditer(r"\b(?:\w+teen|eleven|\d+)(?= (?:tickets|customers)\b)", text):
        yield Span(*found.span(), "customers")


def main() -> None:
    """Checks the redactor, and shows what a reader of the summary gets."""
    check_redactor(
        customers,
        hides=[("we lost 12 customers", "12"), ("eleven tickets", "eleven")],
        keeps=["12 cents", "customers"],
    )
    gate = Redactor(extra=[redactors.get("customers")])
    shown = render(summarize(SESSION), "prompt", budget=1500, gate=gate)
    print(next(line for line in shown.splitlines() if "[REDACTED:" in line))
    print(dict(gate.counts))


if __name__ == "__main__":
    main()
