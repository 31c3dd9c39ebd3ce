"""Kiro CLI (and Amazon Q Developer CLI) conversations: docs/formats/kiro.md.

One JSON document; `Message.item` counts `history`. Each entry holds a message of the person or
the tools and the agent's reply, so up to two messages share an item."""

from collections.abc import Iterable

from leftoff import model as rec
from leftoff.formats.injected import typed_parts
from leftoff.formats.lenient_json import Fields, json_text
from leftoff.formats.openai_parts import reply_parts, texts_of
from leftoff.formats.reader import Cursor, Format, ItemReader, Sample
from leftoff.formats.vocabulary import tool_call


class KiroReader(ItemReader):
    lists = ("history",)

    summary: str | None = None  # of what was said before the history

    def head(self, document: Fields) -> Iterable[rec.Record]:
        self.model = document.text("model_info.model_id")
        yield document.facts(id="conversation_id")
        # The summary, with what is known of its message.
        if given := document.get("latest_summary"):
            self.summary = "\n".join(texts_of(given))

    def item(self, item: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        if self.summary is not None:
            # Stored beside the history; the messages that it replaced are not recorded.
            yield from cursor.compacted(self.summary)
            self.summary = None
        if not item.value:
            yield rec.Unknown("history/no object")
        yield from self._user(item.at("user"), cursor)
        yield from self._assistant(item.at("assistant"), cursor)

    def _user(self, user: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        where = user.text("env_context.env_state.current_working_directory")
        if where and where != self.cwd:
            self.cwd = where
            yield rec.SessionFacts(cwd=where)
        parts: list[rec.Part] = []
        # Without content the agent went on by itself.
        for kind, value in user.at("content").value.items():
            given = Fields(value)
            if kind not in ("Prompt", "ToolUseResults", "CancelledToolUses"):
                yield rec.Unknown(f"user/{kind}")
                continue
            ran = kind != "CancelledToolUses"
            parts += [
                self._result(result, ran=ran) for result in given.each("tool_use_results")
            ]
            if prompt := given.text("prompt"):
                parts.append(rec.Text(prompt))
        if parts:
            yield cursor.message(
                "user",
                tuple(parts),
                typed=typed_parts(parts),
                time=user.text("timestamp"),
                cwd=self.cwd,
            )

    def _assistant(self, assistant: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        for kind, value in assistant.value.items():
            given = Fields(value)
            if kind not in ("Response", "ToolUse"):
                yield rec.Unknown(f"assistant/{kind}")
                continue
            parts = [*reply_parts("", given.text("content"))]
            if kind == "ToolUse":
                self.waiting = []
            for use in given.each("tool_uses"):
                arguments = use.get("args" if "args" in use.value else "orig_args")
                name = use.text("name", "orig_name")
                # A result names a recorded id, so that only calls without one wait.
                known = use.identity("id")
                asks = tool_call if known else self.call
                parts.append(asks(known, name, arguments))
            yield cursor.message(
                "assistant",
                tuple(parts),
                response=given.identity("message_id") or None,
                model=self.model,
                cwd=self.cwd,
                # A reply without tools ends the turn, whatever it announces.
                stop="end" if kind == "Response" else "more",
            )

    def _result(self, result: Fields, *, ran: bool) -> rec.ToolResult:
        call = self.answered(result.identity("tool_use_id"))
        texts: list[str] = []
        code: int | None = None
        for block in result.each("content"):
            if isinstance(text := block.get("Text"), str):
                texts.append(text)
            elif "Json" in block.value:
                output = block.at("Json")
                exited = output.text("exit_status").removeprefix("exit status: ")
                if exited.isdecimal() and len(exited) < 10:
                    code = int(exited)
                streams = filter(None, (output.text("stdout"), output.text("stderr")))
                shown = "exit_status" in output.value
                texts.append("\n".join(streams) if shown else json_text(block.get("Json")))
        worked = result.text("status").lower() == "success" and not code
        status = "denied" if not ran else "ok" if worked else "error"
        return rec.ToolResult(call, "\n".join(texts), status, code)


def _detect(sample: Sample) -> bool:
    items = sample.listed("history") if "conversation_id" in sample.keys else []
    return any("user" in item and "assistant" in item for item in items)


FORMAT = Format("kiro", "document", KiroReader, _detect)
