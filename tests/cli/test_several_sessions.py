"""A file that holds several sessions: listed, chosen by number, id or date, and cited."""

import ast
from pathlib import Path

import pytest

from leftoff import api
from leftoff.budget.thresholds import preset
from leftoff.errors import SourceError, UnknownName, UsageError
from leftoff.formats.reader import formats
from leftoff.incremental.accounts import AccountFollower, account_of
from leftoff.sources.session_choice import split_choice

HISTORY = """
# aider chat started at 2026-01-02 03:04:05

> Aider v0.80.0  

#### plant the beans  

They stand in row two.

# aider chat started at 2026-01-02 09:00:00

> Aider v0.80.0  
> Create new file? (Y)es/(N)o [Yes]: n  

#### water them  
#### twice  

Done at noon.

#### and the peas?  

They are dry.

# aider chat started at 2026-02-03 04:05:06

> Aider v0.80.0  

#### /exit  
"""  # noqa: W291


@pytest.fixture
def history(tmp_path: Path) -> Path:
    path = tmp_path / "chat.history.md"
    path.write_text(HISTORY)
    return path


def test_a_session_that_only_commits_is_no_work(tmp_path: Path) -> None:
    commits = "\n# aider chat started at 2026-03-04 05:06:07\n\n> Commit 1a2b3c4 docs: rows  \n"
    path = tmp_path / "chat.history.md"
    path.write_text(HISTORY + commits)
    assert api.default_session(str(path)) == (2, 4)


def test_a_choice_that_fits_none_or_several_is_refused(history: Path) -> None:
    with pytest.raises(UsageError, match=r"2 sessions .* 1 \(2026-01-02T030405\), 2 \("):
        api.summarize(f"{history}@2026-01-02")
    with pytest.raises(UnknownName):
        api.summarize(history, session="2027")
    with pytest.raises(UsageError, match="holds 3 sessions"):
        list(api.read(f"{history}@4"))
    with pytest.raises(SourceError, match="whole file"):
        AccountFollower(f"{history}@1", preset("advisory")).changed()
    assert account_of(f"{history}@1", preset("advisory")).id == "2026-01-02T030405"


def test_a_name_with_the_sign_in_it_is_a_name(tmp_path: Path) -> None:
    path = tmp_path / "notes@2"
    path.write_text("x")
    assert split_choice(str(path)) == (str(path), None)
    assert split_choice(f"{path}@2") == (str(path), 2)
    assert split_choice("user@example.org") == ("user@example.org", None)


def test_formats_that_begin_sessions_say_so(root: Path) -> None:
    found = set()
    for file in (root / "src/leftoff/formats").glob("*.py"):
        nodes = list(ast.walk(ast.parse(file.read_text())))
        names = {n.id for n in nodes if isinstance(n, ast.Name)}
        if "NewSession" in names | {n.attr for n in nodes if isinstance(n, ast.Attribute)}:
            found.add(f"leftoff.formats.{file.stem}")
    known = [formats.get(name) for name in formats.names()]
    assert found == {format_.reader.__module__ for format_ in known if format_.several}
