"""Pi and OpenClaw sessions, JSON lines of versions 1 to 3: docs/formats/pi.md."""

from collections.abc import Iterable
from functools import partial

import msgspec

from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.formats.injected import typed_parts
from leftoff.formats.lenient_json import Fields, code_in, dicts_of, usage_by
from leftoff.formats.openai_parts import content_text, parts_of
from leftoff.formats.reader import Builder, Cursor, Format, ItemReader, Sample
from leftoff.formats.vocabulary import tool_call

NO_MESSAGE = frozenset({"thinking_level_change", "custom", "leaf", "label"})
# Reasons for the end of a response, as `Message.stop`.
_STOPS = {"stop": "end", "toolUse": "more"}
_USAGE = "input output cacheRead cacheWrite"
_EXIT_CODE = re.compile(r"Command exited with code (\d{1,9})\s*$")


class PiReader(ItemReader):
    commands: int = 0  # how many commands the person ran; their calls have no ids

    def item(self, line: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        kind, body = line.text("type"), line.at("message")
        identity, parent = line.text("id"), line.text("parentId")
        if kind == "session":
            self.cwd = line.text("cwd") or self.cwd
            self.model = line.text("modelId") or self.model
            yield rec.SessionFacts(
                id=identity,
                cwd=self.cwd,
                agent_version=f"session v{line.number('version') or 1}",
                forked_from=line.text("parentSession"),
                started=line.text("timestamp"),
            )
            return
        if body.get("role") == "assistant":
            self.model = body.text("model") or self.model
        message = partial(
            cursor.message,
            response=body.text("responseId") or identity or None,
            key=identity,
            parent=parent,
            time=line.text("timestamp"),
            model=self.model,
            cwd=self.cwd,
            usage=usage_by(body.get("usage"), _USAGE),
            stop=_STOPS.get(body.text("stopReason"), ""),
        )
        if kind == "message":
            yield from self._message(body, message)
        elif kind == "compaction":
            before = line.count("tokensBefore")
            yield from cursor.compacted(line.text("summary"), recorded=before, message=message)
        elif kind in ("custom_message", "branch_summary"):
            found = line.get("content" if kind == "custom_message" else "summary")
            yield message("user", parts_of(found), "injected")
        else:
            if identity:
                yield rec.Link(identity, parent)
            if kind == "model_change":
                self.model = line.text("modelId") or self.model
            elif kind == "session_info":
                yield rec.SessionFacts(title=line.text("name"))
            elif kind not in NO_MESSAGE:
                yield rec.Unknown(kind)

    def _message(self, body: Fields, message: Builder) -> Iterable[rec.Record]:
        role, parts = body.text("role"), parts_of(body.get("content"))
        if role == "assistant":
            ended, why = body.text("stopReason"), body.text("errorMessage")
            origin = "agent"
            # A reply that was cut before its first word is no reply of the agent.
            if not parts and ended == "aborted":
                origin = "interruption"
            elif not parts and ended == "error":
                origin, parts = "meta", (rec.Text(why),)
            yield message("assistant", parts, origin)
            if ended == "error":
                yield rec.Turn("failed", why)
            elif ended == "aborted" and body.get("content"):
                yield rec.Turn("interrupted")
        elif role == "toolResult":
            yield from self._subagents(body, message)
            yield message("tool", (_result(body),))
        elif role == "user":
            yield message("user", parts, "", typed_parts(parts))
        elif role == "bashExecution":
            yield message("user", self._user_command(body), "injected")
        elif role in ("custom", "hookMessage", "branchSummary", "compactionSummary"):
            if body.get("content") is None:
                parts = parts_of(body.get("summary"))
            origin = "compaction" if role == "compactionSummary" else "injected"
            yield message("user", parts, origin)
        else:
            yield rec.Unknown(f"message/{role}")

    def _subagents(self, body: Fields, message: Builder) -> Iterable[rec.Message]:
        """What subagents of extensions said and did: only the call's result records it."""
        runs = dicts_of(body.get("details.results"))
        for number, run in enumerate(runs):
            agent = f"{body.identity('toolCallId')}-{number}"
            say = partial(message, key="", parent="", response=None, agent=agent)
            for said in map(Fields, dicts_of(run.get("messages"))):
                usage = usage_by(said.get("usage"), _USAGE)
                says = partial(say, model=said.text("model"), usage=usage)
                for found in self._message(said, says):
                    if isinstance(found, rec.Message):
                        origin = "injected" if found.typed else found.origin
                        yield msgspec.structs.replace(found, typed=(), origin=origin)

    def _user_command(self, body: Fields) -> tuple[rec.Part, ...]:
        self.commands += 1
        call, code = f"person-{self.commands}", body.number("exitCode")
        status = "error" if code else "ok" if code == 0 else "unknown"
        status = "interrupted" if body.get("cancelled") is True else status
        result = rec.ToolResult(call, body.text("output"), status, code)
        return tool_call(call, "bash", {"command": body.text("command")}), result


def _result(body: Fields) -> rec.ToolResult:
    text = content_text(body.get("content"))
    status, code = "ok", None
    if body.get("isError") is True:
        # Pi writes the reason behind the output, in words.
        status, end = "error", text[-300:]
        code = code_in(_EXIT_CODE, end)
        if code is None and "Command timed out after" in end:
            status = "timeout"
        elif code is None and end.rstrip().endswith(("Command aborted", "Operation aborted")):
            status = "interrupted"
    return rec.ToolResult(body.identity("toolCallId"), text, status, code)


def _detect(sample: Sample) -> bool:
    for line in sample.lines:
        match line:
            case {"type": "session", "cwd": _, "timestamp": _}:
                return True
            # Without its first line: only Pi's messages have these.
            case {
                "type": "message",
                "message": {"role": "toolResult" | "bashExecution"} | {"api": _},
            }:
                return True
    return False


FORMAT = Format("pi", "lines", PiReader, _detect)
