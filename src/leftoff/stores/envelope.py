"""What is added to a document when it is kept, and what is looked at when it is taken out.

A kept document is redacted and holds one key more, `leftoff`, beside its own:

    "leftoff": {"schema": "leftoff.task/1", "id": "t1", "checksum": "sha256:…",
                "redactions": {"aws-key": 1}, "text": "sha256:…", "pinned": true}

The checksum is of the whole document, the other fields of that key included, as canonical JSON
(keys sorted, no spaces, UTF-8). `text` is the checksum of the markdown kept beside it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from leftoff import codec
from leftoff.errors import Damaged, TooNew, UsageError
from leftoff.model import Issue
from leftoff.redaction.redactor import Redactor
from leftoff.stores.naming import PLACES, place_of
from leftoff.text.sanitize import clean as inert

KEY: Final = "leftoff"
VERSIONS: Final = dict.fromkeys(PLACES, 1)
"""The newest schema of each kind that we know."""

_SCHEMA = re.compile(r"leftoff\.([a-z_]{1,40})/([0-9]{1,6})", re.ASCII)
_MENDABLE = {"bom", "surrogate", "not_a_number"}
"""What other programs' JSON may have without having lost anything."""

Gate: TypeAlias = Callable[[str], Redactor]
"""Makes the redactor for one document of a kind."""


def gate_of(kind: str) -> Redactor:
    """A fresh redactor; personal data goes too where other agents read the document."""
    return Redactor(personal=kind == "checkpoint")


class Seal(Struct, frozen=True, omit_defaults=True):
    """The value of the key `leftoff`.

    Attributes:
        schema: leftoff.<kind>/<version>.
        id: under which the document was saved.
        redactions: how many secrets of each kind were replaced when it was saved.
        text: checksum of the markdown beside it, "" if there is none.
        pinned: it is never removed for its age.
        saved: when, in seconds since 1970, where the store itself cannot tell.
    """

    schema: str
    id: str = ""
    checksum: str = ""
    redactions: dict[str, int] = {}
    text: str = ""
    pinned: bool = False
    saved: float | None = None


class Clean(Struct, frozen=True):
    """A document and its markdown as plain values without secrets."""

    document: dict[str, Any]
    text: str
    redactions: dict[str, int]


class Opened(Struct, frozen=True):
    """A kept document, taken out: without the key `leftoff`, which is in `seal` (None if it
    had none)."""

    document: dict[str, Any]
    seal: Seal | None
    issues: tuple[Issue, ...] = ()

    @property
    def pinned(self) -> bool:
        """Whether it is pinned."""
        return self.seal is not None and self.seal.pinned


def clean(kind: str, document: Mapping[str, Any], text: str, gate: Gate) -> Clean:
    """What may be kept of a document: plain values, redacted together with its markdown.

    Raises:
        UsageError: it holds something that JSON cannot.
    """
    redactor = gate(kind)
    try:
        values = codec.plain({k: v for k, v in document.items() if k != KEY})
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"a {kind} that cannot be kept as JSON: {error}") from error
    values = redactor.value(values)
    text = inert(redactor.text(text))
    try:
        codec.canonical(values)
        text.encode()
    except (TypeError, ValueError):  # half of a character, as some recorders write it
        values, text = codec.mended(values), codec.mended(text)
    return Clean(values, text, dict(sorted(redactor.counts.items())))


def seal(
    kind: str, id: str, given: Clean, *, pinned: bool = False, saved: float | None = None
) -> dict[str, Any]:
    """A document as it is kept: with the key `leftoff`, last."""
    schema = f"leftoff.{kind}/{VERSIONS[kind]}"
    text = checksum(given.text.encode()) if given.text else ""
    return _closed(given.document, Seal(schema, id, "", given.redactions, text, pinned, saved))


def resealed(opened: Opened, *, pinned: bool) -> dict[str, Any]:
    """A document that was kept, pinned or not, else as it was."""
    assert opened.seal is not None
    return _closed(opened.document, msgspec.structs.replace(opened.seal, pinned=pinned))


def _closed(document: dict[str, Any], given: Seal) -> dict[str, Any]:
    values = msgspec.to_builtins(msgspec.structs.replace(given, checksum=""))
    whole = {**document, KEY: values}
    sums = checksum(codec.canonical(whole))
    return {**document, KEY: {**values, "checksum": sums}}


def checksum(data: bytes) -> str:
    """`sha256:` and 64 hex digits."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def unseal(kind: str, data: bytes, where: str, *, accept: bool = False) -> Opened:
    """A kept document, taken out of its bytes.

    Args:
        where: named in messages.
        accept: take it although its checksum is wrong.

    Raises:
        Damaged: it is not what was saved, or of another kind.
        TooNew: its schema is newer than ours.
    """
    place_of(kind)
    issues: tuple[Issue, ...] = ()
    try:
        value = codec.exact(data)
    except ValueError as error:
        value, codes = _mended(data)
        if value is None:
            raise Damaged(f"{where}: damaged: no whole JSON document ({error})") from None
        issues = (Issue("mended", "warning", f"{where}: mended: {codes}"),)
    if not isinstance(value, dict):
        raise Damaged(f"{where}: damaged: no JSON object")
    if KEY not in value:
        if any(map(_seal_like, value.values())):
            raise Damaged(f"{where}: damaged: the name of its seal is another")
        said = Issue("unsealed", "info", f"{where}: not saved by leftoff: no checksum")
        return Opened(value, None, (*issues, said))
    found = value[KEY]
    try:
        known = msgspec.convert(found, Seal)
    except ValueError as error:
        _refuse_newer(kind, found, where)  # a newer one may have other fields
        raise Damaged(f"{where}: damaged: {KEY}: {error}") from error
    _refuse_newer(kind, found, where)
    if not accept:
        rest = {k: v for k, v in found.items() if k != "checksum"}
        if issues or known.checksum != checksum(codec.canonical({**value, KEY: rest})):
            raise Damaged(f"{where}: damaged or changed by hand: the checksum is wrong")
    del value[KEY]
    return Opened(value, known, issues)


def _seal_like(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("checksum"), str)
        and isinstance(value.get("schema"), str)
        and _SCHEMA.fullmatch(value["schema"]) is not None
    )


def _mended(data: bytes) -> tuple[Any, str]:
    values, codes = codec.mend(data)
    if len(values) == 1 and set(codes) <= _MENDABLE:
        return values[0], ", ".join(codes)
    return None, ""


def _refuse_newer(kind: str, found: Any, where: str) -> None:
    schema = found.get("schema") if isinstance(found, dict) else getattr(found, "schema", None)
    match = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    if match is None:
        raise Damaged(f"{where}: damaged: {KEY}: no schema")
    if match[1] != kind:
        raise Damaged(f"{where}: holds a {match[1]}, not a {kind}")
    if int(match[2]) > VERSIONS[kind]:
        raise TooNew(
            f"{where}: written by a newer leftoff (schema {schema}); update leftoff to read it"
        )


class _Glance(Struct):
    leftoff: Any = None


_glance = msgspec.json.Decoder(_Glance).decode


def glance(kind: str, data: bytes, where: str) -> Seal | None:
    """The seal of a kept document, its checksum unchecked; None if it has none.

    Raises:
        Damaged: it cannot be read.
        TooNew: its schema is newer than ours.
    """
    try:
        found = _glance(data).leftoff
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{where}: damaged: {error}") from error
    if found is None:
        return None
    _refuse_newer(kind, found, where)  # a newer one may have other fields
    try:
        return msgspec.convert(found, Seal)
    except ValueError as error:
        raise Damaged(f"{where}: damaged: {KEY}: {error}") from error


def glimpse(kind: str, data: bytes, where: str) -> Seal | None:
    """`glance` at what is to be replaced: None also where it is damaged.

    Raises:
        TooNew: it must not be replaced.
    """
    try:
        return glance(kind, data, where)
    except Damaged:
        return None


def changes(before: Any, after: Any, at: str = "") -> list[str]:
    """Where two documents differ, as paths: `history[3].text`."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = dict.fromkeys([*before, *after])
        pairs = [(f"{at}.{k}".lstrip("."), before.get(k, ...), after.get(k, ...)) for k in keys]
    elif isinstance(before, list) and isinstance(after, list):
        both = zip_longest(before, after, fillvalue=...)
        pairs = [(f"{at}[{n}]", old, new) for n, (old, new) in enumerate(both)]
    else:
        return [] if before == after and type(before) is type(after) else [at or "document"]
    return [place for where, old, new in pairs for place in changes(old, new, where)]
