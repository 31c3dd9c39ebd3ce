"""A pass kept on the disk: read on, trusted, thrown away."""

import gzip
from pathlib import Path

import pytest

from leftoff import api
from leftoff.analysis.summary_json import to_json
from leftoff.errors import SourceError
from leftoff.incremental.cursor import NotResumable
from leftoff.incremental.saved_passes import SavedPass

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = ROOT / "corpora" / "sessions"


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    data = (SESSIONS / "claude_code/prorate.jsonl").read_bytes()
    path, kept = tmp_path / "s.jsonl", SavedPass(tmp_path / "state")
    path.write_bytes(data[:-1000])
    assert kept.read_on(str(path)) == (len(data) - 1000, True)
    path.write_bytes(data)  # the same inode, the same beginning
    read, _ = kept.read_on(str(path))
    assert 1000 <= read < 20_000  # from the last whole line on


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
