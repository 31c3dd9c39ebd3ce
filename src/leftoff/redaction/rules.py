"""Loads the rules of redaction from `rules.toml`."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.tables import table

_MACROS: Final = {
    "<L>": r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbfv0])|(?<=\\u[0-9A-Fa-f]{4})"
    r"|(?<=%[0-9A-Fa-f]{2})|(?<=[0-9;\[]m))",
    "<R>": r"(?![A-Za-z0-9])",
    # What must follow a name for the gate: an end of the name, then what can join a value.
    "<GATE>": r"""[a-z0-9_.\-]*(?:[\s\x0b?\\"'`\])]*(?:[:=>,]|<-)|[\s\x0b\\"',n]*value)""",
    "<WS>": r"[ \t\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]",
    "<PW>": r"(?:password|passwd|passphrase|passcode|(?<![A-Za-z])(?:pass|pwd)"
    r"|(?-i:(?<=[a-z])(?:Pass|Pwd)))",
    "<TK>": r"(?:secret|token|api[_. -]?key|credentials?|(?<![A-Za-z])auth|secret_key_base"
    r"|(?:access|auth|account|secret|private|signing|encryption|master|shared|service|storage"
    r"|admin|deploy|session|webhook|jwt|hmac|app|client|ssh)[_.-]?key)",
    "<SUFFIX>": r"(?:[_.-]?(?:[0-9]{1,2}|value|prod|production|dev|staging|live|base64|b64|old"
    r"|new|backup)(?![A-Za-z0-9]))?",
    "<SEP>": r"""(?:[\\"'`\])]{0,8}<WS>{0,8}"""
    r"""(?::<WS>?[A-Za-z.\[\]|?]{1,24}<WS>?=|=>|:=|:|=(?!=)|<-)"""
    r"""<WS>{0,8}|\\{0,8}["']<WS>{0,2},<WS>{0,2}(?=\\{0,8}["'])"""
    r"""|\\{0,8}["']?,?(?:\s|\\n){0,12}\\{0,8}["']?value\\{0,8}["']?<WS>{0,2}[:=]<WS>{0,2}"""
    r"""|(?-i:(?<=[a-z]))<WS>{0,2}>)""",
    "<VALUE>": r"""(?:(?P<q>\\{0,8}["'`])(?P<secret>(?!["']|(?P=q))[^\r\n]{4,256}?)"""
    r"""(?<!\\)(?P=q)"""
    r"""|(?-i:(?<=[A-Z0-9]=))(?P<secret2>[^\s"'`\\;<>\u2039\u203a]{4,512})"""
    r"""|(?P<secret3>[^\s"'`,;<>\u2039\u203a(){}\[\]\\&|]{6,512}))""",
}


class Rule(Struct, frozen=True):
    """One entry of the rules file, where its fields are described; `rank` is its position."""

    kind: str
    gate: str
    pattern: str
    back: int
    check: str
    matcher: str
    personal: bool
    rank: int


_EDGES: Final = ("<L>", "<R>", "<WS>")


def expand_macros(pattern: str) -> str:
    """The pattern with the macros of the rules file (`<L>`, `<WS>`, ...) expanded."""
    for name in ("<GATE>", "<PW>", "<TK>", "<SUFFIX>", "<SEP>", "<VALUE>", *_EDGES):
        pattern = pattern.replace(name, _MACROS[name])
    return pattern


def _load() -> tuple[tuple[Rule, ...], dict[str, list[str]]]:
    data = table(__file__, "rules.toml")
    rules = tuple(
        Rule(
            kind=entry["kind"],
            gate=expand_macros(entry["gate"]),
            pattern=entry.get("pattern", ""),
            back=entry.get("back", 0),
            check=entry.get("check", ""),
            matcher=entry.get("matcher", ""),
            personal=entry.get("set") == "personal",
            rank=rank,
        )
        for rank, entry in enumerate(data["rule"])
    )
    return rules, data["paths"]


RULES, _PATHS = _load()


@lru_cache(maxsize=1)
def rules_digest() -> str:
    """Sixteen hex digits that change whenever a rule changes."""
    import hashlib  # loads OpenSSL

    return hashlib.sha256(repr((RULES, _PATHS)).encode()).hexdigest()[:16]


def _glob(patterns: list[str]) -> re.Pattern[str]:
    parts = (re.escape(p).replace(r"\*", "[^/]*") for p in patterns)
    return re.compile(rf"(?:^|/)(?:{'|'.join(parts)})$")


_SECRET_PATH = _glob(_PATHS["secret"])
_PLAIN_PATH = _glob(_PATHS["plain"])


def is_secret_path(path: str) -> bool:
    """Whether a file of this path is secret as a whole: `.env`, `*.pem`, `id_rsa`, `.netrc`."""
    plain = path.strip().rstrip("/\\").replace("\\", "/").lower()
    return bool(_SECRET_PATH.search(plain)) and not _PLAIN_PATH.search(plain)
