"""OpenHands: event lists, and evaluation outputs with one instance on each line.

Actions are the agent's calls, observations their results, paired by `cause`; the oldest files
have neither ids nor sources and are paired by order. Events of the agent SDK (version 1) name
their kind and pair by the id of the call: docs/formats/openhands.md."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import ClassVar

from msgspec import Raw, Struct, field
from msgspec.structs import asdict

from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.formats.injected import task_span, task_spans, typed_spans
from leftoff.formats.lenient_json import Fields, dicts_of, items_of, text_of, value_of
from leftoff.formats.openai_parts import (
    calls_of,
    content_text,
    decode_arguments,
    reply_parts,
    trim_span,
    usage_of,
)
from leftoff.formats.reader import Builder, Cursor, Format, ItemReader, Sample, mostly
from leftoff.formats.vocabulary import KINDS

IGNORED_ACTIONS = KINDS["openhands_ignored_actions"]
IGNORED_OBSERVATIONS = frozenset({"agent_state_changed", "null", "success", "loop_detection"})
CALLS = KINDS["openhands_calls"]
RESULTS = KINDS["openhands_results"]
# Events of the agent SDK that carry nothing of the conversation, or what another one does.
IGNORED_KINDS = KINDS["openhands_ignored_kinds"]
# The reason that the SDK writes when the person gave none.
_REJECTED = "User rejected the action"
# Where the server's answers hold the events.
_EVENT_LISTS = ("trajectory", "events", "items")
_HEADING = re.compile(r"(?m)^# (?:Issue|Problem Statement|Title)\b[^\n]*\n")
_NO_ARGUMENTS = frozenset({"thought", "kernel_init_code", "is_confirmed", "action_risk"})


class OpenHandsReader(ItemReader):
    """Reads the events of one document, or one on each line. Fields are its state."""

    lists = (*_EVENT_LISTS, "history")

    response: str = ""
    spoken: bool = False  # a prompt was read: a message without a source is the agent's
    created: list[str] = field(default_factory=list)
    """Ids of calls that may create a file; their results show whether they did."""
    prompt_total: int = 0
    output_total: int = 0  # accumulated tokens of the last event that records them

    def _document(self, data: bytes, cursor: Cursor) -> Iterator[rec.Record]:
        """The whole document: a list of events, or one instance with its `history`."""
        document = Fields.of(data)
        return self.instance(
            document, document.raw(*self.lists) if document.value else data, cursor
        )

    def instance(
        self, document: Fields, events: bytes | Raw, cursor: Cursor
    ) -> Iterator[rec.Record]:
        """One instance: what it says of itself, then its events."""
        yield from self.head(document)
        action = ""
        for place, given in enumerate(items_of(events)):
            # The oldest files hold pairs of an action and its observation.
            for event in items_of(given) or (given,):
                if not cursor.line:
                    cursor.item = place
                cursor.raw = bytes(event)
                read = Fields(value_of(event))
                action = text_of(read.get("action")) or action
                yield from self.item(read, cursor)
        if action == "finish" and document.get("history"):
            yield rec.Turn("ended", action)  # of a run without a person

    def head(self, document: Fields) -> Iterable[rec.Record]:
        """What an instance says of itself."""
        self.model = document.text("metadata.llm_config.model")
        started = document.text("metadata.start_time")
        facts = rec.SessionFacts(id=_identity(document), started=started)
        if facts.id or facts.started:
            yield facts

    def item(self, event: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        # In the events of the SDK the fields `action` and `observation` are objects.
        kind, action = event.text("kind"), text_of(event.get("action"))
        folder = event.text("extras.metadata.working_dir", "observation.metadata.working_dir")
        self.cwd = folder or self.cwd
        say = partial(cursor.message, time=event.text("timestamp"), cwd=self.cwd)
        if kind and not action:
            return self._sdk_event(event, kind, say, cursor)
        if observation := text_of(event.get("observation")):
            return self._observation(event, observation, say)
        if not action:
            return (rec.Unknown("event"),)
        if action == "message" or action == "system":
            return (self._text_message(event, action, say),)
        if action == "condensation":
            return cursor.compacted(event.text("args.summary"), "auto", message=say)
        if action in IGNORED_ACTIONS:
            return ()
        if action not in CALLS and not event.get("tool_call_metadata"):
            return (rec.Unknown(f"action {action}"),)
        return (self._action_message(event, action, say),)

    def _sdk_event(
        self, event: Fields, kind: str, say: Builder, cursor: Cursor
    ) -> Iterable[rec.Record]:
        match kind:
            case "ActionEvent":
                yield self._sdk_action(event, say)
            case "MessageEvent":
                yield self._sdk_message(event, say)
            case "ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation":
                yield self._sdk_result(event, kind, say)
            case "SystemPromptEvent":
                yield say("system", (rec.Text(content_text([event.get("system_prompt")])),))
            case "ConversationErrorEvent":
                yield say("system", (rec.Text(event.text("detail")),), "meta")
                yield rec.Turn("failed", event.text("detail", "code"))
            case "Condensation":
                yield from cursor.compacted(event.text("summary"), "auto", message=say)
            case _ if kind not in IGNORED_KINDS:
                yield rec.Unknown(f"event {kind}")

    def _sdk_message(self, event: Fields, say: Builder) -> rec.Message:
        said = event.at("llm_message")
        text = content_text(said.get("content"))
        if event.get("source") == "agent":
            thought = _sdk_thought(event, said)
            return self._reply(event, reply_parts(thought, "", (rec.Text(text),)), say)
        # Skills that the recorder adds to the prompt; nobody typed them.
        added = content_text(event.get("extended_content"))
        shown = (rec.Text(text), rec.Text(added)) if added else (rec.Text(text),)
        return say("user", shown, "", _task(text) if event.get("source") == "user" else ())

    def _sdk_action(self, event: Fields, say: Builder) -> rec.Message:
        name = event.text("tool_name", "tool_call.name")
        given = decode_arguments(event.get("tool_call.arguments"))
        if not isinstance(given, dict):
            given = {k: v for k, v in event.at("action").value.items() if k != "kind"}
        words = content_text(event.get("thought"))
        final = Fields(given).text("message") if name == "finish" else ""
        call = self.call(event.text("tool_call_id"), name, given)
        parts = reply_parts("", final, (call,))
        thought, said = _sdk_thought(event, Fields(None)), words if words.strip() else ""
        return self._reply(event, reply_parts(thought, said, parts), say)

    def _sdk_result(self, event: Fields, kind: str, say: Builder) -> rec.Message:
        call = event.text("tool_call_id")
        call = self.answered(call) if call else ""
        typed: tuple[rec.Typed, ...] = ()
        if kind == "UserRejectObservation":
            text = event.text("rejection_reason")
            result = rec.ToolResult(call, text, "denied")
            if text and text != _REJECTED:
                typed = (rec.Typed(0, 0, len(text), "rejection"),)
        elif kind == "AgentErrorEvent":
            result = rec.ToolResult(call, event.text("error"), "error")
        else:
            result = self._sdk_observation(call, event.at("observation"))
        return say("tool", (result,), "", typed)

    def _sdk_observation(self, call: str, seen: Fields) -> rec.ToolResult:
        text = content_text(seen.get("content")) or seen.text("output")
        code = seen.number("metadata.exit_code", "exit_code")
        status = "error" if seen.get("is_error") is True or code else "ok"
        if code == -1:  # the command had not come back
            late = seen.get("timeout") is True or "timed out" in seen.text("metadata.suffix")
            status, code = ("timeout" if late else "running"), None
        existed = seen.get("prev_exist")
        known = status == "ok" and isinstance(existed, bool)
        detail = {"created": not existed} if known else None
        return rec.ToolResult(call, text, status, code, detail)

    def _text_message(self, event: Fields, action: str, say: Builder) -> rec.Message:
        text = content_text(event.get("args.content")) or content_text(event.get("content"))
        text = text or event.text("message")
        if action == "system":
            return say("system", (rec.Text(text),))
        source = event.get("source")
        if source == "user" or not isinstance(source, str) and not self.spoken:
            typed = typed_spans(0, text) if self.spoken else _task(text)
            self.spoken = True
            return say("user", (rec.Text(text),), "", typed)
        if source == "environment":
            return say("user", (rec.Text(text),))
        return self._reply(event, (rec.Text(text),), say)

    def _action_message(self, event: Fields, action: str, say: Builder) -> rec.Message:
        flat = not isinstance(event.get("args"), dict)
        args = event if flat else event.at("args")
        thought = args.text("thought") or event.text("thought")
        if action == "finish":
            thought = args.text("final_thought") or thought or event.text("message")
        name, given = _call(event.at("tool_call_metadata"), action, args, flat=flat)
        number = event.get("id")
        call = self.call(f"event-{number}" if isinstance(number, int) else "", name, given)
        if action == "run_ipython" or action == "edit" or action == "write":
            self.created = [*self.created[-15:], call.id]
        response, reasoning = event.at("tool_call_metadata.model_response"), ""
        if response.text("id") != self.response or not self.response:
            reasoning = _reply_message(response).text("reasoning_content")
        said = thought if thought.strip() and action != "think" else ""
        return self._reply(event, reply_parts(reasoning, said, (call,)), say)

    def _reply(self, event: Fields, parts: tuple[rec.Part, ...], say: Builder) -> rec.Message:
        facts = event.at("tool_call_metadata.model_response")
        self.turns += 1
        self.response = facts.text("id") or event.text("llm_response_id") or f"r{self.turns}"
        return say(
            "assistant",
            parts,
            response=self.response,
            model=facts.text("model") or self.model,
            usage=usage_of(facts.get("usage")) or self._accumulated(event),
        )

    def _accumulated(self, event: Fields) -> rec.Usage | None:
        """The growth of the accumulated tokens, for replies whose response is not recorded."""
        total = event.at("llm_metrics.accumulated_token_usage")
        prompt, output = total.count("prompt_tokens"), total.count("completion_tokens")
        if prompt <= self.prompt_total or output < self.output_total:
            return None
        usage = rec.Usage(prompt - self.prompt_total, output - self.output_total)
        self.prompt_total, self.output_total = prompt, output
        return usage

    def _observation(self, event: Fields, kind: str, say: Builder) -> Iterable[rec.Record]:
        if kind in IGNORED_OBSERVATIONS:
            return ()
        text, extras = content_text(event.get("content")), event.at("extras")
        if kind == "recall":
            known = (k.text("content") for k in extras.each("microagent_knowledge"))
            text = "\n\n".join([text, *filter(None, known)])
            return (say("user", (rec.Text(text),)),)
        if kind not in RESULTS and not event.get("tool_call_metadata"):
            return (rec.Unknown(f"observation {kind}"),)
        if isinstance(cause := event.get("cause"), int):
            call = f"event-{cause}"
        else:
            # Errors without a cause answer no call; the oldest results answer the last one.
            call = self.waiting[-1][0] if self.waiting and kind != "error" else ""
        if not any(call == known for known, _ in self.waiting):
            return (say("user", (rec.Text(text),)),)
        self.answered(call)
        code = extras.number("metadata.exit_code", "exit_code")
        code = event.number("exit_code") if code is None else code
        result = self._result(call, kind, text, code, extras)
        return (say("tool", (result,)),)

    def _result(
        self, call: str, kind: str, text: str, code: int | None, extras: Fields
    ) -> rec.ToolResult:
        status = "ok"
        cell = kind == "run_ipython" and any(mark in text for mark in _FAILED_CELL)
        if kind == "user_rejected":
            status = "denied"
        elif kind == "error" or text.lstrip()[:6].upper() == "ERROR:":
            status = "error"
        elif code == -1:  # the command was still running when the observation was written
            status, code = ("timeout" if "timed out" in text[-400:] else "running"), None
        elif code or cell:
            status = "error"
        detail: dict[str, object] | None = None
        if status == "ok" and call in self.created and "old_content" in extras.value:
            new = extras.get("old_content") is None and extras.get("prev_exist") is False
            detail = {"created": new}
        return rec.ToolResult(call, text, status, code, detail)


# What a Python cell prints where it failed, or where the editor in it changed nothing.
_FAILED_CELL = (
    "Traceback (most recent call last)",
    "[Your proposed edit has introduced new syntax error",
    "[No exact match found in ",
)


class Instance(Struct, gc=False):
    """One line of an evaluation output."""

    instance_id: object = None
    issue: object = None
    metadata: object = None
    history: Raw = Raw(b"")


class OpenHandsOutputReader(Struct):
    """Reads an evaluation output: each line is one instance, that is one session."""

    record: ClassVar[type] = Instance

    def read(self, instance: Instance, cursor: Cursor) -> Iterable[rec.Record]:
        if not bytes(instance.history).lstrip().startswith(b"["):
            return (rec.Unknown("line without history"),)
        document = Fields(asdict(instance))
        name = _identity(document) or f"line-{cursor.line}"
        # The session begins before its first message is numbered.
        events = OpenHandsReader().instance(document, instance.history, cursor)
        return chain((rec.NewSession(name),), events)


def _sdk_thought(event: Fields, said: Fields) -> str:
    """The thoughts of an event of the agent SDK; encrypted ones have no text."""
    text = event.text("reasoning_content") or said.text("reasoning_content")
    blocks = event.each("thinking_blocks") or said.each("thinking_blocks")
    return text or "\n\n".join(filter(None, (b.text("thinking") for b in blocks)))


def _task(text: str) -> tuple[rec.Typed, ...]:
    """The typed spans of a first prompt; in some the task stands below a heading."""
    heading = _HEADING.search(text)
    if heading is None or task_span(text) is not None:
        return task_spans(text)
    end = text.find("\n# ", heading.end())
    return (rec.Typed(0, *trim_span(text, heading.end(), end if end >= 0 else len(text))),)


def _identity(instance: Fields) -> str:
    if isinstance(named := instance.get("instance_id"), str | int):
        return str(named)
    repo, number = instance.get("issue.repo"), instance.get("issue.number")
    if isinstance(number, int) and isinstance(repo, str):
        return f"{instance.text('issue.owner')}-{repo}-{number}".replace("/", "-")
    return ""


def _reply_message(response: Fields) -> Fields:
    choices = response.each("choices")
    return choices[0].at("message") if choices else Fields(None)


def _call(metadata: Fields, action: str, args: Fields, *, flat: bool) -> tuple[str, object]:
    name = metadata.text("function_name")
    reply = _reply_message(metadata.at("model_response"))
    for call in calls_of(reply.get("tool_calls")):
        if call.id == metadata.get("tool_call_id") and call.name == name and call.input:
            return name, call.input
    left_out = _NO_ARGUMENTS | ({"action", "message"} if flat else set())
    return name or action, {k: v for k, v in args.value.items() if k not in left_out}


def _is_sdk_event(item: object) -> bool:
    """Whether this is an event of the agent SDK: a kind, who caused it, and its content."""
    match item:
        case {"source": "user" | "agent" | "environment", "kind": str(kind)}:
            return kind in KINDS["openhands_sdk_kinds"] or kind in IGNORED_KINDS
    return False


def _is_event(item: object) -> bool:
    """Whether this is an event of either generation."""
    keys = Fields(item).value.keys()
    known = {"action", "observation"} & keys and {"source", "args", "extras", "cause"} & keys
    return bool(known) or _is_sdk_event(item)


def _is_instance(item: dict[str, object]) -> bool:
    """Whether this is an instance of an evaluation output, with a history of events."""
    history = item.get("history")
    named = {"instance_id", "issue", "git_patch"} & item.keys()
    if not named or not isinstance(history, list):
        return False
    return bool({"test_result", "git_patch"} & item.keys()) or any(
        "action" in e or "observation" in e or _is_sdk_event(e) for e in dicts_of(history)
    )


def _detect(sample: Sample) -> bool:
    if "history" not in sample.keys:
        return mostly(_is_event, sample.listed(*_EVENT_LISTS))
    # One instance alone on one line is an output file, see below.
    return not OUTPUT.detect(sample) and _is_instance(sample.document)


FORMAT = Format("openhands", "document", OpenHandsReader, _detect)
OUTPUT = Format(
    "openhands_output",
    "lines",
    OpenHandsOutputReader,
    lambda sample: any(map(_is_instance, sample.lines[:3])),
    several=True,
)
LINES = Format(
    "openhands_lines",
    "lines",
    OpenHandsReader,
    lambda sample: any(map(_is_sdk_event, sample.lines[:3])),
)
