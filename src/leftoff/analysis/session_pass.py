"""One pass over one recording: bytes in, a `ContextSummary` out at any time."""

from collections.abc import Sequence

from leftoff.analysis.assemble import assemble, view_of
from leftoff.extraction.collector import Collector
from leftoff.extraction.session_state import pack_large
from leftoff.summary import ContextSummary, Source


class Pass(Collector):
    r"""One reading of one recording: feed it bytes, ask it for the summary at any time.

    >>> reading = Pass()
    >>> reading.feed(b'{"role": "user", "text": "Add a retry to the uploader."}\n')
    >>> reading.summary().user_requests[0].text
    'Add a retry to the uploader.'"""

    def close(self) -> None:
        """As `Collector.close`; then what a large recording holds is packed."""
        super().close()
        for states in self.sessions:
            if pack_large(states.values()):
                self._gate.forget()

    def summary(self, sources: Sequence[Source] = ()) -> ContextSummary:
        """The summary of what was fed so far; more may be fed afterwards.

        Raises:
            FormatError: there is no message in it yet, or no known format."""
        twin = self.fork()
        twin.close()
        return twin.conclude(sources)

    def conclude(self, sources: Sequence[Source] = (), session: int = -1) -> ContextSummary:
        """The summary of a recording that is closed.

        Args:
            session: which of several sessions in the recording; the last by default."""
        recordings = self.sessions[session]
        return assemble(
            recordings,
            view_of(recordings, {}),
            sources=sources,
            format=self.format.name if self.format else "",
            lines=self.lines,
            issues=list(self.issues.values()),
        )
