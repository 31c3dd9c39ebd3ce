"""A recording whose name is no text ended `leftoff list` once there was an index."""

import os
import sqlite3
from pathlib import Path

from leftoff.memory.headers import StoredHeaders
from leftoff.sources import discover


def test_a_name_that_is_no_text_is_not_stored(tmp_path: Path, root: Path) -> None:
    folder = tmp_path / ".claude/projects/-work"
    folder.mkdir(parents=True)
    data = (root / "corpora/sessions/claude_code/prorate.jsonl").read_bytes()
    for name in ("a.jsonl", os.fsdecode(b"\xff\xfe.jsonl")):
        (folder / name).write_bytes(data)
        os.utime(folder / name, (1e6, 1e6))
    environ = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    headers = StoredHeaders(environ)
    headers._db = sqlite3.connect(":memory:", isolation_level=None)
    headers._db.execute("CREATE TABLE headers (path, size, modified, version, header)")
    assert len([headers.read(file) for file in discover.session_files(environ)]) == 2
    assert [row[0] for row in headers._rows()] == [str(folder / "a.jsonl")]
    headers.close()
