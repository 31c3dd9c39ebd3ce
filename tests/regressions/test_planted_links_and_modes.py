"""What stands in a project before us, and who may read what we leave there.

A repository may come with links and pipes where hooks keep their state: `hooks.log`,
`pass.found` and `asked.json` were written through them, a lock was made behind a folder that was
swapped for a link between two calls, and a pipe for a settings file held every command up for
ever. Hooks, `asked.json` and reviews first looked whether a folder was a link and then wrote into it
by its name: it could be swapped in between. The folders of hooks, reviews and `--since last` were open to everybody under a wide umask,
as were all files of `-o`; a file that others could read kept its mode when it was written again.
"""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.strategies.hooks import hook_input

from leftoff.cli.output import deliver
from leftoff.errors import SourceError
from leftoff.hooks import answer, queue, worker
from leftoff.incremental.saved_passes import SavedPass
from leftoff.stores.atomic import Directory, create_and_open
from leftoff.stores.protocol import open_store

pytestmark = pytest.mark.skipif(os.name != "posix", reason="has links and modes of POSIX")


@pytest.fixture
def wide_umask() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def asked(project: Path, event: str = "Stop", session: str = "s1") -> None:
    answer.answer(hook_input(event, session, project=project), {})


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "start_worker", lambda *_: None)


@pytest.mark.usefixtures("quiet", "wide_umask")
def test_state_of_hooks_is_for_its_owner_only(tmp_path: Path) -> None:
    asked(tmp_path)
    made = sorted((tmp_path / ".leftoff").rglob("*"))
    assert made
    for path in (tmp_path / ".leftoff", *made):
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("linked", ["state", "state/s1"])
def test_hooks_write_nothing_behind_a_link(tmp_path: Path, linked: str) -> None:
    away = tmp_path / "away"
    away.mkdir()
    place = tmp_path / ".leftoff" / linked
    place.parent.mkdir(parents=True)
    place.symlink_to(away)
    asked(tmp_path)
    worker.process_jobs(tmp_path / ".leftoff", "s1")
    assert list(away.iterdir()) == []


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_the_log_of_hooks_is_not_written_into_somebody_elses_file(
    tmp_path: Path, link: Callable[[Path, Path], None]
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / ".leftoff/state").mkdir(parents=True)
    link(tmp_path / ".leftoff/state/hooks.log", victim)
    asked(tmp_path)
    assert victim.read_text() == "precious"


@pytest.mark.parametrize(
    "name", ["hooks.log", "asked.json", "reviews.lock", "HOOKS.LOG", "x.index"]
)
def test_a_session_is_not_called_as_a_file_that_stands_beside_it(
    name: str, tmp_path: Path
) -> None:
    assert queue.folder_of(tmp_path, name) is None
    assert queue.folder_of(tmp_path, "5e551011-0000") is not None


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_a_kept_pass_does_not_truncate_what_a_link_leads_to(
    tmp_path: Path, link: Callable[[Path, Path], None]
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "kept").mkdir()
    link(tmp_path / "kept/pass.found", victim)
    with pytest.raises(OSError, match=r"link|Too many levels"):
        SavedPass(tmp_path / "kept")._append(0, b"x")
    assert victim.read_text() == "precious"


def test_an_inner_folder_is_no_link(tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home/state").symlink_to(tmp_path / "away")
    with pytest.raises(OSError, match=r"link|Not a directory|Too many levels"):
        create_and_open(tmp_path / "home/state").__enter__()


def test_a_lock_is_looked_up_in_the_folder_that_was_opened(tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    (tmp_path / "away").mkdir()
    with Directory.open(tmp_path / "locks") as folder:
        (tmp_path / "locks").rename(tmp_path / "aside")
        (tmp_path / "locks").symlink_to(tmp_path / "away")
        with folder.lock("a.lock", 1.0):
            assert list((tmp_path / "away").iterdir()) == []
            assert mode(tmp_path / "aside/a.lock") == 0o600


def test_what_hooks_leave_goes_into_the_folder_that_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / ".leftoff"
    folder, away, aside = home / "state/s1", tmp_path / "away", tmp_path / "aside"
    away.mkdir()
    queue.make_folder(home, folder)
    stage = Directory.stage

    def swapped(self: Directory, *args: Any, **named: Any) -> Any:
        folder.rename(aside)
        folder.symlink_to(away)
        return stage(self, *args, **named)

    for durable in (False, True):
        with monkeypatch.context() as patched:
            patched.setattr(Directory, "stage", swapped)
            queue.write(folder / "watch.json", b"{}", durable=durable)
        assert ([*away.iterdir()], [*aside.iterdir()]) == ([], [aside / "watch.json"])
        with pytest.raises(OSError, match=r"link|Not a directory|Too many levels"):
            queue.write(folder / "watch.json", b"{}", durable=durable)
        folder.unlink()
        aside.rename(folder)


@pytest.mark.usefixtures("wide_umask")
def test_a_result_is_for_its_owner_only_also_over_another(tmp_path: Path) -> None:
    path = tmp_path / "out.md"
    deliver("first", str(path))
    assert mode(path) == 0o600
    path.chmod(0o644)
    deliver("second", str(path))
    assert (mode(path), path.read_text()) == (0o600, "second")
    assert list(tmp_path.iterdir()) == [path]


def test_a_result_goes_into_a_pipe_as_it_stands_and_a_link_is_replaced(tmp_path: Path) -> None:
    deliver("nothing", os.devnull)
    victim, link = tmp_path / "victim", tmp_path / "link"
    victim.write_text("precious")
    link.symlink_to(victim)
    deliver("result", str(link))
    assert (victim.read_text(), link.read_text()) == ("precious", "result")
    with pytest.raises(SourceError, match="cannot be written"):
        deliver("result", str(tmp_path / "no" / "such"))


@pytest.mark.usefixtures("wide_umask")
@pytest.mark.parametrize("where", ["{}", "sqlite:///{}/kept.db"])
def test_a_document_that_others_could_read_is_closed_when_it_is_saved(
    tmp_path: Path, where: str
) -> None:
    store = open_store(where.format(tmp_path))
    store.save("task", "a", {"n": 1}, text="one")
    files = [p for p in tmp_path.rglob("*") if p.is_file() and p.suffix != ".lock"]
    for path in files:
        path.chmod(0o644)
    store.save("task", "a", {"n": 2}, text="two")
    found = [p for p in tmp_path.rglob("*") if p.is_file() and p.suffix != ".lock"]
    assert {mode(p) for p in found} == {0o600}, [(p, oct(mode(p))) for p in found]


@pytest.mark.parametrize(
    "name", ["leftoff.toml", "pyproject.toml", ".claude-mpm/configuration.yaml"]
)
def test_a_pipe_for_settings_is_refused_at_once(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    done = subprocess.run(
        [sys.executable, "-m", "leftoff", "config"],
        cwd=tmp_path, env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert b"no regular file" in done.stderr
