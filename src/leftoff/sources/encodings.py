"""Text in UTF-16 and UTF-32, recognised and read as UTF-8.

PowerShell 5 writes what `>` redirects in UTF-16, Notepad can. Everything else here looks for
words in UTF-8, and in UTF-16 it would find none: no message, and no secret."""

import codecs
import io
from typing import IO

from leftoff import lazy_re as re
from leftoff.errors import SourceError

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: it begins with that mark
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Bytes that are decoded at once. Chosen by hand; not measured.
_BLOCK = 1 << 18


def wide_encoding(head: bytes) -> str:
    """The encoding of a file that begins so, as Python names it, if it is UTF-16 or UTF-32;
    "" otherwise.

    Recognised by its byte order mark, else by where NUL bytes stand: in UTF-16 every second
    byte of a Latin letter is NUL, in UTF-32 three of four. Chinese in UTF-16 without a mark has
    few; then the spaces, digits and line ends of a tenth of the text are enough.

    >>> wide_encoding("secret".encode("utf-16-le")), wide_encoding(b"secret")
    ('utf-16-le', '')"""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    groups = len(head) // 4
    if groups == 0 or 0 not in head:
        return ""
    nul = [head[place : 4 * groups : 4].count(0) for place in range(4)]
    last = 0x10  # the highest code point is U+10FFFF
    few = groups // 10 + 1
    if nul[3] == groups and max(head[2 : 4 * groups : 4]) <= last and nul[0] < few:
        return "utf-32-le"
    if nul[0] == groups and max(head[1 : 4 * groups : 4]) <= last and nul[3] < few:
        return "utf-32-be"
    even, odd = nul[0] + nul[2], nul[1] + nul[3]
    if odd * 10 >= 2 * groups and odd > 4 * even:
        return "utf-16-le"
    if even * 10 >= 2 * groups and even > 4 * odd:
        return "utf-16-be"
    return ""


# How files that these programs compressed begin.
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def is_plain(head: bytes) -> bool:
    """Whether a file that begins so holds its text as it is: not compressed, not in UTF-16."""
    return not head.startswith((GZIP, ZSTD)) and not wide_encoding(head)


_WIDE = re.compile(rb"(?:[ -~]\x00){8}|(?:\x00[ -~]){8}")


def holds_wide_text(data: bytes) -> bool:
    """Whether eight letters of UTF-16 stand in bytes that are read as UTF-8: what PowerShell
    appends to a file with `>>`."""
    return b"\x00" in data and _WIDE.search(data) is not None


class Utf8Reader(io.RawIOBase):
    """The text of a stream in UTF-16 or UTF-32 as UTF-8, without its byte order mark. While it
    is read: `SourceError` where the bytes are not of that encoding.

    A lone surrogate comes as its three bytes, as `surrogatepass` writes it.

    Attributes:
        encoding: as Python names it.
        marked: after the first read, whether there was a byte order mark.
        rest: after the end, the bytes of an incomplete last character."""

    def __init__(self, inner: IO[bytes], encoding: str, path: str) -> None:
        self._inner, self.encoding, self._path = inner, encoding, path
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
        self._ready, self._first = b"", True
        self.marked, self.rest = False, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            data = self._inner.read(_BLOCK)
            if not data:
                self.rest = self._decoder.getstate()[0]
                return 0
            try:
                text = self._decoder.decode(data)
            except UnicodeDecodeError as error:
                name = self.encoding.upper()
                what = f"{self._path}: looks like {name}, and is damaged ({error.reason})"
                raise SourceError(what) from error
            if self._first and text:
                self._first, self.marked = False, text.startswith("\ufeff")
                text = text.removeprefix("\ufeff")
            self._ready = text.encode("utf-8", "surrogatepass")
        part, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)
