"""A model endpoint on loopback that answers from a script.

It speaks the two streaming protocols that the recorded clients use, the Anthropic messages
API and the OpenAI responses API, so that a real client runs real tools in a scratch
directory while every word of the model is ours. Nothing leaves the machine.

    with ScriptedModel([Turn(text=("Hello.",))]) as model:
        run_the_client(base_url=model.url)
        assert len(model.requests) == 1
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_SYSTEM_TOKENS = 13_800
"""What a client's system prompt and tool list cost, about; added to the estimated context."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of the scripted model.

    `input` is an object for a function call and a string for a free-form (custom) call.
    `deny` and `answers` are for the driver: what the person says when the client asks.
    """

    name: str
    input: Mapping[str, Any] | str
    deny: str | None = None
    answers: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One response of the model: reasoning, texts, then calls; `usage` overrides the estimate.

    `queued` is what a person types while this response is on its way.
    """

    text: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    thinking: str | None = None
    usage: Mapping[str, int] | None = None
    queued: str | None = None


@dataclass(slots=True)
class Request:
    """One request that the endpoint received."""

    path: str
    body: dict[str, Any]
    route: str


@dataclass(slots=True)
class _Queue:
    turns: list[Turn]
    served: int = 0
    context: int = field(default=0)

    def next(self) -> Turn:
        if self.served >= len(self.turns):
            return Turn(text=("That is all of the script.",))
        self.served += 1
        return self.turns[self.served - 1]


class ScriptedModel:
    """A loopback server that plays `turns`, one for each request that carries tools.

    `routes` maps a needle to turns of its own: a request whose first or last user message
    contains the needle is answered from there (a subagent's prompt, a compaction's
    instruction). Requests without tools that match no route are the client's side calls
    (titles); they get `side_answer` and use up no turn. `requests` keeps every model call.
    `refuse` may answer a request's body with an error instead: (HTTP status, type, message).
    """

    def __init__(
        self,
        turns: Iterable[Turn],
        *,
        routes: Mapping[str, Sequence[Turn]] | None = None,
        side_answer: str = "A working session",
        on_turn: Callable[[Turn], None] | None = None,
        refuse: Callable[[dict[str, Any]], tuple[int, str, str] | None] | None = None,
        seed: str = "scripted",
    ) -> None:
        self.refuse = refuse
        self.requests: list[Request] = []
        self._main = _Queue(list(turns))
        self._routes = {needle: _Queue(list(own)) for needle, own in (routes or {}).items()}
        self._side_answer = side_answer
        self._on_turn = on_turn
        self._seed = seed
        self._ids = 0
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The base address, without a trailing slash; valid between start and stop."""
        if self._server is None:
            raise RuntimeError("the scripted model is not running: call start() first")
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def left(self) -> int:
        """How many scripted turns have not been asked for yet, routes included."""
        queues = [self._main, *self._routes.values()]
        return sum(len(queue.turns) - queue.served for queue in queues)

    def start(self) -> Self:
        """Listen on a free port of 127.0.0.1 and serve from a background thread."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop serving and free the port; calling it twice is harmless."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def answer(self, path: str, body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """The server-sent events, as (name, data), that answer one model request."""
        with self._lock:
            route, queue = self._route(body)
            self.requests.append(Request(path, body, route))
            if queue is None:
                turn, queue = Turn(text=(self._side_answer,)), _Queue([])
            else:
                turn = queue.next()
            usage = dict(turn.usage or _estimate(turn, body, queue))
            if self._on_turn is not None and route != "side":
                self._on_turn(turn)
            play = _anthropic if "/messages" in path else _responses
            return iter(list(play(turn, usage, str(body.get("model", "stub")), self._id)))

    def _route(self, body: dict[str, Any]) -> tuple[str, _Queue | None]:
        said = _user_texts(body)
        edges = said[:1] + said[-1:]
        for needle, queue in self._routes.items():
            if any(needle in text for text in edges):
                return needle, queue
        return ("main", self._main) if body.get("tools") else ("side", None)

    def _id(self, prefix: str) -> str:
        self._ids += 1
        digest = hashlib.sha256(f"{self._seed}:{self._ids}".encode()).digest()
        return prefix + "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:22])


def _user_texts(body: dict[str, Any]) -> list[str]:
    texts = []
    for message in body.get("messages") or body.get("input") or []:
        if not isinstance(message, dict) or message.get("role") != "user":
            continue
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        words = [p.get("text") for p in parts if isinstance(p, dict)]
        texts.append("\n".join(word for word in words if isinstance(word, str)))
    return texts


def _estimate(turn: Turn, body: dict[str, Any], queue: _Queue) -> dict[str, int]:
    """Usage as a caching provider would report it: what was sent before is read from cache."""
    said = json.dumps(body.get("messages") or body.get("input") or [], ensure_ascii=False)
    context = _SYSTEM_TOKENS + len(said) // 4
    read = min(queue.context, context)
    queue.context = context
    spoken = sum(map(len, turn.text)) + len(turn.thinking or "")
    spoken += sum(len(json.dumps(c.input, default=dict)) for c in turn.calls)
    return {
        "input_tokens": 4,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": max(context - read - 4, 0),
        "output_tokens": max(spoken // 4, 1),
    }


_Events = Iterator[tuple[str, dict[str, Any]]]


def _anthropic(
    turn: Turn, usage: dict[str, int], model: str, fresh: Callable[[str], str]
) -> _Events:
    message: dict[str, Any] = {
        "id": fresh("msg_01"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 1, "service_tier": "standard"},
    }
    yield "message_start", {"message": message}
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if turn.thinking:
        blocks.append(
            (
                {"type": "thinking", "thinking": "", "signature": ""},
                [
                    {"type": "thinking_delta", "thinking": turn.thinking},
                    {"type": "signature_delta", "signature": fresh("c2lnbmF0dXJl")},
                ],
            )
        )
    blocks += [
        ({"type": "text", "text": ""}, [{"type": "text_delta", "text": text}])
        for text in turn.text
    ]
    for call in turn.calls:
        block = {"type": "tool_use", "id": fresh("toolu_01"), "name": call.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call.input)}
        blocks.append((block, [delta]))
    for index, (block, deltas) in enumerate(blocks):
        yield "content_block_start", {"index": index, "content_block": block}
        for delta in deltas:
            yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    stop = "tool_use" if turn.calls else "end_turn"
    yield (
        "message_delta",
        {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
    )
    yield "message_stop", {}


def _responses(
    turn: Turn, usage: dict[str, int], model: str, fresh: Callable[[str], str]
) -> _Events:
    response_id = fresh("resp_0")
    yield "response.created", {"response": {"id": response_id, "model": model}}
    items: list[dict[str, Any]] = []
    if turn.thinking:
        summary = [{"type": "summary_text", "text": turn.thinking}]
        items.append({"type": "reasoning", "id": fresh("rs_0"), "summary": summary})
    for text in turn.text:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        items.append(
            {"type": "message", "id": fresh("msg_0"), "role": "assistant", "content": content}
        )
    for call in turn.calls:
        item = {"call_id": fresh("call_"), "name": call.name}
        server, _, tool = call.name.rpartition("__")
        if server.startswith("mcp__"):  # this client lists the tools of a server together
            item |= {"name": tool, "namespace": server}
        if isinstance(call.input, str):
            items.append(
                {"type": "custom_tool_call", "id": fresh("ctc_0"), **item, "input": call.input}
            )
        else:
            items.append(
                {
                    "type": "function_call",
                    "id": fresh("fc_0"),
                    **item,
                    "arguments": json.dumps(call.input),
                }
            )
    for index, item in enumerate(items):
        yield "response.output_item.done", {"output_index": index, "item": item}
    read = usage.get("cache_read_input_tokens", 0)
    sent = usage.get("input_tokens", 0) + read + usage.get("cache_creation_input_tokens", 0)
    made = usage.get("output_tokens", 0)
    counts = {
        "input_tokens": sent,
        "input_tokens_details": {"cached_tokens": read},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": sent + made,
    }
    yield "response.completed", {"response": {"id": response_id, "usage": counts}}


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._reply(b'{"data": [], "models": []}', "application/json")

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.split("?", 1)[0]
            if not path.endswith(("/messages", "/responses")):
                tokens = b'{"input_tokens": 1}' if path.endswith("count_tokens") else b"{}"
                self._reply(tokens, "application/json")
                return
            body = json.loads(raw)
            refused = model.refuse(body) if model.refuse else None
            if refused is not None:
                status, kind, message = refused
                error = {"type": kind, "code": kind, "message": message}
                told = json.dumps({"type": "error", "error": error}).encode()
                self._reply(told, "application/json", status)
                return
            events = model.answer(path, body)
            lines = [
                f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"
                for name, data in events
            ]
            self._reply("".join(lines).encode(), "text/event-stream")

        def _reply(self, payload: bytes, kind: str, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *args: object) -> None:
            """Say nothing: what was asked is in `requests`."""

    return Handler
