"""Sessions in the layouts of clients that keep one JSON document: docs/formats."""

from __future__ import annotations

from typing import Any

from benchmarks.gold.clients import numbered, path_in, plain_result
from benchmarks.gold.dialogues import Call, Dialogue
from benchmarks.gold.layouts import Maker, Place, Written, document, layout, tokens


@layout("gemini_cli", ".json")
def gemini_cli(dialogue: Dialogue) -> Written:
    """Gemini CLI's document: a call and its result stand in one item."""
    make = Maker(dialogue)
    items: list[dict[str, Any]] = []
    places: list[Place] = []
    start = make.time()
    for step in dialogue.steps:
        place = len(items)
        item: dict[str, Any] = {"id": make.uuid(), "timestamp": make.time(4)}
        places.append(Place(place, place if step.text else None))
        if step.speaker == "user":
            items.append({**item, "type": "user", "content": step.text})
            continue
        spent = tokens(step.text)
        thoughts = [
            {"subject": "Considering", "description": step.thought, "timestamp": make.time()}
        ]
        item |= {
            "type": "gemini", "content": step.text,
            "thoughts": thoughts if step.thought else [],
            "tokens": {"input": 6_400 + 90 * place, "output": spent, "cached": 0, "thoughts": 0,
                       "tool": 0, "total": 6_400 + 90 * place + spent},
            "model": make.model,
        }  # fmt: skip
        if step.call is not None:
            item["toolCalls"] = [_gemini_call(make, step.call)]
        items.append(item)
    whole = {
        "sessionId": make.session, "projectHash": make.hex(64), "startTime": start,
        "lastUpdated": make.time(), "messages": items, "kind": "main",
    }  # fmt: skip
    return document(whole, 2), places


def _gemini_call(make: Maker, call: Call) -> dict[str, Any]:
    place = {"file_path": path_in(make, call)}
    display: Any = ""
    if call.tool == "run":
        name, given = "run_shell_command", {"command": call.target}
        ended = f"\nExit Code: {call.code}" if call.code else ""
        output = f"Output: {call.output or '(empty)'}{ended}\nProcess Group PGID: 4127"
        display = call.output
    elif call.tool == "read":
        name, given, output = "read_file", place, call.output
    else:
        new = {"content": call.new + "\n"} if call.tool == "write" else {}
        old = {"old_string": call.old, "new_string": call.new, "instruction": "Change it."}
        name = "write_file" if new else "replace"
        given = {**place, **(new or old)}
        verb = "created and wrote to new" if new else "modified"
        output = f"Successfully {verb} file: {place['file_path']}."
        display = {
            "fileName": call.target.rsplit("/", 1)[-1], "filePath": place["file_path"],
            "originalContent": call.old, "newContent": call.new, "isNewFile": bool(new),
        }  # fmt: skip
    use = f"{name}-{make.millis()}-{make.hex(12)}"
    response = {"id": use, "name": name, "response": {"output": output}}
    return {
        "id": use, "name": name, "args": given, "result": [{"functionResponse": response}],
        "status": "success", "timestamp": make.time(), "resultDisplay": display,
    }  # fmt: skip


@layout("opencode", ".json")
def opencode(dialogue: Dialogue) -> Written:
    """What `opencode export` prints: parts of messages, a call and its result in one part."""
    make = Maker(dialogue)
    session = make.id("ses_", 24)
    created = make.millis()
    messages: list[dict[str, Any]] = []
    places: list[Place] = []
    asked = ""
    for step in dialogue.steps:
        place = len(messages)
        key = make.id("msg_", 24)
        places.append(Place(place, place if step.text else None))

        def part(kind: str, key: str = key, **more: Any) -> dict[str, Any]:
            ids = {"id": make.id("prt_", 24), "sessionID": session, "messageID": key}
            return {"type": kind, **more, **ids}

        info: dict[str, Any]
        if step.speaker == "user":
            asked = key
            info = {
                "role": "user", "time": {"created": make.millis(30)}, "agent": "build",
                "model": {"providerID": "scripted", "modelID": make.model},
                "id": key, "sessionID": session,
            }  # fmt: skip
            messages.append({"info": info, "parts": [part("text", text=step.text)]})
            continue
        begun = make.millis(2)
        parts = [part("step-start", snapshot=make.hex(40))]
        if step.thought:
            parts.append(part("reasoning", text=step.thought, time={"start": begun}))
        if step.text:
            span = {"start": begun, "end": make.millis(1)}
            parts.append(part("text", text=step.text, time=span))
        if step.call is not None:
            parts.append(part("tool", **_opencode_call(make, step.call)))
        spent = tokens(step.text)
        used = {
            "total": 8_000 + spent, "input": 8_000, "output": spent, "reasoning": 0,
            "cache": {"read": 0, "write": 0},
        }  # fmt: skip
        reason = "tool-calls" if step.call else "stop"
        parts.append(
            part("step-finish", reason=reason, snapshot=make.hex(40), cost=0, tokens=used)
        )
        info = {
            "role": "assistant", "time": {"created": begun, "completed": make.millis()},
            "parentID": asked, "modelID": make.model, "providerID": "scripted",
            "mode": "build", "agent": "build", "path": {"cwd": make.cwd, "root": make.cwd},
            "cost": 0, "tokens": used, "finish": reason, "id": key, "sessionID": session,
        }  # fmt: skip
        messages.append({"info": info, "parts": parts})
    info = {
        "id": session, "slug": dialogue.name, "projectID": make.hex(40), "directory": make.cwd,
        "title": dialogue.head["about"], "version": "1.2.26",
        "time": {"created": created, "updated": make.millis()},
    }  # fmt: skip
    return document({"info": info, "messages": messages}, 2), places


def _opencode_call(make: Maker, call: Call) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    if call.tool == "run":
        given = {"command": call.target, "description": "Runs a command"}
        metadata = {"output": call.output, "exit": call.code, "truncated": False}
    elif call.tool == "edit":
        given = {"filePath": path_in(make, call), "oldString": call.old, "newString": call.new}
    elif call.tool == "write":
        given = {"filePath": path_in(make, call), "content": call.new + "\n"}
    else:
        given = {"filePath": path_in(make, call)}
    output = plain_result(call) if call.tool != "read" else numbered(call.output)
    state = {
        "status": "completed", "input": given, "output": output, "title": call.target,
        "metadata": metadata, "time": {"start": make.millis(), "end": make.millis(1)},
    }  # fmt: skip
    name = "bash" if call.tool == "run" else call.tool
    return {"callID": make.id("call_"), "tool": name, "state": state}
