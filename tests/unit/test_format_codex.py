"""Codex rollouts, one situation at a time; both layouts."""

import json
from typing import Any

from leftoff import Pass
from leftoff.extraction.evidence import Returned


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-05-01T10:00:00Z", "type": kind, "payload": payload}


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return line("response_item", type=kind, **fields)


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return line("event_msg", type=kind, **fields)


def said(words: str, role: str = "assistant") -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": words}])


def shell(identity: str, command: str, **more: Any) -> dict[str, Any]:
    given = json.dumps({"cmd": command, **more})
    return item("function_call", name="exec_command", arguments=given, call_id=identity)


def output(identity: str, words: Any) -> dict[str, Any]:
    return item("function_call_output", call_id=identity, output=words)


META = line(
    "session_meta", id="s-1", cwd="/home/dev/app", cli_version="0.140.0", git={"branch": "x"}
)


def fed(*lines: dict[str, Any]) -> Pass:
    reading = Pass(format="codex")
    for one in lines:
        reading.feed(json.dumps(one).encode() + b"\n")
    return reading


def of(reading: Pass, kind: type[Any]) -> list[Any]:
    return [e for e in reading.sessions[-1][""].evidence if isinstance(e, kind)]


def test_newer_versions_tell_results_as_completed_items() -> None:
    change = {
        "type": "FileChange",
        "id": "c2",
        "changes": {"/home/dev/app/n.py": {"type": "add"}},
    }
    run = {"type": "CommandExecution", "id": "c1", "exit_code": 7}
    reading = fed(
        META,
        said("Go.", "user"),
        shell("c1", "make"),
        event("item_completed", item=run),
        output("c1", "x"),
        item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c2"),
        item("custom_tool_call_output", call_id="c2", output="Success."),
        event("item_completed", item=change),
        event("item_completed", item={"type": "AgentMessage"}),
        event("item_completed", item=None),
    )
    assert of(reading, Returned)[0].exit_code == 7
    got = reading.summary().file_modifications
    assert [(f.path, f.action, f.tools) for f in got] == [("n.py", "created", ("apply_patch",))]


def script(identity: str, code: str) -> dict[str, Any]:
    return item("custom_tool_call", name="exec", input=code, call_id=identity)


def printed(identity: str, words: str) -> dict[str, Any]:
    return item("custom_tool_call_output", call_id=identity, output=words)


def test_a_patch_is_a_step_that_names_its_file() -> None:
    patch = "*** Begin Patch\n*** Add File: till.py\n+x = 1\n*** End Patch"
    call = item("custom_tool_call", name="apply_patch", input=patch, call_id="c1")
    in_script = f"const patch = {json.dumps(patch.replace('till', 'shop'))}; "
    in_script += "text(await tools.apply_patch(patch));"
    calls = (
        call,
        printed("c1", "Success."),
        script("c2", in_script),
        printed("c2", "Success."),
    )
    steps = fed(META, said("Add a till.", "user"), *calls).summary().working_set.steps
    assert [(step.kind, step.text) for step in steps] == [("edited", "shop.py, till.py")]
