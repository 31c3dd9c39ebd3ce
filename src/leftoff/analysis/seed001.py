"""The summary in the shape of the original design."""

from __future__ import annotations

from typing import Any

from leftoff.analysis.summary_json import to_plain
from leftoff.analysis.text_form import format_context_summary, percentage_as_number
from leftoff.redaction.redactor import Redactor
from leftoff.summary import ContextSummary

__all__ = ["format_context_summary", "percentage_as_number", "seed_shape"]


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
            "progressPercentage": percentage_as_number(summary.progress),
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
