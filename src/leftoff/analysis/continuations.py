"""Joins the recordings of one line of work: resumed, forked and continued sessions.

A resumed or forked session copies the earlier history into a file of its own, under a new
session id; only the ids of the records identify a copy. Each record counts once, where it
appears first."""

from collections.abc import Sequence
from itertools import chain

import msgspec

from leftoff.extraction.evidence import Asked, Evidence
from leftoff.extraction.requests import Requests
from leftoff.extraction.session_state import Header, SessionState
from leftoff.formats.thread import Thread
from leftoff.session_view import SessionView


def related(one: SessionState, other: SessionState) -> bool:
    """Whether two recordings belong to one line of work: one session id, a parent or fork
    link, or records in common."""
    a, b = one.header, other.header
    linked = a.id and a.id in {b.id, b.parent_id, b.forked_from}
    linked = linked or b.id and b.id in {a.parent_id, a.forked_from}
    return bool(linked or {*one.thread.keys} & {*other.thread.keys} - {0})


def groups(recordings: Sequence[SessionState]) -> list[list[int]]:
    """Indices of the recordings that belong together, each group in order of time."""
    found: list[list[int]] = []
    for number, one in enumerate(recordings):
        mine = [group for group in found if any(related(one, recordings[n]) for n in group)]
        found = [group for group in found if group not in mine]
        found.append([number, *chain.from_iterable(mine)])
    for group in found:
        group.sort(key=lambda n: (recordings[n].header.started, n))
    return sorted(found, key=min)


def stitch(parts: Sequence[tuple[SessionState, int]]) -> SessionState:
    """The recordings joined, in the order given; copies of earlier records are left out.

    Args:
        parts: recordings of one line of work, each with its index into `session.sources`."""
    if len(parts) == 1 and parts[0][1] == 0:
        return parts[0][0]
    whole = SessionState(parts[0][0].agent, ())
    whole.header = Header()
    whole.thread = Thread()
    places: dict[int, int] = {}
    linked: set[int] = set()
    queued: dict[str, int] = {}
    for recording, source in parts:
        copies = _queued(recording)
        known = {index: queued[words] for words, index in copies.items() if words in queued}
        moved = _move_thread(recording.thread, whole.thread, places, linked, known)
        for words, index in copies.items():
            queued.setdefault(words, moved[index][0])
        fresh = {old for old, (_, copied) in moved.items() if not copied}
        for item in recording.evidence:
            at = SessionView.message_of(item)
            if at in fresh or at >= len(recording.thread):
                whole.evidence.append(_move(item, moved, source))
        _learn(whole.header, recording.header)
        whole.occupancy = recording.occupancy
        whole.pending = recording.pending
        heard = recording.extractors.get("requests")
        if isinstance(heard, Requests) and heard.said in moved:
            place = moved[heard.said][0]
            whole.extractors["requests"] = msgspec.structs.replace(
                heard,
                said=place,
                since=moved.get(heard.since, (-1,))[0],
                report=(moved.get(heard.report[0], (-1,))[0], heard.report[1]),
                remark=(moved.get(heard.remark[0], (-1,))[0], heard.remark[1]),
                full=(moved.get(heard.full[0], (-1,))[0], heard.full[1]),
                task=(moved.get(heard.task[0], (-1,))[0], *heard.task[1:]),
                links={link: moved[at][0] for link, at in heard.links.items() if at in moved},
                trail=[(moved[at][0], text) for at, text in heard.trail if at in moved],
            )
        if recording.last_at in fresh:
            whole.last_words, whole.last_at = recording.last_words, moved[recording.last_at][0]
    return whole


def _queued(recording: SessionState) -> dict[str, int]:
    """Prompts typed while the agent was busy: they have no id, only their words."""
    found: dict[str, int] = {}
    keys = recording.thread.keys
    for item in recording.evidence.of(Asked):
        if item.via == "queued" and not keys[item.ref.message]:
            found.setdefault(item.text, item.ref.message)
    return found


def _move_thread(
    thread: Thread,
    whole: Thread,
    places: dict[int, int],
    linked: set[int],
    known: dict[int, int],
) -> dict[int, tuple[int, bool]]:
    """Appends what is new; old index to (new index, whether it is a copy)."""
    moved: dict[int, tuple[int, bool]] = {}
    keys, parents, responses = thread.keys, thread.parents, thread.responses
    for index, row in enumerate(thread.rows):
        key = keys[index]
        copied = places.get(key) if key else known.get(index)
        if copied is not None:
            moved[index] = (copied, True)
            continue
        moved[index] = (len(whole), False)
        if key:
            places[key] = len(whole)
        whole.rows.append(row)
        whole.responses.append(responses[index])
        whole.keys.append(key)
        whole.parents.append(parents[index])
    for key, parent in zip(thread.link_keys, thread.link_parents, strict=True):
        if key not in linked:
            linked.add(key)
            whole.link_keys.append(key)
            whole.link_parents.append(parent)
    return moved


def _move(item: Evidence, moved: dict[int, tuple[int, bool]], source: int) -> Evidence:
    """The evidence with the message numbers and source that it has in the joined recording."""

    def place(index: int) -> int:
        return moved[index][0] if index in moved else index

    changes: dict[str, object] = {}
    ref = getattr(item, "ref", None)
    if ref is not None:
        changes["ref"] = msgspec.structs.replace(ref, message=place(ref.message), source=source)
    for name in ("message", "call_message"):
        if hasattr(item, name):
            changes[name] = place(getattr(item, name))
    return msgspec.structs.replace(item, **changes)


def _learn(whole: Header, part: Header) -> None:
    """Merges headers: the first value of each fact, but the last id, title, branch, version,
    window and end."""
    for name in ("cwd", "commit", "parent_id", "forked_from", "started"):
        setattr(whole, name, getattr(whole, name) or getattr(part, name))
    for name in ("id", "branch", "agent_version", "title", "window"):
        setattr(whole, name, getattr(part, name) or getattr(whole, name))
    whole.ended = max(whole.ended, part.ended)
    whole.acted = max(whole.acted, part.acted)
    whole.models += [m for m in part.models if m not in whole.models]
    whole.linked_titles += part.linked_titles
