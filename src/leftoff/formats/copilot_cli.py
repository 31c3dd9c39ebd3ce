"""GitHub Copilot CLI event logs, `events.jsonl`: docs/formats/copilot_cli.md.

Every line is an event of one chain (`parentId`); a few kinds carry the conversation, the rest
are links of the chain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec import Struct, field

from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.formats.injected import typed_spans
from leftoff.formats.lenient_json import (
    count_of,
    dict_of,
    dicts_of,
    known_id,
    text_of,
    usage_by,
)
from leftoff.formats.reader import ChainLine, Cursor, Format, Sample
from leftoff.formats.vocabulary import KINDS, kind_of, tool_call


class Data(Struct, gc=False):
    """The fields of all events that we read."""

    sessionId: object = None
    copilotVersion: object = None
    startTime: object = None
    selectedModel: object = None
    newModel: object = None
    context: object = None
    cwd: object = None
    branch: object = None
    title: object = None
    content: object = None
    source: object = None
    attachments: object = None
    messageId: object = None
    apiCallId: object = None
    model: object = None
    toolRequests: object = None
    reasoningText: object = None
    outputTokens: object = None
    parentToolCallId: object = None
    toolCallId: object = None
    toolName: object = None
    arguments: object = None
    success: object = None
    result: object = None
    error: object = None
    toolTelemetry: object = None
    codeChanges: object = None
    modelMetrics: object = None
    currentTokens: object = None
    tokenLimit: object = None
    trigger: object = None
    preCompactionTokens: object = None
    postCompactionTokens: object = None
    summaryContent: object = None


class Line(ChainLine, gc=False):
    agentId: str | None = None
    data: Data | None = None


NO_MESSAGE = KINDS["copilot_cli_no_message"]
_NO_MESSAGE_PREFIXES = (
    "session.",
    "hook.",
    "permission.",
    "subagent.",
    "user_input.",
    "elicitation.",
    "sampling.",
    "mcp.",
    "external_tool.",
    "command.",
    "commands.",
    "exit_plan_mode.",
    "auto_mode_switch.",
)
_TOKENS = (
    "inputTokens",
    "outputTokens",
    "cacheReadTokens",
    "cacheWriteTokens",
    "reasoningTokens",
)
_EXIT_CODE = re.compile(r"<[^<>\n]{0,80}(?:completed|exited) with exit code (-?\d{1,9})>\s*$")
_RUNNING = re.compile(r"<[^<>\n]{0,80}still running[^<>\n]{0,200}>\s*$")
_ANSWER_PREFIXES = ("User responded: ", "User selected: ")


class CopilotReader(Struct):
    """Reads the lines of one event log. Fields are its state between lines."""

    record: ClassVar[Any] = Line

    cwd: str = ""
    model: str = ""
    calls: dict[str, str] = field(default_factory=dict)
    """Tool names of the calls without a result, by call id."""
    before: rec.Usage = rec.Usage()
    """Tokens that the recorder totalled up at the last shutdown."""
    output: int = 0
    """Output tokens of the messages since then."""

    def read(self, line: Line, cursor: Cursor) -> Iterable[rec.Record]:
        data = line.data or Data()
        kind = line.type
        if kind == "assistant.message":
            return self._assistant_message(line, data, cursor)
        if kind == "user.message":
            return (self._prompt(line, data, cursor),)
        if kind == "tool.execution_start":
            return self._tool_start(line, data, cursor)
        if kind == "tool.execution_complete":
            return (self._result(line, data, cursor),)
        if kind in ("system.message", "system.notification"):
            parts = (rec.Text(text_of(data.content)),)
            return (self._message(line, data, cursor, "system", parts),)
        if kind == "abort":
            return (self._message(line, data, cursor, "system", (), "interruption"),)
        link = line.link()
        if kind.startswith("session."):
            return (*link, *self._session(line, data, cursor))
        if kind in NO_MESSAGE or kind.startswith(_NO_MESSAGE_PREFIXES):
            return link
        return (*link, rec.Unknown(kind))

    # -- the conversation ------------------------------------------------------------------

    def _prompt(self, line: Line, data: Data, cursor: Cursor) -> rec.Message:
        text = text_of(data.content)
        by_person = not data.parentToolCallId and not line.agentId
        if text_of(data.source) not in ("", "user"):
            by_person = False
        typed = typed_spans(0, text) if by_person else ()
        parts: list[rec.Part] = [rec.Text(text)]
        parts += [rec.Media(text_of(a.get("type"))) for a in dicts_of(data.attachments)]
        return self._message(line, data, cursor, "user", tuple(parts), typed=typed)

    def _assistant_message(
        self, line: Line, data: Data, cursor: Cursor
    ) -> Iterable[rec.Record]:
        parts: list[rec.Part] = []
        if text_of(data.reasoningText):
            parts.append(rec.Reasoning(text_of(data.reasoningText)))
        if text_of(data.content):
            parts.append(rec.Text(text_of(data.content)))
        for request in dicts_of(data.toolRequests):
            call, name = known_id(request.get("toolCallId")), text_of(request.get("name"))
            if call:
                self._store_call(call, name)
            parts.append(tool_call(call, name, request.get("arguments")))
        self.output += count_of(data.outputTokens)
        yield self._message(line, data, cursor, "assistant", tuple(parts))
        if count_of(data.outputTokens):
            yield rec.TokenCount(rec.Usage(), self.before + rec.Usage(output=self.output))

    def _tool_start(self, line: Line, data: Data, cursor: Cursor) -> Iterable[rec.Record]:
        call, name = known_id(data.toolCallId), text_of(data.toolName)
        if not call or call in self.calls:
            return line.link()
        # No message requested this call: the person ran it, or the message is lost.
        self._store_call(call, name)
        parts = (tool_call(call, name, data.arguments),)
        return (self._message(line, data, cursor, "assistant", parts),)

    def _store_call(self, call: str, name: str) -> None:
        self.calls[call] = name
        if len(self.calls) > 512:  # an interrupted session leaves calls open
            del self.calls[next(iter(self.calls))]

    def _result(self, line: Line, data: Data, cursor: Cursor) -> rec.Message:
        call = known_id(data.toolCallId)
        name = self.calls.pop(call, "")
        self.model = text_of(data.model) or self.model
        result, error = dict_of(data.result), dict_of(data.error)
        text = text_of(result.get("content")) or text_of(error.get("message"))
        metrics = dict_of(dict_of(data.toolTelemetry).get("metrics"))
        code = metrics.get("exit_code")
        if not isinstance(code, int) or code is True:
            found = _EXIT_CODE.search(text[-200:])
            code = int(found[1]) if found else None
        status = "ok" if data.success is True else "error"
        if text_of(error.get("code")) in ("denied", "rejected"):
            status = "denied"
        elif status == "ok" and code:
            status = "error"
        elif status == "ok" and _RUNNING.search(text[-400:]):
            status = "running"
        typed: tuple[rec.Typed, ...] = ()
        prefix = next((p for p in _ANSWER_PREFIXES if text.startswith(p)), "")
        if prefix and kind_of(name) == "ask" and len(text) > len(prefix):
            typed = (rec.Typed(0, len(prefix), len(text), "answer"),)
        parts = (rec.ToolResult(call, text, status, code),)
        return self._message(line, data, cursor, "tool", parts, typed=typed)

    def _message(
        self,
        line: Line,
        data: Data,
        cursor: Cursor,
        role: rec.Role,
        parts: tuple[rec.Part, ...],
        origin: str = "",
        typed: tuple[rec.Typed, ...] = (),
    ) -> rec.Message:
        agent = line.agentId or text_of(data.parentToolCallId)
        own = text_of(data.apiCallId) or text_of(data.messageId)
        return cursor.message(
            role,
            parts,
            origin,
            typed,
            response=own or None,
            key=line.id or "",
            parent=line.parentId or "",
            time=line.timestamp or "",
            agent=agent,
            model=text_of(data.model) or self.model,
            cwd=self.cwd,
        )

    # -- the session -----------------------------------------------------------------------

    def _session(self, line: Line, data: Data, cursor: Cursor) -> Iterable[rec.Record]:
        kind = line.type
        if kind in ("session.start", "session.resume", "session.context_changed"):
            context = dict_of(data.context)
            self.cwd = text_of(context.get("cwd")) or text_of(data.cwd) or self.cwd
            self.model = text_of(data.selectedModel) or self.model
            yield rec.SessionFacts(
                id=text_of(data.sessionId),
                cwd=self.cwd,
                branch=text_of(context.get("branch")) or text_of(data.branch),
                commit=text_of(context.get("headCommit")),
                agent_version=text_of(data.copilotVersion),
                started=text_of(data.startTime),
            )
        elif kind == "session.model_change":
            self.model = text_of(data.newModel) or self.model
        elif kind == "session.title_changed":
            yield rec.SessionFacts(title=text_of(data.title))
        elif kind == "session.usage_info":
            yield rec.SessionFacts(window=count_of(data.tokenLimit) or None)
        elif kind == "session.compaction_complete" and data.success is not False:
            yield cursor.compaction(
                text_of(data.trigger),
                count_of(data.preCompactionTokens),
                count_of(data.postCompactionTokens),
            )
            if text_of(data.summaryContent):
                parts = (rec.Text(text_of(data.summaryContent)),)
                yield self._message(line, data, cursor, "user", parts, "compaction")
        elif kind == "session.shutdown":
            yield from self._shutdown(data, cursor)

    def _shutdown(self, data: Data, cursor: Cursor) -> Iterable[rec.Record]:
        modified = dict_of(data.codeChanges).get("filesModified")
        files = [f for f in modified if text_of(f)] if isinstance(modified, list) else []
        if files:
            yield cursor.changes("", ((f, "modified", "") for f in files))
        total = rec.Usage()
        for metrics in dict_of(data.modelMetrics).values():
            usage = dict_of(dict_of(metrics).get("usage"))
            total += usage_by(usage, _TOKENS, inclusive=True) or rec.Usage()
        # A resumed session continues its totals or restarts them; compare its output tokens.
        continued = total.output >= self.before.output + self.output
        self.before, self.output = total if continued else self.before + total, 0
        yield rec.TokenCount(rec.Usage(input=count_of(data.currentTokens)), self.before)


def _detect(sample: Sample) -> bool:
    families = ("session.", "assistant.", "user.message", "tool.execution_", "hook.")
    return any(
        isinstance(line.get("data"), dict)
        and "parentId" in line
        and str(line.get("type")).startswith(families)
        for line in sample.lines
    )


FORMAT = Format("copilot_cli", "lines", CopilotReader, _detect)
