"""What a compaction's own summary lacks or contradicts, of a `Handover`.

The recorder's model wrote a summary that the agent has already. The block that is given beside
it leaves out what that summary states, and begins with what it states wrongly."""

import sys
from collections.abc import Iterable

from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff.handover.checks import last_checks
from leftoff.handover.facts import Fact, Handover, check_command
from leftoff.handover.lines import MIDDLE
from leftoff.handover.packing import Line, Part
from leftoff.handover.text_match import TextMatcher, content_words, words
from leftoff.handover.wording import inline, inline_code, inline_prose
from leftoff.summary import ContextSummary
from leftoff.tables import table

# A fact of fewer content words is not compared: any text states it. Chosen by hand.
MIN_WORDS = 3

# The facts that are left out if the recorder's summary states them.
_COMPARED = (
    "task said constraints to_dos open_items decisions findings failures lessons sentences"
).split()

_RE = re.patterns(table(__file__, "after_compaction.toml"))


def beside(
    handover: Handover, recorded: str, summary: ContextSummary
) -> tuple[Handover, tuple[Part, ...]]:
    """The handover without what the recorder's summary states, and the parts that come first:
    what that summary states wrongly. State, last message and last calls stay.

    Args:
        recorded: the recorder's summary, redacted as the handover is.
        summary: of the same session, redacted."""
    if not recorded.strip():
        return handover, ()
    matcher = TextMatcher(recorded)

    def lacking(facts: Iterable[Fact]) -> tuple[Fact, ...]:
        about = [(fact, content_words(fact.text)) for fact in facts]
        return tuple(f for f, w in about if len(w) < MIN_WORDS or not matcher.states(w))

    kept = replace(
        handover,
        goal=handover.goal if handover.goal and lacking([handover.goal]) else None,
        **{name: lacking(getattr(handover, name)) for name in _COMPARED},
        names=tuple(n for n in handover.names if n not in matcher.names),
        read=tuple(p for p in handover.read if p.rsplit("/", 1)[-1] not in recorded),
    )
    wrong = contradictions(handover, recorded, summary)
    part = Part("The compaction's summary is wrong about", wrong, 0.1, 0.2, -1)
    return kept, (part,) if wrong else ()


def contradictions(
    handover: Handover, recorded: str, summary: ContextSummary
) -> tuple[Line, ...]:
    """What the summary states and the recording contradicts, one line for each.

    A line is given only where the summary's sentence is a plain statement in the agent's words
    (no wish, plan, condition or quotation of the person) and the recording settles the matter:
    a check's last run failed with nothing edited or run since; everything is said to be
    committed and a file was changed after the last commit; something is said to be pushed and
    nothing was pushed; a file is said to be created that was deleted."""
    own = (handover.last_message, *handover.said, *handover.task, *handover.constraints)
    person = " ".join(words(" ".join(fact.text for fact in own if fact)))
    sentences = [
        sentence
        for match in _RE["sentence"].finditer(recorded)
        if (sentence := match.group().strip()) and " ".join(words(sentence)) not in person
    ]
    found: dict[str, Line] = {}
    for sentence in sentences:
        wrong = _wrong_in(handover, summary, sentence)
        if wrong:
            text = f"- it says: {inline_prose(sentence, MIDDLE // 2)}; {wrong}"
            found.setdefault(wrong, Line((text,), 1.0))
    return tuple(found.values())


def _wrong_in(handover: Handover, summary: ContextSummary, sentence: str) -> str:
    """What is wrong in a plain statement, in words; "" for nothing."""
    if _RE["unreal"].search(sentence):
        return ""
    negated = _RE["fails"].search(sentence) is not None

    def says(rule: str) -> bool:
        return not negated and _RE[rule].search(sentence) is not None

    if says("passes") and (wrong := _failed_run(summary, sentence)):
        return wrong
    commits = [g.ref.message for g in summary.git if g.kind == "commit"]
    if says("all_committed"):
        loose = [f for f in handover.files if f.committed is False and f.certainty == "sure"]
        newest = max(loose, key=lambda f: f.last_message, default=None)
        if newest is not None and newest.last_message > max(commits, default=sys.maxsize):
            place = f"#{newest.last_message + 1}"
            return f"{inline(newest.path)} was changed after the last commit ({place})"
    others = any(g.kind in {"push", "pull_request", "merge"} for g in summary.git)
    if says("pushed") and commits and not others:
        return "no push is seen in the recording"
    if _RE["created"].search(sentence) and not _RE["removed"].search(sentence):
        for file in handover.files:
            known = _has_name(sentence, file.path.rsplit("/", 1)[-1])
            if file.action == "deleted" and file.certainty == "sure" and known:
                return f"{inline(file.path)} was deleted (#{file.last_message + 1})"
    return ""


def _failed_run(summary: ContextSummary, sentence: str) -> str:
    """The last run of a check that the sentence calls passed, if it failed and nothing was
    edited since: by its whole command, a test that failed in it, or, of the latest run of a
    kind, that kind. A command of one word counts in backquotes alone: changes make things
    work."""
    latest = {c.kind: c for c in summary.checks}
    for check in last_checks(summary.checks):
        if check.verdict != "failed" or check.edited_since:
            continue
        command = check_command(check, summary.session.cwd)
        whole = command if " " in command else f"`{command}`"
        kind = check.kind if check is latest[check.kind] and check.kind in _RE else ""
        named = [n for n in check.failing if _RE["name"].search(n) and _has_name(sentence, n)]
        if named or _has_name(sentence, whole) or (kind and _RE[kind].search(sentence)):
            counts = f"{check.failed} failed" if check.failed else "failed"
            subject = inline_code(named[0], 140) if named else "the last run"
            return (
                f"{subject}: {counts} in {inline_code(command, 140)} (#{check.ref.message + 1})"
            )
    return ""


def _has_name(sentence: str, name: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", sentence) is not None
