"""What a person is shown first: true, in one order, the same in every form."""

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from leftoff import api
from leftoff.analysis.decisions.shown import person_decisions_shown, shown_decisions
from leftoff.analysis.summary_json import safe_summary
from leftoff.model import Ref
from leftoff.rendering.html.report import report_row
from leftoff.rendering.html.session import page
from leftoff.rendering.overview import overview
from leftoff.rendering.render_summary import render
from leftoff.rendering.screen import text_width, wrap
from leftoff.summary import (
    Check,
    ContextSummary,
    ErrorSeen,
    FileModification,
    GitEvent,
    KeyDecision,
    NextStep,
    SessionInfo,
    Stats,
    TurnState,
    UserRequest,
    WorkingSet,
)

FORMS = ("text", "markdown", "json", "prompt", "log", "html")
SECRET = "ghp_" + "aB3dE5fG7h" * 3 + "9Kq2wE"


def at(message: int) -> Ref:
    return Ref(0, message + 1, None, message, 0)


def summary(**fields: object) -> ContextSummary:
    empty = ContextSummary(
        schema="leftoff.summary/1",
        leftoff="0",
        rules="",
        session=SessionInfo(id="s", started="2026-05-01T10:00:00Z"),
        stats=Stats(message_count=20),
        user_requests=(
            UserRequest("Sort the harbour list by berth.", "task", "answered", at(0)),
        ),
        turn=TurnState("closed", "2026-05-01T11:30:00Z", at(19)),
    )
    return replace(empty, **fields)


def decision(text: str, confidence: float, message: int, owner: str = "agent") -> KeyDecision:
    return KeyDecision(text, "approach", confidence, message, at(message), owner=owner)


def test_every_form_shows_the_same_decisions_in_one_order() -> None:
    """One session showed 29 decisions in the report, 9 on the screen and 8 in markdown."""
    agent = [decision(f"Set choice {n} of the agent.", 0.97 + n / 1000, n) for n in range(12)]
    agent.append(replace(decision("Taken back later.", 0.99, 13), status="reversed"))
    person = [decision(f"Berth or tide? → word {n}", 0.9, n, "user") for n in range(7)]
    found = summary(
        key_decisions=tuple(agent + person),
        stats=Stats(message_count=20, tool_call_count=9),
        user_requests=(UserRequest("Sort the list.", "task", "worked_on", at(0)),),
    )
    expected = [d.text for d in (*person_decisions_shown(found), *shown_decisions(found))]
    assert len(expected) == 10
    row = report_row(found)
    assert [i.text for i in (*row.decided, *row.likely)] == expected
    assert row.decision_count == 10
    html = page(found).split('<section id="quotes"')[0]
    html = re.sub("<details>.*?</details>", "", html, flags=re.DOTALL).split('id="turns"')[0]
    for shown in (render(found), render(found, "markdown"), html):
        places = [shown.index(text) for text in expected]
        assert places == sorted(places)
        assert "Taken back later." not in shown
        hidden = {d.text for d in found.key_decisions} - set(expected)
        assert not any(text in shown for text in hidden)
    for form in ("text", "markdown"):
        everything = render(found, form, everything=True)
        assert all(d.text in everything for d in found.key_decisions)
    titles = [p.title.partition(":")[0] for p in overview(safe_summary(found)).parts]
    heads = [line[3:].partition(":")[0] for line in render(found, "markdown").splitlines()
             if line.startswith("## ")]  # fmt: skip
    assert heads[: len(titles)] == titles


def test_no_percentage_on_the_screen(root: Path) -> None:
    for path in sorted((root / "corpora" / "sessions" / "claude_code").glob("*.jsonl")):
        found = api.summarize(path)
        assert not re.search(r"\d ?%", render(found))


def test_a_summary_whose_parts_were_taken_out_has_every_form(root: Path) -> None:
    whole = api.summarize(root / "corpora" / "sessions" / "claude_code" / "prorate.jsonl")
    parts = [
        name for name in whole.__struct_fields__ if isinstance(getattr(whole, name), tuple)
    ]
    assert "user_requests" in parts
    for part in parts:
        less = replace(whole, **{part: ()})
        assert all(render(less, form, everything=True) for form in FORMS), part


def test_a_secret_is_replaced_before_anything_is_cut() -> None:
    for place in range(20, 90):
        text = "word " * (place // 5) + SECRET + " and more words" * 9
        found = summary(
            user_requests=(UserRequest(text, "task", "open", at(0)),),
            working_set=WorkingSet(),
            git=(GitEvent("commit", text, at(1)),),
        )
        for width in (40, 96):
            shown = "".join(render(found, width=width).split())
            assert not any(SECRET[n : n + 12] in shown for n in range(4, 24))


# -- layout ----------------------------------------------------------------------------------

TEXTS = st.text(
    st.sampled_from("abc xyz/.-,`→…日本語テ。e\u0301\u200d😀") | st.characters(codec="utf-8"),
    max_size=200,
)


@settings(max_examples=200)
@given(
    TEXTS, st.integers(24, 90), st.integers(1, 3), st.sampled_from(["", "  #12", "  open #7"])
)
def test_wrapped_text_fits_and_ends_with_its_note(
    text: str, width: int, most: int, tail: str
) -> None:
    lines = wrap(text, width, most, tail)
    assert 1 <= len(lines) <= most
    assert all(text_width(line) <= width for line in lines)
    assert lines[-1].endswith(tail.strip())


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=14), max_size=40), st.integers(24, 90))
def test_no_word_is_cut(words: list[str], width: int) -> None:
    lines = wrap(" ".join(words), width, 2, "  #1")
    shown = " ".join(lines).removesuffix("#1").rstrip().removesuffix("…").split()
    assert shown == words[: len(shown)]


@settings(max_examples=60)
@given(TEXTS, st.integers(0, 300))
def test_no_line_is_wider_than_the_screen(text: str, width: int) -> None:
    found = summary(
        session=SessionInfo(id=text, cwd=text, branch=text, models=(text, text)),
        user_requests=(UserRequest(text, "task", "open", at(0), question=text),),
        key_decisions=(decision(text, 0.99, 3), decision(text, 0.9, 4, "user")),
        checks=(Check("test", "pytest", "pytest", "failed", at(5), scope=text, line=text),),
        git=(GitEvent("push", text, at(6), remote=text, branch=text),),
        file_modifications=(
            FileModification(text, "created", 1, ("Edit",), renamed_from=text, last_message=1),
            FileModification(text, "modified", 1, ("Edit",), last_message=2),
        ),
        errors=(ErrorSeen(text, text, at(7)),),
        next_steps=(NextStep(text, "said", at(8)),),
    )
    shown = render(found, width=width, everything=True)
    assert max(map(text_width, shown.splitlines())) <= min(200, max(40, width))
    coloured = render(found, width=width, colour=True, everything=True)
    assert re.sub("\x1b\\[[0-9]*m", "", coloured) == shown
