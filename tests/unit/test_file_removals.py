"""Files that are removed by commands whose directory or language says little."""

from __future__ import annotations

import json
from typing import Any

import leftoff
from leftoff.analysis.files.removals import (
    one_that_ends_with,
    refused_paths,
    removed_by_powershell,
)


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


def test_removals_in_powershell_are_read_as_far_as_they_are_literal() -> None:
    path = "C:\\shop\\cart.py"
    found = changed(path, "powershell", "Remove-Item C:\\shop\\cart.py -Force")
    assert [(action, certainty) for _, action, certainty in found] == [("deleted", "likely")]
    found = changed(path, "powershell", "Remove-Item $file")
    assert [action for _, action, _ in found] == ["modified"]


def test_a_path_that_is_written_as_part_of_a_uri_is_the_same_file() -> None:
    found = changed("c:/my%20shop/cart.py", "powershell", "del 'c:/my shop/cart.py'")
    assert [action for _, action, _ in found] == ["deleted"]


def test_a_shell_that_could_not_open_a_file_made_none() -> None:
    output = "zsh:1: operation not permitted: /shop/out.txt"
    found = changed("/shop/a.py", "bash", "ls | sort > /shop/out.txt", output)
    assert [path for path, _, _ in found] == ["/shop/a.py"]


def test_words_of_commands_and_outputs() -> None:
    assert removed_by_powershell('ri "a b.txt" -ea Ignore; del c.txt') == ["a b.txt", "c.txt"]
    assert refused_paths("ok\nzsh: permission denied: x y\n") == ["x y"]
    assert one_that_ends_with("a.py", ["/x/a.py", "/x/ba.py"]) == "/x/a.py"
    assert one_that_ends_with("a.py", ["/x/a.py", "/y/a.py"]) == ""


def test_the_name_of_a_file_is_shown_however_long_its_path_is() -> None:
    from leftoff.rendering.render_summary import render

    path = "/shop/" + "a_very_long_folder_name/" * 8 + "cart.py"
    function = {
        "name": "edit",
        "arguments": json.dumps({"path": path, "old_str": "a", "new_str": "b"}),
    }
    made = {"id": "1", "type": "function", "function": function}
    summary = leftoff.create_context_summary(
        [
            {"role": "user", "content": "Go on."},
            {"role": "assistant", "content": "", "tool_calls": [made]},
            {"role": "tool", "tool_call_id": "1", "content": "ok"},
        ]
    )
    assert "/cart.py" in render(summary, "text")
