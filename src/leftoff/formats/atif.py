"""ATIF, the Agent Trajectory Interchange Format, read and written: docs/formats/atif.md.

A step holds a message, its tool calls and their results. A step of the agent becomes one
message and, if it has results, a second one that holds them."""

from collections.abc import Iterable
from functools import partial
from typing import Any, TypeAlias

from leftoff import codec
from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.formats import text_calls
from leftoff.formats.injected import task_spans, typed_spans
from leftoff.formats.lenient_json import Fields, code_in, usage_by
from leftoff.formats.openai_parts import content_text, decode_arguments, reply_parts
from leftoff.formats.reader import Cursor, Format, ItemReader, holds_results
from leftoff.formats.thread import ORIGINS
from leftoff.formats.vocabulary import PROGRAMS, final_call, with_closing_words

# The version written; consumers of later versions read it too.
VERSION = "ATIF-v1.5"

_EXIT_CODE = re.compile(r"(?:exit code:? |returncode=)(-?\d{1,9})")
_WRITTEN = "cache_creation_input_tokens"
# A step as it is written, by field.
Step: TypeAlias = dict[str, Any]
_STATUSES = frozenset({"ok", "error", "denied", "interrupted", "timeout", "running", "unknown"})


class AtifReader(ItemReader):
    lists = ("steps",)

    prompted: bool = False
    final: str = ""  # the call with which the agent ended its work, if nothing came after it

    def head(self, document: Fields) -> Iterable[rec.Record]:
        self.model = document.text("agent.model_name")
        yield document.facts(id="session_id", agent_version="agent.version")

    def item(self, step: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        if not step.value:
            yield rec.Unknown("step")
            return
        if step.get("is_copied_context"):
            # The steps of an earlier trajectory: what they did and spent is recorded there. But
            # the task stands nowhere else; later words in the person's place are another
            # agent's.
            if self.prompted or step.get("source") != "user":
                return
        if step.text("extra.context_management.type") == "compaction":
            yield cursor.compaction("auto")
        used = usage_by(step.get("metrics"), _TOKENS, inclusive=True)
        message = partial(
            cursor.message,
            time=step.text("timestamp"),
            model=step.text("model_name") or self.model,
            usage=used if used is not None and used.total else None,
        )
        text, origin = content_text(step.get("message")), step.text("extra.origin")
        calls: list[rec.ToolCall] = []
        match step.get("source"):
            case "agent":
                self.turns += 1
                for c in step.each("tool_calls"):
                    call, name = c.text("tool_call_id"), c.text("function_name")
                    calls.append(self.call(call, name, c.get("arguments")))
                if not calls:
                    text, calls = self._calls_in_text(text)
                self.final = final_call(calls)
                yield message(
                    "assistant",
                    with_closing_words(
                        reply_parts(step.text("reasoning_content"), text, calls)
                    ),
                    origin if origin in ORIGINS else "",
                    response=step.text("extra.response") or f"r{self.turns}",
                )
            case "user" | "system" as role:
                typed: tuple[rec.Typed, ...] = ()
                self.final = ""
                if role == "user" and origin in {"", "prompt"}:
                    typed = typed_spans(0, text) if self.prompted else task_spans(text)
                    self.prompted = True
                origin = origin if origin in ORIGINS and origin != "prompt" else ""
                yield message(role, (rec.Text(text),), origin, typed)
            case source:
                yield rec.Unknown(f"source {source}")
                return
        results = _results(step, calls)
        if results:
            from_tool = step.get("source") != "agent" or type(results[0]) is rec.ToolResult
            yield message("tool" if from_tool else "user", tuple(results))

    def end(self, document: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        # A trajectory is a run of a harness: it waits for no person's next words.
        return (rec.Turn("ended", self.final),) if self.final else ()

    def _calls_in_text(self, text: str) -> tuple[str, list[rec.ToolCall]]:
        """The calls that an agent without function calling writes in its message: JSON with
        keystrokes (terminus), or `<function=...>` markup (OpenHands)."""
        if text.lstrip().startswith("{"):
            given = decode_arguments(text)
            if isinstance(given, dict) and "commands" in given:
                said = Fields(given)
                words = filter(None, (said.text("analysis"), said.text("plan")))
                typed = [c.text("keystrokes") for c in said.each("commands")]
                calls = [self.call("", "bash", {"command": "".join(typed)})] if typed else []
                # Terminus asks twice whether the task is complete: either may be the last.
                if given.get("task_complete") is True:
                    calls.append(self.call("", "mark_task_complete", {}))
                return "\n\n".join(words), calls
        if "</function>" not in text:
            return text, []
        parts = text_calls.calls_in(text, partial(self.call, ""))
        outside = (part.text for part in parts if type(part) is rec.Text)
        return "\n\n".join(outside), [part for part in parts if type(part) is rec.ToolCall]


def _results(step: Fields, calls: list[rec.ToolCall]) -> list[rec.Part]:
    texts: list[rec.Part] = []
    found: list[rec.Part] = []
    outcomes = step.at("extra.outcomes").value
    for result in step.each("observation.results"):
        text, call = content_text(result.get("content")), result.text("source_call_id")
        if not call and len(calls) == 1:
            call = calls[0].id
        if not call and step.get("source") == "agent":
            if text:
                texts.append(rec.Text(text))
            continue
        if not call and not text:
            continue  # only refers to the trajectories of subagents
        known = Fields(outcomes.get(call))
        status, code = known.text("status"), known.number("exit_code")
        if code is None and not known.value:
            code = code_in(_EXIT_CODE, text[-300:])
        if status not in _STATUSES:
            failed = bool(code) or text.lstrip()[:6].upper() == "ERROR:"
            printed = any(c.id == call and c.kind in PROGRAMS for c in calls)
            good = code == 0 or call and not printed
            status = "error" if failed else "ok" if good else "unknown"
        found.append(rec.ToolResult(call, text, status, code))
    return found or texts


# `prompt_tokens` include the cached ones.
_TOKENS = (
    f"prompt_tokens completion_tokens cached_tokens extra.{_WRITTEN} "
    "extra.reasoning_tokens|extra.reasoning_output_tokens"
)


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
    steps: list[Step] = []
    steps_by_call: dict[str, Step] = {}
    model = ""
    spent: dict[str, tuple[Step, rec.Usage]] = {}
    for message in messages:
        if message.agent:
            continue
        model = model or message.model
        step = _step(message)
        if step is not None:
            steps.append(step)
            calls = (part for part in message.parts if type(part) is rec.ToolCall)
            steps_by_call |= {call.id: step for call in calls if call.id}
        for part in message.parts:
            if type(part) is rec.ToolResult:
                _add_result(part, steps_by_call, steps)
        if message.usage is not None and step is not None:
            # One response may fill several messages, each with the usage of the whole.
            key = message.response or f"message {message.index}"
            first, before = spent.get(key, (step, rec.Usage()))
            spent[key] = first, max(before, message.usage, key=lambda usage: usage.total)
    for step, usage in spent.values():
        step["metrics"] = _metrics(usage)
    described = {"name": agent, "version": facts.agent_version or "unknown"}
    if model:
        described["model_name"] = model
    metrics = _metrics(sum((usage for _, usage in spent.values()), rec.Usage()))
    document = {
        "schema_version": version,
        "session_id": facts.id or "unknown",
        "agent": described,
        "steps": [
            {"step_id": number, **{k: v for k, v in step.items() if v or k == "message"}}
            for number, step in enumerate(steps, 1)
        ],
        "final_metrics": {
            **{f"total_{n}": metrics[n] for n in metrics if n != "extra"},
            "total_steps": len(steps),
        },
    }
    return codec.dumps(document, indent=2)


def _step(message: rec.Message) -> Step | None:
    """A step: the fields in their order, of which those that are empty are not written."""
    calls = [part for part in message.parts if type(part) is rec.ToolCall]
    thought = [part.text for part in message.parts if type(part) is rec.Reasoning]
    if holds_results(message.parts) and not message.text and not calls and not thought:
        return None
    source, usual = {"assistant": ("agent", "agent"), "system": ("system", "injected")}.get(
        message.role, ("user", "prompt")
    )
    by_agent = source == "agent"
    called = [
        {
            "tool_call_id": call.id,
            "function_name": call.name,
            "arguments": call.input if isinstance(call.input, dict) else {"input": call.input},
        }
        for call in calls
    ]
    extra = {"response": message.response} if by_agent and message.response else {}
    if message.origin != usual:
        extra["origin"] = message.origin
    return {
        "timestamp": message.time,
        "source": source,
        "model_name": message.model if by_agent else "",
        "message": message.text,
        "reasoning_content": "\n\n".join(thought) if by_agent else "",
        "tool_calls": called if by_agent else [],
        "observation": {},
        "metrics": {},
        "extra": extra,
    }


def _add_result(
    result: rec.ToolResult, steps_by_call: dict[str, Step], steps: list[Step]
) -> None:
    step = steps_by_call.get(result.call_id)
    shown = {"content": result.text}
    if step is None:
        step = {"source": "system", "message": "", "observation": {}}
        steps.append(step)
    else:
        shown = {"source_call_id": result.call_id, **shown}
        outcome: dict[str, object] = {"status": result.status}
        if result.exit_code is not None:
            outcome["exit_code"] = result.exit_code
        step["extra"].setdefault("outcomes", {})[result.call_id] = outcome
    step["observation"].setdefault("results", []).append(shown)


def _metrics(usage: rec.Usage) -> dict[str, object]:
    more = {_WRITTEN: usage.cache_write, "reasoning_tokens": usage.reasoning}
    more = {name: count for name, count in more.items() if count}
    return {
        "prompt_tokens": usage.input + usage.cache_read + usage.cache_write,
        "completion_tokens": usage.output,
        "cached_tokens": usage.cache_read,
        **({"extra": more} if more else {}),
    }


FORMAT = Format(
    "atif",
    "document",
    AtifReader,
    lambda sample: Fields(sample.document).text("schema_version").startswith("ATIF-"),
)
