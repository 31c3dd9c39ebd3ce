"""Metrics of resuming conversations, computed from the rounds of reviews, as plain values.

What the client sends to the model, which includes the conversation, is not counted. A share or
a median is None where there is nothing to count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from leftoff.codec import JsonObject
from leftoff.handover.review import Review, ReviewRound

# Seconds; `resume_within_day` counts conversations that were used within them.
DAY_SECONDS = 24 * 3600


def metrics(reviews: Iterable[Review], unreadable: int = 0) -> JsonObject:
    """The metrics of these reviews.

    Args:
        unreadable: number of damaged reviews, passed through.
    """
    listed = sorted(reviews, key=lambda review: review.review_id)
    rounds = [r for review in listed for r in review.rounds]
    follow_ups = [r for review in listed for r in review.rounds[1:]]
    resumed = [r for r in rounds if r.resume == "resumed"]
    recent = [r for r in rounds if r.age is not None and r.age <= DAY_SECONDS]
    return {
        "reviews": len(listed),
        "rounds": len(rounds),
        # Rounds that are not the first of their review.
        "follow_ups": len(follow_ups),
        "rounds_per_review": _ratio(len(rounds), len(listed)),
        "reviews_with_resume": sum(
            any(r.resume == "resumed" for r in review.rounds) for review in listed
        ),
        "resume": attempts(rounds),
        "resume_within_day": attempts(recent),
        "resumed_prompts": sizes(resumed),
        # A failed attempt to resume counts both prompts.
        "follow_up_prompts": sizes(follow_ups),
        "response_time": _times(follow_ups),
        # Resuming failed, and the full prompt was answered.
        "fallbacks": sum(r.tried and r.resume != "resumed" and not r.error for r in rounds),
        "failed": sum(bool(r.error) for r in rounds),
        "failures": _failures(rounds),
        "expiry": _expiry(rounds),
        "by_model": _by_model(rounds, follow_ups),
        "unreadable": unreadable,
    }


def attempts(rounds: Sequence[ReviewRound]) -> JsonObject:
    """How often resuming was tried, and how often it worked."""
    tried = [r for r in rounds if r.tried]
    resumed = sum(r.resume == "resumed" for r in tried)
    return {"tried": len(tried), "resumed": resumed, "rate": _ratio(resumed, len(tried))}


def sizes(rounds: Sequence[ReviewRound]) -> JsonObject:
    """Sizes of the prompts that were sent, and without resuming."""
    found: JsonObject = {}
    for unit in ("bytes", "tokens"):
        sent, full = (
            sum(getattr(r, f"{which}_{unit}") for r in rounds) for which in ("sent", "full")
        )
        found |= {f"sent_{unit}": sent, f"full_{unit}": full}
        found[f"{unit[:-1]}_reduction"] = _ratio(full - sent, full)
    return found


def _times(follow_ups: Sequence[ReviewRound]) -> JsonObject:
    """Median seconds of follow-ups, with failed attempts to resume, and input tokens as the
    client reports them."""
    answered = [r for r in follow_ups if not r.error]
    groups = [
        [r for r in answered if (r.resume == "resumed") is resumed] for resumed in (True, False)
    ]
    resumed, full = (_median(r.seconds + r.lost_seconds for r in group) for group in groups)
    tokens = [
        _median(
            r.usage.input + r.usage.cache_read + r.usage.cache_write for r in group if r.usage
        )
        for group in groups
    ]
    inputs = [None if value is None else round(value) for value in tokens]
    return {
        "resumed": resumed,
        "full": full,
        "ratio": round(resumed / full, 3) if resumed is not None and full else None,
        "input_resumed": inputs[0],
        "input_full": inputs[1],
    }


def _failures(rounds: Sequence[ReviewRound]) -> JsonObject:
    """By kind how often it failed to resume or to answer, and the client's latest message."""
    found: JsonObject = {}
    for one in rounds:
        failed_to_resume = one.resume if one.tried and one.resume != "resumed" else ""
        # A round may fail twice: first to resume, then to answer.
        for kind in filter(None, (failed_to_resume, one.error)):
            before = found.get(kind, {"count": 0, "words": ""})
            words = one.failure or before["words"]
            found[kind] = {"count": before["count"] + 1, "words": words}
    return dict(sorted(found.items()))


def _expiry(rounds: Sequence[ReviewRound]) -> JsonObject:
    """Seconds since the last use of conversations that the client no longer had, and of the
    oldest one that was resumed."""
    ages = [r.age for r in rounds if r.resume == "unknown" and r.age is not None]
    alive = [r.age for r in rounds if r.resume == "resumed" and r.age is not None]
    return {
        "expired": sum(r.resume == "unknown" for r in rounds),
        "youngest": min(ages, default=None),
        "median": _median(ages),
        "oldest": max(ages, default=None),
        "oldest_alive": max(alive, default=None),
    }


def _by_model(rounds: Sequence[ReviewRound], follow_ups: Sequence[ReviewRound]) -> JsonObject:
    found: JsonObject = {}
    for about in sorted({(r.client, r.model) for r in rounds if r.model}):
        own = [r for r in rounds if (r.client, r.model) == about]
        found["/".join(about)] = {
            "rounds": len(own),
            "resume": attempts(own),
            "follow_ups": sum((r.client, r.model) == about for r in follow_ups),
            "median_seconds": _median(r.seconds for r in own if not r.error),
        }
    return found


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _median(values: Iterable[float]) -> float | None:
    listed = list(values)
    return round(median(listed), 3) if listed else None
