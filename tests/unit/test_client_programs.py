"""How the clients are called, and what they really print, by table.

The outputs are those of Claude Code 2.1.197 and Codex 0.169.0 against a scripted model.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from leftoff.errors import UsageError
from leftoff.integrations.claude_cli import ClaudeClient
from leftoff.integrations.codex_cli import CodexClient
from leftoff.live.reviews.clients import Answer, Client, Failure
from leftoff.model import Usage

SESSION = "24d2f8cf-64cb-4d27-ba2c-b3ee07d9ddf6"
OTHER = "01a200b8-7480-74d1-ad6e-912ecb261372"
RESULT: dict[str, Any] = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "api_error_status": None,
    "num_turns": 1,
    "result": "answer",
    "session_id": SESSION,
    "usage": {
        "input_tokens": 4,
        "cache_creation_input_tokens": 33,
        "cache_read_input_tokens": 15456,
        "output_tokens": 2,
    },
}


# -- Claude Code -----------------------------------------------------------------------------


def test_the_first_call_is_the_designs() -> None:
    assert ClaudeClient().build_command("opus", allowed_tools="Read,Bash(git log:*)") == [
        *("claude", "--print", "--output-format", "json", "--model", "opus"),
        *("--allowedTools", "Read,Bash(git log:*)"),
    ]


def test_the_follow_up_is_the_designs() -> None:
    assert ClaudeClient().build_command("opus", "abc-123", "Read") == [
        *("claude", "--resume", "abc-123", "--print", "--output-format", "json"),
        *("--model", "opus", "--allowedTools", "Read"),
    ]


def test_the_clients_own_model_is_not_named() -> None:
    assert "--model" not in ClaudeClient().build_command()
    assert "--model" not in CodexClient().build_command()


@pytest.mark.parametrize("client", [ClaudeClient(), CodexClient()], ids=lambda c: c.name)
@pytest.mark.parametrize(
    "given",
    [
        {"session_id": "--dangerously-skip-permissions"},
        {"session_id": "a b"},
        {"model": "--resume"},
        {"model": "opus\n--x"},
        {"allowed_tools": "--mcp-config"},
    ],
)
def test_a_value_never_becomes_an_option(client: Client, given: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        client.build_command(**given)


def _claude(code: int, result: Any, stderr: str = "", session_id: str = "") -> Answer | Failure:
    stdout = json.dumps(result).encode() if result is not None else b""
    return ClaudeClient().outcome(code, stdout, stderr.encode(), session_id)


def test_an_answer_has_text_session_and_usage() -> None:
    assert _claude(0, RESULT) == Answer("answer", SESSION, Usage(4, 2, 15456, 33))


def test_a_verbose_client_prints_a_list() -> None:
    assert _claude(0, [{"type": "system"}, RESULT]) == _claude(0, RESULT)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (f"No conversation found with session ID: {SESSION}\n", "unknown"),
        (
            (
                "Error: --resume requires a valid session ID or session title when used with "
                '--print. Usage: claude -p --resume <session-id|title>. Provided value "x" is not '
                "a UUID and does not match any session title."
            ),
            "unknown",
        ),
        ("Error: Input must be provided either through stdin or as a prompt argument", "other"),
        ("", "other"),
    ],
)
def test_what_it_says_on_standard_error(words: str, kind: str) -> None:
    found = _claude(1, None, words, SESSION)
    assert isinstance(found, Failure)
    assert found.kind == kind
    assert found.words


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (
            404,
            (
                "There's an issue with the selected model (claude-opus-4-8). It may not exist or "
                "you may not have access to it. Run --model to pick a different model."
            ),
            "wrong_model",
        ),
        (
            400,
            "API Error: 400 messages.1.content.0: Invalid `signature` in `thinking` block",
            "wrong_model",
        ),
        (400, "Prompt is too long", "full"),
        (401, "Invalid API key · Fix external API key", "other"),
        (429, "API Error: Request rejected (429) · slow down", "other"),
        (529, "API Error: 529 Overloaded. This is a server-side issue.", "other"),
    ],
)
def test_what_it_says_as_a_failed_result(status: int, text: str, kind: str) -> None:
    result = {**RESULT, "is_error": True, "api_error_status": status, "result": text}
    assert _claude(1, result) == Failure(kind, text)  # type: ignore[arg-type]


def test_a_run_that_was_cut_short_is_a_failure() -> None:
    cut = {k: v for k, v in RESULT.items() if k != "result"}
    found = _claude(0, {**cut, "subtype": "error_max_turns"})
    assert isinstance(found, Failure)
    assert found == Failure("other", "error_max_turns, exit code 0")


def test_an_answer_about_failures_is_no_failure() -> None:
    quoted = "The log says: No conversation found with session ID. Prompt is too long."
    assert _claude(0, {**RESULT, "result": quoted}) == Answer(
        quoted, SESSION, Usage(4, 2, 15456, 33)
    )


@pytest.mark.parametrize(
    "stdout",
    [b"", b"null", b"[]", b"[1]", b'{"type": "result"}', b"{", b"\xff\xfe", b'"x"', b"[[[["],
)
@pytest.mark.parametrize("client", [ClaudeClient(), CodexClient()], ids=lambda c: c.name)
def test_what_is_no_result_is_a_failure_with_words(client: Client, stdout: bytes) -> None:
    found = client.outcome(0, stdout, b"", SESSION)
    assert isinstance(found, Failure)
    assert found.words


# -- Codex -----------------------------------------------------------------------------------

STARTED = {"type": "thread.started", "thread_id": SESSION}
WARNED = {
    "type": "item.completed",
    "item": {"id": "item_0", "type": "error", "message": "Model metadata for `m` not found."},
}
SAID = {"type": "item.completed", "item": {"type": "agent_message", "text": "answer"}}
ENDED = {
    "type": "turn.completed",
    "usage": {
        "input_tokens": 38034,
        "cached_input_tokens": 18980,
        "cache_write_input_tokens": 0,
        "output_tokens": 4,
        "reasoning_output_tokens": 1,
    },
}
WARNING = b"WARNING: proceeding, even though we could not create PATH aliases\n"


def _codex(code: int, *events: Any, stderr: bytes = b"", session_id: str = "") -> Any:
    lines = "".join(json.dumps(event) + "\n" for event in events)
    return CodexClient().outcome(code, lines.encode(), WARNING + stderr, session_id)


def test_codex_is_called_with_the_prompt_on_standard_input() -> None:
    client = CodexClient(options=("--skip-git-repo-check",))
    assert client.build_command("m") == [
        *("codex", "exec", "--skip-git-repo-check", "--json", "--model", "m", "-")
    ]
    assert client.build_command("m", SESSION) == [
        *("codex", "exec", "--skip-git-repo-check", "--json", "resume", "--model", "m"),
        *(SESSION, "-"),
    ]


def test_codex_answers_in_events() -> None:
    found = _codex(0, STARTED, WARNED, {"type": "turn.started"}, SAID, ENDED)
    assert found == Answer("answer", SESSION, Usage(19054, 4, 18980, 0, 1))


def test_the_last_message_is_the_answer() -> None:
    looking = {"type": "item.completed", "item": {"type": "agent_message", "text": "Looking."}}
    assert _codex(0, STARTED, looking, SAID, ENDED).text == "answer"


def test_a_conversation_that_was_not_resumed_is_unknown_even_if_it_answers() -> None:
    # An id that is none is taken for a name, and a new conversation begins with exit code 0.
    found = _codex(0, STARTED, SAID, ENDED, session_id=OTHER)
    assert (type(found), found.kind) == (Failure, "unknown")
    assert _codex(0, STARTED, SAID, ENDED, session_id=SESSION).text == "answer"


def test_an_id_that_codex_does_not_know() -> None:
    said = f"Error: thread/resume: thread/resume failed: no rollout found for thread id {OTHER}"
    found = _codex(1, stderr=f"{said} (code -32600)\n".encode(), session_id=OTHER)
    assert found.kind == "unknown"
    assert "WARNING" not in found.words


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("The model `m` does not exist or you do not have access to it.", "wrong_model"),
        (
            '{"error": {"message": "The encrypted content could not be verified."}}',
            "wrong_model",
        ),
        (
            (
                "Codex ran out of room in the model's context window. Start a new thread or clear "
                "earlier history before retrying."
            ),
            "full",
        ),
        ("exceeded retry limit, last status: 429 Too Many Requests", "other"),
    ],
)
def test_what_codex_says_when_a_turn_fails(words: str, kind: str) -> None:
    events = [{"type": "error", "message": words}]
    events += [{"type": "turn.failed", "error": {"message": words}}]  # type: ignore[dict-item]
    assert _codex(1, STARTED, WARNED, *events) == Failure(kind, words)  # type: ignore[arg-type]


def test_codex_knows_no_list_of_tools() -> None:
    with pytest.raises(UsageError, match="sandbox"):
        CodexClient().build_command(allowed_tools="Read")
