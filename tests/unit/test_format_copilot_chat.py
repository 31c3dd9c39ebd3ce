"""VS Code Copilot Chat exports."""

import json
from typing import Any

from leftoff.formats.copilot_chat import FORMAT
from leftoff.formats.reader import Cursor


def _export(*requests: Any, **more: Any) -> dict[str, Any]:
    return {"responderUsername": "GitHub Copilot", "requests": list(requests), **more}


def _request(text: Any, *rounds: Any, **more: Any) -> dict[str, Any]:
    metadata = {"toolCallRounds": list(rounds), "sessionId": "s-1"}
    metadata["toolCallResults"] = more.pop("results", {})
    result = {"metadata": metadata, **more.pop("result", {})}
    return {
        "requestId": "request_1",
        "message": {"text": text},
        "timestamp": 1772359200000,
        "modelId": "copilot/model-a",
        "result": result,
        "response": [],
        **more,
    }


def _round(response: str, *calls: Any, **more: Any) -> dict[str, Any]:
    return {"id": "round-1", "response": response, "toolCalls": list(calls), **more}


def _call(identity: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": identity, "name": name, "arguments": json.dumps(arguments)}


def _leaf(text: str, *, breaks: bool = False) -> dict[str, Any]:
    return {"type": 2, "text": text, "lineBreakBefore": breaks}


def test_a_deep_result_is_cut_not_followed() -> None:
    node: Any = _leaf("x")
    for _ in range(400):
        node = {"children": [node]}
    results = {"c": {"content": [{"value": {"node": node}}]}}
    data = json.dumps(_export(_request("x", _round("", _call("c", "t")), results=results)))
    assert list(FORMAT.reader().read(data.encode(), Cursor()))
