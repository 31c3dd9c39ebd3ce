"""Cline and its forks: `ui_messages.json` and `api_conversation_history.json`.

The first holds what the panel showed, the second what was sent to the model; each is one JSON
list, and a task writes both: docs/formats/cline.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.codec import LineDecoder
from leftoff.formats.injected import is_continuation, typed_spans
from leftoff.formats.lenient_json import count_of, dict_of, dicts_of, text_of, time_of_ms
from leftoff.formats.openai_parts import content_text, decode_arguments, tag_spans, trim_span
from leftoff.formats.reader import Cursor, Format, Sample
from leftoff.formats.vocabulary import KINDS, kind_of, tool_call


class Item(Struct, gc=False):
    type: str | None = None
    ts: object = None
    say: object = None
    ask: object = None
    text: object = None
    modelInfo: object = None
    conversationHistoryDeletedRange: object = None
    # fields of the API history, whose messages are Anthropic's
    role: str | None = None
    content: object = None
    metrics: object = None


_ITEM = LineDecoder(Item)
# Kinds without a message: copies, progress, notices of the panel.
NO_MESSAGE = KINDS["cline_no_message"]

_TYPED_KINDS = {"task": "prompt", "user_feedback": "prompt", "user_feedback_diff": "rejection"}
_RESULT_HEADER = re.compile(r"^\[(\w+)\b[^\n]{0,4000}?\] Result:[ \t]*\n?", re.MULTILINE)
_APPROVAL_SUFFIX = "REQ_APP"
# Tags around text that the person typed, and the `via` of the span.
_USER_TAGS = {
    "task": "prompt",
    "feedback": "prompt",
    "user_message": "prompt",
    "answer": "answer",
}
_OPENING_TAG = re.compile(r"<([a-z][a-z_]*)>")
_EXIT_CODE = re.compile(r"exit(?:ed with)? code:? (-?\d{1,9})", re.IGNORECASE)
# Names of tools on the panel and in the request that brings their results.
_RESULT_NAMES = {
    "readFile": "read_file",
    "editedExistingFile": "replace_in_file",
    "newFileCreated": "write_to_file",
    "appliedDiff": "apply_diff",
    "searchFiles": "search_files",
    "listFilesTopLevel": "list_files",
    "listFilesRecursive": "list_files",
    "listCodeDefinitionNames": "list_code_definition_names",
    "fileDeleted": "apply_patch",
    "webFetch": "web_fetch",
    "webSearch": "web_search",
}


class ClineReader(Struct):
    """Reads one list of either kind. Fields are its state."""

    record: ClassVar[Any] = bytes

    model: str = ""
    turns: int = 0
    calls: int = 0
    usage: rec.Usage | None = None
    waiting: list[tuple[str, str]] = []
    """Id and name of the calls that have no result yet, oldest first."""
    output: dict[str, str] = {}
    """What a command has printed so far, by the id of its call."""
    removed: int = 0
    shown: str = ""
    """The agent's last text; some versions show it twice."""

    def read(self, data: bytes, cursor: Cursor) -> Iterable[rec.Record]:
        for item in cursor.each(data, _ITEM):
            if item is None:
                yield rec.Unknown("item")
                continue
            self.model = text_of(dict_of(item.modelInfo).get("modelId")) or self.model
            if item.role is not None:
                yield from self._api_message(item, cursor)
            else:
                yield from self._ui_message(item, cursor)
        yield from self._unfinished_commands(cursor)

    # -- the panel -------------------------------------------------------------------------

    def _ui_message(self, item: Item, cursor: Cursor) -> Iterator[rec.Record]:
        removed = item.conversationHistoryDeletedRange
        if isinstance(removed, list) and len(removed) == 2 and count_of(removed[1]):
            if removed[1] != self.removed:
                self.removed = count_of(removed[1])
                yield cursor.compaction("auto")
        kind = item.say if item.type == "say" else item.ask if item.type == "ask" else None
        text = text_of(item.text)
        if not isinstance(kind, str):
            yield rec.Unknown("item")
        elif kind in _TYPED_KINDS or kind == "text" and cursor.item == 0:
            # Earlier Cline and Roo Code show the task as a text, before the first request.
            yield self._user_message(kind, text, item, cursor)
        elif kind == "api_req_started":
            yield from self._api_request(text, item, cursor)
        elif kind == "text" or kind == "completion_result" and item.type == "say":
            if text and text != self.shown:
                self.shown = text
                part: rec.Part = rec.Text(text)
                parts: tuple[rec.Part, ...] = (part,)
                if kind == "completion_result":
                    parts = (part, self._call("attempt_completion", {}))
                yield self._message("assistant", parts, item, cursor)
        elif kind == "reasoning":
            if text:
                yield self._message("assistant", (rec.Reasoning(text),), item, cursor)
        elif kind == "tool":
            given = decode_arguments(text)
            name = text_of(dict_of(given).get("tool")) or "tool"
            call = self._call(name, _tool_arguments(name, given))
            yield self._message("assistant", (call,), item, cursor)
        elif kind == "command":
            call = self._call("command", {"command": text.removesuffix(_APPROVAL_SUFFIX)})
            yield self._message("assistant", (call,), item, cursor)
        elif kind in {"use_mcp_server", "use_mcp_tool"}:
            given = dict_of(decode_arguments(text))
            name = text_of(given.get("toolName")) or "use_mcp_tool"
            call = self._call(name, decode_arguments(given.get("arguments")))
            yield self._message("assistant", (call,), item, cursor)
        elif kind in {
            "followup",
            "plan_mode_respond",
            "browser_action",
            "browser_action_launch",
        }:
            given = decode_arguments(text)
            name = {"followup": "ask_followup_question"}.get(kind, kind)
            call = self._call(name, given if isinstance(given, dict) else {"text": text})
            yield self._message("assistant", (call,), item, cursor)
        elif kind in {"condense", "condense_context", "summarize_task"}:
            yield cursor.compaction("auto")
        elif kind == "command_output":
            self._store_output(text)
        elif kind not in NO_MESSAGE:
            yield rec.Unknown(f"{item.type} {kind}")

    def _user_message(self, kind: str, text: str, item: Item, cursor: Cursor) -> rec.Message:
        typed = typed_spans(0, text, _TYPED_KINDS.get(kind, "prompt"))
        return self._message("user", (rec.Text(text),), item, cursor, typed)

    def _api_request(self, text: str, item: Item, cursor: Cursor) -> Iterator[rec.Record]:
        """A request to the model: it holds the results of the calls before it and the token
        usage of the reply after it."""
        facts = dict_of(decode_arguments(text))
        self.turns += 1
        self.shown = ""
        usage = rec.Usage(
            count_of(facts.get("tokensIn")),
            count_of(facts.get("tokensOut")),
            count_of(facts.get("cacheReads")),
            count_of(facts.get("cacheWrites")),
        )
        self.usage = usage if usage.total else None
        request = text_of(facts.get("request"))
        details = request.rfind("<environment_details>")  # earlier ones stand in results
        results = self._request_results(request if details < 0 else request[:details])
        if results:
            yield self._message("tool", tuple(results), item, cursor)

    def _request_results(self, request: str) -> list[rec.ToolResult]:
        """The results in a request, in the order of their calls.

        A result may quote other results, so a heading counts only if it names the tool of the
        call that is next."""
        heads: list[tuple[re.Match[str], str]] = []
        waiting = list(self.waiting)
        for head in _RESULT_HEADER.finditer(request):
            place = next(
                (n for n, (_, name) in enumerate(waiting) if _same_tool(name, head[1])), None
            )
            if place is not None:
                heads.append((head, waiting[place][0]))
                del waiting[: place + 1]
        results: list[rec.ToolResult] = []
        for n, (head, call) in enumerate(heads):
            end = heads[n + 1][0].start() if n + 1 < len(heads) else len(request)
            results.append(_result(call, request[head.end() : end].rstrip("\n")))
            self.output.pop(call, None)
        if heads:  # results that this request lacks are not in a later one either
            self.waiting = []
        return results

    def _store_output(self, text: str) -> None:
        running = [call for call, name in self.waiting if name == "command"]
        if running and text:
            call = running[-1]
            self.output[call] = (self.output.get(call, "") + text + "\n")[-100_000:]

    def _unfinished_commands(self, cursor: Cursor) -> Iterator[rec.Record]:
        """Results of commands that printed output, but whose result was never sent."""
        results = [
            rec.ToolResult(call, self.output[call].rstrip("\n"), "unknown")
            for call, _ in self.waiting
            if call in self.output
        ]
        if results:
            yield self._message("tool", tuple(results), Item(), cursor)

    # -- the API history -----------------------------------------------------------------------

    def _api_message(self, item: Item, cursor: Cursor) -> Iterator[rec.Record]:
        blocks = item.content
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        if item.role == "assistant":
            self.turns += 1
            tokens = dict_of(dict_of(item.metrics).get("tokens"))
            counts = (count_of(tokens.get(name)) for name in ("prompt", "completion", "cached"))
            usage = rec.Usage(*counts)
            self.usage = usage if usage.total else None
            self.waiting = []
            parts: list[rec.Part] = []
            for block in dicts_of(blocks):
                parts += self._assistant_parts(block)
            yield self._message("assistant", tuple(parts), item, cursor)
        elif item.role == "user":
            yield from self._api_user_message(dicts_of(blocks), item, cursor)
        else:
            yield rec.Unknown(f"role {item.role}")

    def _assistant_parts(self, block: dict[str, Any]) -> Iterator[rec.Part]:
        kind = block.get("type")
        if kind == "text":
            text = text_of(block.get("text"))
            yield rec.Text(text)
            # Older versions ask for tools in XML inside the text.
            names = dict.fromkeys(_OPENING_TAG.findall(text))
            for name, start, end in tag_spans(
                text, (n for n in names if kind_of(n) != "other")
            ):
                inner = text[start:end]
                spans = tag_spans(inner, dict.fromkeys(_OPENING_TAG.findall(inner)))
                given = {n: inner[a:b].strip("\n") for n, a, b in spans}
                if given:
                    yield self._call(name, given)
        elif kind == "tool_use":
            name = text_of(block.get("name"))
            yield self._call(name, block.get("input"), text_of(block.get("id")))
        elif kind == "thinking":
            yield rec.Reasoning(text_of(block.get("thinking")))
        else:
            yield rec.Media(text_of(kind))

    def _api_user_message(
        self, blocks: list[dict[str, Any]], item: Item, cursor: Cursor
    ) -> Iterator[rec.Record]:
        parts: list[rec.Part] = []
        typed: tuple[rec.Typed, ...] = ()
        answers = ""
        for block in blocks:
            kind = block.get("type")
            text = content_text(block.get("text"))
            if kind == "tool_result":
                call = text_of(block.get("tool_use_id"))
                shown = content_text(block.get("content"))
                self.waiting = [w for w in self.waiting if w[0] != call]
                failed = bool(block.get("is_error"))
                typed += _tagged_spans(len(parts), shown)
                parts.append(_result(call, shown, failed=failed))
            elif kind == "text":
                head = _RESULT_HEADER.match(text)
                known = head is not None and self._match_call(head[1])
                if head is not None and known:
                    answers = known
                    rest = text[head.end() :]
                    if rest.strip():
                        typed += _tagged_spans(len(parts), rest)
                        parts.append(_result(known, rest))
                        answers = ""
                elif answers:  # the block after a heading that stands alone
                    parts.append(_result(answers, text))
                    answers = ""
                else:
                    typed += _tagged_spans(len(parts), text)
                    parts.append(rec.Text(text))
            else:
                parts.append(rec.Media(text_of(kind)))
        if any(type(part) is rec.ToolResult for part in parts):
            yield self._message("tool", tuple(parts), item, cursor, typed)
        elif any(type(part) is rec.Text and is_continuation(part.text) for part in parts):
            yield self._message("user", tuple(parts), item, cursor, origin="compaction")
        else:
            yield self._message("user", tuple(parts), item, cursor, typed)

    def _match_call(self, name: str) -> str:
        for call, waiting in self.waiting:
            if _same_tool(waiting, name):
                self.waiting = [w for w in self.waiting if w[0] != call]
                return call
        return ""

    # -- both ----------------------------------------------------------------------------------

    def _call(self, name: str, given: object, identity: str = "") -> rec.ToolCall:
        self.calls += 1
        identity = identity or f"call-{self.calls}"
        self.waiting = [*self.waiting[-63:], (identity, name)]
        return tool_call(identity, name, given)

    def _message(
        self,
        role: rec.Role,
        parts: tuple[rec.Part, ...],
        item: Item,
        cursor: Cursor,
        typed: tuple[rec.Typed, ...] = (),
        origin: str = "",
    ) -> rec.Message:
        return cursor.message(
            role,
            parts,
            origin,
            typed,
            response=f"r{self.turns}",
            time=time_of_ms(item.ts),
            model=self.model,
            usage=self.usage,
        )


def _same_tool(shown: str, named: str) -> bool:
    if shown == "command":
        return named == "execute_command"
    known = _RESULT_NAMES.get(shown)
    if shown in {"editedExistingFile", "newFileCreated"}:
        return named in {
            "replace_in_file",
            "write_to_file",
            "apply_diff",
            "insert_content",
            "search_and_replace",
            "apply_patch",
            "edit_file",
        }
    return (
        named in {shown, known}
        or known is None
        and shown != "attempt_completion"
        and (kind_of(shown) == kind_of(named) != "other")
    )


def _tool_arguments(name: str, given: object) -> Any:
    """A tool's arguments on the panel; the `content` of an edit is its diff."""
    found = dict_of(given)
    if not found:
        return given
    arguments = {
        k: v for k, v in found.items() if k not in {"tool", "operationIsLocatedInWorkspace"}
    }
    if name == "editedExistingFile" and "content" in arguments and "diff" not in arguments:
        arguments["diff"] = arguments.pop("content")
    return arguments


def _result(call: str, text: str, *, failed: bool = False) -> rec.ToolResult:
    head = text[:400]
    code = _EXIT_CODE.search(head)
    number = int(code[1]) if code is not None else None
    status = "ok"
    if head.startswith(("The user denied", "The user rejected")):
        status = "denied"
    elif failed or number or head.startswith(("Error", "The tool execution failed")):
        status = "error"
    elif "<error>" in head:
        status = "error"
    elif "Command is still running" in head:
        status = "running"
    return rec.ToolResult(call, text, status, number)


def _tagged_spans(part: int, text: str) -> tuple[rec.Typed, ...]:
    """The spans that the person typed, which are tagged in the API history."""
    spans = (
        (name, *trim_span(text, start, end)) for name, start, end in tag_spans(text, _USER_TAGS)
    )
    return tuple(
        rec.Typed(part, start, end, _USER_TAGS[name])
        for name, start, end in spans
        if end > start
    )


def _detect(sample: Sample) -> bool:
    items = sample.items
    if any(
        isinstance(i.get("ts"), int)
        and (i.get("type") == "say" and "say" in i or i.get("type") == "ask" and "ask" in i)
        for i in items[:5]
    ):
        return True
    if not items or not all(i.get("role") in ("user", "assistant") for i in items):
        return False
    first = content_text(items[0].get("content"))
    return "<environment_details>" in first and (
        first.lstrip().startswith(("<task>", "<feedback>", "<user_message>"))
        or any(isinstance(i.get("ts"), int) for i in items)
    )


FORMAT = Format("cline", "document", ClineReader, _detect)
