"""`leftoff hook`: answers the hook events of Claude Code and Codex within a time limit.

One command serves all events. It reads the event as JSON from standard input and writes the
reply, if there is one, to standard output. Everything else goes to a log file, and the exit
code is always 0.

A client waits for its hooks, and importing the engine alone would take too long. So the hook
reads only the last lines of the transcript and small prepared files. It enqueues a job for the
rest (reading, summarising, writing), starts a worker and does not wait for it; the next hook
finds the results."""

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from leftoff import codec
from leftoff.hooks import queue

# The events for which `leftoff hook install` registers the hook.
EVENTS = tuple("SessionStart UserPromptSubmit PreCompact PostCompact Stop SessionEnd".split())
# Seconds after which a hook exits without a reply.
TIME_LIMIT = 2.0
# Seconds that a starting session waits for a worker that is still running.
WORKER_TIMEOUT = 0.2
# Maximum size of an event on standard input, in bytes.
MAX_INPUT_BYTES = 16 << 20
# Bytes at the end of a transcript in which `last_call` searches, first and second try.
TAIL, LONG_TAIL = 256 << 10, 4 << 20


def main() -> int:
    """Answers the event on standard input; always returns 0."""
    began = time.monotonic()
    # A hook may block on input that never ends or a file system that does not answer.
    timer = threading.Timer(TIME_LIMIT, os._exit, (0,))
    timer.daemon = True
    timer.start()
    try:
        reply = answer(sys.stdin.buffer.read(MAX_INPUT_BYTES), os.environ, began)
        if reply:
            sys.stdout.buffer.write(reply)
            sys.stdout.buffer.flush()
    except Exception:  # noqa: BLE001, S110 - a hook must never stop the client
        pass
    timer.cancel()
    timer.join()  # so that the process may end at once (`__main__.run`)
    return 0


def answer(data: bytes, environ: Mapping[str, str], began: float | None = None) -> bytes:
    """The reply to an event, as the client wrote it, as JSON; b"" if there is no reply.
    `began`: when the hook was started, by the monotonic clock."""
    began = time.monotonic() if began is None else began
    try:
        event = codec.parse(data)
    except ValueError:
        return b""
    if not isinstance(event, dict) or event.get("agent_id"):  # a subagent's own event
        return b""
    name = event.get("hook_event_name")
    handler = _HANDLERS.get(str(name))
    project = queue.project_of(event, environ)
    if handler is None or project is None:
        return b""
    home = queue.home_of(project, environ)
    folder = queue.folder_of(home, event.get("session_id"))
    if folder is None:
        return b""
    path = event.get("transcript_path")
    transcript = path if isinstance(path, str) else ""
    call = HookCall(event, project, home, folder, transcript, began, environ)
    try:
        queue.make_folder(home, folder)
        reply = handler(call) or {}
    except Exception as error:  # noqa: BLE001
        queue.log_error(home, f"{name} failed", error)
        return b""
    took = 1000 * (time.monotonic() - began)
    notes = "".join(note for key, note in _REPLY_NOTES.items() if key in reply)
    queue.write_log(home, f"{name} {folder.name} {took:.0f} ms{notes}")
    return codec.dumps(reply) if reply else b""


_REPLY_NOTES = {
    "systemMessage": ", said to the person",
    "hookSpecificOutput": ", said to the agent",
}


class HookCall(NamedTuple):
    """An event of a client, the folders of its project and session, and when the hook began."""

    event: codec.JsonObject
    project: Path
    home: Path
    folder: Path
    transcript: str
    began: float
    environ: Mapping[str, str]

    def enqueue(self, name: str, **fields: object) -> None:
        """Enqueues a job and starts a worker."""
        job = {"transcript": self.transcript, "project": str(self.project), **fields}
        queue.enqueue(self.folder, name, job)
        start_worker(self.home, self.folder)


def start_worker(home: Path, folder: Path) -> None:
    """Starts a worker for a session and does not wait for it. If one is already running, the
    new one exits at once."""
    import subprocess

    # -P: modules in the current folder must not be imported.
    program = "leftoff.hooks.entry"
    command = [sys.executable, "-P", "-m", program, str(home), folder.name]
    options: codec.JsonObject = {"start_new_session": True}
    if os.name == "nt":  # DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP
        options = {"creationflags": 0x00000008 | 0x00000200}
    quiet = subprocess.DEVNULL
    subprocess.Popen(  # noqa: S603 - our own program, with arguments as a list
        command, stdin=quiet, stdout=quiet, stderr=quiet, cwd=str(home), **options
    )


# -- events ----------------------------------------------------------------------------------


def _session_start(call: HookCall) -> codec.JsonObject:
    from leftoff.hooks import forerunners

    event = call.event.get("source")
    folder = call.folder
    source: Path | None = folder
    ledger: Path | None = None
    name = queue.BRIEFING
    state: codec.JsonObject = {}
    if event == "compact":
        with suppress(OSError):
            (folder / queue.REPORTED).unlink()
        _wait_for(folder, call.began)
        state["compacted"] = True
    elif event in {"resume", "fork"} and (folder / queue.BRIEFING).exists():
        # The client sends the conversation again; it lacks only what a compaction dropped.
        name = queue.BESIDE
        # What it was given stays; what other sessions said meanwhile is new.
        state = queue.load(folder / queue.GIVEN)
        ledger = forerunners.previous_session(call.home, folder.name, "")
    else:
        branch = forerunners.branch_of(call.project)
        ledger = source = forerunners.previous_session(call.home, folder.name, branch)
        if source is not None:
            if queue.pending_jobs(source) and not _has_worker(source):  # it was killed
                start_worker(call.home, source)
            _wait_for(source, call.began)
        elif forerunners.is_first(call.home, folder.name):
            from leftoff.hooks.prompt import MAX_WAITING

            state["waiting"] = MAX_WAITING  # the worker reads what was recorded before
        if source is not None and not (source / queue.LEDGER).exists():
            ledger = _newest_ledger(call.home)  # that of the last session is being written
    block = queue.read_briefing(source, name) if source is not None else ""
    if ledger is not None and (ledger / queue.LEDGER).exists():
        from leftoff.hooks.prompt import with_ledger

        block, state["ledger"] = with_ledger(block, ledger, folder.name, state)
    call.enqueue("start")
    return _give(call, block, state, source or folder, name)


def _newest_ledger(home: Path) -> Path | None:
    """The folder of the session that last wrote the project's ledger."""
    with suppress(OSError):
        files = [(f.stat().st_mtime, f) for f in (home / queue.STATE).glob(f"*/{queue.LEDGER}")]
        return max(files)[1].parent if files else None
    return None


def _give(
    call: HookCall, block: str, state: codec.JsonObject, source: Path, name: str
) -> codec.JsonObject:
    """The reply that gives the agent a block, if there is one. Beside `state` it is noted from
    which session's folder and file the block is, and where the transcript ended: so its arrival
    can be checked."""
    event = str(call.event["hook_event_name"])
    if block:
        end: object = None
        if os.path.isfile(call.transcript):  # noqa: PTH113 - a path as the client spells it
            from leftoff.incremental.cursor import Cursor

            with suppress(OSError), open(call.transcript, "rb", 0) as file:  # noqa: PTH123
                end = codec.to_builtins(Cursor.at(file, os.fstat(file.fileno()).st_size))
        state[event] = {
            "at": time.time(),
            "from": end,
            "first": block.partition("\n")[0],
            "source": source.name,
            "file": name,
            "transcript": call.transcript,
        }
    if state:
        queue.write(call.folder / queue.GIVEN, codec.dumps(state))
    given = {"hookEventName": event, "additionalContext": block}
    return {"hookSpecificOutput": given} if block else {}


def _prompt_submit(call: HookCall) -> codec.JsonObject:
    from leftoff.hooks.prompt import Prompt

    block, state = Prompt(call).block()
    return _give(call, block, state, call.folder, "")


def _wait_for(folder: Path, began: float) -> None:
    """Waits until the worker of a session has finished, at most `WORKER_TIMEOUT` seconds from
    the start of the hook."""
    end = began + WORKER_TIMEOUT
    while time.monotonic() < end and queue.pending_jobs(folder):
        time.sleep(0.02)


def _has_worker(folder: Path) -> bool:
    try:
        with queue.opened(folder) as own, own.lock(queue.LOCK, 0):
            return False
    except OSError as error:
        return isinstance(error, TimeoutError)


def _stop(call: HookCall) -> codec.JsonObject:
    lines = _threshold_messages(call) if call.transcript else []
    call.enqueue("stop")
    return {"systemMessage": "\n".join(lines)} if lines else {}


def _after_compaction(call: HookCall) -> None:
    from leftoff.redaction.redactor import Redactor

    with suppress(OSError):
        (call.folder / queue.REPORTED).unlink()
    summary, fields = call.event.get("compact_summary"), {}
    # The event of Codex holds no summary; the worker looks for it in the transcript.
    if isinstance(summary, str) and summary.strip():
        fields["summary"] = Redactor().text(summary)
    call.enqueue("post_compact", **fields)


_HANDLERS: dict[str, Callable[[HookCall], codec.JsonObject | None]] = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt_submit,
    "Stop": _stop,
    "PreCompact": lambda call: call.enqueue("pre_compact"),
    "PostCompact": _after_compaction,
    "SessionEnd": lambda call: call.enqueue("end"),
}


# -- the window ------------------------------------------------------------------------------


def _threshold_messages(call: HookCall) -> list[str]:
    used = last_call(call.transcript)
    watch = queue.load(call.folder / queue.WATCH)
    usable = watch.get("usable")  # None: the worker has not looked, or nothing says it
    if used is None or not isinstance(usable, int) or usable <= 0:
        return []
    lowest = watch.get("lowest")
    path = call.folder / queue.REPORTED
    known = queue.load(path)
    peak = known.get("peak")
    if not known and used < usable * (lowest if isinstance(lowest, float) else 0.5):
        return []
    if isinstance(peak, int) and peak >= used > peak / 2 and not known.get("fallen"):
        return []  # no new peak, and not a fresh context: it did not fall below half of it
    import msgspec

    from leftoff.budget.thresholds import FiredThresholds, Preset, crossings, preset

    chosen = preset("advisory")
    with suppress(msgspec.ValidationError, KeyError):
        chosen = msgspec.convert(watch["preset"], Preset)
    armed = FiredThresholds()
    with suppress(msgspec.ValidationError):
        armed = msgspec.convert(known, FiredThresholds)
    reached, after = crossings(chosen, armed, used, usable)
    if after != armed:
        queue.write(path, codec.dumps(codec.to_builtins(after)), durable=True)
    return [c.words(c.threshold.says or c.threshold.logs).strip() for c in reached]


def last_call(path: str) -> int | None:
    """The tokens of the last API call of the main thread, in and out: the occupancy that a full
    pass would give. None if the last lines hold none, or if a compaction comes after it."""
    # Only the last lines, and in them only keys that every version of the clients has written:
    # parsing them with the readers in `formats` would double the time of a hook.
    with suppress(OSError), open(path, "rb") as file:  # noqa: PTH123 - as the client spells it
        size = file.seek(0, os.SEEK_END)
        for length in (TAIL, LONG_TAIL):
            file.seek(max(0, size - length))
            lines = file.read(length).split(b"\n")
            if size > length:
                del lines[0]  # it may be cut at its start
            for line in reversed(lines):
                if any(mark in line for mark in _COMPACTION_MARKERS):
                    return None
                if b"usage" in line and (found := _tokens(line)):
                    return found
            if size <= length:
                break
    return None


_COMPACTION_MARKERS = (b'"compact_boundary"', b'"isCompactSummary":true', b'"type":"compacted"')


_CODEX = ("input_tokens", "output_tokens")
_CLAUDE = (*_CODEX, "cache_read_input_tokens", "cache_creation_input_tokens")


def _tokens(line: bytes) -> int:
    """The tokens of the API call that a line of Claude Code or Codex records; 0 for none."""
    usage: object = None
    names: tuple[str, ...] = _CODEX
    with suppress(ValueError):
        value = codec.loads(line)
        if _at(value, "type") == "assistant" and not _at(value, "isSidechain"):
            usage, names = _at(value, "message", "usage"), _CLAUDE
        elif _at(value, "payload", "type") == "token_count":
            usage = _at(value, "payload", "info", "last_token_usage")
    counts = (_at(usage, name) for name in names)
    return sum(count for count in counts if isinstance(count, int))


def _at(value: object, *path: str) -> object:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
