"""What a session cost and how full its window is.

*Spend* is a sum over distinct API calls. *Occupancy* is what the window holds now: the last
call's tokens, in and out, since each call sends the whole context again. The two are never
mixed up here.
"""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from importlib.resources import files

from msgspec import Struct

from leftoff.extraction.evidence import Compacted, Counted, Spent
from leftoff.extraction.fold import occupancy_of
from leftoff.findings import CompactionInfo, ContextInfo, Spend
from leftoff.judgement.story import Story
from leftoff.model import Usage


class Window(Struct, frozen=True):
    """A model's context window and the recorder's compaction reserve, in tokens."""

    window: int
    reserve: int = 0


class _Row(Struct, frozen=True):
    match: str
    window: int
    reserve: int = 0


def _load() -> tuple[_Row, ...]:
    text = files("leftoff").joinpath("windows.toml").read_text("utf-8")
    return tuple(_Row(**row) for row in tomllib.loads(text)["model"])


_WINDOWS = _load()


def window_of(model: str) -> Window | None:
    """The window of a model by name; None if it is not known. Never a guess."""
    name = model.casefold().rsplit("/", 1)[-1]
    for row in _WINDOWS:
        if fnmatchcase(name, row.match.replace("[", "[[]")):
            return Window(row.window, row.reserve)
    return None


def spend(story: Story) -> dict[str, Usage]:
    """Tokens by model over distinct API calls; the largest usage recorded for a call counts.

    A recorder that keeps a running total (Codex) is taken at its last readable word.
    """
    counted = [c for c in story.all(Counted) if c.total.total]
    models = story.recording.header.models
    if counted:
        return {models[-1] if models else "": counted[-1].total}
    largest: dict[tuple[str, int], Spent] = {}
    for number, item in enumerate(story.all(Spent)):
        key = (item.response, 0 if item.response else number)
        known = largest.get(key)
        if known is None or item.usage.total > known.usage.total:
            largest[key] = item
    by_model: dict[str, Usage] = {}
    for item in largest.values():
        by_model[item.model] = by_model.get(item.model, Usage()) + item.usage
    return dict(sorted(by_model.items()))


def context(story: Story, subagents: dict[str, Usage]) -> ContextInfo:
    """Window, occupancy, spend and compactions of a session."""
    recording = story.recording
    header = recording.header
    window = header.window
    known = window_of(header.models[-1]) if header.models else None
    reserve = known.reserve if known else 0
    if window is None and known is not None:
        window = known.window
    occupancy = occupancy_of(recording)
    if window is not None and occupancy is not None and occupancy > window:
        window, reserve = None, 0  # the table is wrong about this session: better unknown
    usable = window - reserve if window is not None else None
    by_model = spend(story)
    total = Usage()
    for usage in by_model.values():
        total += usage
    return ContextInfo(
        window=window,
        usable_window=usable,
        occupancy=occupancy,
        fraction=_share(occupancy, usable),
        fraction_of_window=_share(occupancy, window),
        spend=Spend(
            total.input,
            total.output,
            total.cache_read,
            total.cache_write,
            total.reasoning,
            by_model,
            dict(sorted(subagents.items())),
        ),
        compactions=tuple(
            CompactionInfo(story.ref(c.ref), c.trigger, c.occupancy, c.recorded)
            for c in story.all(Compacted)
        ),
    )


def conversation_tokens(story: Story) -> int | None:
    """Size of the whole conversation: the occupancy before each compaction and at the end,
    summed; None where no usage is recorded."""
    sizes = [c.recorded or c.occupancy for c in story.all(Compacted)]
    sizes.append(occupancy_of(story.recording))
    known = [size for size in sizes if size is not None]
    return sum(known) if known else None


def _share(part: int | None, whole: int | None) -> float | None:
    if part is None or not whole:
        return None
    return round(part / whole, 4)
