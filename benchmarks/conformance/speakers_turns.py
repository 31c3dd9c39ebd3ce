"""What an account of a recording is made of: owners, turns, lines, what in a prompt was typed.

Owners: person, agent, tool (calls and results), notice (what the recorder or its client put
there, and what a subagent is asked), reasoning.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

PERSON, AGENT, TOOL, NOTICE, REASONING = "person", "agent", "tool", "notice", "reasoning"
OWNERS = (PERSON, AGENT, TOOL, NOTICE, REASONING)


class Line(Struct, frozen=True):
    """Words of one owner.

    Attributes:
        turn: the place of the turn (line, or item in a list) that they belong to.
        place: the line or item where they stand.
    """

    turn: int
    place: int
    owner: str
    text: str


class Account(Struct):
    """The turns of a recording, as (place, speaker), and its lines."""

    family: str
    turns: list[tuple[int, str]] = []
    lines: list[Line] = []

    def add(self, place: int, speaker: str, said: Iterable[tuple[str, str]]) -> None:
        """One turn of a JSON family: its owners and texts, if it has any words."""
        made = [Line(place, place, owner, text) for owner, text in said if words(text)]
        if made:
            self.turns.append((place, speaker))
            self.lines.extend(made)


_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    """The words of a text, runs of letters and digits: only these characters are counted."""
    return _WORD.findall(text)


def text_of(path: str) -> str:
    """The text of a file, unpacked."""
    data = Path(path).read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return data.decode(errors="replace")


# -- words that nobody typed ------------------------------------------------------------------

_TAGS = (
    "system-reminder|system_reminder|system_notification|system-notification|task-notification"
    "|local-command-stdout|local-command-stderr|local-command-caveat|ide_opened_file"
    "|ide_selection|environment_context|environment_details|user_instructions|turn_aborted"
    "|INSTRUCTIONS|permissions instructions|collaboration_mode|skills_instructions|skill"
    "|ci-monitor-event|subagent_notification|attached_files|open_and_recently_viewed_files"
    "|command-message|bash-stdout|bash-stderr|user-prompt-submit-hook|manually_attached_skills"
    "|additional_data|rules|user_info|git_status|plugins_instructions|apps_instructions"
    "|multi_agent_mode|recommended_plugins|timestamp"
)
_OPENS = re.compile(rf"^\s*<({_TAGS})\b[^>]*>")
_WHOLE = re.compile(
    r"\s*(?:Caveat: The messages below|This session is being continued from a previous"
    r"|Base directory for this skill:|\[Request interrupted|# AGENTS\.md instructions"
    r"|@agent Try Again|@\w+ [^:\"]+: \"[^\"]+\"\s*$|/(?:exit|quit)\s*$"
    r"|\[Image: source: \S+\]\s*$|Stop hook feedback|Unknown skill|Unknown slash command"
    r"|Implement the plan as specified, it is attached|Implement the following plan:\s*$"
    r"|\{\"task_id\"|\[Terminal \S+ notification:|BEGIN_OPENCLAW_INTERNAL_CONTEXT"
    r"|<turn_aborted>|<task-notification>)"
)
_TYPED_TAGS = re.compile(r"</?(?:command-(?:name|args)|bash-input)>")
_BARE_COMMAND = re.compile(
    r"\s*(?:<command-(name|message)>[^<]*</command-\1>\s*|<command-args>\s*</command-args>\s*)+\Z"
)
_COMMAND = re.compile(r"^--- Cursor Command: (.*) ---\s*$")
_COMMAND_END = re.compile(r"--- End Command ---\s*$")


def typed(lines: Iterable[str]) -> Iterator[tuple[int, str, str]]:
    """Pieces of a prompt as (index of the line, owner, text): the person's, or the recorder's
    that put them in."""
    given = list(lines)
    if any(_WHOLE.match(line) for line in [x for x in given if x.strip()][:1]):
        yield from ((number, NOTICE, line) for number, line in enumerate(given))
        return
    until = ""
    if next((x for x in given if x.strip()), "").startswith("# Context from my IDE setup:"):
        until = "## My request for Codex:"
    for number, line in enumerate(given):
        opened = _OPENS.match(line)
        if until:
            yield number, NOTICE, line
            until = "" if until in line else until
        elif _COMMAND.match(line):
            until = "--- End Command ---"
            yield number, PERSON, _COMMAND.sub(r"\1", line)
        elif opened and f"</{opened[1]}>" in line:
            before, _, after = line.partition(f"</{opened[1]}>")
            yield number, NOTICE, before
            yield from ((number, owner, text) for _, owner, text in typed([after]))
        elif opened:
            until = f"</{opened[1]}>"
            yield number, NOTICE, line
        else:
            yield number, PERSON, _TYPED_TAGS.sub(" ", line)


def asks(text: str) -> str:
    """Who speaks in a prompt. A command without arguments may be the person's (a skill) or the
    client's (`/exit`), so either will do."""
    if _BARE_COMMAND.match(text):
        return f"{PERSON}|{NOTICE}"
    own = any(owner == PERSON and words(piece) for owner, piece in said_in(text))
    return PERSON if own else NOTICE


def said_in(text: str) -> list[tuple[str, str]]:
    """Owners and texts of a prompt."""
    if _BARE_COMMAND.match(text):
        return [(NOTICE, text)]
    return [(owner, piece) for _, owner, piece in typed(text.split("\n"))]
