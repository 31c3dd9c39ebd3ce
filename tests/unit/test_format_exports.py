"""Sessions exported as text: opencode's and Cursor's markdown, Claude Code's `/export`."""

import random
from typing import Any

import pytest

from leftoff import codec
from leftoff.formats.reader import Cursor, formats
from leftoff.model import Record
from leftoff.testing.checks import check_any_input

OPENCODE_HEAD = """# Sort the list

**Session ID:** ses_0001
**Created:** 3/4/2026, 1:02:03 PM
**Updated:** 3/4/2026, 1:12:03 PM

---

"""
CURSOR_HEAD = """# Sort the list
_Exported on 3/4/2026 at 13:02:03 EST from Cursor (1.2.3)_

"""
SCREEN_HEAD = """╭─── Claude Code v2.1.0 ──────────╮
│        Welcome back!            │
│  Model 1 · Plan                 │
│      /home/me/sorter            │
╰─────────────────────────────────╯

"""
OPENCODE_NAME, CURSOR_NAME, SCREEN_NAME = (
    "opencode_markdown",
    "cursor_markdown",
    "claude_code_export",
)


def _records(name: str, lines: list[bytes], *, resumed: bool) -> list[Record]:
    format_ = formats.get(name)
    reader, cursor = format_.reader(), Cursor()
    found: list[Record] = []
    for line in lines:
        cursor.line += 1
        found += reader.read(line, cursor)
        if resumed:
            reader = codec.unpack_state(codec.pack_state(reader), format_.reader)
    cursor.ended = True
    return [*found, *reader.read(b"", cursor)]


# -- opencode -------------------------------------------------------------------------------


def _user(text: str) -> str:
    return f"## User\n\n{text}\n\n---\n\n"


def _agent(text: str, about: str = " (Build · model-a · 1.5s)") -> str:
    return f"## Assistant{about}\n\n{text}\n\n---\n\n"


def _use(tool: str, given: str, output: str, verdict: str = "Output") -> str:
    block = f"**Tool: {tool}**\n\n**Input:**\n```json\n{given}\n```\n"
    return f"{block}\n**{verdict}:**\n```\n{output}\n```\n"


# -- Cursor ---------------------------------------------------------------------------------


def _said(who: str, text: str) -> str:
    return f"---\n\n**{who}**\n\n{text}\n\n"


# -- Claude Code's screen -------------------------------------------------------------------


def _filled(*lines: str) -> str:
    """A prompt as newer versions draw it, each line filled to the same width."""
    return "".join(f"{line:<40}\n" for line in lines)


# -- all ------------------------------------------------------------------------------------

EXAMPLES = {
    OPENCODE_NAME: OPENCODE_HEAD
    + _user("sort a.py")
    + _agent("Reading.\n\n" + _use("read", '{"filePath": "a.py"}', "1: x"))
    + _agent("Done."),
    CURSOR_NAME: CURSOR_HEAD + _said("User", "sort a.py") + _said("Cursor", "Done."),
    SCREEN_NAME: SCREEN_HEAD
    + _filled("❯ sort a.py")
    + "\n⏺ Update(a.py)\n  ⎿  Added 1 line\n\n⏺ Done.\n",
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_references_hold_and_lines_are_accounted_for(name: str, tmp_path: Any) -> None:
    from leftoff import api

    path = tmp_path / "session.txt"
    path.write_text(EXAMPLES[name], encoding="utf-8")
    summary = api.summarize(path)
    assert summary.session.format == name
    assert summary.stats.user_message_count == 1
    assert api.verify(summary) == []
    lines = summary.stats.lines
    assert lines.total == lines.parsed + lines.unknown + lines.repaired + lines.skipped
    assert lines.unknown == 0
    assert lines.total == EXAMPLES[name].count("\n")
    path.write_bytes(EXAMPLES[name].replace("\n", "\r\n").encode())
    assert api.summarize(path).stats.message_count == summary.stats.message_count


@pytest.mark.parametrize("name", EXAMPLES)
def test_damage_is_read_or_refused(name: str) -> None:
    chance = random.Random(name)
    for _ in range(200):
        data = bytearray(EXAMPLES[name].encode())
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(data))
            data[at : at + chance.choice((0, 1, 30))] = chance.choice(
                (b"", b"\x00", b"\xff", b"\n", b"```", b"---\n\n", "⏺ ".encode(), b"  ")
            )
        check_any_input(bytes(data))


HOSTILE = (
    "```\n\n",
    "---\n\n## User\n\n",
    "**Tool: a**\n\n**Output:**\n```\nx\n",
    "_Thinking:_\n\n",
    "⏺ a(",
    "⏺ a(b)\n  ⎿  c\n",
    "❯ a \n",
    'Agent "',
    "  ⎿ Interrupted ·\n",
    "  x (ctrl+o to expand",
    "a b ",
)


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("name", EXAMPLES)
def test_time_grows_with_the_length_only(name: str, piece: str, assert_linear: Any) -> None:
    def prepare(size: int) -> Any:
        data = (EXAMPLES[name] + "\n" + piece * (size // len(piece))).encode()
        lines = data.splitlines(keepends=True)
        return lambda: _records(name, lines, resumed=False)

    assert_linear(prepare, 50_000)
