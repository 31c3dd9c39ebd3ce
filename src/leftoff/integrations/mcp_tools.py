"""The tools of the MCP server: queries over recorded sessions; bounded, redacted JSON answers.

This module does not depend on the protocol (see `integrations.mcp`) and writes no files. A
recording is read in a thread and cached; when it has grown, only its new bytes are read. A call
that waits longer than `REPLY_TIMEOUT` returns the progress of the reading instead."""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import islice
from typing import Any

from leftoff import api, codec
from leftoff.errors import LeftoffError, SourceError, UsageError
from leftoff.handover.briefing import render_prompt
from leftoff.handover.wording import brief
from leftoff.incremental.growing import GrowingSession
from leftoff.memory.index import update
from leftoff.memory.lookup import memory_path
from leftoff.memory.memory import Memory
from leftoff.memory.search import Filters
from leftoff.memory.text import fix_values, hit_values, origin_values, standing_values
from leftoff.redaction.redactor import Redactor
from leftoff.rendering.messages import between, message_text
from leftoff.sources import discover
from leftoff.sources.discover import folder_of
from leftoff.sources.multi_file import is_multi_file
from leftoff.sources.open import STDIN, session_paths
from leftoff.summary import ContextSummary

# Seconds that a call waits for a recording to be read. Chosen by hand; not measured.
REPLY_TIMEOUT = 15.0
# Maximum length of an answer in characters.
MAX_ANSWER_CHARS = 40_000
# Tokens of a summary. Chosen by hand: twice those of a prompt, since the agent asked for it.
SUMMARY_TOKENS = 4_000
# Maximum number of items of a list in an answer.
MAX_ITEMS = 200
# Maximum length of a text in a list, in characters.
MAX_ITEM_CHARS = 1_000
# Other places of a statement that was repeated. Chosen by hand.
MAX_OTHERS = 3
# Number of recordings that are cached in memory.
CACHE_SIZE = 8


class _CachedRecording(GrowingSession):
    """A session that is read incrementally, with the summary of the last read."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.lock = threading.Lock()
        self._summary: ContextSummary | None = None

    def summary(self) -> ContextSummary:
        """The summary of the session as it is now; reads only new bytes."""
        with self.lock:
            changed = self.read_on(lambda read: read.summary(""))
            self._summary = changed or self._summary
            assert self._summary is not None
            return self._summary


def _bounded(value: object) -> Any:
    if isinstance(value, str):
        return brief(value, MAX_ITEM_CHARS)
    if isinstance(value, dict):
        return {key: _bounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_bounded(one) for one in value[:MAX_ITEMS]]
    return value


class Answers:
    """The tools, as methods; `mcp.TOOLS` describes them. Thread-safe.

    Args:
        environ: the environment; it says where clients store their sessions.
        cwd: the directory whose newest session is `latest`.
        timeout: seconds that a call may wait for a recording to be read."""

    def __init__(
        self, environ: Mapping[str, str], cwd: str, *, timeout: float = REPLY_TIMEOUT
    ) -> None:
        self._environ, self._cwd, self._timeout = environ, cwd, timeout
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="leftoff")
        self._cache: OrderedDict[str, _CachedRecording] = OrderedDict()
        self._running: dict[Any, Future[Any]] = {}
        self._lock = threading.Lock()

    # -- tools -----------------------------------------------------------------------------

    def list_sessions(self, project: str = "", limit: int = 20) -> str:
        most = _checked_limit(limit)
        # Without those that links to files elsewhere make.
        roots, files = (
            discover.client_roots(self._environ),
            discover.session_files(self._environ),
        )
        known = [file for file in files if discover.leads_to_session(file.path, roots)]
        folder = folder_of(project)
        listed = discover.list_sessions(self._environ, project=folder, known=known)
        some = list(islice(listed, most + 1))
        shown = ("id", "client", "project", "branch", "title", "started", "modified")
        rows = [
            {**_fields(s, *shown), "title": brief(s.title, 200), "bytes": s.size}
            for s in some[:most]
        ]
        return _answer({"sessions": rows, "more": len(some) > len(rows)})

    def summarize(self, session: str = "latest") -> str:
        return self._about(session, lambda summary: render_prompt(summary, SUMMARY_TOKENS))

    def decisions(self, session: str = "latest", query: str = "") -> str:
        return self._about(session, lambda s: {"decisions": _decisions(s, query)})

    def files(self, session: str = "latest", action: str = "") -> str:
        actions = ("created", "modified", "deleted", "read")
        if action and action not in actions:
            raise UsageError(f"action is one of {', '.join(actions)}, not {action!r}")
        return self._about(session, lambda s: {"files": _files(s, action)})

    def resume_prompt(self, session: str = "latest", budget: int = 4_000) -> str:
        """The resume log of a session as markdown, in at most `budget` tokens."""
        from leftoff.handover.resume_log.document import ResumeLog

        if budget < 1:
            raise UsageError(f"budget is a number of tokens from 300 to 10000, not {budget}")
        size = min(max(budget, 300), 10_000)
        return self._about(session, lambda s: ResumeLog.from_summary(s).to_markdown(size))

    def show(self, session: str, first: int, last: int = 0) -> str:
        """The messages `first` to `last` of a session as they were, from 1, and the results of
        the calls in them."""
        if first >= 1 and last == 0:
            last = first
        if first < 1 or last < first:
            raise UsageError("first and last count messages from 1, as summaries cite them")
        path = self._path(session)
        found = self._wait_for(
            ("show", path, first, last), lambda: _rendered(path, first, last)
        )
        if isinstance(found, dict):
            return _answer({**found, "session": session})
        if not found:
            raise UsageError(f"{session}: has no message #{first}")
        return str(found)

    # -- the memory of projects ------------------------------------------------------------

    def search(
        self, query: str, project: str = "", by: str = "", kind: str = "", limit: int = 10
    ) -> str:
        filters = Filters(
            project=folder_of(project),
            speakers=(by,) if by else (),
            kinds=(kind,) if kind else (),
        )
        hits = self._memory().search(query, filters, limit=_checked_limit(limit))
        return _answer({"hits": [_bounded(hit_values(hit)) for hit in hits]})

    def blame(self, file: str, first: int = 0, last: int = 0) -> str:
        lines = (first, last or first) if first else None
        found = self._memory().blame(os.path.join(self._cwd, file), lines)  # noqa: PTH118
        return _answer({"lines": [_bounded(origin_values(o)) for o in found[:MAX_ITEMS]]})

    def fix(self, error: str, project: str = "", limit: int = 5) -> str:
        filters = Filters(project=folder_of(project))
        found = self._memory().fix(error, filters, limit=_checked_limit(limit))
        return _answer({"fixes": [_bounded(fix_values(one)) for one in found]})

    def ledger(self, project: str = "", limit: int = 50) -> str:
        filters = Filters(project=folder_of(project) or self._cwd)
        found = self._memory().ledger(filters)[: _checked_limit(limit)]
        rows = [_bounded(standing_values(one)) for one in found]
        for row in rows:
            del row["others"][MAX_OTHERS:]
        return _answer({"standing": rows})

    def left_open(self, project: str = "", limit: int = 50) -> str:
        filters = Filters(project=folder_of(project) or self._cwd)
        found = self._memory().left_open(filters)[: _checked_limit(limit)]
        return _answer({"left_open": [_bounded(hit_values(hit)) for hit in found]})

    def _memory(self) -> Memory:
        """The memory with what was recorded meanwhile, as far as there is time to read it."""
        memory = Memory(memory_path(self._environ))
        if memory.path.exists():
            work = self._pool.submit(update, memory.path, environ=self._environ)
            with suppress(TimeoutError, LeftoffError):  # what is known stays
                work.result(self._timeout)
        return memory

    # -- waiting ---------------------------------------------------------------------------

    def percent_read(self) -> int | None:
        """How much of the recording is read that a call waits for; None if there is none. Of
        several the one that is behind."""
        with self._lock:
            paths = [key[1] for key, work in self._running.items() if not work.done()]
            found = [self._cache[path] for path in paths if path in self._cache]
        return min((_percent(recording) for recording in found if recording.size), default=None)

    def _about(
        self, session: str, build: Callable[[ContextSummary], str | codec.JsonObject]
    ) -> str:
        """The text or the values that `build` makes of a session's summary, or the reading
        progress."""
        path = self._path(session)
        with self._lock:
            recording = self._cache.pop(path, None) or _CachedRecording(path)
            self._cache[path] = recording
            while len(self._cache) > CACHE_SIZE:
                self._cache.popitem(last=False)
        found = self._wait_for(("summary", path), recording.summary)
        if not isinstance(found, ContextSummary):
            return _answer({"session": session, **found, "percent_read": _percent(recording)})
        built = build(found)
        if isinstance(built, str):
            return built[:MAX_ANSWER_CHARS]
        return _answer({"session": found.session.id or path, **built})

    def _path(self, session: str) -> str:
        """The path of a session that is given by its id, a prefix of it, `latest`, or its
        path; `SourceError` where it or a file of one of its subagents is elsewhere."""
        # Only recordings in the folders of known clients: an agent must not read other files of
        # the machine through this server, also not by a link that it has put into such a
        # folder. What a link leads to is looked at here, when a session is named.
        if session == discover.LATEST:
            path = discover.latest_session(self._environ, self._cwd).path
        elif os.sep in session or "/" in session:
            path = session
        elif session == STDIN or is_multi_file(session) or os.path.lexists(session):
            raise SourceError(f"{session}: name a session by its id")
        else:
            path = discover.find_session(session, self._environ, self._cwd)
        main, beside = session_paths(path)
        if not discover.leads_to_session(main, discover.client_roots(self._environ)):
            what = "is no session in the folder of a known client"
            if os.path.realpath(main) != os.path.abspath(main):  # noqa: PTH100
                what += "; a link to a file elsewhere is not followed"
            raise SourceError(f"{path}: {what}")
        home = os.path.dirname(os.path.realpath(main)) + os.sep  # noqa: PTH120
        for _, side in beside:
            if not os.path.realpath(side).startswith(home):
                raise SourceError(f"{side}: a link to a file elsewhere is not followed")
        return path

    def _wait_for(self, key: Any, work: Callable[[], object]) -> Any:
        """The result of `work`, which runs in a thread; a dict with a status if it is not done
        in time. A later call with the same key waits for the same thread."""
        with self._lock:
            future = self._running.get(key)
            # A summary that was ready before this call may be old by now.
            if future is None or (future.done() and key[0] == "summary"):
                future = self._running[key] = self._pool.submit(work)
        if wait([future], self._timeout).not_done:
            return {"status": "reading", "what": "this session is long; ask again"}
        self._running.pop(key, None)
        return future.result()


def _percent(recording: _CachedRecording) -> int:
    return min(99, 100 * recording.read // recording.size) if recording.size else 0


# -- answers ---------------------------------------------------------------------------------


def _fields(value: object, *names: str) -> codec.JsonObject:
    return {name: getattr(value, name) for name in names}


def _decisions(summary: ContextSummary, query: str) -> list[codec.JsonObject]:
    terms = query.casefold().split()
    shown = ("text", "type", "confidence", "status", "owner", "rationale", "alternative")
    return [
        _bounded({**_fields(d, *shown), "message": d.message_index + 1})
        for d in reversed(summary.key_decisions)
        if all(t in f"{d.text} {d.rationale} {d.alternative}".casefold() for t in terms)
    ]


def _files(summary: ContextSummary, action: str) -> list[codec.JsonObject]:
    shown = ("path", "action", "certainty", "renamed_from", "touch_count")
    return [
        {**_fields(f, *shown), "messages": [r.message + 1 for r in f.refs[-5:]]}
        for f in summary.file_modifications
        if (f.action == action if action else f.action != "read")
    ]


def _rendered(path: str, first: int, last: int) -> str:
    gate = Redactor()
    parts: list[str] = []
    room = MAX_ANSWER_CHARS
    numbered = ((m.index + 1, m) for m in api.read(path) if not m.agent)
    for _, message in between(numbered, first, last):
        text = message_text(message, gate)
        if len(text) > room:
            parts.append(f"(cut here: ask for #{message.index + 1} alone or for fewer)\n")
            if len(parts) == 1:
                parts.insert(0, text[:room] + "…\n")
            break
        room -= len(text)
        parts.append(text)
    return "".join(parts)


def _checked_limit(limit: int) -> int:
    if limit < 1:
        raise UsageError(f"limit is a number of results from 1 to {MAX_ITEMS}, not {limit}")
    return min(limit, MAX_ITEMS)


def _answer(value: codec.JsonObject) -> str:
    """An answer as redacted JSON: lists are cut to `MAX_ITEMS`, then the largest list is
    halved until the text fits into `MAX_ANSWER_CHARS`."""
    lists = {k: v for k, v in value.items() if isinstance(v, list)}
    cut = {**value, **{k: v[:MAX_ITEMS] for k, v in lists.items()}}
    left_out = {k: len(v) - MAX_ITEMS for k, v in lists.items() if len(v) > MAX_ITEMS}
    gate = Redactor()
    while True:
        answer = {**cut, "left_out": left_out} if left_out else cut
        text = codec.dumps(gate.value(codec.to_valid_json(answer))).decode()
        lists = {k: v for k, v in cut.items() if isinstance(v, list) and v}
        if len(text) <= MAX_ANSWER_CHARS or not lists:
            return text[:MAX_ANSWER_CHARS]
        name = max(lists, key=lambda k: len(codec.dumps(codec.to_valid_json(lists[k]))))
        half = max(1, len(lists[name]) // 2)
        cut[name] = lists[name][:-half]
        left_out[name] = left_out.get(name, 0) + half
