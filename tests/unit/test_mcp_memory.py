"""The tools of the MCP server that ask the memory: bounded, redacted, and helpful without one."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.test_memory import Recorder

from leftoff.errors import SourceError, UsageError
from leftoff.integrations.mcp_tools import MAX_ANSWER_CHARS, Answers
from leftoff.memory.index import update
from leftoff.memory.lookup import memory_path

SECRET = "ghp_" + "a1B2" * 9
FILLER = "The order of the lines is kept, because the index is built at the end. " * 30
ERROR = "ModuleNotFoundError: No module named 'shop.vat'"


class Shop:
    """A home, a working tree, and the tools in it."""

    def __init__(self, root: Path) -> None:
        self.project = root / "shop"
        self.project.mkdir()
        self.environ = {"HOME": str(root), "LEFTOFF_MEMORY": str(root / "memory.sqlite3")}
        folder = root / ".claude" / "projects" / "-shop"
        self.recorder = Recorder(folder, memory_path(self.environ))
        self.answers = Answers(self.environ, str(self.project))

    def session(self, name: str, *items: Any) -> None:
        self.recorder.session(name, *items, project=str(self.project))

    def index(self) -> None:
        update(memory_path(self.environ), environ=self.environ)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_each_tool_answers_from_the_index(shop: Shop) -> None:
    file = shop.project / "vat.py"
    command = "$ python -m pytest -q tests"
    shop.session(
        "one",
        f"> Never upload with {SECRET} from the shop, and add the vat module.",
        [command, f"Exit code 1\nE   {ERROR} with {SECRET}", True],
        ["Write", {"file_path": str(file), "content": f"RATE = 19  # {SECRET}\n"}, "ok"],
        [command, "3 passed in 0.10s"],
        f"< Next steps:\n- Document the voucher endpoint, not {SECRET}",
    )
    file.write_text(f"RATE = 19  # {SECRET}\nonly here = 'words of the file alone'\n")
    shop.index()
    found = {
        "hits": shop.answers.search("vat module upload", by="person"),
        "lines": shop.answers.blame("vat.py"),
        "fixes": shop.answers.fix(ERROR),
        "standing": shop.answers.ledger(),
        "left_open": shop.answers.left_open(),
    }
    for key, answer in found.items():
        (first, *_) = json.loads(answer)[key]
        assert first, key
        assert SECRET not in answer
        assert "words of the file alone" not in answer
    lines = json.loads(found["lines"])["lines"]
    assert [line["recorded"] for line in lines] == [True, False]
    assert lines[0]["request"]["text"].startswith("Never upload with [REDACTED:")
    assert json.loads(found["fixes"])["fixes"][0]["edits"][0]["path"] == str(file)


def test_what_was_recorded_meanwhile_is_found(shop: Shop) -> None:
    shop.session("one", "> Rename the invoice exporter", "< Done.")
    shop.index()
    shop.session("two", "> Why does the zeppelin not inflate?", "< No gas.")
    assert json.loads(shop.answers.search("zeppelin"))["hits"]


def test_answers_are_bounded_and_whole(shop: Shop) -> None:
    for number in range(60):
        shop.session(
            f"s{number}",
            f"> Never use Docker on this machine, it is not installed. {FILLER}",
            f"< Next steps:\n- Limit voucher number{number} redemption{number}",
        )
    shop.index()
    for answer in (
        shop.answers.search("Docker machine", limit=200),
        shop.answers.ledger(limit=200),
        shop.answers.left_open(limit=200),
    ):
        assert len(answer) <= MAX_ANSWER_CHARS
        assert next(iter(json.loads(answer).values()))
    (rule, *_) = json.loads(shop.answers.ledger())["standing"]
    assert rule["sessions"] == 60
    assert len(rule["others"]) == 3


def test_wrong_questions_are_refused_without_words_of_a_file(shop: Shop) -> None:
    (shop.project / "vat.py").write_text("mine alone\n")
    os.mkfifo(shop.project / "pipe")
    shop.session("one", "> Rename the invoice exporter", "< Done.")
    shop.index()
    calls: tuple[tuple[type[Exception], Callable[[], str]], ...] = (
        (UsageError, lambda: shop.answers.blame("vat.py", 7)),
        (UsageError, lambda: shop.answers.search("x", by="nobody")),
        (UsageError, lambda: shop.answers.search(" ")),
        (UsageError, lambda: shop.answers.fix("")),
        (UsageError, lambda: shop.answers.ledger(limit=0)),
        (SourceError, lambda: shop.answers.blame("absent.py")),
        (SourceError, lambda: shop.answers.blame("pipe")),
    )
    for error, ask in calls:
        with pytest.raises(error) as raised:
            ask()
        assert "mine alone" not in str(raised.value)
