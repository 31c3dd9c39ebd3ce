"""`Reviewer`: asks an agent's client and resumes the client's conversation if it still exists.

A follow-up is first sent alone to the saved conversation. If that fails for any reason but a
timeout, the full prompt with all earlier rounds is sent once."""

import asyncio
import os
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff import subprocesses
from leftoff.codec import JsonObject
from leftoff.errors import ClientError, StateError, UnknownName, UsageError
from leftoff.handover.review import (
    DEFAULT_MODEL,
    PERMANENT_FAILURES,
    FailureKind,
    Resumption,
    Review,
    ReviewRound,
    full_prompt,
    is_valid_session_id,
    metrics,
    next_review_id,
)
from leftoff.live.tasks import Clock, now
from leftoff.live.telemetry import logger
from leftoff.model import Usage, parse_time
from leftoff.redaction.redactor import Redactor
from leftoff.settings import Settings, load_here
from leftoff.stores.locked_file import lock_file
from leftoff.stores.protocol import Store
from leftoff.text.truncation import one_line
from leftoff.tokens import estimate_tokens

# The kind under which a store keeps reviews.
KIND = "review"
# Time limit of a review in seconds, with the attempt to resume.
TIME_LIMIT = 600.0
# Maximum length of a client's error message, in code points.
_MAX_MESSAGE_CHARS = 400
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)


class Answer(Struct, frozen=True):
    """The answer of a client: `session_id` is that of the conversation from now on, `usage` of
    this answer, or of the whole conversation if `Client.counts_all`."""

    text: str
    session_id: str = ""
    usage: Usage | None = None


class Failure(Struct, frozen=True):
    """Why there is no answer; `words` is the client's error message."""

    kind: FailureKind
    words: str


class Client(Protocol):
    """A command-line client of an agent.

    Attributes:
        name: its name in documents.
        by_folder: a session id is valid only in the folder in which the conversation began.
        counts_all: it reports the usage of the whole conversation, not of the last answer."""

    name: str
    by_folder: bool
    counts_all: bool

    # The prompt goes to standard input.
    def build_command(
        self, model: str = ..., session_id: str = ..., allowed_tools: str = ...
    ) -> list[str]: ...
    # Of a finished run that was to resume `session_id`.
    def outcome(
        self, code: int, stdout: bytes, stderr: bytes, session_id: str = ...
    ) -> Answer | Failure: ...


def argument(name: str, value: str) -> str:
    """Returns the value if the program cannot take it for an option; `UsageError` where it
    begins with "-" or holds a non-printable character."""
    if value.startswith("-") or not value.isprintable():
        raise UsageError(f"{name} {value!r}: must not begin with '-' or hold line breaks")
    return value


def session_argument(value: str) -> str:
    """The value; `UsageError` if it is no session id."""
    if not is_valid_session_id(value):
        raise UsageError("a session id is letters, digits, '.', '_' and '-'")
    return value


def failure(message: str, kinds: tuple[tuple[FailureKind, str], ...]) -> Failure:
    """Classifies a client's error message by the first pattern of `kinds` that matches."""
    for kind, pattern in kinds:
        if re.search(pattern, message, re.IGNORECASE):
            return Failure(kind, message)
    return Failure("other", message)


class Stopped(Exception):
    """The caller cancelled the review."""


@dataclass
class ReviewCalls:
    """The calls of one review within its time limit: the prompts `sent`, and the `seconds` of
    the last one."""

    client: Client
    environ: Mapping[str, str] | None
    folder: str
    model: str
    allowed_tools: str
    limit: float
    stop: threading.Event | None
    sent: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.limit

    def __call__(self, prompt: str, session_id: str = "") -> Answer | Failure:
        command = self.client.build_command(self.model, session_id, self.allowed_tools)
        try:
            done = subprocesses.run(
                command,
                prompt.encode(),
                limit=max(0.0, self._end - time.monotonic()),
                folder=self.folder,
                environ=self.environ,
                stop=self.stop,
            )
        except OSError as error:
            what = f"{command[0]} cannot be started ({error.strerror})"
            raise ClientError(f"{what}: install it, or put it on the PATH") from error
        self.sent.append(prompt)
        self.seconds = done.seconds
        if done.stopped == "asked":
            raise Stopped
        if done.stopped == "time_out":
            return Failure("time_out", f"no answer within {self.limit:g} seconds")
        if done.stopped:
            return Failure("other", f"more than {subprocesses.MOST_OUTPUT} bytes of output")
        found = self.client.outcome(done.code, done.stdout, done.stderr, session_id)
        if isinstance(found, Failure):
            # Ids give access to conversations.
            words = found.words.replace(session_id, "[session]") if session_id else found.words
            words = Redactor().text(_UUID.sub("[session]", words))
            return Failure(found.kind, one_line(words, _MAX_MESSAGE_CHARS))
        return found


# -- reviews -----------------------------------------------------------------------------------


class ReviewRequest(Struct, frozen=True):
    """A request for a review.

    Attributes:
        prompt: the new prompt.
        full_prompt: sent if the conversation cannot be resumed; by default the earlier rounds
            of the review and the prompt.
        previous_review_id: the review to continue, "" for a new one.
        model: the client's name of a model.
        allowed_tools: tools that the agent may use without asking, as the client writes them.
        resume: False sends the full prompt, whatever the settings say."""

    prompt: str
    full_prompt: str | None = None
    previous_review_id: str = ""
    model: str = DEFAULT_MODEL
    allowed_tools: str = ""
    resume: bool = True


class ReviewResult(Struct, frozen=True):
    """The client's answer, and the round that was saved.

    Attributes:
        review_id: "" if this is a new review that could not be saved.
        unsaved: why the round could not be saved, "" if it was."""

    review_id: str
    text: str
    round: ReviewRound
    unsaved: str = ""

    @property
    def resumed(self) -> bool:
        """Whether the client resumed its own conversation."""
        return self.round.resume == "resumed"


class Reviewer:
    """Asks a client and saves the ids of its conversations, by review and model.

    Ids give access to conversations: they are saved in the store and nowhere else.

    Args:
        settings: only `enable_resume` is used; by default those of the current directory.
        folder: the client's working directory; by default the current one.
        environ: the client's environment; ours by default.
        limit: time limit of a review in seconds.
        lock: the lock file for saving; by default one in the folder of a file store. Without a
            lock file, only threads of this process are serialised.
        clock: returns the current time, with its zone."""

    def __init__(
        self,
        client: Client,
        store: Store,
        *,
        settings: Settings | None = None,
        folder: str | Path | None = None,
        environ: Mapping[str, str] | None = None,
        limit: float = TIME_LIMIT,
        lock: Path | None = None,
        clock: Clock = now,
    ) -> None:
        self.client = client
        self.settings = load_here().settings if settings is None else settings
        self._store, self._environ, self._limit = store, environ, limit
        self._folder = folder
        root = getattr(store, "root", None)
        if lock is None and isinstance(root, Path):
            lock = root / "state" / "reviews.lock"
        self._lock_file, self._lock = lock, threading.Lock()
        self._clock = clock

    # -- asking ----------------------------------------------------------------------------

    def review(
        self, request: ReviewRequest, *, stop: threading.Event | None = None
    ) -> ReviewResult:
        """Asks, and saves prompt, answer and the conversation's id; the client is stopped when
        `stop` is set.

        Raises:
            UsageError: the prompt is empty, or the client does not accept an argument.
            UnknownName: there is no such review to continue.
            ClientError: the client cannot be started, or gave no answer to the full prompt."""
        prompt = _sendable(request.prompt)
        if not prompt.strip():
            raise UsageError("there is nothing to ask: the prompt is empty")
        previous = self.load(request.previous_review_id) if request.previous_review_id else None
        model = request.model or DEFAULT_MODEL
        folder = os.path.realpath(self._folder or ".")
        if not Path(folder).is_dir():
            raise UsageError(f"{folder}: no such folder to ask in")
        full = request.full_prompt
        if full is None:
            full = prompt if previous is None else full_prompt(previous, prompt)
        full = _sendable(full)
        began = self._clock()
        session_id, resume, age = self._resumable(previous, request, model, folder, began)
        ask = ReviewCalls(
            self.client, self._environ, folder, model, request.allowed_tools, self._limit, stop
        )
        failure, lost = "", 0.0
        outcome = ask(prompt, session_id) if session_id else None
        if isinstance(outcome, Answer):
            resume = "resumed"
        elif outcome is not None:
            resume, failure = outcome.kind, outcome.words
            logger.debug("review %s: resuming failed (%s)", request.previous_review_id, resume)
            if outcome.kind != "time_out":  # else there is no time left to ask again
                outcome, lost = None, ask.seconds
        if outcome is None:
            outcome = ask(full)
        made = ReviewRound(
            began.isoformat(),
            self.client.name,
            model,
            folder,
            prompt,
            resume=resume,
            failure=failure,
            age=age,
            seconds=round(ask.seconds, 3),
            lost_seconds=round(lost, 3),
            sent_bytes=sum(len(p.encode()) for p in ask.sent),
            sent_tokens=sum(map(estimate_tokens, ask.sent)),
            full_bytes=len(full.encode()),
            full_tokens=estimate_tokens(full),
        )
        invalid_id = session_id if resume in PERMANENT_FAILURES else ""
        if isinstance(outcome, Failure):
            made = replace(made, error=outcome.kind, failure=outcome.words)
            if previous is not None:  # a first prompt without an answer is not saved
                with suppress(StateError):  # the client's failure is raised
                    self._save_round(previous.review_id, made, invalid_id=invalid_id)
            raise ClientError(f"{self.client.name} gave no answer: {outcome.words}")
        usage = outcome.usage
        if usage is not None and self.client.counts_all and resume == "resumed":
            usage -= _conversation_usage(previous, self.client.name, model)
        made = replace(made, response=outcome.text, usage=usage)
        review_id, unsaved = request.previous_review_id, ""
        try:
            review_id = self._save_round(
                review_id, made, invalid_id=invalid_id, session_id=outcome.session_id
            )
        except StateError as error:  # the answer must not be lost for that
            unsaved = str(error)
        return ReviewResult(review_id, outcome.text, made, unsaved)

    async def review_async(self, request: ReviewRequest) -> ReviewResult:
        """`review` in a thread of its own; cancelling it stops the client."""
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self.review, request, stop=stop)
        except asyncio.CancelledError:
            stop.set()
            raise

    def _resumable(
        self,
        previous: Review | None,
        request: ReviewRequest,
        model: str,
        folder: str,
        at: datetime,
    ) -> tuple[str, Resumption, float | None]:
        """The id of the conversation to resume, or "" and why not, and its age in seconds."""
        session_id = previous.session_id(self.client.name, model) if previous else ""
        if previous is None or not session_id:
            return "", "", None
        if not (self.settings.enable_resume and request.resume):
            return "", "off", None
        last = previous.last_round(self.client.name, model)
        # A path that holds redacted text cannot be compared.
        known = last is not None and last.folder and "[REDACTED:" not in last.folder
        if known and self.client.by_folder and last is not None and last.folder != folder:
            return "", "elsewhere", None
        began = parse_time(last.at) if last is not None else None
        age = None if began is None else round(max(0.0, (at - began).total_seconds()), 3)
        return session_id, "", age

    # -- keeping ---------------------------------------------------------------------------

    def _save_round(
        self, review_id: str, made: ReviewRound, *, invalid_id: str = "", session_id: str = ""
    ) -> str:
        with self._lock, ExitStack() as stack:
            if self._lock_file is not None:
                stack.enter_context(lock_file(self._lock_file, planted=True))
            # Load it again: another process may have added a round.
            if review_id:
                review = self.load(review_id)
            else:
                day = self._clock().date().isoformat()
                taken = [entry.id for entry in self._store.list(KIND)]
                review = Review(next_review_id(day, taken))
            if invalid_id:
                review = review.without_session_id(made.client, invalid_id)
            if session_id:
                review = review.with_session_id(made.client, made.model, session_id)
            review = replace(review, rounds=(*review.rounds, made))
            self._store.save(KIND, review.review_id, review.to_dict())
        return review.review_id

    def load(self, review_id: str) -> Review:
        """Loads a review.

        Raises:
            UnknownName: there is none of that id.
            StateError: it is damaged."""
        stored = self._store.load(KIND, review_id)
        if stored is None:
            known = [entry.id for entry in self._store.list(KIND)]
            raise UnknownName("review", review_id, known[:10])
        for issue in stored.issues:
            if issue.severity != "info":
                logger.warning("review %s: %s", review_id, issue.what)
        return Review.from_dict(stored.document)

    def latest(self) -> str:
        """The id of the last saved review.

        Raises:
            UsageError: there is none."""
        for entry in self._store.list(KIND):
            return str(entry.id)
        raise UsageError("there is no review yet")

    def metrics(self) -> JsonObject:
        """What resuming has saved, over all stored reviews, as `leftoff ask --stats --json`."""
        found: list[Review] = []
        unreadable = 0
        for entry in self._store.list(KIND):
            try:
                found.append(self.load(entry.id))
            except (StateError, UnknownName):  # damaged, or removed meanwhile
                unreadable += 1
        return metrics(found, unreadable)


def _sendable(prompt: str) -> str:
    """A prompt that UTF-8 can encode: lone surrogates become question marks."""
    return prompt.encode("utf-8", "replace").decode()


def _conversation_usage(previous: Review | None, client: str, model: str) -> Usage:
    total = Usage()
    for one in reversed(previous.rounds if previous else ()):
        if (one.client, one.model) != (client, model) or one.error:
            continue
        total += one.usage or Usage()
        if one.resume != "resumed":  # this is where the conversation began
            break
    return total
