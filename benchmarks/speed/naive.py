"""What somebody would write in an afternoon: the yardstick that we count our gain from.

`json.loads` for every line, seed 001's nineteen patterns with `re` for every message, data
classes, the seed's table of tools for files, requests, tools, counts, `json.dumps`.

It does not do: detect the format, mend damaged lines, drop copies or repeated usage, tell what
the person typed from what was put into their mouth, look at outcomes, understand commands
(a command with `rm` deletes, any other modifies, and no path is known), leave code and quotes
out, weigh decisions, judge claims by what tools showed, keep places, redact, count tokens by
what they are, bound its memory. Sentences are cut by the patterns, as in the seed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from leftoff.evaluation.baselines import DECISION_PATTERNS, MILESTONE_PATTERNS, STAGE_PATTERNS

_DECISIONS = [(re.compile(p, re.IGNORECASE), kind, sure) for p, kind, sure in DECISION_PATTERNS]
_STAGES = [re.compile(p, re.IGNORECASE) for p in STAGE_PATTERNS]
_MILESTONES = [re.compile(p, re.IGNORECASE) for p, _ in MILESTONE_PATTERNS]
_REMOVES = re.compile(r"\brm\s+")


@dataclass
class Call:
    name: str
    input: dict[str, Any]


@dataclass
class Message:
    role: str
    text: str
    calls: list[Call] = field(default_factory=list)


@dataclass
class Decision:
    text: str
    type: str
    confidence: float
    messageIndex: int  # noqa: N815 - the seed's name


@dataclass
class File:
    path: str
    action: str
    touchCount: int = 0  # noqa: N815
    tools: list[str] = field(default_factory=list)


@dataclass
class Summary:
    messages: int = 0
    calls: int = 0
    characters: int = 0
    decisions: list[Decision] = field(default_factory=list)
    completed: list[str] = field(default_factory=list)
    stage: str = ""
    milestones: list[str] = field(default_factory=list)
    files: dict[str, File] = field(default_factory=dict)
    tools: dict[str, int] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)


def messages_of(data: bytes) -> Iterator[Message]:
    """The messages of a session of Claude Code, Codex, Pi or SWE-agent."""
    first = data[:200].lstrip()
    if first.startswith(b"{\n") or b'"history"' in first:
        document = json.loads(data)
        for item in document.get("history", ()):
            yield _message(item)
        return
    for line in data.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if not isinstance(record, dict):
            continue
        body = record.get("message") or record.get("payload") or record
        if isinstance(body, dict):
            yield _message(body)


def _message(body: dict[str, Any]) -> Message:
    message = Message(str(body.get("role") or ""), "")
    if body.get("type") == "function_call":
        message.calls.append(_call(body.get("name"), body.get("arguments")))
    if isinstance(body.get("action"), str):
        message.calls.append(Call("Bash", {"command": body["action"]}))
    content = body.get("content")
    if isinstance(content, str):
        message.text = content
    texts = []
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        if block.get("type") in {"text", "input_text", "output_text"}:
            texts.append(str(block.get("text") or ""))
        elif block.get("type") in {"tool_use", "toolCall"}:
            given = block.get("input") or block.get("arguments")
            message.calls.append(_call(block.get("name"), given))
    if texts:
        message.text = "\n".join(texts)
    return message


def _call(name: Any, given: Any) -> Call:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            given = {"command": given}
    return Call(str(name), given if isinstance(given, dict) else {})


def summarize(data: bytes) -> Summary:
    """Seed 001's summary of a session."""
    found = Summary()
    read: set[str] = set()
    for index, message in enumerate(messages_of(data)):
        if not message.role and not message.calls:
            continue
        found.messages += 1
        found.characters += len(message.text)
        if message.role == "user" and message.text:
            found.requests.append(message.text)
        _stages(found, message.text)
        if message.role == "assistant":
            for pattern, kind, sure in _DECISIONS:
                for match in pattern.finditer(message.text):
                    found.decisions.append(Decision(match[0], kind, sure, index))
            for pattern in _MILESTONES:
                for match in pattern.finditer(message.text):
                    found.milestones.append(match[0])
        for call in message.calls:
            _called(found, call, read)
    return found


def _stages(found: Summary, text: str) -> None:
    for number, pattern in enumerate(_STAGES):
        for match in pattern.finditer(text):
            if number == 1:
                found.completed.append(match[1].lower())
            else:
                found.stage = match[1].lower()


def _called(found: Summary, call: Call, read: set[str]) -> None:
    found.calls += 1
    found.tools[call.name] = found.tools.get(call.name, 0) + 1
    path = str(call.input.get("file_path") or call.input.get("path") or "")
    name = call.name.lower()
    if name == "read":
        action = "read"
        read.add(path)
    elif name == "write":
        action = "modified" if path in read else "created"
    elif name in {"bash", "shell", "exec_command", "shell_command"}:
        command = str(call.input.get("command") or call.input.get("cmd") or "")
        action = "deleted" if _REMOVES.search(command) else "modified"
    else:
        action = "modified"
    if path:
        file = found.files.setdefault(path, File(path, action))
        file.action = action
        file.touchCount += 1
        if call.name not in file.tools:
            file.tools.append(call.name)


def to_json(summary: Summary) -> str:
    return json.dumps(asdict(summary))
