"""Sessions in the layouts of clients that write a line for each event: docs/formats."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.gold.dialogues import Call, Dialogue
from benchmarks.gold.layouts import Maker, Place, Written, layout, lines, tokens

REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it"
    " was a file edit, the new_string was NOT written to the file). STOP what you are doing and"
    " wait for the user to tell you how to proceed."
)


def path_in(make: Maker, call: Call) -> str:
    return f"{make.cwd}/{call.target}"


def numbered(text: str) -> str:
    return "\n".join(f"{n}\t{row}" for n, row in enumerate(text.split("\n"), 1))


@layout("claude_code", ".jsonl")
def claude_code(dialogue: Dialogue) -> Written:
    """Claude Code 2.1: one block of a response on each line, all with the message's id."""
    make = Maker(dialogue)
    common = {
        "userType": "external", "entrypoint": "cli", "cwd": make.cwd,
        "sessionId": make.session, "version": "2.1.197",
        "gitBranch": dialogue.head.get("branch", "main"),
    }  # fmt: skip
    rows: list[dict[str, Any]] = []
    places: list[Place] = []
    read = 14_000

    def add(kind: str, message: dict[str, Any], **more: Any) -> int:
        parent = rows[-1]["uuid"] if rows else None
        row = {
            "parentUuid": parent, "isSidechain": False, "type": kind, "message": message,
            "uuid": make.uuid(), "timestamp": make.time(2), **more, **common,
        }  # fmt: skip
        rows.append(row)
        return len(rows)

    for step in dialogue.steps:
        if step.speaker == "user":
            make.time(40)
            line = add("user", {"role": "user", "content": step.text}, promptId=make.uuid())
            places.append(Place(line, line))
            read += tokens(step.text)
            continue
        blocks: list[dict[str, Any]] = []
        if step.thought:
            signature = make.id("", 30)
            blocks.append(
                {"type": "thinking", "thinking": step.thought, "signature": signature}
            )
        if step.text:
            blocks.append({"type": "text", "text": step.text})
        call = step.call
        use = make.id("toolu_01")
        if call is not None:
            blocks.append({"type": "tool_use", "id": use, **_claude_call(make, call)})
        spent = tokens(json.dumps(blocks))
        body = {
            "id": make.id("msg_01"), "type": "message", "role": "assistant",
            "model": make.model, "stop_reason": "tool_use" if call else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": 4, "cache_creation_input_tokens": spent,
                "cache_read_input_tokens": read, "output_tokens": spent,
                "service_tier": "standard",
            },
        }  # fmt: skip
        read += spent
        at: dict[str, int] = {}
        for block in blocks:
            at[block["type"]] = add("assistant", {**body, "content": [block]})
        places.append(Place(min(at.values()), at.get("text")))
        if call is not None:
            text, result = _claude_result(make, call)
            block = {"tool_use_id": use, "type": "tool_result", "content": text}
            if call.tool == "run" or call.refused:
                block["is_error"] = bool(call.code) or call.refused
            add("user", {"role": "user", "content": [block]}, toolUseResult=result)
            read += tokens(text)
    return lines(rows), places


def _claude_call(make: Maker, call: Call) -> dict[str, Any]:
    if call.tool == "run":
        return {"name": "Bash", "input": {"command": call.target}}
    place = {"file_path": path_in(make, call)}
    if call.tool == "read":
        return {"name": "Read", "input": place}
    if call.tool == "write":
        return {"name": "Write", "input": {**place, "content": call.new + "\n"}}
    more = {"old_string": call.old, "new_string": call.new, "replace_all": False}
    return {"name": "Edit", "input": {**place, **more}}


def _claude_result(make: Maker, call: Call) -> tuple[str, Any]:
    path = path_in(make, call)
    if call.refused:
        return REFUSED, "User rejected tool use"
    if call.tool == "run":
        if call.code:
            text = f"Exit code {call.code}\n{call.output}"
            return text, f"Error: {text}"
        return call.output or "(no output)", {
            "stdout": call.output, "stderr": "", "interrupted": False, "isImage": False,
        }  # fmt: skip
    if call.tool == "read":
        rows = call.output.count("\n") + 1
        file = {
            "filePath": path, "content": call.output, "numLines": rows, "startLine": 1,
            "totalLines": rows,
        }  # fmt: skip
        return numbered(call.output), {"type": "text", "file": file}
    if call.tool == "write":
        return f"File created successfully at: {path}", {
            "type": "create", "filePath": path, "content": call.new + "\n",
            "structuredPatch": [], "originalFile": None,
        }  # fmt: skip
    return f"The file {path} has been updated successfully.", {
        "filePath": path, "oldString": call.old, "newString": call.new, "originalFile": "",
        "structuredPatch": [], "userModified": False, "replaceAll": False,
    }  # fmt: skip


@layout("codex", ".jsonl")
def codex(dialogue: Dialogue) -> Written:
    """Codex CLI rollouts with envelopes; commands by `exec_command`, edits by patches."""
    make = Maker(dialogue)
    rows: list[dict[str, Any]] = []
    places: list[Place] = []
    turn = make.uuid()
    total = {"input_tokens": 9_000, "cached_input_tokens": 0, "output_tokens": 0}

    def add(kind: str, payload: dict[str, Any]) -> int:
        time = make.time(1)
        rows.append({"timestamp": time, "ordinal": len(rows), "type": kind, "payload": payload})
        return len(rows)

    def said(role: str, text: str) -> int:
        block = "input_text" if role == "user" else "output_text"
        content = [{"type": block, "text": text}]
        payload = {"type": "message", "id": make.id("msg_"), "role": role, "content": content}
        return add("response_item", payload)

    add("session_meta", {
        "id": make.session, "timestamp": make.time(), "cwd": make.cwd,
        "originator": "codex_cli_rs", "cli_version": "0.169.0", "source": "cli",
        "model_provider": "scripted",
        "git": {"commit_hash": make.hex(40), "branch": dialogue.head.get("branch", "main")},
    })  # fmt: skip
    said("user", f"<environment_context>\n  <cwd>{make.cwd}</cwd>\n</environment_context>")
    for step in dialogue.steps:
        if step.speaker == "user":
            make.time(40)
            turn = make.uuid()
            add("event_msg", {"type": "task_started", "turn_id": turn,
                              "model_context_window": 258_400})  # fmt: skip
            add("turn_context", {"turn_id": turn, "cwd": make.cwd, "model": make.model,
                                 "approval_policy": "on-request"})  # fmt: skip
            line = said("user", step.text)
            places.append(Place(line, line))
            add("event_msg", {"type": "user_message", "message": step.text, "images": []})
            continue
        first = len(rows) + 1
        words: int | None = None
        if step.thought:
            summary = [{"type": "summary_text", "text": step.thought}]
            add("response_item", {"type": "reasoning", "id": make.id("rs_"),
                                  "summary": summary})  # fmt: skip
        if step.text:
            add("event_msg", {"type": "agent_message", "message": step.text})
            words = said("assistant", step.text)
            first = first if step.thought else words
        if step.call is not None:
            line = _codex_call(make, step.call, add)
            first = line if words is None and not step.thought else first
        places.append(Place(first, words))
        spent = tokens(step.text)
        total = {k: v + (spent if k == "output_tokens" else 400) for k, v in total.items()}
        last = {"input_tokens": total["input_tokens"] // 2, "cached_input_tokens": 400,
                "output_tokens": spent}  # fmt: skip
        info = {"total_token_usage": total, "last_token_usage": last,
                "model_context_window": 258_400}  # fmt: skip
        add("event_msg", {"type": "token_count", "info": info})
    return lines(rows), places


def _codex_call(make: Maker, call: Call, add: Any) -> int:
    identity = make.id("call_")
    custom = call.tool in {"edit", "write"}
    if custom:
        verb = "Add" if call.tool == "write" else "Update"
        removed = [f"-{row}" for row in call.old.split("\n")] if call.old else []
        added = [f"+{row}" for row in call.new.split("\n")] if call.new else []
        hunk = [] if call.tool == "write" else ["@@"]
        patch = "\n".join(
            ["*** Begin Patch", f"*** {verb} File: {call.target}", *hunk, *removed, *added,
             "*** End Patch", ""]
        )  # fmt: skip
        line = add("response_item", {
            "type": "custom_tool_call", "id": make.id("ctc_"), "call_id": identity,
            "name": "apply_patch", "input": patch,
        })  # fmt: skip
        mark = "A" if call.tool == "write" else "M"
        output = (
            "Exit code: 0\nWall time: 0 seconds\nOutput:\n"
            f"Success. Updated the following files:\n{mark} {call.target}\n"
        )
    else:
        command = call.target if call.tool == "run" else f"cat {call.target}"
        given = json.dumps({"cmd": command, "workdir": make.cwd}, ensure_ascii=False)
        line = add("response_item", {
            "type": "function_call", "id": make.id("fc_"), "name": "exec_command",
            "arguments": given, "call_id": identity,
        })  # fmt: skip
        output = (
            f"Chunk ID: {make.hex(6)}\nWall time: 0.{make.bytes()[1]:04d} seconds\n"
            f"Process exited with code {call.code}\n"
            f"Original token count: {tokens(call.output)}\nOutput:\n{call.output}\n"
        )
    if call.refused:
        output = "exec_command failed: rejected by user"
    kind = "custom_tool_call_output" if custom else "function_call_output"
    add("response_item", {"type": kind, "call_id": identity, "output": output})
    return int(line)


@layout("pi", ".jsonl")
def pi(dialogue: Dialogue) -> Written:
    """Pi sessions of version 3: lines with ids that form a tree."""
    make = Maker(dialogue)
    rows: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": make.session, "timestamp": make.time(),
         "cwd": make.cwd},
    ]  # fmt: skip
    places: list[Place] = []
    parent: str | None = None

    def add(message: dict[str, Any]) -> int:
        nonlocal parent
        key = make.hex(8)
        row = {"type": "message", "id": key, "parentId": parent, "timestamp": make.time(3)}
        rows.append({**row, "message": {**message, "timestamp": make.millis()}})
        parent = key
        return len(rows)

    for step in dialogue.steps:
        if step.speaker == "user":
            make.time(30)
            line = add({"role": "user", "content": [{"type": "text", "text": step.text}]})
            places.append(Place(line, line))
            continue
        blocks: list[dict[str, Any]] = []
        if step.thought:
            blocks.append({"type": "thinking", "thinking": step.thought})
        if step.text:
            blocks.append({"type": "text", "text": step.text})
        call, use = step.call, make.id("toolu_01")
        name, given = ("", {}) if call is None else _plain_call(call)
        if call is not None:
            blocks.append({"type": "toolCall", "id": use, "name": name, "arguments": given})
        spent = tokens(json.dumps(blocks))
        line = add({
            "role": "assistant", "content": blocks, "api": "anthropic-messages",
            "provider": "scripted", "model": make.model,
            "usage": {"input": 12, "output": spent, "cacheRead": 6_000, "cacheWrite": spent,
                      "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0,
                               "total": 0}},
            "stopReason": "toolUse" if call else "stop",
        })  # fmt: skip
        places.append(Place(line, line if step.text else None))
        if call is not None:
            output = plain_result(call)
            if call.code:
                output += f"\n\nCommand exited with code {call.code}"
            content = [{"type": "text", "text": output}]
            add({"role": "toolResult", "toolCallId": use, "toolName": name,
                 "content": content, "isError": bool(call.code)})  # fmt: skip
    return lines(rows), places


def _plain_call(call: Call) -> tuple[str, dict[str, Any]]:
    if call.tool == "run":
        return "bash", {"command": call.target}
    if call.tool == "edit":
        return "edit", {"path": call.target, "oldText": call.old, "newText": call.new}
    if call.tool == "write":
        return "write", {"path": call.target, "content": call.new + "\n"}
    return "read", {"path": call.target}


def plain_result(call: Call) -> str:
    """What a tool prints that has nothing more to say."""
    if call.tool == "edit":
        return f"Successfully replaced text in {call.target}."
    if call.tool == "write":
        return f"Successfully wrote {len(call.new) + 1} bytes to {call.target}"
    return call.output or "(no output)"
