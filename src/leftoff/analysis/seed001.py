"""The text form of a summary, as the original design has it."""

from leftoff.summary import STAGES, ContextSummary, ProgressInfo
from leftoff.text.truncation import short


def format_context_summary(summary: ContextSummary) -> str:
    """The text form: counts, tools, files by action, decisions with their type, stage and
    percentage, the last three requests at 100 characters."""
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
    lines.append(f"Progress: {percentage_as_number(summary.progress)}%")
    if summary.user_requests:
        lines.append("Recent requests:")
        lines += [f"- {short(r.text, 100)}" for r in summary.user_requests[-3:]]
    return "\n".join(lines)


def percentage_as_number(progress: ProgressInfo) -> int:
    """The percentage for the original design, which wants a number: ours, or where nothing can
    be said the share of its six stages that are completed."""
    if progress.progress_percentage is not None:
        return progress.progress_percentage
    return round(
        100 * len(progress.completed_stages) / len([s for s in STAGES if s != "other"])
    )
