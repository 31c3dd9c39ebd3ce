"""Loads the rules of redaction from `rules.toml`."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.tables import table

_TABLE: Final = table(__file__, "rules.toml")


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


def expand_macros(pattern: str) -> str:
    """The pattern with the macros of the rules file (`<L>`, `<WS>`, ...) expanded."""
    for name, macro in _MACROS.items():
        pattern = pattern.replace(f"<{name}>", macro)
    return pattern


_MACROS: Final = {name: re.folded(macro) for name, macro in _TABLE["macros"].items()}


def _load() -> tuple[tuple[Rule, ...], dict[str, list[str]]]:
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
        for rank, entry in enumerate(_TABLE["rule"])
    )
    return rules, _TABLE["paths"]


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
