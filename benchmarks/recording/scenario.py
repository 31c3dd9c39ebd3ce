"""Scenario files: the project at first, what the person types, what the model answers.

YAML, so that prose reads as prose. `/home/dev` in it stands for the scratch home:

    name: prorate-by-day            # also the session id's seed
    client: claude_code             # or codex
    started: 2026-03-02T09:14:05Z   # the recorded clock is moved here
    pace: 40                        # one recorded second counts as 40
    model: claude-sonnet-4-5
    project: billing                # a folder in /home/dev
    files: {billing/prorate.py: "…"}
    git: true                       # commit `files` before the session begins
    prompts:
      - say: "…"                    # typed by the person
        turns: [{text: "…", calls: [{Edit: {…}}]}, {text: "…"}]
      - rewind_to: 1                # go back to before prompt number 1 (0-based), then type
        say: "…"
        turns: […]
    agents: {"needle in its prompt": [turns…]}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from .scripted_model import Call, Turn


@dataclass(frozen=True, slots=True)
class Prompt:
    """One thing the person types, and the turns that answer it."""

    say: str
    turns: tuple[Turn, ...]
    rewind_to: int | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """A session to be recorded."""

    name: str
    client: str
    project: str
    started: datetime
    pace: float
    model: str
    git: bool
    files: Mapping[str, str]
    prompts: tuple[Prompt, ...]
    routes: Mapping[str, tuple[Turn, ...]]

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Every turn of the main thread, in order."""
        return tuple(turn for prompt in self.prompts for turn in prompt.turns)


def load(path: Path, home: Path) -> Scenario:
    """The scenario in a YAML file, with `/home/dev` standing for `home`.

    A missing key is a KeyError that names it.
    """
    text = path.read_text(encoding="utf-8").replace("/home/dev", str(home))
    raw = yaml.safe_load(text)
    prompts = tuple(
        Prompt(item["say"], tuple(map(_turn, item.get("turns", ()))), item.get("rewind_to"))
        for item in raw["prompts"]
    )
    return Scenario(
        name=raw["name"],
        client=raw["client"],
        project=raw["project"],
        started=raw["started"],
        pace=float(raw.get("pace", 40)),
        model=raw.get("model", "scripted"),
        git=bool(raw.get("git", True)),
        files=raw.get("files", {}),
        prompts=prompts,
        routes={key: tuple(map(_turn, own)) for key, own in raw.get("agents", {}).items()},
    )


def _turn(raw: Mapping[str, Any]) -> Turn:
    text = raw.get("text", ())
    texts = (text,) if isinstance(text, str) else tuple(text)
    return Turn(
        text=tuple(part.strip() for part in texts),
        calls=tuple(map(_call, raw.get("calls", ()))),
        thinking=raw.get("thinking"),
        usage=raw.get("usage"),
        queued=raw.get("queued"),
    )


def _call(raw: Mapping[str, Any]) -> Call:
    extra = {key: raw[key] for key in ("deny", "answers") if key in raw}
    ((name, given),) = ((key, value) for key, value in raw.items() if key not in extra)
    return Call(name, given, **extra)
