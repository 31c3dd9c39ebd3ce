"""Reads recorded sessions of AI coding agents and says what was decided, how far the work got,
what happened to which file, and how to pick it up again. Calls no model.

    import leftoff
    summary = leftoff.summarize("session.jsonl")
    for d in summary.key_decisions:
        print(d.confidence, d.type, d.text, d.ref)"""

from __future__ import annotations

from leftoff._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from leftoff.analysis.seed001 import format_context_summary
    from leftoff.analysis.session_pass import Pass
    from leftoff.analysis.summary_json import from_json, to_json
    from leftoff.api import (
        create_context_summary,
        extract_key_decisions,
        extract_progress,
        open_pass,
        read,
        summarize,
        track_file_modifications,
        verify,
    )
    from leftoff.batch.summarize_many import (
        Summarized,
        summarize_all,
        summarize_all_async,
        to_dataframe,
    )
    from leftoff.errors import (
        FormatError,
        InputError,
        LeftoffError,
        SourceError,
        StateError,
        UsageError,
    )
    from leftoff.model import Issue, Message, Ref, Text, ToolCall, ToolResult, Usage
    from leftoff.rendering.render_summary import render
    from leftoff.summary import (
        ContextSummary,
        FileModification,
        KeyDecision,
        Milestone,
        ProgressInfo,
        UserRequest,
    )

# The modules that public names are loaded from.
_HOME = {
    "leftoff.api": "create_context_summary extract_key_decisions extract_progress open_pass"
    " read summarize track_file_modifications verify",
    "leftoff.batch": "Summarized summarize_all summarize_all_async to_dataframe",
    "leftoff.errors": "FormatError InputError LeftoffError SourceError StateError UsageError",
    "leftoff.summary": "ContextSummary FileModification KeyDecision Milestone ProgressInfo"
    " UserRequest",
    "leftoff.model": "Issue Message Ref Text ToolCall ToolResult Usage",
    "leftoff.rendering": "render",
    "leftoff.analysis.seed001": "format_context_summary",
    "leftoff.analysis.session_pass": "Pass",
    "leftoff.analysis.summary_json": "from_json to_json",
}
_SUMMARIZING = ("leftoff.api", "leftoff.batch", "leftoff.analysis.", "leftoff.summary")
_WHERE = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = [
    "ContextSummary",
    "FileModification",
    "FormatError",
    "InputError",
    "Issue",
    "KeyDecision",
    "LeftoffError",
    "Message",
    "Milestone",
    "Pass",
    "ProgressInfo",
    "Ref",
    "SourceError",
    "StateError",
    "Summarized",
    "Text",
    "ToolCall",
    "ToolResult",
    "Usage",
    "UsageError",
    "UserRequest",
    "__version__",
    "create_context_summary",
    "extract_key_decisions",
    "extract_progress",
    "format_context_summary",
    "from_json",
    "open_pass",
    "read",
    "render",
    "summarize",
    "summarize_all",
    "summarize_all_async",
    "to_dataframe",
    "to_json",
    "track_file_modifications",
    "verify",
]


def __getattr__(name: str) -> object:
    """Public names are imported when they are first asked for."""
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'leftoff' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(module), name)
    if module.startswith(_SUMMARIZING):
        # `summary` cannot import what displays it; users of this package get both.
        import_module("leftoff.rendering.notebook")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
