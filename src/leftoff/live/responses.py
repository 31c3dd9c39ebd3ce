"""Reports the stop reason and token usage of API responses to a session manager.

Reads Anthropic messages, OpenAI chat completions and responses, and Gemini responses: complete
or as stream events, as dicts or as the objects of the vendors' libraries."""

import threading
from collections.abc import Sequence
from enum import Enum
from functools import partial

from msgspec import Struct
from msgspec.structs import astuple, replace

from leftoff import lazy_re as re
from leftoff.codec import JsonObject
from leftoff.formats import gemini_parts, openai_parts
from leftoff.formats.lenient_json import Fields, usage_by
from leftoff.live.session import SessionManager, get_session_manager
from leftoff.live.telemetry import logged
from leftoff.model import Usage

# The vendors' names of stop reasons that differ from those of session managers.
STOP_REASONS = {
    "stop": "end_turn",
    "completed": "end_turn",
    "length": "max_tokens",
    "max_output_tokens": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "context_length_exceeded": "model_context_window_exceeded",
}

# Maximum number of open streams that are tracked; beyond it the oldest is dropped.
_MAX_OPEN_STREAMS = 256

# The caller must not fail.
_logged = partial(logged, "a response could not be tracked: %s", errors=(Exception,))


class ResponseInfo(Struct, frozen=True):
    """What a response or a stream event says; "" or None for what it does not say. `final`: no
    later event of the stream holds usage or a stop reason; `nameless`: the later events do not
    hold the response's id."""

    id: str = ""
    model: str = ""
    stop_reason: str = ""
    usage: Usage | None = None
    final: bool = True
    nameless: bool = False


class ResponseTracker:
    """Reports the usage of each API response to a session manager.

    Its methods do not raise: a response that cannot be read is logged and ignored.

    Args:
        manager: receives every response, whatever session is named; by default each goes to
            the manager of the session that is named (`get_session_manager`)."""

    def __init__(self, manager: SessionManager | None = None) -> None:
        self._manager = manager
        self._lock = threading.Lock()
        self._open: dict[str, ResponseInfo] = {}
        self._unnamed = 0

    @property
    def manager(self) -> SessionManager:
        """The session manager that receives the usage where no session is named."""
        return self._manager or get_session_manager()

    def track_stop_response(
        self,
        event: object,
        session_id: str,
        metadata: JsonObject,
        pending_prompts: Sequence[object] = (),
    ) -> None:
        """Fills `metadata` with the `stop_reason` and `usage` of a stop event and reports the
        usage to the manager."""
        with _logged():
            info = read(event)
            if info.stop_reason:
                metadata["stop_reason"] = info.stop_reason
            if info.usage is None:
                return
            usage = info.usage
            counts = usage.input, usage.output, usage.cache_read, usage.cache_write
            named = zip(_ANTHROPIC.split(), counts, strict=True)
            # Of the cache only what there is.
            metadata["usage"] = {name: n for name, n in named if n or "cache" not in name}
            reason = info.stop_reason or str(metadata.get("stop_reason") or "")
            self._report(replace(info, stop_reason=reason), session_id, {})

    def track(self, response: object, *, session_id: str = "", **task: str) -> None:
        """Reports a response, or one event of a stream, to the manager.

        Args:
            session_id: the session; also distinguishes streams whose events do not hold the
                response's id.
            task: `task_id` and `provider`, as for `SessionManager.update_token_usage`."""
        with _logged():
            info = read(response)
            with self._lock:
                # Of a stream the first event holds the response's id, the last one its usage.
                key = f"#{session_id}" if info.nameless or not info.id else info.id
                known = None if info.nameless else self._open.pop(key, None)
                if known is not None:
                    info = _merged(known, info)
                if not info.final:
                    if info.id or info.usage or info.stop_reason:
                        self._open[key] = info
                    while len(self._open) > _MAX_OPEN_STREAMS:
                        del self._open[next(iter(self._open))]
                    return
            self._report(info, session_id, task)

    def _report(self, info: ResponseInfo, session_id: str, task: dict[str, str]) -> None:
        usage = info.usage
        if usage is None or not usage.total:
            return
        number = info.id
        if not number:
            with self._lock:
                self._unnamed += 1
                number = f"{session_id}#{self._unnamed}"
        reason = info.stop_reason
        manager = self._manager or get_session_manager(session_id)
        manager.update_token_usage(
            usage.input,
            usage.output,
            STOP_REASONS.get(reason.casefold(), reason.casefold()) or "end_turn",
            cache_read_tokens=usage.cache_read,
            cache_creation_tokens=usage.cache_write,
            message_id=number,
            model=info.model or None,
            **task,
        )


def _merged(first: ResponseInfo, then: ResponseInfo) -> ResponseInfo:
    """Merges two events of one stream. Usage is cumulative: the maximum of each count."""
    usage = then.usage or first.usage
    if first.usage is not None and then.usage is not None:
        both = zip(astuple(first.usage), astuple(then.usage), strict=True)
        usage = Usage(*(max(one, other) for one, other in both))
    names = ("id", "model", "stop_reason")
    said = {name: getattr(then, name) or getattr(first, name) for name in names}
    return replace(then, usage=usage, nameless=False, **said)


# -- reading ---------------------------------------------------------------------------------

# Events of a stream that say nothing of usage, and those that hold the whole response.
_SILENT = ("content_block", "message_stop", "ping")
_COMPLETE = ("response.completed", "response.incomplete", "response.failed")
# Only OpenAI's responses have a status, or why it is not `completed`.
_STATUS = ("incomplete_details.reason", "error.code", "status")
# Tokens as for `usage_by`. OpenAI and Gemini count cached tokens as part of the input,
# Anthropic beside it.
_ANTHROPIC = "input_tokens output_tokens cache_read_input_tokens cache_creation_input_tokens"
_RESPONSES = (
    "input_tokens output_tokens input_tokens_details.cached_tokens - "
    "output_tokens_details.reasoning_tokens"
)
_GEMINI = (
    "prompt_token_count candidates_token_count cached_content_token_count "
    "thoughts_token_count tool_use_prompt_token_count"
)
_CAPITAL = re.compile(r"(?<=[a-z])([A-Z])")


def _plain(value: object) -> object:
    """A response as plain values with keys in snake case: also one that is an object of a
    vendor's library."""
    if isinstance(value, Enum):
        return value.value
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        value = dump()
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        value = vars(value)
    if isinstance(value, dict):
        return {_CAPITAL.sub(r"_\1", str(k)).lower(): _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def read(response: object) -> ResponseInfo:
    """Parses a response or a stream event of any of the vendors."""
    fields = Fields(_plain(response))
    kind = fields.text("type")
    if kind.startswith(_SILENT) or (kind.startswith("response.") and kind not in _COMPLETE):
        return ResponseInfo(final=False)
    starts = kind == "message_start"
    if starts or kind in _COMPLETE:
        fields = fields.at("message" if starts else "response")
    usage = _usage(fields.get("usage") or fields.get("usage_metadata"))
    shape = fields.text("object")
    choice = next(iter([*fields.each("choices"), *fields.each("candidates")]), Fields(None))
    reason = fields.text("stop_reason", "delta.stop_reason") or choice.text("finish_reason")
    if kind in _COMPLETE or shape == "response" or fields.get("output") is not None:
        reason = fields.text(*_STATUS)
    # In a stream of chunks the usage is in the last one, after the one with the reason.
    waits = starts or ("chunk" in shape and usage is None)
    name = fields.text("id", "message_id", "response_id")
    model = fields.text("model", "model_version")
    return ResponseInfo(name, model, reason, usage, final=not waits, nameless=starts)


def _usage(used: object) -> Usage | None:
    if not isinstance(used, dict):
        return None
    if "prompt_tokens" in used:  # also LiteLLM's answers of other vendors' models
        return openai_parts.usage_of(used)
    if "prompt_token_count" in used:
        return gemini_parts.usage_of(used, _GEMINI)
    if used.get("input_tokens_details") is not None:
        return usage_by(used, _RESPONSES, inclusive=True)
    return usage_by(used, _ANTHROPIC)
