"""Aider's chat history."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from leftoff import codec
from leftoff.formats.aider import FORMAT, AiderReader, _answers, edits_in
from leftoff.formats.reader import Cursor, Sample
from leftoff.model import (
    Changes,
    Message,
    NewSession,
    Reasoning,
    Record,
    SessionFacts,
    Text,
    TokenCount,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
)

HEADER = "# aider chat started at 2026-01-02 03:04:05"
BLOCK = "src/a.py\n```python\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n```"


def _read(text: str) -> list[Record]:
    """The records, read in one go and with the reader put aside after every line."""
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    assert FORMAT.detect(Sample(text.encode(), complete=True))
    once, again = _records(lines, resumed=False), _records(lines, resumed=True)
    assert once == again
    return once


def _records(lines: Iterable[bytes], *, resumed: bool) -> list[Record]:
    reader, cursor = FORMAT.reader(), Cursor()
    found: list[Record] = []
    for line in lines:
        cursor.line += 1
        cursor.raw = line
        found += reader.read(line, cursor)
        if resumed:
            reader = codec.unpack_state(codec.pack_state(reader), AiderReader)
    cursor.ended = True
    return [*found, *reader.read(b"", cursor)]


def _messages(text: str) -> list[Message]:
    return [r for r in _read(text) if isinstance(r, Message)]


def _typed(message: Message) -> list[tuple[str, str]]:
    return [(message.text[t.start : t.end], t.via) for t in message.typed]


def test_a_session() -> None:
    text = f"""{HEADER}

> Aider v0.51.2  
> Models: model-a with diff edit format  
> Git working dir: /w  

#### fix the parser  
#### it drops tabs  

I will change it.

{BLOCK}

> Tokens: 5.1k sent, 1,200 cache hit, 310 received. Cost: $0.01 message.  
> Applied edit to src/a.py  
> Commit abc1234 fix: tabs  
"""  # noqa: W291
    records = _read(text)
    assert records[:2] == [
        NewSession("2026-01-02T030405"),
        SessionFacts(id="2026-01-02T030405", started="2026-01-02T03:04:05"),
    ]
    facts = [r for r in records if isinstance(r, SessionFacts)][1:]
    assert facts == [SessionFacts(agent_version="0.51.2"), SessionFacts(cwd="/w")]
    found = [r for r in records if isinstance(r, Message)]
    assert [(m.role, m.origin, m.line) for m in found] == [
        ("system", "meta", 3),
        ("user", "prompt", 7),
        ("assistant", "agent", 10),
        ("tool", "tool", 21),
    ]
    assert _typed(found[1]) == [("fix the parser\nit drops tabs", "prompt")]
    given = {"path": "src/a.py", "old_string": "x = 1\n", "new_string": "x = 2\n"}
    assert found[2].parts[1] == ToolCall("edit-1", "edit", "edit", given)
    assert (found[2].model, found[2].cwd) == ("model-a", "/w")
    assert found[2].raw.startswith(b"I will change it.\n")
    assert found[3].parts[0] == ToolResult("edit-1", "Applied edit to src/a.py", "ok")
    assert found[3].parts[1:3] == (
        ToolCall("commit-1", "git commit", "shell", {"command": "git commit"}),
        ToolResult("commit-1", "Commit abc1234 fix: tabs", "ok"),
    )
    assert found[3].text.startswith("Tokens: 5.1k sent")
    assert records[-2:] == [
        TokenCount(Usage(3900, 310, 1200), Usage(3900, 310, 1200)),
        Turn("ended"),
    ]


@pytest.mark.parametrize(
    "prompt,typed,origin",
    [
        ("/add src/a.py", [("/add src/a.py", "command")], "prompt"),
        ("!ls", [("!ls", "command")], "prompt"),
        ("# Fix any errors below, if possible.", [], "injected"),
        ("# Title first", [("# Title first", "prompt")], "prompt"),
        ("<blank>", [], "injected"),
    ],
)
def test_prompts(prompt: str, typed: list[tuple[str, str]], origin: str) -> None:
    (found,) = _messages(f"{HEADER}\n\n#### {prompt}  \n")
    assert (_typed(found), found.origin) == (typed, origin)


def test_two_prompts_without_an_answer_are_two() -> None:
    found = _messages(f"{HEADER}\n\n#### one  \n\n#### two  \n#### more  \n")
    assert [m.text for m in found] == ["one", "two\nmore"]


def test_headings_and_quotes_of_a_reply_stay_in_it() -> None:
    reply = "#### A heading\n\n> a quote\n\nMore."
    found = _messages(f"{HEADER}\n\n#### go  \n\n{reply}\n")
    assert [m.text for m in found] == ["go", reply]


def test_an_output_of_several_lines_is_marked_at_both_ends_only() -> None:
    text = f"{HEADER}\n\n#### /run pytest  \n> ==== session starts\n\nFAILED test_a\n1 failed  \n\nSorry.\n"
    found = _messages(text)
    assert [(m.role, m.text) for m in found] == [
        ("user", "/run pytest"),
        ("system", "==== session starts\n\nFAILED test_a\n1 failed  "),
        ("assistant", "Sorry."),
    ]


def test_edits_that_failed_or_were_refused() -> None:
    other = BLOCK.replace("src/a.py", "b.py")
    text = f"""{HEADER}

#### go  

{other}

{BLOCK}

> Skipping edits to b.py  
> 1 SEARCH/REPLACE block failed to match!  
"""  # noqa: W291
    results = [p for m in _messages(text) for p in m.parts if isinstance(p, ToolResult)]
    assert [(r.call_id, r.status) for r in results] == [
        ("edit-1", "denied"),
        ("edit-2", "error"),
    ]


def test_edits_of_other_edit_formats_are_changes() -> None:
    records = _read(f"{HEADER}\n\n#### go  \n\nDone.\n\n> Applied edit to a.py  \n")
    (changes,) = [r for r in records if isinstance(r, Changes)]
    assert (changes.files, changes.line) == ((("a.py", "modified", ""),), 7)


def test_sessions_of_one_second_have_names_of_their_own() -> None:
    records = _read(f"{HEADER}\n\n{HEADER}\n\n#### go  \n")
    assert [r.id for r in records if isinstance(r, NewSession)] == [
        "2026-01-02T030405",
        "2026-01-02T030405-2",
    ]


@pytest.mark.parametrize(
    "text,found",
    [
        (BLOCK, [("src/a.py", "x = 1\n", "x = 2\n")]),
        (BLOCK.removesuffix(">>>>>>> REPLACE\n```"), []),
        ("```\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n```", []),
        (f"**`src/a.py`**:\n{BLOCK[9:]}", [("src/a.py", "x = 1\n", "x = 2\n")]),
        (
            f"{BLOCK[:-4]}\n\n<<<<<<< SEARCH\n=======\ny\n>>>>>>> REPLACE\n```",
            [("src/a.py", "x = 1\n", "x = 2\n"), ("src/a.py", "", "y\n")],
        ),
    ],
)
def test_blocks(text: str, found: list[tuple[str, str, str]]) -> None:
    assert edits_in(text) == found


@pytest.mark.parametrize(
    "given,mine",
    [
        (f"a mode line\n\n{HEADER}\n", True),
        (f'{{"text": "\n{HEADER}\n"}}', False),
        (f"It says `{HEADER}`", False),
        ("", False),
    ],
)
def test_detection(given: str, mine: bool) -> None:
    assert FORMAT.detect(Sample(given.encode(), complete=True)) is mine


def test_odd_bytes() -> None:
    text = f"{HEADER}\r\n\r\n#### go  \r\n\r\n".encode() + b"\xff\x00 reply"
    reader, cursor = FORMAT.reader(), Cursor()
    found: list[Record] = []
    for line in text.splitlines(keepends=True):
        cursor.line += 1
        found += reader.read(line, cursor)
    cursor.ended = True
    found += reader.read(b"", cursor)
    assert [m.role for m in found if isinstance(m, Message)] == ["user", "assistant"]


@pytest.mark.parametrize(
    "printed,answers",
    [
        ("> Create new file? (Y)es/(N)o [Yes]: y  ", ["y"]),
        (
            "> a.py\n> Add file to the chat? (Y)es/(N)o/(D)on't ask again [Yes]: skip  ",
            ["skip"],
        ),
        ("> Fix lint errors in a.py? n  ", ["n"]),
        ("> Run pip install? yes  ", []),  # the option --yes answers in whole words
        ("> Did it work? Maybe.  ", []),
        ("> Create new file? (Y)es/(N)o [Yes]:  ", []),
    ],
)
def test_answers_to_questions_of_aider_are_the_persons(
    printed: str, answers: list[str]
) -> None:
    (found,) = _messages(f"{HEADER}\n\n{printed}\n")
    assert _typed(found) == [(answer, "answer") for answer in answers]
    assert found.role == "system"


@pytest.mark.parametrize(
    "printed,states",
    [
        ("> Tokens: 5k sent, 3 received.  ", ["ended"]),
        ("> Tokens: 5k sent, 3 received.  \n> Attempt to fix lint errors? y  ", []),
        ("> Tokens: 5k sent, 3 received.  \n> Attempt to fix lint errors? n  ", ["ended"]),
        ("> Create new file? (Y)es/(N)o [Yes]: y  \n> Applied edit to a.py  ", ["ended"]),
        ("> ^C KeyboardInterrupt  ", ["interrupted"]),
        ("> a.py  ", []),
    ],
)
def test_what_became_of_the_turn(printed: str, states: list[str]) -> None:
    records = _read(f"{HEADER}\n\n#### go  \n\nDone.\n\n{printed}\n")
    assert [r.state for r in records if isinstance(r, Turn)] == states


def test_a_commit_with_a_long_message_keeps_its_subject_and_its_body() -> None:
    text = f"{HEADER}\n\n#### /commit  \n\n> Commit abc1234 fix: tabs\n\nThey were dropped.  \n"
    (_, found) = _messages(text)
    assert isinstance(found.parts[1], ToolResult)
    assert found.parts[1].text == "Commit abc1234 fix: tabs"
    assert "They were dropped." in found.text


def test_words_about_a_commit_are_none() -> None:
    text = f"{HEADER}\n\n> Commit messages are short.  \n> Removed: abc1234 fix: tabs  \n"
    (found,) = _messages(text)
    assert [type(part) for part in found.parts] == [Text]


PLAN = "Add a route that lists the gardens, newest first.\n\n1) a route\n2) a test for it"


def _quoted(text: str) -> str:
    return "".join([f"#### {line}  \n" for line in text.splitlines()])


def test_an_architects_answer_that_aider_repeats_was_not_typed() -> None:
    """In architect mode aider gives the answer to the model that edits, as a prompt. Of 63
    prompts in one history 26 were such repetitions and counted as the person's words."""
    text = (
        f"{HEADER}\n\n#### list the gardens  \n\n{PLAN}\n\n> Tokens: 1k sent, 9 received.  \n\n"
    )
    found = _messages(f"{text}{_quoted(PLAN)}\nb.py\n\n#### thanks  \n")
    users = [(m.origin, bool(m.typed)) for m in found if m.role == "user"]
    assert users == [("prompt", True), ("injected", False), ("prompt", True)]


def test_a_short_prompt_that_equals_the_reply_is_the_persons() -> None:
    found = _messages(f"{HEADER}\n\n#### go  \n\nYes.\n\n#### Yes.  \n")
    assert [m.origin for m in found] == ["prompt", "agent", "prompt"]


def test_the_words_of_a_command_count_once() -> None:
    """Aider records `/ask why?` and then the prompt `why?` that it sends."""
    found = _messages(f"{HEADER}\n\n#### /ask why?  \n\n#### why?  \n\nSo.\n\n#### why?  \n")
    assert [_typed(m) for m in found if m.role == "user"] == [
        [("/ask why?", "command")],
        [],
        [("why?", "prompt")],
    ]


@pytest.mark.parametrize(
    "reply,parts",
    [
        (
            "<thinking-content-0a1b>\nhm\n</thinking-content-0a1b>\n\nDone.",
            (Reasoning("hm"), Text("Done.")),
        ),
        ("Well.\n<thinking-content-0a1b>\nhm", (Text("Well."), Reasoning("hm"))),
        (
            "--------------\n► **THINKING**\n\nhm\n\n------------\n► **ANSWER**\n\nDone.",
            (Reasoning("hm"), Text("Done.")),
        ),
        ("A <thinking> tag.", (Text("A <thinking> tag."),)),
    ],
)
def test_thoughts_are_apart_from_the_reply(reply: str, parts: tuple[object, ...]) -> None:
    found = _messages(f"{HEADER}\n\n#### go  \n\n{reply}\n")
    assert found[1].parts == parts


@pytest.mark.parametrize("piece", ["?", "? (Y)es/(N)o ", "? (Y)es/(N)o [a]: ", "? y"])
def test_questions_in_hostile_numbers(piece: str, assert_linear: Callable[..., None]) -> None:
    assert_linear(lambda size: lambda: _answers(0, [piece * (size // len(piece))]), 200_000)
