"""The shipped corpus is what its manifest says and holds nothing that must stay private."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from benchmarks.recording import manifest

ROOT = Path(__file__).resolve().parents[2]
CORPORA = ROOT / "corpora"
SESSIONS = CORPORA / "sessions"


def _lines(name: str) -> list[dict[str, Any]]:
    text = (SESSIONS / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CORPORA, tmp_path / "corpora"))


def test_hashes_counts_and_rules_hold() -> None:
    assert manifest.problems(CORPORA) == []


def test_sealing_again_changes_nothing(copy: Path) -> None:
    before = (copy / "MANIFEST.toml").read_bytes()
    manifest.seal(copy)
    assert (copy / "MANIFEST.toml").read_bytes() == before


def test_a_changed_byte_is_noticed(copy: Path) -> None:
    path = copy / "sessions" / "codex" / "sift.jsonl"
    path.write_bytes(path.read_bytes().replace(b"disk full", b"disk fool", 1))
    (found,) = manifest.problems(copy)
    assert "sha256" in found


def test_a_missing_and_an_unlisted_file_are_noticed(copy: Path) -> None:
    (copy / "sessions" / "codex" / "sift.jsonl").rename(copy / "sessions" / "codex" / "s.jsonl")
    assert [line.split(": ")[1] for line in manifest.problems(copy)] == [
        "not in the manifest",
        "in the manifest, but missing",
    ]


@pytest.mark.parametrize(
    "text, what",
    [
        ("/ro" + "ot/project/a.py", "a path of a machine"),
        ("/home/" + "someone/a.py", "a path of a machine"),
        ("10.1." + "2.3", "a host or an address"),
        ("someone" + "@mail.net", "an e-mail address"),
        ("gh" + "p_" + "a1" * 12, "a vendor's key"),
        ("https://me:" + "word@" + "db", "a password in a URL"),
    ],
)
def test_what_must_not_be_published_is_noticed(copy: Path, text: str, what: str) -> None:
    path = copy / "sessions" / "anthropic_messages" / "date-picker.jsonl"
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"role": "user", "content": text}) + "\n")
    assert any(f"holds {what}" in line for line in manifest.problems(copy))


def test_there_are_sessions_of_seven_formats() -> None:
    formats = Counter(path.parts[len(SESSIONS.parts)] for path in SESSIONS.rglob("*.json*"))
    assert set(formats) == {
        "agent_message", "anthropic_messages", "claude_code", "codex", "langchain",
        "openai_chat", "semantic_kernel",
    }  # fmt: skip


def test_the_outbox_session_holds_a_true_rewind() -> None:
    typed = [
        line["parentUuid"]
        for line in _lines("claude_code/outbox.jsonl")
        if line["type"] == "user"
        and isinstance(line["message"]["content"], str)
        and line.get("promptSource") == "sdk"
    ]
    assert max(Counter(typed).values()) == 2


def test_the_outbox_session_holds_a_compaction_a_queued_prompt_and_a_refusal() -> None:
    lines = _lines("claude_code/outbox.jsonl")
    boundary = next(n for n, x in enumerate(lines) if x.get("subtype") == "compact_boundary")
    assert lines[boundary + 1]["isCompactSummary"] is True
    attachments = [x["attachment"]["type"] for x in lines if x["type"] == "attachment"]
    assert attachments.count("queued_command") == 1
    results = [str(x.get("toolUseResult", "")) for x in lines]
    assert sum("the user said:" in result for result in results) == 1


def test_responses_are_split_over_lines_that_repeat_their_usage() -> None:
    seen: dict[str, set[str]] = {}
    counts: Counter[str] = Counter()
    for line in _lines("claude_code/prorate.jsonl"):
        if line["type"] == "assistant":
            message = line["message"]
            counts[message["id"]] += 1
            seen.setdefault(message["id"], set()).add(json.dumps(message["usage"]))
    assert max(counts.values()) >= 4
    assert all(len(usages) == 1 for usages in seen.values())


@pytest.mark.parametrize("folder", ["tenants", "tenants-2.1.33"])
def test_every_side_file_belongs_to_a_result_in_the_main_file(folder: str) -> None:
    (main,) = (SESSIONS / "claude_code" / folder).glob("*.jsonl")
    lines = _lines(main.relative_to(SESSIONS).as_posix())
    results = [x.get("toolUseResult") for x in lines]
    agents = {r["agentId"] for r in results if isinstance(r, dict) and "agentId" in r}
    sides = (main.with_suffix("") / "subagents").glob("agent-*.jsonl")
    assert {side.stem.removeprefix("agent-") for side in sides} == agents
    progress = [x["data"]["type"] for x in lines if x["type"] == "progress"]
    assert ("agent_progress" in progress) == (folder == "tenants-2.1.33")


def test_every_parent_is_a_line_of_the_same_file() -> None:
    for path in sorted((SESSIONS / "claude_code").rglob("*.jsonl")):
        lines = _lines(path.relative_to(SESSIONS).as_posix())
        uuids = {line["uuid"] for line in lines if "uuid" in line}
        parents = {line.get("parentUuid") for line in lines} - {None}
        assert parents <= uuids, path
