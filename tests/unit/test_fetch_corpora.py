"""`python -m benchmarks.corpora fetch` against a repository made here: no network, real git."""

import gzip
import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from benchmarks.corpora.fetch import corpora
from benchmarks.corpora.references import Reference, to_ranges, to_toml

from leftoff.errors import UnknownName
from leftoff.evaluation.labels import Decision, Labels, Milestone, Stage, load

Fetch: TypeAlias = Callable[..., int]

SAID = "I'll keep the queue in SQLite, so nothing new has to run."
TALK = [
    {"role": "user", "content": "Make the uploader survive a restart."},
    {"role": "assistant", "content": SAID},
    {"role": "assistant", "content": "All 14 tests pass."},
]
RECORDING = "".join(json.dumps(message) + "\n" for message in TALK).encode()
NAME = "acme__tools__one.jsonl"


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Someone", "-c", "user.email=someone@example.com"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> tuple[Path, str]:
    """A repository whose recording was changed later, and the commit before that."""
    folder = tmp_path / "acme" / "tools"
    (folder / "logs").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    recording = folder / "logs" / "one.jsonl"
    recording.write_bytes(RECORDING)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "A recording")
    commit = git(folder, "rev-parse", "HEAD")
    recording.write_bytes(RECORDING.replace(b"14", b"15"))
    git(folder, "commit", "-q", "-a", "-m", "Another")
    return folder, commit


def labelled(repository: tuple[Path, str], **changed: object) -> Reference:
    labels = Labels(
        str(changed.get("file", NAME)).rpartition("/")[2],
        "someone",
        decisions=(Decision(2, SAID, "architecture", 3, (3,)),),
        milestones=(Milestone(3, "14 tests pass", "tests_pass"),),
        stages=(Stage(1, "planning"),),
    )
    texts = {n: message["content"] for n, message in enumerate(TALK, 1)}
    values: dict[str, object] = {
        "file": f"chat_lines/{NAME}",
        "format": "chat_lines",
        "url": repository[0].as_uri(),
        "commit": repository[1],
        "path": "logs/one.jsonl",
        "sha256": hashlib.sha256(RECORDING).hexdigest(),
        "bytes": len(RECORDING),
        "set": "double",
        "labels": to_ranges(labels, texts)[0],
    }
    return Reference(**{**values, **changed})  # type: ignore[arg-type]


@pytest.fixture
def fetch(tmp_path: Path) -> Fetch:
    """Fetches what the references name into `tmp_path/into`; the exit code."""

    def run(*references: Reference, names: tuple[str, ...] = ()) -> int:
        listed = tmp_path / "public.toml"
        listed.write_text(to_toml(references), encoding="utf-8")
        into = str(tmp_path / "into")
        args = ["fetch", *names, "--into", into, "--references", str(listed)]
        with corpora.make_context("corpora", args) as context:
            code = corpora.invoke(context)
        assert isinstance(code, int)
        return code

    return run


def test_the_recording_of_the_commit_comes_with_its_labels(
    fetch: Fetch,
    repository: tuple[Path, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert fetch(labelled(repository)) == 0
    told = capsys.readouterr()
    assert told.out == f"chat_lines/{NAME}: fetched, double labels\n"
    assert told.err == f"fetching 1 from {repository[0].as_uri()} (network)\n"
    into = tmp_path / "into"
    assert (into / "chat_lines" / NAME).read_bytes() == RECORDING
    (labels,) = load(str(into / "labels" / "double"))
    assert labels.decisions == (Decision(2, SAID, "architecture", 3, (3,)),)
    assert [m.quote for m in labels.milestones] == ["14 tests pass"]
    assert labels.stages == (Stage(1, "planning"),)


def test_what_is_there_is_not_fetched_again(
    fetch: Fetch, repository: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert fetch(labelled(repository)) == 0
    repository[0].rename(repository[0].with_name("gone"))
    capsys.readouterr()
    assert fetch(labelled(repository)) == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == (f"chat_lines/{NAME}: is there, double labels\n", "")


def test_a_name_in_gz_is_packed_the_same_way_each_time(
    fetch: Fetch, repository: tuple[Path, str], tmp_path: Path
) -> None:
    file = f"chat_lines/{NAME}.gz"
    assert fetch(labelled(repository, file=file)) == 0
    path = tmp_path / "into" / file
    first = path.read_bytes()
    assert gzip.decompress(first) == RECORDING
    path.unlink()
    assert fetch(labelled(repository, file=file)) == 0
    assert path.read_bytes() == first


def test_another_hash_writes_nothing_and_exits_1(
    fetch: Fetch,
    repository: tuple[Path, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert fetch(labelled(repository, sha256="0" * 64)) == 1
    assert "another hash" in capsys.readouterr().err
    assert not (tmp_path / "into").exists()


def test_labels_of_another_text_are_refused(
    fetch: Fetch,
    repository: tuple[Path, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    later = RECORDING.replace(b"14", b"15")
    changed = labelled(
        repository,
        commit=git(repository[0], "rev-parse", "HEAD"),
        sha256=hashlib.sha256(later).hexdigest(),
    )
    assert fetch(changed) == 1
    assert "not the one that was labelled" in capsys.readouterr().err
    assert not (tmp_path / "into" / "labels").exists()


@pytest.mark.parametrize("changed", [{"commit": "f" * 40}, {"path": "logs/none.jsonl"}])
def test_what_is_not_published_exits_2_and_the_rest_is_fetched(
    fetch: Fetch,
    repository: tuple[Path, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changed: dict[str, str],
) -> None:
    absent = labelled(repository, file="chat_lines/acme__tools__two.jsonl", **changed)
    assert fetch(absent, labelled(repository)) == 2
    assert "chat_lines/acme__tools__two.jsonl: git: fatal" in capsys.readouterr().err
    assert (tmp_path / "into" / "chat_lines" / NAME).exists()


def test_only_what_is_named_is_fetched(
    fetch: Fetch, repository: tuple[Path, str], tmp_path: Path
) -> None:
    other = labelled(repository, file="pi/plain.jsonl", set="", labels=None)
    assert fetch(labelled(repository), other, names=("plain.jsonl",)) == 0
    assert [p.name for p in (tmp_path / "into").rglob("*.jsonl")] == ["plain.jsonl"]
    with pytest.raises(UnknownName, match="public recording"):
        fetch(other, names=("nobody/nothing",))


def test_no_command_is_run_in_place_of_a_url(
    fetch: Fetch, repository: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git can be told to run a command for a URL; we never let it."""
    settings = tmp_path / "gitconfig"
    settings.write_text(
        f'[url "ext::touch {tmp_path}/ran "]\n\tinsteadOf = file://\n'
        '[protocol "ext"]\n\tallow = always\n',
        encoding="utf-8",
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    assert fetch(labelled(repository)) == 2
    assert not (tmp_path / "ran").exists()
