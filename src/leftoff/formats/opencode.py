"""opencode exports, `opencode export`: docs/formats/opencode.md.

One JSON document of `info` and `messages`; `Message.item` counts `messages`. A call and its
result are one part there and two parts of one message here."""

from collections.abc import Iterable

from msgspec import field
from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.formats.injected import typed_spans
from leftoff.formats.lenient_json import Fields, dict_of, text_of, usage_by
from leftoff.formats.reader import Cursor, FileChange, Format, ItemReader, Sample, mostly, moved
from leftoff.formats.vocabulary import tool_call

# Parts that frame a step, or repeat facts of the message.
_NO_CONTENT = frozenset({"step-start", "step-finish", "snapshot", "retry", "agent"})
_READ_ONLY = frozenset(
    {"read", "list", "search", "fetch", "poll", "plan", "ask", "think", "skill", "memory"}
)
_STATUS = {"completed": "ok", "error": "error", "running": "running", "pending": "running"}
# Reasons for the end of a response, as `Message.stop`.
_STOPS = {"stop": "end", "tool-calls": "more"}
_ACTION = {"add": "created", "added": "created", "delete": "deleted", "deleted": "deleted"}


# What the client adds to the output of a command that it stopped.
_LATE = re.compile(r"exceed(?:ing|ed) timeout \d")
_FOLDER = re.compile(r"<path>[^\n]*</path>\n<type>directory</type>\n")


class OpencodeReader(ItemReader):
    child: bool = False  # another session started this one, so its prompts were not typed
    statuses: dict[str, str] = field(default_factory=dict)
    """Status of each file that the current turn changed, from the recorder's summary of the
    turn."""
    shared: bool = False  # other programs change files of the folder, too

    def head(self, document: Fields) -> Iterable[rec.Record]:
        info = document.at("info")
        self.child = bool(info.text("parentID"))
        self.cwd = info.text("directory")
        yield rec.SessionFacts(
            id=info.text("id"),
            cwd=self.cwd,
            agent_version=info.text("version"),
            title=info.text("title"),
            parent_id=info.identity("parentID"),
            started=info.time("time.created"),
        )

    def item(self, item: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        info = item.at("info")
        if info.get("role") not in ("user", "assistant"):
            yield rec.Unknown(f"message/{info.text('role') if info.value else 'no info'}")
            return
        parts: list[rec.Part] = []
        typed: tuple[rec.Typed, ...] = ()
        changes: list[rec.Changes] = []
        by_user = info.get("role") == "user"
        if by_user:
            self.statuses = {
                d.text("file"): d.text("status")
                for d in info.at("summary").each("diffs")
                if d.text("file")
            }
        origin = "injected" if by_user else "agent"
        for piece in item.each("parts"):
            kind = piece.text("type")
            text = piece.text("text")
            if kind == "text":
                recorded = piece.get("synthetic") or piece.get("ignored")
                if by_user and not self.child and not recorded:
                    typed += typed_spans(len(parts), text)
                parts.append(rec.Text(text))
            elif kind == "reasoning":
                parts += [rec.Reasoning(text)] if text else []
            elif kind == "tool":
                parts += self._tool(piece, changes, cursor)
            # A subagent is asked in the client's words, so nothing of it was typed.
            elif kind == "subtask":
                parts.append(rec.Text(piece.text("prompt")))
            elif kind == "file":
                parts.append(rec.Media(piece.text("mime")))
            elif kind == "patch":
                # The recorder lists what changed in the folder during the step, by any program:
                # by others, where the step changes nothing.
                kinds = {p.kind for p in parts if type(p) is rec.ToolCall}
                listed = self._patch(piece.get("files"), changes, cursor)
                self.shared |= bool(listed) and kinds <= _READ_ONLY
                changes += [] if self.shared else listed
            elif kind == "compaction":
                origin = "compaction"
                yield cursor.compaction("auto" if piece.get("auto") is True else "manual")
            elif kind not in _NO_CONTENT:
                yield rec.Unknown(f"part/{kind}")
        if typed:
            origin = "prompt"
        elif not by_user and info.get("summary") is True:
            origin = "compaction"  # the model's summary of the conversation so far
        yield cursor.message(
            "user" if by_user else "assistant",
            tuple(parts),
            origin,
            typed,
            key=info.identity("id"),
            parent=info.identity("parentID"),
            response=info.identity("id") or None,
            time=info.time("time.completed", "time.created"),
            model=info.text("modelID"),
            cwd=info.text("path.cwd") or self.cwd,
            usage=_usage(info.at("tokens")),
            stop=_STOPS.get(info.text("finish"), ""),
        )
        yield from changes
        if error := info.text("error.name"):
            state = "interrupted" if error == "MessageAbortedError" else "failed"
            yield rec.Turn(state, info.text("error.data.message") or error)

    def _tool(
        self, piece: Fields, changes: list[rec.Changes], cursor: Cursor
    ) -> Iterable[rec.Part]:
        state, facts = piece.at("state"), piece.at("state.metadata")
        call = piece.identity("callID") or self.call_id()
        status = _STATUS.get(state.text("status"), "unknown")
        text = state.text("output", "error")
        made = tool_call(call, piece.text("tool"), state.get("input"))
        # Its `read` lists folders, too.
        folder = made.kind == "read" and _FOLDER.match(text)
        yield replace(made, kind="list") if folder else made
        code = facts.number("exit")
        if status == "running" and not text:
            return
        if status == "error":
            status = failure(text, interrupted=facts.get("interrupted") is True)
        # A command that failed or took too long is "completed", too.
        elif status == "ok" and code != 0 and _LATE.search(text[-400:]):
            status = "timeout"
        elif status == "ok" and code:
            status = "error"
        child = facts.identity("sessionId")
        yield rec.ToolResult(call, text, status, code, {"agent": child} if child else None)
        files = [
            moved(path, file.text("movePath"), _ACTION.get(file.text("type"), "modified"))
            for file in facts.each("files")
            if (path := file.text("filePath"))
        ]
        counts = [
            (file.text("filePath"), file.count("additions"), file.count("deletions"))
            for file in facts.each("files")
            if file.count("additions", "deletions")
        ]
        if files:
            succeeded = status == "ok"
            changes.append(cursor.changes(call, files, succeeded=succeeded, counts=counts))

    def _patch(
        self, files: object, known: list[rec.Changes], cursor: Cursor
    ) -> list[rec.Changes]:
        """Changes to the files of a step that none of its calls reports."""
        accounted = {path for c in known for path, _, _ in c.files}
        found: list[FileChange] = []
        for path in map(text_of, files if isinstance(files, list) else ()):
            if path and path not in accounted:
                relative = path.removeprefix(self.cwd).lstrip("/")
                status = self.statuses.get(relative) or self.statuses.get(path) or ""
                found.append((path, _ACTION.get(status, "modified"), ""))
        return [cursor.changes("", found)] if found else []


def failure(text: str, *, interrupted: bool = False) -> str:
    """The status of a call that ended with an error, by the client's words."""
    if interrupted or text.startswith("Tool execution aborted"):
        return "interrupted"
    denied = "rejected permission" in text[:200] or "rule which prevents" in text[:200]
    return "denied" if denied else "error"


def _usage(tokens: Fields) -> rec.Usage | None:
    """A message's tokens.

    Whether `output` includes `reasoning` differs between versions; the recorded total shows it.
    """
    found = usage_by(tokens.value, "input output cache.read cache.write reasoning")
    if found is None or not tokens.value:
        return None
    apart = tokens.count("total") == found.total + found.reasoning
    if found.reasoning and (found.output < found.reasoning or apart):
        return replace(found, output=found.output + found.reasoning)
    return found


def _detect(sample: Sample) -> bool:
    match sample.document:
        case {"info": {"id": str(name)}, "messages": list()} if name.startswith("ses_"):
            return True
    return "info" in sample.keys and mostly(
        lambda item: "parts" in item and "role" in dict_of(item.get("info")),
        sample.listed("messages"),
    )


FORMAT = Format("opencode", "document", OpencodeReader, _detect)
