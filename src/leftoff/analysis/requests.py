"""Requests of the person: which prompts are requests, their kind, and whether they are done."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

from leftoff.analysis.activities import EDITING, activities
from leftoff.extraction.evidence import Asked, Called
from leftoff.session_view import SessionView
from leftoff.summary import UserRequest

_APPROVAL = re.compile(
    r"^\W*(?:yes|yep|yeah|yup|ok(?:ay)?|sure|go ahead|do it|do that|sounds good|looks good|lgtm"
    r"|perfect|great|good|nice|please do|proceed|continue|approved?|agreed|correct|fine|cool"
    r"|thanks?(?: you)?|ship it|make it so|go|k|y)\b[\s\w,.!]{0,40}$",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"^\W*(?:(?:option|choice|number|approach|plan|variant)\s+)?(?:[A-Ea-e]|\d|[iv]+)\W*$"
    r"|^\W*[A-E1-9][.)]\s"
    r"|^\W*(?:let['’]?s (?:go|do|use|take)|go with|use|take|I (?:prefer|choose|pick|want"
    r"|like)|both"
    r"|neither|all|the (?:first|second|third|last|latter|former))\b.{0,60}$",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"^\W*(?:no\b|nope|wrong|that['’]?s (?:not|wrong)|this is (?:not|wrong)|stop|wait|hmm"
    r"|actually"
    r"|revert|undo|why (?:did|do|are|is|would|don['’]t|didn['’]t) (?:you|it|we|this|that|the))"
    r"|\b(?:doesn['’]?t work|does not work|not working|still (?:fail|broken|not|get|see|the)"
    r"|you (?:forgot|missed|broke|didn['’]?t|should(?:n['’]?t| not| have)|removed|deleted)"
    r"|is broken"
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
    r"\b(?:add|fix|create|implement|write|make|build|change|update|remove|delete|refactor"
    r"|rename"
    r"|move|run|check|review|find|look|investigate|explain|show|tell|commit|push|test|document"
    r"|can (?:you|we)|could (?:you|we)|please|let['’]?s|i (?:want|need|would)|we (?:need"
    r"|should))\b",
    re.IGNORECASE,
)


_LEAD = (
    r"^\W*(?:(?:and|so|but|also|or|then|now|ok(?:ay)?|hm+|q|question|learning q|wait|oh|well"
    r"|actually|yeah|yes|no"
    r"|alright|just|please|maybe|one last thing|for now)\b[\s,.:;-]*)*"
)
_ASKS = re.compile(
    _LEAD + r"(?:what|why|how|which|where|who|when|is|are|am|do|does|did|was|were|has|have"
    r"|had|will|would|could"
    r"|should|can|isn['’]?t|aren['’]?t|don['’]?t (?:we|you|they)|doesn['’]?t|any|anything)\b"
    r"|\?\W*$",
    re.IGNORECASE,
)
_ORDERS = re.compile(
    _LEAD + r"(?:let['’]?s|go ahead|go with|add|fix|create|implement|write|make|build|change"
    r"|update|remove|delete"
    r"|refactor|rename|move|run|check|review|find|look|have a look|investigat\w*|explain|show"
    r"|tell|commit|push|test"
    r"|document|use|set|keep|put|do|try|read|merge|open|log|list|give|get|start|stop|revert"
    r"|undo|ask|pick|call|ignore"
    r"|branch|explore|brainstorm|annotate|rework|adjust|modify|expand|debug|stash|pull|rebase"
    r"|port|turn|sort|cut|hide"
    r"|close|output|copy|don['’]?t|do not|never|always|drop|kill|split|clean|generate|apply"
    r"|install|deploy|release"
    r"|skip|leave|wire|go through|convert|simplify|improve|continue|finish|bump|publish"
    r"|verify|validate|prefer|include)\b",
    re.IGNORECASE,
)
_WANTS = re.compile(
    r"\b(?:can|could|would|will) (?:you|we|u)\b|\bplease\b|\bpls\b|\blet['’]?s\b"
    r"|\b(?:i|we)(?:['’]d| would)? (?:also )?(?:want|need|like|love|prefer|wish|think we"
    r"|have to|should|must)\b"
    r"|\bneeds? to\b|\bshould\b|\bmust\b|\binstead\b|\bmake sure\b|\bgo (?:ahead|with)\b"
    r"|\bhow (?:can|could|do) we\b"
    r"|\bneeds\b|\btry again\b|\bdo that\b|\bi approve\b|\bwish\b|\bdon['’]?t like\b"
    r"|\bwhy (?:don['’]?t|aren['’]?t) (?:we|you)\b|\bi would\b",
    re.IGNORECASE,
)
_OBJECTS = re.compile(
    r"\b(?:wrong|broken|fail\w*|bugs?|crash\w*|still|doesn['’]?t|does not|isn['’]?t"
    r"|aren['’]?t|not|never|no longer"
    r"|actually|already|missing|too \w+|sucks|don['’]?t|error|why (?:is|are|do|does"
    r"|did) (?:it|this|that|you|we))\b",
    re.IGNORECASE,
)
_CASUAL = re.compile(
    r"\b(?:do (?:i|we|you)|does (?:this|it|that)|is (?:it|that|this|there)|are (?:you|we"
    r"|there|these)|what (?:does|is|are|was"
    r"|would|if|about)|which|how (?:long|much|many|about)|would be|could the|did (?:you|it"
    r"|we)|mean\b|right\?|or nah|if i"
    r"|can (?:it|this|that|i)|where)\b",
    re.IGNORECASE,
)
_DISCUSSES = re.compile(
    _LEAD + r"(?:can|could) (?:you|we|i) (?:explain|talk|think of|give me)\b", re.IGNORECASE
)
_PASTED_LINE = re.compile(r"^\s*(?:>|❯|\$|➜|\||\+\s+\d|['\"]?/\w+/\w+|\S+@\S+)", re.MULTILINE)
_COMMAND = re.compile(r"^\s*/[\w:-]*\s*$|^\W*continue\W*$", re.IGNORECASE)

TASK_CALLS = 4
"""A question that took the agent at least so many calls was a task. Chosen by hand; not
measured."""


def user_requests(view: SessionView) -> tuple[UserRequest, ...]:
    """The prompts that ask for something, in order.

    A request is open if the recording ends before the agent ended its turn on it; all earlier
    ones count as done, since the person continued. A prompt that was interrupted and sent again
    counts once, where it was sent last.
    """
    asked = [a for a in view.active(Asked) if a.text.strip()]
    last_words = _last_words(view)
    calls = sorted(c.message for c in view.active(Called))
    edits = sorted(
        {m for (m, _), found in activities(view).items() if EDITING.intersection(found)}
    )
    found: list[UserRequest] = []
    for number, item in enumerate(asked):
        later = number + 1 < len(asked)
        start = item.ref.message
        end = asked[number + 1].ref.message if later else 1 << 62
        again = later and asked[number + 1].text.strip() == item.text.strip()
        if again and not _count_between(calls, start, end):
            continue
        effort = _count_between(calls, start, end)
        edited = _count_between(edits, start, end) > 0
        first = not found and _COMMAND.match(item.text) is None
        if not first and not is_request(item.text, item.via, effort, edited=edited):
            continue
        found.append(
            UserRequest(
                text=item.text,
                kind=kind_of_request(item.text, item.via, first=first),
                status="done" if later or last_words > start else "open",
                ref=view.ref(item.ref),
            )
        )
    return tuple(found)


def is_request(text: str, via: str, effort: int, *, edited: bool) -> bool:
    """Whether typed text is a request.

    Remarks, pasted output without a request, and questions that the agent answered at once are
    not.

    Args:
        effort: number of calls that the agent made before the next prompt.
        edited: whether it changed a file in that time.
    """
    words = text.strip()
    if _COMMAND.match(words):
        return False
    if via in {"answer", "command", "rejection"}:
        return True
    if _APPROVAL.match(words) or _CHOICE.match(words) and "?" not in words:
        return True
    own = "\n".join(line for line in words.splitlines() if not _PASTED_LINE.match(line)).strip()
    head = own[:700]
    orders = bool(_ORDERS.search(head)) or bool(_WANTS.search(head))
    if not head:
        return edited
    if _ASKS.search(head) and not _ORDERS.search(head):
        if _DISCUSSES.search(head) or _CASUAL.search(head) and not _WANTS.search(head):
            return effort >= TASK_CALLS or edited
        return orders or effort >= 2 or edited
    return orders or edited or bool(_OBJECTS.search(head)) or len(own) > 200


def _count_between(places: list[int], start: int, end: int) -> int:
    """How many of the sorted places lie after `start` and before `end`."""
    return max(0, bisect_left(places, end) - bisect_right(places, start))


def kind_of_request(text: str, via: str, *, first: bool = False) -> str:
    """The kind of a request, by its text and channel: one of `REQUEST_KINDS`."""
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


def _last_words(view: SessionView) -> int:
    """Index of the agent's last message if every call in it has a result, else -1."""
    thread = view.thread
    for index in range(len(thread) - 1, -1, -1):
        if thread.is_agent(index):
            hanging = any(key[0] == index and key not in view.outcomes for key in view.calls)
            return -1 if hanging else index
    return -1


_FAULT = re.compile(
    r"\b(?:broken|broke|fail(?:s|ed|ing|ures?)?|bugs?|crash\w*|errors?|fatal|traceback"
    r"|exception"
    r"|does(?: not|n['’]?t) work|not work\w*|regression|slow(?:er)?|still (?:not|shows?"
    r"|lists?|using|the|gets?"
    r"|sees?|broken)|debug\w*|explode\w*|corrupt\w*|stuck|hangs?|conflicts?|unexpected\w*"
    r"|wrong|weird"
    r"|fix(?:es)?)\b",
    re.IGNORECASE,
)


def is_fault(text: str) -> bool:
    """Whether a request reports that something does not work."""
    return len(text) < 2500 and _FAULT.search(text[:300]) is not None


def wants_words(text: str) -> bool:
    """Whether a request says what is wanted: more than "yes", "go on" or an option's letter."""
    words = text.strip()
    return len(words) > 12 and not _APPROVAL.match(words) and not _CHOICE.match(words)
