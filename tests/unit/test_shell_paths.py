"""One file, one spelling."""

import pytest

from leftoff.shell.paths import absolute, home_of

SPELLINGS = [
    ("a.py", "/w/app", "/w/app/a.py"),
    ("./a.py", "/w/app", "/w/app/a.py"),
    ("src/../a.py", "/w/app", "/w/app/a.py"),
    ("/w/app//a.py", "", "/w/app/a.py"),
    ("//w/app/a.py", "", "/w/app/a.py"),
    ("../lib/a.py", "/w/app", "/w/lib/a.py"),
    ("a.py", "", "a.py"),
    ("", "/w/app", ""),
    ("file:///w/app/a.py", "", "/w/app/a.py"),
    ("file:///C:/w/a.py", "", "C:/w/a.py"),
    ("/c:/w/a.py", "", "C:/w/a.py"),
    ("src\\a.py", "C:\\w", "C:/w/src/a.py"),
    ("c:\\w\\a.py", "", "C:/w/a.py"),
    ("/c/w/a.py", "C:\\w", "C:/w/a.py"),
    ("/mnt/c/w/a.py", "c:/w", "C:/w/a.py"),
    ("/cygdrive/d/w/a.py", "C:\\w", "D:/w/a.py"),
    ("\\\\?\\C:\\w\\a.py", "C:\\w", "C:/w/a.py"),
    ("\\\\host\\share\\a.py", "C:\\w", "//host/share/a.py"),
    ("a\\b.py", "/w", "/w/a\\b.py"),
    ("/c/w/a.py", "/home/ana", "/c/w/a.py"),
    ("~/app/a.py", "/home/ana/app", "/home/ana/app/a.py"),
    ("~/app/a.py", "/Users/ana/app", "/Users/ana/app/a.py"),
    ("~/a.py", "C:\\Users\\ana\\app", "C:/Users/ana/a.py"),
    ("~/a.py", "/srv/app", "~/a.py"),
    ("~ben/a.py", "/home/ana", "~ben/a.py"),
    ("/private/tmp/x/a.py", "/w", "/tmp/x/a.py"),
    ("/private/keys/a.py", "/w", "/private/keys/a.py"),
]


@pytest.mark.parametrize(("path", "cwd", "expected"), SPELLINGS)
def test_a_path_has_one_spelling(path: str, cwd: str, expected: str) -> None:
    assert absolute(path, cwd) == expected


@pytest.mark.parametrize(
    "expected", sorted({row[2] for row in SPELLINGS} - {"//host/share/a.py"})
)
def test_an_absolute_path_stays_as_it_is(expected: str) -> None:
    assert absolute(expected, "") == expected


@pytest.mark.parametrize(
    ("cwd", "expected"),
    [
        ("/home/ana/app", "/home/ana"),
        ("/root/app", "/root"),
        ("/rootless/app", ""),
        ("/srv/app", ""),
        ("", ""),
    ],
)
def test_a_home_is_known_only_where_the_directory_tells_it(cwd: str, expected: str) -> None:
    assert home_of(cwd) == expected
