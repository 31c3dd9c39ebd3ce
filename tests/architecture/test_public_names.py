"""`leftoff.__all__` is the whole public surface: it resolves, is typed and hides no module."""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import leftoff


def test_every_public_name_resolves() -> None:
    missing = [name for name in leftoff.__all__ if not hasattr(leftoff, name)]
    assert missing == []


def test_public_names_are_listed_once_and_in_order() -> None:
    assert list(leftoff.__all__) == sorted(set(leftoff.__all__))


def test_public_names_are_what_dir_shows() -> None:
    shown = {name for name in dir(leftoff) if not name.startswith("_")}
    assert set(leftoff.__all__) - {"__version__"} <= shown


def test_type_checkers_see_exactly_the_public_names(package: Path) -> None:
    # What loads lazily is invisible to a type checker but for the `if TYPE_CHECKING:` block.
    tree = ast.parse((package / "__init__.py").read_bytes())
    typed = {
        alias.asname or alias.name
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed | {"__version__"} == set(leftoff.__all__) | {"__version__"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(leftoff, "no_such_name")  # noqa: B009 - a literal name would not type-check


def test_no_public_name_is_also_a_module(package: Path) -> None:
    # Importing `leftoff.render` as a module would silently replace the function of that name.
    modules = {module.name for module in pkgutil.iter_modules([str(package)])}
    assert modules & set(leftoff.__all__) == set()


def test_no_package_has_a_function_named_as_its_module(package: Path) -> None:
    found = []
    for module in pkgutil.walk_packages([str(package)], "leftoff."):
        if module.ispkg:
            names = vars(importlib.import_module(module.name))
            folder = package.joinpath(*module.name.split(".")[1:])
            found += [
                f"{module.name}.{child.name}"
                for child in pkgutil.iter_modules([str(folder)])
                if inspect.isroutine(names.get(child.name))
            ]
    assert found == []


def test_every_public_thing_says_what_it_is() -> None:
    silent = [
        name
        for name in leftoff.__all__
        if callable(thing := getattr(leftoff, name)) and not inspect.getdoc(thing)
    ]
    assert silent == []
