"""Text made to keep a reader busy is read in time that grows with its length only."""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from leftoff.errors import FormatError
from leftoff.extraction.collector import Collector

Linear: TypeAlias = Callable[[Callable[[int], Callable[[], object]], int], None]

PIECES = ["<task>", "<read_file><path>", "[read_file for '", "```bash\n x", "\n\n ", "#### x  \n",
          "<issue_description>", "ISSUE:\n", "(Open file: a)\n", "<function=a><parameter=b>",
          "<<<<<<< SEARCH\n", "_**User (", "Applied edit to ", "attachment://0123456789abcdef",
          "<summary>Tool use: **a", "> Tokens: 1 sent, ", "<leftoff>", "<system-reminder ",
          "<!-- leftoff:checkpoint t 90 -->",
          "[Context Checkpoint: x]\nIteration: 1\nProgress Summary:\nContinue task: "]  # fmt: skip
LENGTH = 200_000


def _recordings(text: str) -> dict[str, bytes]:
    said = {"role": "assistant", "content": text}
    asked = {"role": "user", "content": text}
    panel: Any = [
        {"ts": 1, "type": "say", "say": "command", "text": "x"},
        {"ts": 1, "type": "say", "say": "text", "text": text},
        {
            "ts": 1,
            "type": "say",
            "say": "api_req_started",
            "text": json.dumps({"request": text}),
        },
    ]
    sent = [{"role": "user", "content": [{"type": "text", "text": text}]}, said]
    event = {"source": "user", "action": "message", "args": {"content": text}}
    steps = [{"source": "user", "message": text}, {"source": "agent", "message": text}]
    head = "# aider chat started at 2026-01-02 03:04:05\n\n#### go  \n\n"
    tool = '<tool-use data-tool-type="a" data-tool-name="Bash"><details>\n'
    return {
        "swe_agent": json.dumps({"history": [asked, {**said, "action": text}, asked]}).encode(),
        "mini_swe_agent": json.dumps({"messages": [asked, said, asked]}).encode(),
        "openhands": json.dumps([event, {**event, "source": "agent"}]).encode(),
        "inspect": json.dumps({"samples": [{"messages": [asked, said]}]}).encode(),
        "cline": json.dumps(panel).encode(),
        "atif": json.dumps({"steps": steps}).encode(),
        "aider": (head + text).encode(),
        "specstory": f"_**Agent (m 2026-01-02 03:04:05Z)**_\n\n{tool}{text}".encode(),
        "cline ": json.dumps(sent).encode(),
    }


@pytest.mark.parametrize("piece", PIECES)
def test_hostile_text(piece: str, assert_linear: Linear) -> None:
    for name in _recordings(""):

        def prepare(size: int, name: str = name) -> Callable[[], object]:
            data = _recordings(piece * (size // len(piece)))[name]
            return lambda: _read(name, data)

        assert_linear(prepare, LENGTH)


def _read(name: str, data: bytes) -> None:
    fold = Collector(name, name.strip())
    fold._gate = _NoGate()  # type: ignore[assignment]
    try:
        fold.feed(data)
        fold.close()
    except FormatError:
        pass


class _NoGate:
    """No rules, so that the reader alone is timed."""

    def scan(self, text: str, part: int) -> dict[str, list[Any]]:
        return {}
