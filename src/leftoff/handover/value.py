"""The base type of document parts: `to_dict` and `from_dict` preserve unknown keys."""

from types import UnionType
from typing import Any, ClassVar, Self, Union, get_args, get_origin

import msgspec
from msgspec import Struct, field
from msgspec.structs import fields

from leftoff.errors import StateError, squashed


class Value(Struct, frozen=True, kw_only=True):
    """A part of a document. Field names are the original design's keys.

    Attributes:
        extra: unknown keys, as they were read; they are written back."""

    extra: dict[str, Any] = field(default_factory=dict)

    NULLS: ClassVar[bool] = False
    """Whether None is written as null; otherwise the key is left out."""
    OPTIONAL: ClassVar[frozenset[str]] = frozenset()
    """Keys that are left out if their value is empty."""

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, in their order, then the unknown keys."""
        written: dict[str, object] = {}
        for name, key in zip(
            self.__struct_fields__, self.__struct_encode_fields__, strict=True
        ):
            value = getattr(self, name)
            omitted = not value if name in self.OPTIONAL else value is None and not self.NULLS
            if name != "extra" and not omitted:
                written[key] = _written(value)
        return {**written, **{k: v for k, v in self.extra.items() if k not in written}}

    @classmethod
    def from_dict(cls, data: object, where: str = "") -> Self:
        """The inverse of `to_dict`. Keys may be in snake, camel or Pascal case; null stands for
        the default.

        Args:
            where: the path in the document, for the error message.

        Raises:
            StateError: a field is missing or has the wrong type; the message names it."""
        if not isinstance(data, dict):
            raise StateError(
                f"{where or cls.__name__}: an object is wanted, not {type_name(data)}"
            )
        known = {squashed(f.name): f for f in fields(cls) if f.name != "extra"}
        taken: dict[str, object] = {}
        extra: dict[str, object] = {}
        for key, item in data.items():
            found = known.get(squashed(str(key)))
            if found is None or found.name in taken:
                extra[str(key)] = item
            elif item is not None:
                taken[found.name] = _read(item, found.type, _below(where, found.name))
        for needed in known.values():
            if needed.required and needed.name not in taken:
                raise StateError(f"{_below(where, needed.name)}: is missing")
        return cls(**taken, extra=extra)


def _below(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def type_name(value: object) -> str:
    """The JSON type of a value, for messages; of what is no JSON its type in Python."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    names |= {int: "a number", float: "a number", type(None): "nothing"}
    return names.get(type(value), type(value).__name__)


def _written(value: object) -> object:
    if isinstance(value, Value):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [_written(item) for item in value]
    return msgspec.to_builtins(value) if isinstance(value, Struct) else value


def _read(value: object, type_: object, place: str) -> object:
    """A plain value converted to a field's type: a `Value`, a tuple of them, or any type that
    msgspec supports."""
    either = get_origin(type_) in {Union, UnionType}
    for option in get_args(type_) if either else (type_,):
        if isinstance(option, type) and issubclass(option, Value):
            return option.from_dict(value, place)
        if get_origin(option) is tuple:
            if not isinstance(value, (list, tuple)):
                raise StateError(f"{place}: a list is wanted, not {type_name(value)}")
            item = get_args(option)[0]
            return tuple(_read(v, item, f"{place}[{i}]") for i, v in enumerate(value))
    try:
        return msgspec.convert(value, type_)
    except (ValueError, RecursionError) as error:
        raise StateError(f"{place}: {error}") from error
