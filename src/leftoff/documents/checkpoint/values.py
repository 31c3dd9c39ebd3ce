"""Values of a document that keep what they do not know: `to_dict` and `from_dict`."""

from __future__ import annotations

import types
from typing import Any, Self, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct, field

from leftoff.errors import StateError

V = TypeVar("V", bound="Value")


class Value(Struct, frozen=True, kw_only=True):
    """A part of a document. Fields that are None are left out when it is written.

    Attributes:
        extra: keys that are not ours, as they were read; they are written back.
    """

    extra: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, in their order, then what is not ours."""
        found: dict[str, Any] = {}
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if name != "extra" and value is not None:
                found[name] = _plain(value)
        return {**found, **{k: v for k, v in self.extra.items() if k not in found}}

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """What `to_dict` gave.

        Raises:
            StateError: a field is missing or has the wrong type; the message names it.
        """
        return _read(cls, data, "")


def _plain(value: Any) -> Any:
    if isinstance(value, Value):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return msgspec.to_builtins(value)


def _read(cls: type[V], data: Any, where: str) -> V:
    if not isinstance(data, dict):
        raise StateError(f"{where.rstrip('.') or cls.__name__}: expected an object")
    types_of = get_type_hints(cls)
    known: dict[str, Any] = {}
    for name in cls.__struct_fields__:
        if name != "extra" and name in data:
            known[name] = _converted(types_of[name], data[name], f"{where}{name}")
    rest = {str(k): v for k, v in data.items() if k not in known}
    try:
        return cls(**known, extra=rest)
    except TypeError as error:
        missing = str(error).partition("argument")[2].strip() or str(error)
        raise StateError(f"{where.rstrip('.') or cls.__name__}: {missing} is missing") from None


def _converted(type_: Any, value: Any, where: str) -> Any:
    inner = _value_type(type_)
    if inner is not None:
        if get_origin(type_) is tuple:
            if not isinstance(value, (list, tuple)):
                raise StateError(f"{where}: expected a list")
            return tuple(_read(inner, v, f"{where}[{n}].") for n, v in enumerate(value))
        if value is None and get_origin(type_) in {Union, types.UnionType}:
            return None
        return _read(inner, value, f"{where}.")
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        raise StateError(f"{where}: {error}") from error


def _value_type(type_: Any) -> Any:
    """The kind of `Value` that a field holds, one or many, or None."""
    if isinstance(type_, type) and issubclass(type_, Value):
        return type_
    if get_origin(type_) in {tuple, Union, types.UnionType}:
        return next((v for v in map(_value_type, get_args(type_)) if v is not None), None)
    return None
