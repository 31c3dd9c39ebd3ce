"""Inspect AI logs, JSON and archives."""

import io
import json
import zipfile
from typing import Any

import pytest

from leftoff.formats import inspect as inspect_format
from leftoff.formats.inspect import FORMAT
from leftoff.formats.reader import Cursor
from leftoff.model import Message, NewSession, SessionFacts, Unknown


def _sample(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"id": 1, "epoch": 1, "messages": list(messages), **more}


def _archive(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def test_damaged_and_oversized_members_cost_only_themselves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = json.dumps(_sample({"role": "user", "content": "x"})).encode()
    members = {
        "header.json": b"no json",
        "samples/a_epoch_1.json": b"cut {",
        "samples/b_epoch_1.json": b"[" + b" " * 5000 + b"]",
        "samples/c_epoch_1.json": good,
    }
    monkeypatch.setattr(inspect_format, "MAX_DOCUMENT", 4000)
    records = list(FORMAT.reader().read(_archive(members), Cursor()))
    assert [type(r) for r in records] == [Unknown, Unknown, NewSession, SessionFacts, Message]
