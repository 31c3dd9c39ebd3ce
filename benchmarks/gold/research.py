"""Sessions in the layouts of research agents, plain message lists and aider's history."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.gold.clients import plain_result
from benchmarks.gold.dialogues import Call, Dialogue, DialogueError, Step
from benchmarks.gold.layouts import Maker, Place, Written, document, layout, lines, tokens

_SYSTEM = "You are an engineer with access to a shell and to the files of this repository."


@layout("openai_chat", ".json")
def openai_chat(dialogue: Dialogue) -> Written:
    """OpenAI's chat messages, one JSON list."""
    items: list[dict[str, Any]] = [{"role": "system", "content": _SYSTEM}]
    places: list[Place] = []
    calls = 0
    for step in dialogue.steps:
        place = len(items)
        places.append(Place(place, place if step.text else None))
        if step.speaker == "user":
            items.append({"role": "user", "content": step.text})
            continue
        item: dict[str, Any] = {"role": "assistant", "content": step.text or None}
        if step.call is None:
            items.append(item)
            continue
        calls += 1
        identity = f"call_{calls:03d}"
        names = {"run": "run", "read": "read_file", "write": "write_file", "edit": "edit_file"}
        function = {"name": names[step.call.tool], "arguments": json.dumps(_given(step.call))}
        item["tool_calls"] = [{"id": identity, "type": "function", "function": function}]
        output = plain_result(step.call)
        if step.call.code:
            output += f"\n(exit code {step.call.code})"
        answer = {"role": "tool", "tool_call_id": identity, "name": function["name"]}
        items += [item, {**answer, "content": output}]
    return document(items), places


@layout("anthropic_messages", ".jsonl")
def anthropic_messages(dialogue: Dialogue) -> Written:
    """Anthropic's messages, one on each line."""
    make = Maker(dialogue)
    rows: list[dict[str, Any]] = []
    places: list[Place] = []
    for step in dialogue.steps:
        place = len(rows) + 1
        places.append(Place(place, place if step.text else None))
        if step.speaker == "user":
            rows.append({"role": "user", "content": step.text})
            continue
        blocks: list[dict[str, Any]] = []
        if step.text:
            blocks.append({"type": "text", "text": step.text})
        use = make.id("toolu_")
        if step.call is not None:
            name = "bash" if step.call.tool == "run" else step.call.tool
            blocks.append(
                {"type": "tool_use", "id": use, "name": name, "input": _given(step.call)}
            )
        rows.append({"role": "assistant", "model": make.model, "content": blocks})
        if step.call is not None:
            result: dict[str, Any] = {"type": "tool_result", "tool_use_id": use}
            result["content"] = plain_result(step.call)
            if step.call.code:
                result["is_error"] = True
            rows.append({"role": "user", "content": [result]})
    return lines(rows), places


@layout("agent_messages", ".json")
def agent_messages(dialogue: Dialogue) -> Written:
    """The `AgentMessage` list of agent SDKs."""
    items: list[dict[str, Any]] = []
    places: list[Place] = []
    for number, step in enumerate(dialogue.steps):
        place = len(items)
        places.append(Place(place, place if step.text else None))
        said = [{"type": "text", "text": step.text}] if step.text else []
        if step.speaker == "user":
            items.append({"type": "user", "content": said})
            continue
        content: list[dict[str, Any]] = list(said)
        if step.call is None:
            items.append({"type": "assistant", "content": content})
            continue
        name = {"run": "Bash", "read": "Read", "write": "Write", "edit": "Edit"}[step.call.tool]
        use = {"toolUseId": f"t{number}", "toolName": name}
        content.append({"type": "tool_use", **use, "toolInput": _given(step.call)})
        result: dict[str, Any] = {"type": "tool_result", **use}
        result["toolResult"] = plain_result(step.call)
        if step.call.code:
            result["isError"] = True
        items += [
            {"type": "assistant", "content": content},
            {"type": "user", "content": [result]},
        ]
    return document(items), places


def _given(call: Call) -> dict[str, str]:
    if call.tool == "run":
        return {"command": call.target}
    if call.tool == "read":
        return {"path": call.target}
    if call.tool == "write":
        return {"path": call.target, "content": call.new + "\n"}
    return {"path": call.target, "old_string": call.old, "new_string": call.new}


def as_command(call: Call) -> str:
    """A call for agents that have nothing but a shell."""
    if call.tool == "run":
        return call.target
    if call.tool == "read":
        return f"cat {call.target}"
    if call.tool == "write":
        return f"cat > {call.target} <<'EOF'\n{call.new}\nEOF"
    return (
        f"python3 - <<'EOF'\nfrom pathlib import Path\np = Path({call.target!r})\n"
        f"p.write_text(p.read_text().replace({call.old!r}, {call.new!r}, 1))\nEOF"
    )


def _one_task(dialogue: Dialogue) -> tuple[Step, list[tuple[str, Call, int]]]:
    """The task, and each reply: its words, its one command, and how many steps it is made of.

    These recorders know no reply without a command, so words without one belong to the next.
    """
    first, *rest = dialogue.steps
    if first.speaker != "user" or any(step.speaker == "user" for step in rest):
        raise DialogueError(f"{dialogue.name}: this recorder has one prompt, at the beginning")
    replies: list[tuple[str, Call, int]] = []
    words: list[str] = []
    taken = 0
    for step in rest:
        taken += 1
        words += [step.text] if step.text else []
        if step.call is not None:
            replies.append(("\n\n".join(words), step.call, taken))
            words, taken = [], 0
    if words:
        raise DialogueError(f"{dialogue.name}: in this recorder the last reply has a command")
    return first, replies


@layout("swe_agent", ".traj")
def swe_agent(dialogue: Dialogue) -> Written:
    """SWE-agent trajectories with text actions."""
    make = Maker(dialogue)
    task, replies = _one_task(dialogue)
    opened = "n/a"

    def printed(output: str) -> str:
        return f"{output}\n(Open file: {opened})\n(Current directory: {make.cwd})\nbash-$"

    prompt = (
        "We're currently solving the following issue within our repository.\n\nISSUE:\n"
        f"{task.text}\n\nINSTRUCTIONS:\nNow, you're going to solve this issue on your own."
    )
    history: list[dict[str, Any]] = [
        {"role": "system", "content": _SYSTEM, "agent": "primary"},
        {"role": "user", "content": printed(prompt), "agent": "primary"},
    ]
    trajectory: list[dict[str, Any]] = []
    places = [Place(1, 1)]
    for words, call, made_of in replies:
        action, output = as_command(call), call.output
        if call.tool == "read":
            opened = f"{make.cwd}/{call.target}"
            action = f"open {call.target}"
            count = call.output.count("\n") + 1
            shown = "\n".join(f"{n}:{row}" for n, row in enumerate(output.split("\n"), 1))
            output = f"[File: {opened} ({count} lines total)]\n{shown}"
        elif call.tool == "edit":
            opened = f"{make.cwd}/{call.target}"
            at = 10 + make.bytes()[0] % 60
            last = at + call.old.count("\n")
            action = f"edit {at}:{last}\n{call.new}\nend_of_edit"
            output = (
                f"[File: {opened} (140 lines total)]\n{call.new}\nFile updated. Please review"
                " the changes and make sure they are correct."
            )
        elif not output:
            output = "Your command ran successfully and did not produce any output."
        content = f"{words}\n\n```\n{action}\n```" if words else f"```\n{action}\n```"
        state = json.dumps({"open_file": opened, "working_dir": make.cwd})
        place = len(history)
        places += [Place(place, place if words else None)] * made_of
        history += [
            {"role": "assistant", "content": content, "thought": f"{words}\n\n",
             "action": f"{action}\n", "agent": "primary"},
            {"role": "user", "content": printed(output), "agent": "primary"},
        ]  # fmt: skip
        trajectory.append(
            {"action": f"{action}\n", "observation": output, "response": content,
             "state": state, "thought": f"{words}\n\n"}
        )  # fmt: skip
    sent = sum(tokens(item["content"]) for item in history)
    info = {
        "exit_status": "submitted", "submission": "",
        "model_stats": {"total_cost": 0, "instance_cost": 0, "tokens_sent": sent * 9,
                        "tokens_received": sent // 5, "api_calls": len(replies)},
    }  # fmt: skip
    whole = {
        "environment": "swe_main",
        "trajectory": trajectory,
        "history": history,
        "info": info,
    }
    return document(whole, 2), places


@layout("mini_swe_agent", ".traj.json")
def mini_swe_agent(dialogue: Dialogue) -> Written:
    """mini-SWE-agent trajectories of version 1: one bash block in each reply."""
    make = Maker(dialogue)
    task, replies = _one_task(dialogue)
    template = (
        "Please solve this issue: {{task}}\n\nYou can execute bash commands and edit files to"
        " implement the necessary changes."
    )
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": _SYSTEM},
        {"role": "user", "content": template.replace("{{task}}", task.text)},
    ]
    places = [Place(1, 1)]
    for words, call, made_of in replies:
        block = f"```bash\n{as_command(call)}\n```"
        content = f"THOUGHT: {words}\n\n{block}" if words else block
        spent = tokens(content)
        usage = {"prompt_tokens": 3_000, "completion_tokens": spent,
                 "total_tokens": 3_000 + spent}  # fmt: skip
        answer = {"role": "assistant", "content": content}
        response = {
            "id": make.id("gen-"), "model": make.model, "object": "chat.completion",
            "created": make.millis(6) // 1000,
            "choices": [{"finish_reason": "stop", "index": 0, "message": answer}],
            "usage": usage,
        }  # fmt: skip
        place = len(messages)
        places += [Place(place, place if words else None)] * made_of
        output = f"<returncode>{call.code}</returncode>\n<output>\n{call.output}\n</output>"
        messages += [
            {**answer, "extra": {"response": response}},
            {"role": "user", "content": output},
        ]
    config = {
        "agent": {"instance_template": template, "step_limit": 250},
        "model": {"model_name": make.model},
        "environment": {"cwd": make.cwd, "timeout": 60},
    }
    whole = {
        "info": {"exit_status": "Submitted", "submission": "", "mini_version": "1.15.0",
                 "model_stats": {"instance_cost": 0, "api_calls": len(replies)},
                 "config": config},
        "messages": messages, "trajectory_format": "mini-swe-agent-1",
        "instance_id": dialogue.name,
    }  # fmt: skip
    return document(whole, 2), places


@layout("aider", ".aider.chat.history.md")
def aider(dialogue: Dialogue) -> Written:
    """Aider's chat history. A command is the person's `/run`, an edit a block of the reply."""
    make = Maker(dialogue)
    rows: list[str] = [
        "", f"# aider chat started at {make.now.strftime('%Y-%m-%d %H:%M:%S')}", "",
        "> Aider v0.86.1  ", f"> Main model: {make.model} with diff edit format  ",
        f"> Git repo: .git with {60 + make.bytes()[0]} files  ",
    ]  # fmt: skip
    places: list[Place] = []

    def printed(text: str) -> None:
        rows.extend(["", *(f"> {row}  " for row in text.split("\n"))])

    reply: int | None = None
    """Where the reply begins that is still being written: blank lines do not end one."""
    for step in dialogue.steps:
        call = step.call
        if step.speaker == "user":
            reply = None
            rows.append("")
            line = len(rows) + 1
            rows += [f"#### {row}  " for row in step.text.split("\n")]
            places.append(Place(line, line))
            continue
        if step.text:
            rows.append("")
            reply = reply or len(rows) + 1
            rows += step.text.split("\n")
            places.append(Place(reply, reply))
        elif call is not None and call.tool == "run":
            places.append(Place(len(rows) + 2, None))
        else:
            raise DialogueError(f"{dialogue.name}: an edit of aider's stands in a reply")
        if call is None:
            continue
        reply = None
        if call.tool == "run":
            rows += ["", f"#### /run {call.target}  "]
            printed(call.output or "(no output)")
            continue
        fence = call.target.rsplit(".", 1)[-1]
        old = [] if call.tool == "write" else call.old.split("\n")
        rows += ["", call.target, f"```{fence}", "<<<<<<< SEARCH", *old, "=======",
                 *call.new.split("\n"), ">>>>>>> REPLACE", "```"]  # fmt: skip
        printed("Tokens: 6.2k sent, 310 received.")
        printed(f"Applied edit to {call.target}")
    return ("\n".join(rows) + "\n").encode(), places
