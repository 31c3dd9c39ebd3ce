"""LangChain's and Semantic Kernel's dumps of messages."""

from pathlib import Path

from msgspec.structs import replace

from leftoff.formats.reader import Cursor, Sample, detect
from leftoff.model import Message, ToolCall, ToolResult, Usage

SESSIONS = Path(__file__).resolve().parents[2] / "corpora" / "sessions"


def _read_file(name: str, path: str) -> list[Message]:
    data = (SESSIONS / path).read_bytes()
    found = detect(Sample(data, complete=True))
    assert found is not None
    assert found.name == name
    records = found.reader().read(data, Cursor())
    return [r for r in records if isinstance(r, Message)]


# -- LangChain -----------------------------------------------------------------------------


def test_both_serialisers_of_langchain_read_the_same() -> None:
    listed = _read_file("langchain", "langchain/labels.json")
    dumped = _read_file("langchain", "langchain/labels-dumps.json")
    assert [replace(m, raw=b"") for m in listed] == [replace(m, raw=b"") for m in dumped]
    assert len(listed) == 14
    calls = [p for m in listed for p in m.parts if isinstance(p, ToolCall)]
    results = [p for m in listed for p in m.parts if isinstance(p, ToolResult)]
    assert [c.id for c in calls] == [r.call_id for r in results]
    assert [c.kind for c in calls] == ["read", "shell", "create", "shell", "create", "shell"]
    assert [r.status for r in results] == ["ok", "ok", "ok", "error", "ok", "ok"]
    assert [m.usage for m in listed if m.usage][1] == Usage(520, 188, cache_read=640)
    assert [m.origin for m in listed].count("prompt") == 2
    assert {m.model for m in listed if m.role == "assistant"} == {"model-a"}


# -- Semantic Kernel -----------------------------------------------------------------------


# -- odd input -----------------------------------------------------------------------------
