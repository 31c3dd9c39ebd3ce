"""Import paths of version 0.1 that moved: each still works for one release, with a warning.

`_moved.toml` is the one table; an old module becomes a view of those that hold its contents. To
end the transition, delete both files, the line in `leftoff/__init__.py` and what calls
`moved_name`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
else:
    ModuleType = type(sys)  # `import leftoff` imports nothing else: a test holds it


def tables() -> tuple[dict[str, list[str]], dict[str, dict[str, str]]]:
    """Old modules with those that hold their contents now, and by module the names that left it
    or were renamed, as "module:name" of today."""
    from leftoff.tables import table

    found = table(__file__, "_moved.toml")
    return found["modules"], found["names"]


class _View(ModuleType):
    """An old module: its attributes are those of the modules that replaced it."""

    _targets: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        from importlib import import_module

        for target in self._targets:
            try:
                return getattr(import_module(f"leftoff.{target}"), name)
            except AttributeError:
                continue
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


class MovedModules:
    """Finds modules under the names that they had before. Stands last on `sys.meta_path`."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith("leftoff.") or name == "leftoff.tables":
            return None
        if name.removeprefix("leftoff.") not in tables()[0]:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        view = _View(spec.name, "Moved; see `leftoff._moved`.")
        view._targets = tuple(tables()[0][spec.name.removeprefix("leftoff.")])
        return view

    def exec_module(self, module: ModuleType) -> None:
        import warnings

        assert isinstance(module, _View)
        now = " and ".join(f"leftoff.{target}" for target in module._targets)
        warnings.warn(
            f"{module.__name__} is now {now}; the old name goes with the next release",
            DeprecationWarning,
            stacklevel=2,
        )


def install() -> None:
    """Puts the finder on `sys.meta_path`, once."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(MovedModules())


def moved_name(module: str, name: str) -> object:
    """A name that left `module` or was renamed, from where it is now, with a warning.

    Raises:
        AttributeError: the module never had it.
    """
    target = tables()[1][module].get(name)
    if target is None:
        raise AttributeError(f"module 'leftoff.{module}' has no attribute {name!r}")
    import warnings
    from importlib import import_module

    home, _, new = target.partition(":")
    now = f"leftoff.{home}.{new}; the old name goes with the next release"
    warnings.warn(f"leftoff.{module}.{name} is now {now}", DeprecationWarning, stacklevel=3)
    return getattr(import_module(f"leftoff.{home}"), new)
