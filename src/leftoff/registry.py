"""Registries of plug-ins: how leftoff is extended.

A registry knows its built-in names without importing them ("module:attribute"), takes new ones
by decorator, and finds those of other packages by entry point, which it scans only for a name
that it lacks or when asked to."""

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Generic, TypeVar

from leftoff.errors import UnknownName, UsageError

T = TypeVar("T")


def imported(module: str, what: str, extra: str) -> Any:
    """An optional module; `UsageError` that begins with `what` and names the extra of leftoff
    with which it comes, where it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(f"{what}: pip install 'leftoff[{extra}]'") from error


class Registry(Generic[T]):
    """Named things of one kind: formats, extractors, stores or redactors.

    Args:
        kind: the word for one of them; also the entry-point group, `leftoff.<kind>`.
        builtin: name to "module:attribute", imported when first asked for."""

    def __init__(self, kind: str, builtin: dict[str, str] | None = None) -> None:
        self.kind = kind
        self._where: dict[str, str] = dict(builtin or {})
        self._loaded: dict[str, T] = {}
        self._owner: dict[str, str] = dict.fromkeys(self._where, "leftoff")
        self._scanned = False

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator: the decorated thing answers to `name`.

        A package may decorate what it also brings by entry point: that is one thing.

        Raises:
            UsageError: the name is taken; the message names both owners."""
        caller: str = sys._getframe(1).f_globals.get("__name__", "")  # noqa: SLF001 - `inspect` is slow to import

        def add(thing: T) -> T:
            # The `__module__` of a value is that of its class, so the caller owns a value.
            owner = thing.__module__ if hasattr(thing, "__qualname__") else caller
            if name in self._loaded or not _same_package(owner, self._where.get(name, "")):
                self._claim(name, owner)
            self._loaded[name] = thing
            return thing

        return add

    def withdraw(self, name: str) -> None:
        """Forgets a thing that was registered by decorator; tests need that."""
        # What is built in stays: it would be missing for the rest of the process.
        if name not in self._where:
            self._owner.pop(name, None)
            self._loaded.pop(name, None)

    def _claim(self, name: str, owner: str) -> None:
        if name in self._owner:
            raise UsageError(
                f"two {self.kind}s are named {name!r}: one of {self._owner[name]}, "
                f"one of {owner}; rename one of them"
            )
        self._owner[name] = owner

    def names(self) -> list[str]:
        """The names known so far, in order of registration; imports nothing."""
        return list(self._owner)

    def owners(self) -> dict[str, str]:
        """Name to the package or module that brought it, entry points included."""
        self._scan()
        return dict(self._owner)

    def __contains__(self, name: str) -> bool:
        return name in self._owner

    def get(self, name: str) -> T:
        """The thing of that name, imported if need be.

        Raises:
            UnknownName: nothing answers to it, here or in any installed package.
            UsageError: another package brings it, and it cannot be imported."""
        if name not in self._owner:
            self._scan()
        if name not in self._owner:
            raise UnknownName(self.kind, name, self._owner)
        if name not in self._loaded:
            self._loaded[name] = self._import(name)
        return self._loaded[name]

    def _import(self, name: str) -> T:
        module, _, attribute = self._where[name].partition(":")
        owner = self._owner[name]
        try:
            found: T = getattr(import_module(module), attribute)
        except Exception as error:  # whatever another package's import may raise
            # Our own mistake crashes loudly.
            if owner == "leftoff":
                raise
            raise UsageError(
                f"{self.kind} {name!r} of {owner} cannot be loaded from {self._where[name]}: "
                f"{type(error).__name__}: {error}"
            ) from error
        return found

    def outside(self) -> Iterator[tuple[str, T]]:
        """The things that other packages bring, by name."""
        self._scan()
        for name in sorted(self._owner):
            if self._owner[name] != "leftoff":
                yield name, self.get(name)

    def _scan(self) -> None:
        if self._scanned:
            return
        self._scanned = True
        # Importing it takes as long as importing click, and most runs need no entry points.
        from importlib.metadata import entry_points

        found: list[Any] = sorted(
            entry_points(group=f"leftoff.{self.kind}"), key=lambda e: (e.name, e.value)
        )
        for entry in found:
            owner = entry.dist.name if entry.dist else entry.value
            decorated = entry.name in self._loaded and entry.name not in self._where
            if not (decorated and _same_package(self._owner[entry.name], entry.value)):
                self._claim(entry.name, owner)
            self._owner[entry.name] = owner
            self._where[entry.name] = entry.value


def _same_package(module: str, where: str) -> bool:
    return module.partition(".")[0] == where.partition(":")[0].partition(".")[0]
