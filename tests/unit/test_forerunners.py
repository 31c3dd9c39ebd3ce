"""One path of a fork is the line of work: what it goes on from is found and put before it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.unit.test_continuations import HISTORY, MORE, OTHER, write

from leftoff import api
from leftoff.analysis.session_pass import Pass
from leftoff.sources.forerunners import MAX_NEIGHBOURS, forerunners

OLD = "019c0a00-46c9-7f73-affe-4e6ca9852d56"  # a UUID of version 7, from 29 January 2026
NEW = "019c2400-96e2-77a0-b4ce-607c7aba4b96"  # five days later


def later(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same lines, recorded an hour later."""
    return [{**one, "timestamp": one["timestamp"].replace("T10", "T11")} for one in lines]


def codex(path: Path, ident: str, day: str, *words: str, origin: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {"id": ident, "timestamp": f"{day}T10:00:00Z", "cwd": "/w"}
    about |= {"forked_from_id": origin} if origin else {}
    lines: list[dict[str, Any]] = [{"type": "session_meta", "payload": about}]
    for n, text in enumerate(words):
        role = "assistant" if n % 2 else "user"
        kind = "output_text" if n % 2 else "input_text"
        content = [{"type": kind, "text": text}]
        item = {"type": "message", "role": role, "content": content}
        lines.append({"type": "response_item", "payload": item})
        if role == "user":
            said = {"type": "user_message", "message": text}
            lines.append({"type": "event_msg", "payload": said})
    stamped = [{"timestamp": f"{day}T10:00:{n:02}Z", **one} for n, one in enumerate(lines)]
    path.write_text("".join(json.dumps(one) + "\n" for one in stamped))
    return path


def test_a_fork_is_put_together_with_the_recording_beside_it(tmp_path: Path) -> None:
    first = write(tmp_path / "one.jsonl", "s-1", HISTORY)
    fork = write(tmp_path / "two.jsonl", "s-2", HISTORY + later(OTHER))
    found = api.summarize(fork)
    assert found.session.path == str(fork)
    assert [s.path for s in found.session.sources] == [str(first), str(fork)]
    assert found.stats.message_count == len(HISTORY) + len(OTHER)
    assert found.context.spend.output == 5 * 3
    assert found.user_requests[0].text == "Rename the flag."
    assert api.verify(found) == []
    alone = api.summarize(fork, alone=True)
    assert [s.path for s in alone.session.sources] == [str(fork)]


def test_both_paths_given_are_the_same_but_for_the_path(tmp_path: Path) -> None:
    first = write(tmp_path / "one.jsonl", "s-1", HISTORY)
    fork = write(tmp_path / "two.jsonl", "s-2", HISTORY + later(OTHER))
    found, both = api.summarize(fork), api.summarize([first, fork])
    assert found.stats == both.stats
    assert found.user_requests == both.user_requests
    assert found.key_decisions == both.key_decisions


def test_a_later_fork_is_named_and_left_out(tmp_path: Path) -> None:
    first = write(tmp_path / "one.jsonl", "s-1", HISTORY + MORE)
    fork = write(tmp_path / "two.jsonl", "s-2", HISTORY + later(OTHER))
    found = api.summarize(first)
    assert [s.path for s in found.session.sources] == [str(first)]
    (issue,) = [i for i in found.issues if i.code == "forked"]
    assert str(fork) in issue.what
    assert found.stats == api.summarize(first, alone=True).stats


def test_an_origin_that_codex_put_into_another_day_is_found_by_its_id(tmp_path: Path) -> None:
    home = tmp_path / "sessions"
    old = codex(
        home / f"2026/01/29/rollout-2026-01-29T10-00-00-{OLD}.jsonl", OLD, "2026-01-29",
        "Sort the invoices by day.", "I'll sort them by the day of the booking.",
    )  # fmt: skip
    new = codex(
        home / f"2026/02/03/rollout-2026-02-03T10-00-00-{NEW}.jsonl", NEW, "2026-02-03",
        "Go on.", "Done.", origin=OLD,
    )  # fmt: skip
    found = api.summarize(new)
    assert [s.path for s in found.session.sources] == [str(old), str(new)]
    assert [r.text for r in found.user_requests] == ["Sort the invoices by day.", "Go on."]
    assert found.session.id == NEW
    assert api.summarize(old).issues == ()  # its fork is in a folder that is not looked into


def test_a_fork_that_repeats_its_origin_without_ids_stands_alone(tmp_path: Path) -> None:
    words = ("Sort the invoices by day.", "I'll sort them by the day of the booking.")
    codex(tmp_path / f"rollout-{OLD}.jsonl", OLD, "2026-01-29", *words)
    again = (*words, "Go on.", "Done.")
    new = codex(tmp_path / f"rollout-{NEW}.jsonl", NEW, "2026-02-03", *again, origin=OLD)
    assert api.summarize(new).stats == api.summarize(new, alone=True).stats


def test_bytes_and_standard_input_are_as_they_were(tmp_path: Path) -> None:
    write(tmp_path / "one.jsonl", "s-1", HISTORY)
    fork = write(tmp_path / "two.jsonl", "s-2", HISTORY + later(OTHER))
    with fork.open("rb") as stream:
        done = subprocess.run(
            [sys.executable, "-m", "leftoff", "summarize", "-", "--json"],
            stdin=stream, capture_output=True, check=True, cwd=tmp_path,
        )  # fmt: skip
    assert [s["path"] for s in json.loads(done.stdout)["session"]["sources"]] == ["-"]


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


def opener(known: dict[str, Pass]) -> api.PassOpener:
    def opened(path: str, *, format: str | None = None, extractors: Sequence[str] = ()) -> Pass:
        return known[path]

    return opened


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
    assert len(opened) <= MAX_NEIGHBOURS + 1


def test_show_counts_as_the_summary_does(tmp_path: Path) -> None:
    words = ("Sort the invoices by day.", "I'll sort them by the day of the booking.")
    codex(tmp_path / f"rollout-{OLD}.jsonl", OLD, "2026-01-29", *words)
    new = codex(
        tmp_path / f"rollout-{NEW}.jsonl", NEW, "2026-02-03", "Go on.", "Done.", origin=OLD
    )
    request = api.summarize(new).user_requests[-1]
    number = request.ref.message + 1
    for place, options, expected in (
        (f"{new}#{number}", (), "Go on."),
        (f"{new}#1", (), "Sort the invoices"),
        (f"{new}#1", ("--alone",), "Go on."),
    ):
        command = [sys.executable, "-m", "leftoff", "show", place, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert expected in done.stdout
        assert done.stdout.startswith(f"#{place.rpartition('#')[2]} ")
