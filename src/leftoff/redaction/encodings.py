"""Finds private keys, and text encoded in base64 or hexadecimal."""

import binascii
from collections.abc import Iterable, Iterator
from typing import Final

from leftoff import lazy_re as re

# Five dashes as they are, in a URL, or in JSON; `Private-Lines` of a PuTTY key.
_KEY_BEGIN = re.compile(
    r"(?:-|%2D|\\u002[dD]){5}BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"|Private-Lines: [0-9]{1,4}"
)
# A head without it is no key, but text about keys.
_KEY_BODY = re.compile(r"[A-Za-z0-9+/=]{16}")
# Between the lines of a key stand line ends, also escaped ones, quotes and marks of the program
# or diff that holds it, numbers of lines, and the headers of PEM and PGP.
_KEY_RUN = re.compile(
    r"(?:(?:\\{1,8}[nrt]|%0[AaDd]|[\s\"'+|>,:#`\\-]|[0-9]{1,6}[\u2192:|\t])*"
    r"(?:(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]{1,80}|[A-Za-z0-9+/=]{16,}))*"
)
# Characters of a key's body; chosen by hand, not measured.
MAX_KEY: Final = 20_000


_KEY_WORDS = re.compile("PRIVATE KEY|Private-Lines")


def private_key_spans(text: str) -> Iterator[tuple[int, int]]:
    """Private key blocks with a body; a truncated one ends where its body ends."""
    after = 0
    closing = 0
    for words in _KEY_WORDS.finditer(text):
        word = words.start()
        if word < after:
            continue
        # Before the words stand at most 75 characters: 30 of dashes, `BEGIN `, and 39 of words.
        begin = _KEY_BEGIN.search(text, max(after, word - 80), word + 50)
        if begin is None:
            continue
        body = begin.end()
        if 0 <= closing < body:
            # Looked for only where the last one was passed: many keys take linear time. -1
            # stays, since there is no end further on.
            closing = text.find("-----END ", body)
        inner = text[body:closing] if body <= closing <= body + MAX_KEY else "-----BEGIN"
        # Else the end is that of a later key: this one was cut off.
        if "-----BEGIN" not in inner and _KEY_BODY.search(inner):
            tail = text.find("-----", closing + 9)
            after = tail + 5 if 0 <= tail <= closing + 60 else closing
            yield begin.start(), after
            continue
        run = _KEY_RUN.match(text, body, body + MAX_KEY)
        end = run.end() if run is not None else body
        if _KEY_BODY.search(text, body, end):
            yield begin.start(), end
            after = end


_LINE_END = re.compile(r"\r?\n|\\n")
# At least 20 bytes of ASCII; those of a digest are hardly ever all of it.
_HEX_RUN = re.compile(r"(?:[2-7][0-9a-fA-F]|0[9aAdD]){20,}")
# ASCII, and the bytes that UTF-8 has for other characters.
_READABLE = bytes({9, 10, 13, *range(32, 127), *range(0x80, 0xF5)})

_BASE64_RUN = re.compile(
    r"(?:[A-Za-z0-9+/]{76}(?:\r?\n|\\n)|[A-Za-z0-9+/]{64}(?:\r?\n|\\n))*"
    r"[A-Za-z0-9+/_-]{4,}(?:={1,2}|%3[Dd](?:%3[Dd])?)?"
)
_BASE64_DIGITS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")


def _as_text(raw: bytes) -> str:
    """The bytes as text, or "" if more than a tenth of them is not readable."""
    if len(raw.translate(None, _READABLE)) * 10 > len(raw):
        return ""
    return raw.decode("utf-8", "replace")


def base64_text(text: str, hints: Iterable[int]) -> Iterator[tuple[int, int, str]]:
    """Runs of base64 that decode to text: start, end, text. `hints`: places where seven groups
    of four characters begin that decode to ASCII; a hint gives the alignment of its run."""
    after = 0
    for hint in hints:
        if hint < after:
            continue
        start = hint
        while start >= after + 4 and _BASE64_DIGITS.issuperset(text[start - 4 : start]):
            start -= 4
        run = _BASE64_RUN.match(text, start)
        if run is None:
            continue
        after = run.end()
        # `%3D` is the padding in a URL.
        body = run.group().split("%")[0].rstrip("=")
        if not body.isalnum():
            body = _LINE_END.sub("", body)
        body = body.replace("-", "+").replace("_", "/")
        # A single character behind the last group holds no whole byte.
        body = body[: len(body) - (len(body) % 4 == 1)]
        decoded = _as_text(binascii.a2b_base64(body + "=" * (-len(body) % 4)))
        if decoded:
            yield start, after, decoded


def hex_text(text: str) -> Iterator[tuple[int, int, str]]:
    """Runs of hexadecimal that decode to text: start, end, text."""
    for run in _HEX_RUN.finditer(text):
        decoded = _as_text(bytes.fromhex(run.group()))
        if decoded:
            yield run.start(), run.end(), decoded
