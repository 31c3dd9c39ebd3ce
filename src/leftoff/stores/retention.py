"""Retention: which stored documents may be removed, by number and by age; pinned ones never."""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from leftoff.errors import UsageError
from leftoff.stores.protocol import Entry, PrunableStore, Store

DAY: Final = 86_400


class Retention(Struct, frozen=True):
    """How many documents of a kind are retained, and up to which age in days; None for all and
    for any age. With both set, a document is removed only if both rules allow it; with none,
    never. Pinned documents count among those that are kept."""

    keep: int | None = None
    days: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("keep", self.keep), ("days", self.days)):
            if value is not None and not value >= 0:
                raise UsageError(f"retention: {name} must be 0 or more, not {value}")

    def allows(self, rank: int, age: float) -> bool:
        """Whether a document may be removed, by its `rank`, 0 for the newest, and its `age` in
        seconds."""
        if self.keep is None and self.days is None:
            return False
        too_many = self.keep is None or rank >= self.keep
        return too_many and (self.days is None or age > self.days * DAY)


class Pruned(Struct, frozen=True):
    """What `prune` removed, or would remove, and what it left; newest first."""

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
    finished: Callable[[Entry], bool] = lambda _: False,
) -> Pruned:
    """Removes the documents of a kind that a retention rule allows to remove. A document that
    is saved or pinned meanwhile stays, as does one that is damaged or too new. `StateError`
    where the store failed; what was removed until then stays removed.

    Args:
        now: in seconds since 1970.
        dry_run: remove nothing; return what would be removed.
        spare: id of a document that always stays: after the clock was set back, the one just
            saved may look like the oldest.
        finished: which documents are removed whatever the rule says."""
    removed: list[Entry] = []
    retained: list[Entry] = []
    for rank, entry in enumerate(store.list(kind)):
        removable = entry.readable and not entry.pinned and entry.id != spare
        due = removable and (retention.allows(rank, now - entry.saved) or finished(entry))
        if due and not dry_run:
            if isinstance(store, PrunableStore):
                due = store.drop(kind, entry)
            else:
                due = store.delete(kind, entry.id)
        (removed if due else retained).append(entry)
    return Pruned(tuple(removed), tuple(retained))


def pin(store: Store, kind: str, id: str, pinned: bool = True) -> bool:  # noqa: FBT002 - reads well
    """Pins or unpins a document. False if there is none. `UsageError` where this store cannot
    do that."""
    if not isinstance(store, PrunableStore):
        raise UsageError(f"{type(store).__name__} cannot pin documents")
    return store.pin(kind, id, pinned)
