"""`leftoff report`, and the page of `leftoff summarize -f html`."""

import os
import sys

from leftoff import settings
from leftoff.api import SessionReading, messages_at
from leftoff.batch.summarize_many import summarize_all
from leftoff.cli.group import complain
from leftoff.cli.output import deliver
from leftoff.cli.params import SessionFilter, command
from leftoff.errors import UsageError
from leftoff.incremental.accounts import account_of_reading
from leftoff.redaction.redactor import Redactor
from leftoff.rendering.html.quotes import cited
from leftoff.rendering.html.report import ReportRow, report_row
from leftoff.rendering.html.report import report as report_page
from leftoff.rendering.html.session import page
from leftoff.sources.open import STDIN
from leftoff.summary import ContextSummary


def page_of(
    summary: ContextSummary,
    gathered: SessionReading,
    *,
    agent: str = "",
    everything: bool = False,
    gate: Redactor,
) -> str:
    """The page of a summary, with its curve and the messages that it quotes. `gathered`: the
    recordings that the summary was made from; they are read again for the quotations, but for
    standard input."""
    found = settings.load_here().settings
    watched = found.watched()
    account = account_of_reading(
        gathered, watched, agent=agent, windows=found.windows, prices=found.prices
    ).account
    messages = {}
    if not any(source.path == STDIN for source in summary.session.sources):
        messages = messages_at(summary, cited(summary, account))
    return page(
        summary, account, messages, thresholds=watched, everything=everything, gate=gate
    )


@command("report")
def report(
    paths: tuple[str, ...], *, output: str | None, chosen: SessionFilter, workers: int | None
) -> int:
    """Write many sessions as one HTML page: overview, totals by project and week, search.

    Example: leftoff report --since 2w -o report.html

    PATHS are files, folders and patterns, as for `leftoff batch`. Without them: the sessions
    that `leftoff list` shows, selected by the options. Files that cannot be read are listed at
    the end of the page. Exit 1: no session matches."""
    if paths and chosen.given:
        name = chosen.given[0]
        raise UsageError(f"{name} chooses among the sessions of this machine: name no PATHS")
    if "" in paths:
        raise UsageError("one of PATHS is empty: name files, folders or patterns")
    named = list(paths) or [session.path for session in chosen.sessions()]
    rows: list[ReportRow] = []
    unread: list[str] = []
    # One session is read sooner than processes start.
    many = len(named) > 1 or any(os.path.isdir(path) for path in named)  # noqa: PTH112
    at_once = (workers or os.cpu_count() or 1) if many else 0
    for one in summarize_all(named, workers=at_once) if named else ():
        if one.ok:
            rows.append(report_row(one.summary))
        else:
            unread.append(f"{one.row.path}: {one.row.reason}")
        if sys.stderr.isatty():
            print(f"\r{len(rows)} sessions", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    if not rows:
        complain("no session matches" + (f"; {unread[0]}" if unread else ""))
        return 1
    deliver(report_page(rows, unread), output)
    if unread:
        complain(f"{len(unread)} could not be read; they stand at the end of the page")
    return 0
