"""Cline and its forks: `ui_messages.json` and `api_conversation_history.json`.

The first holds what the panel showed, the second what was sent to the model; each is one JSON
list, and a task writes both: docs/formats/cline.md."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain

from msgspec import field

from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.formats.injected import is_continuation, typed_spans
from leftoff.formats.lenient_json import Fields, code_in, count_of
from leftoff.formats.openai_parts import (
    blocks_of,
    content_text,
    decode_arguments,
    part_of,
    trim_span,
)
from leftoff.formats.reader import Builder, Cursor, Format, ItemReader, Sample, holds_results
from leftoff.formats.vocabulary import KINDS, NAMES, kind_of

# Kinds without a message: copies, progress, notices of the panel.
NO_MESSAGE = KINDS["cline_no_message"]

_TYPED_KINDS = {"task": "prompt", "user_feedback": "prompt", "user_feedback_diff": "rejection"}
_RESULT_HEADER = re.compile(r"^\[(\w+)\b[^\n]{0,4000}?\] Result:[ \t]*\n?", re.MULTILINE)
_APPROVAL_SUFFIX = "REQ_APP"
# What the panel, not the agent, writes behind the closing words where files were changed.
_CHANGES_MARK = "HAS_CHANGES"
# Tags around text that the person typed, and the `via` of the span.
_USER_TAGS = dict.fromkeys(("task", "feedback", "user_message"), "prompt") | {
    "answer": "answer"
}
_OPENING_TAG = re.compile(r"<([a-z][a-z_]*)>")
_EXIT_CODE = re.compile(r"exit(?:ed with)? code:? (-?\d{1,9})", re.IGNORECASE)
_FAILED = re.compile(r"Error(?: \w+){0,5}:|The tool execution failed")
# Names of tools on the panel and in the request that brings their results.
_RESULT_NAMES = NAMES["cline_results"]
# Kinds of the panel whose text is the arguments of a call.
_ASKING = KINDS["cline_asking"]


class ClineReader(ItemReader):
    lists = ()

    usage: rec.Usage | None = None
    output: dict[str, str] = field(default_factory=dict)
    """What a command has printed so far, by the id of its call."""
    removed: int = 0
    shown: str = ""  # the agent's last text; some versions show it twice

    def item(self, item: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        self.model = item.text("modelInfo.modelId") or self.model
        if item.get("role") == "assistant":
            self.turns += 1
            self._take_usage(item.at("metrics.tokens"), ("prompt", "completion", "cached"))
        message = partial(
            cursor.message,
            response=f"r{self.turns}",
            time=item.time("ts"),
            model=self.model,
            usage=self.usage,
        )
        if item.get("role") is not None:
            return (self._api_message(item, message),)
        return self._ui_message(item, message, cursor)

    def end(self, document: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        """Results of commands that printed output, but whose result was never sent."""
        results = tuple(
            rec.ToolResult(call, self.output[call].rstrip("\n"), "unknown")
            for call, _ in self.waiting
            if call in self.output
        )
        return (cursor.message("tool", results),) if results else ()

    def _take_usage(self, tokens: Fields, names: tuple[str, ...]) -> None:
        usage = rec.Usage(*map(tokens.count, names))
        self.usage = usage if usage.total else None

    # -- the panel -------------------------------------------------------------------------

    def _ui_message(
        self, item: Fields, message: Builder, cursor: Cursor
    ) -> Iterator[rec.Record]:
        removed = item.get("conversationHistoryDeletedRange")
        last = count_of(removed[1]) if isinstance(removed, list) and len(removed) == 2 else 0
        if last and last != self.removed:
            self.removed = last
            yield cursor.compaction("auto")
        side, text = item.text("type"), item.text("text")
        kind = item.text(side) if side in {"say", "ask"} else ""
        given = Fields(decode_arguments(text))
        if not kind:
            yield rec.Unknown("item")
        elif kind in _TYPED_KINDS or kind == "text" and cursor.item == 0:
            # Earlier Cline and Roo Code show the task as a text, before the first request.
            typed = typed_spans(0, text, _TYPED_KINDS.get(kind, "prompt"))
            yield message("user", (rec.Text(text),), "", typed)
        elif kind == "api_req_started":
            yield from self._api_request(given, message)
        elif kind == "text" or kind == "completion_result" and side == "say":
            text = text.removesuffix(_CHANGES_MARK)
            if text and text != self.shown:
                self.shown = text
                parts: list[rec.Part] = [rec.Text(text)]
                if kind == "completion_result":
                    parts.append(self.call("", "attempt_completion", {}))
                yield message("assistant", tuple(parts))
        elif kind == "reasoning":
            if text:
                yield message("assistant", (rec.Reasoning(text),))
        elif kind in {"condense", "condense_context", "summarize_task"}:
            summary = item.text("contextCondense.summary") or given.text("context")
            yield from cursor.compacted(summary, "auto", message=message)
        elif kind == "api_req_failed":
            yield rec.Turn("failed", text)
        elif kind == "command_output":
            running = [call for call, name in self.waiting if name == "command"][-1:]
            for run in running if text else ():
                self.output[run] = (self.output.get(run, "") + text + "\n")[-100_000:]
        elif call := self._panel_call(kind, text, given):
            yield message("assistant", (call,))
        elif kind not in NO_MESSAGE:
            yield rec.Unknown(f"{side} {kind}")

    def _panel_call(self, kind: str, text: str, given: Fields) -> rec.ToolCall | None:
        """The call that an item of the panel shows; None for one that shows none."""
        if kind == "tool":
            name = given.text("tool") or "tool"
            known = _tool_arguments(name, given.value)
            return self.call("", name, known if given.value else decode_arguments(text))
        if kind == "command":
            return self.call("", kind, {"command": text.removesuffix(_APPROVAL_SUFFIX)})
        if kind in {"use_mcp_server", "use_mcp_tool"}:
            name = given.text("toolName") or "use_mcp_tool"
            call = self.call("", name, decode_arguments(given.get("arguments")))
            # Its result names no tool of the server.
            self.waiting[-1] = call.id, given.text("type") or "use_mcp_tool"
            return call
        if kind in _ASKING:
            name = "ask_followup_question" if kind == "followup" else kind
            return self.call("", name, given.value or {"text": text})
        return None

    def _api_request(self, facts: Fields, message: Builder) -> Iterator[rec.Record]:
        """A request to the model: it holds the results of the calls before it and the token
        usage of the reply after it."""
        self.turns += 1
        self.shown = ""
        self._take_usage(facts, ("tokensIn", "tokensOut", "cacheReads", "cacheWrites"))
        request = facts.text("request")
        details = request.rfind("<environment_details>")  # earlier ones stand in results
        results = self._request_results(request if details < 0 else request[:details])
        if results:
            yield message("tool", tuple(results))

    def _request_results(self, request: str) -> list[rec.ToolResult]:
        """The results in a request, in the order of their calls.

        A result may quote other results, so a heading counts only if it names the tool of the
        call that is next."""
        heads: list[tuple[re.Match[str], str]] = []
        waiting = list(self.waiting)
        for head in _RESULT_HEADER.finditer(request):
            same = (n for n, (_, name) in enumerate(waiting) if _same_tool(name, head[1]))
            if (place := next(same, None)) is not None:
                heads.append((head, waiting[place][0]))
                del waiting[: place + 1]
        results: list[rec.ToolResult] = []
        ends = [*(head.start() for head, _ in heads[1:]), len(request)]
        for (head, call), end in zip(heads, ends, strict=False):
            results.append(_result(call, request[head.end() : end].rstrip("\n")))
            self.output.pop(call, None)
        if heads:  # results that this request lacks are not in a later one either
            self.waiting = []
        return results

    # -- the API history -----------------------------------------------------------------------

    def _api_message(self, item: Fields, message: Builder) -> rec.Record:
        role, blocks = item.text("role"), blocks_of(item.get("content"))
        if role == "user":
            return self._api_input(blocks, message)
        if role != "assistant":
            return rec.Unknown(f"role {role}")
        self.waiting = []
        return message("assistant", tuple(chain(*map(self._assistant_parts, blocks))))

    def _assistant_parts(self, block: Fields) -> Iterator[rec.Part]:
        kind, text = block.text("type"), block.text("text")
        if kind == "text":
            yield rec.Text(text)
            # Older versions ask for tools in XML inside the text.
            for name, start, end in _elements(text, lambda name: kind_of(name) != "other"):
                inner = text[start:end]
                spans = _elements(inner, bool)
                if given := {n: inner[a:b].strip("\n") for n, a, b in spans}:
                    yield self.call("", name, given)
        elif kind == "tool_use":
            yield self.call(block.text("id"), block.text("name"), block.get("input"))
        else:
            yield part_of(block)

    def _api_input(self, blocks: list[Fields], message: Builder) -> rec.Message:
        parts: list[rec.Part] = []
        typed: tuple[rec.Typed, ...] = ()
        answers = ""
        for block in blocks:
            kind, text = block.text("type"), content_text(block.get("text"))
            head = _RESULT_HEADER.match(text)
            if kind == "tool_result":
                call, shown = block.text("tool_use_id"), content_text(block.get("content"))
                self.waiting = [w for w in self.waiting if w[0] != call]
                typed += _tagged_spans(len(parts), shown)
                parts.append(_result(call, shown, failed=bool(block.get("is_error"))))
            elif kind != "text":
                parts.append(rec.Media(kind))
            elif head is not None and (known := self._match_call(head[1])):
                answers, rest = known, text[head.end() :]
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
        if holds_results(parts):
            return message("tool", tuple(parts), "", typed)
        if any(type(part) is rec.Text and is_continuation(part.text) for part in parts):
            return message("user", tuple(parts), "compaction")
        return message("user", tuple(parts), "", typed)

    def _match_call(self, name: str) -> str:
        known = next((call for call, shown in self.waiting if _same_tool(shown, name)), "")
        return known and self.answered(known)


def _same_tool(shown: str, named: str) -> bool:
    if shown == "command":
        return named == "execute_command"
    known = _RESULT_NAMES.get(shown)
    if shown in {"editedExistingFile", "newFileCreated"}:
        return named in KINDS["cline_edits"]
    return (
        named in {shown, known}
        or known is None
        and shown != "attempt_completion"
        and (kind_of(shown) == kind_of(named) != "other")
    )


def _tool_arguments(name: str, given: dict[str, object]) -> dict[str, object]:
    """A tool's arguments on the panel; the `content` of an edit is its diff."""
    arguments = {
        k: v for k, v in given.items() if k not in {"tool", "operationIsLocatedInWorkspace"}
    }
    if name == "editedExistingFile" and "content" in arguments and "diff" not in arguments:
        arguments["diff"] = arguments.pop("content")
    return arguments


def _result(call: str, text: str, *, failed: bool = False) -> rec.ToolResult:
    head = text[:400].lstrip()
    code = code_in(_EXIT_CODE, head)
    status = "ok"
    if head.startswith(("The user denied", "The user rejected")):
        status = "denied"
    elif failed or code or _FAILED.match(head) or "<error>" in head:
        status = "error"
    elif "Command is still running" in head:
        status = "running"
    elif code is None and head.startswith("Command executed."):
        status = "unknown"  # the editor's terminal gave the client no exit code
    return rec.ToolResult(call, text, status, code)


def _elements(text: str, wanted: Callable[[str], object]) -> Iterator[tuple[str, int, int]]:
    """The elements `<name>…</name>` of the wanted names, in order: the name and the span
    between the tags. Linear: a name without a further closing tag is not looked for again."""
    position, unclosed = 0, set[str]()
    while found := _OPENING_TAG.search(text, position):
        name, position = found[1], found.end()
        if name in unclosed or not wanted(name):
            continue
        end = text.find(f"</{name}>", position)
        if end < 0:
            unclosed.add(name)
        else:
            yield name, position, end
            position = end + len(name) + 3


def _tagged_spans(part: int, text: str) -> tuple[rec.Typed, ...]:
    """The spans that the person typed, which are tagged in the API history."""
    spans = [
        rec.Typed(part, *trim_span(text, start, end), _USER_TAGS[name])
        for name, start, end in _elements(text, _USER_TAGS.get)
    ]
    return tuple(span for span in spans if span.end > span.start)


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
