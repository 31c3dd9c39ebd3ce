"""Intents of a prompt: fault, review, delivery, design, looking, making, tests and others."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

from leftoff import lazy_re as re
from leftoff.extraction.rules import SHORT_TEXT

FAULT, REVIEW, ORDERED_REVIEW, DELIVERY = "fault", "review", "ordered review", "delivery"
DESIGN, LOOKING, MAKING, TESTS = "design", "looking", "making", "tests"
REMEDY, GO, QUESTION = "remedy", "go", "question"
SHORT, LONG = "short", "long"

_PATTERNS: dict[str, str] = {
    FAULT: (
        r"\b(?:broken|broke|bugs?|crash\w*|fatal|traceback|does(?:n.?t| not) work|not work\w*"
        r"|regression"
        r"|slow(?:er)?|why (?:is|are|does|did|do) (?:it|this|our|the|my|that)\b|still (?:not"
        r"|shows?|lists?"
        r"|using|the|get\w*|see\w*|fail\w*|broken|looks)|(?:pr|ci|build|tests?|test run|run"
        r"|command)"
        r" (?:\w+ )?(?:issue|fail\w*)|taking so long|debug\w*|explode\w*|happened again"
        r"|corrupt\w*|barf(?:s|ed)|chok(?:es|ed)|bork(?:s|ed)|blew up|blows up|died"
        r"|stuck|hangs?|somehow|i (?:am|'m) seeing|got a crash|error when|fails? (?:to|with)"
        r"|wrong|doesn.?t (?:change|show|do|seem|update)|pops? an? error|\[error\])(?:\b"
        r"|\])"
    ),
    REVIEW: (
        r"\b(?:review\w*|feedback|double check|audit|adversarial|(?:pr|diff) comments?)\b"
    ),
    ORDERED_REVIEW: (
        r"^\W*(?:ok\w*,? |now |please |then |can you )*(?:do an?|kick off|run an?"
        r"|start an?)? ?(?:\w+ )?"
        r"review\b|\breview (?:the|this|docs|our|all|everything|branch|pr\b)|adversarial"
        r"|double check"
        r"|check all|list (?:me )?the places|what is missing"
    ),
    DELIVERY: (
        r"\b(?:commit (?:this|it|the|everything|please|and|,)|commits?$|push\w*"
        r"|(?:draft |open |create |raise |a )+pr\b|pull request|merge|release|deploy|publish"
        r"|rebase"
        r"|branch name)\b|提交|推送|コミット|プッシュ|커밋|закоммить|запушь"
    ),
    DESIGN: (
        r"\b(?:plan|brainstorm|design\w*|architecture|approach|options?|think|idea|propos\w+"
        r"|alternatives?|suggest\w*|strategy|wonder\w*|instead|should (?:we|it|i)|what if"
        r"|could we"
        r"|what would|better way|simplif\w+)\b"
    ),
    LOOKING: (
        r"\b(?:explore|overview|look (?:at|into)|have a look|investigat\w+|analy\w+|research"
        r"|find out"
        r"|understand|explain|figure out|learn|read|check|list)\b"
    ),
    MAKING: (
        r"\b(?:add|implement\w*|create|write|change|update|rename|remove|delete|make|move"
        r"|port|refactor"
        r"|replace|document|hide|use|set|adjust|modify|build|put|fix(?: it| all| both| them)?"
        r"|address|do"
        r"|cut|sort|start|keep)\b"
    ),
    TESTS: (
        r"\b(?:tests?|test run|e2e|coverage|integration tests?|testen|testar|teste|tester"
        r"|prueba|probar)\b|测试|テスト|테스트|протестируй|тесты"
    ),
    REMEDY: r"\b(?:fix|address|resolve|implement)\b",
    GO: (
        r"^\W*(?:yes|yeah|yep|ok|okay|go|do|sure|continue|keep|let.?s|fix all|fix both|fix them"
        r"|[a-d]\b|[1-9]\b)"
    ),
    QUESTION: r"\?\s*$",
}


@cache
def _compiled() -> dict[str, re.Pattern[str]]:
    return {
        name: re.compile(pattern, re.IGNORECASE | re.MULTILINE)
        for name, pattern in _PATTERNS.items()
    }


@cache
def _automaton() -> Callable[[bytes], list[int] | None]:
    """All patterns at once, for ASCII without `_ODD`: there RE2 and `re` mean the same."""
    return re.automaton((f"(?m){p}" for p in _PATTERNS.values()), ignore_case=True)


_NAMES = tuple(_PATTERNS)
# White space to `re`, and none to RE2.
_ODD = bytes((0x0B, *range(0x1C, 0x20)))

_CONTINUE = re.compile(r"continue|try again|keep going|go on", re.IGNORECASE)
_SUBJECTS = frozenset(
    {FAULT, REVIEW, ORDERED_REVIEW, DELIVERY, DESIGN, LOOKING, MAKING, TESTS, REMEDY}
)
_SETTLED = frozenset({FAULT, REVIEW, ORDERED_REVIEW, DESIGN, LOOKING})


def intents(text: str) -> frozenset[str]:
    """The intents of a prompt, by its beginning and its end."""
    seen = f"{text[:500]}\n{text[-150:]}" if len(text) > 650 else text
    found = set(_found(seen))
    if len(text) < 40:
        found.add(SHORT)
    if len(text) > 1000:
        found.add(LONG)
    return frozenset(found)


@lru_cache(maxsize=512)
def _found(seen: str) -> frozenset[str]:
    if len(seen) >= SHORT_TEXT and seen.isascii():
        raw = seen.encode()
        if len(raw.translate(None, _ODD)) == len(raw):
            return frozenset(_NAMES[number] for number in _automaton()(raw) or ())
    return frozenset(name for name, pattern in _compiled().items() if pattern.search(seen))


def inherited(text: str, own: frozenset[str], before: frozenset[str]) -> frozenset[str]:
    """The intents in force: a prompt without a subject of its own inherits those before it.

    A yes starts the work that was discussed, so it ends fault, review and design; "continue"
    and "try again" change nothing.

    Args:
        own: the intents of the prompt itself.
        before: the intents in force before it.
    """
    if own & _SUBJECTS or not before:
        return own
    combined = (before - {GO, SHORT, LONG}) | (own & {GO, SHORT, LONG})
    if GO in own and not _CONTINUE.search(text):
        combined -= _SETTLED
    return frozenset(combined)
