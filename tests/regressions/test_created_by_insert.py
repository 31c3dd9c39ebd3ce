"""A recorder that says "was not there before" of a file that the session had read."""

from pathlib import Path

import leftoff
from leftoff import codec
from leftoff.extraction.files import was_created
from leftoff.model import ToolResult

VIEWED = "Here's the result of running `cat -n` on /srv/app/a.py:\n     1\tone\n"


def test_a_file_that_was_read_is_not_created_by_an_insert(tmp_path: Path) -> None:
    """OpenHands wrote `prev_exist: false` of each file that its tool had not written before."""
    history = [
        {"id": 0, "source": "user", "action": "message", "args": {"content": "Mend a.py"}},
        {"id": 1, "source": "agent", "action": "read", "args": {"path": "/srv/app/a.py"}},
        {"id": 2, "source": "agent", "cause": 1, "observation": "read", "content": VIEWED},
        {
            "id": 3, "source": "agent", "action": "edit",
            "args": {"path": "/srv/app/a.py", "command": "insert", "new_str": "two"},
        },
        {
            "id": 4, "source": "agent", "cause": 3, "observation": "edit",
            "content": "The file /srv/app/a.py has been edited.",
            "extras": {"old_content": None, "new_content": "two", "prev_exist": False},
        },
    ]  # fmt: skip
    path = tmp_path / "history.json"
    path.write_bytes(codec.dumps(history))
    (changed,) = leftoff.summarize(path).file_modifications
    assert changed.action == "modified"


def test_a_fenced_result_says_that_the_file_was_there() -> None:
    """SpecStory's fence hid "has been updated", so that the file was called created."""
    result = ToolResult("1", "```\nThe file /srv/app/a.json has been updated.\n```", "ok")
    assert was_created(result, "create") is False
