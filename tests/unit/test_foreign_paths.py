"""Paths of Windows and macOS, as far as they can be judged anywhere."""

from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.errors import NotPlainName
from leftoff.handover.checkpoint.document import path_component
from leftoff.handover.checkpoint.file_names import slugify, validate_name
from leftoff.settings import user_folder
from leftoff.stores.naming import LOCATIONS, check_id, file_stem, parse_file_name

LETTERS = st.text(
    st.one_of(
        st.sampled_from(' .:*?<>|"/\\%-_aA1~$\x00\x1f\x7féİß'), st.characters(codec="utf-8")
    ),
    min_size=1,
    max_size=24,
)


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


@given(LETTERS)
def test_the_name_of_a_provider_becomes_one_plain_component(name: str) -> None:
    assert fits_everywhere("task-" + path_component(name) + ".json")


@given(LETTERS)
def test_a_name_made_of_any_goal_fits_everywhere(goal: str) -> None:
    name = slugify(goal)
    assert fits_everywhere(name + ".md")
    assert validate_name(name) == name


# -- settings and stores ---------------------------------------------------------------------


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
