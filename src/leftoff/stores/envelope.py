"""Sealing and unsealing of stored documents: redaction, schema, checksum.

A stored document is redacted and has one more key, `leftoff`, its header:

    "leftoff": {"schema": "leftoff.task/1", "id": "t1", "checksum": "sha256:…",
                "redactions": {"aws-key": 1}, "text": "sha256:…", "pinned": true}

The checksum is of the whole document, the other fields of that key included, as canonical JSON
(keys sorted, no spaces, UTF-8). `text` is the checksum of the markdown saved with it."""

import hashlib
import zlib
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leftoff import codec
from leftoff import lazy_re as re
from leftoff.errors import Damaged, TooNew, UsageError
from leftoff.model import Issue
from leftoff.redaction.redactor import Redactor
from leftoff.stores.naming import LOCATIONS, location_of
from leftoff.stores.protocol import StoredDocument
from leftoff.text.sanitize import clean as inert

KEY: Final = "leftoff"
# The newest known schema of each kind.
VERSIONS: Final = dict.fromkeys(LOCATIONS, 1)

_SCHEMA = re.compile(r"leftoff\.([a-z_]{1,40})/([0-9]{1,6})", re.ASCII)
# Repairs of other programs' JSON that lose nothing.
_HARMLESS_REPAIRS = {"bom", "surrogate", "not_a_number"}
# Makes the redactor for one document of a kind.
RedactorFactory: TypeAlias = Callable[[str], Redactor]


def redactor_for(kind: str) -> Redactor:
    """A new redactor for a kind; it also hides personal data in checkpoints, which other agents
    read."""
    return Redactor(personal=kind == "checkpoint")


class Header(Struct, frozen=True, omit_defaults=True):
    """The value of the key `leftoff`.

    Attributes:
        schema: leftoff.<kind>/<version>.
        id: under which the document was saved.
        redactions: how many secrets of each kind were replaced when it was saved.
        text: checksum of the markdown beside it, "" if there is none.
        pinned: it is never removed for its age.
        saved: when, in seconds since 1970, where the store itself cannot tell."""

    schema: str
    id: str = ""
    checksum: str = ""
    redactions: dict[str, int] = {}
    text: str = ""
    pinned: bool = False
    saved: float | None = None


class Sanitized(Struct, frozen=True):
    """A document and its markdown as plain values without secrets."""

    document: codec.JsonObject
    text: str
    redactions: dict[str, int]


class Unsealed(Struct, frozen=True):
    """A stored document without the key `leftoff`, which is in `header` (None if it had
    none)."""

    document: codec.JsonObject
    header: Header | None
    issues: tuple[Issue, ...] = ()

    @property
    def pinned(self) -> bool:
        """Whether it is pinned."""
        return self.header is not None and self.header.pinned


def sanitize(
    kind: str, document: Mapping[str, object], text: str, gate: RedactorFactory
) -> Sanitized:
    """A document and its markdown as plain values, redacted together; `UsageError` where it
    holds something that JSON cannot."""
    redactor = gate(kind)
    try:
        values = codec.to_builtins({k: v for k, v in document.items() if k != KEY})
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"a {kind} that cannot be saved as JSON: {error}") from error
    # One redactor for both: a secret has the same number in the markdown.
    values = redactor.value(values)
    text = inert(redactor.text(text))
    try:
        codec.canonical(values)
        text.encode()
    except (TypeError, ValueError):  # a lone surrogate, as some recorders write it
        values, text = codec.to_valid_json(values), codec.to_valid_json(text)
    return Sanitized(values, text, dict(sorted(redactor.counts.items())))


def seal(
    kind: str, id: str, given: Sanitized, *, pinned: bool = False, saved: float | None = None
) -> codec.JsonObject:
    """A document as it is stored: with the key `leftoff`, last."""
    schema = f"leftoff.{kind}/{VERSIONS[kind]}"
    text = checksum(given.text.encode()) if given.text else ""
    return _with_checksum(
        given.document, Header(schema, id, "", given.redactions, text, pinned, saved)
    )


def reseal(
    kind: str, id: str, opened: Unsealed, text: str, gate: RedactorFactory, *, pinned: bool
) -> codec.JsonObject:
    """A stored document with another value of `pinned`; one that leftoff did not save is sealed
    with its markdown."""
    if opened.header is None:
        return seal(kind, id, sanitize(kind, opened.document, text, gate), pinned=pinned)
    return _with_checksum(opened.document, replace(opened.header, pinned=pinned))


def with_text(opened: Unsealed, where: str, text: str) -> StoredDocument:
    """A stored document with its markdown, unless that is of another save."""
    document, issues = opened.document, opened.issues
    sums = opened.header.text if opened.header else checksum(text.encode()) if text else ""
    if not sums:
        return StoredDocument(document, issues, where)
    if checksum(text.encode()) == sums:
        return StoredDocument(document, issues, where, text)
    message = f"{where}: its markdown is not of this document; left out"
    return StoredDocument(document, (*issues, Issue("text_differs", "warning", message)), where)


def _with_checksum(document: codec.JsonObject, given: Header) -> codec.JsonObject:
    values = msgspec.to_builtins(replace(given, checksum=""))
    whole = {**document, KEY: values}
    sums = checksum(codec.canonical(whole))
    return {**document, KEY: {**values, "checksum": sums}}


def checksum(data: bytes) -> str:
    """`sha256:` and 64 hex digits."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def unseal(kind: str, data: bytes, where: str, *, accept: bool = False) -> Unsealed:
    """Decodes and verifies a stored document.

    Args:
        where: path or URL, for messages.
        accept: ignore a wrong checksum.

    Raises:
        Damaged: it is not what was saved, or of another kind.
        TooNew: its schema is newer than ours."""
    location_of(kind)
    issues: tuple[Issue, ...] = ()
    data = _unpacked(data, where)
    try:
        value = codec.parse_strict(data)
    except ValueError as error:
        value, codes = _repaired(data)
        if value is None:
            raise Damaged(f"{where}: damaged: no whole JSON document ({error})") from None
        issues = (Issue("mended", "warning", f"{where}: repaired: {codes}"),)
    if not isinstance(value, dict):
        raise Damaged(f"{where}: damaged: no JSON object")
    if KEY not in value:
        # One changed byte in the name of the key must not pass for a document without a
        # checksum.
        if any(map(_is_like_header, value.values())):
            raise Damaged(f"{where}: damaged: the name of its seal is another")
        issue = Issue("unsealed", "info", f"{where}: not saved by leftoff: no checksum")
        return Unsealed(value, None, (*issues, issue))
    found = value[KEY]
    known = _header(kind, found, where)
    if not accept:
        rest = {k: v for k, v in found.items() if k != "checksum"}
        # What leftoff saved needs no repair.
        if issues or known.checksum != checksum(codec.canonical({**value, KEY: rest})):
            raise Damaged(f"{where}: damaged or changed by hand: the checksum is wrong")
    del value[KEY]
    return Unsealed(value, known, issues)


def _unpacked(data: bytes, where: str) -> bytes:
    """The JSON of a document that may be gzip, or gzip as Base64; `Damaged` where the
    compressed data is damaged or unpacks to more than `MAX_DOCUMENT`."""
    try:
        return codec.unpacked(data)
    except (ValueError, zlib.error) as error:
        raise Damaged(f"{where}: damaged: {error}") from error


def _is_like_header(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("checksum"), str)
        and isinstance(value.get("schema"), str)
        and _SCHEMA.fullmatch(value["schema"]) is not None
    )


def _repaired(data: bytes) -> tuple[object, str]:
    values, codes = codec.repair(data)
    if len(values) == 1 and set(codes) <= _HARMLESS_REPAIRS:
        return values[0], ", ".join(codes)
    return None, ""


def _header(kind: str, found: object, where: str) -> Header:
    """The value of the key `leftoff` as a header of this kind, and of no newer schema."""
    schema = found.get("schema") if isinstance(found, dict) else None
    match = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    if match is None:
        raise Damaged(f"{where}: damaged: {KEY}: no schema")
    if match[1] != kind:
        raise Damaged(f"{where}: holds a {match[1]}, not a {kind}")
    if int(match[2]) > VERSIONS[kind]:  # it may have other fields
        raise TooNew(
            f"{where}: written by a newer leftoff (schema {schema}); update leftoff to read it"
        )
    try:
        return msgspec.convert(found, Header)
    except ValueError as error:
        raise Damaged(f"{where}: damaged: {KEY}: {error}") from error


class _HeaderOnly(Struct):
    leftoff: object = None


_decode_header = msgspec.json.Decoder(_HeaderOnly).decode


def read_header(kind: str, data: bytes, where: str) -> Header | None:
    """The header of a stored document, without verifying the checksum; None if it has none.

    Raises:
        Damaged: it is not JSON, or its header is not valid.
        TooNew: its schema is newer than ours."""
    try:
        found = _decode_header(_unpacked(data, where)).leftoff
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{where}: damaged: {error}") from error
    return None if found is None else _header(kind, found, where)


def read_header_or_none(kind: str, data: bytes, where: str) -> Header | None:
    """The header of a document that will be replaced; None also if it is damaged. `TooNew`
    where it must not be replaced."""
    try:
        return read_header(kind, data, where)
    except Damaged:
        return None


def differing_paths(before: object, after: object, at: str = "") -> list[str]:
    """The paths at which two documents differ, such as `history[3].text`."""
    if isinstance(before, dict) and isinstance(after, dict):
        # `...` stands for what one of them lacks, since None is a value.
        keys = dict.fromkeys([*before, *after])
        pairs = [(f"{at}.{k}".lstrip("."), before.get(k, ...), after.get(k, ...)) for k in keys]
    elif isinstance(before, list) and isinstance(after, list):
        both = zip_longest(before, after, fillvalue=...)
        pairs = [(f"{at}[{n}]", old, new) for n, (old, new) in enumerate(both)]
    else:
        # In Python 1 equals 1.0 and True, in JSON it does not.
        return [] if before == after and type(before) is type(after) else [at or "document"]
    return [place for where, old, new in pairs for place in differing_paths(old, new, where)]
