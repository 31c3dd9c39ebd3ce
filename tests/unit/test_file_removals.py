"""Files that are removed by commands whose directory or language says little."""

import json
from typing import Any

import leftoff


def changed(path: str, tool: str, command: str, output: str = "") -> list[tuple[str, str, str]]:
    """An edit of a file, then a command; the files as the summary shows them."""

    def call(key: str, name: str, back: str, **given: Any) -> list[dict[str, Any]]:
        function = {"name": name, "arguments": json.dumps(given)}
        made = {"id": key, "type": "function", "function": function}
        return [
            {"role": "assistant", "content": "", "tool_calls": [made]},
            {"role": "tool", "tool_call_id": key, "content": back},
        ]

    summary = leftoff.create_context_summary(
        [
            {"role": "user", "content": "Go on."},
            *call("1", "edit", "ok", path=path, old_str="a", new_str="b"),
            *call("2", tool, output, command=command),
        ]
    )
    return [(f.path, f.action, f.certainty) for f in summary.file_modifications]


def test_a_removed_file_is_deleted_though_the_directory_is_not_known() -> None:
    """It stood as modified, and sure; the relative path stood beside it as another file."""
    found = changed("/shop/src/cart.py", "bash", "rm src/cart.py")
    assert found == [("/shop/src/cart.py", "deleted", "likely")]
