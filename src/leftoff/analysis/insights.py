"""Errors and what became of them, findings, and what is left to do."""

from __future__ import annotations

import re

from leftoff.analysis.requests import user_requests
from leftoff.extraction.evidence import Asked, Called, Failed, Planned
from leftoff.model import Ref
from leftoff.session_view import Story
from leftoff.summary import ErrorSeen, Finding, NextStep

ANSWERS = 2
"""What is said to be left counts if it was said after the last so many prompts."""

_PUT_OFF = re.compile(
    r"\b(?:deferred|future|separate|follow[- ]?up|out of scope)\b", re.IGNORECASE
)
_NOTHING = re.compile(r"(?::|\bis)\s*(?:nothing|none|no)\b[^.]*\.?$", re.IGNORECASE)
_UNSENT = re.compile(
    r"\b(?:not (?:yet )?(?:pushed|committed)|ready to (?:commit|push))\b", re.IGNORECASE
)

FINDINGS = 40
"""At most so many findings, the latest."""


def errors(story: Story) -> tuple[ErrorSeen, ...]:
    """Failed calls, the same message counted once, with whether the call worked later."""
    worked: dict[tuple[str, str], int] = {}
    for call in story.all(Called):
        if story.worked(call.message, call.part):
            worked[call.name, call.text] = call.message
    found: dict[tuple[str, str], ErrorSeen] = {}
    for failed in story.told(Failed):
        made = story.calls.get((failed.call_message, failed.call_part))
        tool, about = (made.name, made.text) if made else ("", "")
        later = worked.get((tool, about), -1) if about else -1
        known = found.get((tool, failed.text))
        found[tool, failed.text] = ErrorSeen(
            text=failed.text,
            tool=tool,
            ref=known.ref if known else story.ref(failed.ref),
            count=known.count + 1 if known else 1,
            fixed=later > failed.ref.message,
        )
    return tuple(found.values())


def key_findings(story: Story) -> tuple[Finding, ...]:
    """Sentences in which the agent says what it found out, repeats left out."""
    found: dict[str, Finding] = {}
    for said in story.said("finding"):
        words = " ".join(re.findall(r"\w+", said.text.casefold()))
        if len(words) > 20 and not said.text.rstrip().endswith("?"):
            found.setdefault(words, Finding(said.text, story.ref(said.ref)))
    return tuple(list(found.values())[-FINDINGS:])


def next_steps(story: Story) -> tuple[NextStep, ...]:
    """What is left to do: open items of the last to-do list, then what the agent said to be
    left and nothing shows as done since, the latest last.

    A sentence counts if it was said in answer to one of the last `ANSWERS` prompts, or at any
    time where it puts something off ("deferred", "a separate task"). Questions do not count.
    """
    found = [
        NextStep(words, status, story.ref(ref))
        for words, status, ref in to_dos(story)
        if status in {"in_progress", "pending"}
    ]
    found.sort(key=lambda step: step.status != "in_progress")
    prompts = [a.ref.message for a in story.told(Asked) if a.via == "prompt"]
    since = prompts[-ANSWERS] if len(prompts) >= ANSWERS else 0
    sent = max(
        (s.ref.message for s in story.shown({"pushed", "committed"}) if s.good), default=-1
    )
    told: set[str] = set()
    for said in story.said("next_step"):
        text = said.text.strip()
        later = said.ref.message >= since and len(prompts) >= 1
        if text.endswith("?") or _NOTHING.search(text) or not (later or _PUT_OFF.search(text)):
            continue
        if _UNSENT.search(text) and sent > said.ref.message:
            continue
        words = " ".join(re.findall(r"\w+", text.casefold()))
        if words not in told:
            told.add(words)
            found.append(NextStep(said.text, "said", story.ref(said.ref)))
    return tuple(found)


def to_dos(story: Story) -> list[tuple[str, str, Ref]]:
    """The to-do list as it stands at the end: words, status, where it was last changed.

    Subagents tick off items of the same list. When they did, seen from the main thread, is not
    recorded, so what one of them completed stays completed.
    """
    items: dict[str, tuple[str, str, Ref]] = {}
    for plan in story.told(Planned):
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
    for child in story.children:
        for plan in child.told(Planned):
            for key, _, status in () if plan.whole else plan.items:
                known = items.get(f"#{key}")
                if known is not None and status == "completed":
                    items[f"#{key}"] = (known[0], status, known[2])
    return [item for item in items.values() if item[0] and item[1] != "deleted"]


def left_open(story: Story) -> bool:
    """Whether the to-do list, or the last request, was not finished."""
    if any(status in {"in_progress", "pending"} for _, status, _ in to_dos(story)):
        return True
    return any(request.status == "open" for request in user_requests(story))
