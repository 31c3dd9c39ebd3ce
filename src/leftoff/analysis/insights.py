"""Errors and whether they were fixed, findings, and next steps."""

from __future__ import annotations

import re

from leftoff.analysis.requests import user_requests
from leftoff.extraction.evidence import Asked, Called, Failed, Planned
from leftoff.model import Ref
from leftoff.session_view import SessionView
from leftoff.summary import ErrorSeen, Finding, NextStep

RECENT_PROMPTS = 2
"""A statement of what is left counts if it answers one of the last so many prompts. Chosen by
hand; not measured."""

_DEFERRED = re.compile(
    r"\b(?:deferred|future|separate|follow[- ]?up|out of scope)\b", re.IGNORECASE
)
_NOTHING_LEFT = re.compile(r"(?::|\bis)\s*(?:nothing|none|no)\b[^.]*\.?$", re.IGNORECASE)
_UNDELIVERED = re.compile(
    r"\b(?:not (?:yet )?(?:pushed|committed)|ready to (?:commit|push))\b", re.IGNORECASE
)

MAX_FINDINGS = 40
"""At most so many findings, the latest."""


def errors(view: SessionView) -> tuple[ErrorSeen, ...]:
    """Failed calls, equal messages merged, with whether the call succeeded later."""
    worked: dict[tuple[str, str], int] = {}
    for call in view.all(Called):
        if view.succeeded(call.message, call.part):
            worked[call.name, call.text] = call.message
    found: dict[tuple[str, str], ErrorSeen] = {}
    for failed in view.active(Failed):
        made = view.calls.get((failed.call_message, failed.call_part))
        tool, about = (made.name, made.text) if made else ("", "")
        later = worked.get((tool, about), -1) if about else -1
        known = found.get((tool, failed.text))
        found[tool, failed.text] = ErrorSeen(
            text=failed.text,
            tool=tool,
            ref=known.ref if known else view.ref(failed.ref),
            count=known.count + 1 if known else 1,
            fixed=later > failed.ref.message,
        )
    return tuple(found.values())


def key_findings(view: SessionView) -> tuple[Finding, ...]:
    """Sentences in which the agent says what it found out, without duplicates."""
    found: dict[str, Finding] = {}
    for said in view.sentences("finding"):
        words = " ".join(re.findall(r"\w+", said.text.casefold()))
        if len(words) > 20 and not said.text.rstrip().endswith("?"):
            found.setdefault(words, Finding(said.text, view.ref(said.ref)))
    return tuple(list(found.values())[-MAX_FINDINGS:])


def next_steps(view: SessionView) -> tuple[NextStep, ...]:
    """What is left to do: open items of the last to-do list, then what the agent said to be
    left and nothing shows as done since, the latest last.

    A sentence counts if it answers one of the last `RECENT_PROMPTS` prompts, or at any time if
    it defers something ("deferred", "a separate task"). Questions do not count.
    """
    found = [
        NextStep(words, status, view.ref(ref))
        for words, status, ref in to_dos(view)
        if status in {"in_progress", "pending"}
    ]
    found.sort(key=lambda step: step.status != "in_progress")
    prompts = [a.ref.message for a in view.active(Asked) if a.via == "prompt"]
    since = prompts[-RECENT_PROMPTS] if len(prompts) >= RECENT_PROMPTS else 0
    sent = max(
        (s.ref.message for s in view.shown({"pushed", "committed"}) if s.good), default=-1
    )
    seen: set[str] = set()
    for said in view.sentences("next_step"):
        text = said.text.strip()
        later = said.ref.message >= since and len(prompts) >= 1
        if text.endswith("?") or _NOTHING_LEFT.search(text):
            continue
        if not (later or _DEFERRED.search(text)):
            continue
        if _UNDELIVERED.search(text) and sent > said.ref.message:
            continue
        words = " ".join(re.findall(r"\w+", text.casefold()))
        if words not in seen:
            seen.add(words)
            found.append(NextStep(said.text, "said", view.ref(said.ref)))
    return tuple(found)


def to_dos(view: SessionView) -> list[tuple[str, str, Ref]]:
    """The to-do list at the end: text, status, and where it was last changed.

    Subagents complete items of the same list. When, relative to the main thread, is not
    recorded, so what one of them completed stays completed.
    """
    items: dict[str, tuple[str, str, Ref]] = {}
    for plan in view.active(Planned):
        if plan.whole:
            items = {
                f"{number}": (words, status, plan.ref)
                for number, (_, words, status) in enumerate(plan.items)
            }
            continue
        for key, words, status in plan.items:
            old = items.get(f"#{key}")
            items[f"#{key}"] = (
                words or (old[0] if old else ""),
                status or (old[1] if old else "pending"),
                plan.ref,
            )
    for child in view.children:
        for plan in child.active(Planned):
            for key, _, status in () if plan.whole else plan.items:
                known = items.get(f"#{key}")
                if known is not None and status == "completed":
                    items[f"#{key}"] = (known[0], status, known[2])
    return [item for item in items.values() if item[0] and item[1] != "deleted"]


def has_open_work(view: SessionView) -> bool:
    """Whether the to-do list, or the last request, was not finished."""
    if any(status in {"in_progress", "pending"} for _, status, _ in to_dos(view)):
        return True
    return any(request.status == "open" for request in user_requests(view))
