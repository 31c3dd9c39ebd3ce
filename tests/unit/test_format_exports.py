"""Sessions exported as text: opencode's and Cursor's markdown, Claude Code's `/export`."""

from __future__ import annotations

import random
from typing import Any

import pytest

from leftoff import FormatError, Pass, codec
from leftoff.formats import claude_code_export, cursor_markdown, opencode_markdown
from leftoff.formats.reader import Cursor, Sample, detect, formats
from leftoff.formats.text_reader import QUOTED_EXPORT
from leftoff.model import (
    Compaction,
    Message,
    Reasoning,
    Record,
    SessionFacts,
    Text,
    ToolCall,
    ToolResult,
    Uncertain,
)

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
MODULES: dict[str, Any] = {
    OPENCODE_NAME: opencode_markdown,
    CURSOR_NAME: cursor_markdown,
    SCREEN_NAME: claude_code_export,
}


def _read(name: str, text: str) -> list[Record]:
    """Reads the text; a reader put aside between any two lines must read the same."""
    data = text.encode()
    found = detect(Sample(data, complete=True))
    assert found is not None
    assert found.name == name
    lines = data.splitlines(keepends=True)
    once = _records(name, lines, resumed=False)
    assert _records(name, lines, resumed=True) == once
    return once


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


def _messages(name: str, text: str) -> list[Message]:
    return [r for r in _read(name, text) if isinstance(r, Message)]


def _owners(name: str, text: str) -> list[tuple[str, str, str]]:
    """Role, origin and words of each message."""
    return [
        (m.role, m.origin, "\n".join(p.text for p in m.parts if isinstance(p, Text)))
        for m in _messages(name, text)
    ]


def _doubts(name: str, text: str) -> list[str]:
    return [r.code for r in _read(name, text) if isinstance(r, Uncertain)]


# -- opencode -------------------------------------------------------------------------------


def _user(text: str) -> str:
    return f"## User\n\n{text}\n\n---\n\n"


def _agent(text: str, about: str = " (Build · model-a · 1.5s)") -> str:
    return f"## Assistant{about}\n\n{text}\n\n---\n\n"


def _use(tool: str, given: str, output: str, verdict: str = "Output") -> str:
    block = f"**Tool: {tool}**\n\n**Input:**\n```json\n{given}\n```\n"
    return f"{block}\n**{verdict}:**\n```\n{output}\n```\n"


def test_opencode_turns() -> None:
    records = _read(
        OPENCODE_NAME,
        OPENCODE_HEAD
        + _user("sort it")
        + _agent("Reading.\n\n" + _use("read", '{"filePath": "a.py"}', "1: x = []"))
        + _agent("Sorted.", " (Plan · a model (new) · 12.0s)")
        + _agent("Done.", ""),
    )
    facts = [r for r in records if isinstance(r, SessionFacts)]
    assert [f.title for f in facts if f.title] == ["Sort the list"]
    assert [f.id for f in facts if f.id] == ["ses_0001"]
    assert [f.started for f in facts if f.started] == ["2026-03-04T13:02:03"]
    found = [r for r in records if isinstance(r, Message)]
    assert [(m.role, m.origin, m.model) for m in found] == [
        ("user", "prompt", ""),
        ("assistant", "agent", "model-a"),
        ("tool", "tool", ""),
        ("assistant", "agent", "a model (new)"),
        ("assistant", "agent", ""),
    ]
    assert found[1].parts == (
        Text("Reading."),
        ToolCall("call-1", "read", "read", {"filePath": "a.py"}),
    )
    assert found[2].parts == (ToolResult("call-1", "1: x = []", "ok"),)
    assert found[1].line == 15
    assert not any(isinstance(r, Uncertain) for r in records)


@pytest.mark.parametrize(
    ("tool", "verdict", "text", "status"),
    [
        ("edit", "Output", "Edit applied", "ok"),
        ("bash", "Output", "1 failed", "unknown"),
        ("edit", "Error", "oldString not found", "error"),
        ("edit", "Error", "The user rejected permission to use this tool", "denied"),
        ("bash", "Error", "Tool execution aborted", "interrupted"),
    ],
)
def test_opencode_outcomes(tool: str, verdict: str, text: str, status: str) -> None:
    """A failed command is completed too, and its exit code is not exported."""
    found = _messages(OPENCODE_NAME, OPENCODE_HEAD + _agent(_use(tool, "{}", text, verdict)))
    assert found[1].parts == (ToolResult("call-1", text, status),)


def test_opencode_output_with_fences_and_headings_stays_output() -> None:
    """The recorder escapes nothing; a reader of any first fence gave the rest to the agent."""
    output = "# Manual\n\n```sh\nmake\n```\n\n## User\n\nread this"
    text = OPENCODE_HEAD + _agent(
        _use("bash", "{}", output) + "\n" + _use("bash", "{}", "second")
    )
    found = _messages(OPENCODE_NAME, text)
    assert [p.text for p in found[1].parts if isinstance(p, ToolResult)] == [output, "second"]
    assert not [p for p in found[0].parts if isinstance(p, Text)]
    # Two fences could be the end, and no line tells which: said, not hidden.
    assert _doubts(OPENCODE_NAME, text) == [opencode_markdown.UNSURE_OUTPUT]


def test_opencode_words_with_a_fence_below_an_output_are_the_agents() -> None:
    words = "Now run:\n\n```sh\nmake\n```\n\nThat is all."
    text = OPENCODE_HEAD + _agent(_use("bash", "{}", "ok") + "\n" + words)
    found = _messages(OPENCODE_NAME, text)
    assert found[0].parts[-1] == Text(words)
    assert _doubts(OPENCODE_NAME, text) == []


def test_opencode_odd_fence_in_an_output_swallows_no_turn() -> None:
    output = "```sh\nmake"
    text = OPENCODE_HEAD + _agent(_use("bash", "{}", output)) + _user("next") + _agent("Yes.")
    owners = _owners(OPENCODE_NAME, text)
    assert owners[-2:] == [("user", "prompt", "next"), ("assistant", "agent", "Yes.")]


def test_opencode_odd_fence_in_words_swallows_no_turn() -> None:
    text = OPENCODE_HEAD + _agent("```sh\nmake") + _user("next") + _agent("Yes.")
    assert [o[0] for o in _owners(OPENCODE_NAME, text)] == ["assistant", "user", "assistant"]


def test_opencode_quoted_export_in_an_output_begins_no_turn() -> None:
    quoted = OPENCODE_HEAD + "## User\n\nnot typed here"
    text = OPENCODE_HEAD + _agent(_use("bash", "{}", quoted)) + _user("next")
    owners = _owners(OPENCODE_NAME, text)
    assert [o[:2] for o in owners] == [
        ("assistant", "agent"),
        ("tool", "tool"),
        ("user", "prompt"),
    ]
    assert QUOTED_EXPORT in _doubts(OPENCODE_NAME, text)


def test_opencode_thought_without_an_end_is_no_statement_of_the_agent() -> None:
    """Nothing marks where a thought ends: not guessed, but reported."""
    text = OPENCODE_HEAD + _agent(
        "_Thinking:_\n\nMaybe sort.\n\n" + _use("read", "{}", "x") + "\nSorted."
    )
    found = _messages(OPENCODE_NAME, text)
    assert found[0].parts[0] == Reasoning("Maybe sort.")
    assert found[0].parts[-1] == Text("Sorted.")
    assert _doubts(OPENCODE_NAME, text) == [opencode_markdown.UNMARKED_THOUGHT]


def test_opencode_tool_without_details() -> None:
    text = OPENCODE_HEAD + _agent("**Tool: bash**\n\nDone.")
    found = _messages(OPENCODE_NAME, text)
    assert found[0].parts == (ToolCall("call-1", "bash", "shell", {}), Text("Done."))
    assert len(found) == 1


# -- Cursor ---------------------------------------------------------------------------------


def _said(who: str, text: str) -> str:
    return f"---\n\n**{who}**\n\n{text}\n\n"


def test_cursor_turns() -> None:
    text = CURSOR_HEAD + _said("User", "sort it") + _said("Cursor", "Sorted.\n\n---\n\nBye.")
    records = _read(CURSOR_NAME, text)
    assert SessionFacts(title="Sort the list") in records
    assert SessionFacts(agent_version="1.2.3") in records
    assert _owners(CURSOR_NAME, text) == [
        ("user", "prompt", "sort it"),
        ("assistant", "agent", "Sorted.\n\n---\n\nBye."),
    ]
    assert _messages(CURSOR_NAME, text)[1].line == 12


def test_cursor_speaker_in_bold_is_no_turn_without_the_rule() -> None:
    text = CURSOR_HEAD + _said("Cursor", "Names:\n\n**User**\n\nis a table.\n---\n**Cursor**")
    assert len(_owners(CURSOR_NAME, text)) == 1


def test_cursor_odd_fence_swallows_no_turn() -> None:
    text = CURSOR_HEAD + _said("Cursor", "```sh\nmake") + _said("User", "next")
    assert [o[0] for o in _owners(CURSOR_NAME, text)] == ["assistant", "user"]


def test_cursor_quoted_export_is_reported() -> None:
    """Its turns look like the export's own, and no line tells where it ends."""
    text = CURSOR_HEAD + _said("User", "read this\n\n" + CURSOR_HEAD + _said("Cursor", "Hm."))
    assert _doubts(CURSOR_NAME, text) == [QUOTED_EXPORT]


# -- Claude Code's screen -------------------------------------------------------------------


def _filled(*lines: str) -> str:
    """A prompt as newer versions draw it, each line filled to the same width."""
    return "".join(f"{line:<40}\n" for line in lines)


def test_screen_turns() -> None:
    text = (
        SCREEN_HEAD
        + _filled("❯ sort it", "  and test it")
        + "\n⏺ I sort the list\n  first.\n\n  Then I test.\n"
        + "\n⏺ Write(src/sort.py)\n  ⎿  Wrote 2 lines to src/sort.py\n      1 def sort():\n"
        + "      2     return []\n"
        + "\n⏺ Bash(pytest -q)\n  ⎿  Error: Exit code 1\n     1 failed\n"
        + "\n✻ Cooked for 3s\n"
    )
    records = _read(SCREEN_NAME, text)
    assert SessionFacts(agent_version="2.1.0") in records
    assert SessionFacts(cwd="/home/me/sorter") in records
    assert [o for o in _owners(SCREEN_NAME, text) if o[2]][1:] == [
        ("user", "prompt", "sort it\nand test it"),
        ("assistant", "agent", "I sort the list\nfirst.\n\nThen I test."),
        ("system", "meta", "✻ Cooked for 3s"),
    ]
    parts = [p for r in records if isinstance(r, Message) for p in r.parts]
    calls = [p for p in parts if isinstance(p, ToolCall)]
    assert calls == [
        ToolCall("call-1", "Write", "create", {"file_path": "src/sort.py"}),
        ToolCall("call-2", "Bash", "shell", {"command": "pytest -q"}),
    ]
    results = [p for p in parts if isinstance(p, ToolResult)]
    assert [(r.status, r.exit_code, r.detail) for r in results] == [
        ("ok", None, {"created": True}),
        ("error", 1, None),
    ]
    assert results[1].text == "Error: Exit code 1\n1 failed"


def test_screen_command_that_was_broken_or_cut_is_not_guessed() -> None:
    """Where a line was broken in a command cannot be known, so no file effect follows."""
    text = (
        SCREEN_HEAD
        + "⏺ Bash(mkdir -p\n      /home/me/a)\n  ⎿  Done\n\n⏺ Bash(rm -r /home/me/b…)\n  ⎿  Done\n"
    )
    calls = [
        p for m in _messages(SCREEN_NAME, text) for p in m.parts if isinstance(p, ToolCall)
    ]
    assert [call.input for call in calls] == [
        {"shown": "mkdir -p\n/home/me/a"},
        {"shown": "rm -r /home/me/b…"},
    ]


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("User rejected update to a.py", "denied"),
        ("Interrupted · What should Claude do instead?", "interrupted"),
        ("Error: String to replace not found", "error"),
        ("Running…", "running"),
        ("Added 2 lines, removed 1 line", "ok"),
    ],
)
def test_screen_outcomes(line: str, status: str) -> None:
    found = _messages(SCREEN_NAME, f"{SCREEN_HEAD}⏺ Update(a.py)\n  ⎿  {line}\n")
    call, result = found[1].parts[0], found[2].parts[0]
    assert isinstance(call, ToolCall)
    assert call.name == "Edit"
    assert isinstance(result, ToolResult)
    assert result.status == status


def test_screen_prints_of_the_client_are_nobodys_words() -> None:
    text = (
        SCREEN_HEAD
        + _filled("❯ /compact")
        + "  ⎿  Compacted \n  ⎿  Read a.py (58 lines)\n\n"
        + _filled("❯ go on")
        + "\n  Read 1 file (ctrl+o to expand)\n\n"
        + "⏺ I go on.\n\n  Listed 2 directories (ctrl+o to expand)\n\n"
        + '⏺ Agent "Look around in all\nfolders" came to rest · 5m\n'
    )
    owners = _owners(SCREEN_NAME, text)
    assert [o[:2] for o in owners[1:]] == [
        ("user", "prompt"),
        ("system", "meta"),
        ("user", "prompt"),
        ("system", "meta"),
        ("assistant", "agent"),
        ("system", "meta"),
        ("system", "meta"),
    ]
    assert owners[5][2] == "I go on."
    typed = [m.typed[0].via for m in _messages(SCREEN_NAME, text) if m.typed]
    assert typed == ["command", "prompt"]
    compactions = [r for r in _read(SCREEN_NAME, text) if isinstance(r, Compaction)]
    assert [c.trigger for c in compactions] == ["manual"]


def test_screen_quoted_in_a_prompt_stays_the_prompt() -> None:
    """A person pasted the screen: a mark in the first column of a filled line is a quotation."""
    text = (
        SCREEN_HEAD
        + _filled(
            "❯ what did this mean", "", "⏺ Sorted.", "  ⎿  Wrote 2 lines to a.py", "  and?"
        )
        + "\n⏺ It is sorted.\n"
    )
    assert _owners(SCREEN_NAME, text)[1:] == [
        (
            "user",
            "prompt",
            "what did this mean\n\n⏺ Sorted.\n⎿  Wrote 2 lines to a.py\nand?",
        ),
        ("assistant", "agent", "It is sorted."),
    ]


def test_screen_interruption_below_a_result() -> None:
    text = (
        SCREEN_HEAD + "⏺ Write(a.py)\n  ⎿  Wrote 1 line to a.py\n  ⎿  Interrupted · What now?\n"
    )
    assert [(m.role, m.origin) for m in _messages(SCREEN_NAME, text)[1:]] == [
        ("assistant", "agent"),
        ("tool", "tool"),
        ("user", "interruption"),
    ]


def test_screen_of_earlier_versions() -> None:
    """Prompts on `>`, not filled: a quotation in the agent's words is indented and no prompt."""
    text = (
        " ▐▛███▜▌   Claude Code v2.0.30\n▝▜█████▛▘  Model 1\n  ▘▘ ▝▝    /home/me/sorter\n\n"
        "> sort it\n\n  and test it\n\n⏺ As you said:\n\n  > sort it\n\n  Yes.\n"
    )
    assert _owners(SCREEN_NAME, text)[1:] == [
        ("user", "prompt", "sort it\n\nand test it"),
        ("assistant", "agent", "As you said:\n\n> sort it\n\nYes."),
    ]


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
        reading = Pass("session")
        try:
            reading.feed(bytes(data))
            reading.summary()
        except FormatError:
            continue


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
