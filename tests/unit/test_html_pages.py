"""The page of a session: recorded text stays text, every claim links to its quotation, secrets
stay out, and a long session still fits."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from leftoff import api
from leftoff.budget.thresholds import preset
from leftoff.budget.usage import Filling
from leftoff.incremental import accounts
from leftoff.model import Message, Ref, Text, ToolCall, ToolResult
from leftoff.redaction.redactor import Redactor
from leftoff.rendering.html import charts, quotes
from leftoff.rendering.html.quotes import cited
from leftoff.rendering.html.session import card, page
from leftoff.rendering.render_summary import render
from leftoff.summary import (
    ContextSummary,
    FileModification,
    KeyDecision,
    Milestone,
    ProgressInfo,
    SessionInfo,
    StageChange,
    Stats,
    UserRequest,
)

SECRET = "ghp_" + "aB3dE5fG7h" * 3 + "9Kq2wE"
HOSTILE = [
    "<script>window.caught = 1</script>",
    "</style></title></textarea><script>window.caught = 1</script>",
    "<svg onload='window.caught = 1'><animate onbegin='window.caught = 1'/></svg>",
    '"><img src=x onerror="window.caught = 1">',
    "<a href='javascript:window.caught=1'>x</a> <iframe srcdoc='<script>1</script>'>",
    "{{ 7 * 7 }} {% raw %} &lt;b&gt; <!-- --> ]]> <![CDATA[",
    "\x1b[31mred\x1b[0m \u202egnp.exe\u202c \u2066x\u2069 \U000e0041 \x00",
    "<style>* { display: none }</style><base href='https://example.com/'>",
    "`<b>` ``<i>`` `\n<p>`",
]


class Seen(HTMLParser):
    """What a browser would find in a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def ids(self) -> list[str | None]:
        return [attrs["id"] for _, attrs in self.elements if "id" in attrs]

    @property
    def links(self) -> list[str | None]:
        return [attrs["href"] for _, attrs in self.elements if "href" in attrs]

    @property
    def text(self) -> str:
        return "".join(self.words)


def assert_inert(seen: Seen, scripts: int = 0) -> None:
    tags = [tag for tag, _ in seen.elements]
    assert tags.count("script") == scripts
    assert not {"img", "iframe", "object", "embed", "base", "link", "animate"} & set(tags)
    for _, attrs in seen.elements:
        assert not [name for name in attrs if name.startswith("on") or name in {"src", "style"}]
    assert all(link and link.startswith("#") for link in seen.links)


def assert_links_resolve(seen: Seen) -> None:
    assert len(seen.ids) == len(set(seen.ids))
    assert {str(link)[1:] for link in seen.links} <= set(seen.ids)


def at(index: int, text: str = "", part: int = 0) -> Ref:
    return Ref(0, index + 1, None, index, part, 0, len(text))


def said(text: str, path: str = "a.py") -> tuple[ContextSummary, dict[Ref, Message]]:
    """A summary in which one text stands everywhere, and its messages."""
    asked, ref = at(0, text), at(1, text)
    summary = ContextSummary(
        schema="leftoff.summary/1",
        leftoff="0",
        rules="r",
        session=SessionInfo(id=text, cwd=text, branch=text, models=(text,), title=text),
        stats=Stats(message_count=4),
        key_decisions=(
            KeyDecision(text, "fix", 0.9, 1, ref, alternative=text),
            KeyDecision(text, "fix", 0.2, 1, ref),
        ),
        progress=ProgressInfo(
            current_stage="testing",
            declared_stage=text,
            milestones=(Milestone(text, "tests_pass", "verified", ref),),
            timeline=(
                StageChange("planning", Ref(message=0)),
                StageChange("testing", Ref(message=2)),
            ),
        ),
        file_modifications=(
            FileModification(path, "modified", 2, ("Edit",), refs=(at(2), at(3))),
        ),
        user_requests=(UserRequest(text, "task", "open", asked),),
    )
    messages = {
        asked: Message(0, "user", (Text(text),), line=1, origin="prompt"),
        ref: Message(1, "assistant", (Text(text),), line=2, model=text, time=text),
        at(2): Message(2, "assistant", (ToolCall("1", text, "edit", {text: text}),), line=3),
        at(3): Message(3, "tool", (ToolResult("1", text, "error"),), line=4),
    }
    return summary, messages


def whole(path: Path) -> str:
    """The page that the program makes."""
    gathered = api.gather([path])
    summary = gathered.summary()
    account = accounts.account_of_reading(gathered, preset("advisory")).account
    messages = api.messages_at(summary, cited(summary, account))
    return page(summary, account, messages)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_and_does_nothing(text: str) -> None:
    summary, messages = said(text, path=text)
    for made in (page(summary, messages=messages), page(summary)):
        seen = Seen(made)
        assert_inert(seen)
        assert_links_resolve(seen)
        assert not re.search("[\x00\x1b\u202a-\u202e\u2066-\u2069]", made)
    inner = Seen(card(summary))
    assert_inert(inner)
    assert not inner.ids


@settings(max_examples=60)
@given(st.text(st.characters() | st.sampled_from("<>&\"'`{}%#/=!-"), max_size=60))
def test_any_text_leaves_the_page_the_same_page(text: str) -> None:
    summary, messages = said(text, path=text or "a")
    seen = Seen(page(summary, messages=messages))
    assert_inert(seen)
    assert_links_resolve(seen)
    plain, its = said("words", path="a")
    expected = Seen(page(plain, messages=its))
    # Empty text and code in backticks may add or spare an element; nothing else may.
    ours = {tag for tag, _ in seen.elements}
    assert ours <= {tag for tag, _ in expected.elements} | {"code"}


@pytest.mark.parametrize("name", ["outbox.jsonl", "prorate.jsonl"])
def test_every_claim_links_to_the_message_that_holds_its_words(root: Path, name: str) -> None:
    path = root / "corpora" / "sessions" / "claude_code" / name
    made = whole(path)
    seen = Seen(made)
    assert_inert(seen)
    assert_links_resolve(seen)
    assert "at quiet" not in made  # a place that is not quoted
    summary = api.summarize(path)
    claims: list[Any] = [
        *summary.key_decisions, *summary.progress.milestones, *summary.next_steps,
        *(r for r in summary.user_requests if r.kind != "approval"),
    ]  # fmt: skip
    assert len(claims) > 8
    for claim in claims:
        quote = made.split(f'id="m{claim.ref.message + 1}"')[1].split("</article>")[0]
        marked = Seen(" ".join(re.findall("<mark>.*?</mark>", quote, re.DOTALL))).text
        own = claim.text.rsplit(" → ", 1)[-1]  # an answer stands beside its question
        assert " ".join(own.split()) in " ".join(marked.split())


def test_a_summary_alone_quotes_its_own_words(root: Path) -> None:
    summary = api.summarize(root / "corpora" / "sessions" / "claude_code" / "outbox.jsonl")
    seen = Seen(render(summary, "html"))
    assert_links_resolve(seen)
    assert "The recording was not at hand" in seen.text
    assert summary.key_decisions[-1].text in seen.text


def test_secrets_stay_out_also_where_a_quotation_is_cut() -> None:
    text = "I'll keep the key. " + "word " * 500 + f"export TOKEN={SECRET} " + "word " * 500
    for place in range(0, 60, 7):
        start = text.index(SECRET) - 40 + place
        ref = Ref(0, 1, None, 0, 0, start, start + 30)
        summary, _ = said("x")
        summary = replace(
            summary, key_decisions=(KeyDecision(text[start : start + 30], "fix", 0.9, 0, ref),)
        )
        messages = {ref: Message(0, "assistant", (Text(text),), line=1)}
        made = page(summary, messages=messages)
        quoted = made.split('id="m1"')[1]
        assert not any(SECRET[n : n + 12] in quoted for n in range(4, 24))
        assert "[REDACTED:" in quoted


def test_a_long_session_is_cut_and_says_so() -> None:
    text = "I'll take the long road because it is the only one that is open in winter. " * 5
    decisions, messages = [], {}
    for number in range(4000):
        ref = Ref(0, number + 1, None, number, 0, 0, len(text))
        decisions.append(KeyDecision(text, "approach", 0.9, number, ref))
        messages[ref] = Message(number, "assistant", (Text(text * 4),), line=number + 1)
    summary = replace(
        said("x")[0], key_decisions=tuple(decisions), stats=Stats(message_count=4000)
    )
    for everything in (False, True):
        made = page(summary, messages=messages, everything=everything)
        assert len(made.encode()) < 1_000_000
        what = "items" if everything else "statements"
        assert re.search(rf"3,\d\d\d more {what}", made)
    assert_links_resolve(Seen(made))


# -- quotations ------------------------------------------------------------------------------


def quoted(text: str, *spans: tuple[int, int], whole: int = 1) -> quotes.Quote:
    message = Message(0, "assistant", (Text(text),), line=1)
    wanted = [Ref(0, 1, None, 0, 0, start, end) for start, end in spans]
    summary, _ = said("x")
    found = quotes.quotable_messages(summary, wanted, dict.fromkeys(wanted, message))
    return quotes.build_quotes(Redactor().value(found) * whole)[0]


def test_the_marked_words_are_those_of_the_place_not_the_first_alike() -> None:
    text = "Use one table. " + "filler " * 40 + "Use one table. " + "filler " * 40
    start = text.rindex("Use one table.")
    segments = quoted(text, (start, start + 14), whole=2000).parts[0][2]
    place = [s.marked for s in segments].index(True)
    assert segments[place].text == "Use one table."
    assert segments[0].text == "… "
    assert "Use" not in "".join(s.text for s in segments[:place])


def test_a_long_message_is_shown_around_what_is_marked() -> None:
    text = "before " * 2000 + "THE WORDS" + " after" * 2000
    start = text.index("THE")
    segments = quoted(text, (start, start + 9)).parts[0][2]
    shown = "".join(s.text for s in segments)
    assert len(shown) <= quotes.MAX_QUOTE_LENGTH + 100
    assert shown.startswith("… before")
    assert shown.endswith("after …")
    assert [s.text for s in segments if s.marked] == ["THE WORDS"]


# -- drawings --------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 2000), st.booleans()), min_size=2, max_size=900))
def test_thinning_keeps_every_peak_and_compaction(calls: list[tuple[int, bool]]) -> None:
    points = [Filling(n, tokens, emptied) for n, (tokens, emptied) in enumerate(calls)]
    kept = charts._downsampled(points, len(points))
    assert [p for p in kept if p.emptied] == [p for p in points if p.emptied]
    assert max(p.tokens for p in kept) == max(p.tokens for p in points)
    assert kept == [p for p in points if p in kept]
    assert charts.occupancy_curve(points, len(points), None, preset("advisory")).endswith(
        "</svg>"
    )
