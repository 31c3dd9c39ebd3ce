"""One path of a fork is the line of work: what it goes on from is found and put before it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leftoff import api
from leftoff.analysis.session_pass import Pass
from leftoff.sources.forerunners import MAX_NEIGHBOURS, forerunners


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
OTHER = [
    line("user", "u4", "u2", "Please add the tests now."),
    line("assistant", "a4", "u4", "Done."),
]


def write(path: Path, session: str, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps({**one, "sessionId": session}) + "\n" for one in lines))
    return path


def later(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same lines, recorded an hour later."""
    return [{**one, "timestamp": one["timestamp"].replace("T10", "T11")} for one in lines]


def test_a_prefix_goes_on_to_the_same_summary_with_the_forerunner_fixed(tmp_path: Path) -> None:
    """Read in two steps, a fork gives byte for byte what it gives at once."""
    first = write(tmp_path / "one.jsonl", "s-1", HISTORY)
    fork = write(tmp_path / "two.jsonl", "s-2", HISTORY + later(OTHER))
    data = fork.read_bytes()
    cut = data.index(b"\n", len(data) // 2) + 1
    readings = []
    for pieces in ([data], [data[:cut], data[cut:]]):
        reading = Pass(str(fork))
        for piece in pieces:
            reading.feed(piece)
        reading.close()
        known = {str(first): api.open_pass(str(first)), str(fork): reading}
        found = api.SessionReading(opener(known))
        for path in known:
            found.add(path, None, (), None)
        readings.append(found.summary())
    assert readings[0] == readings[1]
    assert readings[0].stats == api.summarize(fork).stats


def opener(known: dict[str, Pass]) -> Callable[..., Pass]:
    return lambda path, **_: known[path]


HOOK = {"type": "attachment", "attachment": {"type": "hook_additional_context"}}


@pytest.mark.parametrize("before", [[], [10], [10, 13_000], [60_000]])
@pytest.mark.parametrize("prompt", [10, 16_000, 64_000])
def test_what_stands_before_the_common_records_hides_no_forerunner(
    tmp_path: Path, before: list[int], prompt: int
) -> None:
    """Hooks print something of their own into each recording, and a first prompt may be long:
    the ids that both have then stand far from the start."""
    first = {**HISTORY[0], "message": {"role": "user", "content": "x" * prompt}}
    del first["uuid"]
    history = [{**first, "uuid": "u1"}, *HISTORY[1:]]  # the id comes after the words
    hooks = [
        [{**HOOK, "uuid": f"h-{name}-{n}", "content": "h" * n} for n in before] for name in "of"
    ]
    origin = write(tmp_path / "one.jsonl", "s-1", [*hooks[0], *history])
    fork = write(tmp_path / "two.jsonl", "s-2", [*hooks[1], *history, *later(OTHER)])
    assert forerunners(str(fork)) == [str(origin)]
    assert len(api.summarize(fork).session.sources) == 2


def test_finding_looks_into_few_files_and_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    for n in range(2 * MAX_NEIGHBOURS):
        write(tmp_path / f"other{n}.jsonl", f"o-{n}", [{**HISTORY[0], "uuid": f"x{n}"}])
    fork = write(tmp_path / "two.jsonl", "s-2", HISTORY + later(OTHER))
    looked: list[str] = []
    scandir = os.scandir

    def look(path: str | Path) -> Any:
        looked.append(str(path))
        return scandir(path)

    opened: list[str] = []

    def read(path: str, size: int) -> bytes:
        opened.append(path)
        return Path(path).read_bytes()[:size]

    monkeypatch.setattr(os, "scandir", look)
    monkeypatch.setattr("leftoff.sources.forerunners.read_head", read)
    assert forerunners(str(fork)) == []
    assert looked == [str(tmp_path)]
    assert len(set(opened)) <= MAX_NEIGHBOURS + 1
