"""OpenHands: event lists, and evaluation outputs with one instance on each line.

Actions are the agent's calls, observations their results, paired by `cause`; the oldest files
have neither ids nor sources and are paired by order. Events of the agent SDK (version 1) name
their kind and pair by the id of the call: docs/formats/openhands.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, ClassVar

from msgspec import Raw, Struct

from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.codec import LineDecoder
from leftoff.formats.injected import typed_spans
from leftoff.formats.lenient_json import (
    count_of,
    dict_of,
    dicts_of,
    fields_of,
    int_of,
    items_of,
    text_of,
    value_of,
)
from leftoff.formats.openai_parts import (
    calls_of,
    content_text,
    decode_arguments,
    tag_spans,
    trim_span,
    usage_of,
)
from leftoff.formats.openhands_events import (
    CALLS,
    IGNORED_ACTIONS,
    IGNORED_KINDS,
    IGNORED_OBSERVATIONS,
    RESULTS,
    Event,
    is_event,
    is_instance,
    is_sdk_event,
)
from leftoff.formats.reader import Cursor, Format, Sample
from leftoff.formats.vocabulary import tool_call


class Instance(Struct, gc=False):
    """One line of an evaluation output."""

    instance_id: object = None
    issue: object = None
    metadata: object = None
    history: Raw = Raw(b"")


_EVENT = LineDecoder(Event)
# The reason that the SDK writes when the person gave none.
_REJECTED = "User rejected the action"
_TASKS = ("issue_description", "pr_description", "problem_statement")
# Where the server's answers hold the events.
_EVENT_LISTS = ("trajectory", "events", "items")
_HEADING = re.compile(r"(?m)^# (?:Issue|Problem Statement|Title)\b[^\n]*\n")
_NO_ARGUMENTS = frozenset({"thought", "kernel_init_code", "is_confirmed", "action_risk"})


class OpenHandsReader(Struct):
    """Reads the events of one document. Fields are its state."""

    record: ClassVar[Any] = bytes

    model: str = ""
    cwd: str = ""
    calls: int = 0
    turns: int = 0
    response: str = ""
    spoken: bool = False
    """A prompt was read, so a message without a source is the agent's."""
    waiting: list[str] = []
    created: list[str] = []
    """Ids of calls that may create a file; their results show whether they did."""
    prompt_total: int = 0
    output_total: int = 0
    """Accumulated tokens of the last event that records them."""

    def read(self, data: bytes, cursor: Cursor) -> Iterable[rec.Record]:
        """The whole document: a list of events, or one instance with its `history`."""
        document = fields_of(data)
        if not document:
            return self._events(items_of(data), cursor)
        for name in _EVENT_LISTS:
            if name in document:
                return self._events(items_of(document[name]), cursor)
        instance = Instance(
            value_of(document.get("instance_id")),
            value_of(document.get("issue")),
            value_of(document.get("metadata")),
            document.get("history", Raw(b"")),
        )
        return self.read_instance(instance, cursor)

    def read_instance(self, instance: Instance, cursor: Cursor) -> Iterator[rec.Record]:
        """One instance: what it says of itself, then its events."""
        metadata = dict_of(instance.metadata)
        self.model = text_of(dict_of(metadata.get("llm_config")).get("model"))
        facts = rec.SessionFacts(
            id=_identity(instance), started=text_of(metadata.get("start_time"))
        )
        if facts.id or facts.started:
            yield facts
        yield from self._events(items_of(instance.history), cursor)

    def _events(self, events: Iterable[Raw], cursor: Cursor) -> Iterator[rec.Record]:
        for place, given in enumerate(events):
            # The oldest files hold pairs of an action and its observation.
            pair = items_of(given)
            for event in pair or (given,):
                cursor.raw = bytes(event)
                if not cursor.line:
                    cursor.item = place
                found, _ = _EVENT.decode(cursor.raw)
                if found:
                    yield from self._event(found[0], cursor)
                else:
                    yield rec.Unknown("event")

    def _event(self, event: Event, cursor: Cursor) -> Iterable[rec.Record]:
        if isinstance(event.kind, str) and not isinstance(event.action, str):
            return self._sdk_event(event, event.kind, cursor)
        if isinstance(event.observation, str):
            return self._observation(event, event.observation, cursor)
        if not isinstance(event.action, str):
            return (rec.Unknown("event"),)
        action = event.action
        if action == "message" or action == "system":
            return (self._text_message(event, cursor),)
        if action == "condensation":
            return (cursor.compaction("auto"),)
        if action in IGNORED_ACTIONS:
            return ()
        if action not in CALLS and not event.tool_call_metadata:
            return (rec.Unknown(f"action {action}"),)
        return (self._action_message(event, action, cursor),)

    def _sdk_event(self, event: Event, kind: str, cursor: Cursor) -> Iterable[rec.Record]:
        if kind == "ActionEvent":
            return (self._sdk_action(event, cursor),)
        if kind == "MessageEvent":
            return (self._sdk_message(event, cursor),)
        if kind in {"ObservationEvent", "AgentErrorEvent", "UserRejectObservation"}:
            return (self._sdk_result(event, kind, cursor),)
        if kind == "SystemPromptEvent":
            shown = rec.Text(content_text([event.system_prompt]))
            return (self._message(event, "system", shown, cursor),)
        if kind == "ConversationErrorEvent":
            shown = rec.Text(text_of(event.detail))
            return (self._message(event, "system", shown, cursor, origin="meta"),)
        if kind == "Condensation":
            return (cursor.compaction("auto"),)
        return () if kind in IGNORED_KINDS else (rec.Unknown(f"event {kind}"),)

    def _sdk_message(self, event: Event, cursor: Cursor) -> rec.Message:
        said = dict_of(event.llm_message)
        text = content_text(said.get("content"))
        if event.source == "agent":
            return self._reply(event, [*_sdk_thoughts(event, said), rec.Text(text)], cursor)
        typed: tuple[rec.Typed, ...] = ()
        if event.source == "user":
            span = _task_span(text)
            typed = (rec.Typed(0, *span),) if span is not None else typed_spans(0, text)
        # Skills that the recorder adds to the prompt; nobody typed them.
        added = content_text(event.extended_content)
        shown = (rec.Text(text), rec.Text(added)) if added else (rec.Text(text),)
        return self._message(event, "user", shown, cursor, typed)

    def _sdk_action(self, event: Event, cursor: Cursor) -> rec.Message:
        self.calls += 1
        call = dict_of(event.tool_call)
        name = text_of(event.tool_name) or text_of(call.get("name"))
        given = decode_arguments(call.get("arguments"))
        if not isinstance(given, dict):
            given = {k: v for k, v in dict_of(event.action).items() if k != "kind"}
        identity = text_of(event.tool_call_id) or f"call-{self.calls}"
        self.waiting = [*self.waiting[-63:], identity]
        parts: list[rec.Part] = [*_sdk_thoughts(event, {})]
        thought = content_text(event.thought)
        if thought.strip():
            parts.append(rec.Text(thought))
        if name == "finish" and text_of(given.get("message")):
            parts.append(rec.Text(text_of(given.get("message"))))
        parts.append(tool_call(identity, name, given))
        return self._reply(event, parts, cursor)

    def _sdk_result(self, event: Event, kind: str, cursor: Cursor) -> rec.Message:
        call = text_of(event.tool_call_id)
        self.waiting = [w for w in self.waiting if w != call]
        typed: tuple[rec.Typed, ...] = ()
        if kind == "UserRejectObservation":
            text = text_of(event.rejection_reason)
            result = rec.ToolResult(call, text, "denied")
            if text and text != _REJECTED:
                typed = (rec.Typed(0, 0, len(text), "rejection"),)
        elif kind == "AgentErrorEvent":
            result = rec.ToolResult(call, text_of(event.error), "error")
        else:
            result = self._sdk_observation(call, dict_of(event.observation))
        return self._message(event, "tool", result, cursor, typed)

    def _sdk_observation(self, call: str, seen: dict[str, Any]) -> rec.ToolResult:
        text = content_text(seen.get("content")) or text_of(seen.get("output"))
        facts = dict_of(seen.get("metadata"))
        self.cwd = text_of(facts.get("working_dir")) or self.cwd
        code = _exit_code(facts.get("exit_code"), seen.get("exit_code"))
        status = "error" if seen.get("is_error") is True or code else "ok"
        if code == -1:  # the command had not come back
            late = seen.get("timeout") is True or "timed out" in text_of(facts.get("suffix"))
            status, code = ("timeout" if late else "running"), None
        detail: dict[str, Any] | None = None
        if status == "ok" and isinstance(seen.get("prev_exist"), bool):
            detail = {"created": not seen["prev_exist"]}
        return rec.ToolResult(call, text, status, code, detail)

    def _text_message(self, event: Event, cursor: Cursor) -> rec.Message:
        args = dict_of(event.args)
        text = (
            content_text(args.get("content"))
            or content_text(event.content)
            or text_of(event.message)
        )
        if event.action == "system":
            return self._message(event, "system", rec.Text(text), cursor)
        source = event.source
        if source == "user" or not isinstance(source, str) and not self.spoken:
            typed = typed_spans(0, text)
            if not self.spoken:
                task = _task_span(text)
                typed = (rec.Typed(0, *task),) if task is not None else typed
            self.spoken = True
            return self._message(event, "user", rec.Text(text), cursor, typed)
        if source == "environment":
            return self._message(event, "user", rec.Text(text), cursor)
        return self._reply(event, [rec.Text(text)], cursor)

    def _action_message(self, event: Event, action: str, cursor: Cursor) -> rec.Message:
        self.calls += 1
        call_metadata = dict_of(event.tool_call_metadata)
        flat = not isinstance(event.args, dict)
        args = dict_of(value_of(Raw(cursor.raw)) if flat else event.args)
        thought = text_of(args.get("thought")) or text_of(event.thought)
        if action == "finish":
            thought = text_of(args.get("final_thought")) or thought or text_of(event.message)
        name, given = _call(call_metadata, action, args, flat=flat)
        identity = f"event-{event.id}" if isinstance(event.id, int) else f"call-{self.calls}"
        if action == "run_ipython" or action == "edit" or action == "write":
            self.created = [*self.created[-15:], identity]
        self.waiting = [*self.waiting[-63:], identity]
        parts: list[rec.Part] = []
        response = dict_of(call_metadata.get("model_response"))
        if text_of(response.get("id")) != self.response or not self.response:
            reasoning = text_of(_reply_message(response).get("reasoning_content"))
            if reasoning:
                parts.append(rec.Reasoning(reasoning))
        if thought.strip() and action != "think":
            parts.append(rec.Text(thought))
        parts.append(tool_call(identity, name, given))
        return self._reply(event, parts, cursor)

    def _message(
        self,
        event: Event,
        role: rec.Role,
        shown: rec.Part | tuple[rec.Part, ...],
        cursor: Cursor,
        typed: tuple[rec.Typed, ...] = (),
        origin: str = "",
    ) -> rec.Message:
        parts = shown if isinstance(shown, tuple) else (shown,)
        time = text_of(event.timestamp)
        return cursor.message(role, parts, origin, typed, time=time, cwd=self.cwd)

    def _reply(self, event: Event, parts: list[rec.Part], cursor: Cursor) -> rec.Message:
        facts = dict_of(dict_of(event.tool_call_metadata).get("model_response"))
        self.turns += 1
        self.response = text_of(facts.get("id")) or text_of(event.llm_response_id)
        self.response = self.response or f"r{self.turns}"
        return cursor.message(
            "assistant",
            tuple(parts),
            response=self.response,
            time=text_of(event.timestamp),
            model=text_of(facts.get("model")) or self.model,
            cwd=self.cwd,
            usage=usage_of(facts.get("usage")) or self._accumulated(event.llm_metrics),
        )

    def _accumulated(self, metrics: object) -> rec.Usage | None:
        """The growth of the accumulated tokens, for replies whose response is not recorded."""
        total = dict_of(dict_of(metrics).get("accumulated_token_usage"))
        prompt = count_of(total.get("prompt_tokens"))
        output = count_of(total.get("completion_tokens"))
        if prompt <= self.prompt_total or output < self.output_total:
            return None
        usage = rec.Usage(prompt - self.prompt_total, output - self.output_total)
        self.prompt_total, self.output_total = prompt, output
        return usage

    def _observation(self, event: Event, kind: str, cursor: Cursor) -> Iterable[rec.Record]:
        if kind in IGNORED_OBSERVATIONS:
            return ()
        text = content_text(event.content)
        extras = dict_of(event.extras)
        if kind == "recall":
            known = [
                text_of(k.get("content")) for k in dicts_of(extras.get("microagent_knowledge"))
            ]
            text = "\n\n".join([text, *(k for k in known if k)])
            return (self._message(event, "user", rec.Text(text), cursor),)
        if kind not in RESULTS and not event.tool_call_metadata:
            return (rec.Unknown(f"observation {kind}"),)
        if isinstance(event.cause, int):
            call = f"event-{event.cause}"
        else:
            # Errors without a cause answer no call; the oldest results answer the last one.
            call = self.waiting[-1] if self.waiting and kind != "error" else ""
        if call not in self.waiting:
            return (self._message(event, "user", rec.Text(text), cursor),)
        self.waiting = [w for w in self.waiting if w != call]
        facts = dict_of(extras.get("metadata"))
        self.cwd = text_of(facts.get("working_dir")) or self.cwd
        result = self._result(call, kind, text, event, extras, facts)
        return (self._message(event, "tool", result, cursor),)

    def _result(
        self,
        call: str,
        kind: str,
        text: str,
        event: Event,
        extras: dict[str, Any],
        facts: dict[str, Any],
    ) -> rec.ToolResult:
        code = _exit_code(facts.get("exit_code"), extras.get("exit_code"), event.exit_code)
        status = "ok"
        if kind == "user_rejected":
            status = "denied"
        elif kind == "error" or text.lstrip()[:6].upper() == "ERROR:":
            status = "error"
        elif code == -1:  # the command was still running when the observation was written
            status, code = ("timeout" if "timed out" in text[-400:] else "running"), None
        elif code:
            status = "error"
        elif kind == "run_ipython" and any(mark in text for mark in _FAILED_CELL):
            status = "error"
        detail: dict[str, Any] | None = None
        if status == "ok" and call in self.created and "old_content" in extras:
            old = extras.get("old_content")
            detail = {"created": old is None and extras.get("prev_exist") is False}
        return rec.ToolResult(call, text, status, code, detail)


# What a Python cell prints where it failed, or where the editor in it changed nothing.
_FAILED_CELL = (
    "Traceback (most recent call last)",
    "[Your proposed edit has introduced new syntax error",
    "[No exact match found in ",
)


class OpenHandsLinesReader(OpenHandsReader):
    """Reads events of the agent SDK, one on each line."""

    record: ClassVar[Any] = Event

    def read(self, event: Any, cursor: Cursor) -> Iterable[rec.Record]:
        return self._event(event, cursor)


class OpenHandsOutputReader(Struct):
    """Reads an evaluation output: each line is one instance, that is one session."""

    record: ClassVar[Any] = Instance

    def read(self, instance: Instance, cursor: Cursor) -> Iterable[rec.Record]:
        if not bytes(instance.history).lstrip().startswith(b"["):
            return (rec.Unknown("line without history"),)
        name = _identity(instance) or f"line-{cursor.line}"
        # The session begins before its first message is numbered.
        return chain((rec.NewSession(name),), OpenHandsReader().read_instance(instance, cursor))


def _sdk_thoughts(event: Event, said: dict[str, Any]) -> Iterator[rec.Part]:
    """The thoughts of an event of the agent SDK; encrypted ones have no text."""
    text = text_of(event.reasoning_content) or text_of(said.get("reasoning_content"))
    blocks = dicts_of(event.thinking_blocks) or dicts_of(said.get("thinking_blocks"))
    text = text or "\n\n".join(filter(None, [text_of(b.get("thinking")) for b in blocks]))
    if text:
        yield rec.Reasoning(text)


def _task_span(text: str) -> tuple[int, int] | None:
    for _, start, end in tag_spans(text, _TASKS):
        return trim_span(text, start, end)
    heading = _HEADING.search(text)
    if heading is None:
        return None
    end = text.find("\n# ", heading.end())
    return trim_span(text, heading.end(), end if end >= 0 else len(text))


def _exit_code(*values: Any) -> int | None:
    return next((code for code in map(int_of, values) if code is not None), None)


def _identity(instance: Instance) -> str:
    if isinstance(instance.instance_id, str | int):
        return str(instance.instance_id)
    issue = dict_of(instance.issue)
    owner, repo, number = issue.get("owner"), issue.get("repo"), issue.get("number")
    if isinstance(number, int) and isinstance(repo, str):
        return f"{text_of(owner)}-{repo}-{number}".replace("/", "-")
    return ""


def _reply_message(response: dict[str, Any]) -> dict[str, Any]:
    choices = dicts_of(response.get("choices"))
    return dict_of(choices[0].get("message")) if choices else {}


def _call(
    call_metadata: dict[str, Any], action: str, args: dict[str, Any], *, flat: bool
) -> tuple[str, Any]:
    name = text_of(call_metadata.get("function_name"))
    for call in calls_of(
        _reply_message(dict_of(call_metadata.get("model_response"))).get("tool_calls")
    ):
        if call.id == call_metadata.get("tool_call_id") and call.name == name and call.input:
            return name, call.input
    left_out = _NO_ARGUMENTS | ({"action", "message"} if flat else set())
    return name or action, {k: v for k, v in args.items() if k not in left_out}


def _detect(sample: Sample) -> bool:
    document = sample.document
    if isinstance(document, list):
        events = [is_event(item) for item in sample.items]
        return bool(events) and sum(events) * 2 > len(events)
    if isinstance(document, dict) and not isinstance(document.get("history"), list):
        listed = next((v for n in _EVENT_LISTS if isinstance(v := document.get(n), list)), [])[
            : sample.LINES
        ]
        return bool(listed) and sum(map(is_event, listed)) * 2 > len(listed)
    # One instance alone on one line is an output file, see below.
    return isinstance(document, dict) and not OUTPUT.detect(sample) and is_instance(document)


def _detect_output(sample: Sample) -> bool:
    return any(is_instance(line) for line in sample.lines[:3])


def _detect_lines(sample: Sample) -> bool:
    return any(is_sdk_event(line) for line in sample.lines[:3])


FORMAT = Format("openhands", "document", OpenHandsReader, _detect)
OUTPUT = Format(
    "openhands_output", "lines", OpenHandsOutputReader, _detect_output, several=True
)
LINES = Format("openhands_lines", "lines", OpenHandsLinesReader, _detect_lines)
