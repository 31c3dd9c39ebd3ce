"""Metrics of resuming conversations, computed from the rounds of reviews."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from msgspec import Struct, field

from leftoff import codec
from leftoff.handover.review import Review, ReviewRound

# Seconds; `resume_within_day` counts conversations that were used within them.
DAY_SECONDS = 24 * 3600


class ResumeAttempts(Struct, frozen=True):
    """Attempts to resume; `rate` is None where there were none."""

    tried: int = 0
    resumed: int = 0
    rate: float | None = None

    @classmethod
    def of(cls, rounds: Iterable[ReviewRound]) -> ResumeAttempts:
        """The attempts among some rounds."""
        tried = [r for r in rounds if r.tried]
        resumed = sum(r.resume == "resumed" for r in tried)
        return cls(len(tried), resumed, _ratio(resumed, len(tried)))


class PromptSizes(Struct, frozen=True):
    """Size of the prompts sent to the client, and their size without resuming.

    What the client sends to the model, which includes the conversation, is not counted.
    """

    sent_bytes: int = 0
    full_bytes: int = 0
    byte_reduction: float | None = None
    sent_tokens: int = 0
    full_tokens: int = 0
    token_reduction: float | None = None

    @classmethod
    def of(cls, rounds: Iterable[ReviewRound]) -> PromptSizes:
        """The sizes over some rounds."""
        listed = list(rounds)
        sent, full = (
            [sum(getattr(r, f"{which}_{unit}") for r in listed) for unit in ("bytes", "tokens")]
            for which in ("sent", "full")
        )
        reduction = [_ratio(f - s, f) for s, f in zip(sent, full, strict=True)]
        return cls(sent[0], full[0], reduction[0], sent[1], full[1], reduction[1])


class ResponseTimes(Struct, frozen=True):
    """Median duration of follow-ups in seconds, including failed attempts to resume; None if
    there are none.

    Attributes:
        resumed, full: with and without resuming.
        ratio: `resumed` divided by `full`.
        input_resumed, input_full: median input tokens as the client reports them.
    """

    resumed: float | None = None
    full: float | None = None
    ratio: float | None = None
    input_resumed: int | None = None
    input_full: int | None = None


class Expiry(Struct, frozen=True):
    """Ages, in seconds since the last use, of conversations that the client no longer had, and
    of the oldest one that was resumed; None if there are none."""

    expired: int = 0
    youngest: float | None = None
    median: float | None = None
    oldest: float | None = None
    oldest_alive: float | None = None


class Failures(Struct, frozen=True):
    """Failures of one kind: their number and the client's latest message."""

    count: int = 0
    words: str = ""


class ModelMetrics(Struct, frozen=True):
    """Metrics of one model."""

    rounds: int
    resume: ResumeAttempts
    follow_ups: int
    median_seconds: float | None


class ReviewMetrics(Struct, frozen=True):
    """Metrics over all reviews.

    Attributes:
        follow_ups: rounds that are not the first of their review.
        rounds_per_review: the mean.
        reviews_with_resume: reviews of which at least one round was resumed.
        resume: all attempts to resume; `resume_within_day`: those of conversations used within
            24 hours.
        resumed_prompts: prompt sizes of resumed rounds; `follow_up_prompts`: of all follow-ups,
            where a failed attempt counts both prompts.
        fallbacks: rounds in which resuming failed and the full prompt was answered.
        failed: rounds without an answer.
        failures: by kind, of attempts to resume and of rounds without an answer.
        by_model: by "client/model".
        unreadable: damaged reviews, which are not counted.
    """

    reviews: int = 0
    rounds: int = 0
    follow_ups: int = 0
    rounds_per_review: float | None = None
    reviews_with_resume: int = 0
    resume: ResumeAttempts = ResumeAttempts()
    resume_within_day: ResumeAttempts = ResumeAttempts()
    resumed_prompts: PromptSizes = PromptSizes()
    follow_up_prompts: PromptSizes = PromptSizes()
    response_time: ResponseTimes = ResponseTimes()
    fallbacks: int = 0
    failed: int = 0
    failures: dict[str, Failures] = field(default_factory=dict)
    expiry: Expiry = Expiry()
    by_model: dict[str, ModelMetrics] = field(default_factory=dict)
    unreadable: int = 0

    def to_dict(self) -> dict[str, object]:
        """Every figure, as plain values."""
        plain: dict[str, object] = codec.to_builtins(self)
        return plain


def metrics(reviews: Iterable[Review], unreadable: int = 0) -> ReviewMetrics:
    """The metrics of these reviews.

    Args:
        unreadable: number of damaged reviews, passed through.
    """
    listed = sorted(reviews, key=lambda review: review.review_id)
    rounds = [r for review in listed for r in review.rounds]
    follow_ups = [r for review in listed for r in review.rounds[1:]]
    resumed = [r for r in rounds if r.resume == "resumed"]
    with_resume = sum(any(r.resume == "resumed" for r in v.rounds) for v in listed)
    return ReviewMetrics(
        len(listed),
        len(rounds),
        len(follow_ups),
        _ratio(len(rounds), len(listed)),
        with_resume,
        ResumeAttempts.of(rounds),
        ResumeAttempts.of(r for r in rounds if r.age is not None and r.age <= DAY_SECONDS),
        PromptSizes.of(resumed),
        PromptSizes.of(follow_ups),
        _times(follow_ups),
        sum(r.tried and r.resume != "resumed" and not r.error for r in rounds),
        sum(bool(r.error) for r in rounds),
        _failures(rounds),
        _expiry(rounds),
        _by_model(rounds, follow_ups),
        unreadable,
    )


def _times(follow_ups: list[ReviewRound]) -> ResponseTimes:
    answered = [r for r in follow_ups if not r.error]
    by_method = [
        [r for r in answered if (r.resume == "resumed") is resumed] for resumed in (True, False)
    ]
    resumed, full = (_median(r.seconds + r.lost_seconds for r in group) for group in by_method)
    inputs = [
        _median(
            r.usage.input + r.usage.cache_read + r.usage.cache_write
            for r in group
            if r.usage is not None
        )
        for group in by_method
    ]
    median_inputs = [None if value is None else round(value) for value in inputs]
    ratio = round(resumed / full, 3) if resumed is not None and full else None
    return ResponseTimes(resumed, full, ratio, median_inputs[0], median_inputs[1])


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
    expired_ages = [r.age for r in rounds if r.resume == "unknown" and r.age is not None]
    alive_ages = [r.age for r in rounds if r.resume == "resumed" and r.age is not None]
    return Expiry(
        sum(r.resume == "unknown" for r in rounds),
        min(expired_ages, default=None),
        _median(expired_ages),
        max(expired_ages, default=None),
        max(alive_ages, default=None),
    )


def _by_model(
    rounds: list[ReviewRound], follow_ups: list[ReviewRound]
) -> dict[str, ModelMetrics]:
    names = sorted({(r.client, r.model) for r in rounds if r.model})
    return {
        f"{client}/{model}": ModelMetrics(
            len(model_rounds := [r for r in rounds if (r.client, r.model) == (client, model)]),
            ResumeAttempts.of(model_rounds),
            sum((r.client, r.model) == (client, model) for r in follow_ups),
            _median(r.seconds for r in model_rounds if not r.error),
        )
        for client, model in names
    }


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _median(values: Iterable[float]) -> float | None:
    listed = list(values)
    return round(median(listed), 3) if listed else None
