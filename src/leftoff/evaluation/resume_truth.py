"""Ground truth for a cut: changed files, names used afterwards, facts and their changes.

It is read from recorded tool calls and results and shares no code with leftoff's analysis."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any

from msgspec import Struct

from leftoff import codec
from leftoff.formats.vocabulary import EDITS, argument, text_argument
from leftoff.handover.stated_facts import Fact, core_command
from leftoff.handover.text_match import names
from leftoff.lazy_re import patterns
from leftoff.live.compactions import Cut
from leftoff.model import Message, ToolCall, ToolResult
from leftoff.tables import table

_RE = patterns(table(__file__, "patterns.toml")["resume_truth"])

_FAILED = frozenset({"error", "denied", "interrupted", "timeout"})
_PATCH_ACTIONS = {"Add": "created", "Update": "modified", "Delete": "deleted"}
# Roles of arguments that hold the content of files.
_BODIES = ("content", "old", "new", "edits", "patch")


class Name(Struct, frozen=True):
    """A name that occurs before the cut and that the agent writes after it, `in_code` if only
    in the content of files."""

    name: str
    in_code: bool


class Truth(Struct, frozen=True):
    """The ground truth for one cut, apart from labels: paths of the files that a file tool
    changed before it, and names from before it that the agent writes after it."""

    files: tuple[str, ...]
    names: tuple[Name, ...]
    facts: tuple[Fact, ...]


def truth(cut: Cut) -> Truth:
    """Computes the ground truth for a cut."""
    files = _changes(cut.prefix)
    written, in_words = _written(cut.future)
    first = next((m for m in cut.future if m.origin == "prompt"), None)
    in_prompt = names(first.text) if first is not None else set()
    needed = sorted((written & _names_before(cut.prefix)) - in_prompt)
    later = _checks(cut.future)
    facts = [
        *_file_facts(files, cut.future),
        *(Fact("command", c, tuple(o), c in later) for c, o in _checks(cut.prefix).items()),
        *_todo_facts(cut),
        *_git_facts(cut),
    ]
    return Truth(
        files=tuple(files),
        names=tuple(Name(n, n not in in_words) for n in needed),
        facts=tuple(facts),
    )


# -- calls -----------------------------------------------------------------------------------


def calls_of(messages: Iterable[Message]) -> Iterator[tuple[Message, ToolCall]]:
    """The tool calls of messages, each with its message."""
    for message in messages:
        for part in message.parts:
            if type(part) is ToolCall:
                yield message, part


def _calls(
    messages: Sequence[Message],
) -> Iterator[tuple[Message, ToolCall, ToolResult | None]]:
    parts = (part for message in messages for part in message.parts)
    results: dict[str, ToolResult] = {}
    for part in parts:
        if type(part) is ToolResult and part.call_id:
            results.setdefault(part.call_id, part)
    for message, call in calls_of(messages):
        yield message, call, results.get(call.id)


def _succeeded(result: ToolResult | None) -> bool:
    if result is None:
        return False
    return result.status not in _FAILED and not result.exit_code


# -- files -----------------------------------------------------------------------------------


def _changes(messages: Sequence[Message]) -> dict[str, list[str]]:
    """The actions of file tools by path, in order; "" if the recording does not show which."""
    found: dict[str, list[str]] = {}
    for message, call, result in _calls(messages):
        if call.kind not in EDITS or not _succeeded(result):
            continue
        created = (result.detail or {}).get("created") if result else None
        for path, action in _edited(call, created):
            found.setdefault(_relative(path, message.cwd), []).append(action)
    return _merged(found)


def _merged(found: dict[str, list[str]]) -> dict[str, list[str]]:
    """Merges files of other checkouts of the project (worktrees) with the project's own."""
    inside = {path for path in found if not path.startswith("/") and "/" in path}
    merged: dict[str, list[str]] = {}
    for path, actions in found.items():
        parts = path.split("/")
        ends = ("/".join(parts[i:]) for i in range(1, len(parts) - 1))
        own = next((end for end in ends if end in inside), path)
        merged.setdefault(path if path in inside else own, []).extend(actions)
    return merged


def _edited(call: ToolCall, created: Any) -> Iterator[tuple[str, str]]:
    if call.kind == "patch":
        for match in _RE["patched"].finditer(text_argument(call, "patch")):
            path = match["codex"] or match["diff"]
            yield path, _PATCH_ACTIONS.get(match[1] or "", "modified")
        return
    path = text_argument(call, "path")
    if not path or argument(call, "verb") in ("view", "undo_edit"):
        return
    if call.kind == "create":
        yield path, {True: "created", False: "modified"}.get(created, "")
    elif call.kind == "move":
        yield path, "deleted"
        yield text_argument(call, "target"), "created"
    else:
        yield path, "deleted" if call.kind == "delete" else "modified"


def _relative(path: str, cwd: str) -> str:
    inside = cwd.rstrip("/") + "/"
    return path[len(inside) :] if cwd and path.startswith(inside) else path


def _file_facts(files: dict[str, list[str]], future: Sequence[Message]) -> Iterator[Fact]:
    later, _ = _written(future)
    for path, actions in files.items():
        known = [action for action in actions if action]
        if known:
            yield Fact("file", path, tuple(known), bool(names(path) & later))


# -- names -----------------------------------------------------------------------------------


def _written(messages: Sequence[Message]) -> tuple[set[str], set[str]]:
    """Names that the agent writes, and those of them that it writes outside file contents."""
    everywhere: set[str] = set()
    in_words: set[str] = set()
    spoken = [message for message in messages if message.role == "assistant"]
    for message in spoken:
        in_words |= names(message.text)
    for _, call in calls_of(spoken):
        everywhere |= names(flatten_text(call.input))
        in_words |= names(flatten_text(_without_bodies(call)))
    return everywhere | in_words, in_words


def _without_bodies(call: ToolCall) -> object:
    if not isinstance(call.input, dict):
        return "" if call.kind in EDITS else call.input
    bodies = [argument(call, role) for role in _BODIES]
    return [v for v in call.input.values() if not any(v is body for body in bodies)]


def _names_before(messages: Sequence[Message]) -> set[str]:
    """Every name in the words, calls and results before the cut."""
    found: set[str] = set()
    for message in messages:
        for part in message.parts:
            found |= names(
                flatten_text(part.input)
                if type(part) is ToolCall
                else getattr(part, "text", "")
            )
    return found


# -- commands, to-dos, git -------------------------------------------------------------------


def _checks(messages: Sequence[Message]) -> dict[str, list[str]]:
    """Results of tests, builds and linters by command: passed, failed, or unknown where the
    exit code is that of another command."""
    found: dict[str, list[str]] = {}
    for _, call, result in _calls(messages):
        if call.kind != "shell" or result is None or result.status in ("denied", "running"):
            continue
        command = text_argument(call, "command").strip()
        core = core_command(command)
        if len(core.split()) > 1 and _RE["check"].search(core):
            ended = "passed" if _succeeded(result) else "failed"
            plain = _RE["redirected"].sub("", command)
            known = not _RE["hides"].search(plain) and plain.endswith(core.split()[-1])
            found.setdefault(core, []).append(ended if known else "unknown")
    return found


def _plans(messages: Sequence[Message]) -> dict[str, list[str]]:
    """States of to-do items by their text."""
    found: dict[str, list[str]] = {}
    created: dict[str, str] = {}
    numbers = count(1)
    for _, call, _result in _calls(messages):
        if call.kind != "plan" or not isinstance(call.input, dict):
            continue
        given = call.input
        subject = given.get("subject")
        if call.name == "TaskCreate" and isinstance(subject, str):
            created[str(next(numbers))] = subject
            found.setdefault(subject, []).append("pending")
        elif call.name == "TaskUpdate":
            words, state = created.get(str(given.get("taskId"))), given.get("status")
            if words and isinstance(state, str):
                found[words].append(state)
        items = argument(call, "items")
        for item in items if isinstance(items, list) else ():
            if not isinstance(item, dict):
                continue
            words = item.get("content") or item.get("step") or item.get("title")
            state = item.get("status")
            if isinstance(words, str) and isinstance(state, str):
                found.setdefault(words, []).append(state)
    return found


_STATES = {"in-progress": "in_progress", "not-started": "pending", "done": "completed"}


def _todo_facts(cut: Cut) -> Iterator[Fact]:
    later = _plans(cut.future)
    for words, states in _plans(cut.prefix).items():
        values = tuple(_STATES.get(state, state) for state in states)
        if values[-1] in ("pending", "in_progress", "completed"):
            yield Fact("todo", words, values, words in later)


def _git_facts(cut: Cut) -> Iterator[Fact]:
    branches: list[str] = []
    commits: list[str] = []
    for message, call, result in _calls(cut.prefix):
        command = text_argument(call, "command") if call.kind == "shell" else ""
        if result is None or "git" not in command:
            continue
        made = _RE["commit"].findall(result.text)
        commits += [commit for _, commit in made]
        if not message.agent and not _RE["changes_directory"].search(command):
            branches += [branch for branch, _ in made] + _RE["branch"].findall(result.text)
    later = "\n".join(_agent_words(cut.future))
    for kind, values in (("branch", branches), ("commit", commits)):
        if values:
            used = re.search(rf"(?<![\w/-]){re.escape(values[-1])}", later) is not None
            yield Fact(kind, kind, tuple(values), used)


def flatten_text(value: object) -> str:
    """All that stands in a call's arguments, joined by line feeds."""
    return "\n".join("" if v is None else str(v) for v in codec.leaves(value))


def _agent_words(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        if message.role == "assistant":
            yield message.text
            for part in message.parts:
                if type(part) is ToolCall:
                    yield flatten_text(part.input)
