"""The measures of a handover cannot be met by words that only look right."""

from leftoff.evaluation.resume_forms import _fitting, with_recorded
from leftoff.live.compactions import Cut
from leftoff.model import Message, Text, ToolCall, ToolResult, Typed
from leftoff.summary import ContextSummary
from leftoff.tokens import max_tokens


def typed(index: int, text: str) -> Message:
    return Message(
        index,
        "user",
        (Text(text),),
        origin="prompt",
        typed=(Typed(part=0, start=0, end=len(text)),),
    )


def called(index: int, name: str, kind: str, **given: object) -> Message:
    return Message(index, "assistant", (ToolCall(f"c{index}", name, kind, given),))


def came_back(index: int, call: int, text: str = "ok", status: str = "ok") -> Message:
    return Message(index, "user", (ToolResult(f"c{call}", text, status, 0),), origin="tool")


def cut(prefix: list[Message], future: list[Message], recorded: str = "") -> Cut:
    return Cut("compaction 1", True, len(prefix), tuple(prefix), tuple(future), recorded, ())


EDITING = [
    typed(0, "Rename the port option to listen everywhere."),
    called(1, "Edit", "edit", file_path="src/serve.py", old_string="a", new_string="b"),
    came_back(2, 1),
]


def test_both_together_are_no_longer_than_the_recorders_summary() -> None:
    recorded = "".join(f"{n}. What was done in step {n} of the work.\n" for n in range(90))
    seen: list[tuple[str, int]] = []

    def beside(_: ContextSummary, left: str, room: int) -> str:
        seen.append((left, room))
        return "Ünsere Zeile.\n" * 40

    at = cut(EDITING, [], recorded)
    text = with_recorded(beside)["both, equal length"](at, None)  # type: ignore[arg-type]
    assert text is not None
    assert len(text.encode()) <= len(recorded)
    assert max_tokens(text) <= max_tokens(recorded)
    ((left, room),) = seen
    assert recorded.startswith(left)
    assert room == len(recorded) // 2
    assert _fitting("a\nbb\n", 3) == ["a\n"]
