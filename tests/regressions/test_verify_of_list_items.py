"""`verify` took any words before an item of a list: "You should: change the signature" passed
where the recording says "You must not:" above that item. An option that is named with a full stop
("A.") stands without it before the option's words."""

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


def test_a_named_option_may_end_with_a_stop(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    asked = {"role": "assistant", "content": "Which table?\n\nA. one\nB. one for each tenant"}
    said = {"role": "user", "content": "B. Keep the old one, too."}
    path.write_text(json.dumps([asked, said]), encoding="utf-8")
    summary = api.summarize(str(path))
    (first, *_) = summary.key_decisions
    assert first.text == "Which table? → B: one for each tenant"
    assert api.verify(summary) == []
    other = replace(first, text="Which table? → A: one")
    assert api.verify(replace(summary, key_decisions=(other,)))
