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

HEADER = {
    "task": "t",
    "model": "model-a",
    "created": "2026-01-02",
    "packages": {"inspect_ai": "0.3"},
}
CALL = {"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}}


def _sample(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"id": 1, "epoch": 1, "messages": list(messages), **more}


def _log(*samples: Any) -> dict[str, Any]:
    return {"version": 2, "status": "success", "eval": HEADER, "samples": list(samples)}


def _archive(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


SAMPLE = _sample(
    {"role": "system", "content": "s"},
    {"role": "user", "content": "find the flag", "source": "input"},
    {"id": "m1", "role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "content": "a b", "tool_call_id": "c1", "function": "bash"},
    {"role": "user", "content": "go on"},
    {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "done"}, {"type": "image"}]},
    events=[
        {
            "event": "model",
            "completed": "2026-01-02T03:04:05Z",
            "output": {
                "model": "model-a-1",
                "choices": [{"message": {"id": "m1", "content": ""}}],
                "usage": {
                    "input_tokens": 100,
                    "output_tokens": 7,
                    "total_tokens": 107,
                    "input_tokens_cache_read": 60,
                },
            },
        },
        {"event": "tool", "id": "c1", "timestamp": "2026-01-02T03:04:06Z"},
        {"event": "model", "output": {"choices": [{"message": {"content": "done"}}], "usage": {
            "input_tokens": 9, "output_tokens": 3, "total_tokens": 20, "input_tokens_cache_read": 8}}},
    ],
)  # fmt: skip


def test_an_archive_reads_as_its_document() -> None:
    data = _archive(
        {
            "header.json": json.dumps({"eval": HEADER, "status": "success"}).encode(),
            "samples/1_epoch_1.json": json.dumps(SAMPLE).encode(),
            "summaries.json": b"[]",
        }
    )
    document = json.dumps(_log(SAMPLE), separators=(", ", ": ")).encode()
    archived, plain = (list(FORMAT.reader().read(d, Cursor())) for d in (data, document))
    assert len(plain) > 5
    assert archived == plain


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
