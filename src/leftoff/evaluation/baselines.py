"""The baselines: plain patterns, and everything a decision."""

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from leftoff.evaluation.resume_truth import calls_of
from leftoff.evaluation.sessions import LabelledSession, Prediction, Predictions
from leftoff.live.compactions import place_of
from leftoff.model import Message, ToolCall
from leftoff.summary import STAGES
from leftoff.tables import table

_SEED001 = table(__file__, "patterns.toml")["seed001"]
DECISION_PATTERNS: tuple[tuple[str, str, float], ...] = tuple(map(tuple, _SEED001["decisions"]))
STAGE_PATTERNS: tuple[str, ...] = tuple(_SEED001["stages"])
MILESTONE_PATTERNS: tuple[tuple[str, str], ...] = tuple(map(tuple, _SEED001["milestones"]))
_FLAGS = re.IGNORECASE | re.ASCII
_DECISIONS = [
    (re.compile(p, _FLAGS), kind, confidence) for p, kind, confidence in DECISION_PATTERNS
]
_STAGES = [re.compile(p, _FLAGS) for p in STAGE_PATTERNS]
_MILESTONES = [(re.compile(p, _FLAGS), kind) for p, kind in MILESTONE_PATTERNS]
# The most frequent stage among the labelled turns.
MOST_COMMON_STAGE = "implementation"


def seed001(session: LabelledSession) -> Predictions:
    """Seed 001's patterns on the agent's words, its stage markers on all messages."""
    decisions: list[Prediction] = []
    milestones: list[Prediction] = []
    for place, text in sorted(session.agent_places.items()):
        for pattern, kind, confidence in _DECISIONS:
            if found := pattern.search(text):
                decisions.append(Prediction(place, found[0], kind, confidence))
        for pattern, kind in _MILESTONES:
            if found := pattern.search(text):
                milestones.append(Prediction(place, found[0], kind))
    stages = [
        (message, found[1].casefold())
        for message in session.messages
        for pattern in (_STAGES[0], _STAGES[2])
        if (found := pattern.search(message.text)) and found[1].casefold() in STAGES
    ]
    return Predictions(
        decisions=tuple(decisions),
        milestones=tuple(milestones),
        timeline=tuple((message.index, stage) for message, stage in stages),
        cuts={
            cut: next((s for m, s in reversed(stages) if place_of(m) <= cut), "")
            for cut in session.cuts
        },
    )


def everything(session: LabelledSession) -> Predictions:
    """Every agent message as a decision, every user message a task, one stage throughout."""
    first = session.messages[0].index if session.messages else 0
    return Predictions(
        decisions=tuple(
            Prediction(place, text, "fix")
            for place, text in sorted(session.agent_places.items())
        ),
        directives=tuple(
            Prediction(place, text, "task")
            for place, text in sorted(session.user_places.items())
        ),
        timeline=((first, MOST_COMMON_STAGE),),
        cuts=dict.fromkeys(session.cuts, MOST_COMMON_STAGE),
    )


# The baselines by name. One that is trained is measured by `benchmarks.accuracy.labels`.
RULES: Mapping[str, Callable[[LabelledSession], Predictions]] = MappingProxyType(
    {"plain patterns": seed001, "every message, one stage": everything}
)


# -- files: as tracking is specified in seed 001 -----------------------------------------------

_REMOVES = re.compile(r"\brm\s+")
_WORD = re.compile(r"[^\s\"'`<>|;&(){}=,]+")
_PATH = re.compile(r"[./]")
_PLACES = ("file_path", "path", "filePath", "filename", "notebook_path")
_COMMANDS = ("command", "cmd", "code", "input")
_SHELLS = frozenset({"shell", "python", "powershell", "script"})
_CHANGES = frozenset({"edit", "patch", "notebook", "delete", "move"})


def seed001_files(messages: Iterable[Message]) -> dict[str, str]:
    """Last action by path. A shell command that holds ``rm`` deletes, any other modifies, every
    word that can be a path: the seed defines none. As there, results are ignored."""
    found: dict[str, str] = {}
    seen: set[str] = set()
    for message, call in calls_of(messages):
        if call.kind in _SHELLS:
            command = _text(call, _COMMANDS)
            action = "deleted" if _REMOVES.search(command) else "modified"
            for word in _WORD.findall(command):
                if not word.startswith("-") and _PATH.search(word):
                    found[absolute_path(word, message.cwd)] = action
            continue
        path = _text(call, _PLACES)
        if not path:
            continue
        path = absolute_path(path, message.cwd)
        writes = call.kind == "create" or (
            isinstance(call.input, dict) and call.input.get("command") == "create"
        )
        if call.kind == "read":
            seen.add(path)
            found.setdefault(path, "read")
        elif writes:
            found[path] = "modified" if path in seen else "created"
        elif call.kind in _CHANGES:
            found[path] = "modified"
    return found


def commands_by_seed001(messages: Iterable[Message]) -> tuple[int, int]:
    """(shell commands that the seed classifies as modified, all shell commands)."""
    commands = [_text(c, _COMMANDS) for _, c in calls_of(messages) if c.kind == "shell"]
    return sum(_REMOVES.search(command) is None for command in commands), len(commands)


def absolute_path(path: str, directory: str) -> str:
    """A path made absolute (if the directory is known) and normalised."""
    if directory and path[:1] not in {"/", "~"} and path[1:2] != ":":
        path = f"{directory}/{path}"
    return posixpath.normpath(path) if path else ""


def _text(call: ToolCall, names: tuple[str, ...]) -> str:
    given = call.input
    if isinstance(given, str):
        return given
    for name in names if isinstance(given, dict) else ():
        value = given.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return " ".join(str(word) for word in value)
    return ""
