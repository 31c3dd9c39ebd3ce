"""Values with the keys of another design: read in any case, unknown ones written back."""

from __future__ import annotations

from typing import Any, ClassVar, Self, get_args, get_origin

import msgspec
from msgspec import Struct, field
from msgspec.structs import fields

from leftoff.errors import StateError


class Shape(Struct, frozen=True):
    """A value with the keys of the original design; keys that it does not know are kept.

    Attributes:
        extra: unknown keys with their values, written back as they were.
    """

    extra: dict[str, Any] = field(default_factory=dict)

    OPTIONAL: ClassVar[frozenset[str]] = frozenset()
    """Keys that are left out where they say nothing."""

    def to_dict(self) -> dict[str, Any]:
        """The value as JSON holds it, unknown keys last."""
        written: dict[str, Any] = {}
        for known in fields(type(self)):
            value = getattr(self, known.name)
            if known.name == "extra" or (known.name in self.OPTIONAL and not value):
                continue
            written[known.name] = _written(value)
        return {**written, **self.extra}

    @classmethod
    def from_dict(cls, value: Any, where: str = "") -> Self:
        """The value that `to_dict` wrote; keys in snake, camel or Pascal case.

        Args:
            where: its place in the document, for the error.

        Raises:
            StateError: a key has a value of another type; the message names it.
        """
        if not isinstance(value, dict):
            raise StateError(
                f"{where or cls.__name__}: an object is wanted, not {type_name(value)}"
            )
        known = {squashed(f.name): f for f in fields(cls) if f.name != "extra"}
        taken: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for key, item in value.items():
            found = known.get(squashed(key))
            if found is None or found.name in taken:
                extra[key] = item
            elif item is not None:
                place = f"{where}.{found.name}" if where else found.name
                taken[found.name] = _read(item, found.type, place)
        return cls(**taken, extra=extra)


def squashed(key: str) -> str:
    """A key without case and separators: `functionName` and `function_name` are one."""
    return "".join(c for c in key.casefold() if c.isalnum())


def _written(value: Any) -> Any:
    if isinstance(value, Shape):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_written(item) for item in value]
    return value


def _read(value: Any, type_: Any, place: str) -> Any:
    options = [t for t in (get_args(type_) or (type_,)) if t is not type(None)]
    if isinstance(type_, type) and issubclass(type_, Shape):
        return type_.from_dict(value, place)
    # A tuple of shapes, where need be with None beside it.
    for option in (type_, *options):
        if get_origin(option) is tuple:
            item_type = get_args(option)[0]
            if not isinstance(value, (list, tuple)):
                raise StateError(f"{place}: a list is wanted, not {type_name(value)}")
            return tuple(_read(v, item_type, f"{place}[{i}]") for i, v in enumerate(value))
    try:
        return msgspec.convert(value, type_)
    except (ValueError, RecursionError) as error:
        raise StateError(f"{place}: {error}") from error


def type_name(value: Any) -> str:
    """What kind of JSON value this is, in words."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return names.get(type(value), "nothing" if value is None else "a number")
