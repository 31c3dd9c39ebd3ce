"""`leftoff hook`: what a client's hook asks for, answered at once.

One command for all events: the event is in the JSON on standard input, the reply, if there is
one, goes to standard output, everything else to a log file, and the exit code is 0 whatever
happens. Claude Code and Codex ask and are answered in the same way.

A client waits for its hooks, and importing the engine alone would take longer than that may
last. So the hook itself reads the last lines of the transcript and small files that are ready,
and leaves the rest to a worker that it starts and does not wait for: reading on, summarising,
writing. What one hook leaves, the next finds.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from leftoff import codec
from leftoff.hooks import queue as files

EVENTS = ("SessionStart", "PreCompact", "PostCompact", "Stop", "SessionEnd")
"""What `leftoff hook install` asks the clients for."""

LIMIT = 2.0
"""Seconds after which a hook gives up and says nothing."""

PATIENCE = 0.2
"""Seconds that a starting session waits for a worker that is still at it."""

MOST_INPUT = 16 << 20
"""Bytes of standard input; more is no event."""

TAIL, LONG_TAIL = 256 << 10, 4 << 20
"""Bytes at the end of a transcript in which the last call is looked for."""

STALE = 900
"""Seconds after which the mark of a worker is nobody's any more; none works so long."""

OLD = 30 * 86_400
"""Seconds after which the last session of a project is told to nobody."""


def main() -> int:
    """Answers one event; always 0."""
    began = time.monotonic()
    # Whatever hangs (input that never ends, a file system that does not answer): give up.
    timer = threading.Timer(LIMIT, os._exit, (0,))
    timer.daemon = True
    timer.start()
    try:
        reply = answer(sys.stdin.buffer.read(MOST_INPUT), os.environ, began)
        if reply:
            sys.stdout.buffer.write(reply)
            sys.stdout.buffer.flush()
    except Exception:  # noqa: BLE001, S110 - a hook must never stop the client
        pass
    timer.cancel()
    return 0


def answer(data: bytes, environ: Mapping[str, str], began: float | None = None) -> bytes:
    """The reply to an event, b"" if there is nothing to say.

    Args:
        data: the event as the client wrote it. What is unknown in it is ignored.
        environ: the environment.
        began: when the hook was started, by the monotonic clock.
    """
    began = time.monotonic() if began is None else began
    try:
        told = codec.parse(data)
    except ValueError:
        return b""
    if not isinstance(told, dict) or told.get("agent_id"):  # a subagent's own event
        return b""
    does = _ANSWERS.get(str(told.get("hook_event_name")))
    project = files.project_of(told, environ)
    if does is None or project is None:
        return b""
    home = files.home_of(project, environ)
    folder = files.folder_of(home, told.get("session_id"))
    if folder is None:
        return b""
    asked = _Asked(told, project, home, folder, began)
    try:
        files.make(home, folder)
        reply = does(asked)
    except Exception as error:  # noqa: BLE001
        _complain(asked, error)
        return b""
    took = 1000 * (time.monotonic() - began)
    said = "".join(note for key, note in _SAID.items() if key in reply)
    files.note(home, f"{told['hook_event_name']} {folder.name} {took:.0f} ms{said}")
    return codec.dumps(reply) if reply else b""


_SAID = {"systemMessage": ", told the person", "hookSpecificOutput": ", told the agent"}


class _Asked:
    """One event and the folders that belong to it."""

    def __init__(
        self, told: dict[str, Any], project: Path, home: Path, folder: Path, began: float
    ) -> None:
        self.told, self.project, self.home, self.folder = told, project, home, folder
        self.began = began
        path = told.get("transcript_path")
        self.transcript = path if isinstance(path, str) else ""

    def wish(self, name: str, **more: Any) -> None:
        """Asks the worker for something, and starts one."""
        here = {"transcript": self.transcript, "project": str(self.project)}
        files.want(self.folder, name, {**here, **more})
        start_worker(self.home, self.folder)


def start_worker(home: Path, folder: Path) -> None:
    """Starts a worker for a session and does not wait for it. Where one is at work already, the
    new one ends at once."""
    import subprocess

    # -P: what lies in the current folder must not be imported.
    program = "leftoff.hooks.entry"
    command = [sys.executable, "-P", "-m", program, str(home), folder.name]
    own: dict[str, Any] = {"start_new_session": True}
    if os.name == "nt":
        own = {"creationflags": 0x00000008 | 0x00000200}  # detached, in a group of its own
    quiet = subprocess.DEVNULL
    subprocess.Popen(  # noqa: S603 - our own program, with arguments as a list
        command, stdin=quiet, stdout=quiet, stderr=quiet, cwd=str(home), close_fds=True, **own
    )


# -- events ----------------------------------------------------------------------------------


def _start(asked: _Asked) -> dict[str, Any]:
    """A session begins, goes on, or was compacted."""
    source = asked.told.get("source")
    own = asked.folder
    if source == "compact":
        with suppress(OSError):
            (own / files.SAID).unlink()
        _wait_for(own, asked.began)
        found = files.block(own)
    elif source in {"resume", "fork"} and (own / files.BRIEFING).exists():
        # The client sends what was said; it lacks only what a compaction has cut away.
        found = files.block(own) if (own / files.LOST).exists() else ""
    else:
        newest = _newest(asked)
        if newest is not None:
            if files.wanted(newest) and not _busy(newest):  # its worker was killed
                start_worker(asked.home, newest)
            _wait_for(newest, asked.began)
        found = files.block(newest) if newest is not None else ""
    asked.wish("start")
    if not found:
        return {}
    output = {"hookEventName": "SessionStart", "additionalContext": found}
    return {"hookSpecificOutput": output}


def _newest(asked: _Asked) -> Path | None:
    """The folder of the last session of the project before this one."""
    found: list[tuple[float, Path]] = []
    with suppress(OSError):
        for entry in os.scandir(asked.home / files.STATE):
            if entry.name != asked.folder.name and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    changed = os.stat(Path(entry.path) / files.BRIEFING).st_mtime  # noqa: PTH116
                    found.append((changed, Path(entry.path)))
    if not found:
        return None
    changed, newest = max(found)
    return newest if time.time() - changed < OLD else None


def _wait_for(folder: Path, began: float) -> None:
    """Gives a worker that is at it a moment to finish."""
    until = began + PATIENCE
    while time.monotonic() < until and (files.wanted(folder) or _busy(folder)):
        time.sleep(0.02)


def _busy(folder: Path) -> bool:
    """Whether a worker is at it; the mark of one that was killed grows old."""
    try:
        return abs(time.time() - (folder / files.BUSY).stat().st_mtime) < STALE
    except OSError:
        return False


def _stop(asked: _Asked) -> dict[str, Any]:
    """The agent has answered."""
    lines = _crossed(asked) if asked.transcript else []
    asked.wish("stop")
    return {"systemMessage": "\n".join(lines)} if lines else {}


def _before_compaction(asked: _Asked) -> dict[str, Any]:
    asked.wish("pre_compact")
    return {}


def _after_compaction(asked: _Asked) -> dict[str, Any]:
    from leftoff.redaction.redactor import Redactor

    with suppress(OSError):
        (asked.folder / files.SAID).unlink()
    summary = asked.told.get("compact_summary")
    if isinstance(summary, str) and summary.strip():
        asked.wish("post_compact", summary=Redactor().text(summary))
    else:  # Codex does not say what it wrote; it stands in the transcript
        asked.wish("post_compact")
    return {}


def _end(asked: _Asked) -> dict[str, Any]:
    asked.wish("end")
    return {}


_ANSWERS = {
    "SessionStart": _start,
    "Stop": _stop,
    "PreCompact": _before_compaction,
    "PostCompact": _after_compaction,
    "SessionEnd": _end,
}


# -- the window ------------------------------------------------------------------------------


def _crossed(asked: _Asked) -> list[str]:
    """What is to be said of thresholds that this turn went over, each once."""
    found = last_call(asked.transcript)
    if found is None:
        return []
    used = found.used
    watch = files.load(asked.folder / files.WATCH)
    usable = watch.get("usable")
    if not isinstance(usable, int):
        from leftoff.budget.windows import fit

        window = fit(
            found.model,
            recorded=found.window,
            peak=used,
            format=found.format,
            version=found.version,
        )
        if window is None:
            return []
        usable = window.window - window.reserve
    lowest = watch.get("lowest")
    said = asked.folder / files.SAID
    known = files.load(said)
    peak = known.get("peak")
    if not known and used < usable * (lowest if isinstance(lowest, float) else 0.5):
        return []
    if isinstance(peak, int) and peak >= used > peak / 2 and not known.get("fallen"):
        return []  # no more than was used before, and nothing has begun anew
    import msgspec

    from leftoff.budget.thresholds import Armed, Preset, crossings, preset

    chosen = preset("advisory")
    with suppress(msgspec.ValidationError, KeyError):
        chosen = msgspec.convert(watch["preset"], Preset)
    armed = Armed()
    with suppress(msgspec.ValidationError):
        armed = msgspec.convert(known, Armed)
    reached, after = crossings(chosen, armed, used, usable)
    if after != armed:
        files.keep(said, codec.dumps(codec.plain(after)))
    return [c.words(c.threshold.says or c.threshold.logs).strip() for c in reached]


class Call(NamedTuple):
    """The last call of a session: its tokens, in and out, and what its line tells of the
    window."""

    used: int
    format: str
    model: str = ""
    version: str = ""
    window: int | None = None


def last_call(path: str) -> Call | None:
    """The last call in a transcript, with its tokens as the account of the whole would say;
    None if the last lines hold no call of the main thread.

    Only these lines are read, and of them only what every version has had: reading them as the
    formats do would take as long as everything else that a hook does.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a path as the client spells it
            size = file.seek(0, os.SEEK_END)
            for length in (TAIL, LONG_TAIL):
                file.seek(max(0, size - length))
                lines = file.read(length).split(b"\n")
                if size > length:
                    del lines[0]  # it may have lost its beginning
                for line in reversed(lines):
                    if any(mark in line for mark in _EMPTIED):
                        return None
                    if b"usage" in line and (found := _call(line)) is not None:
                        return found
                if size <= length:
                    return None
    except OSError:
        return None
    return None


_EMPTIED = (b'"compact_boundary"', b'"isCompactSummary":true', b'"type":"compacted"')


def _call(line: bytes) -> Call | None:
    """The call that a line tells of."""
    try:
        value = codec.exact(line)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    if value.get("type") == "assistant" and not value.get("isSidechain"):
        message = _dict(value.get("message"))
        used = _sum(_dict(message.get("usage")), _CLAUDE)
        model, version = message.get("model"), value.get("version")
        return Call(used, "claude_code", str(model or ""), str(version or "")) if used else None
    payload = _dict(value.get("payload"))
    if payload.get("type") == "token_count":
        info = _dict(payload.get("info"))
        used = _sum(_dict(info.get("last_token_usage")), _CODEX)
        window = info.get("model_context_window")
        known = window if isinstance(window, int) else None
        return Call(used, "codex", window=known) if used else None
    return None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _sum(usage: dict[str, Any], names: tuple[str, ...]) -> int:
    counts = (usage.get(name) for name in names)
    return sum(count for count in counts if isinstance(count, int))


_CLAUDE = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
)
_CODEX = ("input_tokens", "output_tokens")


def _complain(asked: _Asked, error: Exception) -> None:
    from leftoff.redaction.redactor import Redactor

    words = Redactor().text(f"{type(error).__name__}: {error}")
    files.note(asked.home, f"{asked.told.get('hook_event_name')} failed: {words}")
