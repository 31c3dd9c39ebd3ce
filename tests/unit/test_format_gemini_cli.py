"""Gemini CLI: session documents, and the same as JSON lines."""

from __future__ import annotations

import pytest

from leftoff.formats.gemini_cli import FORMAT, GeminiReader
from leftoff.formats.reader import Cursor
from leftoff.model import (
    Message,
)


@pytest.mark.parametrize("data", [b"[]", b"{}", b"7", b'{"messages": 7}', b'{"messages": {}}'])
def test_other_documents_hold_no_messages(data: bytes) -> None:
    records = list(GeminiReader().read(data, Cursor()))
    assert [r for r in records if isinstance(r, Message)] == []


def test_the_name_of_the_format_is_the_registry_s() -> None:
    assert (FORMAT.name, FORMAT.shape) == ("gemini_cli", "document")


# -- the same as lines ---------------------------------------------------------------------
