"""Renderers demand what the redactor made, and cuts of raw text halve no key."""

import ast
import inspect
import typing
from pathlib import Path

import pytest
from tests.properties.test_redaction_of_split_tokens import (
    CONTROLS,
    KINDS,
    SEQUENCES,
    UNSEEN,
    pieces_shown,
)

import leftoff
from leftoff.analysis.summary_json import SafeSummary, safe_summary, to_plain
from leftoff.handover.resume_log import markdown as resume_log
from leftoff.redaction.redactor import Redactor, SafeText, SafeValues
from leftoff.rendering import conversation, markdown, messages, overview, screen
from leftoff.text.sanitize import clean
from leftoff.text.truncation import short, whole

SOURCE = Path(leftoff.__file__).parent
SAFE = {"SafeText", "SafeValues", "SafeSummary"}
MAKERS = {"redaction/redactor.py", "analysis/summary_json.py"}


def test_only_the_redactor_makes_safe_text_and_values() -> None:
    makers = set()
    for path in SOURCE.rglob("*.py"):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if any(name in text for name in SAFE) else ():
            called = getattr(node, "func", None)
            if isinstance(called, ast.Name) and called.id in SAFE:
                makers.add(str(path.relative_to(SOURCE)))
    assert makers == MAKERS


@pytest.mark.parametrize(
    "entry",
    [screen.render_screen, markdown.render_markdown, overview.overview, overview.turns,
     resume_log.render_markdown, messages._truncated, conversation._fenced, conversation._neutralized],
)  # fmt: skip
def test_renderers_demand_them(entry: typing.Any) -> None:
    """Mypy holds callers to these signatures; this holds the signatures."""
    first = next(iter(inspect.signature(entry).parameters))
    assert typing.get_type_hints(entry)[first] in {SafeText, SafeValues, SafeSummary}


def test_the_gate_makes_them() -> None:
    gate = Redactor()
    shown = gate.shown(f"\x1b[1muse {KINDS['aws'][:9]}\x1b[0m{KINDS['aws'][9:]}\u202e now")
    assert isinstance(shown, SafeText)
    assert shown == "use [REDACTED:aws-access-key-id:1] now"
    assert isinstance(gate.document({"a": 1}), SafeValues)
    summary = leftoff.create_context_summary([{"role": "user", "content": KINDS["aws"]}])
    safe = safe_summary(summary, gate)
    assert isinstance(safe, SafeSummary)
    assert pieces_shown(KINDS["aws"], safe.user_requests[0].text) == []
    assert typing.get_type_hints(to_plain)["return"] is SafeValues


@pytest.mark.parametrize(
    "separator", ["\x00", "\x0b", "\x9b", *SEQUENCES, *UNSEEN, "\u2028"], ids=ascii
)
def test_a_cut_halves_no_key(separator: str) -> None:
    """`whole` once cut beside any character that was not ASCII, U+200B in a key among them."""
    for key in KINDS.values():
        for middle in (5, len(key) // 2, len(key) - 5):
            text = f"Use {key[:middle]}{separator}{key[middle:]} for the upload."
            for limit in range(4, len(text), 7):
                for cut in (whole(text, limit), short(text, limit)):
                    shown = clean(Redactor().text(cut))
                    assert pieces_shown(key, shown) == [], (limit, shown)


@pytest.mark.parametrize("separator", [*CONTROLS, *SEQUENCES, "\u2028", "\u200b", "\u202e"])
def test_cleaning_loses_no_letter_of_a_key(separator: str) -> None:
    """A lone escape took the next letter with it, and a stray line break parted the key, so
    that text that was cleaned before it was redacted showed the rest."""
    for key in KINDS.values():
        for middle in range(1, len(key)):
            given = f"Use {key[:middle]}{separator}{key[middle:]} for the upload."
            if separator != "\x9b":  # what follows may be its parameters
                assert key in clean(given), (middle, clean(given))
