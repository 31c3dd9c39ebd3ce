"""Seed 001's file tracking as written there, on the same recordings."""

from __future__ import annotations

import re

from leftoff.extraction.evidence import Applied, Ran, Touched
from leftoff.judgement.story import Story

_REMOVES = re.compile(r"\brm\s+")
_WORD = re.compile(r"[^\s\"'`<>|;&(){}=,]+")
_PATH = re.compile(r"[./]")


def seed001_files(story: Story) -> dict[str, str]:
    """Last action by path. A shell command that holds ``rm`` deletes, any other modifies.

    The seed names no path for a shell command; it is given every word of the command that
    could be one. Outcomes are not looked at, as in the seed.
    """
    found: dict[str, str] = {}
    seen: set[str] = set()
    acts: list[Touched | Ran | Applied] = [
        *story.all(Touched),
        *story.all(Ran),
        *story.all(Applied),
    ]
    acts.sort(key=lambda act: (act.ref.message, getattr(act, "part", 0)))
    for act in acts:
        if isinstance(act, Ran):
            action = "deleted" if _REMOVES.search(act.command) else "modified"
            for word in _WORD.findall(act.command):
                if not word.startswith("-") and _PATH.search(word):
                    name = word.removeprefix("./")
                    base = act.cwd.rstrip("/")
                    found[name if name[0] in "/~" or not base else f"{base}/{name}"] = action
        elif isinstance(act, Touched):
            if act.verb == "read":
                seen.add(act.path)
                found.setdefault(act.path, "read")
            elif act.verb in {"write", "create"}:
                found[act.path] = "modified" if act.path in seen else "created"
            else:
                found[act.path] = "modified"
        elif act.succeeded:
            for path, _, _ in act.files:
                found[path] = "modified"
    return found


def commands_by_seed001(story: Story) -> tuple[int, int]:
    """(shell commands that the seed calls modified, all shell commands)."""
    ran = [act for act in story.all(Ran) if (act.ref.message, act.part) in story.calls]
    return sum(_REMOVES.search(act.command) is None for act in ran), len(ran)
