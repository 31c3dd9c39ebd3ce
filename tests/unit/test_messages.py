"""Messages as `leftoff show` prints them."""

from __future__ import annotations

from leftoff.model import Message, ToolCall, ToolResult
from leftoff.redaction.redactor import Redactor
from leftoff.rendering.messages import message_text

SECRET = "ghp_" + "aB3dE5fG7h" * 3 + "9Kq2wE"


def test_secrets_go_by_shape_and_by_the_name_of_the_argument() -> None:
    call = ToolCall("1", "login", "other", {"password": "Xq9vB7kPw2Lm", "note": SECRET})
    message = Message(0, "assistant", (call, ToolResult("1", f"token {SECRET}", "ok")))
    for full in (False, True):
        text = message_text(message, Redactor(), full=full)
        assert SECRET not in text
        assert "Xq9vB7k" not in text


def test_long_results_are_cut_unless_all_is_asked_for() -> None:
    message = Message(0, "tool", (ToolResult("1", "x" * 5000, "ok"),), origin="tool")
    assert "… 3,800 more characters" in message_text(message, Redactor())
    assert "x" * 5000 in message_text(message, Redactor(), full=True)
