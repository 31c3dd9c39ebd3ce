"""The person's own decisions: what they chose, approved, rejected, required or overruled."""

from __future__ import annotations

import msgspec

from leftoff import lazy_re as re
from leftoff.extraction.decision_model import PATTERNS
from leftoff.extraction.evidence import Asked
from leftoff.extraction.requests import matches
from leftoff.model import slice_hash
from leftoff.session_view import SessionView
from leftoff.summary import KeyDecision
from leftoff.text.markdown import sentences

ANSWER_CONFIDENCE, CHOICE_CONFIDENCE = 0.9, 0.6
"""Confidence of an answer with its question, and of the person's own sentence that takes one
way. Set by hand, not learnt: the labels contain no decisions of the person."""

MAX_PROMPT = 600
"""Code points; the sentences of a longer prompt are requests, not choices. Chosen by hand; not
measured."""

MAX_REPLY = 160
"""Code points of a prompt that is read as a reply to the agent's question. Chosen by hand."""

ARROW = " → "
"""Between the agent's question and the person's answer."""


def person_decisions(view: SessionView, least: float | None = None) -> list[KeyDecision]:
    """Answers to questions, with the question, and sentences of short prompts that take, reject
    or require a way. A bare label without the question or the option's words is none.

    Args:
        least: the lowest confidence that is reported; all if None.
    """
    found: list[KeyDecision] = []
    for asked in view.active(Asked):
        answer = _answer(asked)
        if answer is not None:
            found.append(_decision(view, asked, 0, len(asked.text), *answer))
        elif asked.via in {"prompt", "queued", "rejection"} and len(asked.text) <= MAX_PROMPT:
            found += _stated(view, asked)
    return [d for d in found if d.confidence >= (least or 0.0)]


def _answer(asked: Asked) -> tuple[str, str, float] | None:
    """Text, rule and confidence of a decision that answers the agent's question."""
    words = asked.text.strip()
    if _fires("no_choice", words) or not words:
        return None
    if asked.via == "answer":
        bare = len(words) <= 3 or matches("approval", words) or _NO.match(words)
        if len(_content(asked.question)) < 2 or bare and not _asks_for_a_way(asked.question):
            return None
        return f"{asked.question}{ARROW}{words}", "answer", ANSWER_CONFIDENCE
    if asked.via not in {"prompt", "queued"} or len(words) > MAX_REPLY:
        return None
    if asked.option:
        text = f"{_before_options(asked.question)}{ARROW}{words}: {asked.option}"
        return text.removeprefix(ARROW), "option", ANSWER_CONFIDENCE
    if not _asks_for_a_way(asked.question):
        return None
    if matches("approval", words) or _NO.match(words):
        return f"{asked.question}{ARROW}{words}", "approval", ANSWER_CONFIDENCE
    if matches("choice", words) and _content(words) & _content(asked.question):
        return f"{asked.question}{ARROW}{words}", "reply", ANSWER_CONFIDENCE
    return None


_NO = re.compile(r"^\W*(?:no|nope|nah)\b[\s\w,.!]{0,40}$", re.IGNORECASE)
_WORD = re.compile(r"\w{4,}")


def _content(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _asks_for_a_way(question: str) -> bool:
    """Whether a yes to the question decides something: it names what, and asks for more than
    leave to go on."""
    whole = question.count("(") >= question.count(")")
    named = whole and question.endswith("?") and len(_content(question)) >= 4
    return named and not _fires("routine", question)


def _before_options(question: str) -> str:
    """The question without what was added of the options."""
    return question if question.endswith("?") else ""


def _stated(view: SessionView, asked: Asked) -> list[KeyDecision]:
    """The sentences of a prompt that take, reject or require a way; at most one for each."""
    found: list[KeyDecision] = []
    for start, end in sentences(asked.text):
        words = asked.text[start:end]
        if words.rstrip().endswith(("?", ":", "…", "...")) or "\n" in words.strip():
            continue
        for rule in PATTERNS["choice"]:
            if rule.id != "option" and rule.search(words) is not None:
                found.append(
                    _decision(view, asked, start, end, words, rule.id, CHOICE_CONFIDENCE)
                )
                break
    return found


def _fires(name: str, text: str) -> bool:
    return any(rule.search(text) is not None for rule in PATTERNS[name])


def _decision(
    view: SessionView,
    asked: Asked,
    start: int,
    end: int,
    text: str,
    rule: str,
    confidence: float,
) -> KeyDecision:
    own = asked.text[start:end]
    base = asked.ref.start or 0
    ref = msgspec.structs.replace(
        asked.ref, start=base + start, end=base + end, hash=slice_hash(own)
    )
    return KeyDecision(
        text=text,
        type="approach",
        confidence=confidence,
        message_index=asked.ref.message,
        ref=view.ref(ref),
        owner="user",
        rationale=captured("rationale", own),
        alternative=captured("alternative", own),
        rule=rule,
    )


def captured(name: str, text: str) -> str:
    """The text captured by the first matching pattern of a kind, "" if none matches."""
    for rule in PATTERNS[name]:
        match = rule.search(text)
        if match is not None:
            start, end = match.span(match.re.groups and 1)
            # Words are taken whole: no rule of redaction recognises half of a secret.
            while end < len(text) and text[end] < "\x80" and not text[end].isspace():
                end += 1
            return text[start:end].rstrip(".;:!?").strip(" \t*_`—–-:,")
    return ""
