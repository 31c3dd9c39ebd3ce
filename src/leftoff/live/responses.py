"""Reports the stop reason and token usage of API responses to a session manager.

Reads Anthropic messages, OpenAI chat completions and responses, and Gemini responses: complete
or as stream events, as dicts or as the objects of the vendors' libraries.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

from leftoff.codec import JsonObject
from leftoff.live.session import SessionManager, get_session_manager, token_count
from leftoff.live.telemetry import error_words, logger
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
            the manager of the session that is named (`get_session_manager`).
    """

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
        pending_prompts: Sequence[Any] = (),
    ) -> None:
        """Fills `metadata` with the `stop_reason` and `usage` of a stop event and reports the
        usage to the manager."""
        self._safely(lambda: self._stop(event, session_id, metadata))

    def track(self, response: object, *, session_id: str = "", **task: str) -> None:
        """Reports a response, or one event of a stream, to the manager.

        Args:
            session_id: the session; also distinguishes streams whose events do not hold the
                response's id.
            task: `task_id` and `provider`, as for `SessionManager.update_token_usage`.
        """
        self._safely(lambda: self._track(response, session_id, task))

    @staticmethod
    def _safely(action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - the caller must not fail
            logger.warning("a response could not be tracked: %s", error_words(error))

    def _stop(self, event: object, session_id: str, metadata: JsonObject) -> None:
        info = read(event)
        if info.stop_reason:
            metadata["stop_reason"] = info.stop_reason
        usage = info.usage
        if usage is None:
            return
        metadata["usage"] = {"input_tokens": usage.input, "output_tokens": usage.output}
        if usage.cache_read:
            metadata["usage"]["cache_read_input_tokens"] = usage.cache_read
        if usage.cache_write:
            metadata["usage"]["cache_creation_input_tokens"] = usage.cache_write
        reason = info.stop_reason or str(metadata.get("stop_reason") or "")
        self._report(ResponseInfo(info.id, info.model, reason, usage), session_id, {})

    def _track(self, response: object, session_id: str, task: dict[str, str]) -> None:
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
    return ResponseInfo(
        then.id or first.id,
        then.model or first.model,
        then.stop_reason or first.stop_reason,
        usage,
        then.final,
    )


# -- reading ---------------------------------------------------------------------------------


def _get(value: object, *names: str) -> Any:
    for name in names:
        found = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
        if found is not None:
            return found
    return None


def _word(value: object) -> str:
    if value is None or isinstance(value, (dict, list)):
        return ""
    inner = getattr(value, "value", value)
    return inner if isinstance(inner, str) else ""


def _tokens(value: object, *names: str) -> int:
    return token_count(_get(value, *names))


def _first(value: object) -> Any:
    return value[0] if isinstance(value, (list, tuple)) and value else None


def read(response: object) -> ResponseInfo:
    """Parses a response or a stream event of any of the vendors. Does not raise."""
    kind = _word(_get(response, "type"))
    if kind == "message_start":
        message = _get(response, "message")
        usage = _anthropic(_get(message, "usage"))
        name, model = _word(_get(message, "id")), _word(_get(message, "model"))
        return ResponseInfo(name, model, "", usage, final=False, nameless=True)
    if kind == "message_delta":
        reason = _word(_get(_get(response, "delta"), "stop_reason"))
        return ResponseInfo(stop_reason=reason, usage=_anthropic(_get(response, "usage")))
    if kind.startswith(("content_block", "message_stop", "ping")):
        return ResponseInfo(final=False)
    if kind.startswith("response."):
        if kind in {"response.completed", "response.incomplete", "response.failed"}:
            return _openai_response(_get(response, "response"))
        return ResponseInfo(final=False)
    if _get(response, "usage_metadata", "usageMetadata", "candidates") is not None:
        return _gemini(response)
    if _get(response, "choices") is not None:
        return _openai_chat(response)
    if _word(_get(response, "object")) == "response" or _get(response, "output") is not None:
        return _openai_response(response)
    return ResponseInfo(
        _word(_get(response, "id", "message_id")),
        _word(_get(response, "model")),
        _word(_get(response, "stop_reason")),
        _anthropic(_get(response, "usage")),
    )


def _anthropic(usage: object) -> Usage | None:
    if usage is None:
        return None
    if _get(usage, "input_tokens_details") is not None:
        return _openai_usage(usage)
    kinds = ("input", "output", "cache_read_input", "cache_creation_input")
    return Usage(*(_tokens(usage, f"{kind}_tokens") for kind in kinds))


def _openai_usage(usage: object) -> Usage | None:
    """Usage in our terms: OpenAI counts cached tokens as part of the input."""
    if usage is None:
        return None
    details = _get(usage, "input_tokens_details", "prompt_tokens_details")
    written = _get(usage, "output_tokens_details", "completion_tokens_details")
    whole = _tokens(usage, "input_tokens", "prompt_tokens")
    cached = min(whole, _tokens(details, "cached_tokens"))
    return Usage(
        whole - cached,
        _tokens(usage, "output_tokens", "completion_tokens"),
        cached,
        reasoning=_tokens(written, "reasoning_tokens"),
    )


def _openai_chat(response: object) -> ResponseInfo:
    choice = _first(_get(response, "choices"))
    usage = _openai_usage(_get(response, "usage"))
    # In a stream the usage is in the last chunk, after the one with the reason.
    pieces = "chunk" in _word(_get(response, "object"))
    return ResponseInfo(
        _word(_get(response, "id")),
        _word(_get(response, "model")),
        _word(_get(choice, "finish_reason")),
        usage,
        final=not pieces or usage is not None,
    )


def _openai_response(response: object) -> ResponseInfo:
    reason = _word(_get(_get(response, "incomplete_details"), "reason"))
    reason = reason or _word(_get(_get(response, "error"), "code"))
    return ResponseInfo(
        _word(_get(response, "id")),
        _word(_get(response, "model")),
        reason or _word(_get(response, "status")),
        _openai_usage(_get(response, "usage")),
    )


def _gemini(response: object) -> ResponseInfo:
    usage = _get(response, "usage_metadata", "usageMetadata")
    candidate = _first(_get(response, "candidates"))
    found: Usage | None = None
    if usage is not None:
        whole = _tokens(usage, "prompt_token_count", "promptTokenCount")
        whole += _tokens(usage, "tool_use_prompt_token_count", "toolUsePromptTokenCount")
        cached = _tokens(usage, "cached_content_token_count", "cachedContentTokenCount")
        thought = _tokens(usage, "thoughts_token_count", "thoughtsTokenCount")
        written = _tokens(usage, "candidates_token_count", "candidatesTokenCount")
        cached = min(cached, whole)
        found = Usage(whole - cached, written + thought, cached, reasoning=thought)
    return ResponseInfo(
        _word(_get(response, "response_id", "responseId")),
        _word(_get(response, "model_version", "modelVersion")),
        _word(_get(candidate, "finish_reason", "finishReason")),
        found,
    )
