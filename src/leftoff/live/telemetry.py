"""Events of a running session: delivery to subscribers, and log records.

The logger `leftoff.telemetry` gets one record for each event: the message is the event's name
and its fields, which are also attributes of the record. Messages for people go to
`leftoff.live`."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeAlias

from msgspec import Struct, field

from leftoff.budget.thresholds import Crossing
from leftoff.codec import JsonObject
from leftoff.errors import LeftoffError
from leftoff.redaction.redactor import Redactor

TOKEN_BUDGET = "TOKEN_BUDGET"  # noqa: S105 - a name
CHECKPOINT_CREATED = "CHECKPOINT_CREATED"
HANDOFF_DECISION = "HANDOFF_DECISION"
CONTEXT_DUMP_REQUESTED = "CONTEXT_DUMP_REQUESTED"
CONTEXT_THRESHOLD = "CONTEXT_THRESHOLD"

telemetry = logging.getLogger("leftoff.telemetry")
logger = logging.getLogger("leftoff.live")


class Event(Struct, frozen=True):
    """An event of a running session: its name and its values, not redacted. The last of the
    names above is about the session's budget, the others about a task."""

    name: str
    fields: JsonObject = field(default_factory=dict)
    crossing: Crossing | None = None
    logged: bool = True  # whether a telemetry record is written
    line: str = ""  # a log message for people, at the event's level; "" for none

    @property
    def level(self) -> str:
        """That of the crossing ("critical" or "warning"); "warning" without one."""
        return self.crossing.threshold.level if self.crossing else "warning"


Subscriber: TypeAlias = Callable[[Event], object]


class Channel:
    """An event queue. Delivers events to all subscribers in the same order, one at a time,
    without a lock that another thread waits for."""

    # What is put while another thread delivers is delivered by that thread. If a subscriber
    # raises, the error is logged and delivery goes on.

    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []
        self._queued: deque[Event] = deque()
        self._delivering = threading.Lock()

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Adds a subscriber to all later events; returns a function that removes it."""
        self._subscribers.append(subscriber)

        def unsubscribe() -> None:
            with suppress(ValueError):  # removed already
                self._subscribers.remove(subscriber)

        return unsubscribe

    def put(self, event: Event) -> None:
        """Adds an event to the queue."""
        self._queued.append(event)

    def deliver(self) -> None:
        """Delivers the queued events, unless another thread is delivering."""
        while self._queued and self._delivering.acquire(blocking=False):
            try:
                with suppress(IndexError):  # another thread was faster
                    event = self._queued.popleft()
                    self._deliver(event)
            finally:
                self._delivering.release()

    def _deliver(self, event: Event) -> None:
        for subscriber in (record, *self._subscribers):
            try:
                subscriber(event)
            except Exception:
                logger.exception("a subscriber failed on %s", event.name)


def error_words(error: BaseException) -> str:
    """An error that is logged and not raised, redacted; with its type if it is not ours."""
    ours = isinstance(error, LeftoffError)
    return Redactor().text(str(error) if ours else f"{type(error).__name__}: {error}")


@contextmanager
def logged(
    what: str,
    *values: object,
    errors: tuple[type[Exception], ...] = (LeftoffError,),
    level: int = logging.WARNING,
) -> Iterator[None]:
    """Logs an error instead of raising it. `what`: the message, in which the last `%s` is for
    the error and those before for the values."""
    try:
        yield
    except errors as error:
        logger.log(level, what, *values, error_words(error))


def record(event: Event) -> None:
    """Logs an event, redacted."""
    gate = Redactor()
    if event.line:
        level = logging.CRITICAL if event.level == "critical" else logging.WARNING
        logger.log(level, "%s", gate.text(event.line))
    if event.logged and telemetry.isEnabledFor(logging.INFO):
        fields: JsonObject = gate.value(event.fields)
        words = " ".join(f"{name}={value}" for name, value in fields.items())
        telemetry.info(
            "%s %s", event.name, words, extra={"event": event.name, "fields": fields, **fields}
        )
