"""The redaction gate: placeholders, numbering, depth, disguise, files, what it leaves alone."""

from __future__ import annotations

import base64
import copy
import json
import random
import re
import string
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import pytest
from msgspec import Struct

from leftoff.errors import UsageError
from leftoff.redaction.redactor import BLOCK, MAX_NESTING, Redactor, Span, redact, rules_digest

Linear: TypeAlias = Callable[[Callable[[int], Callable[[], object]], int], None]

CHANCE = random.Random(7)


def drawn(size: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(CHANCE.choices(alphabet, k=size))


GITHUB = "gh" + "p_" + drawn(36)
OTHER = "gh" + "p_" + drawn(36)
AWS = "AK" + "IA" + drawn(16, string.ascii_uppercase + "234567")
OPAQUE = drawn(12) + "9x7Q" + drawn(24)
ROWS = "\n".join(drawn(64) for _ in range(4))
KEY = f"-----BEGIN RSA PRIVATE {'KEY'}-----\n{ROWS}\n-----END RSA PRIVATE {'KEY'}-----"


def test_numbers_count_secrets_by_first_appearance_over_all_kinds() -> None:
    redactor = Redactor()
    out = redactor.text(f"{GITHUB} {AWS}\n{GITHUB} {OTHER}")
    assert out == (
        "[REDACTED:github-token:1] [REDACTED:aws-access-key-id:2]\n"
        "[REDACTED:github-token:1] [REDACTED:github-token:3]"
    )
    assert redactor.counts == {"github-token": 3, "aws-access-key-id": 1}
    assert redactor.total == 4


def test_numbers_go_on_over_the_strings_of_one_document() -> None:
    redactor = Redactor()
    assert redactor.text(GITHUB) == "[REDACTED:github-token:1]"
    assert redactor.text(AWS) == "[REDACTED:aws-access-key-id:2]"
    assert redactor.value([GITHUB]) == ["[REDACTED:github-token:1]"]


def test_numbers_begin_after_those_already_in_the_text() -> None:
    out = Redactor().text(f"[REDACTED:jwt:4] and {GITHUB}")
    assert out == "[REDACTED:jwt:4] and [REDACTED:github-token:5]"
    values = Redactor().value([GITHUB, "[REDACTED:jwt:7]"])
    assert values == ["[REDACTED:github-token:8]", "[REDACTED:jwt:7]"]


@pytest.mark.parametrize("escape", ["\\n", "\\t", "\\\\n", '\\"', "\\u003d", "%3D", "\x1b[31m"])
def test_an_escape_right_before_a_key_does_not_hide_it(escape: str) -> None:
    assert AWS not in Redactor().text(f"done{escape}{AWS}{escape[:1]} end")


@pytest.mark.parametrize(
    "disguised",
    [
        GITHUB[:9] + "\u200b" + GITHUB[9:],
        GITHUB[:2] + "\u2060" + GITHUB[2:20] + "\ufeff" + GITHUB[20:],
        "\u200d".join(GITHUB),
        GITHUB.replace("p", "\u0440", 1),
        "".join(chr(ord(c) + 0xFEE0) for c in GITHUB),
        "".join(f"%{ord(c):02X}" for c in GITHUB),
        "".join(f"\\u00{ord(c):02x}" for c in GITHUB),
        GITHUB[0] + chr(0xE0041) + GITHUB[1:],
        base64.b64encode(f"token is {GITHUB} now".encode()).decode(),
        base64.b64encode(base64.b64encode(f"token is {GITHUB}".encode())).decode(),
        base64.urlsafe_b64encode(f"token is {GITHUB} now??>>".encode()).decode(),
        f"the token: {GITHUB}".encode().hex(),
    ],
    ids=range(12),
)
def test_a_disguised_key_is_found(disguised: str) -> None:
    redactor = Redactor()
    out = redactor.text(f"before {disguised} after")
    assert out == "before [REDACTED:github-token:1] after"


def test_wrapped_base64_is_read_over_its_lines() -> None:
    blob = base64.encodebytes((f"{drawn(40)} " * 3 + f"{GITHUB} {drawn(60)}").encode()).decode()
    assert Redactor().text("blob:\n" + blob).startswith("blob:\n[REDACTED:github-token:1]")


def test_json_in_strings_keeps_its_layout() -> None:
    inner = json.dumps({"password": "Tr0ub4dor&9", "n": 1.50, "list": [1, 2]}, indent=3)
    outer = json.dumps({"out": json.dumps({"text": inner})})
    out = Redactor().text(outer)
    back = json.loads(json.loads(json.loads(out)["out"])["text"])
    assert back == {"password": "[REDACTED:password:1]", "n": 1.5, "list": [1, 2]}
    assert out.replace("[REDACTED:password:1]", "Tr0ub4dor&9") == outer


def test_a_private_key_goes_whole_in_every_layout() -> None:
    for text in (
        KEY,
        json.dumps(KEY),
        json.dumps(json.dumps(KEY)),
        KEY.replace("\n", "\n    "),
    ):
        out = Redactor().text(f"a {text} b")
        assert not any(row in out for row in ROWS.split("\n"))
        assert (out[:2], out[-2:]) == ("a ", " b")


def test_a_private_key_cut_short_goes_as_far_as_it_reaches() -> None:
    cut = KEY[: len(KEY) // 2]
    out = Redactor().text(f"{cut}\n\nand then prose.")
    assert out == "[REDACTED:private-key:1]\n\nand then prose."


def test_a_value_is_rebuilt_and_never_changed() -> None:
    class Pair(NamedTuple):
        left: str
        right: int

    value: dict[Any, Any] = {
        "a": [GITHUB, 1, None, True, 2.5],
        "b": {"c": (AWS, "x")},
        GITHUB: Pair(AWS, 3),
        7: "seven",
    }
    before = copy.deepcopy(value)
    out = Redactor().value(value)
    assert value == before
    assert out == {
        "a": ["[REDACTED:github-token:1]", 1, None, True, 2.5],
        "b": {"c": ("[REDACTED:aws-access-key-id:2]", "x")},
        "[REDACTED:github-token:1]": Pair("[REDACTED:aws-access-key-id:2]", 3),
        7: "seven",
    }
    assert type(out["[REDACTED:github-token:1]"]) is Pair


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


def test_keys_that_become_the_same_keep_both_values() -> None:
    out = Redactor().value({GITHUB: 1, "[REDACTED:github-token:1]": 2, "a": GITHUB})
    assert sorted(v for v in out.values() if isinstance(v, int)) == [1, 2]


@pytest.mark.parametrize(
    "value",
    [
        {"api_key": OPAQUE},
        {"env": {"SERVICE_TOKEN": OPAQUE}},
        {"name": "SERVICE_TOKEN", "value": OPAQUE},
        ["tool", "--token", OPAQUE],
        {"headers": {"X-Api-Key": OPAQUE}},
        {"dbPassword": "k9#mn2"},
    ],
)
def test_the_name_beside_a_value_gives_it_away(value: Any) -> None:
    out, counts = redact(value)
    assert sum(counts.values()) == 1
    assert not any(secret in json.dumps(out) for secret in (OPAQUE, "k9#mn2"))


def test_a_secret_given_away_once_is_replaced_where_it_stands_bare() -> None:
    out = Redactor().value(["first " + OPAQUE, "SERVICE_TOKEN=" + OPAQUE])
    assert out == ["first [REDACTED:secret:1]", "SERVICE_TOKEN=[REDACTED:secret:1]"]


def test_an_added_redactor_sees_every_string() -> None:
    def badge(text: str) -> list[Span]:
        at = text.find("badge-")
        return [Span(at, at + 9, "badge")] if at >= 0 else []

    redactor = Redactor(extra=[badge])
    assert redactor.value({"a": "my badge-123 here"}) == {"a": "my [REDACTED:badge:1] here"}
    assert redactor.counts == {"badge": 1}


@pytest.mark.parametrize("span", [Span(0, 99, "x"), Span(-1, 2, "x"), Span(0, 1, "Bad kind")])
def test_an_added_redactor_that_errs_is_told(span: Span) -> None:
    with pytest.raises(UsageError):
        Redactor(extra=[lambda _: [span]]).text("some text")


def test_a_secret_file_goes_whole() -> None:
    redactor = Redactor()
    assert redactor.file("app/.env", "A=1\nB=two\n") == "[REDACTED:file:1]"
    assert redactor.file("backup/.env", "A=1\nB=two\n") == "[REDACTED:file:1]"
    assert redactor.file("app/.env", "[REDACTED:file:1]") == "[REDACTED:file:1]"
    assert redactor.file(".env.example", "A=1\n") == "A=1\n"
    assert redactor.file("notes.md", f"key {GITHUB}") == "key [REDACTED:github-token:2]"
    assert redactor.file(".env", "") == ""


def test_nesting_beyond_the_limit_fails_closed() -> None:
    value: Any = GITHUB
    for _ in range(MAX_NESTING + 50):
        value = [value]
    out = Redactor().value(value)
    assert GITHUB not in repr(out)
    assert "[REDACTED:nesting:1]" in repr(out)


@pytest.mark.parametrize("shift", [-40, -20, -1, 0, 1, 20])
def test_block_borders_hide_nothing(shift: int) -> None:
    for filler in ("x" * (BLOCK + shift), ("y" * 79 + "\n") * ((BLOCK + shift) // 80)):
        text = f"{filler} {GITHUB} {'z ' * BLOCK}"
        assert GITHUB not in Redactor().text(text)


def test_lone_surrogates_and_controls_pass_through() -> None:
    text = f"\ud800 \x00 {GITHUB} \udfff"
    assert Redactor().text(text) == "\ud800 \x00 [REDACTED:github-token:1] \udfff"


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        " ",
        "/",
        "eyJ",
        "://",
        "://a:",
        "password=",
        "token: ",
        "-----BEGIN PRIVATE KEY-----",
        "PRIVATE KEY",
        "\\u0041",
        "%41",
        "\u200b",
        "QUJD",
        "4142",
        '"token',
        "secret_",
        "sk-aaaa",
        "\\",
        '\\"',
        "AKIA",
        "Bearer ",
        "https://a:b@",
        "xoxb-1-",
        "[REDACTED:jwt:1]",
        "pass\\\\",
    ],
)
def test_time_is_linear_on_hostile_text(unit: str, assert_linear: Linear) -> None:
    def prepare(size: int) -> Callable[[], object]:
        text = (unit * (size // len(unit) + 1))[:size]
        return lambda: Redactor().text(text)

    assert_linear(prepare, 160_000)


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
