"""Rewound conversations: words of an abandoned branch are dropped, its effects stay."""

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies.claude_code import Recording

from leftoff import ContextSummary


class Recorder(Recording):
    """Lines of a conversation that may go back and start again."""

    def __init__(self, noise: str) -> None:
        super().__init__(cwd="/w")
        self.noise = noise

    def follow(self, parent: str | None, role: str, content: Any, **more: Any) -> str:
        """A message that answers another; the id of the last line."""
        key = self.add(role, content, parentUuid=parent, **more)
        if self.noise != "progress":
            return key
        progress = {"type": "progress", "uuid": f"x{key}", "parentUuid": key, "sessionId": "s"}
        self.lines.append({**progress, "data": {"type": "hook_progress"}})
        return f"x{key}"

    def exchange(self, parent: str | None, name: str) -> str:
        """A prompt, a decision, a written file, and its result; the last line's id."""
        at = self.follow(parent, "user", f"Please write the module {name}.")
        said = f"I decided to keep {name} in its own file rather than in core."
        at = self.follow(at, "assistant", [{"type": "text", "text": said}])
        call = {"type": "tool_use", "id": f"t{at}", "name": "Write"}
        given = {"file_path": f"/w/{name}.py", "content": "x"}
        at = self.follow(at, "assistant", [{**call, "input": given}])
        done = {"type": "tool_result", "tool_use_id": call["id"], "content": "ok"}
        return self.follow(at, "user", [done], toolUseResult={"type": "create"})


def check(got: ContextSummary, kept: list[str], left: list[str]) -> None:
    words = [r.text for r in got.user_requests]
    for name in kept:
        assert any(name in text for text in words), name
    for name in left:
        assert not any(f"module {name}." in text for text in words), name
        assert not any(f"keep {name} " in d.text for d in got.key_decisions), name
    files = {f.path: f for f in got.file_modifications}
    assert set(files) == {f"{name}.py" for name in kept + left}
    for name in left:
        assert files[f"{name}.py"].branch == "abandoned"
        assert files[f"{name}.py"].certainty == "likely"
    for name in kept:
        assert files[f"{name}.py"].branch == ""
        assert files[f"{name}.py"].certainty == "sure"


CASES = list(itertools.product((1, 2, 3), (1, 2, 3, 4), ("", "progress")))
"""Siblings abandoned, exchanges on each, and what stands between the lines: 24 cases."""


@pytest.mark.parametrize(("siblings", "length", "noise"), CASES)
def test_what_was_rewound_is_told_only_by_what_it_did(
    siblings: int, length: int, noise: str
) -> None:
    recorder = Recorder(noise)
    fork = recorder.exchange(None, "base")
    left: list[str] = []
    for sibling in range(siblings):
        at = fork
        for step in range(length):
            left.append(f"old{sibling}{step}")
            at = recorder.exchange(at, left[-1])
    at = recorder.exchange(fork, "new")
    recorder.exchange(at, "last")
    check(recorder.summary(), ["base", "new", "last"], left)


def test_spend_of_an_abandoned_branch_stays() -> None:
    recorder = Recorder("")
    fork = recorder.exchange(None, "base")
    recorder.exchange(fork, "old")
    recorder.exchange(fork, "new")
    for line in recorder.lines:
        if line["type"] == "assistant":
            line["message"]["usage"] = {"output_tokens": 10}
    assert recorder.summary().context.spend.output == 60


@given(choices=st.lists(st.integers(0, 4), min_size=1, max_size=8))
@settings(max_examples=60)
def test_any_tree_keeps_every_effect_and_one_line_of_words(choices: list[int]) -> None:
    """Each exchange goes on from the end of some earlier one: a later child of the same parent
    abandons the earlier ones with all that follows from them."""
    recorder = Recorder("")
    ends = [recorder.exchange(None, "n0")]
    parents = [-1]
    for number, choice in enumerate(choices, 1):
        parent = choice % len(ends)
        parents.append(parent)
        ends.append(recorder.exchange(ends[parent], f"n{number}"))
    newest = {parent: child for child, parent in enumerate(parents)}

    def stands(node: int) -> bool:
        return node <= 0 or (newest[parents[node]] == node and stands(parents[node]))

    names = [f"n{number}" for number in range(len(ends))]
    got = recorder.summary()
    assert {f.path for f in got.file_modifications} == {f"{name}.py" for name in names}
    for number, name in enumerate(names):
        told = any(f"module {name}." in r.text for r in got.user_requests)
        assert told == stands(number), name
