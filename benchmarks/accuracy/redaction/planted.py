"""Made-up secrets of documented shapes, and the places in which real ones turn up.

Every value is drawn from a seeded generator and assembled from parts, so that nothing here is
or looks like a credential of anybody.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
WORD = ALNUM + "_-"
BASE64 = ALNUM + "+/"
BASE32 = string.ascii_uppercase + "234567"


class Planted(NamedTuple):
    """One secret: the text that must vanish, and the line that shows what it is."""

    kind: str
    secret: str
    line: str


Chance = random.Random


def draw(chance: Chance, alphabet: str, size: int) -> str:
    return "".join(chance.choices(alphabet, k=size))


def hexes(chance: Chance, *sizes: int) -> str:
    return "-".join(draw(chance, HEX, size) for size in sizes)


def encoded_object(chance: Chance, keys: tuple[str, ...]) -> str:
    body = {key: draw(chance, ALNUM, chance.randint(6, 20)) for key in keys}
    raw = base64.urlsafe_b64encode(json.dumps(body, separators=(",", ":")).encode())
    return raw.decode().rstrip("=")


def private_key(chance: Chance) -> str:
    name = chance.choice(("RSA ", "EC ", "OPENSSH ", ""))
    rows = "\n".join(draw(chance, BASE64, 64) for _ in range(chance.randint(3, 24)))
    return f"-----BEGIN {name}PRIVATE KEY-----\n{rows}\n-----END {name}PRIVATE KEY-----"


def bare(kind: str, make: Callable[[Chance], str]) -> Callable[[Chance], Planted]:
    def plant(chance: Chance) -> Planted:
        secret = make(chance)
        return Planted(kind, secret, secret)

    return plant


def named(
    kind: str, names: tuple[str, ...], make: Callable[[Chance], str]
) -> Callable[[Chance], Planted]:
    def plant(chance: Chance) -> Planted:
        secret = make(chance)
        return Planted(kind, secret, f"{chance.choice(names)}={secret}")

    return plant


def framed(
    kind: str, frame: Callable[[Chance], tuple[str, str]], make: Callable[[Chance], str]
) -> Callable[[Chance], Planted]:
    def plant(chance: Chance) -> Planted:
        before, after = frame(chance)
        secret = make(chance)
        return Planted(kind, secret, before + secret + after)

    return plant


def always(before: str, after: str) -> Callable[[Chance], tuple[str, str]]:
    return lambda _: (before, after)


def aws_secret(chance: Chance) -> str:
    return draw(chance, BASE64, 39) + draw(chance, ALNUM, 1)


def human_password(chance: Chance) -> str:
    letters = draw(chance, string.ascii_letters, chance.randint(6, 10))
    tail = draw(chance, string.digits, 2) + draw(chance, "!#*?^~", 1) + draw(chance, ALNUM, 2)
    return letters + tail


STRUCTURED: tuple[Callable[[Chance], Planted], ...] = (
    bare("aws-access-key-id", lambda c: "AK" + "IA" + draw(c, BASE32, 16)),
    named(
        "aws-secret-access-key", ("AWS_SECRET_ACCESS_KEY", "aws_secret_access_key"), aws_secret
    ),
    bare("gcp-api-key", lambda c: "AI" + "za" + draw(c, WORD, 34) + draw(c, ALNUM, 1)),
    bare("gcp-oauth-token", lambda c: "ya" + "29." + draw(c, WORD, 120)),
    framed(
        "azure-key",
        lambda c: (
            f"AccountName={draw(c, LOWER, 8)};Account" + "Key=",
            ";EndpointSuffix=x.net",
        ),
        lambda c: draw(c, BASE64, 86) + "==",
    ),
    bare("azure-client-secret", lambda c: draw(c, ALNUM, 3) + "8Q" + "~" + draw(c, ALNUM, 34)),
    bare("github-token", lambda c: f"gh{c.choice('pousr')}" + "_" + draw(c, ALNUM, 36)),
    bare("github-fine", lambda c: "github_" + f"pat_{draw(c, ALNUM, 22)}_{draw(c, ALNUM, 59)}"),
    bare("gitlab-token", lambda c: "gl" + "pat-" + draw(c, ALNUM, 20)),
    bare(
        "slack-token",
        lambda c: "-".join(
            (
                "xo" + "xb",
                draw(c, string.digits, 12),
                draw(c, string.digits, 12),
                draw(c, ALNUM, 24),
            )
        ),
    ),
    framed(
        "slack-webhook",
        always("https://hooks." + "slack.com/services/", ""),
        lambda c: f"T{draw(c, UPPER, 8)}/B{draw(c, UPPER, 8)}/{draw(c, ALNUM, 24)}",
    ),
    bare("stripe-key", lambda c: "sk" + f"_{c.choice(('live', 'test'))}_" + draw(c, ALNUM, 24)),
    bare(
        "openai-key",
        lambda c: "sk" + f"-proj-{draw(c, WORD, 74)}T3Blbk" + "FJ" + draw(c, ALNUM, 74),
    ),
    bare(
        "openai-legacy",
        lambda c: "sk" + f"-{draw(c, ALNUM, 20)}T3Blbk" + "FJ" + draw(c, ALNUM, 20),
    ),
    bare("anthropic-key", lambda c: "sk-" + f"ant-api03-{draw(c, WORD, 93)}AA"),
    bare("npm-token", lambda c: "np" + "m_" + draw(c, ALNUM, 36)),
    bare("pypi-token", lambda c: "py" + "pi-AgEIcHlwaS5vcmc" + draw(c, WORD, 120)),
    bare("huggingface-token", lambda c: "h" + "f_" + draw(c, string.ascii_letters, 34)),
    bare("twilio-key", lambda c: "S" + "K" + draw(c, HEX, 32)),
    bare("sendgrid-key", lambda c: "S" + f"G.{draw(c, WORD, 22)}.{draw(c, WORD, 42)}x"),
    bare(
        "telegram-token",
        lambda c: (
            f"{c.randint(10**8, 10**10 - 1)}:A" + "A" + draw(c, WORD, 32) + draw(c, ALNUM, 1)
        ),
    ),
    bare(
        "discord-token",
        lambda c: f"M{draw(c, ALNUM, 23)}.G{draw(c, ALNUM, 5)}." + draw(c, WORD, 37) + "z",
    ),
    bare("digitalocean-token", lambda c: "do" + "p_v1_" + draw(c, HEX, 64)),
    named("heroku-key", ("HEROKU_API_KEY",), lambda c: hexes(c, 8, 4, 4, 4, 12)),
    bare("shopify-token", lambda c: "shp" + "at_" + draw(c, HEX, 32)),
    bare("databricks-token", lambda c: "da" + "pi" + draw(c, HEX, 32)),
    bare("vault-token", lambda c: "hv" + "s." + draw(c, WORD, 90)),
    bare("linear-key", lambda c: "lin_" + "api_" + draw(c, ALNUM, 40)),
    bare("private-key", private_key),
    bare(
        "jwt",
        lambda c: ".".join(
            (
                encoded_object(c, ("alg", "typ")),
                encoded_object(c, ("sub", "iss")),
                draw(c, WORD, 43),
            )
        ),
    ),
    framed(
        "basic-auth",
        always("Authorization: Basic ", ""),
        lambda c: base64.b64encode(
            f"{draw(c, LOWER, 6)}:{human_password(c)}".encode()
        ).decode(),
    ),
    framed(
        "connection-string",
        lambda c: (f"Server=db;User Id={draw(c, LOWER, 5)};Password=", ";Encrypt=True"),
        lambda c: draw(c, ALNUM, 16),
    ),
)

GENERIC: tuple[Callable[[Chance], Planted], ...] = (
    named(
        "password",
        ("DB_PASSWORD", "password", "POSTGRES_PASSWORD", "smtp_passwd"),
        human_password,
    ),
    named("named-hex", ("API_KEY", "client_secret", "AUTH_TOKEN"), lambda c: draw(c, HEX, 32)),
    named(
        "named-token",
        ("SERVICE_TOKEN", "secret_key", "access_token", "X-Api-Key"),
        lambda c: draw(c, ALNUM, c.randint(20, 64)),
    ),
    framed(
        "bearer-token",
        always("Authorization: Bearer ", ""),
        lambda c: draw(c, ALNUM, c.randint(24, 80)),
    ),
    framed(
        "url-password",
        lambda c: (f"postgres://{draw(c, LOWER, 6)}:", "@db.internal:5432/app"),
        lambda c: draw(c, ALNUM, c.randint(10, 24)),
    ),
)


def _split(planted: Planted) -> tuple[str, str]:
    """A name and a value for carriers that hold pairs."""
    name, mark, value = planted.line.partition("=")
    if (
        mark
        and planted.line.endswith("=" + planted.secret)
        and name.replace("_", "").replace("-", "").isalnum()
    ):
        return name, value
    return "value", planted.line


def _yaml(p: Planted) -> str:
    name, value = _split(p)
    if "\n" in value:
        return f"config:\n  {name}: |\n    " + value.replace("\n", "\n    ")
    return f"config:\n  {name}: {value}\n  replicas: 3"


def _shell(p: Planted) -> str:
    name, value = _split(p)
    return f"$ export {name.replace('-', '_')}='{value}' && ./deploy.sh --region eu-1"


def _markdown(p: Planted) -> str:
    if "\n" in p.line:
        return f"Use this:\n\n```\n{p.line}\n```\n"
    return f"- set `{p.line}` in the **dashboard**, then restart"


def _traceback(p: Planted) -> str:
    return (
        'Traceback (most recent call last):\n  File "app/main.py", line 12, in connect\n'
        f"    client.open({p.line!r})\nValueError: bad reply to {p.line}"
    )


def _url(p: Planted) -> str:
    if "://" in p.line:
        return f"GET {p.line} HTTP/1.1"
    name, value = _split(p)
    return (
        f"GET https://api.example.com/v1/items?{name}={quote(value, safe='')}&page=2 HTTP/1.1"
    )


CARRIERS: dict[str, Callable[[Planted], Any]] = {
    "plain": lambda p: f"use {p.line} for now",
    "json": lambda p: json.dumps({"ok": True, _split(p)[0]: _split(p)[1]}),
    "json-pretty": lambda p: json.dumps({"env": {_split(p)[0]: _split(p)[1]}}, indent=2),
    "json-twice": lambda p: json.dumps({"out": json.dumps({"text": f"done\n{p.line}\n"})}),
    "json-thrice": lambda p: json.dumps(
        {"a": json.dumps({"b": json.dumps({_split(p)[0]: _split(p)[1]})})}
    ),
    "value": lambda p: {"input": {"args": [p.line], _split(p)[0]: _split(p)[1]}},
    "key": lambda p: {p.line: 1},
    "yaml": _yaml,
    "shell": _shell,
    "url": _url,
    "header": lambda p: f"> X-Request-Id: 7\n> {p.line}\n< HTTP/2 200",
    "diff": lambda p: (
        "@@ -1,2 +1,2 @@\n-OLD=1\n" + "\n".join("+" + r for r in p.line.split("\n"))
    ),
    "traceback": _traceback,
    "base64": lambda p: "data: " + base64.b64encode(f"# config\n{p.line}\n".encode()).decode(),
    "hex": lambda p: "payload " + f"# config\n{p.line}\n".encode().hex(),
    "log": lambda p: f"2031-04-05T06:07:08.123Z INFO  [worker-3] loaded {p.line} (attempt 2)",
    "terminal": lambda p: f"\x1b[32m{p.line}\x1b[0m",
    "markdown": _markdown,
    "invisible": lambda p: (
        "see " + p.line[: len(p.line) // 2] + "\u200b" + p.line[len(p.line) // 2 :]
    ),
}


def plants(count: int, seed: int) -> list[tuple[str, str, Planted, Any]]:
    """`count` secrets, spread evenly over kinds and carriers: sort, carrier, secret, value."""
    chance = random.Random(seed)
    makers = [("structured", make) for make in STRUCTURED] + [
        ("generic", make) for make in GENERIC
    ]
    names = list(CARRIERS)
    made: list[tuple[str, str, Planted, Any]] = []
    for i in range(count):
        sort, make = makers[i % len(makers)]
        carrier = names[(i // len(makers)) % len(names)]
        planted = make(chance)
        made.append((sort, carrier, planted, CARRIERS[carrier](planted)))
    return made
