"""Token accounts of recordings: of a whole file, or of a growing one."""

from collections.abc import Sequence

from msgspec import Struct

from leftoff.analysis.assemble import view_of
from leftoff.analysis.session_pass import Pass
from leftoff.api import SessionReading, open_pass
from leftoff.budget.account import Account, account
from leftoff.budget.prices import PriceRow
from leftoff.budget.thresholds import Preset
from leftoff.budget.windows import ModelRow
from leftoff.errors import FormatError
from leftoff.extraction.session_state import SessionState
from leftoff.incremental.growing import GrowingSession, NoMessageYet
from leftoff.sources.open import session_paths


class SessionAccount(Struct, frozen=True):
    """The token account of one session; `models` of the main thread in order of first use."""

    id: str
    format: str
    path: str
    models: tuple[str, ...]
    preset: str
    account: Account


def account_of(
    path: str,
    preset: Preset,
    *,
    format: str | None = None,
    windows: Sequence[ModelRow] = (),
    prices: Sequence[PriceRow] = (),
) -> SessionAccount:
    """The account of the last session recorded at `path`, with its subagents' files.

    Args:
        path: a file, a session's directory, or "-" for standard input.
        windows, prices: rows that come before those of the built-in tables.

    Raises:
        SourceError: the file cannot be read.
        FormatError: it holds no message in a known format."""
    main, beside = session_paths(path)
    reading = open_pass(main, format=format)
    return _accounted(reading, main, _children(beside), preset, windows, prices)


def _children(beside: Sequence[tuple[str, str]]) -> dict[str, SessionState]:
    found: dict[str, SessionState] = {}
    for name, side in beside:
        try:
            reading = open_pass(side)
        except FormatError:
            continue  # the empty file of a subagent that wrote nothing
        found[name] = next(r for r in reading.sessions[-1].values() if len(r.thread))
    return found


def _accounted(
    reading: Pass,
    path: str,
    beside: dict[str, SessionState],
    preset: Preset,
    windows: Sequence[ModelRow],
    prices: Sequence[PriceRow],
) -> SessionAccount:
    # A subagent's own file takes precedence over the copies in the main one.
    _, main = view_of({**reading.sessions[-1], **beside}, {})
    name = reading.format.name if reading.format else ""
    header = main.state.header
    return SessionAccount(
        id=main.state.agent or header.id,
        format=name,
        path=path,
        models=tuple(header.models),
        preset=preset.name,
        account=account(main, main.children, preset, name, windows=windows, prices=prices),
    )


def account_of_reading(
    gathered: SessionReading,
    preset: Preset,
    *,
    agent: str = "",
    windows: Sequence[ModelRow] = (),
    prices: Sequence[PriceRow] = (),
) -> Account:
    """The account of recordings that were read for a summary, or of one subagent in them;
    `windows` and `prices` as for `account_of`."""
    _, main = view_of(*gathered.recordings(agent))
    return account(
        main, main.children, preset, gathered.formats[0], windows=windows, prices=prices
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
        self._preset, self._windows, self._prices = preset, windows, prices

    def changed(self) -> SessionAccount | None:
        """The account now, or None if nothing was written since the last call.

        Raises:
            SourceError: the file cannot be read.
            FormatError: it is surely no recording in a known format."""
        try:
            return self._session.read_on(self._account)
        except NoMessageYet:
            return None

    def _account(self, reading: Pass) -> SessionAccount:
        main, beside = session_paths(self._session.path)
        return _accounted(
            reading, main, _children(beside), self._preset, self._windows, self._prices
        )
