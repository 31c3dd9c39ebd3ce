"""What a session leaves to the memory of its project: short entries, each with its place.

Pure: a redacted summary in, entries out. `memory` stores and searches them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from leftoff.analysis.decisions.shown import is_sure
from leftoff.extraction.evidence import Edited, Saw, WroteLines
from leftoff.redaction.redactor import Redactor
from leftoff.session_view import SessionView
from leftoff.text.line_hashes import Replaced
from leftoff.text.truncation import short

# The names that `leftoff search --kind` takes; the index stores them, so none is renamed.
KINDS = (
    "request",
    "constraint",
    "correction",
    "decision",
    "check",
    "git",
    "error",
    "file",
    "finding",
    "open",
    "command",
    "words",
    "seen",
)

# Code points of the text of an entry and of its note. Chosen by hand; not measured.
MAX_TEXT, MAX_NOTE = 1_200, 300

# Reading calls of one session, the last ones. Chosen by hand; not measured.
MAX_SEEN = 300

# Files of one session, those that it changed first. Chosen by hand; not measured.
MAX_FILES = 400


class Entry(Struct, frozen=True):
    """One thing that was said, decided, done or seen in a session.

    Attributes:
        kind: one of `KINDS`.
        speaker: person | agent | tool: whose words `text` is, or who did it.
        note: what became of it: a status, a verdict, what mended it.
        path: the file that it is about, "" for none.
        message: index of its message in the session, -1 where a subagent did it.
        until: of an error that was mended: the message at which the same call was clean, else
            -1."""

    kind: str
    speaker: str
    text: str
    note: str = ""
    path: str = ""
    message: int = -1
    until: int = -1


class FileEdit(Struct, frozen=True):
    """One edit of a file, as `memory` needs it to say who wrote a line.

    Attributes:
        path: absolute where the working directory is known.
        whole: it wrote the whole file.
        replaced: what it replaced, see `text.line_hashes`.
        hunk: the first changed lines, redacted."""

    path: str
    message: int
    whole: bool
    replaced: tuple[Replaced, ...]
    hunk: str = ""


class SessionEntries(Struct, frozen=True):
    """The entries and edits of one session, and its renames, each as the path and the one
    before; `key` as in the tables of a batch."""

    key: str
    entries: tuple[Entry, ...]
    edits: tuple[FileEdit, ...]
    renames: tuple[tuple[str, str], ...] = ()


def session_entries(
    key: str, summary: Mapping[str, Any], view: SessionView, gate: Redactor
) -> SessionEntries:
    """What a session leaves to the memory, given its `ContextSummary` as redacted plain values
    and its view."""
    views = [view, *view.children]
    entries = [*entries_of(summary), *_seen(views)]
    renamed = [(f["path"], f["renamed_from"]) for f in summary["file_modifications"]]
    # A file that the session made itself has no path at its start.
    discarded = summary["working_set"].get("discarded", ())
    renamed += [(f["renamed_to"], f["path"]) for f in discarded]
    renames = tuple(pair for pair in renamed if all(pair))
    return SessionEntries(key, tuple(entries), tuple(_edits(views, gate)), renames)


def entries_of(summary: Mapping[str, Any]) -> list[Entry]:
    """The entries of a session, given its summary as redacted plain values; the agent's words
    only where no other entry holds them."""
    found: dict[tuple[str, str, str], Entry] = {}
    texts: set[str] = set()
    for entry in _entries(summary):
        if entry.text.strip() and not (entry.kind == "words" and entry.text in texts):
            found.setdefault((entry.kind, entry.text, entry.note), entry)
            texts.add(entry.text)
    return list(found.values())


def _entries(s: Mapping[str, Any]) -> Iterator[Entry]:
    for r in s["user_requests"]:
        kind = r["kind"] if r["kind"] in {"constraint", "correction"} else "request"
        note = f"answer to: {r['question']}" if r["question"] else r["status"]
        if kind == "constraint" and note != "withdrawn":
            note = ""  # it holds on, whatever became of the request that it came with
        yield _entry(kind, "person", r["text"], note, r["ref"])
    for d in s["key_decisions"]:
        speaker = "person" if d["owner"] == "user" else "agent"
        reason = d["rationale"] if d["rationale"] not in d["text"] else ""
        note = d["status"] if d["status"] != "made" else reason
        sure = speaker == "agent" or is_sure(d["rule"], d["confidence"])
        yield _entry("decision" if sure else "words", speaker, d["text"], note, d["ref"])
    for c in s["checks"]:
        note = f"{c['verdict']}: {c['line']}" if c["line"] else c["verdict"]
        yield _entry("check", "tool", c["command"], note, c["ref"])
    for g in s["git"]:
        about = " ".join(str(g[k]) for k in ("hash", "branch", "url") if g[k])
        yield _entry(
            "git", "tool", f"{g['kind'].replace('_', ' ')} {g['text']}", about, g["ref"]
        )
    for e in s["errors"]:
        note = f"fixed by {e['fixed_by']}" if e["fixed_by"] else ("fixed" * bool(e["fixed"]))
        entry = _entry("error", "tool", f"{e['tool']}: {e['text']}", note, e["ref"])
        yield replace(entry, until=e["fixed_ref"]["message"]) if e["fixed_ref"] else entry
    for f in s["key_findings"]:
        yield _entry("finding", "agent", f["text"], "", f["ref"])
    asked = {r["ref"]["message"] for r in s["user_requests"]}
    for n in s["next_steps"]:
        speaker = "person" if n["ref"]["message"] in asked else "agent"
        yield _entry("open", speaker, n["text"], n["status"], n["ref"])
    working = s["working_set"]
    for c in working["commands"]:
        note = {True: "passed", False: "failed"}.get(c["passed"], "")
        yield _entry("command", "tool", c["text"], note, c["ref"])
    for words in (working["last_words"], *working["recent"]):
        yield Entry("words", "agent", short(words["text"], MAX_TEXT), "", "", words["message"])
    for child in s["session"]["children"]:
        yield Entry("request", "agent", short(child["request"], MAX_TEXT), "to a subagent")
        yield Entry("words", "agent", short(child["result"], MAX_TEXT), "of a subagent")
    files = sorted(s["file_modifications"], key=lambda f: f["action"] == "read")
    for f in files[:MAX_FILES]:
        yield _file(f)


def _entry(kind: str, speaker: str, text: str, note: str, ref: Mapping[str, Any]) -> Entry:
    return Entry(
        kind, speaker, short(text, MAX_TEXT), short(note, MAX_NOTE), "", ref["message"]
    )


def _file(f: Mapping[str, Any]) -> Entry:
    parts = [f["action"]]
    if f["renamed_from"]:
        parts.append(f"from {f['renamed_from']}")
    if f["added"] is not None:
        parts.append(f"+{f['added']} -{f['removed']}")
    text = "\n".join(filter(None, (f["path"], ", ".join(f["symbols"]), f["hunk"])))
    refs = [r["message"] for r in f["refs"]]
    last = f["last_message"] if f["last_message"] >= 0 else max(refs, default=-1)
    return Entry("file", "agent", short(text, MAX_TEXT), " ".join(parts), f["path"], last)


def _seen(views: Sequence[SessionView]) -> list[Entry]:
    """What reading, searching and running showed; of equal calls the last."""
    found: dict[str, Entry] = {}
    for number, view in enumerate(views):
        for saw in view.each(Saw):
            message = -1 if number else saw.message
            found[saw.words] = Entry(
                "seen", "tool", f"{saw.words}\n{saw.text}", "", "", message
            )
    return list(found.values())[-MAX_SEEN:]


def _edits(views: Sequence[SessionView], gate: Redactor) -> Iterator[FileEdit]:
    """The edits of a session and its subagents that did not fail, in order; those of subagents
    have no message."""
    for number, view in enumerate(views):
        hunks = {(*e.call, e.path): e.hunk for e in view.each(Edited)}
        for wrote in view.each(WroteLines):
            if view.succeeded(wrote.call):
                yield FileEdit(
                    gate.text(wrote.path),
                    -1 if number else wrote.message,
                    wrote.whole,
                    wrote.replaced,
                    hunks.get((*wrote.call, wrote.path), ""),
                )
