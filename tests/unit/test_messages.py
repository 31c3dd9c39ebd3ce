"""Messages as `leftoff show` prints them."""

from leftoff.model import Message, ToolResult
from leftoff.redaction.redactor import Redactor
from leftoff.rendering.messages import message_text


def test_long_results_are_cut_unless_all_is_asked_for() -> None:
    message = Message(0, "tool", (ToolResult("1", "x" * 5000, "ok"),), origin="tool")
    assert "… 3,800 more characters" in message_text(message, Redactor())
    assert "x" * 5000 in message_text(message, Redactor(), full=True)
