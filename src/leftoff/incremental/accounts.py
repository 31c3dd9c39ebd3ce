"""Token accounts of recordings: of a whole file, or of a growing one."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from leftoff.api import SessionReading
from leftoff.budget.account import SessionAccount, account
from leftoff.budget.prices import PriceRow
from leftoff.budget.thresholds import Preset
from leftoff.budget.windows import ModelRow
from leftoff.incremental.growing import GrowingSession, NoMessageYet


def account_of(
    path: str,
    preset: Preset,
    *,
    format: str | None = None,
    windows: Sequence[ModelRow] = (),
    prices: Sequence[PriceRow] = (),
) -> SessionAccount:
    """The account of the session recorded at `path`, with its subagents' files.

    Args:
        path: a file, a session's directory, or "-" for standard input; of several sessions in
            a file the one that a summary is of.
        windows, prices: rows that come before those of the built-in tables.

    Raises:
        SourceError: the file cannot be read.
        FormatError: it holds no message in a known format."""
    gathered = SessionReading()
    gathered.add(path, format, (), None)
    return account_of_reading(gathered, preset, windows=windows, prices=prices)


def account_of_reading(
    gathered: SessionReading,
    preset: Preset,
    *,
    agent: str = "",
    windows: Sequence[ModelRow] = (),
    prices: Sequence[PriceRow] = (),
) -> SessionAccount:
    """The account of recordings that were read, or of one subagent in them; `windows` and
    `prices` as for `account_of`."""
    main = gathered.view(agent)
    recorder = gathered.formats[0]
    return SessionAccount(
        id=main.state.agent or main.state.header.id,
        format=recorder,
        path=gathered.sources[0].path,
        models=tuple(main.state.header.models),
        preset=preset.name,
        account=account(main, main.children, preset, recorder, windows=windows, prices=prices),
    )


class AccountFollower:
    """Keeps the account of a growing session up to date and reads only what was added; see
    `GrowingSession`, and `account_of` for the rest."""

    def __init__(
        self,
        path: str,
        preset: Preset,
        *,
        format: str | None = None,
        windows: Sequence[ModelRow] = (),
        prices: Sequence[PriceRow] = (),
    ) -> None:
        self._session = GrowingSession(path, format)
        self._account = partial(
            account_of_reading, preset=preset, windows=windows, prices=prices
        )

    def changed(self) -> SessionAccount | None:
        """The account now, or None if nothing was written since the last call.

        Raises:
            SourceError: the file cannot be read.
            FormatError: it is surely no recording in a known format."""
        with suppress(NoMessageYet):
            return self._session.read_on(self._account)
        return None
