"""Reports the stop reason and token usage of API responses to a session manager.

Reads Anthropic messages, OpenAI chat completions and responses, and Gemini responses: complete
or as stream events, as dicts or as the objects of the vendors' libraries.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import astuple, replace

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
        pending_prompts: Sequence[object] = (),
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
    names = ("id", "model", "stop_reason")
    said = {name: getattr(then, name) or getattr(first, name) for name in names}
    return replace(then, usage=usage, nameless=False, **said)


# -- reading ---------------------------------------------------------------------------------

# Events of a stream that say nothing of usage, and those that hold the whole response.
_SILENT = ("content_block", "message_stop", "ping")
_COMPLETE = ("response.completed", "response.incomplete", "response.failed")
# Where the vendors put a stop reason. Only OpenAI's responses have the second: a status, or why
# it is not `completed`.
_REASONS = (
    "stop_reason delta.stop_reason choices.0.finish_reason candidates.0.finish_reason".split()
)
_STATUS = ("incomplete_details.reason", "error.code", "status")


def _get(value: object, *paths: str) -> object:
    """The first thing that a path leads to, in keys or in attributes, spelt with underscores or
    in camel case; `0` is the first of a list."""
    for path in paths:
        found = value
        for name in path.split("."):
            if name == "0":
                found = found[0] if isinstance(found, (list, tuple)) and found else None
                continue
            first, *rest = name.split("_")
            names = dict.fromkeys((name, first + "".join(map(str.capitalize, rest))))
            fields = (
                found.get(one) if isinstance(found, dict) else getattr(found, one, None)
                for one in names
            )
            found = next((field for field in fields if field is not None), None)
        if found is not None:
            return found
    return None


def _word(value: object, *paths: str) -> str:
    found = _get(value, *paths)
    inner = found if isinstance(found, (dict, list)) else getattr(found, "value", found)
    return inner if isinstance(inner, str) else ""


def _tokens(value: object, *paths: str) -> int:
    return token_count(_get(value, *paths))


def read(response: object) -> ResponseInfo:
    """Parses a response or a stream event of any of the vendors. Does not raise."""
    kind = _word(response, "type")
    if kind.startswith(_SILENT) or (kind.startswith("response.") and kind not in _COMPLETE):
        return ResponseInfo(final=False)
    starts = kind == "message_start"
    if starts or kind in _COMPLETE:
        response = _get(response, "message" if starts else "response")
    usage = _usage(_get(response, "usage", "usage_metadata"))
    shape = _word(response, "object")
    reason = _word(response, *_REASONS)
    if kind in _COMPLETE or shape == "response" or _get(response, "output") is not None:
        reason = next(filter(None, (_word(response, path) for path in _STATUS)), "")
    # In a stream of chunks the usage is in the last one, after the one with the reason.
    waits = starts or ("chunk" in shape and usage is None)
    name = _word(response, "id", "message_id", "response_id")
    model = _word(response, "model", "model_version")
    return ResponseInfo(name, model, reason, usage, final=not waits, nameless=starts)


def _usage(usage: object) -> Usage | None:
    """Usage in our terms: OpenAI and Gemini count cached tokens as part of the input, Anthropic
    beside it; Gemini counts thoughts beside the output. LiteLLM writes Anthropic's counts, too,
    into OpenAI's shape, and counts tokens read and written as part of the input."""
    if usage is None:
        return None
    whole = _tokens(usage, "input_tokens", "prompt_tokens", "prompt_token_count")
    whole += _tokens(usage, "tool_use_prompt_token_count")
    thoughts = _tokens(usage, "thoughts_token_count")
    shared = (
        "input_tokens_details.cached_tokens",
        "prompt_tokens_details.cached_tokens",
        "cached_content_token_count",
    )
    cached = _tokens(usage, *shared) or _tokens(usage, "cache_read_input_tokens")
    written = _tokens(usage, "cache_creation_input_tokens")
    if _get(usage, "prompt_tokens", *shared) is not None:
        cached = min(whole, cached)
        whole = max(0, whole - cached - written)
    return Usage(
        whole,
        thoughts
        + _tokens(usage, "output_tokens", "completion_tokens", "candidates_token_count"),
        cached,
        written,
        thoughts
        + _tokens(
            usage,
            "output_tokens_details.reasoning_tokens",
            "completion_tokens_details.reasoning_tokens",
        ),
    )
