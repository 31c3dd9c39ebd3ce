"""The program that the hook's settings name."""

import errno
from pathlib import Path

import pytest

from leftoff.errors import SourceError
from leftoff.hooks.install import command_for


def test_settings_get_no_other_program_where_the_disk_does_not_say_whether_ours_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(path: Path, **_: object) -> None:
        raise OSError(errno.EIO, "Input/output error", str(path))

    monkeypatch.setattr(Path, "stat", failing)
    with pytest.raises(SourceError, match=r"cannot be looked for \(Input/output error\)"):
        command_for("user")


def test_without_our_program_the_interpreter_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    assert command_for("local").endswith("python -P -m leftoff hook")
