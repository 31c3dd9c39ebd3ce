"""The built-in rules: their groups, their fused gates, and their digest."""

from __future__ import annotations

from functools import lru_cache

from leftoff.extraction import decision_model
from leftoff.extraction.rules import Gate, Rule, digest, rules

GROUPS: dict[str, tuple[Rule, ...]] = {name: rules(name) for name in ("progress", "insights")}
"""Rules on the agent's visible words, by the extractor that reads them."""

OUTPUT_RULES: tuple[Rule, ...] = rules("outputs")
OUTPUTS = Gate({"output": OUTPUT_RULES})
"""The gate in front of tool output."""


@lru_cache(maxsize=8)
def gate_for(extractors: tuple[str, ...]) -> Gate:
    """The fused gate for a choice of extractors."""
    return Gate({name: GROUPS[name] for name in extractors if name in GROUPS})


@lru_cache(maxsize=1)
def rules_digest() -> str:
    """16 hex digits that change whenever a built-in rule or a trained weight changes."""
    return digest(*GROUPS.values(), OUTPUT_RULES, salt=decision_model.DIGEST)
