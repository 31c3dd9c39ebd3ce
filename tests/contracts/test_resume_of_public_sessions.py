"""Real sessions of many recorders: state, file, message. Nothing of them is kept here."""

from pathlib import Path

import pytest

from leftoff import codec
from leftoff.handover.compatibility import Workspace, assess
from leftoff.handover.resume_state.document import ResumeState, decode
from leftoff.handover.resume_state.message import DEFAULT_BUDGET, resume_message
from leftoff.handover.resume_state.running_workflow import Bounds, optimize_for_storage
from leftoff.live.resume_states.transcripts import from_transcript
from leftoff.redaction.redactor import Redactor
from leftoff.tokens import max_tokens

FORMATS = (
    "claude_code codex copilot_cli gemini_cli opencode openhands specstory swe_agent cline pi"
)
SIDECARS = (".metadata.json", ".groundtruth.json")
LARGEST = 600_000
"""Bytes; the larger ones take time and prove no more."""


def sessions(folder: Path) -> list[Path]:
    """The two largest of a recorder's sessions that are small enough."""
    found = [
        path
        for path in folder.iterdir()
        if path.is_file()
        and not path.name.endswith(SIDECARS)
        and path.stat().st_size <= LARGEST
    ]
    return sorted(found, key=lambda path: (-path.stat().st_size, path.name))[:2]


@pytest.mark.parametrize("recorder", FORMATS.split())
def test_a_real_session_becomes_state_file_and_message(
    recorder: str, public_corpus: Path
) -> None:
    folder = public_corpus / recorder
    if not folder.is_dir():
        pytest.skip(f"the public corpus holds no session of {recorder}")
    for path in sessions(folder):
        state = from_transcript(path, hashes=False)
        kept = optimize_for_storage(state)
        bounds = Bounds()
        assert len(kept.completed_tools) <= bounds.tools, path
        assert len(kept.chat_history) <= bounds.messages, path
        value = Redactor().value(kept.to_dict())
        again = decode(codec.dumps(value))
        assert again == ResumeState.from_dict(value), path
        calls = {c.call_id for m in again.chat_history for c in m.function_calls or ()}
        answers = {m.tool_call_id for m in again.chat_history if m.role == "tool"}
        assert answers <= calls, path
        message = resume_message(again)
        assert max_tokens(message) <= DEFAULT_BUDGET, path
        assert Redactor().text(message) == message, path
        lines = message.splitlines()
        assert lines.count("</leftoff>") == 1, path
        assert "main_goal" in again.context_evolution.current_context or not state.chat_history
        # A workflow without a file fits anywhere that is not known to differ.
        assert assess(again, Workspace()).verdict == "same", path
