"""VS Code Copilot Chat exports, one JSON document each: docs/formats/copilot_chat.md.

Each request holds the prompt and the response to it. The calls and their results are in
`result.metadata`, round by round; `response` is what the chat window displayed and is read
where there are no rounds, and for edits without a call."""

from collections.abc import Iterable, Iterator

from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.formats.injected import typed_spans
from leftoff.formats.lenient_json import Fields, code_in, text_of
from leftoff.formats.openai_parts import decode_arguments, reply_parts
from leftoff.formats.reader import Cursor, Format, ItemReader, Sample
from leftoff.formats.vocabulary import EDITS, text_argument

_EXIT_CODE = re.compile(r"exited with code:? (-?\d{1,9})")
# What stands in a result when the person refused the call.
_DENIED = ("The user chose to skip", "The user cancelled", "User cancelled", "Canceled")


class CopilotChatReader(ItemReader):
    lists = ("requests",)

    session: str = ""

    def head(self, document: Fields) -> Iterable[rec.Record]:
        self.session, title = document.text("sessionId"), document.text("customTitle")
        if title or self.session:
            yield rec.SessionFacts(id=self.session, title=title)

    def item(self, request: Fields, cursor: Cursor) -> Iterator[rec.Record]:
        if not request.value:
            yield rec.Unknown("request")
            return
        # The rounds are what the model said and read; the window leaves out results.
        metadata = request.at("result.metadata")
        session = metadata.text("sessionId")
        if session and not self.session:
            self.session = session
            yield rec.SessionFacts(id=session)
        # Old versions record only the parts of the prompt.
        text = request.text("message", "message.text") or "".join(
            part.text("text") for part in request.each("message.parts")
        )
        # A button of the chat window fills in the prompt.
        typed = typed_spans(0, text, "answer" if request.get("confirmation") else "prompt")
        key, time = request.text("requestId"), request.time("timestamp")
        yield cursor.message("user", (rec.Text(text),), "", typed, key=key, time=time)
        yield from self._response(request, metadata, cursor)
        if failure := request.text("result.errorDetails.message"):
            model = request.text("modelId")
            yield cursor.message("assistant", (rec.Text(failure),), "meta", model=model)
        if request.get("isCanceled") is True:
            yield cursor.message("user", (), "interruption")
        elif failure:
            yield rec.Turn("failed", failure)

    def _response(
        self, request: Fields, metadata: Fields, cursor: Cursor
    ) -> Iterator[rec.Record]:
        model, displayed = request.text("modelId"), request.each("response")
        results = metadata.at("toolCallResults").value
        # An edit is displayed as well as called for; it counts once.
        edited: set[str] = set()
        rounds = [
            (entry.text("id"), parts)
            for entry in metadata.each("toolCallRounds")
            if (parts := self._round_parts(entry, edited))
        ] or [("", parts) for parts in (_displayed_parts(displayed),) if parts]
        for name, parts in rounds:
            self.turns += 1
            name = name or f"r{self.turns}"
            yield cursor.message("assistant", parts, response=name, model=model)
            for part in parts:
                if type(part) is rec.ToolCall and part.id in results:
                    yield cursor.message("tool", (_result(part, Fields(results[part.id])),))
        changed = dict.fromkeys(
            path
            for item in displayed
            if item.get("kind") in ("textEditGroup", "notebookEditGroup")
            and (path := item.text("uri.fsPath", "uri.path"))
            and path not in edited
        )
        if changed:
            yield cursor.changes("", ((path, "modified", "") for path in changed))

    def _round_parts(self, entry: Fields, edited: set[str]) -> tuple[rec.Part, ...]:
        """Reasoning, text and calls of one round; adds the paths that the calls edit to
        `edited`."""
        thought, words = entry.get("thinking.text"), entry.text("response")
        if isinstance(thought, list):
            thought = "\n\n".join(t for t in thought if isinstance(t, str))
        parts = [*reply_parts(text_of(thought), words if words.strip() else "")]
        for call in entry.each("toolCalls"):
            given = decode_arguments(call.get("arguments"))
            parsed = self.call(call.text("id"), call.text("name"), given)
            if parsed.kind in EDITS:
                edited.add(text_argument(parsed, "path"))
            parts.append(parsed)
        return tuple(parts)


def _displayed_parts(response: list[Fields]) -> tuple[rec.Part, ...]:
    parts: list[rec.Part] = []
    text = ""
    for item in response:
        kind = item.get("kind")
        named = "value" if "value" in item.value else "content"
        value = item.text(named, f"{named}.value")
        if kind is None or kind == "markdownContent":
            text += value
        elif kind == "inlineReference":
            places = ("uri.fsPath", "uri.path", "fsPath", "path")
            text += item.text("name", *(f"inlineReference.{place}" for place in places))
        elif kind == "thinking" and value:
            parts.append(rec.Reasoning(value))
    if text.strip():
        parts.append(rec.Text(text))
    return tuple(parts)


def _result(call: rec.ToolCall, given: Fields) -> rec.ToolResult:
    text = "\n".join(_result_texts(given))
    # No status is recorded; a command whose exit code is not in its output may have failed.
    code = code_in(_EXIT_CODE, text[-400:]) if call.kind == "shell" else None
    status = "unknown" if call.kind == "shell" else "ok"
    if code is not None:
        status = "error" if code else "ok"
    elif text.startswith(_DENIED):
        status = "denied"
    elif text.lstrip().startswith("ERROR"):
        status = "error"
    return rec.ToolResult(call.id, text, status, code)


def _result_texts(result: Fields) -> Iterator[str]:
    """The texts of a result: strings, or the joined leaves of a prompt tree.

    A leaf without `lineBreakBefore` continues the line of the leaf before it."""
    for item in result.each("content"):
        if isinstance(value := item.get("value"), str):
            yield value
        elif isinstance(value, dict):
            pieces: list[str] = []
            _collect(item.at("value.node"), pieces, 0)
            yield "".join(pieces)


def _collect(node: Fields, pieces: list[str], depth: int) -> None:
    if isinstance(text := node.get("text"), str):
        breaks = node.get("lineBreakBefore") is True and pieces
        if breaks and not pieces[-1].endswith("\n"):
            pieces.append("\n")
        pieces.append(text)
    for child in node.each("children") if depth < 200 else ():
        _collect(child, pieces, depth + 1)


def _detect(sample: Sample) -> bool:
    if "requests" not in sample.keys or not isinstance(sample.document["requests"], list):
        return False
    return "responderUsername" in sample.keys or any(
        "requestId" in r and "message" in r for r in sample.listed("requests")[:3]
    )


FORMAT = Format("copilot_chat", "document", CopilotChatReader, _detect)
