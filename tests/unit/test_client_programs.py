"""How the clients are called, and what they really print, by table.

The outputs are those of Claude Code 2.1.197 and Codex 0.169.0 against a scripted model.
"""

import pytest

from leftoff.errors import UsageError
from leftoff.integrations.claude_cli import ClaudeClient
from leftoff.integrations.codex_cli import CodexClient
from leftoff.live.reviews import Client, Failure

SESSION = "24d2f8cf-64cb-4d27-ba2c-b3ee07d9ddf6"


# -- Claude Code -----------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    "stdout",
    [b"", b"null", b"[]", b"[1]", b'{"type": "result"}', b"{", b"\xff\xfe", b'"x"', b"[[[["],
)
@pytest.mark.parametrize("client", [ClaudeClient(), CodexClient()], ids=lambda c: c.name)
def test_what_is_no_result_is_a_failure_with_words(client: Client, stdout: bytes) -> None:
    found = client.outcome(0, stdout, b"", SESSION)
    assert isinstance(found, Failure)
    assert found.words
