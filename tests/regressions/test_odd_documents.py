"""Documents that other programs and people wrote are shown, not crashed on.

Fuzzing the loaders found a resume log whose metadata says `"errors": 7`, which was read and then
could not be shown; with `"errors": "timeout"` it was shown letter by letter. A Python value that is
nested five hundred deep, as a tool may return, could not be kept.
"""

from typing import Any

import pytest

from leftoff import codec
from leftoff.handover.resume_log.document import ResumeLog


def shown(metadata: dict[str, Any], **more: Any) -> str:
    return ResumeLog.from_dict({"session_id": "s", "metadata": metadata, **more}).to_markdown()


@pytest.mark.parametrize("key", ["errors", "agents_used", "files_modified"])
def test_a_single_value_stands_for_a_list_of_one(key: str) -> None:
    assert "- timeout" in shown({key: "timeout"})
    assert "- 7" in shown({key: 7})
    assert '- {"a":1}' in shown({key: {"a": 1}})
    assert "**" not in shown({key: None}).split("## Session Metadata")[-1]


@pytest.mark.parametrize("notes", [7, "no", ["/p/a.py"], {"/p/a.py": ["created"]}, {}])
def test_notes_of_files_may_be_anything(notes: Any) -> None:
    assert "- /p/a.py" in shown({"files_modified": ["/p/a.py"], "file_notes": notes})


@pytest.mark.parametrize("confidence", [10**400, -(10**400), float("inf"), True, "high", None])
def test_confidence_may_be_any_number(confidence: Any) -> None:
    told = [{"decision": "Use SQLite.", "confidence": confidence}, {"decision": "Sort."}]
    assert "Use SQLite." in shown({}, decisions=told)


def test_a_value_that_is_too_deep_is_cut() -> None:
    deep: Any = "end"
    for _ in range(5000):
        deep = [deep] if len(str(type(deep))) % 2 else {"a": deep}
    kept = codec.to_valid_json({"deep": deep, "flat": [1, {"b": ("c",)}]})
    assert kept["flat"] == [1, {"b": ["c"]}]
    assert codec.parse_strict(codec.dumps(kept)) == kept
