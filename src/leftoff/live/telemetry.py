"""What happens in a running session, told to subscribers and to the log.

Records go to the logger `leftoff.telemetry`, one for each event: the message is the event's
name and its fields, which are also attributes of the record. Lines for people go to
`leftoff.live`.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct, field

from leftoff.budget.thresholds import Crossing
from leftoff.redaction.redactor import Redactor

TOKEN_BUDGET = "TOKEN_BUDGET"  # noqa: S105 - a name
CHECKPOINT_CREATED = "CHECKPOINT_CREATED"
HANDOFF_DECISION = "HANDOFF_DECISION"
CONTEXT_DUMP_REQUESTED = "CONTEXT_DUMP_REQUESTED"
CONTEXT_THRESHOLD = "CONTEXT_THRESHOLD"

FIELDS: Mapping[str, tuple[str, ...]] = {
    TOKEN_BUDGET: ("task_id", "provider", "consumed", "remaining", "percent", "threshold"),
    CHECKPOINT_CREATED: ("checkpoint_id", "reason", "capacity_percent"),
    HANDOFF_DECISION: ("task_id", "from_provider", "to_provider", "checkpoint_id"),
    CONTEXT_DUMP_REQUESTED: ("task_id", "paths", "status"),
    CONTEXT_THRESHOLD: ("session_id", "used", "remaining", "percent", "threshold"),
}
"""Every event with its fields: the last is of a session's own budget, the others of a task."""

telemetry = logging.getLogger("leftoff.telemetry")
logger = logging.getLogger("leftoff.live")


class Event(Struct, frozen=True):
    """Something that happened.

    Attributes:
        name: one of `FIELDS`.
        fields: values by the names in `FIELDS`, raw.
        crossing: the threshold that was reached, if one was.
        logged: whether a telemetry record is written.
        line: a line for people, "" if there is none; `level` is its level.
    """

    name: str
    fields: dict[str, Any] = field(default_factory=dict)
    crossing: Crossing | None = None
    logged: bool = True
    line: str = ""
    level: str = "warning"


Subscriber: TypeAlias = Callable[[Event], object]


class Channel:
    """Hands events to subscribers: in one order for all, one at a time, holding no lock.

    A thread that puts an event while another delivers leaves it to that one. A subscriber that
    raises is logged and loses nothing but this event.
    """

    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []
        self._waiting: deque[Event] = deque()
        self._lock = threading.Lock()
        self._delivering = False

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """From now on every event goes to `subscriber`; calling the result ends that."""
        with self._lock:
            self._subscribers = [*self._subscribers, subscriber]

        def unsubscribe() -> None:
            with self._lock:
                self._subscribers = [s for s in self._subscribers if s is not subscriber]

        return unsubscribe

    def put(self, event: Event) -> None:
        """Adds an event to those to be delivered."""
        self._waiting.append(event)

    def deliver(self) -> None:
        """Delivers what waits, unless another thread is at it."""
        while True:
            with self._lock:
                if self._delivering or not self._waiting:
                    return
                self._delivering = True
                event, subscribers = self._waiting.popleft(), self._subscribers
            try:
                self._tell(event, subscribers)
            finally:
                with self._lock:
                    self._delivering = False

    @staticmethod
    def _tell(event: Event, subscribers: list[Subscriber]) -> None:
        record(event)
        for subscriber in subscribers:
            try:
                subscriber(event)
            except Exception:
                logger.exception("a subscriber failed on %s", event.name)


def record(event: Event) -> None:
    """Writes an event to the logs, redacted."""
    gate = Redactor()
    if event.line:
        level = logging.CRITICAL if event.level == "critical" else logging.WARNING
        if logger.isEnabledFor(level):
            logger.log(level, "%s", gate.text(event.line))
    if event.logged and telemetry.isEnabledFor(logging.INFO):
        fields: dict[str, Any] = gate.value(event.fields)
        words = " ".join(f"{name}={value}" for name, value in fields.items())
        telemetry.info(
            "%s %s", event.name, words, extra={"event": event.name, "fields": fields, **fields}
        )
