"""API responses as they come: why they ended and what they used, told to a session manager.

Reads Anthropic messages, OpenAI chat completions and responses, and Gemini responses, whole or
as the events of a stream, as dicts or as the objects of the vendors' libraries.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from leftoff.live.session import SessionManager, get_session_manager
from leftoff.live.telemetry import logger
from leftoff.model import Usage
from leftoff.redaction.redactor import Redactor

STOP_REASONS = {
    "stop": "end_turn",
    "completed": "end_turn",
    "length": "max_tokens",
    "max_output_tokens": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "context_length_exceeded": "model_context_window_exceeded",
}
"""What vendors call a reason, to the name that session managers know; others stay."""


_STREAMS = 256
"""Streams that may be open at once; the oldest is given up for more."""


class Told(Struct, frozen=True):
    """What a response or an event of a stream tells; "" or None for what it does not.

    Attributes:
        final: nothing that matters follows.
        nameless: the events that follow do not name their response.
    """

    id: str = ""
    model: str = ""
    stop_reason: str = ""
    usage: Usage | None = None
    final: bool = True
    nameless: bool = False


class ResponseTracker:
    """Tells a session manager what each API response used.

    Nothing that it is given makes it raise: what it cannot read it leaves out and logs.

    Args:
        manager: the session's; by default the one of this process.
    """

    def __init__(self, manager: SessionManager | None = None) -> None:
        self._manager = manager
        self._lock = threading.Lock()
        self._open: dict[str, Told] = {}
        self._unnamed = 0

    @property
    def manager(self) -> SessionManager:
        """The session manager that is told."""
        return self._manager or get_session_manager()

    def track_stop_response(
        self,
        event: Any,
        session_id: str,
        metadata: dict[str, Any],
        pending_prompts: Sequence[Any] = (),
    ) -> None:
        """Fills `metadata` with the `stop_reason` and `usage` of a stop event; tells the
        manager."""
        self._safely(lambda: self._stop(event, session_id, metadata))

    def track(self, response: Any, *, session_id: str = "", **task: str) -> None:
        """Tells the manager of a response, or of one event of a stream.

        Args:
            session_id: keeps streams apart whose events do not name their response.
            task: `task_id` and `provider`, as for `SessionManager.update_token_usage`.
        """
        self._safely(lambda: self._track(response, session_id, task))

    @staticmethod
    def _safely(action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - the caller's work goes on
            words = Redactor().text(f"{type(error).__name__}: {error}")
            logger.warning("a response could not be tracked: %s", words)

    def _stop(self, event: Any, session_id: str, metadata: dict[str, Any]) -> None:
        told = read(event)
        if told.stop_reason:
            metadata["stop_reason"] = told.stop_reason
        usage = told.usage
        if usage is None:
            return
        metadata["usage"] = {"input_tokens": usage.input, "output_tokens": usage.output}
        if usage.cache_read:
            metadata["usage"]["cache_read_input_tokens"] = usage.cache_read
        if usage.cache_write:
            metadata["usage"]["cache_creation_input_tokens"] = usage.cache_write
        reason = told.stop_reason or str(metadata.get("stop_reason") or "")
        self._tell(Told(told.id, told.model, reason, usage), session_id, {})

    def _track(self, response: Any, session_id: str, task: dict[str, str]) -> None:
        told = read(response)
        with self._lock:
            # Events of one stream: the first names the response, the last one its usage.
            key = f"#{session_id}" if told.nameless or not told.id else told.id
            known = None if told.nameless else self._open.pop(key, None)
            if known is not None:
                told = _joined(known, told)
            if not told.final:
                if told.id or told.usage or told.stop_reason:
                    self._open[key] = told
                while len(self._open) > _STREAMS:
                    del self._open[next(iter(self._open))]
                return
        self._tell(told, session_id, task)

    def _tell(self, told: Told, session_id: str, task: dict[str, str]) -> None:
        usage = told.usage
        if usage is None or not usage.total:
            return
        number = told.id
        if not number:
            with self._lock:
                self._unnamed += 1
                number = f"{session_id}#{self._unnamed}"
        reason = told.stop_reason
        self.manager.update_token_usage(
            usage.input,
            usage.output,
            STOP_REASONS.get(reason.casefold(), reason.casefold()) or "end_turn",
            cache_read_tokens=usage.cache_read,
            cache_creation_tokens=usage.cache_write,
            message_id=number,
            model=told.model or None,
            **task,
        )


def _joined(first: Told, then: Told) -> Told:
    """Two events of one stream; of usage that counts up, the largest of each kind."""
    usage = then.usage or first.usage
    if first.usage is not None and then.usage is not None:
        usage = Usage(
            max(first.usage.input, then.usage.input),
            max(first.usage.output, then.usage.output),
            max(first.usage.cache_read, then.usage.cache_read),
            max(first.usage.cache_write, then.usage.cache_write),
            max(first.usage.reasoning, then.usage.reasoning),
        )
    return Told(
        then.id or first.id,
        then.model or first.model,
        then.stop_reason or first.stop_reason,
        usage,
        then.final,
    )


# -- reading ---------------------------------------------------------------------------------


def _get(value: Any, *names: str) -> Any:
    """A field of a dict or an object, by the first of its names that it has."""
    for name in names:
        found = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
        if found is not None:
            return found
    return None


def _word(value: Any) -> str:
    """A string, or the value of an enumeration."""
    if value is None or isinstance(value, (dict, list)):
        return ""
    inner = getattr(value, "value", value)
    return inner if isinstance(inner, str) else ""


def _tokens(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 <= value < float("inf") else 0


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, (list, tuple)) and value else None


def read(response: Any) -> Told:
    """What a response, or an event of a stream, tells. Nothing makes it raise."""
    kind = _word(_get(response, "type"))
    if kind == "message_start":
        message = _get(response, "message")
        usage = _anthropic(_get(message, "usage"))
        name, model = _word(_get(message, "id")), _word(_get(message, "model"))
        return Told(name, model, "", usage, final=False, nameless=True)
    if kind == "message_delta":
        reason = _word(_get(_get(response, "delta"), "stop_reason"))
        return Told(stop_reason=reason, usage=_anthropic(_get(response, "usage")))
    if kind.startswith(("content_block", "message_stop", "ping")):
        return Told(final=False)
    if kind.startswith("response."):
        if kind in {"response.completed", "response.incomplete", "response.failed"}:
            return _openai_response(_get(response, "response"))
        return Told(final=False)
    if _get(response, "usage_metadata", "usageMetadata", "candidates") is not None:
        return _gemini(response)
    if _get(response, "choices") is not None:
        return _openai_chat(response)
    if _word(_get(response, "object")) == "response" or _get(response, "output") is not None:
        return _openai_response(response)
    return Told(
        _word(_get(response, "id", "message_id")),
        _word(_get(response, "model")),
        _word(_get(response, "stop_reason")),
        _anthropic(_get(response, "usage")),
    )


def _anthropic(usage: Any) -> Usage | None:
    if usage is None:
        return None
    if _get(usage, "input_tokens_details") is not None:
        return _openai_usage(usage)
    return Usage(
        _tokens(_get(usage, "input_tokens")),
        _tokens(_get(usage, "output_tokens")),
        _tokens(_get(usage, "cache_read_input_tokens")),
        _tokens(_get(usage, "cache_creation_input_tokens")),
    )


def _openai_usage(usage: Any) -> Usage | None:
    """OpenAI counts cached tokens as input; here they are apart."""
    if usage is None:
        return None
    details = _get(usage, "input_tokens_details", "prompt_tokens_details")
    written = _get(usage, "output_tokens_details", "completion_tokens_details")
    whole = _tokens(_get(usage, "input_tokens", "prompt_tokens"))
    cached = min(whole, _tokens(_get(details, "cached_tokens")))
    return Usage(
        whole - cached,
        _tokens(_get(usage, "output_tokens", "completion_tokens")),
        cached,
        reasoning=_tokens(_get(written, "reasoning_tokens")),
    )


def _openai_chat(response: Any) -> Told:
    choice = _first(_get(response, "choices"))
    usage = _openai_usage(_get(response, "usage"))
    # The usage of a stream stands in its last piece, after the reason.
    pieces = "chunk" in _word(_get(response, "object"))
    return Told(
        _word(_get(response, "id")),
        _word(_get(response, "model")),
        _word(_get(choice, "finish_reason")),
        usage,
        final=not pieces or usage is not None,
    )


def _openai_response(response: Any) -> Told:
    reason = _word(_get(_get(response, "incomplete_details"), "reason"))
    reason = reason or _word(_get(_get(response, "error"), "code"))
    return Told(
        _word(_get(response, "id")),
        _word(_get(response, "model")),
        reason or _word(_get(response, "status")),
        _openai_usage(_get(response, "usage")),
    )


def _gemini(response: Any) -> Told:
    usage = _get(response, "usage_metadata", "usageMetadata")
    candidate = _first(_get(response, "candidates"))
    found: Usage | None = None
    if usage is not None:
        whole = _tokens(_get(usage, "prompt_token_count", "promptTokenCount"))
        whole += _tokens(_get(usage, "tool_use_prompt_token_count", "toolUsePromptTokenCount"))
        cached = _tokens(_get(usage, "cached_content_token_count", "cachedContentTokenCount"))
        thought = _tokens(_get(usage, "thoughts_token_count", "thoughtsTokenCount"))
        written = _tokens(_get(usage, "candidates_token_count", "candidatesTokenCount"))
        cached = min(cached, whole)
        found = Usage(whole - cached, written + thought, cached, reasoning=thought)
    return Told(
        _word(_get(response, "response_id", "responseId")),
        _word(_get(response, "model_version", "modelVersion")),
        _word(_get(candidate, "finish_reason", "finishReason")),
        found,
    )
