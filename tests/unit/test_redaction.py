"""The redaction gate: placeholders, numbering, depth, disguise, files, what it leaves alone."""

import random
import re
import string
import subprocess
import sys

import pytest
from msgspec import Struct

from leftoff.redaction.redactor import Redactor, Span
from leftoff.redaction.rules import rules_digest
from leftoff.redaction.scanner import BLOCK

CHANCE = random.Random(7)


def drawn(size: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(CHANCE.choices(alphabet, k=size))


GITHUB = "gh" + "p_" + drawn(36)


class Login(Struct, frozen=True):
    host: str
    password: str
    notes: tuple[str, ...] = ()


def test_a_struct_is_gone_through_as_its_fields_are() -> None:
    told = {"first": Login("db", "hunter2-and-9more", (f"use {GITHUB}", "nothing"))}
    shown = Login("db", "[REDACTED:password:1]", ("use [REDACTED:github-token:2]", "nothing"))
    assert Redactor().value(told) == {"first": shown}
    assert told["first"].password == "hunter2-and-9more"


def test_a_struct_without_secrets_is_returned_itself() -> None:
    value = Login("db", "", ("nothing",))
    assert Redactor().value(value) is value


def test_an_added_redactor_sees_every_string() -> None:
    def badge(text: str) -> list[Span]:
        at = text.find("badge-")
        return [Span(at, at + 9, "badge")] if at >= 0 else []

    redactor = Redactor(extra=[badge])
    assert redactor.value({"a": "my badge-123 here"}) == {"a": "my [REDACTED:badge:1] here"}
    assert redactor.counts == {"badge": 1}


@pytest.mark.parametrize("shift", [-40, -20, -1, 0, 1, 20])
def test_block_borders_hide_nothing(shift: int) -> None:
    for filler in ("x" * (BLOCK + shift), ("y" * 79 + "\n") * ((BLOCK + shift) // 80)):
        text = f"{filler} {GITHUB} {'z ' * BLOCK}"
        assert GITHUB not in Redactor().text(text)


def test_lone_surrogates_and_controls_pass_through() -> None:
    text = f"\ud800 \x00 {GITHUB} \udfff"
    assert Redactor().text(text) == "\ud800 \x00 [REDACTED:github-token:1] \udfff"


def test_redacting_opens_no_file_and_no_socket() -> None:
    code = (
        "import sys; from leftoff.redaction import Redactor; seen = []\n"
        "sys.addaudithook(lambda event, _: seen.append(event))\n"
        "Redactor(personal=True).value({'api_key': 'x', 'a': ['token = ' + 'a1B2' * 9] * 3})\n"
        "sys.exit(any(e == 'open' or e.startswith(('socket', 'os.')) for e in seen))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_digest_is_short_and_stable() -> None:
    assert rules_digest() == rules_digest()
    assert re.fullmatch("[0-9a-f]{16}", rules_digest())
