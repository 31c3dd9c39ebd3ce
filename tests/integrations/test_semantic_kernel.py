"""With the real package: every call is captured, and conversations go in and out."""

import asyncio
import importlib
import json
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("semantic_kernel", reason="needs the package semantic-kernel")

from leftoff import api
from leftoff.handover.resume_state.document import ChatMessage, CompletedTool, FunctionCall
from leftoff.integrations.semantic_kernel import capture, chat_history, messages_of, remembered
from leftoff.live.resume_states.states import FileResumeStateManager
from leftoff.model import Reasoning, Text, ToolCall, ToolResult
from leftoff.stores.files import FileStore

kernel_package = importlib.import_module("semantic_kernel")
functions = importlib.import_module("semantic_kernel.functions")
contents = importlib.import_module("semantic_kernel.contents")


class Ledger:
    """A plug-in."""

    @functions.kernel_function  # type: ignore[untyped-decorator]
    def add(self, a: int, b: int) -> int:
        return a + b

    @functions.kernel_function  # type: ignore[untyped-decorator]
    async def later(self, words: str) -> str:
        await asyncio.sleep(0.02)
        return words.upper()

    @functions.kernel_function  # type: ignore[untyped-decorator]
    def fail(self, path: str = "") -> str:
        raise FileNotFoundError(f"no {path}")

    @functions.kernel_function  # type: ignore[untyped-decorator]
    def nothing(self) -> None:
        return None

    @functions.kernel_function  # type: ignore[untyped-decorator]
    def rows(self) -> list[dict[str, int]]:
        return [{"row": 1}, {"row": 2}]

    @functions.kernel_function  # type: ignore[untyped-decorator]
    async def pieces(self, count: int) -> AsyncIterator[str]:
        for number in range(count):
            yield f"{number},"

    @functions.kernel_function  # type: ignore[untyped-decorator]
    async def breaks(self) -> AsyncIterator[str]:
        yield "first"
        raise RuntimeError("the line is dead")

    @functions.kernel_function  # type: ignore[untyped-decorator]
    def here(self) -> Iterator[str]:
        yield from ("a", "b")


class Bench:
    """A kernel of which every call is captured."""

    def __init__(self, workflow: str | None = None) -> None:
        self.taken: list[CompletedTool] = []
        self.workflows: list[str | None] = []
        self.threads: set[int] = set()
        self.kernel = kernel_package.Kernel()
        self.kernel.add_plugin(Ledger(), "Ledger")
        capture(self.kernel, self, workflow)

    def track_completed_tool(self, workflow: str | None, tool: CompletedTool) -> None:
        self.threads.add(threading.get_ident())
        self.workflows.append(workflow)
        self.taken.append(tool)

    def call(self, name: str, **given: Any) -> Any:
        made = self.kernel.invoke(plugin_name="Ledger", function_name=name, **given)
        return asyncio.run(made)

    def stream(self, name: str, most: int = 99, **given: Any) -> list[str]:
        async def heard() -> list[str]:
            found: list[str] = []
            stream = self.kernel.invoke_stream(
                plugin_name="Ledger", function_name=name, **given
            )
            async for piece in stream:
                found += map(str, piece if isinstance(piece, list) else [piece])
                if len(found) >= most:
                    break
            await stream.aclose()
            return found

        return asyncio.run(heard())


def test_a_completed_call_is_captured_with_parameters_and_result() -> None:
    bench = Bench()
    assert str(bench.call("later", words="march")) == "MARCH"
    (taken,) = bench.taken
    assert (taken.function_name, taken.parameters) == ("Ledger.later", {"words": "march"})
    assert (taken.result, taken.success, bench.workflows) == ("MARCH", True, [None])


def test_it_is_handed_on_beside_the_loop() -> None:
    bench = Bench()
    bench.call("add", a=1, b=2)
    assert bench.taken[0].result == "3"
    assert threading.get_ident() not in bench.threads


def test_a_failed_call_is_captured_and_still_fails() -> None:
    bench = Bench()
    with pytest.raises(Exception, match="fail") as caught:
        bench.call("fail", path="march.csv")
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    (taken,) = bench.taken
    assert (taken.result, taken.success) == ("ERROR: no march.csv", False)


def test_a_call_that_gives_nothing_has_succeeded() -> None:
    bench = Bench()
    bench.call("nothing")
    assert (bench.taken[0].result, bench.taken[0].success) == (None, True)


def test_results_that_are_no_text_are_json() -> None:
    bench = Bench()
    bench.call("rows")
    assert json.loads(bench.taken[0].result or "") == [{"row": 1}, {"row": 2}]


def test_a_stream_is_captured_when_it_has_ended() -> None:
    bench = Bench()
    assert bench.stream("pieces", count=3) == ["0,", "1,", "2,"]
    assert [t.result for t in bench.taken] == ["0,1,2,"]
    assert bench.stream("here") == ["a", "b"]
    assert bench.taken[1].result == "ab"


def test_a_stream_that_breaks_has_failed() -> None:
    bench = Bench()
    with pytest.raises(Exception, match="dead"):
        bench.stream("breaks")
    assert bench.taken[0].result == "ERROR: the line is dead"


def test_a_stream_that_nobody_hears_to_its_end_is_captured() -> None:
    bench = Bench()
    assert bench.stream("pieces", most=2, count=50) == ["0,", "1,"]
    assert [(t.result, t.success) for t in bench.taken] == [("0,1,", True)]


def test_the_arguments_that_are_ours_say_where_a_call_belongs() -> None:
    bench = Bench("of-the-filter")
    bench.call("add", a=1, b=2)
    bench.call("add", a=1, b=2, workflow_id="w-1", reasoning="to see")
    assert bench.workflows == ["of-the-filter", "w-1"]
    assert bench.taken[1].parameters == {"a": 1, "b": 2}


def test_a_parameter_that_is_no_plain_value_becomes_text() -> None:
    bench = Bench()
    history = contents.ChatHistory(system_message="x" * 9_000)
    bench.call("add", a=1, b=2, chat_history=history)
    shown = bench.taken[0].parameters["chat_history"]
    assert shown.startswith("ChatHistory: ")
    assert len(shown) <= 2_000


def test_what_listens_cannot_break_what_works(caplog: pytest.LogCaptureFixture) -> None:
    kernel = kernel_package.Kernel()
    kernel.add_plugin(Ledger(), "Ledger")

    class Broken:
        def track_completed_tool(self, workflow: str | None, tool: CompletedTool) -> None:
            raise OSError("password=hunter2hunter2 disk full")

    capture(kernel, Broken())
    with caplog.at_level(logging.WARNING, "leftoff.live"):
        made = kernel.invoke(plugin_name="Ledger", function_name="add", a=1, b=2)
        assert asyncio.run(made).value == 3
    assert "Ledger.add is not saved" in caplog.text
    assert "hunter2hunter2" not in caplog.text


def test_the_calls_are_the_tools_of_a_resume_state(tmp_path: Path) -> None:
    manager = FileResumeStateManager(FileStore(tmp_path))
    workflow = manager.begin("plan.md", "# Plan")
    kernel = kernel_package.Kernel()
    kernel.add_plugin(Ledger(), "Ledger")
    capture(kernel, manager, workflow)

    async def work() -> None:
        await kernel.invoke(plugin_name="Ledger", function_name="add", a=1, b=2)
        await kernel.invoke(plugin_name="Ledger", function_name="nothing", reasoning="to wait")
        with pytest.raises(Exception, match="fail"):
            await kernel.invoke(plugin_name="Ledger", function_name="fail", path="x")

    asyncio.run(work())
    found = FileResumeStateManager(FileStore(tmp_path)).load(workflow)
    assert found is not None
    tools = found.state.completed_tools
    assert [(t.function_name, t.success, t.result) for t in tools] == [
        ("Ledger.add", True, "3"),
        ("Ledger.nothing", True, None),
        ("Ledger.fail", False, "ERROR: no x"),
    ]
    assert tools[0].parameters == {"a": 1, "b": 2}
    assert tools[1].ai_reasoning == "to wait"


# -- conversations ---------------------------------------------------------------------------


def _history() -> Any:
    history = contents.ChatHistory(system_message="You work on the ledger.")
    history.add_user_message("Why does line 212 stop the import?")
    call = contents.FunctionCallContent(
        id="call_0",
        plugin_name="Shell",
        function_name="run",
        arguments='{"command": "sed -n 212p march.csv"}',
    )
    history.add_message(
        contents.ChatMessageContent(
            role=contents.AuthorRole.ASSISTANT,
            items=[contents.TextContent(text="I'll look."), call],
            ai_model_id="model-a",
        )
    )
    result = contents.FunctionResultContent.from_function_call_content_and_result(call, "12;x")
    history.add_message(result.to_chat_message_content())
    history.add_assistant_message("The name holds the separator.")
    return history


def test_a_chat_history_is_read() -> None:
    found = messages_of(_history())
    assert [m.role for m in found] == ["system", "user", "assistant", "tool", "assistant"]
    (_, call), (result,) = found[2].parts, found[3].parts
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert (call.name, call.input) == ("Shell.run", {"command": "sed -n 212p march.csv"})
    assert (result.call_id, result.text) == (call.id, "12;x")
    assert messages_of(contents.ChatHistory()) == []


def _said(messages: Any) -> list[Any]:
    """Roles and parts: what must survive; places and hashes are of the file."""
    return [(m.role, m.parts) for m in messages]


def test_a_chat_history_comes_back_as_it_was() -> None:
    before = messages_of(_history())
    made = chat_history(before)
    again = type(made).restore_chat_history(made.serialize())
    assert _said(messages_of(again)) == _said(before)
    assert again.messages[2].ai_model_id == "model-a"


@pytest.mark.parametrize(
    "name",
    [
        "claude_code/prorate.jsonl",
        "codex/sift.jsonl",
        "semantic_kernel/imports.json",
        "openai_chat/reminders.json",
    ],
)
def test_a_recorded_session_becomes_a_chat_history(root: Path, name: str) -> None:
    recorded = list(api.read(str(root / "corpora" / "sessions" / name)))
    back = messages_of(chat_history(recorded))
    for kind in (Text, ToolCall, ToolResult):
        parts = [
            [p for m in messages for p in m.parts if type(p) is kind]
            for messages in (recorded, back)
        ]
        words = [
            [getattr(p, "text", None) or getattr(p, "input", None) for p in listed]
            for listed in parts
        ]
        assert [w for w in words[0] if w] == [w for w in words[1] if w]
    assert not any(type(p) is Reasoning for m in back for p in m.parts)
    answered = [p.call_id for m in back for p in m.parts if type(p) is ToolResult]
    called = [p.id for m in back for p in m.parts if type(p) is ToolCall]
    assert set(answered) <= set(called)


def test_a_resume_state_keeps_it_and_gives_it_back() -> None:
    kept = remembered(_history())
    assert [m.role for m in kept] == ["user", "assistant", "tool", "assistant"]
    assert kept[1].function_calls == (
        FunctionCall(
            function_name="Shell.run",
            parameters={"command": "sed -n 212p march.csv"},
            call_id="call_0",
        ),
    )
    back = chat_history(kept)
    assert [str(m.role.value) for m in back.messages] == [m.role for m in kept]
    assert remembered(back) == kept


def test_messages_of_the_seeds_layout_become_a_chat_history() -> None:
    kept = (
        ChatMessage(role="user", content="Analyze this", timestamp="2025-07-10T14:30:22Z"),
        ChatMessage(
            role="assistant",
            content="",
            function_calls=(
                FunctionCall(
                    function_name="project_analyze", parameters={"p": "x"}, call_id="c"
                ),
            ),
        ),
        ChatMessage(role="tool", content="found", tool_call_id="c"),
    )
    made = chat_history(kept)
    (call,) = made.messages[1].items
    assert (call.function_name, call.id) == ("project_analyze", "c")
    assert str(made.messages[2].items[0].result) == "found"
