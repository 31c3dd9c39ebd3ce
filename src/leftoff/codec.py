"""JSON and MessagePack: decodes recorded bytes, encodes our documents.

Recorded lines take the fast path first: `LineDecoder` decodes with msgspec straight into a
Struct that has only the fields that are read; the rest is skipped in C. What msgspec refuses
takes the slow path: `repair` finds every JSON value on the line with the standard library's
decoder, and `loosen` converts each one field by field. So one bad byte costs at most one field,
and the caller gets a code for each repair. No bytes raise an exception there.

Documents of ours are decoded strictly (`parse_strict`, for checksums) or leniently (`parse`),
and encoded with orjson (`dumps`); msgspec encodes what orjson cannot: whole numbers beyond
64 bits. `canonical` is the one form that checksums are made of. `pack_state` and `unpack_state`
are MessagePack, for saved state.

Only encoding belongs here: what a record means is the readers' matter."""

from __future__ import annotations

import math
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeAlias, TypeVar, cast

from leftoff import lazy_re as re

try:  # that of `hashlib` loads OpenSSL, too
    from _blake2 import blake2b as blake2b  # noqa: PLC0414 - others import it from here
except ImportError:  # a private module: not in every Python
    from hashlib import blake2b as blake2b  # noqa: PLC0414 - others import it from here

if TYPE_CHECKING:
    import msgspec
    import orjson
else:

    class _Later:
        """A module, imported when it is first used: a hook without these ends 18 ms earlier."""

        def __init__(self, module: str) -> None:
            self._module = module

        def __getattr__(self, name: str) -> Any:
            found = getattr(import_module(self._module), name)
            setattr(self, name, found)
            return found

    msgspec, orjson = _Later("msgspec"), _Later("orjson")

T = TypeVar("T")

# A JSON object: what was decoded, or is going to be encoded.
JsonObject: TypeAlias = dict[str, Any]

# Bytes; a longer line of a line-based recorder is skipped and reported. Chosen by hand; not
# measured.
MAX_LINE = 32 * 1024 * 1024

# Values on one line that are decoded; the rest is dropped and reported. Chosen by hand; not
# measured.
MAX_VALUES_PER_LINE = 1000

# Bytes; a larger one-document recording is refused. Chosen by hand; not measured.
MAX_DOCUMENT = 256 * 1024 * 1024

# The first bytes of gzip in Base64.
_GZIP_AS_TEXT = b"H4sI"


class LineDecoder(Generic[T]):
    """Decodes one physical line into records of one Struct type, or into dicts."""

    def __init__(self, type_: type[T]) -> None:
        self.type = type_
        self.strict: Callable[[bytes], T] = msgspec.json.Decoder(type_).decode

    def decode(self, line: bytes) -> tuple[list[T], tuple[str, ...]]:
        """The records on a line, usually one, and the codes of what was repaired.

        An empty list means that nothing on the line could be read; the codes say why. Never
        raises for any bytes."""
        try:
            return [self.strict(line)], ()
        except RecursionError:
            return [], ("too_deep",)
        except ValueError:  # msgspec's errors and UnicodeDecodeError are ValueErrors
            pass
        objects, codes = repair(line)
        records: list[T] = []
        for value in objects:
            record, lost = loosen(value, self.type)
            if record is None:
                codes.append("not_a_record")
            else:
                records.append(record)
                if lost:
                    codes.append("field_type")
        return records, tuple(dict.fromkeys(codes))


def repair(line: bytes, most: int = MAX_VALUES_PER_LINE) -> tuple[list[object], list[str]]:
    """Every JSON value that can be recovered from a damaged line, and codes for what was wrong;
    values beyond `most` are dropped.

    Codes: bom, nul, invalid_utf8, surrogate, not_a_number, glued, control_character, cut,
    too_deep, no_json."""
    import json  # slow to import, and few recordings have damaged lines

    codes: list[str] = []
    if line.startswith(b"\xef\xbb\xbf"):
        codes.append("bom")
        line = line[3:]
    if b"\x00" in line:
        codes.append("nul")
        line = line.replace(b"\x00", b"")
    try:
        text = line.decode()
    except UnicodeDecodeError:
        codes.append("invalid_utf8")
        text = line.decode(errors="replace")
    text = text.strip()
    values: list[object] = []
    position = 0
    strict = json.JSONDecoder()
    lenient = json.JSONDecoder(strict=False)
    while position < len(text):
        try:
            value, end = strict.raw_decode(text, position)
        except RecursionError:
            codes.append("too_deep")
            break
        except ValueError:
            try:
                value, end = lenient.raw_decode(text, position)
                codes.append("control_character")
            except (ValueError, RecursionError):
                # Text between or after objects: go on at the next object, if there is one.
                following = text.find("{", position + 1)
                head = text[position : position + 1]
                codes.append("cut" if head in "{[" else "no_json")
                if following < 0 or not (values or head not in "{["):
                    break
                position = following
                if len(codes) > 64:  # a line of braces is no JSON; stay linear
                    break
                continue
        if not isinstance(value, (dict, list)):
            codes.append("no_json")
        else:
            try:
                values.append(_clean(value, codes))
            except RecursionError:
                codes.append("too_deep")
        position = end
        while position < len(text) and text[position] in " \t\r\n,":
            position += 1
        if len(values) > most:
            codes.append("cut")
            break
    if len(values) > 1:
        codes.append("glued")
    return values, list(dict.fromkeys(codes))


def _clean(value: object, codes: list[str]) -> object:
    """`value` without lone surrogates and without numbers that JSON does not know."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            codes.append("surrogate")
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value
    if isinstance(value, float) and not math.isfinite(value):
        codes.append("not_a_number")
        return None
    if isinstance(value, dict):
        return {_clean(k, codes): _clean(v, codes) for k, v in value.items()}
    if isinstance(value, list):
        return [_clean(v, codes) for v in value]
    return value


def loosen(value: object, type_: type[T]) -> tuple[T | None, list[str]]:
    """`value` as `type_`, without the fields that have another type than expected.

    Returns the record (None if `value` is no object) and the names of the fields that were
    left at their defaults."""
    if not isinstance(value, dict):
        return None, []
    # Nothing is known of the fields, so none can be wrong.
    if type_ is dict:
        return cast("T", value), []
    try:
        return msgspec.convert(value, type_), []
    except (ValueError, RecursionError):
        pass
    fields: dict[str, object] = {}
    lost: list[str] = []
    for field in msgspec.structs.fields(cast("type[msgspec.Struct]", type_)):
        if field.encode_name in value:
            found, inner = _loosen_value(value[field.encode_name], field.type, field.name)
            if found is not None or not inner:
                fields[field.name] = found
            lost += inner
    try:
        return type_(**fields), lost
    except TypeError:  # a field without default was lost
        return None, lost


def _loosen_value(raw: object, wanted: object, name: str) -> tuple[object, list[str]]:
    """The best that can be made of a field's value, and the names of what was lost of it."""
    with suppress(ValueError, RecursionError):
        return msgspec.convert(raw, wanted), []
    for option in _options(wanted):
        if isinstance(raw, dict) and isinstance(option, type):
            if issubclass(option, msgspec.Struct):
                record, lost = loosen(raw, option)
                return record, lost or [name]
        item_types = getattr(option, "__args__", ())
        if isinstance(raw, list) and getattr(option, "__origin__", None) is list and item_types:
            items: list[object] = []
            lost = []
            for item in raw:
                found, inner = _loosen_value(item, item_types[0], "item")
                if found is not None or not inner:
                    items.append(found)
                lost += inner
            return items, lost or [name]
    return None, [name]


def _options(wanted: object) -> Iterator[object]:
    """The members of a union type, or the type itself."""
    args = getattr(wanted, "__args__", None)
    if args and getattr(wanted, "__origin__", None) not in (list, dict):
        for arg in args:
            yield from _options(arg)
    else:
        yield wanted


def parse(data: bytes | str) -> Any:
    """One whole JSON document as plain values, repaired where it must be; `ValueError` where
    there is no JSON object or list in it."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    try:
        return loads(raw)
    except (ValueError, RecursionError):
        values, codes = repair(raw)
        if not values:
            raise ValueError(", ".join(codes) or "empty") from None
        return values[0]


def dumps(value: object, *, indent: int = 0) -> bytes:
    """A document as JSON: UTF-8, keys in the order given, no NaN, final newline; lone
    surrogates replaced. `indent`: 0 for one line, 2 for people."""
    if not indent and "msgspec" not in sys.modules:
        with suppress(RecursionError):
            if _is_plain(value):
                return _dumps_plain(value)
    options = orjson.OPT_APPEND_NEWLINE | (orjson.OPT_INDENT_2 if indent else 0)
    try:
        return escape_invisible(orjson.dumps(value, default=_shallow, option=options))
    except TypeError:  # a whole number beyond 64 bits, as a recorder may write one
        try:
            encoded = msgspec.json.encode(value)
        except UnicodeEncodeError:  # the name of a file that is no text
            encoded = msgspec.json.encode(to_valid_json(to_builtins(value)))
        if indent:
            encoded = msgspec.json.format(encoded, indent=2)
        return escape_invisible(encoded) + b"\n"


def json_pieces(fields: JsonObject, *, indent: int = 0) -> Iterator[bytes]:
    """`dumps` of an object that is never whole in memory: the items of a field that is an
    iterator, here or in an object that is a field, are asked for one at a time."""
    yield from _pieces(fields, indent, b"\n" if indent else b"")
    yield b"\n"


def _pieces(fields: JsonObject, indent: int, outside: bytes) -> Iterator[bytes]:
    """`outside`: what stands before a line that is as deep as the object."""
    line = outside + b" " * indent
    deeper = line + b" " * indent

    def piece(value: object, line: bytes) -> bytes:
        text = dumps(value, indent=indent)[:-1]
        return text.replace(b"\n", line) if indent else text

    before, colon = b"{" + line, b": " if indent else b":"
    for name, value in fields.items():
        yield before + piece(name, line)
        before = b"," + line
        if isinstance(value, dict) and any(isinstance(v, Iterator) for v in value.values()):
            yield colon
            yield from _pieces(value, indent, line)
            continue
        if not isinstance(value, Iterator):
            yield colon  # apart: to put it before a long value would copy that
            yield piece(value, line)
            continue
        opening, closing = colon + b"[" + deeper, colon + b"[]"
        for item in value:
            yield opening + piece(item, deeper)
            opening, closing = b"," + deeper, line + b"]"
        yield closing
    yield outside + b"}"


# What `text.clean` removes and JSON leaves as it stands, in UTF-8. In a string a \\u escape
# means the same, and terminals do not interpret it.
_ACTIVE = re.compile(
    rb"\x7f|\xc2[\x80-\x9f\xad]|\xd8\x9c|\xe1\xa0\x8e"
    rb"|\xe2(?:\x80[\x8b\x8e\x8f\xa8-\xae]|\x81[\xa0-\xaf])|\xef(?:\xbb\xbf|\xbf[\xb9-\xbb])"
    rb"|\xf0(?:\x9b\xb2[\xa0-\xa3]|\x9d\x85[\xb3-\xba])"
    rb"|\xf3\xa0[\x80-\xbf][\x80-\xbf]"
)


def escape_invisible(data: bytes) -> bytes:
    """JSON with C1 controls, bidirectional overrides and characters that show nothing as
    escapes."""
    if data.isascii() and b"\x7f" not in data:
        return data
    return _ACTIVE.sub(_escaped, data)


def _escaped(match: re.Match[bytes]) -> bytes:
    units = match[0].decode().encode("utf-16-be")
    pairs = (units[at : at + 2] for at in range(0, len(units), 2))
    return b"".join(b"\\u%b" % pair.hex().encode() for pair in pairs)


def _shallow(value: object) -> object:
    """A Struct as a dict of its fields, whose values orjson converts one at a time, so that a
    long summary is not in memory twice."""
    if isinstance(value, msgspec.Struct):
        config = value.__struct_config__
        if not (config.omit_defaults or config.array_like or config.tag):
            values = msgspec.structs.astuple(value)
            return dict(zip(value.__struct_encode_fields__, values, strict=True))
    return to_builtins(value)


def to_builtins(value: object) -> Any:
    """A frozen value as dicts, lists, strings and numbers."""
    return msgspec.to_builtins(value, str_keys=True)


def loads(data: bytes) -> Any:
    """One JSON document as plain values, by orjson: whole numbers beyond 64 bits are not exact;
    `ValueError` where it is no JSON."""
    if "msgspec" not in sys.modules and len(data) < _SMALL:
        with suppress(ValueError, RecursionError):
            return _loads_plain(data)
    return orjson.loads(data)


# -- a hook's few documents, without orjson: to import it takes a third of a hook's time. Where
# msgspec is imported, this is no hook. What the two may read or write differently is orjson's.

# Bytes; a longer document is parsed sooner by orjson, import included. Chosen by hand.
_SMALL = 256 << 10


def _loads_plain(data: bytes) -> Any:
    """As `orjson.loads`; ValueError where the standard library may read it otherwise."""
    import json

    text = data.decode()
    if "\\ud" in text or "\\uD" in text:
        raise ValueError("perhaps a lone surrogate")
    return json.loads(text, parse_constant=_refused, parse_float=_short, parse_int=_short)


def _short(digits: str) -> int | float:
    # Numbers that the two libraries read or write in different ways.
    if len(digits) > 30 or digits == "-0" or "e" in digits.lower():
        _refused(digits)
    number = float(digits) if "." in digits else int(digits)
    return number if abs(number) < 1 << 63 else _refused(digits)


def _refused(number: str) -> NoReturn:
    raise ValueError(number)


def _is_plain(value: object) -> bool:
    """Whether the standard library writes a value as orjson does."""
    if type(value) is dict:
        return all(map(_is_plain, (*value, *value.values()))) and {*map(type, value)} <= {str}
    if type(value) is list:
        return all(map(_is_plain, value))
    if type(value) is str:
        return value.isprintable()
    return value is None or type(value) is bool or type(value) is int and abs(value) < 1 << 53


def _dumps_plain(value: object) -> bytes:
    import json

    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return escape_invisible(written.encode()) + b"\n"


def parse_strict(data: bytes) -> Any:
    """One JSON document as plain values, strictly: nothing is repaired, whole numbers of any
    size stay whole; `ValueError` where it is no JSON, or nested too deeply."""
    try:
        return msgspec.json.decode(data)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def canonical(value: object) -> bytes:
    """Plain values as the one JSON that equal values have: keys sorted, no spaces, UTF-8."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # a whole number beyond 64 bits
        return msgspec.json.encode(value, order="sorted")


def pack_state(value: object) -> bytes:
    """A saved state as bytes (MessagePack)."""
    return msgspec.msgpack.encode(value)


def unpack_state(data: bytes, type_: object) -> Any:
    """The value that `pack_state` made; `ValueError` where the bytes are damaged or of another
    type."""
    return msgspec.msgpack.decode(data, type=type_)


def schema(type_: object) -> dict[str, Any]:
    """The JSON schema of a document type."""
    from inspect import cleandoc  # a start does without it

    made = msgspec.json.schema(type_)
    for one in made.get("$defs", {}).values():
        if "description" in one:
            one["description"] = cleandoc(one["description"])
    return made


def to_valid_json(value: object, room: int = 250) -> Any:
    """A Python value as JSON can hold it: lone surrogates replaced, NaN dropped, keys as text,
    unknown types by their text, None for what is nested more than `room` levels deep."""
    if isinstance(value, (dict, list, tuple)):
        # orjson writes no more than 254 levels.
        if not room:
            return None
        if isinstance(value, dict):
            return {
                str(to_valid_json(k, room - 1)): to_valid_json(v, room - 1)
                for k, v in value.items()
            }
        return [to_valid_json(v, room - 1) for v in value]
    if value is None or isinstance(value, (bool, int, str, float)):
        return _clean(value, [])
    return str(value)


def leaves(value: object) -> Iterator[object]:
    """What stands in dicts, lists and tuples at every depth, without them and their keys."""
    if isinstance(value, (dict, list, tuple)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from leaves(inner)
    else:
        yield value


_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{}]|,', re.DOTALL)


def close_json(head: bytes) -> bytes:
    """The beginning of a JSON document as a document: cut after the last whole item of a list
    or object, with what is open closed."""
    open_: list[bytes] = []
    end, still = 0, b""
    for token in _TOKEN.finditer(head):
        mark = token[0]
        if mark in b"[{":
            open_.append(b"]" if mark == b"[" else b"}")
            end, still = token.end(), b"".join(reversed(open_))
        elif mark in b"]}":
            if open_:
                open_.pop()
            end, still = token.end(), b"".join(reversed(open_))
        elif mark == b",":
            end, still = token.start(), b"".join(reversed(open_))
    return head[:end] + still


def unpacked(data: bytes) -> bytes:
    """The decompressed bytes of a document: plain, gzip, or gzip as Base64 text, as .NET
    programs write it.

    Raises:
        ValueError: it is not one whole compressed document, or decompresses to more than
            `MAX_DOCUMENT`.
        zlib.error: it is damaged."""
    if data.startswith(_GZIP_AS_TEXT):
        from binascii import a2b_base64  # rare

        data = a2b_base64(data)
    if not data.startswith(b"\x1f\x8b"):
        return data
    # `gzip.decompress` has no limit, and a bomb would fill the memory.
    unpacker = zlib.decompressobj(wbits=31)
    plain = unpacker.decompress(data, MAX_DOCUMENT)
    if unpacker.unconsumed_tail:
        raise ValueError(f"it unpacks to more than {MAX_DOCUMENT >> 20} MiB")
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("not one whole compressed document")
    return plain
