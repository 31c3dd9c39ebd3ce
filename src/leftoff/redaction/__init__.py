"""What looks like a credential becomes a placeholder: `Redactor` guards every output."""

from __future__ import annotations

from leftoff.redaction.redactor import (
    BLOCK,
    MAX_NESTING,
    RULES,
    Finder,
    Redactor,
    Rule,
    Span,
    expand_macros,
    is_secret_path,
    redact,
    redactors,
    rules_digest,
    safe_quote_end,
)

__all__ = [
    "BLOCK",
    "MAX_NESTING",
    "RULES",
    "Finder",
    "Redactor",
    "Rule",
    "Span",
    "expand_macros",
    "is_secret_path",
    "redact",
    "redactors",
    "rules_digest",
    "safe_quote_end",
]
