"""Whether a matched value may be a real credential: not a variable, a path, a word, a stand-in.

The questions that a pattern alone cannot answer: a rule of `rules.toml` names one of `CHECKS`.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Final

# ---------------------------------------------------------------- may this match stand?

# Written where a value is left out or comes from elsewhere.
_LEFT_OUT = re.compile(
    r"(?i)<|>|[*\u2022]{3}|\.{3}|\u2026|x{4}|process\.env|os\.environ|getenv|change.?(?:me|this)"
)
# Words that say "no real value", and words that go with them in names of such values.
_STANDS_IN = (
    "your|my|example|placeholder|changeme|changethis|dummy|sample|redacted|insert|replace|todo"
    "|fake|mock|testing|tester|tests|test|12345678|abcdef|password|secrets|secret|tokens|token"
    "|credentials|credential|undefined|none|null|pass|pwd"
)
_STAND_IN = re.compile(rf"(?i){_STANDS_IN}")
_GOES_WITH = re.compile(
    rf"(?i)passwo?r?d?|{_STANDS_IN}|passwd|passphrase|here|this|that|some|any|the|our|very|super|long|strong"
    r"|secure|real|demo|with|goes|update|fill|enter|hidden|removed|empty|invalid|wrong|valid|bad"
    r"|good|old|new|current|default|access|refresh|bearer|client|users?|username|admin|root"
    r"|service|server|session|private|public|master|shared|signing|jwt|oauth|auth|api|apps?|keys?"
    r"|value|string|str|text|foo|bar|baz|postgres(?:ql)?|mysql|mongo(?:db)?|redis|rabbitmq|smtp"
    r"|mail|github|gitlab|openai|anthropic|database|account|prod(?:uction)?|dev(?:elopment)?"
    r"|local(?:host)?|staging|and|for|not|me|db|id|is|it|in|to|of|an|a"
)
_ESCAPED_QUOTE = re.compile(r"^(?:\\+[\"'])+")
_JUDGED: Final = 64
_COUNTED = re.compile(r"0*1?2?3?4?5?6?7?8?9?0*|(\d)\1*|\d{1,3}|1234abcd|abc123")
_WORDS = re.compile(r"[A-Za-z]+[0-9]{0,3}|[0-9]{1,4}|0?1?23456789?0?|v?[0-9]")


@lru_cache(maxsize=1024)
def _stand_in(value: str) -> bool:
    """Whether a value is made of stand-in words alone: `your-password-here`, `Secret123!`.

    A password that holds such a word among other things is a password: people take words.
    """
    if _LEFT_OUT.search(value):
        return True
    if not _STAND_IN.search(value[:_JUDGED]):
        return False
    # A long one is judged by its beginning, and may end within a word.
    judged = value[:_JUDGED]
    rest = "".join(c for c in _GOES_WITH.sub("", judged) if c.isalnum())
    cut = 8 * len(rest) < len(judged) and rest.islower() and rest.isalpha()
    return cut or _COUNTED.fullmatch(rest) is not None


def _wordy_stand_in(value: str) -> bool:
    """Whether a long value is a stand-in, or is spelt in whole words with one among them, as no
    machine draws it: `your-openai-key-goes-here`, `test_login_v2`."""
    if _stand_in(value):
        return True
    pieces = re.split(r"[^A-Za-z0-9]+", value.strip("-_. "))
    return (
        _STAND_IN.search(value) is not None
        and all(_WORDS.fullmatch(piece) for piece in pieces if piece)
        and _shifts("".join(pieces)) < 0.3
    )


_VARIABLE = re.compile(
    r"^[$%{@*&]|\$[{(]|\{\{|%[sdvq]$|%\(|\{[A-Za-z_]|\(\)|^[A-Za-z_.]+\(|#\{|^!"
)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
_DOTTED = re.compile(r"^[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+[!?]?$")
_PATH = re.compile(
    r"^(?:\.{0,2}|~|[A-Za-z]:)[/\\]|://|^[\w.-]+/[\w.-]+\.[a-z]{1,5}$|\.[a-z]{2,4}$"
)
_TEST_NAME = re.compile(r"(?:Test|Benchmark|Example|Fuzz)[A-Z]\w*(?:/\S*)?$")
_DIGEST = re.compile(r"^(?:sha(?:1|256|384|512)|md5)[:=-]", re.IGNORECASE)
_WORDY = re.compile(
    r"(?i)^(?:u?int|float|utf|base|sha|md|hmac|aes|rsa|argon|bcrypt|varchar|oauth|v|rs|hs|es|ps"
    r"|ed|node|py|http|step|line|phase|page|part|item|task|h|col|row|level|text|ipv|hunter|x)"
    r"[-_ ]?[0-9.]+[a-z]{0,3}$"
)
_COMMON = frozenset(
    "admin root user postgres mysql guest default string str true false bool required optional"
    " enabled disabled empty hidden missing invalid unknown yes no on off pass pwd xxx foo bar"
    " changeit letmein welcome qwerty redis rabbitmq minioadmin mongo oracle sa s3cret"
    " passw0rd".split()
)


def _shifts(value: str) -> float:
    """The share of neighbours that change between small, capital, digit and other.

    A capital that opens a word does not count twice, so that names in camel case stay low;
    strings that a machine drew are about 0.4, names about 0.1.
    """
    kinds = [
        "d" if c.isdigit() else "u" if c.isupper() else "l" if c.islower() else "o"
        for c in value
    ]
    changes = sum(a != b and not (a == "u" and b == "l") for a, b in pairwise(kinds))
    return changes / max(1, len(value) - 1)


def _mixed(value: str, match: re.Match[str] | None) -> bool:
    """Enough different characters, and not only small letters: not `xxxx` or words."""
    tail = value[-24:]
    if len(set(tail)) < min(8, len(tail) // 2):
        return False
    return any(c.isdigit() for c in tail) or (tail != tail.lower() and tail != tail.upper())


def _mixed_letters(value: str, match: re.Match[str] | None) -> bool:
    tail = value[3:]
    return len(set(tail)) >= 10 and tail != tail.lower() and tail != tail.upper()


def _credential(value: str, match: re.Match[str] | None) -> bool:
    """A machine drew it: 16 characters or more that are no name, path, digest or UUID."""
    value = _ESCAPED_QUOTE.sub("", value).strip("\"' ")
    if (
        not len(value) >= 16
        or " " in value
        or _wordy_stand_in(value)
        or _VARIABLE.search(value)
    ):
        return False
    if _UUID.search(value) or _DIGEST.search(value) or _DOTTED.search(value):
        return False
    if _PATH.search(value) or len(set(value)) < 8 or not any(c.isalpha() for c in value):
        return False
    digits = sum(c.isdigit() for c in value)
    shifts = _shifts(value)
    if digits == 0:
        return shifts >= 0.3 and value.isalnum() and value != value.lower()
    return shifts >= 0.28 or (shifts >= 0.17 and digits >= 3 and len(set(value)) >= 11)


def _password(value: str, match: re.Match[str] | None) -> bool:
    """A person chose it: letters with a digit or a mark, and not a word, name or call."""
    value = _ESCAPED_QUOTE.sub("", value).strip("\"' ")
    if len(value) < 4 or " " in value or _VARIABLE.search(value) or _DOTTED.search(value):
        return False
    if match is not None and match[0].startswith("PASS") and _TEST_NAME.match(value):
        return False  # what a test runner prints
    if value.lower() in _COMMON or _stand_in(value) or _WORDY.search(value):
        return False
    if _PATH.search(value) or _DIGEST.search(value) or value.endswith((":", "/", "(", ")")):
        return False
    letters = any(c.isalpha() for c in value)
    digits = any(c.isdigit() for c in value)
    marks = any(c in "!@#$%^&*?~+=" for c in value)
    assigned = match is not None and "secret2" in match.groupdict() and match["secret2"]
    if assigned and len(value) >= 8 and value.isalpha():
        return True
    if value.isalpha():  # no digit, no mark: only what looks drawn, never a word or a name
        return len(value) >= 10 and value != value.lower() and _shifts(value) >= 0.2
    if not letters or len(value) < 6 or not (digits or marks):
        return False
    return marks or len(value) >= 24 or (_shifts(value) >= 0.1 and not value.startswith("-"))


def _url(value: str, match: re.Match[str] | None) -> bool:
    """The password of a URL or connection string: no stand-in, not the user's own name."""
    if _VARIABLE.search(value) or re.search(r"[{}<>*]|\.\.\.|%s|%v|\u2026", value):
        return False
    low = value.lower()
    if low in _COMMON or low == "p" or _stand_in(value):
        return False
    if match is None:
        return True
    head = match.string[match.start() : match.start("secret")] if match["secret"] else ""
    return not head.endswith(f"/{value}:")


def _basic(value: str, match: re.Match[str] | None) -> bool:
    """Base64 of printable `user:password`."""
    body = value.rstrip("=")
    if len(body) % 4 == 1:
        return False
    raw = binascii.a2b_base64(body + "=" * (-len(body) % 4))
    return raw.find(b":") >= 0 and len(raw) >= 5 and all(32 <= byte < 127 for byte in raw)


_PAIR = re.compile(r"([^\s=;,\"']{1,100})=([^\s;,\"'\\]{8,4096})")
_SESSION = re.compile(r"(?i)sess|sid|auth|token|jwt|csrf|xsrf|remember|login|credential|key$")
_DRAWN = re.compile(r"(?=.*[0-9])(?=.*[a-f])[0-9a-f]{16,}|" + _UUID.pattern, re.IGNORECASE)


def _cookie(value: str, match: re.Match[str] | None) -> bool:
    """Cookies of which one lets a stranger in: a drawn value under any name, and one that might
    be an id under a name such as `session`."""
    for name, held in _PAIR.findall(value):
        held = re.sub(r"%[0-9A-Fa-f]{2}", "", held)
        if _credential(held, None) or (_SESSION.search(name) and _DRAWN.fullmatch(held)):
            return True
    return False


def _email(value: str, match: re.Match[str] | None) -> bool:
    """An address of somebody: no robot and no host that exists for examples."""
    user, _, host = value.lower().rpartition("@")
    if user in {"git", "noreply", "no-reply", "donotreply"} or "noreply" in host:
        return False
    if re.search(
        r"(?:^|\.)example\.(?:com|org|net)$|\.(?:example|invalid|test|png|svg)$", host
    ):
        return False
    return not host.startswith(("-", "."))


def _phone(value: str, match: re.Match[str] | None) -> bool:
    digits = sum(c.isdigit() for c in value)
    return (8 if value[0] == "+" else 10) <= digits <= 15


def _luhn(value: str, match: re.Match[str] | None) -> bool:
    digits = [int(c) for c in value if c.isdigit()]
    if not 13 <= len(digits) <= 19 or len(set(digits)) < 2:
        return False
    doubled = (d * 2 - 9 * (d > 4) for d in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


CHECKS: Final[dict[str, Callable[[str, re.Match[str] | None], bool]]] = {
    "mixed": _mixed,
    "mixed-letters": _mixed_letters,
    "credential": _credential,
    "password": _password,
    "url": _url,
    "basic": _basic,
    "cookie": _cookie,
    "email": _email,
    "phone": _phone,
    "luhn": _luhn,
}
