"""`--no-redact`: secrets as they were recorded, on a terminal only."""

import sys
from collections.abc import Sequence

from leftoff.errors import UsageError
from leftoff.redaction.redactor import Finder, Redactor


def gate_of(*, bare: bool, output: str | None, extra: Sequence[Finder] = ()) -> Redactor:
    """The redactor of a command; `UsageError` where secrets were asked for where they would
    stay: in a file or a pipe."""
    if not bare:
        return Redactor(extra=extra)
    # A file or a pipe outlives the moment in which a secret was to be seen.
    if output is not None or not sys.stdout.isatty():
        raise UsageError("--no-redact shows secrets on a terminal only, not in a file or pipe")
    return _Open()


# Renderers demand text that has passed a redactor, so this is one.
class _Open(Redactor):
    """Lets everything through."""

    def text(self, s: str) -> str:
        return s

    def value(self, v: object) -> object:
        return v

    def file(self, path: str, content: str) -> str:
        return content
