"""Errors and what became of them, findings, and what is left to do."""

from __future__ import annotations

import re

from leftoff.extraction.evidence import Called, Failed, Planned
from leftoff.findings import ErrorSeen, Finding, NextStep
from leftoff.judgement.requests import user_requests
from leftoff.judgement.story import Story
from leftoff.model import Ref

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
    """The open items of the last to-do list, then what the agent's last words leave open."""
    found = [
        NextStep(words, status, story.ref(ref))
        for words, status, ref in to_dos(story)
        if status in {"in_progress", "pending"}
    ]
    found.sort(key=lambda step: step.status != "in_progress")
    last = _last_turn(story)
    for said in story.said("next_step"):
        if said.ref.message >= last and not said.text.rstrip().endswith("?"):
            found.append(NextStep(said.text, "said", story.ref(said.ref)))
    return tuple(found)


def to_dos(story: Story) -> list[tuple[str, str, Ref]]:
    """The to-do list as it stands at the end: words, status, where it was last changed."""
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
    return [item for item in items.values() if item[0] and item[1] != "deleted"]


def _last_turn(story: Story) -> int:
    """Index of the first message of the agent's last turn with words."""
    turns = story.turns
    if not turns:
        return 0
    last = max(turns.values())
    return min(index for index, turn in turns.items() if turn == last)


def left_open(story: Story) -> bool:
    """Whether the to-do list, or the last request, was not finished."""
    if any(status in {"in_progress", "pending"} for _, status, _ in to_dos(story)):
        return True
    return any(request.status == "open" for request in user_requests(story))
