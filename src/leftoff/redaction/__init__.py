"""What looks like a credential becomes a placeholder: `Redactor` guards every output."""

from leftoff.redaction.redactor import Finder, Redactor, Span, redact, redactors

__all__ = ["Finder", "Redactor", "Span", "redact", "redactors"]
