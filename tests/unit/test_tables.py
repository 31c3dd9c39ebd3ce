"""A packaged table is what its TOML says, whether it comes from the file or from bytecode."""

import importlib
import pkgutil
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import leftoff
from leftoff import lazy_re, tables
from leftoff.errors import UsageError

PACKAGE = Path(leftoff.__file__).parent
NAMES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.toml"))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory where Python writes bytecode."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "bytecode"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    tables._loaded.cache_clear()
    return tmp_path / "bytecode"


@pytest.mark.parametrize("name", NAMES)
def test_a_table_is_what_its_file_says(name: str, cache: Path) -> None:
    wanted = tomllib.loads((PACKAGE / name).read_text("utf-8"))
    parsed = tables.table(leftoff.__file__, name)
    assert len(list(cache.rglob("*.pyc"))) == 1
    tables._loaded.cache_clear()
    loaded = tables.table(leftoff.__file__, name)
    assert parsed == loaded == wanted


def test_bytecode_is_used_and_a_changed_file_parsed_again(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rules.toml"
    file.write_bytes(b"text = '''\r\none'''\r\n")
    (tmp_path / "rules.py").write_text("table = None")
    assert tables.table(str(tmp_path / "rules.py"), "rules.toml") == {"text": "one"}
    tables._loaded.cache_clear()
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
    tables._loaded.cache_clear()
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


# Words of all kinds, in either case, and the letters beyond ASCII that match ASCII ones.
SAMPLE = Path(__file__).parents[2].joinpath("README.md").read_text("utf-8")[:3000]
SAMPLE += f"{SAMPLE[:1000].upper()} \u212aeep \u017ftill \u0130f \u0131f \u00e9tat\n\n"


def found_by(pattern: Any, given: str | bytes) -> list[object]:
    """What a compiled pattern says of itself, and what it finds."""
    shown = [pattern.pattern, pattern.flags, pattern.groups, dict(pattern.groupindex)]
    text = SAMPLE if isinstance(given, str) else SAMPLE.encode()
    return [*shown, *(m.regs for m in pattern.finditer(text)), pattern.match(text) is None]


@pytest.mark.parametrize(
    "pattern",
    [
        r"\bthe\b|\bof (?:a|the)\b|^#|\b(?i:readme)\b|\bif\b",
        r"(?i)\b(?:keep|still|if)\b|[a-k]till",
        r"(?<=[.] )\w+|\b(?:a?n? ?session)",
        r"(?m)^[\W_]{0,6}(?:it|read)\b|\b[A-C]?\d",
        r"\b(?:(?P<x>l)|(?P<y>e)f*)\w|(?:\be)(?=\w)|\B",
        "(?i)\u00c9tat|\\bfiles?",
    ],
)
def test_a_compiled_pattern_finds_what_that_of_re_finds(pattern: str) -> None:
    made = lazy_re._engine(pattern, lazy_re._compile(pattern, 0))
    assert found_by(made, pattern) == found_by(re.compile(pattern), pattern)


def test_every_pattern_of_the_package_compiles() -> None:
    optional = {
        "pyarrow",
        "ray",
        "redis",
        "fsspec",
        "s3fs",
        "mcp",
        "spacy",
        "semantic_kernel",
        "textual",
    }
    seen = 0
    for module in pkgutil.walk_packages(leftoff.__path__, "leftoff."):
        if module.name.endswith("__main__"):
            continue
        try:
            found = vars(importlib.import_module(module.name))
        except UsageError:  # it says which extra it needs
            continue
        except ImportError as error:
            if (error.name or "").partition(".")[0] not in optional:
                raise
            continue
        for value in found.values():
            if isinstance(value, lazy_re.Lazy):
                pattern, flags = value._given
                assert found_by(value, pattern) == found_by(
                    re.compile(pattern, flags), pattern
                ), pattern
                seen += 1
    assert seen > 300


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pattern was compiled before."""
    nothing: dict[str, lazy_re._Code] = {}
    monkeypatch.setattr(lazy_re, "_known", lambda: nothing)
    monkeypatch.setattr(lazy_re, "_new", {})
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


@pytest.mark.usefixtures("unknown")
def test_a_pattern_is_compiled_once_for_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ("(?P<word>a+)|(b)\ud800", lazy_re.IGNORECASE)
    assert lazy_re.unsaved() is None
    wanted = lazy_re.compiled(*given)
    found = lazy_re.unsaved()
    assert found is not None
    codes = lazy_re._decoded(found)
    monkeypatch.setattr(lazy_re, "_known", lambda: codes)
    monkeypatch.setattr(lazy_re, "_new", {})
    monkeypatch.setattr(lazy_re, "_compile", None)
    loaded = lazy_re.compiled(*given)
    assert loaded == wanted
    assert found_by(loaded, given[0]) == found_by(re.compile(*given), given[0])
    assert loaded.groupindex == {"word": 1}
    assert lazy_re.unsaved() is None


@pytest.mark.usefixtures("unknown")
def test_a_file_that_does_not_fit_is_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy_re.compiled("a+")
    found = lazy_re.unsaved()
    assert found is not None
    assert lazy_re._decoded(found[:-3]) == {}
    assert lazy_re._decoded(found.replace(sys.version[:6].encode(), b"0.0.00")) == {}
    codes = lazy_re._decoded(found)
    wrong = {
        key: lazy_re._Code(c.flags, c.groups, c.names, c.code[4:]) for key, c in codes.items()
    }
    monkeypatch.setattr(lazy_re, "_known", lambda: wrong)
    assert lazy_re.compiled("a+") == re.compile("a+")


@pytest.mark.usefixtures("unknown")
def test_where_no_bytecode_may_be_written_no_pattern_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lazy_re.compiled("a+")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert lazy_re.unsaved() is None


@pytest.mark.usefixtures("unknown")
def test_bytes_are_compiled_and_not_kept() -> None:
    assert lazy_re.compiled(b"a+") == re.compile(b"a+")
    assert lazy_re.unsaved() is None
