"""Import paths of version 0.1 work for one release, with a warning."""

import subprocess
import sys
import warnings
from importlib import import_module

import pytest

from leftoff._moved import tables

MOVED, RENAMED = tables()


@pytest.mark.parametrize("old", sorted(MOVED))
def test_an_old_module_gives_what_the_new_ones_hold(old: str) -> None:
    sys.modules.pop(f"leftoff.{old}", None)
    with warnings.catch_warnings():  # the package of an old module warns once, when imported
        warnings.simplefilter("ignore")
        if "." in old:
            import_module(f"leftoff.{old.rpartition('.')[0]}")
    with pytest.warns(DeprecationWarning, match=f"leftoff.{MOVED[old][0]}"):
        module = import_module(f"leftoff.{old}")
    for target in MOVED[old]:
        new = import_module(f"leftoff.{target}")
        for name in vars(new):
            if not name.startswith("_"):
                assert hasattr(module, name)
    with pytest.raises(AttributeError):
        _ = module.no_such_name


@pytest.mark.parametrize("module", sorted(RENAMED))
def test_a_name_that_left_its_module(module: str) -> None:
    old = import_module(f"leftoff.{module}")
    for name, target in RENAMED[module].items():
        with pytest.warns(DeprecationWarning, match=name):
            found = getattr(old, name)
        home, _, new = target.partition(":")
        assert found is getattr(import_module(f"leftoff.{home}"), new)
    with pytest.raises(AttributeError):
        _ = old.no_such_name


def test_a_name_that_was_removed_says_where_it_is() -> None:
    with pytest.raises(ImportError, match="tests/strategies/recordings"):
        exec("from leftoff.testing import recordings")


def test_old_and_new_are_the_same_class_in_a_fresh_process() -> None:
    code = (
        "from leftoff.thresholds import Preset as a\n"
        "from leftoff.budget.thresholds import Preset as b\n"
        "from leftoff.documents.checkpoint.roles import Role as c\n"
        "from leftoff.handover.checkpoint.roles import Role as d\n"
        "assert a is b and c is d\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
