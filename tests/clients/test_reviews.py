"""Reviews with the real clients: asked, resumed, refused, and asked again in full."""

import os
import stat
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.recording.scripted_model import ScriptedModel, Turn
from benchmarks.reviews.homes import environment, expire
from tests.clients.conftest import installed

from leftoff import codec, subprocesses
from leftoff.errors import ClientError
from leftoff.handover.review import Review
from leftoff.integrations.claude_cli import ClaudeClient, ClaudeReviewer
from leftoff.integrations.codex_cli import CodexClient
from leftoff.live.reviews import Answer, Failure, Reviewer, ReviewRequest, ReviewResult
from leftoff.settings import Settings
from leftoff.stores.files import FileStore

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = 40
FIRST = "Review notes/parse.py. " + "It reads one line at a time. " * 40
NEXT = "I have mended it. Is it right now?"

pytestmark = pytest.mark.timeout(240)


class Scratch:
    """A home with a project, a scripted model, and a client that asks it."""

    def __init__(self, name: str, root: Path, model: ScriptedModel) -> None:
        self.name, self.model = name, model
        self.home, self.project = root / "home", root / "home" / "notes"
        self.project.mkdir(parents=True)
        self.kept = root / "kept"
        self.store = FileStore(self.kept)
        self.program = installed(name)
        self.environ = environment(name, self.home, model.url)

    def reviewer(self, **options: Any) -> Reviewer:
        given = {
            "settings": Settings(),
            "folder": self.project,
            "environ": self.environ,
            "limit": 100.0,
            **options,
        }
        if self.name == "codex":
            client = CodexClient(str(self.program), ("--skip-git-repo-check",))
            return Reviewer(client, self.store, **given)
        return ClaudeReviewer(self.store, program=self.program, **given)

    def outcome(self, session_id: str, folder: Path) -> Answer | Failure:
        """What the client makes of an id."""
        client = (
            CodexClient(str(self.program), ("--skip-git-repo-check",))
            if self.name == "codex"
            else ClaudeClient(str(self.program))
        )
        done = subprocesses.run(
            client.build_command("default", session_id), b"Are you there?", limit=100,
            folder=folder, environ=self.environ,
        )  # fmt: skip
        return client.outcome(done.code, done.stdout, done.stderr, session_id)

    def expire(self) -> None:
        """The client loses its conversations."""
        expire(self.name, self.home)

    def document(self, review_id: str) -> Review:
        kept = self.store.load("review", review_id)
        assert kept is not None
        assert kept.issues == ()
        return Review.from_dict(kept.document)

    def asked(self) -> list[str]:
        """What each request to the model said, whole."""
        return [str(r.body.get("messages") or r.body.get("input")) for r in self._main()]

    def _main(self) -> list[Any]:
        return [request for request in self.model.requests if request.route == "main"]


@pytest.fixture
def scripted() -> Iterator[ScriptedModel]:
    """A scripted model that is running."""
    turns = [Turn(text=(f"Finding number {n}.",)) for n in range(1, ANSWERS)]
    with ScriptedModel(turns) as model:
        yield model


@pytest.fixture(params=["claude", "codex"])
def scratch(request: pytest.FixtureRequest, tmp_path: Path, scripted: ScriptedModel) -> Scratch:
    """Each client in a home of its own."""
    return Scratch(request.param, tmp_path, scripted)


@pytest.mark.parametrize("name", ["claude", "codex"])
@pytest.mark.parametrize("valid", [True, False])
def test_a_client_as_second_reader(name: str, tmp_path: Path, *, valid: bool) -> None:
    answer = '```json\n{"decisions": [], "open": [], "goal": 1}\n```' if valid else "Line 1."
    with ScriptedModel([Turn(text=(answer,))] * 4) as model:
        scratch = Scratch(name, tmp_path, model)
        path = f"{scratch.program.parent}{os.pathsep}{os.environ['PATH']}"
        recording = ROOT / "corpora/sessions/claude_code/prorate.jsonl"
        done = subprocess.run(
            [
                sys.executable, "-m", "leftoff", "summarize", recording, "--json", "--reader",
                name,
            ],
            env={**scratch.environ, "PATH": path},
            cwd=tmp_path,
            capture_output=True,
            timeout=200,
            check=False,
        )  # fmt: skip
    summary = codec.parse(done.stdout)
    assert done.returncode == 0, done.stderr
    assert "<recording>" in scratch.asked()[0]
    if valid:
        assert summary["second_reader"]["goal"]["message"] == 0
        assert done.stderr == b""
    else:
        assert "second_reader" not in summary
        assert done.stderr.count(b"\n") == 1
        assert b"not the JSON" in done.stderr


@pytest.fixture
def claude(tmp_path: Path, scripted: ScriptedModel) -> Scratch:
    """Claude Code in a home of its own."""
    return Scratch("claude", tmp_path, scripted)


@pytest.fixture
def codex(tmp_path: Path, scripted: ScriptedModel) -> Scratch:
    """Codex in a home of its own."""
    return Scratch("codex", tmp_path, scripted)


def _again(result: ReviewResult, prompt: str = NEXT, **more: Any) -> ReviewRequest:
    return ReviewRequest(prompt, previous_review_id=result.review_id, **more)


def test_a_follow_up_goes_on_with_the_clients_conversation(scratch: Scratch) -> None:
    reviewer = scratch.reviewer()
    first = reviewer.review(ReviewRequest(FIRST))
    assert first.text == "Finding number 1."
    before = scratch.document(first.review_id).session_ids(scratch.name)["default"]
    uuid.UUID(before)
    second = reviewer.review(_again(first))
    third = reviewer.review(_again(first, "And the tests?"))
    assert [r.resumed for r in (second, third)] == [True, True]
    assert third.text == "Finding number 3."
    # We sent a line; the client sent what was said before along with it.
    assert third.round.sent_bytes == len("And the tests?")
    assert third.round.full_bytes > len(FIRST)
    asked = scratch.asked()
    assert len(asked) == 3
    for words in ("It reads one line at a time.", "Finding number 1.", NEXT, "And the tests?"):
        assert words in asked[2]
    assert scratch.document(first.review_id).session_ids(scratch.name)["default"] == before
    figures = reviewer.metrics()
    assert (figures["resume"]["tried"], figures["resume"]["resumed"]) == (2, 2)
    assert figures["resume_within_day"]["rate"] == 1
    assert figures["rounds_per_review"] == 3
    assert figures["resumed_prompts"]["byte_reduction"] > 0.9
    assert (figures["fallbacks"], figures["failures"]) == (0, {})
    assert list(figures["by_model"]) == [f"{scratch.name}/default"]


def test_usage_is_that_of_the_round(scratch: Scratch) -> None:
    reviewer = scratch.reviewer()
    result = reviewer.review(ReviewRequest(FIRST))
    told = [result.round.usage]
    told += [reviewer.review(_again(result, f"Point {n}?")).round.usage for n in range(3)]
    for usage in told:
        assert usage is not None
        # Every round sends system prompt and conversation once: far below their sum.
        assert 10_000 < usage.total < 25_000


def test_a_lost_conversation_is_asked_once_more_in_full(scratch: Scratch) -> None:
    reviewer = scratch.reviewer()
    first = reviewer.review(ReviewRequest(FIRST))
    dead = scratch.document(first.review_id).session_ids(scratch.name)["default"]
    scratch.expire()
    second = reviewer.review(_again(first))
    assert second.round.resume == "unknown"
    said = {"claude": "No conversation found with session ID: [session]"}
    said["codex"] = "no rollout found for thread id [session]"
    assert said[scratch.name] in second.round.failure
    asked = scratch.asked()
    assert len(asked) == 2
    assert "Earlier rounds of this conversation" in asked[1]
    assert "It reads one line at a time." in asked[1]
    assert NEXT in asked[1]
    after = scratch.document(first.review_id).session_ids(scratch.name)["default"]
    assert after != dead
    assert reviewer.review(_again(first)).resumed
    figures = reviewer.metrics()
    assert figures["resume"] == {"tried": 2, "resumed": 1, "rate": 0.5}
    assert figures["fallbacks"] == 1
    assert figures["failures"]["unknown"]["count"] == figures["expiry"]["expired"] == 1


def test_every_model_has_its_own_conversation(scratch: Scratch) -> None:
    reviewer = scratch.reviewer()
    models = ("opus", "sonnet") if scratch.name == "claude" else ("model-a", "model-b")
    first = reviewer.review(ReviewRequest(FIRST, model=models[0]))
    other = reviewer.review(_again(first, model=models[1]))
    assert (other.round.resume, other.resumed) == ("", False)
    ids = scratch.document(first.review_id).session_ids(scratch.name)
    assert set(ids) == set(models)
    assert len(set(ids.values())) == 2
    for model in models:
        assert reviewer.review(_again(first, model=model)).resumed


def test_a_conversation_of_another_model_is_left(scratch: Scratch) -> None:
    refusal = {
        "claude": "messages.1.content.0: Invalid `signature` in `thinking` block",
        "codex": "The encrypted content could not be verified.",
    }[scratch.name]

    def refuse(body: dict[str, Any]) -> tuple[int, str, str] | None:
        said = str(body.get("messages") or body.get("input"))
        remembered = "Finding number 1." in said and "Earlier rounds" not in said
        return (400, "invalid_request_error", refusal) if remembered else None

    reviewer = scratch.reviewer()
    first = reviewer.review(ReviewRequest(FIRST))
    dead = scratch.document(first.review_id).session_ids(scratch.name)["default"]
    scratch.model.refuse = refuse
    second = reviewer.review(_again(first))
    assert second.round.resume == "wrong_model"
    assert refusal in second.round.failure
    assert second.text == "Finding number 2."
    after = scratch.document(first.review_id).session_ids(scratch.name)["default"]
    assert after != dead
    assert reviewer.metrics()["failures"]["wrong_model"]["count"] == 1


def test_a_model_that_does_not_exist_is_said(scratch: Scratch) -> None:
    missing = {
        "claude": ("not_found_error", "model: nope"),
        "codex": (
            "model_not_found",
            "The model `nope` does not exist or you do not have access",
        ),
    }[scratch.name]
    reviewer = scratch.reviewer()
    first = reviewer.review(ReviewRequest(FIRST))
    scratch.model.refuse = lambda _: (404, *missing)
    with pytest.raises(ClientError, match="model"):
        reviewer.review(_again(first))
    last = scratch.document(first.review_id).rounds[-1]
    assert (last.resume, last.error) == ("wrong_model", "wrong_model")
    assert reviewer.metrics()["failed"] == 1


def test_a_passing_failure_leaves_the_id(claude: Scratch) -> None:
    reviewer = claude.reviewer()
    first = reviewer.review(ReviewRequest(FIRST))
    before = claude.document(first.review_id).claude_session_ids
    claude.model.refuse = lambda _: (401, "authentication_error", "invalid x-api-key")
    with pytest.raises(ClientError, match="API key"):
        reviewer.review(_again(first))
    assert claude.document(first.review_id).claude_session_ids == before
    claude.model.refuse = None
    assert reviewer.review(_again(first)).resumed


def test_a_full_conversation_is_left(claude: Scratch) -> None:
    reviewer = claude.reviewer()
    first = reviewer.review(ReviewRequest(FIRST))
    words = "prompt is too long: 210000 tokens > 200000 maximum"

    def refuse(body: dict[str, Any]) -> tuple[int, str, str] | None:
        said = str(body.get("messages"))
        remembered = "Finding number 1." in said and "Earlier rounds" not in said
        return (400, "invalid_request_error", words) if remembered else None

    claude.model.refuse = refuse
    second = reviewer.review(_again(first))
    assert (second.round.resume, second.text) == ("full", "Finding number 2.")


def test_what_the_clients_make_of_ids_that_are_none(claude: Scratch) -> None:
    for wrong in (str(uuid.uuid4()), "no-such-conversation"):
        found = claude.outcome(wrong, claude.project)
        assert isinstance(found, Failure)
        assert found.kind == "unknown"


def test_codex_begins_anew_on_a_word_and_is_not_believed(codex: Scratch) -> None:
    found = codex.outcome("no-such-conversation", codex.project)
    assert found == Failure("unknown", "it began a new conversation instead")
    found = codex.outcome(str(uuid.uuid4()), codex.project)
    assert isinstance(found, Failure)
    assert found.kind == "unknown"


def test_which_client_knows_a_conversation_in_another_folder(scratch: Scratch) -> None:
    reviewer = scratch.reviewer()
    first = reviewer.review(ReviewRequest(FIRST))
    elsewhere = scratch.home / "elsewhere"
    elsewhere.mkdir()
    session_id = scratch.document(first.review_id).session_id(scratch.name, "default")
    known = isinstance(scratch.outcome(session_id, elsewhere), Answer)
    assert known is not reviewer.client.by_folder
    there = scratch.reviewer(folder=elsewhere).review(_again(first))
    assert there.round.resume == ("resumed" if known else "elsewhere")


def test_reviews_are_for_their_owner_only(scratch: Scratch) -> None:
    result = scratch.reviewer().review(ReviewRequest(FIRST))
    files = [path for path in scratch.kept.rglob("*") if path.is_file()]
    assert scratch.kept / "reviews" / f"{result.review_id}.json" in files
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
