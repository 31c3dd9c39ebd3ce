"""What a compaction's own summary lacks or contradicts, of a `Handover`.

The recorder's model wrote a summary that the agent has already. The block that is given beside
it leaves out what that summary states, and begins with what it states wrongly.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff.handover.facts import Fact, Handover
from leftoff.handover.lines import MIDDLE
from leftoff.handover.packing import Line, Part
from leftoff.handover.text_match import TextMatcher, content_words
from leftoff.handover.wording import inline, inline_code, inline_prose
from leftoff.summary import ContextSummary

# A fact of fewer content words is not compared: any text states it. Chosen by hand.
MIN_WORDS = 3

_PASSES = re.compile(
    r"\b(?:pass(?:es|ed|ing)?|green|clean|succeed(?:s|ed)?|success(?:ful(?:ly)?)?|works?)\b",
    re.IGNORECASE,
)
_FAILS = re.compile(
    r"\b(?:fail(?:s|ed|ing|ures?)?|errors?|broken|red|not|no|before|earlier|initially)\b|n['’]t\b",
    re.IGNORECASE,
)
# A wish, a plan, a condition or an order says nothing about what is.
_UNREAL = re.compile(
    r"\b(?:should|shall|would|could|can|may|might|must|will|if|when|once|until|unless|whether"
    r"|needs?|wants?|wanted|ask(?:s|ed)?|plans?|todo|to-do|pending|next|remaining|ready"
    r"|make sure|ensure[sd]?|verify|confirm|expect(?:s|ed)?|going to|about to|has to|have to"
    r"|in order to|requires?|required|goal|then|after|user|person|you|please|let['’]?s|so that"
    r"|uncommitted|unpushed|un-pushed|never|without|except|rather|instead|previous(?:ly)?)\b"
    r"|\?|['’]ll\b|\[ \]|☐",
    re.IGNORECASE,
)
_CLAIMS = {
    # "All three new tests" are some tests, of which a later run of others says nothing.
    "test": r"(?:all (?:of )?(?:(?:the|our|unit|existing) )*tests"
    r"|(?:full|whole|entire) (?:test )?suite)",
    "build": r"(?:(?:the|full|whole|project|production) build|project (?:builds|compiles))",
    "lint": r"(?:lint(?:er|ing)?|eslint|ruff|clippy)",
    "typecheck": r"(?:type[ -]?check(?:s|ing)?|tsc|mypy|pyright)",
}
_KINDS = {
    kind: re.compile(
        rf"\b{words}\b[^,;:]{{0,30}}\b(?:pass|passes|passing|green|clean)\b", re.IGNORECASE
    )
    for kind, words in _CLAIMS.items()
}
_ALL_COMMITTED = re.compile(
    r"\b(?:all|everything|every change)\b[^.;:]{0,60}\b(?:is|are|was|were|been)? ?"
    r"(?:committed|pushed)\b|\bworking (?:tree|copy|directory) (?:is )?clean\b",
    re.IGNORECASE,
)
_PUSHED = re.compile(
    r"\b(?:was|were|been|and|successfully|commits?|branch|changes) pushed\b", re.IGNORECASE
)
_CREATED = re.compile(r"\b(?:created|added|wrote|written|new(?: file)?)\b", re.IGNORECASE)
_REMOVED = re.compile(
    r"\b(?:delet\w*|remov\w*|renam\w*|mov(?:e|ed|ing)|drop\w*|gone|revert\w*|clean\w*|temp\w*"
    r"|replac\w*|no longer|merged|obsolete|discard\w*|undo\w*|undone)\b|→|->",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z]\w*[_./\d]\w*|[a-z]+[A-Z]\w*|\d+(?:\.\d+)+")
_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\w)[^.!?\n]*)*(?:[.!?](?=\s)|\n|$)")


def beside(
    handover: Handover, recorded: str, summary: ContextSummary | None = None
) -> tuple[Handover, tuple[Part, ...]]:
    """The handover without what the recorder's summary states, and the parts that come first:
    what that summary states wrongly. State, last message and last calls stay.

    Args:
        recorded: the recorder's summary, redacted as the handover is.
        summary: of the same session, redacted: more statements can be held against it.
    """
    if not recorded.strip():
        return handover, ()
    matcher = TextMatcher(recorded)

    def lacking(facts: Iterable[Fact]) -> tuple[Fact, ...]:
        return tuple(f for f in facts if not _stated(matcher, f.text))

    kept = replace(
        handover,
        task=lacking(handover.task),
        goal=handover.goal if handover.goal and lacking([handover.goal]) else None,
        said=lacking(handover.said),
        constraints=lacking(handover.constraints),
        to_dos=lacking(handover.to_dos),
        open_items=lacking(handover.open_items),
        decisions=lacking(handover.decisions),
        findings=lacking(handover.findings),
        failures=lacking(handover.failures),
        lessons=lacking(handover.lessons),
        sentences=lacking(handover.sentences),
        names=tuple(n for n in handover.names if n not in matcher.names),
        read=tuple(p for p in handover.read if p.rsplit("/", 1)[-1] not in recorded),
    )
    wrong = contradictions(handover, recorded, summary)
    part = Part("The compaction's summary is wrong about", wrong, 0.1, 0.2, -1)
    return kept, (part,) if wrong else ()


def _stated(matcher: TextMatcher, text: str) -> bool:
    words = content_words(text)
    return len(words) >= MIN_WORDS and matcher.states(words)


def contradictions(
    handover: Handover, recorded: str, summary: ContextSummary | None = None
) -> tuple[Line, ...]:
    """What the summary states and the recording contradicts, one line for each.

    A line is given only where the summary's sentence is a plain statement in the agent's words
    (no wish, plan, condition or quotation of the person) and the recording settles the matter:
    a check's last run failed with nothing edited or run since; everything is said to be
    committed and a file was changed after the last commit; something is said to be pushed and
    nothing was pushed; a file is said to be created that was deleted.
    """
    person = _flat(
        " ".join(f.text for f in (*handover.said, *handover.task, *handover.constraints))
    )
    if handover.last_message is not None:
        person += _flat(handover.last_message.text)
    sentences = [
        sentence
        for match in _SENTENCE.finditer(recorded)
        if (sentence := match.group().strip()) and _flat(sentence) not in person
    ]
    found: dict[str, Line] = {}
    for sentence in sentences:
        wrong = _failed_check(handover, sentence)
        if not wrong and not _UNREAL.search(sentence):
            wrong = _wrong_in(handover, summary, sentence)
        if wrong:
            text = f"- it says: {inline_prose(sentence, MIDDLE // 2)}; {wrong}"
            found.setdefault(wrong, Line((text,), 1.0))
    return tuple(found.values())


def _flat(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _failed_check(handover: Handover, sentence: str) -> str:
    """A check that the sentence calls passed, by its whole command, though its last run
    failed, without an edit or a run in between."""
    if not _PASSES.search(sentence) or _FAILS.search(sentence):
        return ""
    for check in handover.checks:
        if not check.note.startswith("failed") or "edited since" in check.note:
            continue
        name = check.text.strip()
        if name and name in sentence:
            place = f"{check.note} (#{check.message + 1})"
            return f"the last run of {inline_code(name, 140)}: {place}"
    return ""


def _wrong_in(handover: Handover, summary: ContextSummary | None, sentence: str) -> str:
    """What is wrong in a plain statement, in words; "" for nothing."""
    if summary is None:
        return ""
    if _PASSES.search(sentence) and not _FAILS.search(sentence):
        wrong = _failed_run(summary, sentence)
        if wrong:
            return wrong
    if _ALL_COMMITTED.search(sentence) and not _FAILS.search(sentence):
        loose = [f for f in handover.files if f.committed is False and f.certainty == "sure"]
        places = [g.ref.message for g in summary.git if g.kind == "commit"]
        newest = max(loose, key=lambda f: f.last_message, default=None)
        if newest is not None and newest.last_message > max(places, default=sys.maxsize):
            place = f"#{newest.last_message + 1}"
            return f"{inline(newest.path)} was changed after the last commit ({place})"
    if _PUSHED.search(sentence) and not _FAILS.search(sentence):
        commits = [g for g in summary.git if g.kind == "commit"]
        others = any(g.kind in {"push", "pull_request", "merge"} for g in summary.git)
        if commits and not others:
            return "no push is seen in the recording"
    if _CREATED.search(sentence) and not _REMOVED.search(sentence):
        for file in handover.files:
            base = file.path.rsplit("/", 1)[-1]
            known = re.search(rf"(?<![\w.-]){re.escape(base)}(?![\w-]|\.\w)", sentence)
            if file.action == "deleted" and file.certainty == "sure" and known:
                return f"{inline(file.path)} was deleted (#{file.last_message + 1})"
    return ""


def _failed_run(summary: ContextSummary, sentence: str) -> str:
    """The latest run of the kind of check that the sentence calls passed, or of the test that
    it names, if that run failed and nothing was edited since."""
    latest = {c.kind: c for c in summary.checks}
    for kind, check in latest.items():
        if check.verdict != "failed" or check.edited_since:
            continue
        claimed = kind in _KINDS and _KINDS[kind].search(sentence) is not None
        named = [n for n in check.failing if _NAME.search(n) and _has_name(sentence, n)]
        if not claimed and not named:
            continue
        counts = f"{check.failed} failed" if check.failed else "failed"
        subject = inline_code(named[0], 140) if named else f"the last {kind} run"
        command = inline_code(check.command or check.tool, 140)
        return f"{subject}: {counts} in {command} (#{check.ref.message + 1})"
    return ""


def _has_name(sentence: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w]|\.\w)", sentence) is not None
