"""Intents of a prompt: fault, review, delivery, design, looking, making, tests and others."""

from collections.abc import Callable
from functools import cache, lru_cache

from leftoff import lazy_re as re
from leftoff.extraction.rules import SHORT_TEXT
from leftoff.tables import table

_PATTERNS: dict[str, str] = {
    name: re.folded(row) for name, row in table(__file__, "intents.toml").items()
}


_RE = {n: re.compile(p, re.IGNORECASE | re.MULTILINE) for n, p in _PATTERNS.items()}


@cache
def _automaton() -> Callable[[bytes], list[int] | None]:
    """All patterns at once, for ASCII without `_ODD`: there RE2 and `re` mean the same."""
    return re.automaton((f"(?m){p}" for p in _PATTERNS.values()), ignore_case=True)


_NAMES = tuple(_PATTERNS)
# White space to `re`, and none to RE2.
_ODD = bytes((0x0B, *range(0x1C, 0x20)))

# They say that nothing of what was asked before is settled, unlike a yes.
_CONTINUE = re.compile(r"continue|try again|keep going|go on", re.IGNORECASE)
_SUBJECTS = frozenset(_PATTERNS) - {"go", "question"}
_SETTLED = frozenset({"fault", "review", "ordered review", "design", "looking"})


def intents(text: str) -> frozenset[str]:
    """The intents of a prompt, by its beginning and its end."""
    # A long prompt says at its ends what is wanted, and pastes between them. Chosen by hand.
    seen = f"{text[:500]}\n{text[-150:]}" if len(text) > 650 else text
    size = {"short"} if len(text) < 40 else {"long"} if len(text) > 1000 else set()
    return _found(seen) | size


@lru_cache(maxsize=512)
def _found(seen: str) -> frozenset[str]:
    if len(seen) >= SHORT_TEXT and seen.isascii():
        raw = seen.encode()
        if len(raw.translate(None, _ODD)) == len(raw):
            return frozenset(_NAMES[number] for number in _automaton()(raw) or ())
    return frozenset(name for name, pattern in _RE.items() if pattern.search(seen))


def inherited(text: str, own: frozenset[str], before: frozenset[str]) -> frozenset[str]:
    """The intents in force: a prompt without a subject of its own inherits those before it.

    A yes starts the work that was discussed, so it ends fault, review and design; "continue"
    and "try again" change nothing.

    Args:
        own: the intents of the prompt itself.
        before: the intents in force before it."""
    if own & _SUBJECTS or not before:
        return own
    combined = (before - {"go", "short", "long"}) | (own & {"go", "short", "long"})
    if "go" in own and not _CONTINUE.search(text):
        combined -= _SETTLED
    return frozenset(combined)
