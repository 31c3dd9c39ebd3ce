"""The built-in rules: their groups, their fused gates, and their digest."""

from functools import lru_cache

import msgspec
from msgspec import Struct

from leftoff.extraction import decision_model
from leftoff.extraction.errors import ERROR_RULES
from leftoff.extraction.rules import Gate, Rule, digest, rules
from leftoff.tables import table

# Rules on the agent's visible words, by the extractor that reads them.
GROUPS: dict[str, tuple[Rule, ...]] = {name: rules(name) for name in ("progress", "insights")}

OUTPUT_RULES: tuple[Rule, ...] = rules("outputs")
GIT_RULES: tuple[Rule, ...] = rules("git")
# The gate in front of tool output.
OUTPUTS = Gate({"output": (*OUTPUT_RULES, *GIT_RULES)})

# Rules on the person's words and on those that they answer; outside the gates.
REQUEST_RULES: tuple[Rule, ...] = rules("requests")

# Rules on what tests, builds, linters and type checkers print.
CHECK_RULES: tuple[Rule, ...] = (
    *rules("checks"),
    *rules("checks_compiled"),
    *rules("checks_static"),
)

CHECK_OUTPUTS = Gate({"checks": CHECK_RULES})


class CheckTool(Struct, frozen=True):
    """A program that checks the work; `rules/check_tools.toml` says what the fields mean."""

    name: str
    kind: str
    commands: tuple[str, ...]
    scope: str = ""
    needs: tuple[str, ...] = ()
    silent: bool = False
    loud: bool = False
    partial: bool = False
    documents: bool = False
    failure: str = ""


CHECK_TOOLS = msgspec.convert(
    table(__file__, "rules", "check_tools.toml")["tool"], tuple[CheckTool, ...]
)


@lru_cache(maxsize=8)
def gate_for(extractors: tuple[str, ...]) -> Gate:
    """The fused gate for a choice of extractors."""
    return Gate({name: GROUPS[name] for name in extractors if name in GROUPS})


@lru_cache(maxsize=1)
def rules_digest() -> str:
    """16 hex digits that change whenever a built-in rule or a trained weight changes."""
    salt = f"{decision_model.DIGEST}{CHECK_TOOLS}"
    return digest(
        *GROUPS.values(),
        OUTPUT_RULES,
        GIT_RULES,
        REQUEST_RULES,
        CHECK_RULES,
        ERROR_RULES,
        salt=salt,
    )
