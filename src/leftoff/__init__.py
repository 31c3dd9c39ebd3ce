"""Reads recorded sessions of AI coding agents and says what was decided, how far the work got,
what happened to which file, and how to pick it up again. Calls no model.

    import leftoff
    summary = leftoff.summarize("session.jsonl")
    for d in summary.key_decisions:
        print(d.confidence, d.type, d.text, d.ref)"""

from __future__ import annotations

from leftoff._version import __version__ as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from leftoff.analysis.seed001 import format_context_summary as format_context_summary
    from leftoff.analysis.session_pass import Pass as Pass
    from leftoff.analysis.summary_json import from_json as from_json
    from leftoff.analysis.summary_json import to_json as to_json
    from leftoff.api import create_context_summary as create_context_summary
    from leftoff.api import extract_key_decisions as extract_key_decisions
    from leftoff.api import extract_progress as extract_progress
    from leftoff.api import open_pass as open_pass
    from leftoff.api import read as read
    from leftoff.api import summarize as summarize
    from leftoff.api import track_file_modifications as track_file_modifications
    from leftoff.api import verify as verify
    from leftoff.batch.summarize_many import Summarized as Summarized
    from leftoff.batch.summarize_many import summarize_all as summarize_all
    from leftoff.batch.summarize_many import summarize_all_async as summarize_all_async
    from leftoff.batch.summarize_many import to_dataframe as to_dataframe
    from leftoff.errors import FormatError as FormatError
    from leftoff.errors import InputError as InputError
    from leftoff.errors import LeftoffError as LeftoffError
    from leftoff.errors import SourceError as SourceError
    from leftoff.errors import StateError as StateError
    from leftoff.errors import UsageError as UsageError
    from leftoff.model import Issue as Issue
    from leftoff.model import Message as Message
    from leftoff.model import Ref as Ref
    from leftoff.model import Text as Text
    from leftoff.model import ToolCall as ToolCall
    from leftoff.model import ToolResult as ToolResult
    from leftoff.model import Usage as Usage
    from leftoff.rendering.render_summary import render as render
    from leftoff.summary import ContextSummary as ContextSummary
    from leftoff.summary import FileModification as FileModification
    from leftoff.summary import KeyDecision as KeyDecision
    from leftoff.summary import Milestone as Milestone
    from leftoff.summary import ProgressInfo as ProgressInfo
    from leftoff.summary import UserRequest as UserRequest

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
    "leftoff._version": "__version__",
}
_SUMMARIZING = ("leftoff.api", "leftoff.batch", "leftoff.analysis.", "leftoff.summary")
_WHERE = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = sorted(_WHERE)  # noqa: PLE0605 - type checkers read the imports above


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
