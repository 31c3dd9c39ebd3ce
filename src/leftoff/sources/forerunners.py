"""Forerunners: the recordings that a resumed or forked session goes on from.

A fork names its origin, or begins with copies of its origin's records. An origin is looked for
beside the recording, and by its id in the other folders where the recorder would have put it;
no folder is searched below its own files."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from re import Pattern

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.analysis.continuations import related
from leftoff.analysis.session_pass import Pass
from leftoff.errors import LeftoffError
from leftoff.extraction.evidence import Asked
from leftoff.extraction.session_state import SessionState
from leftoff.formats.thread import key64
from leftoff.sources.multi_file import is_multi_file
from leftoff.sources.open import STDIN, read_head
from leftoff.sources.session_choice import choose

# Bytes of a file that are searched for its header. With them 101 of 101 public sessions of
# Claude Code and Codex have a key, with 64 KiB 91: a client's instructions come first.
HEAD_BYTES = 128 * 1024

# Files beside a recording, those changed at about the same time first, that are looked into.
# Chosen by hand.
MAX_NEIGHBOURS = 100

# Recordings of one line of work that are put together. Chosen by hand.
MAX_FORERUNNERS = 16

# First records whose ids are compared: a fork begins with those of its origin. Chosen by hand;
# not measured.
_FIRST = 8

# Bytes of a file beside a recording in which ids of common records are looked for first. They
# settle it where they hold as many ids as are compared, or the whole file; else a long first
# prompt or what a hook printed may stand before the records that both have.
_GLANCE = 12 * 1024

_RECORD_ID = re.compile(rb'"uuid" ?: ?"([^"\\\\]{1,80})"')
_OTHER_ID = re.compile(rb'"id" ?: ?"([^"\\\\]{1,80})"')


class Head(Struct, frozen=True):
    """Which session a recording is of, from its first records.

    Attributes:
        keys: hashes of values that only files of one line of work share: the session's id, the
            id that it was forked from, ids of its first records."""

    id: str = ""
    forked_from: str = ""
    keys: tuple[int, ...] = ()


def session_head(path: str, data: bytes, format: str | None = None) -> Head:
    """The head of a recording from its first `HEAD_BYTES` bytes; an empty one of what cannot be
    read."""
    reading = Pass(path, format, builtin=())
    complete = len(data) < HEAD_BYTES
    lines = data.splitlines(keepends=True)
    try:
        reading.feed_lines(islice(lines, len(lines) - (not complete)))
        if reading.format is None:  # it waits for more lines before it decides
            reading.close()
    except (LeftoffError, ValueError, RecursionError):
        return Head()  # its error is reported when it is read
    return head_of(reading)


def head_of(reading: Pass) -> Head:
    """The head of a recording that was read. A file that is one document is a session of its
    own and has no keys."""
    if reading.format is None or reading.format.shape != "lines" or len(reading.sessions) > 1:
        return Head()
    keys: list[int] = []
    for recording in reading.sessions[0].values():
        header, name = recording.header, reading.format.name
        keys += [key64(f"{name} {ident}") for ident in (header.id, header.forked_from) if ident]
        keys += recording.thread.keys[:_FIRST]
    known = reading.sessions[0][""].header
    return Head(known.id, known.forked_from, tuple(dict.fromkeys(k for k in keys if k)))


def forerunners(path: str, own: Head | None = None, format: str | None = None) -> list[str]:
    """The recordings that the one at `path` may go on from, the nearest first; [] for standard
    input and where there is none.

    Args:
        own: its head, where it was read already.
        format: of all of them; detected if None."""
    if path == STDIN or is_multi_file(path) or (own is not None and not own.keys):
        return []
    try:
        start = read_head(path, HEAD_BYTES)
    except LeftoffError:
        return []
    own = own or session_head(path, start, format)
    if not own.keys:
        return []
    seen = {os.path.realpath(path)}
    found: list[str] = []
    shared = set(own.keys)
    pattern = _RECORD_ID if _RECORD_ID.search(start) else _OTHER_ID
    ids = set(pattern.findall(start))
    wanted = {own.forked_from} - {""}
    named = [place for ident in wanted for place in _by_id(path, ident)]
    places = deque([*named, *_neighbours(path)])
    while places and len(found) < MAX_FORERUNNERS:
        place = places.popleft()
        start = _start_if_related(place, pattern, ids, wanted)
        if not start or os.path.realpath(place) in seen:
            continue
        seen.add(os.path.realpath(place))
        head = session_head(place, start, format)
        goes_on = head.forked_from == own.id and own.id
        if head.id != own.id and not goes_on and shared & set(head.keys):
            found.append(place)
            shared |= set(head.keys)
            if head.forked_from and head.forked_from not in wanted:
                wanted.add(head.forked_from)
                places.extendleft(_by_id(path, head.forked_from))
    return found


def _start_if_related(
    place: str, pattern: Pattern[bytes], ids: set[bytes], wanted: set[str]
) -> bytes:
    """The first bytes of a file that begins with one of these ids, or names one of these
    sessions; of others b"". Most share nothing, and are not looked into further."""
    try:
        start = read_head(place, _GLANCE)
        found = pattern.findall(start)
        settled = len(start) < _GLANCE or len(found) >= _FIRST
        if settled and not wanted and ids.isdisjoint(found):
            return b""
        start = read_head(place, HEAD_BYTES)
    except LeftoffError:
        return b""
    named = not ids.isdisjoint(pattern.findall(start))
    return start if named or any(ident.encode() in start for ident in wanted) else b""


def line_of_work(
    path: str, read: Callable[[str], Pass], format: str | None = None
) -> tuple[list[str], list[str]]:
    """The forerunners of a recording that end before it does, oldest first, and those with the
    same beginning that went on later.

    Args:
        read: reads a recording; raises `LeftoffError` if it cannot.
        format: of all of them; detected if None."""
    reading = read(path)
    candidates = forerunners(path, head_of(reading), format)
    if not candidates:
        return [], []
    own = _main_thread(reading)
    if own.header.parent_id:
        return [], []  # a subagent's session, which its parent only began
    parts = [own]
    before: list[str] = []
    later: list[str] = []
    for place in candidates:
        try:
            part = _main_thread(read(place))
        except LeftoffError:
            continue
        if not any(related(part, other) for other in parts) or _repeated(part, own):
            continue
        if (part.header.ended, len(part.thread)) >= (own.header.ended, len(own.thread)):
            later.append(place)
            continue
        parts.append(part)
        before.insert(0, place)
    return before, later


def _main_thread(reading: Pass) -> SessionState:
    return reading.sessions[choose(reading.sessions, None, reading.where)][""]


def _repeated(part: SessionState, own: SessionState) -> bool:
    """Whether a fork repeats its origin's records without their ids, as Codex does: then it
    holds the history itself, and put together each record would count twice."""
    if set(part.thread.keys) & set(own.thread.keys) - {0}:
        return False
    firsts = [next(iter(state.evidence.of(Asked)), None) for state in (part, own)]
    return None not in firsts and len({asked.text for asked in firsts if asked}) == 1


def _neighbours(path: str) -> Iterator[str]:
    """The files beside a recording with its ending, those changed at about the same time
    first."""
    place = Path(path)
    packed = place.suffix in {".gz", ".zst"}
    ending = "".join(place.suffixes[-2:]) if packed else place.suffix
    try:
        own = place.stat().st_mtime_ns
        with os.scandir(place.parent) as entries:
            beside = [
                (abs(own - entry.stat().st_mtime_ns), entry.path)
                for entry in entries
                if entry.name.endswith(ending) and entry.name != place.name and entry.is_file()
            ]
    except OSError:
        return
    for _, found in sorted(beside)[:MAX_NEIGHBOURS]:
        yield found


def _by_id(path: str, ident: str) -> Iterable[str]:
    """Where the recorder would have put the session of that id: another folder of a project
    beside this one, or the folder of the day that a UUID of version 7 tells."""
    if not re.fullmatch(r"[\w.-]{8,80}", ident):
        return []
    folder = Path(path).absolute().parent
    folders = [folder]
    try:
        moment = datetime.fromtimestamp(int(ident.replace("-", "")[:12], 16) / 1000, UTC)
        days = [moment + timedelta(days=n) for n in (0, -1, 1)]  # folders have local dates
    except (ValueError, OverflowError, OSError):
        days = []
    if re.fullmatch(r"\d{4}", folder.parent.parent.name):
        folders += [folder.parents[2] / f"{day:%Y/%m/%d}" for day in days]
    found: list[str] = []
    for one in folders:
        try:
            with os.scandir(one) as entries:
                found += [e.path for e in entries if ident in e.name and e.is_file()]
        except OSError:
            continue
    if not found and folder.parent.name == "projects":
        with os.scandir(folder.parent) as projects:
            places = [Path(p.path, f"{ident}{Path(path).suffix}") for p in projects]
        found = [str(place) for place in places if place.is_file()]
    return found
