"""mini-SWE-agent trajectories, one JSON document each: docs/formats/mini_swe_agent.md.

Version 1 has one bash block in each reply and the observation in the next user message;
version 2 lists the commands of a reply and answers each with a message of its own."""

from collections.abc import Iterable

from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.formats.lenient_json import Fields, time_of_s
from leftoff.formats.openai_parts import (
    calls_of,
    content_text,
    reply_parts,
    trim_span,
    usage_of,
)
from leftoff.formats.reader import Cursor, Format, ItemReader, Sample
from leftoff.formats.swe_agent import run_end
from leftoff.formats.vocabulary import text_argument

_BLOCK_START = re.compile(r"```(?:bash|mswea_bash_command)[ \t\r]*\n")
_RETURN_CODE = re.compile(r"\s*<returncode>\s*(-?\d+)\s*</returncode>\s*")
_TASK = re.compile(r"<pr_description>\s*(?:Consider the following PR description:\s*)?")
_TASK_PLACEHOLDER = re.compile(r"\{\{\s*task\s*\}\}")
_TASK_PREFIX = "Please solve this issue: "
# The run ends at a command that prints one of these first; it is given no return code.
_FINISHES = re.compile(r"\s*echo (?:COMPLETE_TASK_AND_SUBMIT|MINI_SWE_AGENT)_FINAL_OUTPUT\b")
_FORMAT_ERROR = (
    "Please always provide EXACTLY ONE",
    "Format error",
    "Your output was malformed",
)


class MiniSweAgentReader(ItemReader):
    prompted: bool = False
    finishing: bool = False  # the last command hands in the work
    submitted: bool = False
    before: str = ""
    after: str = ""  # the template's text before and after the task in the first message

    def head(self, document: Fields) -> Iterable[rec.Record]:
        info = document.at("info")
        template = info.text("config.agent.instance_template")
        slot = _TASK_PLACEHOLDER.search(template)
        if slot is not None:
            self.before = template[: slot.start()].rsplit("}", 1)[-1].strip()
            self.after = template[slot.end() :].split("{", 1)[0].strip()[:200]
        facts = rec.SessionFacts(
            id=document.text("instance_id"),
            cwd=info.text("config.environment.cwd"),
            agent_version=info.text("mini_version"),
        )
        if facts != rec.SessionFacts():
            yield facts

    def item(self, item: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        named, text = item.text("role"), content_text(item.get("content"))
        if named == "assistant":
            return (self._assistant_message(item, text, cursor),)
        if named not in {"system", "user", "tool", "exit"}:
            return (rec.Unknown(f"role {named}" if item.value else "message"),)
        role: rec.Role = "system" if named == "system" else "user"
        typed: tuple[rec.Typed, ...] = ()
        part: rec.Part = rec.Text(text)
        if named == "user" and not self.prompted:
            self.prompted = True
            typed = (rec.Typed(0, *self._task_span(text)),)
        elif named != "system" and self.waiting and not text.startswith(_FORMAT_ERROR):
            named_call = item.text("tool_call_id")
            known = any(named_call == call for call, _ in self.waiting)
            call = self.answered(named_call if known else "")
            part = _result(call, text, item.at("extra"))
            self.submitted = self.finishing and part.exit_code is None and part.status == "ok"
            if self.submitted:  # the model was not called again
                part = replace(part, detail={"unseen": True})
            role = "tool"
        time = time_of_s(item.get("extra.timestamp"))
        return (cursor.message(role, (part,), "", typed, time=time),)

    def end(self, document: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        return run_end(document.at("info"), submitted=self.submitted)

    def _assistant_message(self, item: Fields, text: str, cursor: Cursor) -> rec.Message:
        self.turns += 1
        response = item.at("extra.response")
        choices = response.each("choices")
        paths = "message.reasoning", "message.reasoning_content"
        parts = [*reply_parts(choices[0].text(*paths) if choices else "", text)]
        calls = calls_of(item.get("tool_calls"))
        actions = item.each("extra.actions")
        if not calls and actions:
            calls = [_command(a.text("command")) for a in actions]
        elif not calls:
            blocks = bash_blocks(text)
            # The agent rejects a reply with several blocks and runs none of them.
            calls = [_command(blocks[0])] if len(blocks) == 1 else []
        self.waiting, self.submitted = [], False
        for place, call in enumerate(calls):
            self.finishing = _FINISHES.match(text_argument(call, "command")) is not None
            identity = call.id or f"call-{self.turns}" + (f".{place}" if place else "")
            parts.append(self.call(identity, call.name, call.input))
        return cursor.message(
            "assistant",
            tuple(parts),
            response=response.text("id") or f"r{self.turns}",
            time=time_of_s(response.get("created")) or time_of_s(item.get("extra.timestamp")),
            model=response.text("model"),
            usage=usage_of(response.get("usage")),
        )

    def _task_span(self, text: str) -> tuple[int, int]:
        start = 0
        known = text.find(self.before) if self.before else -1
        if known >= 0:
            start = known + len(self.before)
        elif text.startswith(_TASK_PREFIX):
            start = len(_TASK_PREFIX)
        elif opening := _TASK.search(text):
            start = opening.end()
        marks = (self.after, "</pr_description>", "\n\nYou can execute bash commands")
        places = (text.find(mark, start) for mark in marks if mark)
        end = next((place for place in places if place >= 0), len(text))
        return trim_span(text, start, end)


def bash_blocks(text: str) -> list[str]:
    """The bash blocks of a reply."""
    found: list[str] = []
    end = 0
    while opening := _BLOCK_START.search(text, end):
        # An empty block closes with the same line end that opens it.
        close = text.find("\n```", opening.end() - 1)
        if close < 0:
            break
        found.append(text[opening.end() : max(close, opening.end())])
        end = close + 4
    return found


def _command(command: str) -> rec.ToolCall:
    return rec.ToolCall("", "bash", "shell", {"command": command})


def _result(call: str, text: str, extra: Fields) -> rec.ToolResult:
    """The result of a call. Its text follows the return code; without a code the run ended here
    and the text is what the last command submitted."""
    code = extra.number("returncode")
    found = _RETURN_CODE.match(text)
    if found is not None:
        text = text[found.end() :]
        code = int(found[1][:9])
    head = text[:300]
    if "timed out" in head and "<command>" in head or "<timeout>" in head:
        return rec.ToolResult(call, text, "timeout", code)
    if head.startswith(("LimitsExceeded", "UserInterruption", "KeyboardInterrupt")):
        return rec.ToolResult(call, text, "interrupted", None)
    return rec.ToolResult(call, text, "error" if code else "ok", code)


def _detect(sample: Sample) -> bool:
    match sample.document:
        case {"trajectory_format": str(named)}:
            return named.startswith("mini-swe-agent")
        case {"info": {"mini_version": _}, "messages": _}:
            return True
    # A bare list of messages: the system prompt, the task, then blocks and return codes.
    replies = results = 0
    for item in sample.items:
        text = item.get("content")
        if not isinstance(text, str) or not set(item) <= {"role", "content", "extra"}:
            return False
        if item.get("role") == "assistant":
            replies += len(bash_blocks(text)) == 1
        elif item.get("role") == "user":
            results += _RETURN_CODE.match(text) is not None
    return bool(replies and results)


FORMAT = Format("mini_swe_agent", "document", MiniSweAgentReader, _detect)
