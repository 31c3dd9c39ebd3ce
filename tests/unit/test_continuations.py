"""One line of work over several recordings: copies count once, links hold it together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leftoff import UsageError, api


def line(kind: str, uuid: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        body |= {"id": f"m-{uuid}", "usage": {"input_tokens": 10, "output_tokens": 5}}
        body["content"] = (
            content if isinstance(content, list) else [{"type": "text", "text": content}]
        )
    return {
        "type": kind, "uuid": uuid, "parentUuid": parent, "message": body, "cwd": "/w",
        "timestamp": f"2026-01-01T10:00:{len(uuid):02}Z", **more,
    }  # fmt: skip


HISTORY = [
    line("user", "u1", None, "Rename the flag."),
    line("assistant", "a1", "u1", "I'll go with `--quiet` because callers know it."),
    line("assistant", "a2", "a1", [
        {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "/w/a.py", "content": "x"}}
    ]),
    line("user", "u2", "a2", [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]),
]  # fmt: skip
MORE = [
    line("user", "u3", "u2", "Please write the docs now."),
    line("assistant", "a3", "u3", "Done."),
]
OTHER = [
    line("user", "u4", "u2", "Please add the tests now."),
    line("assistant", "a4", "u4", "Done."),
]


def write(path: Path, session: str, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps({**one, "sessionId": session}) + "\n" for one in lines))
    return path


def test_a_fork_counts_its_copied_history_once(tmp_path: Path) -> None:
    first = write(tmp_path / "one.jsonl", "s-1", HISTORY + MORE)
    fork = write(tmp_path / "two.jsonl", "s-2", HISTORY + OTHER)
    whole = api.summarize([first, fork])
    assert whole.stats.message_count == len(HISTORY) + len(MORE) + len(OTHER)
    assert whole.stats.tool_call_count == 1
    assert whole.context.spend.output == 5 * 4
    assert [f.touch_count for f in whole.file_modifications] == [1]
    assert [(r.text, r.ref.source) for r in whole.user_requests][-1] == (
        "Please add the tests now.",
        1,
    )
    texts = [decision.text for decision in whole.key_decisions]
    assert len(texts) == len(set(texts))
    assert api.verify(whole) == []


def test_siblings_of_two_files_are_a_rewind(tmp_path: Path) -> None:
    first = write(tmp_path / "one.jsonl", "s-1", HISTORY + MORE)
    fork = write(tmp_path / "two.jsonl", "s-2", HISTORY + OTHER)
    whole = api.summarize([first, fork])
    assert "Please write the docs now." not in [r.text for r in whole.user_requests]


def test_the_same_file_twice_is_one_session(tmp_path: Path) -> None:
    first = write(tmp_path / "one.jsonl", "s-1", HISTORY + MORE)
    copy = write(tmp_path / "two.jsonl", "s-1", HISTORY + MORE)
    once, twice = api.summarize(first), api.summarize([first, copy])
    assert twice.stats.message_count == once.stats.message_count
    assert twice.key_decisions == once.key_decisions
    assert twice.context.spend == once.context.spend


def test_a_result_finds_its_call_across_files(tmp_path: Path) -> None:
    first = write(tmp_path / "one.jsonl", "s-1", HISTORY[:3])
    rest = write(tmp_path / "two.jsonl", "s-2", HISTORY)
    whole = api.summarize([first, rest])
    assert [f.path for f in whole.file_modifications] == ["a.py"]
    assert whole.stats.message_count == len(HISTORY)


def test_files_that_share_nothing_are_refused(tmp_path: Path) -> None:
    first = write(tmp_path / "one.jsonl", "s-1", HISTORY)
    other = write(
        tmp_path / "two.jsonl", "s-9", [{**one, "uuid": one["uuid"] + "x"} for one in MORE]
    )
    with pytest.raises(UsageError, match=r"two\.jsonl: has nothing in common"):
        api.summarize([first, other])


def test_real_forks_are_stitched(public_corpus: Path) -> None:
    folder = public_corpus / "claude_code"
    pair = [
        folder / "JanDeDobbeleer__oh-my-posh__030df228-1b4b_77ff57b06fba.jsonl.gz",
        folder / "JanDeDobbeleer__oh-my-posh__6b6f4218-0b12_0254bffa0c17.jsonl.gz",
    ]
    one, two = map(api.summarize, pair)
    whole = api.summarize(pair)
    assert whole.stats.message_count < one.stats.message_count + two.stats.message_count
    assert whole.stats.message_count >= two.stats.message_count
    assert whole.stats.tool_call_count == two.stats.tool_call_count
    assert whole.context.spend.output >= max(one.context.spend.output, two.context.spend.output)
