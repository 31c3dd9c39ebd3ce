"""Results said to be reached, and what the tools show of them.

A claim is a sentence that a rule fired on; here it is judged: is it a claim at all, of which
kind, was it made before, and does a tool's output bear it out.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property

from leftoff.analysis.activities import EDITING, activities
from leftoff.analysis.requests import is_fault, wants_words
from leftoff.extraction.evidence import Asked, Called, Said, Shown
from leftoff.session_view import Story
from leftoff.summary import Milestone

CHECKS = ("tests_pass", "build_passes", "lint_passes")
ENDS = ("bug_fixed", "feature_done", "task_done")
"""Kinds that end a request; a statement has exactly one of them."""

_BY_TOOLS = ("committed", "pushed", "merged", "pr_opened", "released", "deployed")
"""Kinds that a tool's output shows beyond doubt, so that nobody needs to say them."""

_NEAR = 12
"""Messages within which words and a shown result speak of the same event."""

_NOT_YET = re.compile(
    r"\b(?:should|would|could|will|might|may|must|can|if|when|once|until|before|unless|not"
    r"|never"
    r"|cannot|no longer|needs? to|want(?:s|ed)?|let me|let['’]s|going to|try|trying|ensure"
    r"|make sure"
    r"|verify|check that|confirm that|wait(?:ing)?|whether|to see|expect(?:ed|s)?|so that"
    r"|i['’]ll"
    r"|still|only|which|that|assum\w+|already|after|while|previously|was|were|where|because"
    r"|did|fail(?:s|ed|ing|ures?)?|to be|nothing|none|how|why|what|for each|every time)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_HARD_NOT = re.compile(
    r"\b(?:should|would|could|will|might|may|must|if|until|unless|not|never|cannot|needs? to"
    r"|let me|let['’]s|going to|try|trying|ensure|make sure|verify (?:that|the)|whether"
    r"|to see|wait(?:ing)?"
    r"|expect(?:ed|s)?|i['’]ll|once|when|so that|required|before|how|implies|usually)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_AFTER_NOT = re.compile(
    r"^\W{0,3}(?:except|unless|only if|if|when|once|on my machine\?)\b"
    r"|^[^.!\n]{0,60}\?\s*$",
    re.IGNORECASE,
)
_THROUGH = re.compile(
    r"^pass(?:es|ed|ing)\s+(?:an?|the|in(?!\s+[\d~<])|to|by|through|it|them|as|along|over"
    r"|into|its|this"
    r"|that|these|those|up|down|data|values?|arguments?|context|around|from|`(?!`))\b"
    r"|^(?:green|clean)(?:\s+(?:\w+ly\s+)?(?!across|on|for|now|locally|too|with|and|run"
    r"|in\b)\w|\s*[`/])"
    r"|^green\W+[(:`#]|^successfully\s+\w",
    re.IGNORECASE,
)
_OTHER_CLEAN = re.compile(
    r"\b(?:a|the|with|(?:work(?:ing)? ?)?tree|worktree|status|scope|diff|state|directory"
    r"|that['’]s|it['’]s"
    r"|branch|code|i|we|you|they|he) (?:is |are |was |stays |and )?(?:\w+ly )?$",
    re.IGNORECASE,
)
_TESTS = re.compile(
    r"\b(?:(?:unit|integration|regression|e2e|all|new|the|existing|targeted|full"
    r"|\d+)\s+)?(?:tests?"
    r"|specs?|suites?|regressions?|test:\S+|pytest|jest|vitest|mocha|rspec|cases|race suite)\b"
    r"|\b\d+ passed\b|\b\d+/\d+\b",
    re.IGNORECASE,
)
_BUILD = re.compile(r"\b(?:builds?|built|compil(?:es|ed|ation))\b", re.IGNORECASE)
_LINT = re.compile(
    r"\b(?:lint\w*|vet|mypy|ruff|eslint|tsc|type-?\s?check\w*|fmt|gofmt|format(?:ting)?"
    r"|markdownlint"
    r"|markdownlint-cli2|vale|golangci-lint|clippy|biome|shellcheck|static analysis"
    r"|prettier)\b",
    re.IGNORECASE,
)
_GENERAL = re.compile(
    r"^\W*(?:(?:perfect|great|good|excellent|nice|done|ok(?:ay)?|yes)\W+)?(?:all\b"
    r"|everything\b|both\b|clean\W*$"
    r"|(?:all )?checks?\b|verification\b|validation\b|ci\b|gates?\b|all green|green\W*$)",
    re.IGNORECASE,
)
_IDLE_NOW = re.compile(
    r"^\W*(?:(?:perfect|great|good|ok(?:ay)?)\W+)?(?:right )?now (?:i|we|let|you|there"
    r"|it['’]?s|the (?:full|lint)|try|run|for|that)\b"
    r"|^\W*(?:updated|changed|added|modified|created|removed|new) (?:files|tests)\b"
    r"|^\W*right now\b",
    re.IGNORECASE,
)
_ONLY_SENT = re.compile(
    r"^\W*(?:ok(?:ay)?\W+|please |now |alright\W+|then )*(?:commit|push|merge|release"
    r"|do a release|open a pr)\b",
    re.IGNORECASE,
)
_DELIVERED = re.compile(
    r"^\W*(?:(?:done|fixed|perfect|great|ok)\b\W+(?:and )?)?(?:i(?:['’]ve"
    r"| have)? )?(?:committed|pushed|merged"
    r"|released|published|rebased|squashed|force-pushed|opened|tagged|committing)\b",
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"\b(?:is|are) (?:now )?(?:complete|done|finished)\b|\bcomplete\W*$|\bfix(?:es)? (?:is "
    r"|are |now )*(?:works"
    r"|confirmed|verified|complete)|resolves the (?:issue|bug)|confirmed fixed"
    r"|\b(?:issue|bug|problem)\b[^.!?\n]{0,20} (?:is|has been) (?:now )?(?:fixed|resolved)\b"
    r"|\b(?:works|working) now\b"
    r"|\bconfirms the fix|\bplan complete"
    r"|^\W*it works\b",
    re.IGNORECASE,
)
_FIX = re.compile(
    r"\b(?:fix(?:e[sd])?|bugs?|crash\w*|resolve[sd]?|no longer|corrected|properly|correctly"
    r"|regression"
    r"|works now|working now|root cause)\b|^\W*it works\b",
    re.IGNORECASE,
)
_PAPER = re.compile(
    r"\b(?:docs?|document\w*|readme|design|plan|memo|issue|comments?|threads?|changelog"
    r"|written to|saved"
    r"|logged|recorded|guidance|report|task \d|batch|spec|review\w*|findings?|diagram|example"
    r"|renamed"
    r"|hid|removed|cleaned|ran|memo|table|section|logg?ed|rebased?|refactor\w*)\b",
    re.IGNORECASE,
)
_FEATURE = re.compile(
    r"\b(?:implement\w*|features?|support\w*|mode|command|flag|option|function|hook|event"
    r"|endpoint"
    r"|end-to-end|migration)\b|^\W*(?:done\W+)?(?:i(?:['’]ve| have)? )?added\b",
    re.IGNORECASE,
)
_PAPER_ASKED = re.compile(
    r"\b(?:docs?|document\w*|readme|memo|issue|comments?|changelog|report|review\w*|diagram"
    r"|rename)\b",
    re.IGNORECASE,
)
_MAKES = re.compile(r"\b(?:implement\w*|features?|support|ability|introduce)\b", re.IGNORECASE)


def milestones(story: Story) -> tuple[Milestone, ...]:
    """Results said to be reached, each with what the tools show of it; then commits, pushes
    and the like that the tools show and nobody mentioned.

    Exactly one of `ENDS` is kept for a message. A kind that was claimed before counts again
    only if something was done in between.
    """
    return Claims(story).judge()


_CHECKING = frozenset(
    {"test", "build", "lint", "run", "run_scratch", "delegate", "wait", "other", "skill"}
)
_NEEDS = {
    "committed": frozenset({"commit", "sync", "delegate", "run"}),
    "pushed": frozenset({"push", "sync", "delegate", "run"}),
    "pr_opened": frozenset({"pull_request", "push"}),
    "merged": frozenset({"sync", "pull_request"}),
}
"""What must have been done before a kind can be claimed again."""


class Claims:
    """The claims of one session against its calls and their results.

    Attributes:
        left_out: claims that are no milestones, with the reason, once judged.
        sources: the claim that each milestone was made of, once judged.
    """

    def __init__(self, story: Story) -> None:
        self.story = story
        self.shown = list(story.all(Shown))
        self.prompts = sorted(
            a.ref.message for a in story.told(Asked) if a.via in {"prompt", "command"}
        )
        self.handed = story.thread.handed()
        self.words = {a.ref.message: a.text for a in story.told(Asked)}
        acts = activities(story)
        self.calls = sorted({c.message for c in story.told(Called)})
        self.doing = sorted((m, a) for (m, _), found in acts.items() for a in found)
        self.edits = sorted({m for m, a in self.doing if a in EDITING})
        self.claimed: dict[str, int] = {}
        self.left_out: list[tuple[Said, str]] = []
        self.sources: dict[Milestone, Said] = {}

    def judge(self) -> tuple[Milestone, ...]:
        found: list[Milestone] = []
        ends: dict[int, list[Said]] = {}
        for said in sorted(self.story.said("milestone"), key=_place):
            kinds = list(self._kinds(said))
            if not kinds:
                self.left_out.append((said, "no claim, or work goes on after it"))
            for kind in kinds:
                at = said.ref.message
                if kind == "end":
                    ends.setdefault(at, []).append(said)
                    continue
                if self._repeats(kind, at):
                    self.left_out.append((said, "said before, and nothing was done since"))
                    continue
                self.claimed[kind] = at
                found.append(self._milestone(said, kind))
        for claims in ends.values():
            found.append(self._milestone(claims[0], self._which_end(claims)))
            self.left_out += [(said, "one end for each message") for said in claims[1:]]
        found += self._unsaid()
        found.sort(key=lambda m: (m.ref.message, m.ref.part or 0, m.ref.start or 0, m.kind))
        return tuple(found)

    def _milestone(self, said: Said, kind: str) -> Milestone:
        evidence = self.grounds(said, kind)[0]
        milestone = Milestone(said.text, kind, evidence, self.story.ref(said.ref))
        self.sources[milestone] = said
        return milestone

    # -- is it a claim, and of what ----------------------------------------------------------

    def _kinds(self, said: Said) -> Iterator[str]:
        rule = said.rule
        text = said.text.replace("`", " ")
        before, after = said.text[: said.start], said.text[said.start :]
        if text.rstrip().endswith("?"):
            return
        if said.value in {"done", "did"}:
            yield from self._end(said)
        elif said.value == "check":
            wrong = _THROUGH.search(after) or _OTHER_CLEAN.search(before)
            if not wrong and not _HARD_NOT.search(_clause(before)):
                yield from self._checks(said, text)
        elif rule == "review-passed":
            if not _HARD_NOT.search(_clause(before)):
                yield said.value
        elif rule == "in-commit":
            if not _HARD_NOT.search(_clause(before)) and self._committed(said.ref.message):
                yield "committed"
        elif rule == "deployed":
            if not _NOT_YET.search(_clause(before)):
                yield "deployed"
        elif not _NOT_YET.search(_clause(before)) and not _AFTER_NOT.search(after[12:]):
            yield said.value

    def _checks(self, said: Said, text: str) -> Iterator[str]:
        """The checks that a sentence says passed."""
        named = [
            kind
            for kind, pattern in zip(CHECKS, (_TESTS, _BUILD, _LINT), strict=True)
            if pattern.search(text)
        ]
        if named:
            yield from named
        elif _GENERAL.search(said.text):
            yield from self._just_run(said.ref.message)

    def _just_run(self, message: int) -> Iterator[str]:
        """The kind of the check that ran last before the words, within the same request."""
        start = self._since_prompt(message)
        place = bisect_left(self.doing, (message + 1, ""))
        kinds = {"test": "tests_pass", "build": "build_passes", "lint": "lint_passes"}
        for at, activity in reversed(self.doing[:place]):
            if at < start:
                return
            if activity in kinds:
                yield kinds[activity]
                return

    def _end(self, said: Said) -> Iterator[str]:
        """Whether a request is said to be served, and which end that is."""
        at = said.ref.message
        closing = self._closes(at)
        strong = _STRONG.search(said.text)
        if not closing and not strong:
            return
        head = said.text[: said.start]
        if _HARD_NOT.search(_clause(head)) or _DELIVERED.search(said.text):
            return
        if _ONLY_SENT.search(self._request(at)) and not self._changed(at):
            return
        if said.value == "did" and (_IDLE_NOW.search(said.text) or not self._worked(at)):
            return
        if said.value == "done" and not strong and not self._worked(at):
            return
        yield "end"

    def _which_end(self, claims: list[Said]) -> str:
        """One of `ENDS`, by the first words of the statement and by what was asked."""
        text = claims[0].text
        if len(text) < 30 and len(claims) > 1:
            text = f"{text} {claims[1].text}"
        asked = self._request(claims[0].ref.message)
        if _FIX.search(text) or is_fault(asked):
            return "bug_fixed"
        if _PAPER.search(text):
            return "task_done"
        if _FEATURE.search(text):
            return "feature_done"
        if not _PAPER_ASKED.search(asked[:200]) and _MAKES.search(asked[:300]):
            return "feature_done"
        return "task_done"

    # -- what stands around it ---------------------------------------------------------------

    def _since_prompt(self, message: int) -> int:
        place = bisect_right(self.prompts, message)
        return self.prompts[place - 1] if place else 0

    def _request(self, message: int) -> str:
        """The last thing asked for that says what is wanted."""
        for prompt in reversed(self.prompts[: bisect_right(self.prompts, message)]):
            if wants_words(self.words[prompt]):
                return self.words[prompt]
        return ""

    def _closes(self, message: int) -> bool:
        """Whether the agent did nothing more between the words and what it was told next, by a
        person or by the recorder (a command's text, a helper's order)."""
        place = bisect_right(self.handed, message)
        until = self.handed[place] if place < len(self.handed) else 1 << 62
        later = bisect_right(self.calls, message)
        return later >= len(self.calls) or self.calls[later] > until

    def _worked(self, message: int) -> bool:
        """Whether anything was changed for the request that the words answer."""
        start = self._since_prompt(message)
        place = bisect_left(self.doing, (start, ""))
        end = bisect_left(self.doing, (message + 1, ""))
        looking = {"look", "search", "inspect_change", "fetch", "wait", "read_pull_request"}
        return any(activity not in looking for _, activity in self.doing[place:end])

    def _committed(self, message: int) -> bool:
        """Whether a commit was made for the request that the words answer."""
        start = bisect_left(self.doing, (self._since_prompt(message), ""))
        end = bisect_left(self.doing, (message + 1, ""))
        return any(activity == "commit" for _, activity in self.doing[start:end])

    def _changed(self, message: int) -> bool:
        """Whether a file was edited for the request that the words answer."""
        return self._edited(self._since_prompt(message) - 1, message + 1)

    def _repeats(self, kind: str, message: int) -> bool:
        """Whether the same was claimed before and nothing was done since."""
        before = self.claimed.get(kind, -1)
        if before < 0:
            return False
        if before == message:
            return True
        place = bisect_right(self.doing, (before, "~"))
        end = bisect_left(self.doing, (message + 1, ""))
        needed = _NEEDS.get(kind, _CHECKING)
        since = {activity for _, activity in self.doing[place:end]}
        return not since & needed

    # -- evidence ----------------------------------------------------------------------------

    @cached_property
    def _by_kind(self) -> dict[str, list[Shown]]:
        found: dict[str, list[Shown]] = {}
        for result in self.shown:
            of_kind = found.setdefault(result.kind, [])
            last = of_kind[-1] if of_kind else None
            if last is not None and last.ref.message == result.ref.message:
                # One output with both: what failed in it decides.
                if last.good and not result.good:
                    of_kind[-1] = result
                continue
            of_kind.append(result)
        return found

    def grounds(self, said: Said, kind: str) -> tuple[str, str, Shown | None]:
        """The evidence of a claim (verified, contradicted or claimed), why, and the result that
        decided.

        The last result of that kind before the words decides, unless files were edited in
        between. A check that fails later with no edit in between contradicts the words too.
        """
        at = said.ref.message
        results = self._by_kind.get(kind, [])
        before = [r for r in results if r.ref.message <= at]
        if not before:
            return "claimed", "no tool result of that kind before it", None
        last = before[-1]
        if not last.good:
            return "contradicted", "the last result before it says otherwise", last
        if kind in CHECKS and self._edited(last.call_message, at):
            return "claimed", "files were edited after the last result", last
        following = [r for r in results if r.ref.message > at]
        if kind in CHECKS and following and not following[0].good:
            if not self._edited(at, following[0].ref.message):
                why = "the next result says otherwise, with no edit in between"
                return "contradicted", why, following[0]
        return "verified", "the last result before it shows it", last

    def _edited(self, start: int, end: int) -> bool:
        place = bisect_right(self.edits, start)
        return place < len(self.edits) and self.edits[place] < end

    def _unsaid(self) -> Iterator[Milestone]:
        """What the tools show and nobody mentioned near it."""
        said = {kind: [] for kind in _BY_TOOLS}  # type: dict[str, list[int]]
        for claim in self.story.said("milestone"):
            if claim.value in said:
                said[claim.value].append(claim.ref.message)
        for result in self.shown:
            if result.kind in said and result.good:
                near = said[result.kind]
                if not any(-2 <= m - result.ref.message <= _NEAR for m in near):
                    near.append(result.ref.message)
                    where = self.story.ref(result.ref)
                    yield Milestone(result.text, result.kind, "verified", where, "tool")


def _place(said: Said) -> tuple[int, int, int]:
    return said.ref.message, said.ref.part or 0, (said.ref.start or 0) + said.start


def _clause(before: str) -> str:
    """What stands in the same clause before a match."""
    start = max(before.rfind(mark) for mark in (";", " — ", " – ", ": ", ", but ", " but "))
    return before[start + 1 :] if start >= 0 else before
