"""A pass kept on the disk: read on, trusted, thrown away."""

import gzip
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftoff import api
from leftoff.analysis.summary_json import to_json
from leftoff.errors import SourceError
from leftoff.incremental.cursor import NotResumable
from leftoff.incremental.saved_passes import FOUND, SavedPass

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = ROOT / "corpora" / "sessions"
SECRET = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


@settings(max_examples=12)
@given(st.lists(st.floats(0, 1), max_size=6))
def test_however_often_and_wherever_it_stopped_the_summary_is_the_same(
    shares: list[float],
) -> None:
    data = (SESSIONS / "claude_code/outbox.jsonl").read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        path, kept = Path(folder) / "session.jsonl", SavedPass(Path(folder) / "state")
        path.touch()
        for share in sorted(shares):
            with path.open("r+b") as file:
                file.write(data[: int(share * len(data))])
            kept.read_on(str(path))
        with path.open("r+b") as file:
            file.write(data)
        assert to_json(kept.summary(str(path))) == to_json(api.summarize(str(path)))


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    data = (SESSIONS / "claude_code/prorate.jsonl").read_bytes()
    path, kept = tmp_path / "s.jsonl", SavedPass(tmp_path / "state")
    path.write_bytes(data[:-1000])
    assert kept.read_on(str(path)) == (len(data) - 1000, True)
    path.write_bytes(data)  # the same inode, the same beginning
    read, _ = kept.read_on(str(path))
    assert 1000 <= read < 20_000  # from the last whole line on


def test_another_file_at_the_same_place_is_read_anew(tmp_path: Path) -> None:
    path, kept = tmp_path / "s.jsonl", SavedPass(tmp_path / "state")
    shutil.copyfile(SESSIONS / "claude_code/prorate.jsonl", path)
    kept.read_on(str(path))
    shutil.copyfile(SESSIONS / "claude_code/outbox.jsonl", path)
    assert kept.whole(str(path)) is None
    kept.read_on(str(path))
    assert to_json(kept.summary(str(path))) == to_json(api.summarize(str(path)))


def test_what_a_killed_reader_left_is_written_over(tmp_path: Path) -> None:
    data = (SESSIONS / "claude_code/prorate.jsonl").read_bytes()
    path, kept = tmp_path / "s.jsonl", SavedPass(tmp_path / "state")
    path.write_bytes(data[: len(data) // 2])
    kept.read_on(str(path))
    with (tmp_path / "state" / FOUND).open("ab") as file:
        file.write(b"half a frame of a reader that was killed before its head was written")
    path.write_bytes(data)
    kept.read_on(str(path))
    assert to_json(kept.summary(str(path))) == to_json(api.summarize(str(path)))


def test_nothing_kept_holds_a_secret(tmp_path: Path) -> None:
    data = (SESSIONS / "claude_code/prorate.jsonl").read_text()
    path, kept = tmp_path / "s.jsonl", SavedPass(tmp_path / "state")
    path.write_text(data.replace("The fix is", f"The token is {SECRET}. The fix is"))
    assert SECRET in path.read_text()
    kept.read_on(str(path))
    for place in (tmp_path / "state").iterdir():
        assert SECRET.encode() not in place.read_bytes()
        assert place.stat().st_mode & 0o77 == 0
    assert SECRET not in to_json(kept.summary(str(path))).decode()


def test_what_cannot_be_read_on_is_read_whole(tmp_path: Path) -> None:
    path, kept = tmp_path / "s.json", SavedPass(tmp_path / "state")
    path.write_text('[{"role": "user", "content": "Sort it."}]')
    with pytest.raises(NotResumable, match="one document"):
        kept.read_on(str(path))
    assert kept.whole(str(path)) is None
    assert to_json(kept.summary(str(path))) == to_json(api.summarize(str(path)))
    path.write_bytes(gzip.compress((SESSIONS / "claude_code/prorate.jsonl").read_bytes()))
    with pytest.raises(SourceError, match="compressed"):
        kept.read_on(str(path))
    assert to_json(kept.summary(str(path))) == to_json(api.summarize(str(path)))
    with pytest.raises(SourceError, match="no such file"):
        SavedPass(tmp_path / "state").read_on(str(tmp_path / "none.jsonl"))
