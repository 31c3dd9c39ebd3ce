"""The shipped corpus is what its manifest says and holds nothing that must stay private."""

import json
import shutil
from pathlib import Path

import pytest
from benchmarks.recording import manifest

ROOT = Path(__file__).resolve().parents[2]
CORPORA = ROOT / "corpora"


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
