"""What keeps the handover's lines short says the same in fewer words."""

from __future__ import annotations

import pytest

from leftoff.handover.facts import Fact, Handover
from leftoff.handover.lines import parts
from leftoff.handover.wording import condensed
from leftoff.summary import FileModification


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Ok, can you please add a test for the parser?", "can you add test for parser?"),
        ("I think we should not use the cache", "I think we should not use cache"),
        ("No, don't do that.", "No, don't do that."),
        ("Task A is still running", "Task A is still running"),
        ("It works well, I'll use that.", "It works well, I'll use that."),
        ("Is it done? It is not so, is it?", "Is it done? It is not so, is it?"),
        ("look at /home/kim/shop/billing/exports/monthly/2025/rows.py", "look at …/kim/shop/billing/exports/monthly/2025/rows.py"),
        ("/tmp/x/Screenshot\\ 1.png shows two rows", "[picture] shows two rows"),
        ("can we not read the row again?", "can we not read row again?"),
        ("but both just for that test", "but both just for that test"),
        ("It seems this is the only place that sorts rows", "It seems this is the only place that sorts rows"),
        ("so the three calls that skip it are cheap", "the three calls that skip it are cheap"),
        ("hide it rather than just adding a flag", "hide it rather than just adding flag"),
        ("ok", "ok"),
    ],
)  # fmt: skip
def test_condensed_text_keeps_negations_names_and_questions(text: str, short: str) -> None:
    assert condensed(text) == short


def file(path: str, message: int, action: str = "modified", added: int | None = 2) -> object:
    return FileModification(path, action, 1, ("Edit",), added=added, last_message=message)


def test_files_of_a_folder_stand_below_it_and_names_stay_unambiguous() -> None:
    paths = ["a.py", "b.py", "c.py", "src/shop/rows.py", "src/shop/cents.py", "src/web/rows.py"]
    files = tuple(file(path, 20 - n) for n, path in enumerate(paths))
    (part,) = parts(Handover(files=files))  # type: ignore[arg-type]
    shown = [(line.group, line.forms[-1]) for line in part.lines]
    assert shown[:3] == [("", f"- {name}.py (+2 -0)") for name in "abc"]
    assert ("- src/:", "  - shop/rows.py (+2 -0)") in shown
    assert ("- src/:", "  - web/rows.py (+2 -0)") in shown


def test_messages_of_the_same_few_words_share_a_line() -> None:
    said = (Fact("Go on.", "", 8, "person"), Fact("Sort by date", "", 5, "person"), Fact("go on.", "", 2, "person"))  # fmt: skip
    (part,) = parts(Handover(said=said))
    assert [line.forms[0] for line in part.lines] == ["- Go on. #9, #3", "- Sort by date #6"]


def test_a_deleted_file_says_when_since_it_may_have_been_made_again() -> None:
    gone = file("out/rows.json", 6, "deleted", None)
    (part,) = parts(Handover(files=(gone,)))  # type: ignore[arg-type]
    assert part.lines[0].forms[-1] == "- out/rows.json (deleted, #7)"
