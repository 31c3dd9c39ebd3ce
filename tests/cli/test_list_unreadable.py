"""`leftoff list` where a client's folder cannot be read."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from leftoff.cli.group import main


def test_a_folder_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It said that there was no session."""
    folder = tmp_path / ".claude" / "projects"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    scan = os.scandir

    def refused(path: Any) -> Any:
        if Path(path) == folder:
            raise OSError(errno.EIO, "Input/output error", str(path))
        return scan(path)

    monkeypatch.setattr("leftoff.sources.discover.os.scandir", refused)
    assert main(["list"]) == 2
    said = capsys.readouterr().err
    assert "cannot be read (Input/output error)" in said
    assert "no session" not in said
