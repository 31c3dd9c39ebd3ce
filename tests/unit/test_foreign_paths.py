"""Paths of Windows and macOS, as far as they can be judged anywhere."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.errors import NotPlainName
from leftoff.handover.checkpoint.document import path_component
from leftoff.handover.checkpoint.file_names import slugify, validate_name
from leftoff.settings import user_folder
from leftoff.shell.paths import absolute, home_of, is_within, relative
from leftoff.sources.discover import SessionInfo as Session
from leftoff.sources.discover import (
    _spellings,
    _wide,
    _within,
    client_locations,
    existing_folders,
    home_folder,
    latest_session,
)
from leftoff.stores.files import _path_of
from leftoff.stores.naming import (
    LOCATIONS,
    check_id,
    file_stem,
    fold_id,
    ids_collide,
    parse_file_name,
)
from leftoff.workspace import _moved

LETTERS = st.text(
    st.one_of(
        st.sampled_from(' .:*?<>|"/\\%-_aA1~$\x00\x1f\x7féİß'), st.characters(codec="utf-8")
    ),
    min_size=1,
    max_size=24,
)
DEVICES = ["con", "PRN", "aux.txt", "NUL.tar.gz", "com1", "LPT9.md", "com¹", "CONIN$", "con .x"]


# -- names of files --------------------------------------------------------------------------


def fits_everywhere(name: str) -> bool:
    """Whether a name is one component, of an ordinary file, on each system."""
    windows = PureWindowsPath(name)
    return (
        windows.parts == (name,)
        and not windows.drive
        and not windows.is_reserved()
        and name[-1] not in ". "
        and not set(name) & set('<>:"|?*')
        and PurePosixPath(name).parts == (name,)
        and min(name) > "\x1f"
    )


@given(LETTERS)
def test_an_id_that_is_taken_names_an_ordinary_file_on_each_system(id_: str) -> None:
    for kind in LOCATIONS:
        try:
            check_id(kind, id_)
        except NotPlainName:
            continue
        for ending in (".json", ".md", ".json.gz"):
            assert fits_everywhere(file_stem(kind, id_) + ending), (kind, id_)
        assert parse_file_name(kind, file_stem(kind, id_) + ".json") == (id_, ".json")


@pytest.mark.parametrize(
    "id_", [*DEVICES, "a:b", "a:$DATA", "C:", "C:x", "\\\\?\\x", "a ", "a."]
)
def test_what_windows_takes_otherwise_is_refused(id_: str) -> None:
    with pytest.raises(NotPlainName):
        check_id("task", id_)


@given(LETTERS)
def test_the_name_of_a_provider_becomes_one_plain_component(name: str) -> None:
    assert fits_everywhere("task-" + path_component(name) + ".json")


@given(LETTERS)
def test_a_name_made_of_any_goal_fits_everywhere(goal: str) -> None:
    name = slugify(goal)
    assert fits_everywhere(name + ".md")
    assert validate_name(name) == name


@pytest.mark.parametrize("one,other", [("Fix", "fIX"), ("caf\u00e9", "cafe\u0301"), ("İ", "i̇")])
def test_names_that_are_one_on_windows_or_macos_are_twins(one: str, other: str) -> None:
    assert ids_collide(one, other)
    assert fold_id(one) == fold_id(other)


# -- paths in recordings ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "path,cwd,whole",
    [
        ("\\\\?\\C:\\w\\a.py", "", "C:/w/a.py"),
        ("\\\\?\\UNC\\host\\share\\a.py", "C:\\w", "//host/share/a.py"),
        ("a.py", "\\\\?\\C:\\w", "C:/w/a.py"),
        ("a.py", "\\\\host\\share\\w", "//host/share/w/a.py"),
        ("..\\b\\a.py", "c:\\w\\x", "C:/w/b/a.py"),
        ("/private/tmp/w/a.py", "/tmp/w", "/tmp/w/a.py"),
        ("~/Library/a", "/Users/ana/app", "/Users/ana/Library/a"),
        ("~\\a.py", "c:\\Users\\ana\\app", "C:/Users/ana/a.py"),
    ],
)
def test_one_spelling_of_a_foreign_path(path: str, cwd: str, whole: str) -> None:
    assert absolute(path, cwd) == whole


def test_what_lies_below_a_windows_folder_does_not_depend_on_capitals() -> None:
    assert relative("C:/Work/App/src/A.py", "c:\\work\\app") == "src/A.py"
    assert relative("C:/Work/App", "c:\\work\\app") == "."
    assert relative("//Host/Share/w/a.py", "\\\\host\\share\\W") == "a.py"
    assert relative("C:/work/apple/a.py", "C:\\work\\app") == "C:/work/apple/a.py"
    assert home_of("\\\\?\\C:\\Users\\ana\\x") == "C:/Users/ana"


@pytest.mark.parametrize(
    "folder,root,inside",
    [
        ("C:\\Users\\ana\\app", "c:\\users\\Ana\\app", True),
        ("C:\\Users\\ana\\app\\src", "C:\\Users\\ana\\app\\", True),
        ("C:\\Users\\ana\\app2", "C:\\Users\\ana\\app", False),
        ("D:\\app", "C:\\", False),
        ("C:\\app", "C:\\", True),
        ("\\\\?\\C:\\app", "C:\\app", True),
        ("/private/tmp/app", "/tmp/app", True),
        ("/Users/ana/App", "/Users/ana/app", False),
        ("/srv/app/x", "/", True),
        ("", "/srv", False),
        ("/srv", "", False),
    ],
)
def test_whether_a_directory_lies_in_another(folder: str, root: str, inside: bool) -> None:
    assert is_within(folder, root) is inside


@pytest.mark.parametrize(
    "path,cwd,found",
    [
        ("C:\\w\\src\\a.py", "c:\\w", "src/a.py"),
        ("src\\a.py", "C:\\w", "src/a.py"),
        ("/w/src/a.py", "/w/", "src/a.py"),
        ("../a.py", "/w", "../a.py"),
        ("src/a.py", "", "src/a.py"),
    ],
)
def test_a_recorded_file_is_looked_for_in_the_folder_of_now(
    path: str, cwd: str, found: str, tmp_path: Path
) -> None:
    assert _moved(path, cwd, tmp_path) == tmp_path / found


# -- where clients keep their sessions -------------------------------------------------------


def session(project: str, path: str = "/x/s.jsonl") -> Session:
    return Session(id="s", client="c", format="f", path=path, project=project)


def test_a_session_is_found_by_its_windows_directory() -> None:
    assert _within(session("c:\\Users\\ana\\app\\src"), "C:\\Users\\ana\\app")
    assert not _within(session("C:\\Users\\ana\\other"), "C:\\Users\\ana\\app")


@pytest.mark.parametrize("drive", "Cc")
def test_a_windows_directory_in_the_name_of_a_folder(drive: str) -> None:
    told = session("", f"/h/projects/{drive}--Users-ana-my-app/s.jsonl")
    assert _within(told, "C:\\Users\\ana\\my app")
    assert _within(told, "c:\\Users\\ana\\my app")
    assert not _within(told, "D:\\Users\\ana\\my app")
    assert {"-Users-ana-app", "Users-ana-app"} <= _spellings("/Users/ana/app")


@pytest.mark.parametrize(
    "project,home,wide",
    [
        ("C:\\", "C:\\Users\\ana", True),
        ("c:\\users\\ana\\app", "C:\\Users\\ana", False),
        ("C:\\Users\\ana\\", "C:\\Users\\ana", True),
        ("/", "/Users/ana", True),
        ("/Users/ana", "/Users/ana", True),
        ("/Users/ana/app", "/Users/ana", False),
    ],
)
def test_a_disk_or_a_home_folder_is_nobodys_project(
    project: str, home: str, wide: bool
) -> None:
    assert _wide(project, home) is wide


def test_windows_tells_the_home_folder_by_another_variable() -> None:
    told = {"HOME": "/c/Users/ana", "USERPROFILE": "C:\\Users\\ana"}
    assert str(home_folder(told, windows=True)) == "C:\\Users\\ana"
    assert str(home_folder(told, windows=False)) == "/c/Users/ana"


@pytest.mark.parametrize(
    "where",
    [
        ".config",
        "Library/Application Support",
        "AppData/Roaming",
    ],
)
@pytest.mark.parametrize("editor", ["Code", "Code - Insiders", "VSCodium", "Cursor"])
def test_the_storage_of_editors_on_each_system(tmp_path: Path, where: str, editor: str) -> None:
    for place in client_locations():
        if place.client in {"Cline", "Roo Code"} and place.folders:
            name = {"Cline": "saoudrizwan.claude-dev", "Roo Code": "rooveterinaryinc.roo-cline"}
            storage = tmp_path / where / editor / "User/globalStorage" / name[place.client]
            storage.mkdir(parents=True)
            assert existing_folders(place, {"HOME": str(tmp_path)}) == [storage]


def test_roaming_data_is_where_windows_says(tmp_path: Path) -> None:
    storage = tmp_path / "R" / "Code/User/globalStorage/saoudrizwan.claude-dev"
    storage.mkdir(parents=True)
    environ = {"HOME": str(tmp_path / "h"), "APPDATA": str(tmp_path / "R")}
    (cline,) = (p for p in client_locations() if p.variable == "CLINE_DATA_DIR")
    assert existing_folders(cline, environ) == [storage]


def test_the_newest_session_of_a_folder_below_a_recorded_one(tmp_path: Path) -> None:
    project = tmp_path / "app"
    (project / "src").mkdir(parents=True)
    folder = tmp_path / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    line = (
        '{"type":"user","cwd":"%s","sessionId":"s1","message":{"role":"user","content":"go"}}'
    )
    (folder / "s1.jsonl").write_text(line % project + "\n", "utf-8")
    found = latest_session({"HOME": str(tmp_path)}, os.fspath(project / "src"))
    assert (found.id, found.project) == ("s1", str(project))


# -- settings and stores ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "url,windows,path",
    [
        ("file:///C:/Users/ana/a%20b", True, "C:/Users/ana/a b"),
        ("file://host/share/x", True, "//host/share/x"),
        ("file://localhost/C:/x", True, "C:/x"),
        ("file:///srv/x", False, "/srv/x"),
        ("C:\\x", True, "C:\\x"),
        ("relative/x", False, "relative/x"),
    ],
)
def test_the_folder_that_a_url_names(url: str, windows: bool, path: str) -> None:
    assert _path_of(url, windows=windows) == path


def test_a_windows_path_is_no_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from leftoff.stores.files import FileStore
    from leftoff.stores.protocol import open_store

    store = open_store("C:\\Users\\ana\\kept")
    assert isinstance(store, FileStore)


def test_where_the_users_own_settings_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/Users/ana")
    mac = "/Users/ana/Library/Application Support/leftoff"
    assert user_folder({}, "darwin").as_posix() == mac
    assert (
        user_folder({"XDG_CONFIG_HOME": " "}, "linux").as_posix()
        == "/Users/ana/.config/leftoff"
    )
    assert user_folder({"XDG_CONFIG_HOME": "/c"}, "linux").as_posix() == "/c/leftoff"
    local = "C:\\Users\\ana\\AppData\\Local"
    assert user_folder({"LOCALAPPDATA": local}, "win32") == Path(local) / "leftoff"
    assert user_folder({}, "win32") == Path("/Users/ana/AppData/Local/leftoff")
