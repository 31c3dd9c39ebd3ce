"""ATIF, the Agent Trajectory Interchange Format, read and written: docs/formats/atif.md.

A step holds a message, its tool calls and their results. A step of the agent becomes one
message and, if it has results, a second one that holds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from msgspec import Struct

from leftoff import codec
from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.formats.injected import typed_spans
from leftoff.formats.lenient_json import (
    count_of,
    dict_of,
    dicts_of,
    fields_of,
    text_of,
    value_of,
)
from leftoff.formats.openai_parts import content_text, decode_arguments, trim_span
from leftoff.formats.reader import Cursor, Format, Sample
from leftoff.formats.thread import ORIGINS
from leftoff.formats.vocabulary import tool_call

# The version written; consumers of later versions read it too.
VERSION = "ATIF-v1.5"


class Step(Struct, gc=False):
    timestamp: object = None
    source: object = None
    model_name: object = None
    message: object = None
    reasoning_content: object = None
    tool_calls: object = None
    observation: object = None
    metrics: object = None
    is_copied_context: object = None
    extra: object = None


_STEP = codec.LineDecoder(Step)
# The text before and after the task, in prompts with examples and instructions.
_TASKS = (
    ("- NEW TASK DESCRIPTION -", "- END OF NEW TASK"),
    ("\nTask Description:\n", "\n\nCurrent terminal state:"),
)
_FUNCTION = re.compile(r"<function=([\w.-]+)>")
_PARAMETER = re.compile(r"<parameter=([\w.-]+)>")
_EXIT_CODE = re.compile(r"(?:exit code:? |returncode=)(-?\d{1,9})")
_STATUSES = frozenset({"ok", "error", "denied", "interrupted", "timeout", "running", "unknown"})


class AtifReader(Struct):
    """Reads one trajectory. Fields are its state."""

    record: ClassVar[Any] = bytes

    model: str = ""
    turns: int = 0
    calls: int = 0
    prompted: bool = False

    def read(self, data: bytes, cursor: Cursor) -> Iterable[rec.Record]:
        document = fields_of(data)
        agent = dict_of(value_of(document.get("agent")))
        self.model = text_of(agent.get("model_name"))
        yield rec.SessionFacts(
            id=text_of(value_of(document.get("session_id"))),
            agent_version=text_of(agent.get("version")),
        )
        for step in cursor.each(document.get("steps"), _STEP):
            if step is None:
                yield rec.Unknown("step")
            elif not step.is_copied_context:
                yield from self._step(step, cursor)

    def _step(self, step: Step, cursor: Cursor) -> Iterator[rec.Record]:
        extra = dict_of(step.extra)
        if dict_of(extra.get("context_management")).get("type") == "compaction":
            yield cursor.compaction("auto")
        if step.source == "agent":
            yield from self._agent_messages(step, extra, cursor)
        elif step.source == "user" or step.source == "system":
            yield self._input_message(step, extra, cursor)
            shown = _results(step, [], extra)
            if shown:
                yield self._message(step, "tool", tuple(shown), cursor)
        else:
            yield rec.Unknown(f"source {step.source}")

    def _input_message(self, step: Step, extra: dict[str, Any], cursor: Cursor) -> rec.Message:
        text = content_text(step.message)
        origin = text_of(extra.get("origin"))
        typed: tuple[rec.Typed, ...] = ()
        if step.source == "user" and origin in {"", "prompt"}:
            task = None if self.prompted else _task(text)
            typed = (rec.Typed(0, *task),) if task is not None else typed_spans(0, text)
            self.prompted = True
        origin = origin if origin in ORIGINS and origin != "prompt" else ""
        role: rec.Role = "user" if step.source == "user" else "system"
        return self._message(step, role, (rec.Text(text),), cursor, origin, typed)

    def _agent_messages(
        self, step: Step, extra: dict[str, Any], cursor: Cursor
    ) -> Iterator[rec.Record]:
        self.turns += 1
        text = content_text(step.message)
        parts: list[rec.Part] = []
        reasoning = text_of(step.reasoning_content)
        if reasoning:
            parts.append(rec.Reasoning(reasoning))
        calls = [
            self._call(
                text_of(c.get("tool_call_id")),
                text_of(c.get("function_name")),
                c.get("arguments"),
            )
            for c in dicts_of(step.tool_calls)
        ]
        if not calls:
            text, calls = self._calls_in_text(text)
        if text:
            parts.append(rec.Text(text))
        parts += calls
        origin = text_of(extra.get("origin"))
        yield self._message(
            step,
            "assistant",
            tuple(parts),
            cursor,
            origin if origin in ORIGINS else "",
            response=text_of(extra.get("response")) or f"r{self.turns}",
        )
        results = _results(step, calls, extra)
        if results:
            role: rec.Role = "tool" if type(results[0]) is rec.ToolResult else "user"
            yield self._message(step, role, tuple(results), cursor)

    def _call(self, identity: str, name: str, given: object) -> rec.ToolCall:
        self.calls += 1
        return tool_call(identity or f"call-{self.calls}", name, given)

    def _calls_in_text(self, text: str) -> tuple[str, list[rec.ToolCall]]:
        """The calls that an agent without function calling writes in its message: JSON with
        keystrokes (terminus), or `<function=...>` markup (OpenHands)."""
        if text.lstrip().startswith("{"):
            given = decode_arguments(text)
            if isinstance(given, dict) and "commands" in given:
                texts = [text_of(given.get("analysis")), text_of(given.get("plan"))]
                typed = [text_of(c.get("keystrokes")) for c in dicts_of(given["commands"])]
                calls = [self._call("", "bash", {"command": "".join(typed)})] if typed else []
                return "\n\n".join(s for s in texts if s), calls
        found = _FUNCTION.search(text)
        closing = text.find("</function>", found.end()) if found is not None else -1
        if found is None or closing < 0:
            return text, []
        inner = text[found.end() : closing]
        arguments: dict[str, str] = {}
        for given in inner.split("</parameter>"):
            opening = _PARAMETER.search(given)
            if opening is not None:
                arguments[opening[1]] = given[opening.end() :].strip("\n")
        return text[: found.start()].rstrip(), [self._call("", found[1], arguments)]

    def _message(
        self,
        step: Step,
        role: rec.Role,
        parts: tuple[rec.Part, ...],
        cursor: Cursor,
        origin: str = "",
        typed: tuple[rec.Typed, ...] = (),
        response: str = "",
    ) -> rec.Message:
        return cursor.message(
            role,
            parts,
            origin,
            typed,
            response=response,
            time=text_of(step.timestamp),
            model=text_of(step.model_name) or self.model,
            usage=_usage(step.metrics),
        )


def _task(text: str) -> tuple[int, int] | None:
    for before, after in _TASKS:
        start = text.rfind(before)
        end = text.find(after, start + len(before)) if start >= 0 else -1
        if end >= 0:
            line = text.find("\n", start + len(before) - 1)
            start, end = trim_span(text, min(line, end) if line >= 0 else end, end)
            return start, max(start, start + len(text[start:end].rstrip("- \n")))
    return None


def _results(step: Step, calls: list[rec.ToolCall], extra: dict[str, Any]) -> list[rec.Part]:
    found: list[rec.Part] = []
    outcomes = dict_of(extra.get("outcomes"))
    for result in dicts_of(dict_of(step.observation).get("results")):
        text = content_text(result.get("content"))
        call = text_of(result.get("source_call_id"))
        if not call and len(calls) == 1:
            call = calls[0].id
        if not call and step.source == "agent":
            if text:
                found.append(rec.Text(text))
            continue
        if not call and not text:
            continue  # only refers to the trajectories of subagents
        known = dict_of(outcomes.get(call))
        status, code = text_of(known.get("status")), known.get("exit_code")
        if not isinstance(code, int) or isinstance(code, bool):
            exited = _EXIT_CODE.search(text[-300:])
            code = int(exited[1]) if exited is not None and not known else None
        if status not in _STATUSES:
            failed = bool(code) or text.lstrip()[:6].upper() == "ERROR:"
            status = "error" if failed else "ok" if code == 0 or call else "unknown"
        found.append(rec.ToolResult(call, text, status, code))
    if any(type(part) is rec.ToolResult for part in found):
        return [p for p in found if type(p) is rec.ToolResult]
    return found


def _usage(metrics: object) -> rec.Usage | None:
    """A step's tokens; `prompt_tokens` include the cached ones."""
    given = dict_of(metrics)
    prompt, output = (
        count_of(given.get("prompt_tokens")),
        count_of(given.get("completion_tokens")),
    )
    cached = count_of(given.get("cached_tokens"))
    more = dict_of(given.get("extra"))
    written = count_of(more.get("cache_creation_input_tokens"))
    thought = count_of(more.get("reasoning_tokens")) or count_of(
        more.get("reasoning_output_tokens")
    )
    if not prompt and not output:
        return None
    return rec.Usage(max(0, prompt - cached - written), output, cached, written, thought)


# -- writing -------------------------------------------------------------------------------


def write(
    messages: Iterable[rec.Message],
    facts: rec.SessionFacts,
    *,
    agent: str = "unknown",
    version: str = VERSION,
) -> bytes:
    """A session as an ATIF trajectory, read by every ATIF consumer.

    Results stand in the step of the call that they answer, as the format requires. What ATIF
    has no field for (whether a prompt was typed, the status of a call) is stored in the steps'
    `extra`. Left out: messages of subagents, media, and the order of words and calls within
    one message.

    Args:
        messages: the messages of one session, in order.
        facts: facts of the session; `id` and `agent_version` are used.
        agent: the recorder's name.
        version: the schema version to name."""
    steps: list[dict[str, Any]] = []
    steps_by_call: dict[str, dict[str, Any]] = {}
    model = ""
    usages: dict[str, rec.Usage] = {}
    steps_by_response: dict[str, dict[str, Any]] = {}
    for message in messages:
        if message.agent:
            continue
        model = model or message.model
        results = [part for part in message.parts if type(part) is rec.ToolResult]
        step = _step(message)
        if step is not None:
            steps.append(step)
            for part in message.parts:
                if type(part) is rec.ToolCall and part.id:
                    steps_by_call[part.id] = step
        for result in results:
            _add_result(result, steps_by_call, steps)
        if message.usage is not None and step is not None:
            # One response may fill several messages, each with the usage of the whole.
            key = message.response or f"message {message.index}"
            before = usages.get(key)
            if before is None or message.usage.total > before.total:
                usages[key] = message.usage
            steps_by_response.setdefault(key, step)
    for key, step in steps_by_response.items():
        step["metrics"] = _metrics(usages[key])
    for number, step in enumerate(steps, 1):
        step["step_id"] = number
    total = sum(usages.values(), rec.Usage())
    described = {"name": agent, "version": facts.agent_version or "unknown"}
    if model:
        described["model_name"] = model
    document: dict[str, Any] = {
        "schema_version": version,
        "session_id": facts.id or "unknown",
        "agent": described,
        "steps": [{k: step[k] for k in _ORDER if k in step} for step in steps],
        "final_metrics": {
            "total_prompt_tokens": total.input + total.cache_read + total.cache_write,
            "total_completion_tokens": total.output,
            "total_cached_tokens": total.cache_read,
            "total_steps": len(steps),
        },
    }
    return codec.dumps(document, indent=2)


_ORDER = (
    "step_id",
    "timestamp",
    "source",
    "model_name",
    "message",
    "reasoning_content",
    "tool_calls",
    "observation",
    "metrics",
    "extra",
)


def _step(message: rec.Message) -> dict[str, Any] | None:
    text = message.text
    is_assistant = message.role == "assistant"
    calls = [part for part in message.parts if type(part) is rec.ToolCall]
    thought = [part.text for part in message.parts if type(part) is rec.Reasoning]
    only_results = not text and not calls and not thought
    if only_results and any(type(part) is rec.ToolResult for part in message.parts):
        return None
    source = (
        "agent" if is_assistant else "user" if message.role in {"user", "tool"} else "system"
    )
    step: dict[str, Any] = {"source": source, "message": text}
    extra: dict[str, Any] = {}
    if message.time:
        step["timestamp"] = message.time
    if is_assistant:
        if message.model:
            step["model_name"] = message.model
        if thought:
            step["reasoning_content"] = "\n\n".join(thought)
        if calls:
            step["tool_calls"] = [
                {
                    "tool_call_id": call.id,
                    "function_name": call.name,
                    "arguments": call.input
                    if isinstance(call.input, dict)
                    else {"input": call.input},
                }
                for call in calls
            ]
        if message.response:
            extra["response"] = message.response
    usual = {"agent": "agent", "user": "prompt", "system": "injected"}[source]
    if message.origin != usual:
        extra["origin"] = message.origin
    if extra:
        step["extra"] = extra
    return step


def _add_result(
    result: rec.ToolResult,
    steps_by_call: dict[str, dict[str, Any]],
    steps: list[dict[str, Any]],
) -> None:
    step = steps_by_call.get(result.call_id) if result.call_id else None
    shown: dict[str, Any] = {"content": result.text}
    if step is None:
        step = {"source": "system", "message": ""}
        steps.append(step)
    else:
        shown = {"source_call_id": result.call_id, **shown}
        outcome: dict[str, Any] = {"status": result.status}
        if result.exit_code is not None:
            outcome["exit_code"] = result.exit_code
        step.setdefault("extra", {}).setdefault("outcomes", {})[result.call_id] = outcome
    step.setdefault("observation", {"results": []})["results"].append(shown)


def _metrics(usage: rec.Usage) -> dict[str, Any]:
    metrics: dict[str, Any] = {
        "prompt_tokens": usage.input + usage.cache_read + usage.cache_write,
        "completion_tokens": usage.output,
        "cached_tokens": usage.cache_read,
    }
    extra: dict[str, Any] = {}
    if usage.cache_write:
        extra["cache_creation_input_tokens"] = usage.cache_write
    if usage.reasoning:
        extra["reasoning_tokens"] = usage.reasoning
    if extra:
        metrics["extra"] = extra
    return metrics


def _detect(sample: Sample) -> bool:
    if "schema_version" not in sample.keys:
        return False
    named = sample.document["schema_version"]
    return isinstance(named, str) and named.startswith("ATIF-")


FORMAT = Format("atif", "document", AtifReader, _detect)
