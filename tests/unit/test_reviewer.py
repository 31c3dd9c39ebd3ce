"""A reviewer goes on with the client's conversation, and never gives up because it cannot.

The client here is a program of ours with the ways and the words of Claude Code; the real one is
driven in tests/clients.
"""

import asyncio
import json
import logging
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.strategies.together import at_once

from leftoff.errors import ClientError, StateError, UnknownName, UsageError
from leftoff.integrations.claude_cli import ClaudeClient
from leftoff.live.reviews import Reviewer, ReviewRequest, ReviewResult
from leftoff.settings import Settings
from leftoff.stores.sqlite import SqliteStore

CLIENT = """
import json, os, pathlib, sys, time, uuid
home = pathlib.Path(os.environ["FAKE_HOME"])
prompt = sys.stdin.buffer.read().decode()
given = sys.argv[1:]
with (home / "calls.jsonl").open("a") as calls:
    calls.write(json.dumps({"given": given, "prompt": prompt, "cwd": os.getcwd()}) + "\\n")
orders = home / "orders"
order = orders.read_text() if orders.exists() else ""
if order.startswith("sleep"):
    time.sleep(60)
session = given[given.index("--resume") + 1] if "--resume" in given else ""
def result(text, error=False, code=0):
    print(json.dumps({"type": "result", "subtype": "success", "is_error": error,
                      "result": text, "session_id": session or str(uuid.uuid4()),
                      "usage": {"input_tokens": 10, "output_tokens": 2}}))
    sys.exit(code)
if order == "never" or (session and order):
    result(order, True, 1)
slug = "".join(c if c.isalnum() else "-" for c in os.getcwd())
if session and not (home / slug / session).exists():
    sys.exit(f"No conversation found with session ID: {session}")
session = session or str(uuid.uuid4())
(home / slug).mkdir(exist_ok=True)
kept = home / slug / session
said = kept.read_text() if kept.exists() else ""
kept.write_text(said + prompt + "\\n")
result(f"heard {len((said + prompt).splitlines())} lines")
"""


class Store(SqliteStore):
    """A store whose disk may be full."""

    broken = False

    def save(self, kind: str, id: str, document: Mapping[str, Any], *, text: str = "") -> str:
        if self.broken:
            raise StateError("the disk is full")
        return super().save(kind, id, document, text=text)


class Bench:
    """A client's home, a store, and a clock that is moved by hand."""

    def __init__(self, home: Path) -> None:
        self.home = home / "client"
        self.project = home / "project"
        for folder in (self.home, self.project):
            folder.mkdir()
        self.script = home / "client.py"
        self.script.write_text(CLIENT)
        self.store = Store(home / "kept.db")
        self.time = datetime(2026, 3, 2, 9, tzinfo=UTC)

    def reviewer(self, *, store: Store | None = None, **options: Any) -> Reviewer:
        environ = {**os.environ, "FAKE_HOME": str(self.home)}
        return Reviewer(
            ClaudeClient(sys.executable, (str(self.script),)),
            store or self.store,
            **{
                "settings": Settings(),
                "folder": self.project,
                "environ": environ,
                "limit": 30.0,
                "clock": lambda: self.time,
                **options,
            },
        )

    def begun(self, prompt: str = "first") -> tuple[Reviewer, ReviewResult]:
        """A reviewer that has asked once."""
        reviewer = self.reviewer()
        return reviewer, reviewer.review(ReviewRequest(prompt))

    def order(self, words: str) -> None:
        """What the client is to fail with: `never` always fails, other words when resuming."""
        (self.home / "orders").write_text(words)

    def calls(self) -> list[dict[str, Any]]:
        lines = (self.home / "calls.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def forget(self) -> None:
        """The client's conversations expire."""
        for kept in self.home.glob("-*/*"):
            kept.unlink()

    def document(self, review_id: str) -> dict[str, Any]:
        kept = self.store.load("review", review_id)
        assert kept is not None
        return kept.document


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def _again(result: ReviewResult, prompt: str = "and now?", **more: Any) -> ReviewRequest:
    return ReviewRequest(prompt, previous_review_id=result.review_id, **more)


def test_a_follow_up_sends_only_what_is_new(bench: Bench) -> None:
    reviewer = bench.reviewer()
    first = reviewer.review(ReviewRequest("line\n" * 50, model="opus", allowed_tools="Read"))
    assert first.review_id == "2026-03-02-001"
    assert not first.resumed
    bench.time += timedelta(hours=2)
    second = reviewer.review(_again(first, model="opus"))
    assert second.resumed
    assert second.text == "heard 52 lines"  # the 50, an empty one that ended them, and this
    assert second.review_id == first.review_id
    asked = bench.calls()
    assert asked[1]["prompt"] == "and now?"
    assert asked[0]["given"][-2:] == ["--allowedTools", "Read"]
    document = bench.document(first.review_id)
    session_id = document["claudeSessionIds"]["opus"]
    assert asked[1]["given"][:2] == ["--resume", session_id]
    assert [r.get("resume", "") for r in document["rounds"]] == ["", "resumed"]
    assert document["rounds"][1]["age"] == 7200
    assert reviewer.metrics()["resumed_prompts"]["byte_reduction"] > 0.9


def test_an_expired_conversation_is_asked_once_more_in_full(bench: Bench) -> None:
    reviewer, first = bench.begun("Look at parse.py")
    dead = bench.document(first.review_id)["claudeSessionIds"]["default"]
    bench.forget()
    second = reviewer.review(_again(first))
    assert second.round.resume == "unknown"
    assert dead not in second.round.failure
    assert "No conversation found" in second.round.failure
    asked = bench.calls()
    assert len(asked) == 3
    assert "--resume" not in asked[2]["given"]
    assert "Look at parse.py" in asked[2]["prompt"]
    assert asked[2]["prompt"].endswith("and now?")
    assert bench.document(first.review_id)["claudeSessionIds"]["default"] != dead
    third = reviewer.review(_again(second))
    assert third.resumed
    figures = reviewer.metrics()
    assert figures["resume"] == {"tried": 2, "resumed": 1, "rate": 0.5}
    assert figures["fallbacks"] == 1
    assert figures["failures"]["unknown"]["count"] == 1


@pytest.mark.parametrize(
    ("words", "kind"), [("Prompt is too long", "full"), ("API Error: 529 Overloaded", "other")]
)
def test_any_failure_to_resume_falls_back(bench: Bench, words: str, kind: str) -> None:
    reviewer, first = bench.begun()
    bench.order(words)
    second = reviewer.review(_again(first))
    assert (second.round.resume, second.round.failure) == (kind, words)
    assert second.text.startswith("heard")


def test_a_dead_id_goes_even_if_the_full_prompt_fails_too(bench: Bench) -> None:
    reviewer, first = bench.begun()
    bench.forget()
    condition = 'order == "never" or (session and order)'
    bench.script.write_text(CLIENT.replace(condition, 'order == "never" and not session'))
    bench.order("never")
    with pytest.raises(ClientError, match="never"):
        reviewer.review(_again(first))
    document = bench.document(first.review_id)
    assert "claudeSessionIds" not in document
    assert document["rounds"][1]["error"] == "other"
    assert len(bench.calls()) == 3


def test_a_living_id_outlives_a_passing_failure(bench: Bench) -> None:
    reviewer, first = bench.begun()
    before = bench.document(first.review_id)["claudeSessionIds"]
    bench.order("never")
    with pytest.raises(ClientError):
        reviewer.review(_again(first))
    assert bench.document(first.review_id)["claudeSessionIds"] == before
    bench.order("")
    assert reviewer.review(_again(first)).resumed


def test_of_a_first_question_without_an_answer_nothing_is_kept(bench: Bench) -> None:
    bench.order("never")
    with pytest.raises(ClientError):
        bench.reviewer().review(ReviewRequest("first"))
    assert bench.store.list("review") == []


def test_every_model_has_its_own_conversation(bench: Bench) -> None:
    reviewer = bench.reviewer()
    first = reviewer.review(ReviewRequest("first", model="opus"))
    other = reviewer.review(_again(first, model="sonnet"))
    assert other.round.resume == ""
    assert "first" in bench.calls()[1]["prompt"]
    ids = bench.document(first.review_id)["claudeSessionIds"]
    assert set(ids) == {"opus", "sonnet"}
    assert reviewer.review(_again(first, model="opus")).resumed
    assert bench.calls()[2]["given"][1] == ids["opus"]


def test_an_old_review_with_one_id_is_resumed(bench: Bench) -> None:
    first = bench.reviewer().review(ReviewRequest("first"))
    document = bench.document(first.review_id)
    old = {
        "reviewId": "2025-01-01-001",
        "claudeSessionId": document["claudeSessionIds"]["default"],
        "rounds": [{"round": 1, "feedback": "ok"}],
        "status": "open",
    }
    bench.store.save("review", "2025-01-01-001", old)
    again = ReviewRequest("next", previous_review_id="2025-01-01-001", model="opus")
    assert bench.reviewer().review(again).resumed
    kept = bench.document("2025-01-01-001")
    assert kept["status"] == "open"
    assert kept["rounds"][0] == {"round": 1, "feedback": "ok"}
    assert set(kept["claudeSessionIds"]) == {"opus"}
    assert "claudeSessionId" not in kept


def test_the_callers_full_prompt_is_sent_instead_of_ours(bench: Bench) -> None:
    reviewer = bench.reviewer()
    first = reviewer.review(ReviewRequest("first", full_prompt="all of it"))
    bench.forget()
    reviewer.review(_again(first, full_prompt="all of it and more"))
    assert [c["prompt"] for c in bench.calls()] == [
        "all of it",
        "and now?",
        "all of it and more",
    ]


def test_the_time_limit_is_for_both_calls_together(bench: Bench) -> None:
    first = bench.reviewer().review(ReviewRequest("first"))
    bench.order("sleep")
    with pytest.raises(ClientError, match="no answer within 1 seconds"):
        bench.reviewer(limit=1).review(_again(first))
    assert len(bench.calls()) == 2  # there is no time left to ask in full
    assert bench.document(first.review_id)["rounds"][1]["error"] == "time_out"
    assert bench.reviewer().metrics()["failures"]["time_out"]["count"] == 2


def test_ids_are_told_to_nobody(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    reviewer, first = bench.begun()
    secret = bench.document(first.review_id)["claudeSessionIds"]["default"]
    bench.forget()
    result = reviewer.review(_again(first))
    bench.forget()
    bench.script.write_text(CLIENT.replace('order == "never"', "not session"))
    with pytest.raises(ClientError) as caught:
        reviewer.review(_again(result))
    assert "resuming failed (unknown)" in caplog.text
    assert all(record.levelno == logging.DEBUG for record in caplog.records)
    seen = caplog.text + repr(result) + str(caught.value)
    seen += json.dumps(reviewer.metrics())
    assert secret not in seen
    kept = bench.document(first.review_id)
    assert all(secret not in json.dumps(r) for r in kept["rounds"])


def test_an_answer_is_not_lost_when_it_cannot_be_kept(bench: Bench) -> None:
    bench.store.broken = True
    result = bench.reviewer().review(ReviewRequest("first"))
    assert result.text == "heard 1 lines"
    assert (result.review_id, result.unsaved) == ("", "the disk is full")


def test_reviews_of_many_threads_are_counted_apart(bench: Bench, tmp_path: Path) -> None:
    def ask(_: int) -> str:
        reviewer = bench.reviewer(lock=tmp_path / "locks" / "reviews.lock")
        return reviewer.review(ReviewRequest("first")).review_id

    assert sorted(at_once(ask, range(6))) == [f"2026-03-02-{n:03d}" for n in range(1, 7)]


def test_rounds_that_are_added_at_once_are_both_kept(bench: Bench, tmp_path: Path) -> None:
    lock = tmp_path / "reviews.lock"
    first = bench.reviewer().review(ReviewRequest("first"))
    at_once(
        lambda n: bench.reviewer(lock=lock).review(_again(first, f"question {n}")), range(4)
    )
    prompts = {r["prompt"] for r in bench.document(first.review_id)["rounds"]}
    assert prompts == {"first", *(f"question {n}" for n in range(4))}


def test_it_can_be_awaited_and_cancelled(bench: Bench) -> None:
    reviewer = bench.reviewer()

    async def ask() -> ReviewResult:
        first = await reviewer.review_async(ReviewRequest("first"))
        bench.order("sleep")
        task = asyncio.create_task(reviewer.review_async(_again(first)))
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return first

    first = asyncio.run(ask())
    assert first.text == "heard 1 lines"
    assert len(bench.document(first.review_id)["rounds"]) == 1


def test_what_the_caller_gets_wrong_is_said(bench: Bench) -> None:
    reviewer = bench.reviewer()
    with pytest.raises(UsageError, match="empty"):
        reviewer.review(ReviewRequest(" \n"))
    reviewer.review(ReviewRequest("first"))
    with pytest.raises(UnknownName, match="did you mean '2026-03-02-001'"):
        reviewer.review(ReviewRequest("x", previous_review_id="2026-03-02-002"))
    with pytest.raises(UsageError, match="must not begin"):
        reviewer.review(ReviewRequest("x", model="--model"))


def test_a_damaged_review_is_counted_as_such(bench: Bench) -> None:
    bench.reviewer().review(ReviewRequest("first"))
    bench.store.save("review", "2026-03-02-002", {"rounds": 5})
    figures = bench.reviewer().metrics()
    assert (figures["reviews"], figures["unreadable"]) == (1, 1)


def test_lone_surrogates_in_a_prompt_are_sent_as_marks(bench: Bench) -> None:
    assert bench.reviewer().review(ReviewRequest("a\ud800b")).text == "heard 1 lines"
