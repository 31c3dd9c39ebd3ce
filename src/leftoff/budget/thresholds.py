"""When a budget is nearly used up: thresholds as data, crossings as a pure function.

`crossings` gives the thresholds that a new count crosses, in ascending order; one step may
cross several. Each fires once and is armed again by a compaction. Which ones have fired is a
small frozen value (`FiredThresholds`) that the caller may save after any step."""

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec
from msgspec import Struct

from leftoff.codec import JsonObject
from leftoff.errors import UnknownName, UsageError
from leftoff.tables import table

# A share such as 0.7 is not exact in binary; counts are whole tokens. Relative to the total.
_TOLERANCE = 1e-9

# Two counts in a row below this share of the peak mean that the window was emptied: a
# compaction or a restart that was not reported. A smaller drop (a rewound turn, a shorter
# reply) does not, and a single low count may be a call beside the conversation. Chosen by hand;
# not measured.
RESTART = 0.5


class Threshold(Struct, frozen=True, forbid_unknown_fields=True):
    """A share of a budget at which something is said or done.

    Attributes:
        name: unique in its preset.
        at: more than 0, at most 1.
        level: warning | critical, of the log record.
        does: "" | resume_log | checkpoint | handoff.
        says, logs, asks: words for the person, the log and the agent, with placeholders.
        reason, capacity: what a checkpoint made here says of itself."""

    name: str
    at: float
    level: str = "warning"
    does: str = ""
    says: str = ""
    logs: str = ""
    asks: str = ""
    reason: str = ""
    capacity: str = ""


class Preset(Struct, frozen=True):
    """Thresholds in ascending order, the head of the instructions for an orchestrating agent,
    and the heading of each threshold there."""

    name: str
    thresholds: tuple[Threshold, ...]
    says: str = ""
    heading: str = ""

    def at(self, shares: Mapping[str, float]) -> "Preset":
        """The same preset with other shares, by threshold name.

        Raises:
            UnknownName: the preset has no threshold of that name.
            UsageError: a share outside of 0 to 1."""
        known = [t.name for t in self.thresholds]
        for name in shares:
            if name not in known:
                raise UnknownName("threshold", name, known)
        moved = [
            msgspec.structs.replace(t, at=shares.get(t.name, t.at)) for t in self.thresholds
        ]
        return Preset(self.name, _ordered(moved), self.says, self.heading)


class FiredThresholds(Struct, frozen=True):
    """The thresholds that have fired since the last compaction.

    Attributes:
        fired: their names, in the order in which they fired.
        peak: the highest count since then, in tokens.
        fallen: the previous count was below `RESTART` of the peak; another such count means a
            restart."""

    fired: tuple[str, ...] = ()
    peak: int = 0
    fallen: bool = False


class Crossing(Struct, frozen=True):
    """A threshold was reached; `used` and `total` are tokens."""

    threshold: Threshold
    used: int
    total: int

    @property
    def percent(self) -> float:
        """How much of the budget is used, 0 to 100 and more."""
        return percent(self.used, self.total)

    @property
    def remaining(self) -> int:
        """Tokens left, at least 0."""
        return max(0, self.total - self.used)

    def words(self, template: str, **names: str) -> str:
        """A line of the preset with this crossing's figures; placeholders without a value are
        left as they are."""
        return fill(template, self.threshold.at, self.used, self.total, names)


def percent(used: float, total: float) -> float:
    """`used` of `total` as a percentage; 0.0 where there is no total."""
    return used * 100 / total if total > 0 else 0.0


def crossings(
    preset: Preset | Iterable[Threshold],
    armed: FiredThresholds,
    used: float | None,
    total: float | None,
    *,
    compacted: bool = False,
) -> tuple[tuple[Crossing, ...], FiredThresholds]:
    """The thresholds that a count crosses, ascending, and the state after it.

    A count that is not a number, infinite or negative is ignored; without a total nothing is
    crossed.

    Args:
        armed: the state after the count before.
        used: tokens used, or None if not known.
        total: the budget in tokens, or None if not known.
        compacted: the window was emptied before this count: every threshold is armed again.

    >>> reached, armed = crossings(preset("advisory"), FiredThresholds(), 172_000, 200_000)
    >>> [c.threshold.name for c in reached]
    ['caution', 'warning']
    >>> crossings(preset("advisory"), armed, 175_000, 200_000)[0]
    ()"""
    if compacted:
        armed = FiredThresholds()
    count, whole = _count(used), _count(total)
    if count is None:
        return (), armed
    fallen = count < armed.peak * RESTART
    if fallen and armed.fallen:  # the second low count in a row
        armed, fallen = FiredThresholds(), False
    fired = list(armed.fired)
    found: list[Crossing] = []
    if whole:
        ordered = preset.thresholds if isinstance(preset, Preset) else _ordered(preset)
        for threshold in ordered:
            at = threshold.at * whole - _TOLERANCE * whole
            if threshold.name not in fired and count >= at:
                fired.append(threshold.name)
                found.append(Crossing(threshold, count, whole))
    return tuple(found), FiredThresholds(tuple(fired), max(armed.peak, count), fallen)


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not math.isfinite(value) or value < 0:
        return None
    return int(value)


def _ordered(given: Iterable[Threshold]) -> tuple[Threshold, ...]:
    """Thresholds in ascending order; `UsageError` where a share is outside of 0 to 1, or a name
    stands twice."""
    ordered = tuple(sorted(given, key=lambda t: (t.at, t.name)))
    for threshold in ordered:
        if not 0 < threshold.at <= 1:
            raise UsageError(
                f"threshold {threshold.name!r} is at {threshold.at}; a share of the budget "
                "is more than 0 and at most 1"
            )
    if len({t.name for t in ordered}) < len(ordered):
        raise UsageError("two thresholds have the same name")
    return ordered


# -- words -----------------------------------------------------------------------------------


def thousands(count: int) -> str:
    """Tokens in thousands, to one decimal, without a trailing ".0".

    >>> thousands(200_000), thousands(82)
    ('200', '0.1')"""
    return f"{count / 1000:.1f}".removesuffix(".0")


class _Placeholders(JsonObject):
    """Values for `str.format_map`; a placeholder without a value is left as it is."""

    def __missing__(self, name: str) -> str:
        return "{" + name + "}"


def fill(template: str, at: float, used: int, total: int, names: Mapping[str, str]) -> str:
    """A preset's line with its figures."""
    known = _Placeholders(names, threshold=f"{at * 100:g}")
    counts = {"used": used, "remaining": max(0, total - used), "total": total}
    for name, count in counts.items():
        known |= {name: count, f"{name}_k": thousands(count)}
    return template.format_map(known)


def instructions(preset: Preset, total: int) -> str:
    """The instructions for an orchestrating agent: what to say at which threshold of a budget
    of `total` tokens."""
    blocks = [preset.says.strip()] if preset.says else []
    for threshold in preset.thresholds:
        used = round(threshold.at * total)
        heading = preset.heading or "**{threshold}% ({used:,} of {total:,} tokens):**"
        words = threshold.says or "\n".join(w for w in (threshold.logs, threshold.asks) if w)
        text = f"{heading}\n{words.strip()}"
        blocks.append(fill(text, threshold.at, used, total, {}))
    return "\n\n".join(blocks) + "\n"


# -- presets ---------------------------------------------------------------------------------

# 70, 85 and 95 % with words for the person; 80, 90, 95 and 98 % with checkpoints.
PRESETS = ("advisory", "handoff")


def _load(name: str) -> Preset:
    value = table(__file__, "presets", f"{name}.toml")
    rows = [msgspec.convert(row, Threshold) for row in value["threshold"]]
    return Preset(name, _ordered(rows), value.get("says", ""), value.get("heading", ""))


_PRESETS: Mapping[str, Preset] = MappingProxyType({name: _load(name) for name in PRESETS})


def preset(name: str) -> Preset:
    """A built-in preset by name, or `UnknownName`."""
    if name not in _PRESETS:
        raise UnknownName("preset", name, PRESETS)
    return _PRESETS[name]
