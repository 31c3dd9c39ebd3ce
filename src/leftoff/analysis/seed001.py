"""The summary in the shape of the original design."""

from typing import Any

from leftoff.analysis.summary_json import to_plain
from leftoff.analysis.text_form import format_context_summary, percentage_as_number
from leftoff.redaction.redactor import Redactor
from leftoff.summary import ContextSummary

__all__ = ["format_context_summary", "percentage_as_number", "seed_shape"]


def seed_shape(summary: ContextSummary, redactor: Redactor | None = None) -> dict[str, Any]:
    """The JSON object with exactly the keys and shapes of the original design."""
    value = to_plain(summary, redactor)
    progress = value["progress"]
    stage = {"currentStage": progress["current_stage"]} if progress["current_stage"] else {}
    return {
        "stats": _renamed(value["stats"], "message_count tool_call_count estimated_tokens"),
        "keyDecisions": [
            _renamed(d, "text type confidence message_index") for d in value["key_decisions"]
        ],
        "progress": {
            "completedStages": progress["completed_stages"],
            **stage,
            "progressPercentage": percentage_as_number(summary.progress),
            "milestones": [m["text"] for m in progress["milestones"]],
        },
        "fileModifications": [
            _renamed(f, "path action touch_count tools") for f in value["file_modifications"]
        ],
        "toolsUsed": value["tools_used"],
        "userRequests": [r["text"] for r in value["user_requests"]],
        "formatted": value["formatted"],
    }


def _renamed(row: dict[str, Any], names: str) -> dict[str, Any]:
    """Some values of a row under the names that the original design gives them: messageCount
    for message_count."""
    words = ((name, name.title().replace("_", "")) for name in names.split())
    return {name[0] + word[1:]: row[name] for name, word in words}
