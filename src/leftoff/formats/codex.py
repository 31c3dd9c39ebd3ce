"""Codex CLI rollouts, current and legacy: docs/formats/codex.md.

The `response_item` lines are the conversation; most `event_msg` lines repeat it and are read
only for what the items lack: token counts, exit codes, applied changes."""

from collections.abc import Iterable
from functools import partial
from itertools import chain
from typing import TypeVar

from msgspec import field

from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.formats.injected import answer_spans, spans_around, transcript_span, typed_spans
from leftoff.formats.lenient_json import Fields, code_in, usage_by
from leftoff.formats.openai_parts import content_text, decode_arguments, texts_of
from leftoff.formats.reader import (
    Builder,
    Cursor,
    FileChange,
    Format,
    ItemReader,
    Sample,
    moved,
)
from leftoff.formats.vocabulary import KINDS, tool_call

T = TypeVar("T")

# Prompts that the person can go back behind. Chosen by hand.
MAX_PROMPTS = 256

ITEM_TYPES = KINDS["codex_items"]
EVENTS = KINDS["codex_events"]
IGNORED_LINES = frozenset(
    {"world_state", "inter_agent_communication_metadata", "token_usage_record"}
)
# Events that say what became of the agent's turn, as `Turn.state`.
_TURNS = {
    "task_started": "started",
    "turn_started": "started",
    "task_complete": "ended",
    "turn_complete": "ended",
    "turn_aborted": "interrupted",
    "error": "failed",
}
_GIT = {"branch": "git.branch", "commit": "git.commit_hash"}
# What it does to files, as `Changes.files`.
ACTIONS = {"add": "created", "update": "modified", "delete": "deleted"}
# Names of tokens, as for `usage_by`.
TOKENS = "input_tokens output_tokens cached_input_tokens - reasoning_output_tokens"
# Phases of the agent's words, as `Message.stop`.
_PHASES = {"final_answer": "end", "commentary": "more"}
_EXIT_CODE = re.compile(r"(?:Process exited with code|Exit code:) (-?\d+)")
_RUNNING = "Process running with session ID"
# Calls that the client or the person refused before anything ran.
_NEVER_RAN = (
    "unsupported call",
    "unsupported custom tool call",
    "failed to parse",
    "user rejected",
    "patch rejected",
)
# How the client's own tools say so: `exec_command failed for …`, `collab spawn failed: …`; not
# `2 tests failed`, what a program printed.
_FAILED = re.compile(
    r"error|(?:[a-z_/]+ ){1,2}failed(?::| for )|Script failed\n"
    r"|Full-history forked agents inherit"
)
_REJECTED = re.compile(
    r"user rejected|rejected by user|patch rejected|Rejected\(|(?:command|patch) was rejected"
)
# Before what the person typed beside an answer that was chosen.
_NOTE = "user_note: "
# What the client shows as buttons below the agent's words.
_GIT_BUTTONS = re.compile(r"\s*^(?:::git-[\w-]+\{[^{}\n]*\}\s*)+", re.MULTILINE)
# Heading that the extension for editors writes between what it attaches and the prompt.
_REQUEST = "## My request for Codex:"
_ATTACHED = re.compile(
    r"\s*# (?:Files mentioned by the user|Diff comments|Context from my IDE setup)\b"
)


class CodexReader(ItemReader):
    session: str = ""
    asks: int = 0  # number of the last prompt
    speaking: bool = False
    """The last item came from the model, so the next model item is of the same response."""
    exit_codes: dict[str, int] = field(default_factory=dict)
    """Exit codes by call id, from events that precede the output item of the call."""
    running: dict[str, bool] = field(default_factory=dict)
    """The ids of calls whose command still ran when their output was recorded."""
    asked: bool = False
    """Another agent, or the client's own review, asks in this recording: no person does."""
    copied: bool = False
    """A subagent's recording, up to its prompt: a copy of what its parent recorded before."""
    questions: dict[str, list[str]] = field(default_factory=dict)
    """The ids of what the agent asked the person in one call, by the id of the call."""
    prompts: list[str] = field(default_factory=list)
    """Keys of the session and of its last prompts: what follows a prompt is below it."""
    task: str = ""
    """The words of the last call in that copy that started a subagent; they come again as the
    prompt of this one."""

    def item(self, line: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        """The records of a line of either layout: the current one wraps all in `payload`, the
        legacy one has the fields of an item on the line itself."""
        kind = line.text("type")
        item = line if line.get("payload") is None else line.at("payload")
        if kind == "event_msg":
            return self._event(item, cursor)
        message = partial(
            cursor.message,
            parent=self.prompts[-1] if self.prompts else "",
            time=line.text("timestamp"),
            model=self.model,
            cwd=self.cwd,
        )
        if kind == "response_item" and item is not line:
            return self._item(item, message)
        if kind == "turn_context":
            return self._context(item)
        if kind == "session_meta":
            return self._meta(item)
        if kind == "compacted":
            # Where the client itself wrote the summary, it stands here alone.
            return cursor.compacted(item.text("message"), message=message)
        if kind in IGNORED_LINES or line.get("record_type") is not None:
            return ()
        if item is not line:
            return (rec.Unknown(kind),)
        if kind:
            return self._item(line, message)
        if line.get("id") is None:
            return (rec.Unknown(""),)
        return (line.facts(id="id", started="timestamp", **_GIT),)

    def _meta(self, payload: Fields) -> Iterable[rec.Record]:
        facts = payload.facts(
            id="id",
            cwd="cwd",
            agent_version="cli_version",
            parent_id="parent_thread_id|source.subagent.thread_spawn.parent_thread_id",
            forked_from="forked_from_id",
            started="timestamp",
            **_GIT,
        )
        if self.session and facts.id != self.session:
            # A fork: the parent's own header is copied in front of the parent's history.
            return (rec.SessionFacts(forked_from=facts.id),)
        link = (rec.Link(facts.id, ""),) if facts.id else ()
        if link and not self.session:
            self.prompts = [facts.id]
        self.session, self.copied = facts.id, bool(facts.parent_id)
        self.asked = bool(payload.get("source.subagent")) and not facts.forked_from
        self.cwd = facts.cwd or self.cwd
        return (facts, *link)

    def _context(self, payload: Fields) -> Iterable[rec.Record]:
        self.model = payload.text("model") or self.model
        if (folder := payload.text("cwd")) and folder != self.cwd:
            self.cwd = folder
            return (rec.SessionFacts(cwd=folder),)
        return ()

    def _event(self, payload: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        kind = payload.text("type")
        if kind == "token_count":
            return _token_count(payload.at("info"))
        if kind == "exec_command_end":
            if self.running.pop(payload.text("call_id"), False):
                return (rec.SessionFacts(ended=payload.identity("process_id")),)
            _store(self.exit_codes, payload.text("call_id"), payload.number("exit_code"))
        elif kind == "patch_apply_end":
            succeeded = payload.get("success") is not False
            return _applied_changes("call_id", payload, cursor, succeeded=succeeded)
        elif kind == "item_completed":
            item = payload.at("item")
            if item.get("type") == "CommandExecution":
                _store(self.exit_codes, item.text("id"), item.number("exit_code"))
            elif item.get("type") == "FileChange":
                failed = item.get("status") in ("failed", "declined")
                return _applied_changes("id", item, cursor, succeeded=not failed)
        elif kind in _TURNS:
            window = payload.number("model_context_window")
            facts = () if window is None else (rec.SessionFacts(window=window),)
            why = payload.text("message", "error.message")
            state = "failed" if payload.get("error") else _TURNS[kind]
            return (*facts, rec.Turn(state, why))
        elif kind == "thread_name_updated":
            return (rec.SessionFacts(title=payload.text("thread_name")),)
        elif kind == "thread_rolled_back":
            # The person went back: the next prompt takes the place of these.
            del self.prompts[max(1, len(self.prompts) - payload.count("num_turns")) :]
        elif kind not in EVENTS:
            return (rec.Unknown(f"event_msg/{kind}"),)
        return ()

    def _item(self, item: Fields, message: Builder) -> Iterable[rec.Record]:
        kind = item.text("type")
        if kind == "message":
            return (self._text_message(item, message),)
        if kind in {"function_call", "custom_tool_call", "local_shell_call"}:
            name = item.text("name") or ("local_shell" if kind == "local_shell_call" else "")
            if (server := item.text("namespace")).startswith("mcp__"):
                name = f"{server.rstrip('_')}__{name.lstrip('_')}"
            given = item.get("arguments") if item.get("input") is None else item.get("input")
            if kind == "function_call":
                given = decode_arguments(given)
            given = item.get("action") if given is None else given
            if name == "spawn_agent" and self.copied:
                self.task = Fields(given).text("message")
            call = tool_call(item.text("call_id"), name, given)
            if call.kind == "ask":
                names = [one.text("id") for one in Fields(given).each("questions")]
                _store(self.questions, call.id, names)
            return (self._said((call,), message),)
        if kind in {"function_call_output", "custom_tool_call_output"}:
            self.speaking = False
            result = self._result(item)
            asked = self.questions.pop(result.call_id, ())
            answers = _answers(asked, result.text) if asked else ()
            return (message("tool", (result,), "", answers),)
        if kind == "reasoning":
            summary, content = (texts_of(item.get(name)) for name in ("summary", "content"))
            text = "\n\n".join(summary) or "\n\n".join(content)
            return (self._said((rec.Reasoning(text),), message),) if text else ()
        if kind == "web_search_call":
            search = rec.ToolCall("", "web_search_call", "fetch", item.at("action").value)
            return (self._said((search,), message),)
        if kind == "agent_message":
            self.speaking = False
            return (message("user", (rec.Text("\n\n".join(texts_of(item.get("content")))),)),)
        return () if kind in ITEM_TYPES else (rec.Unknown(f"response_item/{kind}"),)

    def _text_message(self, item: Fields, message: Builder) -> rec.Message:
        texts, role = texts_of(item.get("content")), item.text("role")
        if role == "assistant":
            shown = (_GIT_BUTTONS.sub("", t) if "::git-" in t else t for t in texts)
            parts = tuple(map(rec.Text, shown))
            return self._said(parts, message, _PHASES.get(item.text("phase"), ""))
        self.speaking, parts = False, tuple(map(rec.Text, texts))
        if role != "user":
            return message("system", parts)
        found = [_typed(number, text) for number, text in enumerate(texts)]
        typed = tuple(chain.from_iterable(spans for spans, _ in found))
        # A prompt that is nothing but a pasted transcript was sent by the person all the same.
        origin = "prompt" if typed or any(pasted for _, pasted in found) else "injected"
        if self.asked or self.task and texts == [self.task]:
            origin, typed = "injected", ()
            self.task, self.copied = "", False
        if not typed and len(texts) == 1 and texts[0].startswith("<turn_aborted>"):
            origin = "interruption"
        key = ""
        if origin == "prompt" and self.prompts:
            self.asks += 1
            key = f"{self.session}-{self.asks}"
            self.prompts.append(key)
            del self.prompts[1:-MAX_PROMPTS]
        return message("user", parts, origin, typed, key=key)

    def _said(
        self, parts: tuple[rec.Part, ...], message: Builder, stop: str = ""
    ) -> rec.Message:
        self.turns += not self.speaking
        self.speaking = True
        return message("assistant", parts, response=f"response-{self.turns}", stop=stop)

    def _result(self, item: Fields) -> rec.ToolResult:
        call = item.text("call_id")
        text, code = _output(item.get("output"))
        code = self.exit_codes.pop(call, code)
        status = "ok"
        if code is not None:
            status = "error" if code else "ok"
        elif _RUNNING in text[:400]:
            status = "running"
            _store(self.running, call, True)
        elif text.startswith(_NEVER_RAN):
            status = "denied"
        elif text.startswith("aborted"):
            status = "interrupted"
        elif _FAILED.match(text):
            status = "denied" if _REJECTED.search(text, 0, 1000) else "error"
        return rec.ToolResult(call, text, status, code)


def _store(known: dict[str, T], call: str, value: T | None) -> None:
    """Remembers something of a call until its result comes, of the last 64 calls."""
    if call and value is not None:
        known[call] = value
        while len(known) > 64:
            del known[next(iter(known))]


def _answers(questions: Iterable[str], text: str) -> tuple[rec.Typed, ...]:
    """The person's answers to questions, in the order of the questions: first one to each, then
    the notes beside them; none where a question has no answer."""
    given = Fields(decode_arguments(text)).at("answers")
    spans: list[tuple[rec.Typed, ...]] = []
    for name in questions:
        answers, start = given.at(name).get("answers"), text.find(f'"{name}"')
        spans.append(answer_spans([answers], text, 0, '"', '"', start + len(name)))
    if not all(spans):
        return ()
    found = [one[0] for one in spans] + [note for one in spans for note in one[1:]]
    marks = [len(_NOTE) if text.startswith(_NOTE, one.start) else 0 for one in found]
    return tuple(
        rec.Typed(0, one.start + mark, one.end, one.via)
        for one, mark in zip(found, marks, strict=True)
    )


def _typed(part: int, text: str) -> tuple[tuple[rec.Typed, ...], bool]:
    """The spans of a message that the person typed, and whether a transcript of another agent
    was pasted into it."""
    start = 0
    if _ATTACHED.match(text) and (at := text.find(_REQUEST)) >= 0:
        start = at + len(_REQUEST)
    spans = spans_around((), text, part, start=start) if start else typed_spans(part, text)
    if spans and (pasted := transcript_span(text)):
        return spans_around([pasted], text, part, start=start), True
    return spans, False


def _output(output: object) -> tuple[str, int | None]:
    """Text and exit code of a tool's output, in any of its four shapes."""
    if isinstance(output, str) and output.startswith("{"):
        value = Fields(decode_arguments(output))
        if isinstance(text := value.get("output"), str):
            return text, value.number("metadata.exit_code")
    text = content_text(output.get("content") if isinstance(output, dict) else output)
    return text, code_in(_EXIT_CODE, text[:400])


def _applied_changes(
    call: str, item: Fields, cursor: Cursor, *, succeeded: bool
) -> Iterable[rec.Record]:
    if not isinstance(item.get("changes"), dict):
        return ()
    files: list[FileChange] = []
    deleted: list[tuple[str, int]] = []
    for path, given in item.at("changes").value.items():
        if isinstance(given, dict):
            change = Fields(given)
            action = ACTIONS.get(change.text("type"), "modified")
            files.append(moved(path, change.text("move_path"), action))
            content = change.get("content")
            if action == "deleted" and isinstance(content, str):
                deleted.append((path, len(content.splitlines())))
    return (cursor.changes(item.text(call), files, succeeded=succeeded, deleted=deleted),)


def _token_count(info: Fields) -> Iterable[rec.Record]:
    named = ("last_token_usage", "total_token_usage")
    last, total = (usage_by(info.get(name), TOKENS, inclusive=True) for name in named)
    if last is None and total is None:
        return ()
    window = info.number("model_context_window")
    return (rec.TokenCount(last or rec.Usage(), total or rec.Usage(), window),)


def _detect(sample: Sample) -> bool:
    wrapped = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
    if any(str(line.get("type")) in wrapped and "payload" in line for line in sample.lines):
        return True
    bare = any("record_type" in line and "type" not in line for line in sample.lines)
    return bare and {"id", "timestamp"} <= sample.lines[0].keys()


FORMAT = Format("codex", "lines", CodexReader, _detect)
