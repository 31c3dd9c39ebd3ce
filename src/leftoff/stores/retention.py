"""Which kept documents may go: by number, by age, never the pinned ones."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from leftoff.errors import UsageError
from leftoff.stores.protocol import Entry, Keeping, Store

DAY: Final = 86_400


class Retention(Struct, frozen=True):
    """What is kept of a kind.

    Attributes:
        keep: as many of the newest, pinned ones counted; None for any number.
        days: those saved within so many days; None for any age.

    Where both are set, only what neither keeps may go; where none is, nothing may.
    """

    keep: int | None = None
    days: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("keep", self.keep), ("days", self.days)):
            if value is not None and not value >= 0:
                raise UsageError(f"retention: {name} must be 0 or more, not {value}")

    def allows(self, rank: int, age: float) -> bool:
        """Whether a document may go that is so many places behind the newest and was saved so
        many seconds ago."""
        if self.keep is None and self.days is None:
            return False
        too_many = self.keep is None or rank >= self.keep
        return too_many and (self.days is None or age > self.days * DAY)


class Pruned(Struct, frozen=True):
    """What retention removed, or would remove, and what is left; newest first."""

    removed: tuple[Entry, ...]
    kept: tuple[Entry, ...]


def prune(
    store: Store,
    kind: str,
    retention: Retention,
    *,
    now: float,
    dry_run: bool = False,
    spare: str = "",
) -> Pruned:
    """Removes the documents of a kind that may go. A document that is saved or pinned
    meanwhile stays, as does one that is damaged or that a newer leftoff wrote.

    Args:
        now: in seconds since 1970.
        dry_run: only tell what would be removed.
        spare: the id of a document that stays in any case: the one that was saved a moment
            ago may look like the oldest, where the clock was set back.

    Raises:
        StateError: the store failed; what was removed so far is gone.
    """
    removed: list[Entry] = []
    kept: list[Entry] = []
    for rank, entry in enumerate(store.list(kind)):
        may_go = entry.readable and not entry.pinned and entry.id != spare
        if may_go and retention.allows(rank, now - entry.saved):
            if dry_run or _drop(store, kind, entry):
                removed.append(entry)
                continue
        kept.append(entry)
    return Pruned(tuple(removed), tuple(kept))


def _drop(store: Store, kind: str, entry: Entry) -> bool:
    if isinstance(store, Keeping):
        return store.drop(kind, entry)
    return store.delete(kind, entry.id)


def pin(store: Store, kind: str, id: str, pinned: bool = True) -> bool:  # noqa: FBT002 - reads well
    """Protects a document from retention, or no longer. False if there is none.

    Raises:
        UsageError: this store cannot do that.
    """
    if not isinstance(store, Keeping):
        raise UsageError(f"{type(store).__name__} cannot pin documents")
    return store.pin(kind, id, pinned)
