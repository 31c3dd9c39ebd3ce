"""Milestones: claims of results, checked against the results of the tools.

A claim is a sentence that a rule matched. This module decides whether it is a claim at all, of
which kind, and whether it repeats an earlier one; `claim_checks` whether the run of a check
confirms it, `git` whether a commit, a push or a merge does. The patterns stand in
`extraction/rules/claims.toml`."""

from bisect import bisect_right
from collections.abc import Iterator

from leftoff import lazy_re as re
from leftoff.analysis.claim_checks import KINDS, RULES, ClaimChecks, Proof, kinds_named
from leftoff.analysis.git import git_events
from leftoff.extraction.evidence import Asked, Called, Said
from leftoff.session_view import SessionView
from leftoff.summary import Milestone

_ABOUT = {
    "tests_pass": "of-tests",
    "build_passes": "of-builds",
    "typecheck_passes": "of-type-checkers",
    "lint_passes": "of-linters",
}
# Kinds that end a request; a message has at most one of them.
COMPLETIONS = ("bug_fixed", "feature_done", "task_done")

_GIT = {"commit": "committed", "push": "pushed", "merge": "merged", "pull_request": "pr_opened"}
# Kinds beside those of `_GIT` that a tool's output proves, so that no claim is needed.
_BY_OUTPUT = ("released", "deployed")

# Messages within which a claim and a result mean the same event. Chosen by hand; not measured.
_NEAR = 12


def milestones(view: SessionView) -> tuple[Milestone, ...]:
    """Claims of results with their evidence, and the commits, pushes and the like that tools
    show without a claim.

    A message has at most one of `COMPLETIONS`. A kind that was claimed before counts again only
    if something was done in between."""
    return Claims(view).judge()


# For the kinds that `_REPEAT_NEEDS` does not name.
_CHECKING = frozenset(
    {"test", "build", "lint", "run", "run_scratch", "delegate", "wait", "other", "skill"}
)
# Activities of which one is needed before a kind can be claimed again.
_REPEAT_NEEDS = {
    "committed": frozenset({"commit", "sync", "delegate", "run"}),
    "pushed": frozenset({"push", "sync", "delegate", "run"}),
    "pr_opened": frozenset({"pull_request", "push"}),
    "merged": frozenset({"sync", "pull_request"}),
}


_LOOKING = frozenset("look search inspect_change fetch wait read_pull_request".split())
_WORDS = re.compile(r"[^\W\d_]+")


class Claims:
    """The claims of one session against its calls and their results.

    Attributes:
        left_out: rejected claims with the reason; filled by `judge`.
        sources: the claim behind each milestone; filled by `judge`."""

    def __init__(self, view: SessionView) -> None:
        self.view = view
        self.checks = ClaimChecks(view)
        self.events = [event for event in git_events(view) if event.shown]
        self.prompts = sorted(
            a.ref.message for a in view.active(Asked) if a.via in {"prompt", "command", "plan"}
        )
        self.inputs = view.thread.inputs()
        self.calls = sorted({c.message for c in view.each(Called)})
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
        for several in ends.values():
            claims = [said for said in several if len(_WORDS.findall(said.text)) > 2]
            if not claims:
                self.left_out += [(said, "it does not say what is done") for said in several]
                continue
            found.append(self._milestone(claims[0], _completion_kind(claims[0].text)))
            self.left_out += [(said, "one end for each message") for said in claims[1:]]
        found += self._unclaimed()
        found.sort(key=lambda m: (*m.ref.place, m.kind))
        return tuple(found)

    def _milestone(self, said: Said, kind: str) -> Milestone:
        proof = self.proof_of(said, kind)
        ref = self.view.ref(said.ref)
        milestone = Milestone(said.text, kind, proof.evidence, ref, check=proof.check)
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
            return
        negated, hedged = (_says(name, _clause(before)) for name in ("negated", "hedged"))
        if said.value == "check":
            wrong = _says("passes-something", after) or _says("other-clean", before)
            noun = after[:5].rstrip().lower() == "pass" and _says("a-pass", before)
            if not wrong and not noun and not negated:
                yield from self._checks(said, text)
        elif rule in {"review-passed", "in-commit"}:
            if not negated and (
                rule != "in-commit" or "commit" in self._done(said.ref.message)
            ):
                yield said.value
        elif rule == "deployed" and not hedged:
            yield rule
        elif not hedged and not _says("condition-after", after[12:]):
            yield said.value

    def _checks(self, said: Said, text: str) -> Iterator[str]:
        """The checks that passed according to a sentence."""
        named = [kind for kind, rule in _ABOUT.items() if _says(rule, text)]
        named = named or kinds_named(text)
        if named:
            yield from named
        elif _says("general", said.text):
            at = said.ref.message
            since = self._since_prompt(at)
            yield from self.checks.kinds_before(at, said.ref.part or 0, since)

    def _completion(self, said: Said) -> Iterator[str]:
        """Yields "end" if the sentence says that the request is done."""
        at = said.ref.message
        closing = self._closes(at)
        strong = _says("strong", said.text)
        if not closing and not strong:
            return
        head = said.text[: said.start]
        if _says("negated", _clause(head)) or _says("delivered", said.text):
            return
        done = self._done(at)
        worked = bool(done - _LOOKING)  # anything but looking
        if said.value == "did" and (_says("no-result", said.text) or not worked):
            return
        if said.value == "done" and not strong and not worked:
            return
        yield "end"

    # -- what stands around it ---------------------------------------------------------------

    def _since_prompt(self, message: int) -> int:
        place = bisect_right(self.prompts, message)
        return self.prompts[place - 1] if place else 0

    def _closes(self, message: int) -> bool:
        """Whether the agent called nothing more between a message and its next input, from the
        person or the recorder (a command's text, a subagent's instructions)."""
        place = bisect_right(self.inputs, message)
        until = self.inputs[place] if place < len(self.inputs) else 1 << 62
        later = bisect_right(self.calls, message)
        return later >= len(self.calls) or self.calls[later] > until

    def _done(self, message: int) -> set[str]:
        return self.checks.done.between((self._since_prompt(message), 0), (message + 1, 0))

    def _repeats(self, kind: str, message: int) -> bool:
        """Whether the same was claimed before and nothing was done since."""
        before = self.claimed.get(kind, -1)
        if before < 0:
            return False
        if before == message:
            return True
        since = self.checks.done.between((before + 1, 0), (message + 1, 0))
        return since.isdisjoint(_REPEAT_NEEDS.get(kind, _CHECKING))

    # -- evidence ----------------------------------------------------------------------------

    def proof_of(self, said: Said, kind: str) -> Proof:
        """What stands behind a claim of a kind."""
        at, part = said.ref.message, said.ref.part or 0
        if kind in KINDS:
            return self.checks.proof(said.text, kind, at, part)
        if kind in _GIT.values():
            for event in reversed(self.events):
                if _GIT.get(event.kind) == kind and event.ref.message <= at:
                    if event.ref.message < self._since_prompt(at):
                        break
                    return Proof("verified", "a tool shows it", event.text, event.ref)
        for shown in reversed(self.view.shown({kind})) if kind in _BY_OUTPUT else ():
            if shown.good and shown.ref.message <= at:
                return Proof("verified", "a tool shows it", shown.text, shown.ref)
        return Proof("claimed", "no tool shows it")

    def _unclaimed(self) -> Iterator[Milestone]:
        """Results of tools without a claim near them."""
        said: dict[str, set[int]] = {kind: set() for kind in (*_GIT.values(), *_BY_OUTPUT)}
        for claim in self.view.sentences("milestone"):
            if claim.value in said:
                said[claim.value].add(claim.ref.message)
        found = [
            (_GIT[event.kind], event.text or event.hash or event.url or event.branch, event.ref)
            for event in self.events
            if event.kind in _GIT
        ]
        found += [
            (shown.kind, shown.text, self.view.ref(shown.ref))
            for shown in self.view.shown(_BY_OUTPUT)
            if shown.good
        ]
        for kind, text, ref in found:
            near = range(ref.message - 2, ref.message + _NEAR + 1)
            if text and said[kind].isdisjoint(near):
                said[kind].add(ref.message)
                yield Milestone(text, kind, "verified", ref, "tool")


def _completion_kind(text: str) -> str:
    """One of `COMPLETIONS`, by the words of the claim."""
    if _says("of-faults", text):
        return "bug_fixed"
    made = _says("of-features", text) and not _says("of-documents", text)
    return "feature_done" if made else "task_done"


def _says(rule: str, text: str) -> bool:
    return RULES[rule].search(text) is not None


def _place(said: Said) -> tuple[int, int, int]:
    return said.ref.message, said.ref.part or 0, (said.ref.start or 0) + said.start


def _clause(before: str) -> str:
    """The part of the text before a match that is in the same clause."""
    start = max(before.rfind(mark) for mark in (";", " — ", " – ", ": ", ", but ", " but "))
    return before[start + 1 :] if start >= 0 else before
