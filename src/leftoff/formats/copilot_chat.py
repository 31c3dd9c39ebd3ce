"""VS Code Copilot Chat exports, one JSON document each: docs/formats/copilot_chat.md.

Each request holds the prompt and the response to it. The calls and their results are in
`result.metadata`, round by round; `response` is what the chat window displayed and is read
where there are no rounds, and for edits without a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.codec import LineDecoder
from leftoff.formats.injected import typed_spans
from leftoff.formats.lenient_json import (
    dict_of,
    dicts_of,
    fields_of,
    text_of,
    time_of_ms,
    value_of,
)
from leftoff.formats.openai_parts import decode_arguments
from leftoff.formats.reader import Cursor, Format, Sample
from leftoff.formats.vocabulary import EDITS, text_argument, tool_call


class Request(Struct, gc=False):
    requestId: object = None
    message: object = None
    response: object = None
    result: object = None
    timestamp: object = None
    modelId: object = None
    isCanceled: object = None
    confirmation: object = None


_REQUEST = LineDecoder(Request)
_EXIT_CODE = re.compile(r"exited with code:? (-?\d+)")
_DENIED = ("The user chose to skip", "The user cancelled", "User cancelled", "Canceled")


class CopilotChatReader(Struct):
    """Reads one export. Fields are its state."""

    record: ClassVar[Any] = bytes

    session: str = ""
    rounds: int = 0
    calls: int = 0

    def read(self, data: bytes, cursor: Cursor) -> Iterable[rec.Record]:
        document = fields_of(data)
        title = text_of(value_of(document.get("customTitle")))
        identity = text_of(value_of(document.get("sessionId")))
        if title or identity:
            yield rec.SessionFacts(id=identity, title=title)
        self.session = identity
        for request in cursor.each(document.get("requests"), _REQUEST):
            yield from self._request(request, cursor) if request else (rec.Unknown("request"),)

    def _request(self, request: Request, cursor: Cursor) -> Iterator[rec.Record]:
        result = dict_of(request.result)
        metadata = dict_of(result.get("metadata"))
        session = text_of(metadata.get("sessionId"))
        if session and not self.session:
            self.session = session
            yield rec.SessionFacts(id=session)
        text = _prompt_text(request.message)
        # A button of the chat window fills in the prompt.
        via = "answer" if request.confirmation else "prompt"
        typed = typed_spans(0, text, via)
        yield cursor.message(
            "user",
            (rec.Text(text),),
            "",
            typed,
            key=text_of(request.requestId),
            time=time_of_ms(request.timestamp),
        )
        yield from self._response(request, result, metadata, cursor)
        model = text_of(request.modelId)
        failure = text_of(dict_of(result.get("errorDetails")).get("message"))
        if failure:
            yield cursor.message("assistant", (rec.Text(failure),), "meta", model=model)
        if request.isCanceled is True:
            yield cursor.message("user", (), "interruption")

    def _response(
        self, request: Request, result: dict[str, Any], metadata: dict[str, Any], cursor: Cursor
    ) -> Iterator[rec.Record]:
        model = text_of(request.modelId)
        displayed = dicts_of(request.response)
        results = dict_of(metadata.get("toolCallResults"))
        edited: set[str] = set()
        has_rounds = False
        for entry in dicts_of(metadata.get("toolCallRounds")):
            parts = self._round_parts(entry, edited)
            if not parts:
                continue
            has_rounds = True
            self.rounds += 1
            name = text_of(entry.get("id")) or f"r{self.rounds}"
            yield cursor.message("assistant", parts, response=name, model=model)
            for part in parts:
                if type(part) is rec.ToolCall and part.id in results:
                    yield cursor.message("tool", (_result(part, results[part.id]),))
        if not has_rounds:
            parts = _displayed_parts(displayed)
            if parts:
                self.rounds += 1
                yield cursor.message(
                    "assistant", parts, response=f"r{self.rounds}", model=model
                )
        changed = dict.fromkeys(
            path
            for item in displayed
            if item.get("kind") in ("textEditGroup", "notebookEditGroup")
            and (path := _path(item.get("uri")))
            and path not in edited
        )
        if changed:
            yield cursor.changes("", ((path, "modified", "") for path in changed))

    def _round_parts(self, entry: dict[str, Any], edited: set[str]) -> tuple[rec.Part, ...]:
        """Reasoning, text and calls of one round; adds the paths that the calls edit to
        `edited`."""
        parts: list[rec.Part] = []
        thought = dict_of(entry.get("thinking")).get("text")
        if isinstance(thought, list):
            thought = "\n\n".join(t for t in thought if isinstance(t, str))
        if text_of(thought):
            parts.append(rec.Reasoning(text_of(thought)))
        if text_of(entry.get("response")).strip():
            parts.append(rec.Text(text_of(entry.get("response"))))
        for call in dicts_of(entry.get("toolCalls")):
            self.calls += 1
            name = text_of(call.get("name"))
            identity = text_of(call.get("id")) or f"call-{self.calls}"
            parsed = tool_call(identity, name, decode_arguments(call.get("arguments")))
            if parsed.kind in EDITS:
                edited.add(text_argument(parsed, "path"))
            parts.append(parsed)
        return tuple(parts)


def _prompt_text(message: object) -> str:
    """The text of the prompt; old versions record only its parts."""
    if isinstance(message, str):
        return message
    given = dict_of(message)
    return text_of(given.get("text")) or "".join(
        text_of(p.get("text")) for p in dicts_of(given.get("parts"))
    )


def _displayed_parts(response: list[dict[str, Any]]) -> tuple[rec.Part, ...]:
    parts: list[rec.Part] = []
    text = ""
    for item in response:
        kind = item.get("kind")
        value = item.get("value", item.get("content"))
        value = dict_of(value).get("value") if isinstance(value, dict) else value
        if kind is None or kind == "markdownContent":
            text += text_of(value)
        elif kind == "inlineReference":
            reference = dict_of(item.get("inlineReference"))
            text += text_of(item.get("name")) or _path(reference.get("uri") or reference)
        elif kind == "thinking" and text_of(value):
            parts.append(rec.Reasoning(text_of(value)))
    if text.strip():
        parts.append(rec.Text(text))
    return tuple(parts)


def _path(uri: object) -> str:
    given = dict_of(uri)
    return text_of(given.get("fsPath")) or text_of(given.get("path"))


def _result(call: rec.ToolCall, given: object) -> rec.ToolResult:
    text = "\n".join(_result_texts(dict_of(given).get("content")))
    exited = _EXIT_CODE.search(text[-400:]) if call.kind == "shell" else None
    code = int(exited[1][:9]) if exited else None
    status = "unknown" if call.kind == "shell" else "ok"
    if code is not None:
        status = "error" if code else "ok"
    elif text.startswith(_DENIED):
        status = "denied"
    elif text.lstrip().startswith("ERROR"):
        status = "error"
    return rec.ToolResult(call.id, text, status, code)


def _result_texts(content: object) -> Iterator[str]:
    """The texts of a result: strings, or the joined leaves of a prompt tree.

    A leaf without `lineBreakBefore` continues the line of the leaf before it."""
    for item in dicts_of(content):
        value = item.get("value")
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            pieces: list[str] = []
            _collect(value.get("node"), pieces, 0)
            yield "".join(pieces)


def _collect(node: object, pieces: list[str], depth: int) -> None:
    given = dict_of(node)
    text = given.get("text")
    if isinstance(text, str):
        breaks = given.get("lineBreakBefore") is True and pieces
        if breaks and not pieces[-1].endswith("\n"):
            pieces.append("\n")
        pieces.append(text)
    if depth < 200:
        for child in dicts_of(given.get("children")):
            _collect(child, pieces, depth + 1)


def _detect(sample: Sample) -> bool:
    if "requests" not in sample.keys or not isinstance(sample.document["requests"], list):
        return False
    if "responderUsername" in sample.keys:
        return True
    return any(
        "requestId" in r and "message" in r
        for r in sample.document["requests"][:3]
        if isinstance(r, dict)
    )


FORMAT = Format("copilot_chat", "document", CopilotChatReader, _detect)
