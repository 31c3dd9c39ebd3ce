"""mini-SWE-agent trajectories, versions 1 and 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leftoff.formats.mini_swe_agent import FORMAT
from leftoff.formats.reader import Sample
from leftoff.model import (
    Message,
    Reasoning,
    Record,
    SessionFacts,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
)

Read = Callable[[str, Any], list[Record]]
Messages = Callable[[str, Any], list[Message]]

TASK = (
    "<pr_description>\nConsider the following PR description:\nTabs are lost\n</pr_description>"
)

BARE = b"""[{"role": "assistant", "content": "```bash\\nls\\n```"},
{"role": "user", "content": "<returncode>0</returncode>"}]"""


def _document(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"trajectory_format": "mini-swe-agent-1", "messages": list(messages), **more}


def _user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _said(text: str, **extra: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "extra": extra}


def test_a_block_is_a_call_and_the_next_message_its_result(messages: Messages) -> None:
    response = {
        "id": "gen-1",
        "model": "model-a",
        "created": 1_763_510_766,
        "choices": [{"message": {"reasoning": "Hm."}}],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 30,
            "prompt_tokens_details": {"cached_tokens": 60},
            "completion_tokens_details": {"reasoning_tokens": 12},
        },
    }
    found = messages(
        "mini_swe_agent",
        _document(
            {"role": "system", "content": "You help."},
            _user(TASK),
            _said("Look:\n```bash\nls src\n```", response=response),
            _user("<returncode>1</returncode>\n<output>\nno src\n</output>"),
            _said("Two:\n```bash\na\n```\n```bash\nb\n```"),
            _user("Please always provide EXACTLY ONE action"),
            _said("```bash\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```"),
            _user("diff --git a/x b/x"),
        ),
    )
    assert [(m.role, m.origin) for m in found] == [
        ("system", "injected"),
        ("user", "prompt"),
        ("assistant", "agent"),
        ("tool", "tool"),
        ("assistant", "agent"),
        ("user", "injected"),
        ("assistant", "agent"),
        ("tool", "tool"),
    ]
    first = found[2]
    assert first.parts[0] == Reasoning("Hm.")
    assert first.parts[2] == ToolCall("call-1", "bash", "shell", {"command": "ls src"})
    assert first.usage == Usage(40, 30, 60, 0, 12)
    assert (first.response, first.model, first.item) == ("gen-1", "model-a", 2)
    assert first.time == "2025-11-19T00:06:06.000Z"
    failed = ToolResult("call-1", "<output>\nno src\n</output>", "error", 1)
    assert found[3].parts == (failed,)
    assert not any(isinstance(p, ToolCall) for p in found[4].parts)
    assert found[7].parts == (ToolResult("call-3", "diff --git a/x b/x", "ok"),)


@pytest.mark.parametrize(
    "text,template,task",
    [
        (TASK, "", "Tabs are lost"),
        ("Please solve this issue: It fails\n\nYou can execute bash commands", "", "It fails"),
        ("Do it now: fix\nRules: none", "Do it now: {{task}}\nRules: none", "fix"),
        ("only words", "", "only words"),
    ],
)
def test_the_task_without_its_template(
    messages: Messages, text: str, template: str, task: str
) -> None:
    info = {"config": {"agent": {"instance_template": template}}}
    (prompt,) = messages("mini_swe_agent", _document(_user(text), info=info))
    (typed,) = prompt.typed
    assert prompt.text[typed.start : typed.end] == task


def test_a_timeout(messages: Messages) -> None:
    words = "The last command <command>sleep</command> timed out and has been killed."
    given = _document(_user(TASK), _said("```bash\nsleep 9\n```"), _user(words))
    assert messages("mini_swe_agent", given)[2].parts == (
        ToolResult("call-1", words, "timeout"),
    )


def test_version_2_answers_each_call(messages: Messages) -> None:
    calls = [
        {"id": "a", "function": {"name": "bash", "arguments": '{"command": "ls"}'}},
        {"id": "b", "function": {"name": "bash", "arguments": '{"command": "pwd"}'}},
    ]
    given = {
        "trajectory_format": "mini-swe-agent-1.1",
        "messages": [
            _user(TASK),
            {"role": "assistant", "content": None, "tool_calls": calls, "extra": {}},
            {"role": "tool", "tool_call_id": "b", "content": "/w", "extra": {"returncode": 0}},
            {"role": "tool", "tool_call_id": "a", "content": "", "extra": {"returncode": 2}},
        ],
    }
    found = messages("mini_swe_agent", given)
    assert found[2].parts == (ToolResult("b", "/w", "ok", 0),)
    assert found[3].parts == (ToolResult("a", "", "error", 2),)


def test_facts_and_odd_input(read: Read) -> None:
    info = {"mini_version": "1.15", "config": {"environment": {"cwd": "/testbed"}, "agent": 3}}
    records = read(
        "mini_swe_agent",
        _document(5, {"role": "oracle"}, _said("x", response=7), info=info, instance_id="i-1"),
    )
    assert records[0] == SessionFacts(id="i-1", cwd="/testbed", agent_version="1.15")
    assert [type(r) for r in records[1:]] == [Unknown, Unknown, Message]
    assert isinstance(records[3], Message)
    assert records[3].parts == (Text("x"),)


@pytest.mark.parametrize(
    "given,mine",
    [
        (b'{"trajectory_format": "mini-swe-agent-1.1"}', True),
        (b'{"trajectory_format": "other"}', False),
        (b'{"trajectory_format": 3, "messages": [], "info": {"mini_version": "1"}}', True),
        (BARE, True),
        (b'[{"role":"assistant","content":"```bash\\nls\\n```"}]', False),
        (b'[{"role":"user","content":["<returncode>0</returncode>"]}]', False),
        (b"", False),
    ],
)
def test_detection(given: bytes, mine: bool) -> None:
    assert FORMAT.detect(Sample(given, complete=True)) is mine
