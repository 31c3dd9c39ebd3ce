"""Readers of recorders' formats: bytes in, messages out, every line accounted for."""

from __future__ import annotations

from leftoff.formats.reader import Cursor, Format, Reader, Sample, detect, formats, unrecognised

__all__ = ["Cursor", "Format", "Reader", "Sample", "detect", "formats", "unrecognised"]
