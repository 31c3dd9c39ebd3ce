"""`verify` took any words before an item of a list: "You should: change the signature" passed
where the recording says "You must not:" above that item."""

import json
from pathlib import Path

from msgspec.structs import replace

from leftoff import api

TASK = "You must not:\n- install packages from the network\n- change the signature of `total`\n"


def test_what_a_list_is_about_stands_in_its_message(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "user", "content": TASK}]), encoding="utf-8")
    summary = api.summarize(str(path))
    (first, *_) = summary.key_decisions
    assert first.text.startswith("You must not: ")
    assert api.verify(summary) == []
    for wrong in (first.text.replace("must not", "should"), "You must not:"):
        other = replace(first, text=wrong)
        (problem,) = api.verify(replace(summary, key_decisions=(other,)))
        assert f"not {wrong!r}" in problem
