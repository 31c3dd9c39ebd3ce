"""What the person asked, of which kind, and whether it is done."""

from __future__ import annotations

import re

from leftoff.extraction.evidence import Asked
from leftoff.findings import UserRequest
from leftoff.judgement.story import Story

_APPROVAL = re.compile(
    r"^\W*(?:yes|yep|yeah|yup|ok(?:ay)?|sure|go ahead|do it|do that|sounds good|looks good|lgtm"
    r"|perfect|great|good|nice|please do|proceed|continue|approved?|agreed|correct|fine|cool"
    r"|thanks?(?: you)?|ship it|make it so|go|k|y)\b[\s\w,.!]{0,40}$",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"^\W*(?:(?:option|choice|number|approach|plan|variant)\s+)?(?:[A-Ea-e]|\d|[iv]+)\W*$"
    r"|^\W*(?:let['’]?s (?:go|do|use|take)|go with|use|take|I (?:prefer|choose|pick|want|like)|both"
    r"|neither|all|the (?:first|second|third|last|latter|former))\b.{0,60}$",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"^\W*(?:no\b|nope|wrong|that['’]?s (?:not|wrong)|this is (?:not|wrong)|stop|wait|hmm|actually"
    r"|revert|undo|why (?:did|do|are|is|would|don['’]t|didn['’]t) (?:you|it|we|this|that|the))"
    r"|\b(?:doesn['’]?t work|does not work|not working|still (?:fail|broken|not|get|see|the)"
    r"|you (?:forgot|missed|broke|didn['’]?t|should(?:n['’]?t| not| have)|removed|deleted)|is broken"
    r"|I (?:told|asked|said)|that broke|not what I|isn['’]?t (?:right|working|correct)"
    r"|getting (?:an? )?error|fails? with|(?:pr|ci|build|tests?) (?:run )?fail)\b",
    re.IGNORECASE,
)
_CONSTRAINT = re.compile(
    r"\b(?:don['’]?t|do not|never|always|must(?: not)?|should not|only|make sure|ensure|without"
    r"|no (?:new|need)|keep|avoid|prefer|at most|at least|remember to|be careful|not allowed"
    r"|instead of)\b",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"\b(?:add|fix|create|implement|write|make|build|change|update|remove|delete|refactor|rename"
    r"|move|run|check|review|find|look|investigate|explain|show|tell|commit|push|test|document"
    r"|can (?:you|we)|could (?:you|we)|please|let['’]?s|i (?:want|need|would)|we (?:need|should))\b",
    re.IGNORECASE,
)


def user_requests(story: Story) -> tuple[UserRequest, ...]:
    """Everything that the person typed and that asks for something, in order.

    A request is open if the recording ends before the agent closed its turn on it; all
    earlier ones are taken as done, since the person went on.
    """
    asked = [a for a in story.told(Asked) if a.via != "command"]
    last_words = _last_words(story)
    found: list[UserRequest] = []
    for number, item in enumerate(asked):
        later = number + 1 < len(asked)
        done = later or last_words > item.ref.message
        found.append(
            UserRequest(
                text=item.text,
                kind=kind_of_request(item.text, item.via, first=number == 0),
                status="done" if done else "open",
                ref=story.ref(item.ref),
            )
        )
    return tuple(found)


def kind_of_request(text: str, via: str, *, first: bool = False) -> str:
    """task | constraint | correction | choice | approval, by the words and how they came."""
    if via == "answer":
        return "choice"
    if first:
        return "task"
    words = text.strip()
    if len(words) <= 80 and _APPROVAL.match(words):
        return "approval"
    if len(words) <= 90 and _CHOICE.match(words):
        return "choice"
    if via == "rejection" or _CORRECTION.search(words[:300]):
        return "correction"
    if _CONSTRAINT.search(words[:200]) and not _TASK.match(words):
        return "constraint"
    return "task"


def _last_words(story: Story) -> int:
    """Index of the agent's last message if no call was left hanging in it, else -1."""
    thread = story.thread
    for index in range(len(thread) - 1, -1, -1):
        if thread.is_agent(index):
            hanging = any(key[0] == index and key not in story.outcomes for key in story.calls)
            return -1 if hanging else index
    return -1


_FAULT = re.compile(
    r"\b(?:broken|broke|fail(?:s|ed|ing|ures?)?|bugs?|crash\w*|errors?|fatal|traceback|exception"
    r"|does(?: not|n['’]?t) work|not work\w*|regression|slow(?:er)?|still (?:not|shows?|lists?|using|the|gets?"
    r"|sees?|broken)|debug\w*|explode\w*|corrupt\w*|stuck|hangs?|conflicts?|unexpected\w*|wrong|weird"
    r"|fix(?:es)?)\b",
    re.IGNORECASE,
)


def is_fault(text: str) -> bool:
    """Whether a request reports that something does not work."""
    return len(text) < 2500 and _FAULT.search(text[:300]) is not None


def wants_words(text: str) -> bool:
    """Whether a request says what is wanted, beyond yes, go on or the letter of an option."""
    words = text.strip()
    return len(words) > 12 and not _APPROVAL.match(words) and not _CHOICE.match(words)
