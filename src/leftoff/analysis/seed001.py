"""The summary in the shape of the original design: its text form and its JSON object."""

from __future__ import annotations

from typing import Any

from leftoff.analysis.summary_json import to_plain
from leftoff.redaction.redactor import Redactor
from leftoff.summary import ContextSummary


def format_context_summary(summary: ContextSummary) -> str:
    """The text form: counts, tools, files by action, decisions with their type, stage and
    percentage, the last three requests at 100 characters."""
    from leftoff.text.truncation import short

    stats = summary.stats
    lines = [
        f"Messages: {stats.message_count}",
        f"Tool calls: {stats.tool_call_count}",
        f"Estimated tokens: {stats.estimated_tokens}",
        "Tools used: " + (", ".join(summary.tools_used) or "none"),
    ]
    for action in ("read", "created", "modified", "deleted"):
        paths = [f.path for f in summary.file_modifications if f.action == action]
        if paths:
            lines.append(f"Files {action}: " + ", ".join(paths))
    if summary.key_decisions:
        lines.append("Key decisions:")
        lines += [f"- [{d.type}] {short(d.text, 200)}" for d in summary.key_decisions]
    if summary.progress.current_stage:
        lines.append(f"Current stage: {summary.progress.current_stage}")
    lines.append(f"Progress: {summary.progress.progress_percentage}%")
    if summary.user_requests:
        lines.append("Recent requests:")
        lines += [f"- {short(r.text, 100)}" for r in summary.user_requests[-3:]]
    return "\n".join(lines)


def seed_shape(summary: ContextSummary, redactor: Redactor | None = None) -> dict[str, Any]:
    """The JSON object with exactly the keys and shapes of the original design."""
    value = to_plain(summary, redactor)
    return {
        "stats": {
            "messageCount": value["stats"]["message_count"],
            "toolCallCount": value["stats"]["tool_call_count"],
            "estimatedTokens": value["stats"]["estimated_tokens"],
        },
        "keyDecisions": [
            {
                "text": d["text"],
                "type": d["type"],
                "confidence": d["confidence"],
                "messageIndex": d["message_index"],
            }
            for d in value["key_decisions"]
        ],
        "progress": {
            "completedStages": value["progress"]["completed_stages"],
            **(
                {"currentStage": value["progress"]["current_stage"]}
                if value["progress"]["current_stage"]
                else {}
            ),
            "progressPercentage": value["progress"]["progress_percentage"],
            "milestones": [m["text"] for m in value["progress"]["milestones"]],
        },
        "fileModifications": [
            {
                "path": f["path"],
                "action": f["action"],
                "touchCount": f["touch_count"],
                "tools": f["tools"],
            }
            for f in value["file_modifications"]
        ],
        "toolsUsed": value["tools_used"],
        "userRequests": [r["text"] for r in value["user_requests"]],
        "formatted": value["formatted"],
    }
