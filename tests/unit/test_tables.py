"""A packaged table is what its TOML says, whether it comes from the file or from bytecode."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import tomllib
from pathlib import Path

import pytest

import leftoff
from leftoff import lazy_re, tables

PACKAGE = Path(leftoff.__file__).parent
NAMES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.toml"))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory where Python writes bytecode."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "bytecode"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path / "bytecode"


@pytest.mark.parametrize("name", NAMES)
def test_a_table_is_what_its_file_says(name: str, cache: Path) -> None:
    wanted = tomllib.loads((PACKAGE / name).read_text("utf-8"))
    parsed = tables.table(leftoff.__file__, name)
    assert len(list(cache.rglob("*.pyc"))) == 1
    loaded = tables.table(leftoff.__file__, name)
    assert parsed == loaded == wanted


def test_bytecode_is_used_and_a_changed_file_parsed_again(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rules.toml"
    file.write_bytes(b"text = '''\r\none'''\r\n")
    (tmp_path / "rules.py").write_text("table = None")
    assert tables.table(str(tmp_path / "rules.py"), "rules.toml") == {"text": "one"}
    with monkeypatch.context() as patched:
        patched.setattr(tomllib, "loads", None)
        assert tables.table(str(tmp_path / "rules.py"), "rules.toml") == {"text": "one"}
    file.write_text("text = 'another'")
    assert tables.table(str(tmp_path / "rules.py"), "rules.toml") == {"text": "another"}
    assert len(list(cache.rglob("*.pyc"))) == 1


def test_where_no_bytecode_may_be_written_the_file_is_parsed(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "some.toml").write_text("a = 1")
    cache.write_text("no directory")
    assert tables.table(str(tmp_path / "some.py"), "some.toml") == {"a": 1}
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert tables.table(str(tmp_path / "some.py"), "some.toml") == {"a": 1}


def test_a_mistake_in_a_table_is_not_kept(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "some.toml").write_text("a = ")
    with pytest.raises(tomllib.TOMLDecodeError):
        tables.table(str(tmp_path / "some.py"), "some.toml")
    assert list(cache.rglob("*.pyc")) == []


def test_a_pattern_is_compiled_by_its_first_use() -> None:
    pattern = lazy_re.compile("(?P<word>a+)", lazy_re.IGNORECASE)
    wrong = lazy_re.compile("(")
    found = pattern.search("bAab")
    assert found is not None
    assert found["word"] == "Aa"
    assert pattern.sub("-", "bAab") == "b-b"
    assert (pattern.pattern, pattern.groups, dict(pattern.groupindex)) == (
        "(?P<word>a+)",
        1,
        {"word": 1},
    )
    assert pattern.search == pattern.search
    with pytest.raises(lazy_re.error):
        wrong.search("")
    assert not hasattr(pattern, "unknown")


def test_every_pattern_of_the_package_compiles() -> None:
    optional = {"pyarrow", "ray", "redis", "fsspec", "s3fs", "mcp", "spacy", "semantic_kernel"}
    seen = 0
    for module in pkgutil.walk_packages(leftoff.__path__, "leftoff."):
        if module.name.endswith("__main__"):
            continue
        try:
            found = vars(importlib.import_module(module.name))
        except ImportError as error:
            if (error.name or "").partition(".")[0] not in optional:
                raise
            continue
        for value in found.values():
            if isinstance(value, lazy_re.Lazy):
                assert value.groups >= 0
                seen += 1
    assert seen > 300
