"""`leftoff budget`."""

import os
import sys
from pathlib import Path

from leftoff import codec, settings
from leftoff.budget import thresholds
from leftoff.budget.account import SessionAccount
from leftoff.cli.output import coloured, columns, deliver
from leftoff.cli.params import command, path_of
from leftoff.cli.poll import polls
from leftoff.incremental.accounts import AccountFollower, account_of
from leftoff.rendering import budget as rendering
from leftoff.summary import ReaderCost


@command("budget")
def budget(
    session: str,
    *,
    as_json: bool,
    watch: bool,
    instructions: bool,
    preset: str | None,
    recorder: str | None,
    interval: float,
    seconds: float | None,
) -> None:
    """Show how full the context window of SESSION is, the tokens and cost so far, and how many
    calls are left.

    Example: leftoff budget latest --watch"""
    found = settings.load_here({} if preset is None else {"preset": preset})
    chosen = found.settings.watched()
    windows, prices = found.settings.windows, found.settings.prices
    path = path_of(session)
    if instructions or not watch:
        now = account_of(path, chosen, format=recorder, windows=windows, prices=prices)
        if instructions:
            # They name tokens; the setting stands in for a window that is not known.
            usable = now.account.context.usable_window
            total = usable or found.settings.context_management.budget_total
            deliver(thresholds.instructions(chosen, total))
        else:
            deliver(_shown(now, as_json, reader=_asked(found.settings.home, now.id)))
        return
    following = AccountFollower(path, chosen, format=recorder, windows=windows, prices=prices)
    lines_up = 0
    # The file alone is polled: `changed` reads what was added, and nothing otherwise.
    for _ in polls(interval, seconds):
        latest = following.changed()
        if latest is not None:
            lines_up = _show_again(_shown(latest, as_json, lines=True), lines_up, as_json)


def _shown(
    accounted: SessionAccount,
    as_json: bool,
    *,
    lines: bool = False,
    reader: ReaderCost | None = None,
) -> str:
    """The account as text or JSON; with `lines` the JSON is one line. `reader`: what a second
    reader of the session cost."""
    value: codec.JsonObject = rendering.plain(accounted, reader=reader)
    if as_json:
        return codec.dumps(value, indent=0 if lines else 2).decode()
    return rendering.text(value, colour=coloured(), width=columns())


def _asked(home: str, session: str) -> ReaderCost | None:
    """What a second reader of the session cost, as far as its answers are stored here."""
    if not os.path.isdir(home):  # noqa: PTH112 - a name too long is no folder
        return None
    from leftoff.second_reading import stored_cost

    return stored_cost(Path(home), session)


def _show_again(text: str, lines_up: int, as_json: bool) -> int:
    """Writes over what was shown last on a terminal, below it elsewhere; returns its height."""
    # A log file or a pipe cannot be written over.
    if as_json or not sys.stdout.isatty():
        deliver(text if as_json else text + "\n")
        return 0
    up = f"\x1b[{lines_up}F\x1b[J" if lines_up else ""
    deliver(up + text)
    return text.count("\n")
