"""`leftoff follow`."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from leftoff.analysis.summary_json import to_json
from leftoff.cli.group import complain
from leftoff.cli.output import deliver, nothing_fits, rendered
from leftoff.cli.params import command, path_of
from leftoff.cli.poll import ended_in_order, polls
from leftoff.errors import FormatError, InputError, StateError, UsageError
from leftoff.incremental.follow import Follower
from leftoff.summary import ContextSummary


@command("follow")
def follow(
    session: str,
    *,
    form: str,
    as_json: bool,
    budget: int | None,
    keep: str | None,
    interval: float,
    seconds: float | None,
    output: str | None,
) -> None:
    """Print a new summary of SESSION whenever something was written to it, until interrupted.

    Example: leftoff follow latest -f markdown -o now.md

    Only the new part is read. A recording that is renamed is read to its end; if the file that
    replaces it belongs to the same session, both are summarized together."""
    with ended_in_order(), ExitStack() as stack:
        # Where nothing is to be saved, the state is private and ends with the process.
        folder = keep or stack.enter_context(TemporaryDirectory(prefix="leftoff-"))
        follower = Follower(path_of(session), Path(folder))
        for found in _summaries(follower, polls(interval, seconds)):
            if as_json or form == "json":
                deliver(to_json(found), output)
                continue
            text = rendered(found, form, output, budget=budget)
            if budget is not None and not text.strip():
                raise UsageError(nothing_fits(budget))
            deliver(text.rstrip("\n") + "\n\n", output)


def _summaries(follower: Follower, polls: Iterator[None]) -> Iterator[ContextSummary]:
    """The summary whenever it is another than the last time. `InputError` or `StateError` where
    there is nothing that can be followed, or nowhere to keep the place; later such things are
    said, and tried again."""
    first, due, said = True, True, ""
    for _ in polls:
        try:
            look = follower.look()
            due = due or look.changed
            for path in look.deleted:
                complain(f"{path}: the recording was removed; a new one begins")
            found = follower.summary() if due else None
        except (InputError, StateError) as error:
            early = isinstance(error, FormatError)  # nothing may have been said in it yet
            if first and not early:
                raise
            empty = all(part.mark.offset == 0 for part in follower.parts)
            if str(error) != said and not (early and empty):
                complain(str(error))
            # Part of it may have been read already; the next poll does not report it again.
            first, due, said = False, True, str(error)
            continue
        first, due, said = False, False, ""
        if found is not None:
            yield found
