"""Readers of recorders' formats: bytes in, messages out, every line accounted for."""

from leftoff.formats.reader import Cursor, Format, Reader, Sample, detect, formats, unrecognised

__all__ = ["Cursor", "Format", "Reader", "Sample", "detect", "formats", "unrecognised"]
