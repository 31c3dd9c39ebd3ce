"""Whether the run of a check proves a claim ("all tests pass"), or its opposite.

The last run of the same kind before the claim decides, and only where nothing stands between
them that could have changed the result: an edit, another run, a command that is not known. The
run must be of what the claim is about: a claim that names a tool is judged by that tool, one
about unit tests not by a browser test, one about some tests not by a run where others failed.
What is left is only claimed."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.analysis.activities import EDITING, Done
from leftoff.analysis.check_commands import BY_NAME
from leftoff.analysis.checks import checks
from leftoff.extraction.evidence import Asked
from leftoff.extraction.rule_sets import CHECK_TOOLS
from leftoff.extraction.rules import Rule, rules
from leftoff.model import Ref
from leftoff.session_view import SessionView
from leftoff.summary import Check

# The rules of `extraction/rules/claims.toml` by id.
RULES: dict[str, Rule] = {rule.id: rule for rule in rules("claims")}

# The kinds of checks that a claim is about.
KINDS: dict[str, frozenset[str]] = {
    "tests_pass": frozenset({"test"}),
    "build_passes": frozenset({"build"}),
    "lint_passes": frozenset({"lint", "format"}),
    "typecheck_passes": frozenset({"typecheck"}),
}

_MILESTONES = {kind: milestone for milestone, kinds in KINDS.items() for kind in kinds}

# Activities after which a failed check would fail again.
_HARMLESS = frozenset(
    "look search inspect_change fetch read_pull_request plan ask wait commit push issue"
    " pull_request tidy".split()
)
_LEVELS = ("e2e", "integration", "unit")
# The broadest first: a path such as `e2e/unit_helpers` belongs to a browser test.
_RUN_LEVEL = (
    (re.compile(r"e2e|end-to-end|playwright|cypress|smoke", re.IGNORECASE), "e2e"),
    (re.compile(r"integration", re.IGNORECASE), "integration"),
    (re.compile(r"\bunit\b", re.IGNORECASE), "unit"),
)


_TOOLS = {
    words: tool.name
    for tool in CHECK_TOOLS[::-1]
    for words in (*tool.commands, tool.name)
    if words and tool.kind != "other" and words not in {"make", "standard", "next"}
}
# The longest first, so that "cargo nextest" is not read as "cargo"; no part of a path or word.
_NAMED_TOOL = re.compile(
    r"(?<![\w./-])(?:"
    + "|".join(sorted(map(re.escape, _TOOLS), key=len, reverse=True))
    + r")(?![\w-])"
)


class Proof(Struct, frozen=True):
    """What stands behind a claim.

    Attributes:
        evidence: verified | claimed | contradicted.
        why: the reason.
        text, ref: the line that decided and its output; "" and None where nothing did.
        check: index in `checks` of the run that decided."""

    evidence: str
    why: str
    text: str = ""
    ref: Ref | None = None
    check: int | None = None


class ClaimChecks:
    """The checks of a session, to be asked about claims."""

    def __init__(self, view: SessionView) -> None:
        self.all = checks(view)
        # A long session has thousands of checks and of claims.
        self.messages = [check.ref.message for check in self.all]
        self.of_kind: dict[str, list[int]] = {}
        for number, check in enumerate(self.all):
            self.of_kind.setdefault(check.kind, []).append(number)
        self.typed = sorted(asked.ref.message for asked in view.active(Asked))
        self.done = Done(view)

    def kinds_before(self, message: int, part: int, since: int) -> Iterator[str]:
        """The milestone kinds of the checks run last before a place, from `since` on."""
        last = self._last(self.of_kind, since, message, lambda c: _before(c, message, part))
        yield from dict.fromkeys(_MILESTONES[c.kind] for _, c in last if c.kind in _MILESTONES)

    def _last(
        self, kinds: Iterable[str], start: int, end: int, fits: Callable[[Check], bool]
    ) -> list[tuple[int, Check]]:
        """The last check of some kinds in messages `start` to `end` that fits, and those of the
        same command that do, numbered."""
        first, stop = bisect_left(self.messages, start), bisect_right(self.messages, end)
        last = first - 1
        for kind in kinds:
            numbers = self.of_kind.get(kind, [])
            later = numbers[bisect_right(numbers, last) : bisect_left(numbers, stop)]
            last = next((n for n in reversed(later) if fits(self.all[n])), last)
        if last < first:
            return []
        here = self.messages[last]
        same = range(bisect_left(self.messages, here), bisect_right(self.messages, here))
        part = self.all[last].ref.part
        found = [(n, self.all[n]) for n in same]
        return [(n, c) for n, c in found if c.ref.part == part and fits(c)]

    def proof(self, text: str, kind: str, message: int, part: int) -> Proof:
        """What the last run of the same check says about a claim at a place."""
        if RULES["elsewhere"].search(text):
            return Proof("claimed", "it is about another run than those recorded here")
        kinds = KINDS[kind]
        tools = {t for t in _named_tools(text) if kinds.intersection(_kinds_of(t))}
        level = next((name for name in _LEVELS if RULES[f"level-{name}"].search(text)), "")
        about = self._last(
            kinds,
            0,
            message,
            lambda c: (
                c.kind in kinds
                and _before(c, message, part)
                and (not tools or c.tool in tools or not c.tool)
                # Unit tests are the default.
                and (not level or level == (_level(c) or "unit"))
            ),
        )
        if not about:
            return Proof("claimed", "no run of that check before it")
        # The last run of each: one command may run a check twice.
        last = list({(c.tool, c.scope): (n, c) for n, c in about}.values())
        verdicts = {c.verdict for _, c in last}
        number, check = last[-1]
        if verdicts == {"passed"}:
            # Of named tests or files.
            narrow = all(re.search(r"::|/|\bTest\w|\.\w{1,4}\b", c.scope) for _, c in last)
            if RULES["of-all"].search(text) and kind == "tests_pass" and narrow:
                return Proof("claimed", "the last run was of a part only")
            if not EDITING.isdisjoint(self._between(check, message, part)):
                return Proof("claimed", "files were edited after the last run")
            return _proof("verified", "the last run before it passed", number, check)
        if verdicts != {"failed"}:
            return Proof("claimed", "the last run before it does not say how it ended")
        why = self._why_not(text, level, tools, check, message, part)
        if why:
            return Proof("claimed", why)
        return _proof("contradicted", "the last run before it failed", number, check)

    def _why_not(
        self, text: str, level: str, tools: set[str], check: Check, message: int, part: int
    ) -> str:
        """Why a failed run does not contradict a claim, "" where it does."""
        whole = RULES["of-all"].search(text)
        if (special := _level(check)) in {"e2e", "integration"} and not level and not whole:
            before = self.all[: bisect_left(self.messages, check.ref.message)]
            if any(c.kind == check.kind and _level(c) != special for c in before):
                return "the last run was of tests of another level"
        words = RULES["none-failed"].exact.sub("", text.lower())
        if RULES["partly"].search(words):
            return "it says itself that not everything passed"
        if check.kind == "test" and not whole and RULES["of-some"].search(text):
            return "it is about some tests"
        if re.search(r"(?<!\w)\d", words) and not whole and words == text.lower():
            return "it is about a number of results"
        quoted = [w for w in re.findall(r"`([^`]+)`", text) if not _NAMED_TOOL.search(w)]
        if quoted and not all(w in check.command for w in quoted):
            return "it names something else than what was run"
        if self._between(check, message, part) - _HARMLESS:
            return "something else was done after the last run"
        typed = bisect_left(self.typed, check.ref.message)
        if typed < len(self.typed) and self.typed[typed] <= message:
            return "the person spoke after the last run, and may have run it again"
        return ""

    def _between(self, check: Check, message: int, part: int) -> set[str]:
        after = check.ref.part + 1 if check.ref.part is not None else 0
        return self.done.between((check.ref.message, after), (message, part))


def kinds_named(text: str) -> list[str]:
    """The milestone kinds of the tools that a claim names."""
    kinds = [kind for tool in sorted(_named_tools(text)) for kind in _kinds_of(tool)[-1:]]
    return list(dict.fromkeys(_MILESTONES[kind] for kind in kinds if kind in _MILESTONES))


def _named_tools(text: str) -> set[str]:
    return {_TOOLS[match[0]] for match in _NAMED_TOOL.finditer(text.lower())}


def _before(check: Check, message: int, part: int) -> bool:
    """Whether the output of a check stands before a place."""
    ref = check.result or check.ref
    return (ref.message, ref.part if ref.part is not None else -1) < (message, part)


def _proof(evidence: str, why: str, number: int, check: Check) -> Proof:
    return Proof(evidence, why, check.line, check.result or check.ref, number)


def _kinds_of(tool: str) -> list[str]:
    return ["build", "test"] if tool in {"gradle", "maven"} else [BY_NAME[tool].kind]


def _level(check: Check) -> str:
    words = f"{check.scope} {check.command}"
    return next((level for pattern, level in _RUN_LEVEL if pattern.search(words)), "")
