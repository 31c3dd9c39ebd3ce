"""Milestones: claims of results, checked against the results of the tools.

A claim is a sentence that a rule matched. This module decides whether it is a claim at all, of
which kind, whether it repeats an earlier one, and whether a tool's output confirms it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property

from leftoff.analysis.activities import EDITING, activities
from leftoff.analysis.requests import is_fault, wants_words
from leftoff.extraction.evidence import Asked, Called, Said, Shown
from leftoff.session_view import SessionView
from leftoff.summary import Milestone

CHECKS = ("tests_pass", "build_passes", "lint_passes")
COMPLETIONS = ("bug_fixed", "feature_done", "task_done")
"""Kinds that end a request; a message has at most one of them."""

_SHOWN_BY_TOOLS = ("committed", "pushed", "merged", "pr_opened", "released", "deployed")
"""Kinds that a tool's output proves, so that no claim is needed."""

_NEAR = 12
"""Messages within which a claim and a result mean the same event. Chosen by hand; not
measured."""

_HEDGED = re.compile(
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
_NEGATED = re.compile(
    r"\b(?:should|would|could|will|might|may|must|if|until|unless|not|never|cannot|needs? to"
    r"|let me|let['’]s|going to|try|trying|ensure|make sure|verify (?:that|the)|whether"
    r"|to see|wait(?:ing)?"
    r"|expect(?:ed|s)?|i['’]ll|once|when|so that|required|before|how|implies|usually)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_CONDITION_AFTER = re.compile(
    r"^\W{0,3}(?:except|unless|only if|if|when|once|on my machine\?)\b"
    r"|^[^.!\n]{0,60}\?\s*$",
    re.IGNORECASE,
)
_OTHER_PASS = re.compile(
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
_NO_RESULT = re.compile(
    r"^\W*(?:(?:perfect|great|good|ok(?:ay)?)\W+)?(?:right )?now (?:i|we|let|you|there"
    r"|it['’]?s|the (?:full|lint)|try|run|for|that)\b"
    r"|^\W*(?:updated|changed|added|modified|created|removed|new) (?:files|tests)\b"
    r"|^\W*right now\b",
    re.IGNORECASE,
)
_DELIVERY_REQUEST = re.compile(
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
_DOCUMENTS = re.compile(
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
_DOCUMENTS_REQUESTED = re.compile(
    r"\b(?:docs?|document\w*|readme|memo|issue|comments?|changelog|report|review\w*|diagram"
    r"|rename)\b",
    re.IGNORECASE,
)
_FEATURE_REQUEST = re.compile(
    r"\b(?:implement\w*|features?|support|ability|introduce)\b", re.IGNORECASE
)


def milestones(view: SessionView) -> tuple[Milestone, ...]:
    """Claims of results with their evidence, and the commits, pushes and the like that tools
    show without a claim.

    A message has at most one of `COMPLETIONS`. A kind that was claimed before counts again only
    if something was done in between.
    """
    return Claims(view).judge()


_CHECKING = frozenset(
    {"test", "build", "lint", "run", "run_scratch", "delegate", "wait", "other", "skill"}
)
_REPEAT_NEEDS = {
    "committed": frozenset({"commit", "sync", "delegate", "run"}),
    "pushed": frozenset({"push", "sync", "delegate", "run"}),
    "pr_opened": frozenset({"pull_request", "push"}),
    "merged": frozenset({"sync", "pull_request"}),
}
"""Activities of which one is needed before a kind can be claimed again."""


class Claims:
    """The claims of one session against its calls and their results.

    Attributes:
        left_out: rejected claims with the reason; filled by `judge`.
        sources: the claim behind each milestone; filled by `judge`.
    """

    def __init__(self, view: SessionView) -> None:
        self.view = view
        self.shown = list(view.all(Shown))
        self.prompts = sorted(
            a.ref.message for a in view.active(Asked) if a.via in {"prompt", "command"}
        )
        self.inputs = view.thread.inputs()
        self.words = {a.ref.message: a.text for a in view.active(Asked)}
        acts = activities(view)
        self.calls = sorted({c.message for c in view.active(Called)})
        self.done = sorted((m, a) for (m, _), found in acts.items() for a in found)
        self.edits = sorted({m for m, a in self.done if a in EDITING})
        self.claimed: dict[str, int] = {}
        self.left_out: list[tuple[Said, str]] = []
        self.sources: dict[Milestone, Said] = {}

    def judge(self) -> tuple[Milestone, ...]:
        found: list[Milestone] = []
        ends: dict[int, list[Said]] = {}
        for said in sorted(self.view.sentences("milestone"), key=_place):
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
            found.append(self._milestone(claims[0], self._completion_kind(claims)))
            self.left_out += [(said, "one end for each message") for said in claims[1:]]
        found += self._unclaimed()
        found.sort(key=lambda m: (m.ref.message, m.ref.part or 0, m.ref.start or 0, m.kind))
        return tuple(found)

    def _milestone(self, said: Said, kind: str) -> Milestone:
        evidence = self.evidence_of(said, kind)[0]
        milestone = Milestone(said.text, kind, evidence, self.view.ref(said.ref))
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
            yield from self._completion(said)
        elif said.value == "check":
            wrong = _OTHER_PASS.search(after) or _OTHER_CLEAN.search(before)
            if not wrong and not _NEGATED.search(_clause(before)):
                yield from self._checks(said, text)
        elif rule == "review-passed":
            if not _NEGATED.search(_clause(before)):
                yield said.value
        elif rule == "in-commit":
            if not _NEGATED.search(_clause(before)) and self._committed(said.ref.message):
                yield "committed"
        elif rule == "deployed":
            if not _HEDGED.search(_clause(before)):
                yield "deployed"
        elif not _HEDGED.search(_clause(before)) and not _CONDITION_AFTER.search(after[12:]):
            yield said.value

    def _checks(self, said: Said, text: str) -> Iterator[str]:
        """The checks that passed according to a sentence."""
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
        """The kind of the last check before a claim, within the same request."""
        start = self._since_prompt(message)
        place = bisect_left(self.done, (message + 1, ""))
        kinds = {"test": "tests_pass", "build": "build_passes", "lint": "lint_passes"}
        for at, activity in reversed(self.done[:place]):
            if at < start:
                return
            if activity in kinds:
                yield kinds[activity]
                return

    def _completion(self, said: Said) -> Iterator[str]:
        """Yields "end" if the sentence says that the request is done."""
        at = said.ref.message
        closing = self._closes(at)
        strong = _STRONG.search(said.text)
        if not closing and not strong:
            return
        head = said.text[: said.start]
        if _NEGATED.search(_clause(head)) or _DELIVERED.search(said.text):
            return
        if _DELIVERY_REQUEST.search(self._request(at)) and not self._changed(at):
            return
        if said.value == "did" and (_NO_RESULT.search(said.text) or not self._worked(at)):
            return
        if said.value == "done" and not strong and not self._worked(at):
            return
        yield "end"

    def _completion_kind(self, claims: list[Said]) -> str:
        """One of `COMPLETIONS`, by the first claims of the message and by the request."""
        text = claims[0].text
        if len(text) < 30 and len(claims) > 1:
            text = f"{text} {claims[1].text}"
        asked = self._request(claims[0].ref.message)
        if _FIX.search(text) or is_fault(asked):
            return "bug_fixed"
        if _DOCUMENTS.search(text):
            return "task_done"
        if _FEATURE.search(text):
            return "feature_done"
        if not _DOCUMENTS_REQUESTED.search(asked[:200]) and _FEATURE_REQUEST.search(
            asked[:300]
        ):
            return "feature_done"
        return "task_done"

    # -- what stands around it ---------------------------------------------------------------

    def _since_prompt(self, message: int) -> int:
        place = bisect_right(self.prompts, message)
        return self.prompts[place - 1] if place else 0

    def _request(self, message: int) -> str:
        """The last prompt that says what is wanted."""
        for prompt in reversed(self.prompts[: bisect_right(self.prompts, message)]):
            if wants_words(self.words[prompt]):
                return self.words[prompt]
        return ""

    def _closes(self, message: int) -> bool:
        """Whether the agent called nothing more between a message and its next input, from the
        person or the recorder (a command's text, a subagent's instructions)."""
        place = bisect_right(self.inputs, message)
        until = self.inputs[place] if place < len(self.inputs) else 1 << 62
        later = bisect_right(self.calls, message)
        return later >= len(self.calls) or self.calls[later] > until

    def _worked(self, message: int) -> bool:
        """Whether anything but looking was done for the request before a message."""
        start = self._since_prompt(message)
        place = bisect_left(self.done, (start, ""))
        end = bisect_left(self.done, (message + 1, ""))
        looking = {"look", "search", "inspect_change", "fetch", "wait", "read_pull_request"}
        return any(activity not in looking for _, activity in self.done[place:end])

    def _committed(self, message: int) -> bool:
        """Whether a commit was made for the request before a message."""
        start = bisect_left(self.done, (self._since_prompt(message), ""))
        end = bisect_left(self.done, (message + 1, ""))
        return any(activity == "commit" for _, activity in self.done[start:end])

    def _changed(self, message: int) -> bool:
        """Whether a file was edited for the request before a message."""
        return self._edited(self._since_prompt(message) - 1, message + 1)

    def _repeats(self, kind: str, message: int) -> bool:
        """Whether the same was claimed before and nothing was done since."""
        before = self.claimed.get(kind, -1)
        if before < 0:
            return False
        if before == message:
            return True
        place = bisect_right(self.done, (before, "~"))
        end = bisect_left(self.done, (message + 1, ""))
        needed = _REPEAT_NEEDS.get(kind, _CHECKING)
        since = {activity for _, activity in self.done[place:end]}
        return not since & needed

    # -- evidence ----------------------------------------------------------------------------

    @cached_property
    def _by_kind(self) -> dict[str, list[Shown]]:
        found: dict[str, list[Shown]] = {}
        for result in self.shown:
            of_kind = found.setdefault(result.kind, [])
            last = of_kind[-1] if of_kind else None
            if last is not None and last.ref.message == result.ref.message:
                # One output with both results: the failure decides.
                if last.good and not result.good:
                    of_kind[-1] = result
                continue
            of_kind.append(result)
        return found

    def evidence_of(self, said: Said, kind: str) -> tuple[str, str, Shown | None]:
        """The evidence of a claim (verified, contradicted or claimed), the reason, and the
        result that decided.

        The last result of that kind before the claim decides, unless files were edited in
        between. A check that fails later without an edit in between contradicts the claim, too.
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

    def _unclaimed(self) -> Iterator[Milestone]:
        """Results of tools without a claim near them."""
        said = {kind: [] for kind in _SHOWN_BY_TOOLS}  # type: dict[str, list[int]]
        for claim in self.view.sentences("milestone"):
            if claim.value in said:
                said[claim.value].append(claim.ref.message)
        for result in self.shown:
            if result.kind in said and result.good:
                near = said[result.kind]
                if not any(-2 <= m - result.ref.message <= _NEAR for m in near):
                    near.append(result.ref.message)
                    where = self.view.ref(result.ref)
                    yield Milestone(result.text, result.kind, "verified", where, "tool")


def _place(said: Said) -> tuple[int, int, int]:
    return said.ref.message, said.ref.part or 0, (said.ref.start or 0) + said.start


def _clause(before: str) -> str:
    """The part of the text before a match that is in the same clause."""
    start = max(before.rfind(mark) for mark in (";", " — ", " – ", ": ", ", but ", " but "))
    return before[start + 1 :] if start >= 0 else before
