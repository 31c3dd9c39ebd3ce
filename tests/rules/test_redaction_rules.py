"""Every redaction rule matches its examples, leaves its counterexamples, and its gate is wider.

The examples are templates: `{x:20}` stands for twenty made-up characters.
"""

import random
import re
import string
import tomllib
from importlib import resources
from typing import Any

import pytest
import re2

from leftoff.redaction.redactor import RULES, Redactor, expand_macros, is_secret_path

DATA: dict[str, Any] = tomllib.loads(
    resources.files("leftoff").joinpath("redaction", "rules.toml").read_text("utf-8")
)
ALPHABETS = {
    "A": string.ascii_uppercase + string.digits, "2": string.ascii_uppercase + "234567",
    "a": string.ascii_lowercase + string.digits, "x": string.ascii_letters + string.digits,
    "l": string.ascii_letters, "h": "0123456789abcdef", "d": string.digits,
    "w": string.ascii_letters + string.digits + "_-",
    "b": string.ascii_letters + string.digits + "+/",
}  # fmt: skip
SEEDS = range(40)


def fill(template: str, seed: int) -> tuple[str, list[str]]:
    """The line that a template stands for, and the made-up stretches in it."""
    chance = random.Random(seed)
    made: list[str] = []

    def draw(match: re.Match[str]) -> str:
        made.append("".join(chance.choices(ALPHABETS[match[1]], k=int(match[2]))))
        return made[-1]

    return re.sub(r"\{([A2axlhdwb]):(\d+)\}", draw, template), made


def entries(field: str) -> list[Any]:
    return [
        pytest.param(rank, line, id=f"{rank}-{entry['kind']}-{i}")
        for rank, entry in enumerate(DATA["rule"])
        for i, line in enumerate(entry[field])
    ]


def redactor(rank: int) -> Redactor:
    return Redactor(personal=RULES[rank].personal)


@pytest.mark.parametrize("rank, template", entries("examples"))
def test_example_is_replaced(rank: int, template: str) -> None:
    misses = []
    for seed in SEEDS:
        line, made = fill(template, seed)
        gate = redactor(rank)
        out = gate.text(line)
        if not gate.total or any(part in out for part in made if len(part) >= 20):
            misses.append(seed)
    # A drawn value may by chance spell a stand-in word or hold no digit; never more than that.
    assert len(misses) <= (2 if RULES[rank].check else 0), fill(template, misses[0])


@pytest.mark.parametrize("rank, template", entries("examples"))
def test_example_is_stable_when_redacted_again(rank: int, template: str) -> None:
    once = redactor(rank).text(fill(template, 1)[0])
    assert redactor(rank).text(once) == once


@pytest.mark.parametrize("rank, template", entries("benign"))
def test_benign_line_is_untouched(rank: int, template: str) -> None:
    changed = [
        s for s in SEEDS if redactor(rank).text(fill(template, s)[0]) != fill(template, s)[0]
    ]
    assert len(changed) <= (2 if "{" in template else 0), fill(template, changed[0])


@pytest.mark.parametrize(
    "rule", [r for r in RULES if r.pattern], ids=lambda rule: f"{rule.rank}-{rule.kind}"
)
def test_gate_fires_wherever_the_pattern_matches(rule: Any) -> None:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    gate = re2.compile(rule.gate.encode(), options)
    pattern = re.compile(expand_macros(rule.pattern), re.ASCII)
    lines = [
        fill(line, seed)[0]
        for entry in DATA["rule"]
        for line in entry["examples"] + entry["benign"]
        for seed in range(8)
    ]
    matched = [line for line in lines if pattern.search(line)]
    assert matched
    assert [line for line in matched if not gate.search(line.encode("ascii", "replace"))] == []


def test_every_rule_has_lines_of_both_sorts() -> None:
    lacking = [r["kind"] for r in DATA["rule"] if not r["benign"]]
    lacking += [r["kind"] for r in DATA["rule"] if not r["examples"] and r["kind"] != "encoded"]
    assert lacking == []


def test_kinds_fit_a_placeholder() -> None:
    assert all(re.fullmatch(r"[a-z0-9-]{1,40}", rule.kind) for rule in RULES)


@pytest.mark.parametrize("path", DATA["paths"]["examples"])
def test_secret_path(path: str) -> None:
    assert is_secret_path(path)


@pytest.mark.parametrize("path", DATA["paths"]["benign"])
def test_plain_path(path: str) -> None:
    assert not is_secret_path(path)
