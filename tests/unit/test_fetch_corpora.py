"""`python -m benchmarks.corpora fetch` against a repository made here: no network, real git."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest
from benchmarks.corpora.fetch import corpora
from benchmarks.corpora.references import Reference, to_ranges, to_toml

from leftoff.errors import UnknownName
from leftoff.evaluation.labels import Decision, Labels, Quote, Stage, load

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


class Fetching:
    """A repository whose recording was changed later, `commit` being the one before that, and what
    is fetched of it into `into`."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.repository = folder / "acme" / "tools"
        self.into, self.listed, self._capsys = folder / "into", folder / "public.toml", capsys
        recording = self.repository / "logs" / "one.jsonl"
        recording.parent.mkdir(parents=True)
        git(self.repository, "init", "-q", "-b", "main")
        recording.write_bytes(RECORDING)
        git(self.repository, "add", "-A")
        git(self.repository, "commit", "-q", "-m", "A recording")
        self.commit = git(self.repository, "rev-parse", "HEAD")
        recording.write_bytes(RECORDING.replace(b"14", b"15"))
        git(self.repository, "commit", "-q", "-a", "-m", "Another")
        self.url = self.repository.as_uri()

    def labelled(self, **changed: object) -> Reference:
        labels = Labels(
            str(changed.get("file", NAME)).rpartition("/")[2],
            "someone",
            decisions=(Decision(2, SAID, "architecture", 3, (3,)),),
            milestones=(Quote(3, "14 tests pass", "tests_pass"),),
            stages=(Stage(1, "planning"),),
        )
        texts = {n: message["content"] for n, message in enumerate(TALK, 1)}
        values: dict[str, object] = {
            "file": f"chat_lines/{NAME}",
            "format": "chat_lines",
            "url": self.url,
            "commit": self.commit,
            "path": "logs/one.jsonl",
            "sha256": hashlib.sha256(RECORDING).hexdigest(),
            "bytes": len(RECORDING),
            "set": "double",
            "labels": to_ranges(labels, texts)[0],
        }
        return Reference(**{**values, **changed})  # type: ignore[arg-type]

    def fetch(
        self, *references: Reference, names: tuple[str, ...] = ()
    ) -> tuple[int, str, str]:
        """Fetches what the references name: the exit code, and what is printed on both streams."""
        self.listed.write_text(to_toml(references), encoding="utf-8")
        where = ["--into", str(self.into), "--references", str(self.listed)]
        with corpora.make_context("corpora", ["fetch", *names, *where]) as context:
            code = corpora.invoke(context)
        assert isinstance(code, int)
        return code, *self._capsys.readouterr()


@pytest.fixture
def fetching(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Fetching:
    return Fetching(tmp_path, capsys)


def test_the_recording_of_the_commit_comes_with_its_labels(fetching: Fetching) -> None:
    code, out, err = fetching.fetch(fetching.labelled())
    assert (code, out) == (0, f"chat_lines/{NAME}: fetched, double labels\n")
    assert err == f"fetching 1 from {fetching.url} (network)\n"
    assert (fetching.into / "chat_lines" / NAME).read_bytes() == RECORDING
    (labels,) = load(str(fetching.into / "labels" / "double"))
    assert labels.decisions == (Decision(2, SAID, "architecture", 3, (3,)),)
    assert [m.quote for m in labels.milestones] == ["14 tests pass"]
    assert labels.stages == (Stage(1, "planning"),)


def test_what_is_there_is_not_fetched_again(fetching: Fetching) -> None:
    assert fetching.fetch(fetching.labelled())[0] == 0
    fetching.repository.rename(fetching.repository.with_name("gone"))
    told = fetching.fetch(fetching.labelled())
    assert told == (0, f"chat_lines/{NAME}: is there, double labels\n", "")


def test_another_hash_writes_nothing_and_exits_1(fetching: Fetching) -> None:
    code, _, err = fetching.fetch(fetching.labelled(sha256="0" * 64))
    assert code == 1
    assert "another hash" in err
    assert not fetching.into.exists()


def test_labels_of_another_text_are_refused(fetching: Fetching) -> None:
    later = RECORDING.replace(b"14", b"15")
    commit = git(fetching.repository, "rev-parse", "HEAD")
    changed = fetching.labelled(commit=commit, sha256=hashlib.sha256(later).hexdigest())
    code, _, err = fetching.fetch(changed)
    assert code == 1
    assert "not the one that was labelled" in err
    assert not (fetching.into / "labels").exists()


@pytest.mark.parametrize("changed", [{"commit": "f" * 40}, {"path": "logs/none.jsonl"}])
def test_what_is_not_published_exits_2_and_the_rest_is_fetched(
    fetching: Fetching, changed: dict[str, str]
) -> None:
    absent = fetching.labelled(file="chat_lines/acme__tools__two.jsonl", **changed)
    code, _, err = fetching.fetch(absent, fetching.labelled())
    assert code == 2
    assert "chat_lines/acme__tools__two.jsonl: git: fatal" in err
    assert (fetching.into / "chat_lines" / NAME).exists()


def test_only_what_is_named_is_fetched(fetching: Fetching) -> None:
    other = fetching.labelled(file="pi/plain.jsonl", set="", labels=None)
    assert fetching.fetch(fetching.labelled(), other, names=("plain.jsonl",))[0] == 0
    assert [p.name for p in fetching.into.rglob("*.jsonl")] == ["plain.jsonl"]
    with pytest.raises(UnknownName, match="public recording"):
        fetching.fetch(other, names=("nobody/nothing",))


def test_no_command_is_run_in_place_of_a_url(
    fetching: Fetching, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git can be told to run a command for a URL; we never let it."""
    settings = tmp_path / "gitconfig"
    settings.write_text(
        f'[url "ext::touch {tmp_path}/ran "]\n\tinsteadOf = file://\n'
        '[protocol "ext"]\n\tallow = always\n',
        encoding="utf-8",
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    assert fetching.fetch(fetching.labelled())[0] == 2
    assert not (tmp_path / "ran").exists()
