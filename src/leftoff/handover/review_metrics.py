"""What resuming has been worth, counted over reviews: a function of their rounds."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Any

from msgspec import Struct, field

from leftoff import codec
from leftoff.handover.review import Review, ReviewRound

DAY = 24 * 3600
"""Seconds within which a conversation is expected to live."""


class Tries(Struct, frozen=True):
    """Attempts to resume; `rate` is None where there were none."""

    tried: int = 0
    resumed: int = 0
    rate: float | None = None

    @classmethod
    def of(cls, rounds: Iterable[ReviewRound]) -> Tries:
        """Those among some rounds."""
        tried = [r for r in rounds if r.tried]
        resumed = sum(r.resume == "resumed" for r in tried)
        return cls(len(tried), resumed, _share(resumed, len(tried)))


class Prompts(Struct, frozen=True):
    """What we sent, and what we should have sent without resuming.

    The client sends the conversation again to the model itself; this is the part that is ours.
    """

    sent_bytes: int = 0
    full_bytes: int = 0
    byte_reduction: float | None = None
    sent_tokens: int = 0
    full_tokens: int = 0
    token_reduction: float | None = None

    @classmethod
    def of(cls, rounds: Iterable[ReviewRound]) -> Prompts:
        """Those of some rounds."""
        listed = list(rounds)
        sent, full = (
            [sum(getattr(r, f"{which}_{unit}") for r in listed) for unit in ("bytes", "tokens")]
            for which in ("sent", "full")
        )
        saved = [_share(f - s, f) for s, f in zip(sent, full, strict=True)]
        return cls(sent[0], full[0], saved[0], sent[1], full[1], saved[1])


class Times(Struct, frozen=True):
    """Median seconds of follow-ups, a failed attempt to resume included; None where there are
    none.

    Attributes:
        resumed, full: with and without resuming.
        ratio: the first divided by the second.
        input_resumed, input_full: median tokens that the client says it sent.
    """

    resumed: float | None = None
    full: float | None = None
    ratio: float | None = None
    input_resumed: int | None = None
    input_full: int | None = None


class Expiry(Struct, frozen=True):
    """Ages in seconds since the last use: of conversations found dead, and of the oldest one
    found alive; None where there are none."""

    expired: int = 0
    youngest: float | None = None
    median: float | None = None
    oldest: float | None = None
    oldest_alive: float | None = None


class Failures(Struct, frozen=True):
    """Failures of one kind: how many, and the client's latest words."""

    count: int = 0
    words: str = ""


class OfModel(Struct, frozen=True):
    """A model's part."""

    rounds: int
    resume: Tries
    follow_ups: int
    median_seconds: float | None


class ReviewMetrics(Struct, frozen=True):
    """What resuming has been worth.

    Attributes:
        follow_ups: rounds that are not the first of their review.
        rounds_per_review: the mean.
        reviews_with_resume: reviews of which at least one round was resumed.
        resume: all attempts; `resume_within_day` those on conversations used within 24 hours.
        resumed_prompts: of resumed rounds; `follow_up_prompts` of all follow-ups, with failed
            attempts, which cost both prompts.
        fallbacks: rounds in which resuming failed and the full prompt was answered.
        failed: rounds without an answer.
        failures: by kind, of attempts to resume and of rounds without an answer.
        by_model: by "client/model".
        unreadable: reviews that are damaged and not counted.
    """

    reviews: int = 0
    rounds: int = 0
    follow_ups: int = 0
    rounds_per_review: float | None = None
    reviews_with_resume: int = 0
    resume: Tries = Tries()
    resume_within_day: Tries = Tries()
    resumed_prompts: Prompts = Prompts()
    follow_up_prompts: Prompts = Prompts()
    response_time: Times = Times()
    fallbacks: int = 0
    failed: int = 0
    failures: dict[str, Failures] = field(default_factory=dict)
    expiry: Expiry = Expiry()
    by_model: dict[str, OfModel] = field(default_factory=dict)
    unreadable: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Every figure, as plain values."""
        made: dict[str, Any] = codec.plain(self)
        return made


def metrics(reviews: Iterable[Review], unreadable: int = 0) -> ReviewMetrics:
    """What resuming has been worth in these reviews, beside some that cannot be read."""
    listed = sorted(reviews, key=lambda review: review.review_id)
    rounds = [r for review in listed for r in review.rounds]
    later = [r for review in listed for r in review.rounds[1:]]
    resumed = [r for r in rounds if r.resume == "resumed"]
    with_resume = sum(any(r.resume == "resumed" for r in v.rounds) for v in listed)
    return ReviewMetrics(
        len(listed),
        len(rounds),
        len(later),
        _share(len(rounds), len(listed)),
        with_resume,
        Tries.of(rounds),
        Tries.of(r for r in rounds if r.age is not None and r.age <= DAY),
        Prompts.of(resumed),
        Prompts.of(later),
        _times(later),
        sum(r.tried and r.resume != "resumed" and not r.error for r in rounds),
        sum(bool(r.error) for r in rounds),
        _failures(rounds),
        _expiry(rounds),
        _by_model(rounds, later),
        unreadable,
    )


def _times(later: list[ReviewRound]) -> Times:
    answered = [r for r in later if not r.error]
    by_way = [
        [r for r in answered if (r.resume == "resumed") is resumed] for resumed in (True, False)
    ]
    resumed, full = (_median(r.seconds + r.lost_seconds for r in way) for way in by_way)
    inputs = [
        _median(
            r.usage.input + r.usage.cache_read + r.usage.cache_write
            for r in way
            if r.usage is not None
        )
        for way in by_way
    ]
    told = [None if value is None else round(value) for value in inputs]
    ratio = round(resumed / full, 3) if resumed is not None and full else None
    return Times(resumed, full, ratio, told[0], told[1])


def _failures(rounds: list[ReviewRound]) -> dict[str, Failures]:
    found: dict[str, Failures] = {}
    for one in rounds:
        failed_to_resume = one.resume if one.tried and one.resume != "resumed" else ""
        # A round may fail twice: first to resume, then to answer.
        for kind in filter(None, (failed_to_resume, one.error)):
            before = found.get(kind, Failures())
            found[kind] = Failures(before.count + 1, one.failure or before.words)
    return dict(sorted(found.items()))


def _expiry(rounds: list[ReviewRound]) -> Expiry:
    dead = [r.age for r in rounds if r.resume == "unknown" and r.age is not None]
    alive = [r.age for r in rounds if r.resume == "resumed" and r.age is not None]
    return Expiry(
        sum(r.resume == "unknown" for r in rounds),
        min(dead, default=None),
        _median(dead),
        max(dead, default=None),
        max(alive, default=None),
    )


def _by_model(rounds: list[ReviewRound], later: list[ReviewRound]) -> dict[str, OfModel]:
    names = sorted({(r.client, r.model) for r in rounds if r.model})
    return {
        f"{client}/{model}": OfModel(
            len(own := [r for r in rounds if (r.client, r.model) == (client, model)]),
            Tries.of(own),
            sum((r.client, r.model) == (client, model) for r in later),
            _median(r.seconds for r in own if not r.error),
        )
        for client, model in names
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _median(values: Iterable[float]) -> float | None:
    listed = list(values)
    return round(median(listed), 3) if listed else None
