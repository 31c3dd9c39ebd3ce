"""Redaction is idempotent, deterministic, and hides a planted secret wherever it stands."""

import json
import re
import string
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from leftoff.redaction.redactor import Redactor, redact

HEX = "0123456789abcdef"
ALNUM = string.ascii_letters + string.digits
PLACEHOLDER = re.compile(r"\[REDACTED:[a-z0-9-]+:[0-9]+\]")

pieces = st.sampled_from(
    [
        "password", "=", ": ", '"', "\\", "\\n", "\n", "token", "Bearer ", "://", "@",
        "[REDACTED:", "jwt:1]", "]", "eyJ", "AKIA", "x9", "\u200b", "%41",
        "-----BEGIN PRIVATE KEY-----", "user:", ",",
    ]
)  # fmt: skip
hostile = st.lists(
    pieces | st.text(max_size=12) | st.text(ALNUM, max_size=50), max_size=12
).map("".join)


@st.composite
def secrets(draw: st.DrawFn) -> str:
    body = draw(st.text(ALNUM, min_size=33, max_size=33))
    return draw(st.sampled_from(["gh" + "p_", "gh" + "s_"])) + "a7Z" + body


values = st.recursive(
    st.none() | st.booleans() | st.integers() | hostile,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(hostile, inner, max_size=4),
    max_leaves=12,
)


@given(hostile)
@settings(max_examples=200, deadline=None)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = Redactor().text(text)
    assert Redactor().text(once) == once


@given(hostile)
@settings(max_examples=100, deadline=None)
def test_only_replaced_stretches_change(text: str) -> None:
    out = Redactor().text(text)
    at = 0
    for part in PLACEHOLDER.split(out):
        at = text.find(part, at)
        assert at >= 0
        at += len(part)


@given(secrets(), hostile, hostile)
@settings(max_examples=100, deadline=None)
def test_a_planted_secret_never_survives(secret: str, before: str, after: str) -> None:
    assert secret not in Redactor().text(f"{before} {secret} {after}")
    assert secret not in json.dumps(Redactor().value({before: [{"k": (secret, after)}]}))


@given(values, secrets())
@settings(max_examples=100, deadline=None)
def test_values_keep_their_shape(value: Any, secret: str) -> None:
    out, counts = redact([value, {secret: value}])
    assert secret not in json.dumps(out)
    assert counts.get("github-token", 0) >= 1
    again, later = redact(out)
    assert again == out
    assert later == {}


@given(st.lists(st.text("/._-" + string.ascii_lowercase, min_size=1, max_size=60), max_size=20))
@settings(max_examples=100, deadline=None)
def test_paths_and_names_are_untouched(names: list[str]) -> None:
    value = {"paths": names, "notes": [f"edited {name}" for name in names]}
    assert Redactor().value(value) is value


@given(st.text(HEX, min_size=40, max_size=40), st.uuids())
@settings(max_examples=100, deadline=None)
def test_hashes_and_identifiers_are_untouched(commit: str, identifier: Any) -> None:
    text = f"commit {commit}\nsession {identifier}\nsha256:{commit}{commit[:24]}"
    assert Redactor().text(text) == text
