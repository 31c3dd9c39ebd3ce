"""OpenHands: event lists and evaluation outputs."""

from __future__ import annotations

import json

from leftoff.codec import LineDecoder
from leftoff.formats.openhands import OUTPUT
from leftoff.formats.reader import Cursor
from leftoff.model import (
    Message,
    NewSession,
    SessionFacts,
    Unknown,
)

PROMPT = {"id": 0, "source": "user", "action": "message", "args": {"content": "build it"}}


def test_each_line_of_an_output_is_a_session() -> None:
    reader, cursor = OUTPUT.reader(), Cursor(line=1)
    line = json.dumps({"instance_id": "i-1", "test_result": {}, "history": [PROMPT]}).encode()
    (record,), codes = LineDecoder(reader.record).decode(line)
    found = list(reader.read(record, cursor))
    assert codes == ()
    assert found[:2] == [NewSession("i-1"), SessionFacts(id="i-1")]
    assert isinstance(found[2], Message)
    assert json.loads(found[2].raw) == PROMPT
    (record,), codes = LineDecoder(reader.record).decode(b'{"instance_id": 1, "history": 2}')
    assert [type(r) for r in reader.read(record, cursor)] == [Unknown]


# -- events of the agent SDK (version 1) ----------------------------------------------------
