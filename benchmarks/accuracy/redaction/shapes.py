"""Digests, UUIDs and images in base64: long random texts that are no secrets."""

from __future__ import annotations

import base64
import random
import re
import uuid
from collections import Counter
from typing import Any

from leftoff.redaction.redactor import Redactor
from leftoff.redaction.scanner import find, gate_for

SHAPES = {
    "digest": re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32})\b"),
    "uuid": re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"),
    "image": re.compile(r"(?:iVBORw0KGgo|/9j/4|R0lGOD|UklGR)[A-Za-z0-9+/]{100,}={0,2}"),
}  # fmt: skip


def in_text(text: str) -> tuple[Counter[str], Counter[str]]:
    """How many of each shape a text holds, and how many redaction would change."""
    there: Counter[str] = Counter()
    changed: Counter[str] = Counter()
    hits = find(text, gate_for(False))
    for name, pattern in SHAPES.items():
        spans = [match.span() for match in pattern.finditer(text)]
        there[name] += len(spans)
        changed[name] += sum(
            any(h.start < end and start < h.end for h in hits) for start, end in spans
        )
    return there, changed


PLACES = {
    "digest": ("commit {}", "sha256:{}", '"hash": "{}"', "{}  dist/a.tgz", "index {}..0 100644",
               "HEAD is now at {}", "cache_key={}", "etag: {}", "blob {}\tsrc/a.py", "key: {}"),
    "uuid": ('"sessionId": "{}"', "request id {}", "uuid={}", "/runs/{}/log",
             "session_token: {}", '"parentUuid":"{}"', "key: {}", "user {} is in", "id: {}"),
    "image": ("data:image/png;base64,{}", '"data": "{}"', "![a](data:image/png;base64,{})",
              "{}", '{{"type":"base64","media_type":"image/png","data":"{}"}}'),
}  # fmt: skip
HEADS = (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", b"\xff\xd8\xff\xe0\x00\x10JFIF", b"GIF89a")


def made(count: int, seed: int) -> dict[str, Any]:
    """Of made-up ones in the places where real ones stand: how many are changed."""
    chance = random.Random(seed)
    changed: Counter[str] = Counter()
    for shape, places in PLACES.items():
        for number in range(count):
            if shape == "digest":
                word = f"{chance.getrandbits(256):064x}"[: chance.choice((32, 40, 64))]
            elif shape == "uuid":
                word = str(uuid.UUID(int=chance.getrandbits(128), version=4))
            else:
                body = chance.randbytes(chance.randint(200, 6_000))
                word = base64.b64encode(chance.choice(HEADS) + body).decode()
            text = places[number % len(places)].format(word)
            changed[shape] += Redactor().text(text) != text
    return {shape: {"made": count, "changed": changed[shape]} for shape in PLACES}
