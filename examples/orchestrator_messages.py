"""The list of messages that an orchestrator holds anyway, summarised without a file: of each
kind, as dicts and as the objects of its library, beside the summary of its recording."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leftoff import create_context_summary, summarize
from leftoff.summary import ContextSummary

SESSIONS = Path(__file__).parents[1] / "corpora" / "sessions"


class Model:
    """Stands in for a pydantic model of OpenAI, Anthropic, LangChain or Semantic Kernel."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value

    def model_dump(self) -> dict[str, Any]:
        """As pydantic gives it."""
        return self.value


@dataclass
class TextBlock:
    """The Claude Agent SDK's."""

    text: str


@dataclass
class ToolUseBlock:
    """The Claude Agent SDK's."""

    id: str
    name: str
    input: dict[str, Any]


@dataclass
class ToolResultBlock:
    """The Claude Agent SDK's."""

    tool_use_id: str
    content: Any = None
    is_error: bool | None = None


@dataclass
class UserMessage:
    """The Claude Agent SDK's."""

    content: Any


@dataclass
class AssistantMessage:
    """The Claude Agent SDK's."""

    content: list[Any]
    model: str


def agent_sdk(recorded: list[dict[str, Any]]) -> Iterator[Any]:
    """What the SDK would have yielded for a recording in Anthropic's form."""
    blocks = {"text": TextBlock, "tool_use": ToolUseBlock, "tool_result": ToolResultBlock}
    for message in recorded:
        content = message["content"]
        if isinstance(content, list):
            content = [
                blocks[b["type"]](**{k: v for k, v in b.items() if k != "type"})
                for b in content
            ]
        if message["role"] == "assistant":
            yield AssistantMessage(content, message.get("model", ""))
        else:
            yield UserMessage(content)


def lists() -> Iterator[tuple[str, list[Any], Path]]:
    """Each kind: its name, the list in memory, and its recording."""
    for name, place in (
        ("OpenAI", "openai_chat/reminders.json"),
        ("LangChain", "langchain/labels.json"),
        ("LangChain, serialised", "langchain/labels-dumps.json"),
        ("AgentMessage", "agent_message/help-search.json"),
        ("Semantic Kernel", "semantic_kernel/imports.json"),
    ):
        held = json.loads((SESSIONS / place).read_text("utf-8"))
        messages = held["messages"] if isinstance(held, dict) else held
        yield name, messages, SESSIONS / place
        yield f"{name}, objects", [Model(m) for m in messages], SESSIONS / place
    for name, place in (
        ("Anthropic", "anthropic_messages/date-picker.jsonl"),
        ("Claude Code's lines", "claude_code/outbox.jsonl"),
        ("Codex's lines", "codex/sift.jsonl"),
    ):
        lines = (SESSIONS / place).read_text("utf-8").splitlines()
        recorded = [json.loads(line) for line in lines]
        yield name, recorded, SESSIONS / place
        if name == "Anthropic":
            yield f"{name}, objects", [Model(m) for m in recorded], SESSIONS / place
            yield "Claude Agent SDK", list(agent_sdk(recorded)), SESSIONS / place


def said(summary: ContextSummary) -> tuple[object, ...]:
    """What two summaries of the same messages have in common, wherever these stand."""
    progress = summary.progress
    return (
        summary.stats.message_count,
        summary.stats.tool_call_count,
        [(d.text, d.type, d.confidence, d.message_index) for d in summary.key_decisions],
        [(m.kind, m.evidence, m.text) for m in progress.milestones],
        (progress.completed_stages, progress.current_stage, progress.progress_percentage),
        [(f.path, f.action, f.touch_count, f.tools) for f in summary.file_modifications],
        [(r.text, r.kind, r.status) for r in summary.user_requests],
        [(c.command, c.verdict) for c in summary.checks],
        summary.tool_counts,
    )


def main() -> None:
    """Prints for each list whether it says what its recording says."""
    for name, messages, recording in lists():
        held, recorded = create_context_summary(messages), summarize(recording)
        same = "the same" if said(held) == said(recorded) else "NOT the same"
        counts = f"{held.stats.message_count} messages, {len(held.file_modifications)} files"
        print(f"{name}: {counts}: {same} as {recording.name}")


if __name__ == "__main__":
    main()
