"""Token budgets of tasks and sessions: the values that are saved and shown."""

from __future__ import annotations

from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec import Struct, field

from leftoff.budget.thresholds import FiredThresholds, percent
from leftoff.budget.windows import PROVIDER_LIMITS
from leftoff.codec import JsonObject
from leftoff.errors import StateError
from leftoff.model import parse_time

T = TypeVar("T")
# Tokens of a session's budget unless settings say otherwise.
DEFAULT_BUDGET = 200_000
# `ContextMetrics.model` where the caller gives no model.
DEFAULT_MODEL = "claude-sonnet-4.5"


class ContextMetrics(Struct, frozen=True):
    """Token usage of a session, as a resume log holds it.

    Attributes:
        percentage_used: of `total_budget`, 0 to 100 and more.
        stop_reason: why the last response ended, e.g. "end_turn".
        timestamp: ISO 8601, "" where the caller gives none."""

    total_budget: int
    used_tokens: int
    percentage_used: float
    remaining_tokens: int
    stop_reason: str
    model: str = DEFAULT_MODEL
    timestamp: str = ""

    @classmethod
    def of(
        cls,
        total_budget: int,
        used_tokens: int,
        stop_reason: str = "end_turn",
        *,
        model: str = DEFAULT_MODEL,
        timestamp: str = "",
    ) -> ContextMetrics:
        """The metrics of two counts; percentage and remainder are computed."""
        share, left = percent(used_tokens, total_budget), total_budget - used_tokens
        return cls(total_budget, used_tokens, share, left, stop_reason, model, timestamp)

    @property
    def generated_at(self) -> datetime | None:
        """`timestamp` as a datetime with its zone; None where there is none."""
        return parse_time(self.timestamp)

    def to_dict(self) -> JsonObject:
        """The fields as plain values."""
        return msgspec.structs.asdict(self)

    @classmethod
    def from_dict(cls, data: JsonObject) -> ContextMetrics:
        """What `to_dict` gave; unknown keys are ignored, missing ones follow from the counts.
        `StateError` where a field has the wrong type, or a count is missing."""
        total, used = data.get("total_budget"), data.get("used_tokens")
        if isinstance(total, int) and isinstance(used, int):
            made = cls.of(total, used).to_dict()
            data = {**made, **{k: v for k, v in data.items() if k in made}}
        return _converted(data, cls, "context metrics")


class CheckpointMetadata(Struct, frozen=True):
    """A checkpoint that was made at a threshold of a budget."""

    id: str
    created_at: str
    reason: str


class Checkpoints(Struct, frozen=True, omit_defaults=True):
    """The checkpoints of a budget, each once."""

    checkpoint_90: CheckpointMetadata | None = None
    checkpoint_95: CheckpointMetadata | None = None
    checkpoint_98: CheckpointMetadata | None = None


class Decisions(Struct, frozen=True, omit_defaults=True):
    """Measures taken because a budget ran out; times are seconds since 1970 and ISO 8601."""

    fallback_provider: str | None = None
    fallback_triggered_at: float | None = None
    force_handoff_at: str | None = None


class TaskTokenBudget(Struct, frozen=True):
    """What a task has used of what it may use with one provider.

    Attributes:
        total_allocated: the provider's limit after its buffer.
        tokens_consumed: what the provider's window holds now.
        percent_used: of `total_allocated`, 0 to 100 and more."""

    task_id: str
    provider: str
    created_at: str
    total_allocated: int
    tokens_consumed: int = 0
    tokens_remaining: int = 0
    percent_used: float = 0.0
    warning_threshold: float = 0.80
    checkpoint_90_threshold: float = 0.90
    checkpoint_95_threshold: float = 0.95
    checkpoint_98_threshold: float = 0.98
    checkpoints: Checkpoints = Checkpoints()
    decisions: Decisions = Decisions()

    @classmethod
    def start(
        cls,
        task_id: str,
        provider: str,
        *,
        created_at: str,
        total_allocated: int,
        shares: dict[str, float] | None = None,
    ) -> TaskTokenBudget:
        """An unused budget.

        Args:
            created_at: ISO 8601.
            total_allocated: tokens.
            shares: thresholds other than the defaults, by name: warning, checkpoint_90, ..."""
        given: JsonObject = {f"{n}_threshold": share for n, share in (shares or {}).items()}
        return cls(task_id, provider, created_at, total_allocated, **given).used(0)

    @property
    def shares(self) -> dict[str, float]:
        """The thresholds by their names in the preset `handoff`."""
        names = ("warning", "checkpoint_90", "checkpoint_95", "checkpoint_98")
        return {name: getattr(self, f"{name}_threshold") for name in names}

    def used(self, tokens: int) -> TaskTokenBudget:
        """The budget with `tokens` used in all."""
        return msgspec.structs.replace(
            self,
            tokens_consumed=tokens,
            tokens_remaining=self.total_allocated - tokens,
            percent_used=percent(tokens, self.total_allocated),
        )

    def with_checkpoint(self, capacity: str, made: CheckpointMetadata) -> TaskTokenBudget:
        """The budget with a checkpoint at "90", "95" or "98" percent."""
        named: JsonObject = {f"checkpoint_{capacity}": made}
        checkpoints = msgspec.structs.replace(self.checkpoints, **named)
        return msgspec.structs.replace(self, checkpoints=checkpoints)

    def decided(self, **decision: object) -> TaskTokenBudget:
        """The budget with fields of `Decisions` filled in."""
        decisions = msgspec.structs.replace(self.decisions, **decision)
        return msgspec.structs.replace(self, decisions=decisions)

    def to_dict(self) -> JsonObject:
        """The fields as plain values."""
        plain: JsonObject = msgspec.to_builtins(self)
        return plain

    @classmethod
    def from_dict(cls, data: JsonObject) -> TaskTokenBudget:
        """What `to_dict` gave; `StateError` where a field is missing or has the wrong type."""
        return _converted(data, cls, "task budget")


class Handoff(Struct, frozen=True):
    """A handover of a task from one agent to the next."""

    timestamp: str
    provider: str
    reason: str


class Crossed(Struct, frozen=True):
    """A task reached a threshold (its name in the preset) with a provider; `number` counts the
    crossings of the task, from 1."""

    number: int
    provider: str
    threshold: str
    at: str


class TaskDocument(Struct, frozen=True):
    """The saved state of a task's budgets."""

    task_id: str
    token_budget: TaskTokenBudget | None = None  # the budget with the current provider
    checkpoints: tuple[str, ...] = ()  # ids, oldest first
    last_handoff: Handoff | None = None
    handoffs: int = 0  # how often the task was handed over since it last made progress
    # budgets, armed: the budget with each provider, and which thresholds have fired.
    budgets: dict[str, TaskTokenBudget] = field(default_factory=dict)
    armed: dict[str, FiredThresholds] = field(default_factory=dict)
    crossed: tuple[Crossed, ...] = ()  # the latest crossings, oldest first


def limit_of(provider: str, more: dict[str, int] | None = None) -> int | None:
    """Tokens that a task may use with a provider, or None if no limit is known; `more` limits
    take precedence over the built-in ones."""
    # Providers are named by people, in any case.
    limits = {**PROVIDER_LIMITS, **(more or {})}
    return limits.get(provider, limits.get(provider.casefold()))


def _converted(data: object, type_: type[T], what: str) -> T:
    try:
        return msgspec.convert(data, type_)
    except msgspec.ValidationError as error:
        raise StateError(f"no {what}: {error}") from error
