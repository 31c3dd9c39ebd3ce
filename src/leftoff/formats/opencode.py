"""opencode exports, `opencode export`: docs/formats/opencode.md.

One JSON document of `info` and `messages`; `Message.item` counts `messages`. A call and its
result are one part there and two parts of one message here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec import Struct, field

from leftoff import model as rec
from leftoff.codec import LineDecoder
from leftoff.formats.injected import typed_spans
from leftoff.formats.lenient_json import (
    count_of,
    dict_of,
    dicts_of,
    fields_of,
    known_id,
    text_of,
    time_of_ms,
    value_of,
)
from leftoff.formats.reader import Cursor, Format, Sample
from leftoff.formats.vocabulary import tool_call


class Metadata(Struct, gc=False):
    exit: object = None
    sessionId: object = None
    files: object = None
    interrupted: object = None


class State(Struct, gc=False):
    status: object = None
    input: object = None
    output: object = None
    error: object = None
    metadata: Metadata | None = None


class Piece(Struct, gc=False):
    """One entry of `parts`."""

    type: object = None
    text: object = None
    synthetic: object = None
    ignored: object = None
    callID: object = None
    tool: object = None
    state: State | None = None
    files: object = None
    prompt: object = None
    mime: object = None
    auto: object = None


class Diff(Struct, gc=False):
    file: object = None
    status: object = None


class Summary(Struct, gc=False):
    diffs: list[Diff] | None = None


class Info(Struct, gc=False):
    id: object = None
    role: object = None
    parentID: object = None
    modelID: object = None
    path: object = None
    tokens: object = None
    time: object = None
    summary: Summary | bool | None = None


class Item(Struct, gc=False):
    info: Info | None = None
    parts: list[Piece] | None = None


_ITEM = LineDecoder(Item)
_NO_CONTENT = frozenset({"step-start", "step-finish", "snapshot", "retry", "agent"})
_READ_ONLY = frozenset(
    {"read", "list", "search", "fetch", "poll", "plan", "ask", "think", "skill", "memory"}
)
_STATUS = {"completed": "ok", "error": "error", "running": "running", "pending": "running"}
_ACTION = {"add": "created", "added": "created", "delete": "deleted", "deleted": "deleted"}


class OpencodeReader(Struct):
    """Reads one document."""

    record: ClassVar[Any] = bytes

    child: bool = False
    """Another session started this one, so its prompts were not typed."""
    cwd: str = ""
    made: int = 0
    """Number of ids generated for calls whose own id was redacted."""
    statuses: dict[str, str] = field(default_factory=dict)
    """Status of each file that the current turn changed, from the recorder's summary of the
    turn."""

    def read(self, data: bytes, cursor: Cursor) -> Iterable[rec.Record]:
        fields = fields_of(data)
        info = dict_of(value_of(fields.get("info")))
        self.child = bool(text_of(info.get("parentID")))
        self.cwd = text_of(info.get("directory"))
        yield rec.SessionFacts(
            id=text_of(info.get("id")),
            cwd=self.cwd,
            agent_version=text_of(info.get("version")),
            title=text_of(info.get("title")),
            parent_id=known_id(info.get("parentID")),
            started=time_of_ms(dict_of(info.get("time")).get("created")),
        )
        for item in cursor.each(fields.get("messages"), _ITEM):
            item_info = item.info if item else None
            if item_info is None or item_info.role not in ("user", "assistant"):
                role = text_of(item_info.role) if item_info else "no info"
                yield rec.Unknown(f"message/{role}")
                continue
            yield from self._item(item_info, (item and item.parts) or [], cursor)

    def _item(self, info: Info, pieces: list[Piece], cursor: Cursor) -> Iterable[rec.Record]:
        parts: list[rec.Part] = []
        typed: tuple[rec.Typed, ...] = ()
        changes: list[rec.Changes] = []
        person = info.role == "user" and not self.child
        if info.role == "user":
            self._load_file_statuses(info.summary)
        origin = "injected" if info.role == "user" else "agent"
        for piece in pieces:
            kind = text_of(piece.type)
            if kind == "text":
                text = text_of(piece.text)
                if person and not piece.synthetic and not piece.ignored:
                    typed += typed_spans(len(parts), text)
                parts.append(rec.Text(text))
            elif kind == "reasoning":
                if text_of(piece.text):
                    parts.append(rec.Reasoning(text_of(piece.text)))
            elif kind == "tool":
                parts += self._tool(piece, changes, cursor)
            elif kind == "subtask":
                parts.append(rec.Text(text_of(piece.prompt)))
            elif kind == "file":
                parts.append(rec.Media(text_of(piece.mime)))
            elif kind == "patch":
                kinds = {p.kind for p in parts if type(p) is rec.ToolCall}
                if not kinds or kinds - _READ_ONLY:
                    changes += self._patch(piece.files, changes, cursor)
            elif kind == "compaction":
                origin = "compaction"
                yield cursor.compaction("auto" if piece.auto is True else "manual")
            elif kind not in _NO_CONTENT:
                yield rec.Unknown(f"part/{kind}")
        if typed:
            origin = "prompt"
        elif info.role == "assistant" and info.summary is True:
            origin = "compaction"  # the model's summary of the conversation so far
        yield cursor.message(
            "user" if info.role == "user" else "assistant",
            tuple(parts),
            origin,
            typed,
            key=known_id(info.id),
            parent=known_id(info.parentID),
            response=known_id(info.id) or None,
            time=time_of_ms(dict_of(info.time).get("created")),
            model=text_of(info.modelID),
            cwd=text_of(dict_of(info.path).get("cwd")) or self.cwd,
            usage=_usage(info.tokens),
        )
        yield from changes

    def _tool(
        self, piece: Piece, changes: list[rec.Changes], cursor: Cursor
    ) -> Iterable[rec.Part]:
        state = piece.state or State()
        facts = state.metadata or Metadata()
        name = text_of(piece.tool)
        call = known_id(piece.callID)
        if not call:
            self.made += 1
            call = f"call-{self.made}"
        yield tool_call(call, name, state.input)
        status = _STATUS.get(text_of(state.status), "unknown")
        text = text_of(state.output) or text_of(state.error)
        code = facts.exit if isinstance(facts.exit, int) and facts.exit is not True else None
        if status == "running" and not text:
            return
        if status == "error":
            if text.startswith("Tool execution aborted") or facts.interrupted is True:
                status = "interrupted"
            elif "rejected permission" in text[:200] or "rule which prevents" in text[:200]:
                status = "denied"
        elif code and status == "ok":
            late = "exceeding timeout" in text[-400:] or "exceeded timeout" in text[-400:]
            status = "timeout" if late else "error"
        child = known_id(facts.sessionId)
        yield rec.ToolResult(call, text, status, code, {"agent": child} if child else None)
        files: list[tuple[str, str, str]] = []
        for file in dicts_of(facts.files):
            path, target = text_of(file.get("filePath")), text_of(file.get("movePath"))
            action = _ACTION.get(text_of(file.get("type")), "modified")
            if path:
                files.append((target, action, path) if target else (path, action, ""))
        if files:
            changes.append(cursor.changes(call, files, succeeded=status == "ok"))

    def _load_file_statuses(self, summary: Summary | bool | None) -> None:
        self.statuses = {}
        if isinstance(summary, Summary):
            for diff in summary.diffs or ():
                if text_of(diff.file):
                    self.statuses[text_of(diff.file)] = text_of(diff.status)

    def _patch(
        self, files: Any, known: list[rec.Changes], cursor: Cursor
    ) -> Iterable[rec.Changes]:
        """Changes to the files of a step that none of its calls reports. Not for a step that
        only reads: another process changed its files."""
        accounted = {path for c in known for path, _, _ in c.files}
        found: list[tuple[str, str, str]] = []
        for path in files if isinstance(files, list) else ():
            if not text_of(path) or path in accounted:
                continue
            relative = path.removeprefix(self.cwd).lstrip("/")
            status = self.statuses.get(relative) or self.statuses.get(path) or ""
            found.append((path, _ACTION.get(status, "modified"), ""))
        if found:
            yield cursor.changes("", found)


def _usage(value: object) -> rec.Usage | None:
    """A message's tokens.

    Whether `output` includes `reasoning` differs between versions; the recorded total shows it.
    """
    if not isinstance(value, dict):
        return None
    cache = dict_of(value.get("cache"))
    counted, output = count_of(value.get("input")), count_of(value.get("output"))
    read, write = count_of(cache.get("read")), count_of(cache.get("write"))
    reasoning = count_of(value.get("reasoning"))
    total = count_of(value.get("total"))
    if reasoning and (
        output < reasoning or total == counted + output + reasoning + read + write
    ):
        output += reasoning
    return rec.Usage(counted, output, read, write, reasoning)


def _detect(sample: Sample) -> bool:
    if not {"info", "messages"} <= sample.keys:
        return False
    messages = sample.document["messages"]
    if str(dict_of(sample.document["info"]).get("id")).startswith("ses_"):
        return isinstance(messages, list)
    items = dicts_of(messages)[: sample.LINES]
    matches = ["parts" in i and "role" in dict_of(i.get("info")) for i in items]
    return bool(matches) and sum(matches) * 2 > len(matches)


FORMAT = Format("opencode", "document", OpencodeReader, _detect)
