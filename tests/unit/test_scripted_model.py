"""The scripted endpoint and the scrubber that the recordings are made with."""

import json
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from benchmarks.recording import scenario, scrub
from benchmarks.recording import scripted_model as scripted

ROOT = Path(__file__).resolve().parents[2]
TOOLS = [{"name": "Bash"}]


def _post(url: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    request = urllib.request.Request(url, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=5) as answer:
        text = answer.read().decode()
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


def _said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def test_turns_are_played_in_order_and_requests_recorded() -> None:
    call = scripted.Call("Bash", {"command": "ls"})
    turns = [scripted.Turn(text=("Looking.",), calls=(call,)), scripted.Turn(text=("Done.",))]
    with scripted.ScriptedModel(turns) as model:
        url = f"{model.url}/v1/messages?beta=true"
        first = _post(url, {"model": "m", "tools": TOOLS, "messages": _said("go")})
        assert model.left == 1
        second = _post(url, {"model": "m", "tools": TOOLS, "messages": _said("go")})
    blocks = [e["content_block"] for e in first if e["type"] == "content_block_start"]
    assert [block["type"] for block in blocks] == ["text", "tool_use"]
    assert [
        e["delta"]["stop_reason"] for e in first + second if e["type"] == "message_delta"
    ] == ["tool_use", "end_turn"]
    assert [request.route for request in model.requests] == ["main", "main"]
    assert model.left == 0


def test_side_calls_and_routes_use_up_no_turn_of_the_main_thread() -> None:
    routes = {"needle": [scripted.Turn(text=("from the route",))]}
    with scripted.ScriptedModel([scripted.Turn(text=("main",))], routes=routes) as model:
        url = f"{model.url}/v1/messages"
        _post(url, {"model": "m", "messages": _said("name this session")})
        _post(url, {"model": "m", "tools": TOOLS, "messages": _said("a needle in it")})
        assert model.left == 1
    assert [request.route for request in model.requests] == ["side", "needle"]


def test_the_responses_protocol_tells_free_form_from_function_calls() -> None:
    calls = (
        scripted.Call("apply_patch", "*** Begin Patch"),
        scripted.Call("exec", {"cmd": "ls"}),
    )
    with scripted.ScriptedModel([scripted.Turn(calls=calls)]) as model:
        body = {"model": "m", "tools": TOOLS, "input": _said("go")}
        events = _post(f"{model.url}/v1/responses", body)
    items = [e["item"]["type"] for e in events if e["type"] == "response.output_item.done"]
    assert items == ["custom_tool_call", "function_call"]
    assert events[-1]["response"]["usage"]["total_tokens"] > 0


def test_the_address_is_refused_before_start_and_after_stop() -> None:
    model = scripted.ScriptedModel([])
    with pytest.raises(RuntimeError, match="not running"):
        _ = model.url
    model.start().stop()
    model.stop()
    with pytest.raises(RuntimeError, match="not running"):
        _ = model.url


def test_scrubbing_keeps_links_and_moves_the_clock() -> None:
    started = datetime(2026, 3, 1, 8, tzinfo=UTC)
    scrubber = scrub.Scrubber("s", started, 10, {"/scratch/x": "/home/dev"})
    old = "0a1b2c3d-0000-4000-8000-00000000000"
    lines = [
        {"id": old + "1", "timestamp": "2026-11-21T09:00:00.000Z", "cwd": "/scratch/x/p"},
        {"parent": old + "1", "id": old + "2", "timestamp": "2026-11-21T09:00:02.500Z"},
    ]
    first, second = map(
        json.loads, scrubber.scrub("\n".join(map(json.dumps, lines))).split("\n")
    )
    assert first["cwd"] == "/home/dev/p"
    assert second["parent"] == first["id"] != second["id"]
    assert old[:20] not in first["id"]
    assert first["timestamp"] == "2026-03-01T08:00:00.000Z"
    assert second["timestamp"] == "2026-03-01T08:00:25.000Z"


def test_the_clients_own_instructions_are_left_out() -> None:
    scrubber = scrub.Scrubber("s", datetime(2026, 3, 1, tzinfo=UTC), 1, {})
    line = {"type": "session_meta", "payload": {"base_instructions": {"text": "You are …"}}}
    assert "You are" not in scrubber.scrub(json.dumps(line))


@pytest.mark.parametrize(
    "path", sorted((ROOT / "benchmarks/recording/scenarios").glob("*.yaml"))
)
def test_every_scenario_loads(path: Path) -> None:
    loaded = scenario.load(path, Path("/home/dev"))
    assert loaded.client in ("claude_code", "codex")
    assert loaded.turns
