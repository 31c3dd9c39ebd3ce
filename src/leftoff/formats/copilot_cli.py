"""GitHub Copilot CLI event logs, `events.jsonl`: docs/formats/copilot_cli.md.

Every line is an event of one chain (`parentId`); a few kinds carry the conversation, the rest
are links of the chain."""

from collections.abc import Iterable
from functools import partial

from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.formats.injected import typed_spans
from leftoff.formats.lenient_json import Fields, code_in, text_of, usage_by
from leftoff.formats.openai_parts import reply_parts
from leftoff.formats.reader import Builder, Cursor, Format, ItemReader, Sample
from leftoff.formats.vocabulary import KINDS, kind_of, tool_call

NO_MESSAGE = KINDS["copilot_cli_no_message"]
_NO_MESSAGE_PREFIXES = tuple(
    f"{family}."
    for family in (
        "session hook permission subagent user_input elicitation sampling mcp external_tool "
        "command commands exit_plan_mode auto_mode_switch"
    ).split()
)
_TOKENS = "inputTokens outputTokens cacheReadTokens cacheWriteTokens reasoningTokens"
_EXIT_CODE = re.compile(r"<[^<>\n]{0,80}(?:completed|exited) with exit code (-?\d{1,9})>\s*$")
_RUNNING = re.compile(r"<[^<>\n]{0,80}still running[^<>\n]{0,200}>\s*$")
_ANSWER_PREFIXES = ("User responded: ", "User selected: ")


class CopilotReader(ItemReader):
    before: rec.Usage = rec.Usage()  # tokens that the recorder totalled up at the last shutdown
    output: int = 0  # output tokens of the messages since then
    reason: str = ""  # why the session ended, as a hook was told
    closed: bool = False  # the last message is a reply without a call
    silent: bool = False  # the last reply holds neither words nor a call

    def item(self, line: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        kind, data = line.text("type"), line.at("data")
        identity, parent = line.text("id"), line.text("parentId")
        if kind == "tool.execution_complete":
            self.model = data.text("model") or self.model
        message = partial(
            cursor.message,
            response=data.text("apiCallId", "messageId") or None,
            key=identity,
            parent=parent,
            time=line.text("timestamp"),
            agent=line.text("agentId") or data.text("parentToolCallId"),
            model=data.text("model") or self.model,
            cwd=self.cwd,
        )
        started = data if kind == "tool.execution_start" else Fields(None)
        call, name = started.identity("toolCallId"), started.text("toolName")
        if kind in ("user.message", "abort", "tool.execution_start"):
            self.closed = False
        if kind == "assistant.message":
            parts = tuple(self._assistant_parts(data))
            self.silent = not any(type(p) is not rec.Reasoning for p in parts)
            self.closed = not self.silent and not data.each("toolRequests")
            yield message("assistant", parts)
            if output := data.count("outputTokens"):
                self.output += output
                yield rec.TokenCount(rec.Usage(), self.before + rec.Usage(output=self.output))
        elif kind == "user.message":
            yield message("user", *_prompt(line, data))
        elif kind == "tool.execution_complete":
            yield message("tool", *self._result(data))
        elif kind in ("system.message", "system.notification"):
            yield message("system", (rec.Text(data.text("content")),))
        elif kind == "abort":
            yield message("system", (), "interruption")
        elif call and call not in dict(self.waiting):
            # No message requested this call: the person ran it, or the message is lost.
            yield message("assistant", (self.call(call, name, data.get("arguments")),))
        else:
            if identity:
                yield rec.Link(identity, parent)
            if kind == "assistant.turn_end" and self.silent:
                # No words show that the turn ended, and nothing was done.
                yield rec.Turn("ended", "the reply is empty")
            if kind == "hook.start" and data.get("hookType") == "sessionEnd":
                self.reason = data.text("input.reason")
            if kind.startswith("session."):
                yield from self._session(kind, data, message, cursor)
            elif kind not in NO_MESSAGE and not kind.startswith(_NO_MESSAGE_PREFIXES):
                yield rec.Unknown(kind)

    # -- the conversation ------------------------------------------------------------------

    def _assistant_parts(self, data: Fields) -> Iterable[rec.Part]:
        yield from reply_parts(data.text("reasoningText"), data.text("content"))
        for request in data.each("toolRequests"):
            call, name = request.identity("toolCallId"), request.text("name")
            asks = self.call if call else tool_call
            yield asks(call, name, request.get("arguments"))

    def _result(self, data: Fields) -> tuple[tuple[rec.Part], str, tuple[rec.Typed, ...]]:
        call = data.identity("toolCallId")
        name = dict(self.waiting).get(call, "")
        self.waiting = [known for known in self.waiting if known[0] != call]
        text = data.text("result.content", "error.message")
        code = data.number("toolTelemetry.metrics.exit_code")
        if code is None:
            code = code_in(_EXIT_CODE, text[-200:])
        status = "ok" if data.get("success") is True else "error"
        if data.text("error.code") in ("denied", "rejected"):
            status = "denied"
        elif status == "ok" and code:
            status = "error"
        elif status == "ok" and _RUNNING.search(text[-400:]):
            status = "running"
        typed: tuple[rec.Typed, ...] = ()
        prefix = next((p for p in _ANSWER_PREFIXES if text.startswith(p)), "")
        if prefix and kind_of(name) == "ask" and len(text) > len(prefix):
            typed = (rec.Typed(0, len(prefix), len(text), "answer"),)
        return (rec.ToolResult(call, text, status, code),), "", typed

    # -- the session -----------------------------------------------------------------------

    def _session(
        self, kind: str, data: Fields, message: Builder, cursor: Cursor
    ) -> Iterable[rec.Record]:
        if kind in ("session.start", "session.resume", "session.context_changed"):
            self.cwd = data.text("context.cwd", "cwd") or self.cwd
            self.model = data.text("selectedModel") or self.model
            yield data.facts(
                id="sessionId",
                cwd="context.cwd|cwd",
                branch="context.branch|branch",
                commit="context.headCommit",
                agent_version="copilotVersion",
                started="startTime",
            )
        elif kind == "session.model_change":
            self.model = data.text("newModel") or self.model
        elif kind == "session.title_changed":
            yield rec.SessionFacts(title=data.text("title"))
        elif kind == "session.usage_info":
            yield rec.SessionFacts(window=data.count("tokenLimit") or None)
        elif kind == "session.compaction_complete" and data.get("success") is not False:
            about = data.text("summaryContent"), data.text("trigger")
            yield from cursor.compacted(*about, data.count("preCompactionTokens"), message)
        elif kind == "session.error":
            yield rec.Turn("failed", data.text("message", "errorType"))
        elif kind == "session.shutdown":
            yield from self._shutdown(data, cursor)
            # A run of one prompt ends by itself; a person who leaves may come back.
            if self.closed and self.reason == "complete":
                yield rec.Turn("ended", self.reason)

    def _shutdown(self, data: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        modified = data.get("codeChanges.filesModified")
        files = [f for f in modified if text_of(f)] if isinstance(modified, list) else []
        if files:
            yield cursor.changes("", ((f, "modified", "") for f in files))
        total = rec.Usage()
        for metrics in data.at("modelMetrics").value.values():
            usage = Fields(metrics).at("usage").value
            total += usage_by(usage, _TOKENS, inclusive=True) or rec.Usage()
        # A resumed session continues its totals or restarts them; compare its output tokens.
        continued = total.output >= self.before.output + self.output
        self.before, self.output = total if continued else self.before + total, 0
        yield rec.TokenCount(rec.Usage(input=data.count("currentTokens")), self.before)


def _prompt(
    line: Fields, data: Fields
) -> tuple[tuple[rec.Part, ...], str, tuple[rec.Typed, ...]]:
    text = data.text("content")
    by_person = not (data.get("parentToolCallId") or line.text("agentId"))
    by_person = by_person and data.text("source") in ("", "user")
    media = (rec.Media(attached.text("type")) for attached in data.each("attachments"))
    return (rec.Text(text), *media), "", typed_spans(0, text) if by_person else ()


def _detect(sample: Sample) -> bool:
    families = ("session.", "assistant.", "user.message", "tool.execution_", "hook.")
    return any(
        isinstance(line.get("data"), dict)
        and "parentId" in line
        and str(line.get("type")).startswith(families)
        for line in sample.lines
    )


FORMAT = Format("copilot_cli", "lines", CopilotReader, _detect)
