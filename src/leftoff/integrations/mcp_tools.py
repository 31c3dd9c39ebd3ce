"""What an agent may ask of the sessions on this machine, answered as bounded, redacted JSON.

Nothing here knows the protocol; `integrations.mcp` does. Nothing is written, and no session is
changed. A long recording is read once, in a thread, and read on when it has grown; a question
that would wait longer than `PATIENCE` is answered with how far the reading has come.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from leftoff import api, codec
from leftoff.analysis.session_pass import Pass
from leftoff.errors import LeftoffError, SourceError, UsageError
from leftoff.handover.wording import brief
from leftoff.model import Message
from leftoff.redaction.redactor import Redactor
from leftoff.rendering.messages import message_text
from leftoff.sources import discover
from leftoff.sources.open import parts_of
from leftoff.summary import ContextSummary

PATIENCE = 15.0
"""Seconds that a question waits for a recording to be read."""

MOST = 40_000
"""Characters of an answer."""

ITEMS = 200
"""Most items of one list in an answer."""

ITEM = 1_000
"""Characters of one text in a list."""

REMEMBERED = 8
"""Recordings that are kept in memory to be read on."""

_BLOCK = 1 << 20


class _Growing:
    """One recording, read as far as it went."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lock = threading.Lock()
        self.read = 0
        self._reading: Pass | None = None
        self._seen: tuple[int, int] = (-1, -1)
        self._summary: ContextSummary | None = None

    def summary(self) -> ContextSummary:
        """The summary of all that is there now; only what is new is read."""
        with self.lock:
            main, _ = parts_of(self.path)
            told = Path(main).stat()
            seen = (told.st_size, told.st_mtime_ns)
            if self._summary is not None and seen == self._seen:
                return self._summary
            if told.st_size < self.read:
                self._reading, self.read = None, 0
            self._summary, self._seen = self._summarised(main), seen
            return self._summary

    def _summarised(self, main: str) -> ContextSummary:
        reading = self._reading or Pass(main)
        with open(main, "rb") as file:  # noqa: PTH123 - a path as its user spells it
            file.seek(self.read)
            while data := file.read(_BLOCK):
                if not self.read and data.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")):
                    return api.summarize(self.path)
                reading.feed(data)
                self.read += len(data)
        twin = reading.fork()
        twin.close()
        if twin.format is not None and twin.format.shape == "document":
            self.read = 0
        else:
            self._reading = reading

        def opened(path: str, **options: Any) -> Pass:
            return twin if path == main else api.open_pass(path, **options)

        found = api.Gathered(opened)
        found.add(self.path, None, (), -1)
        return found.summary("")


class Answers:
    """Answers questions about the sessions of this machine. May be asked from any thread.

    Args:
        environ: the environment: where clients keep their sessions.
        cwd: the folder that `latest` is looked for from.
        patience: seconds that a question may wait.
    """

    def __init__(
        self, environ: Mapping[str, str], cwd: str, *, patience: float = PATIENCE
    ) -> None:
        self._environ, self._cwd, self._patience = environ, cwd, patience
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="leftoff")
        self._growing: OrderedDict[str, _Growing] = OrderedDict()
        self._running: dict[Any, Future[Any]] = {}
        self._lock = threading.Lock()

    # -- questions -------------------------------------------------------------------------

    def list_sessions(self, project: str = "", limit: int = 20) -> str:
        """Sessions recorded on this machine, the last changed first."""
        folder = _folder(project)
        found = discover.sessions(self._environ, project=folder)
        some = list(islice(found, _within(limit, ITEMS) + 1))
        rows = [
            {
                "id": s.id,
                "client": s.client,
                "project": s.project,
                "branch": s.branch,
                "title": brief(s.title, 200),
                "started": s.started,
                "modified": s.modified,
                "bytes": s.size,
            }
            for s in some[: _within(limit, ITEMS)]
        ]
        return _answer({"sessions": rows, "more": len(some) > len(rows)})

    def summarize(self, session: str = "latest") -> str:
        """What a session decided, did, left open, and how far it is."""
        return self._about(session, _overview)

    def decisions(self, session: str = "latest", query: str = "") -> str:
        """The key decisions of a session, the latest first."""
        return self._about(session, lambda s: {"decisions": _decisions(s, query)})

    def files(self, session: str = "latest", action: str = "") -> str:
        """What a session did to which file."""
        actions = ("created", "modified", "deleted", "read")
        if action and action not in actions:
            raise UsageError(f"action is one of {', '.join(actions)}, not {action!r}")

        def told(summary: ContextSummary) -> dict[str, Any]:
            rows = [
                {
                    "path": f.path,
                    "action": f.action,
                    "certainty": f.certainty,
                    "renamed_from": f.renamed_from,
                    "touch_count": f.touch_count,
                    "messages": [r.message + 1 for r in f.refs[-5:]],
                }
                for f in summary.file_modifications
                if (f.action == action if action else f.action != "read")
            ]
            return {"files": rows}

        return self._about(session, told)

    def resume_prompt(self, session: str = "latest", budget: int = 4_000) -> str:
        """Markdown with all that whoever goes on needs, in at most `budget` tokens."""
        from leftoff.handover.resume_log.document import ResumeLog

        size = min(max(budget, 300), 10_000)
        path = self._path(session)
        summary = self._summary(path)
        if not isinstance(summary, ContextSummary):
            return _answer(summary)
        return ResumeLog.from_summary(summary).to_markdown(size)[:MOST]

    def show(self, session: str, first: int, last: int = 0) -> str:
        """The messages `first` to `last` of a session as they were, from 1."""
        last = last or first
        if first < 1 or last < first:
            raise UsageError("first and last count messages from 1, as summaries cite them")
        path = self._path(session)
        found = self._waited(("show", path, first, last), lambda: _shown(path, first, last))
        if isinstance(found, dict):
            return _answer({**found, "session": session})
        if not found:
            raise UsageError(f"{session}: has no message #{first}")
        return str(found)

    def search_decisions(self, query: str, project: str = "", limit: int = 20) -> str:
        """Decisions of all sessions in which every word of `query` stands, newest session
        first. Sessions that there was no time to read are counted."""
        if not query.split():
            raise UsageError("query: say which words to look for")
        end, most = time.monotonic() + self._patience, _within(limit, ITEMS)
        found: list[dict[str, Any]] = []
        searched, left, damaged = 0, 0, 0
        for listed in discover.sessions(self._environ, project=_folder(project)):
            room = end - time.monotonic()
            if room <= 0 or len(found) >= most:
                left += 1
                continue
            try:
                summary = self._summary(listed.path, room)
            except (LeftoffError, OSError):
                damaged += 1
                continue
            if not isinstance(summary, ContextSummary):
                left += 1
                continue
            searched += 1
            found += [
                {**row, "session": listed.id, "project": listed.project}
                for row in _decisions(summary, query)
            ]
        told = {"searched": searched, "not_searched": left, "not_readable": damaged}
        return _answer({"decisions": found[:most], **told})

    # -- waiting ---------------------------------------------------------------------------

    def _about(self, session: str, told: Callable[[ContextSummary], dict[str, Any]]) -> str:
        path = self._path(session)
        found = self._summary(path)
        if not isinstance(found, ContextSummary):
            return _answer({"session": session, **found})
        return _answer({"session": found.session.id or path, **told(found)})

    def _path(self, session: str) -> str:
        """The recording that is meant: an id, its beginning, `latest`, or the path of a session
        in a known place. Other files of the machine are none of ours to read out."""
        if session != discover.LATEST and (os.sep in session or "/" in session):
            known = {os.path.realpath(r.path) for r in discover.recordings(self._environ)}
            if os.path.realpath(session) not in known:
                raise SourceError(f"{session}: is no session in the place of a known client")
            return session
        known_ids = discover.find(session, self._environ, self._cwd)
        if session != discover.LATEST and Path(session).exists():
            raise SourceError(f"{session}: name a session by its id")
        return known_ids

    def _summary(
        self, path: str, patience: float | None = None
    ) -> ContextSummary | dict[str, Any]:
        with self._lock:
            growing = self._growing.pop(path, None) or _Growing(path)
            self._growing[path] = growing
            while len(self._growing) > REMEMBERED:
                self._growing.popitem(last=False)
        found = self._waited(("summary", path), growing.summary, patience)
        if isinstance(found, dict):
            with suppress(OSError):
                size = Path(parts_of(path)[0]).stat().st_size or 1
                found["percent_read"] = min(99, 100 * growing.read // size)
        return found  # type: ignore[no-any-return]

    def _waited(self, key: Any, work: Callable[[], Any], patience: float | None = None) -> Any:
        """What `work` gives; a dict that says so if it is not done in time. Asked again, the
        same work is waited for."""
        with self._lock:
            future = self._running.get(key)
            if future is None:
                future = self._running[key] = self._pool.submit(work)
        try:
            found = future.result(self._patience if patience is None else patience)
        except TimeoutError:
            return {"status": "reading", "what": "this session is long; ask again"}
        except BaseException:
            self._running.pop(key, None)
            raise
        self._running.pop(key, None)
        return found


# -- what is told ----------------------------------------------------------------------------


def _overview(summary: ContextSummary) -> dict[str, Any]:
    session, progress = summary.session, summary.progress
    return {
        "project": session.cwd,
        "branch": session.branch,
        "title": brief(session.title, 200),
        "models": list(session.models),
        "started": session.started,
        "ended": session.ended,
        "messages": summary.stats.message_count,
        "stage": progress.current_stage,
        "percent": progress.progress_percentage,
        "tests_older_than_last_edit": progress.tests_older_than_last_edit,
        "open": [
            *(_said(s.text, s.status, s.ref.message) for s in summary.next_steps),
            *(
                _said(r.text, r.kind, r.ref.message)
                for r in summary.user_requests
                if r.status == "open"
            ),
        ][:50],
        "constraints": [
            _said(r.text, r.kind, r.ref.message)
            for r in summary.user_requests
            if r.kind in ("constraint", "correction") and r.status != "withdrawn"
        ][-50:],
        "decisions": _decisions(summary, "")[:30],
        "files_changed": [
            {"path": f.path, "action": f.action}
            for f in summary.file_modifications
            if f.action != "read"
        ][:100],
        "errors_not_mended": [
            _said(e.text, e.tool, e.ref.message) for e in summary.errors if not e.fixed
        ][-20:],
        "checks": [
            {**_said(c.text, c.kind, c.ref.message), "passed": c.passed}
            for c in summary.working_set.commands
            if c.kind in ("test", "build", "lint")
        ][:20],
        "last_words": brief(summary.working_set.last_words.text, 2_000),
        "window_used": summary.context.fraction,
        "compactions": len(summary.context.compactions),
    }


def _said(text: str, note: str, message: int) -> dict[str, Any]:
    return {"text": brief(text, ITEM), "note": note, "message": message + 1}


def _decisions(summary: ContextSummary, query: str) -> list[dict[str, Any]]:
    """Decisions with all words of a query, the latest first."""
    wanted = query.casefold().split()
    rows = []
    for d in reversed(summary.key_decisions):
        words = f"{d.text} {d.rationale} {d.alternative}".casefold()
        if all(word in words for word in wanted):
            rows.append(
                {
                    "text": brief(d.text, ITEM),
                    "type": d.type,
                    "confidence": d.confidence,
                    "status": d.status,
                    "owner": d.owner,
                    "rationale": brief(d.rationale, ITEM),
                    "alternative": brief(d.alternative, ITEM),
                    "message": d.message_index + 1,
                }
            )
    return rows


def _shown(path: str, first: int, last: int) -> str:
    gate = Redactor()
    parts: list[str] = []
    room = MOST
    for message in _between(api.read(path), first, last):
        text = message_text(message, gate)
        if len(text) > room:
            parts.append(f"(cut here: ask for #{message.index + 1} alone or for fewer)\n")
            if len(parts) == 1:
                parts.insert(0, text[:room] + "…\n")
            break
        room -= len(text)
        parts.append(text)
    return "".join(parts)


def _between(messages: Iterable[Message], first: int, last: int) -> Iterable[Message]:
    for message in messages:
        if message.agent or message.index + 1 < first:
            continue
        if message.index + 1 > last:
            return
        yield message


def _folder(project: str) -> str:
    """A directory as sessions name it, "" for any."""
    return os.path.abspath(os.path.expanduser(project)) if project else ""  # noqa: PTH100, PTH111


def _within(limit: int, most: int) -> int:
    return min(max(1, limit), most)


def _answer(value: dict[str, Any]) -> str:
    """An answer as JSON: redacted, lists cut to `ITEMS`, the longest cut until it fits."""
    cut = {k: v[:ITEMS] if isinstance(v, list) else v for k, v in value.items()}
    left_out = {k: len(v) - ITEMS for k, v in value.items() if _is_long(v)}
    gate = Redactor()
    while True:
        told = {**cut, "left_out": left_out} if left_out else cut
        text = codec.dumps(gate.value(codec.mended(told))).decode()
        lists = {k: v for k, v in cut.items() if isinstance(v, list) and v}
        if len(text) <= MOST or not lists:
            return text[:MOST]
        name = max(lists, key=lambda k: len(codec.dumps(codec.mended(lists[k]))))
        half = max(1, len(lists[name]) // 2)
        cut[name] = lists[name][:-half]
        left_out[name] = left_out.get(name, 0) + half


def _is_long(value: Any) -> bool:
    return isinstance(value, list) and len(value) > ITEMS
