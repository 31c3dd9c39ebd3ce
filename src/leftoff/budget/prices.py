"""What a session cost at list prices, from the table ``prices.toml``.

Precedence: the user's rows, then the table. A recording does not say for how long the cache was
written, so a cost is a range where the prices for that differ. What has no known price makes
the whole cost unknown: None, never a guess."""

from collections.abc import Iterable, Sequence

from msgspec import Struct, convert

from leftoff import lazy_re as re
from leftoff.budget.usage import calls_of, spend
from leftoff.budget.windows import matches
from leftoff.extraction.evidence import Counted
from leftoff.model import Usage
from leftoff.session_view import SessionView
from leftoff.tables import table

_MILLION = 1_000_000
# The vendor itself. Under another name, such as ``copilot/``, other prices hold.
_OWN_PREFIX = re.compile(r"(?:anthropic|openai|google|gemini|models)/")
_DATE = re.compile(r"(?:-20[0-9]{6}|\[1m\]|-latest)+")


class PriceRow(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table of prices: US dollars per million tokens. `match` is a pattern such as
    "claude-opus-5*"; docs/budget.md describes the others."""

    match: str
    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    cache_write_long: float | None = None
    up_to: int = 0
    since: str = ""
    until: str = ""
    source: str = ""

    def holds(self, day: str) -> bool:
        """Whether this was the price on a day, ISO 8601 (or a time on it)."""
        if not self.since and not self.until:
            return True
        return bool(day) and self.since <= day[:10] and (not self.until or day < self.until)

    def range(self, usage: Usage) -> tuple[float, float] | None:
        """The least and the most that this usage can have cost, in US dollars; None where a
        kind of it has no price."""
        least = usage.input * self.input + usage.output * self.output
        for tokens, price in (
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ):
            if tokens and price is None:
                return None
            least += tokens * (price or 0.0)
        longer = (self.cache_write_long or self.cache_write or 0) - (self.cache_write or 0)
        return least / _MILLION, (least + usage.cache_write * longer) / _MILLION


class Cost(Struct, frozen=True):
    """What a session cost at list prices, with its subagents, in US dollars: if the cache was
    written for the shortest time, and at most; None where it is not known, because of the
    `unpriced` models, or calls longer than a price holds for."""

    usd: float | None = None
    usd_at_most: float | None = None
    unpriced: tuple[str, ...] = ()


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    sources: dict[str, str]
    price: tuple[PriceRow, ...]


_TABLE = convert(table(__file__, "prices.toml"), _Table)


def price_of(model: str, day: str = "", more: Iterable[PriceRow] = ()) -> PriceRow | None:
    """The price of a model on a day; None if it is not known. The rows in `more` take
    precedence over the built-in ones."""
    name = _OWN_PREFIX.sub("", model.casefold(), count=1)
    names = (name, _DATE.sub("", name))
    for rows in (more, _TABLE.price):
        for row in rows:
            if row.holds(day) and any(matches(one, row.match) for one in names):
                return row
    return None


def cost(
    view: SessionView, children: Sequence[SessionView] = (), more: Sequence[PriceRow] = ()
) -> Cost:
    """What a session with its subagents cost at the list prices of the day that it began."""
    least = most = 0.0
    unpriced: set[str] = set()
    called = False
    for one in (view, *children):
        day = one.state.header.started or view.state.header.started
        # A running total cannot be divided among several models.
        mixed = len(one.state.header.models) > 1 and bool(one.all(Counted))
        for model, usage in spend(one).items():
            called = called or usage.total > 0
            row = None if mixed else price_of(model, day, more)
            if row is not None and row.up_to and _longest_prompt(one, model) > row.up_to:
                row = None
            found = row.range(usage) if row is not None else None
            if found is not None:
                least, most = least + found[0], most + found[1]
            elif usage.total:
                unpriced.add(model)
    if unpriced or not called:
        return Cost(unpriced=tuple(sorted(unpriced)))
    return Cost(round(least, 6), round(most, 6))


def _longest_prompt(view: SessionView, model: str) -> int:
    counted = [c.last for c in view.all(Counted)]
    usages = counted or [call.usage for call in calls_of(view) if call.model == model]
    return max((usage.total - usage.output for usage in usages), default=0)
