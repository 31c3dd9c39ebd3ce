"""Writes the corpus's LangChain and Semantic Kernel sessions with those libraries themselves.

python benchmarks/recording/frameworks.py langchain corpora         needs langchain-core
python benchmarks/recording/frameworks.py semantic_kernel corpora   needs semantic-kernel

The words are ours; the layout is the library's own, from its own serialiser. Neither library is
needed for anything else here.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

LABELS = """\
def line(article):
    return f"{article.name[:18]:18}{article.price:>8.2f}"
"""
LABELS_FIXED = """\
from unicodedata import east_asian_width

WIDE = {"W", "F"}


def columns(text):
    return sum(2 if east_asian_width(c) in WIDE else 1 for c in text)


def fit(text, width):
    while columns(text) > width:
        text = text[:-1]
    return text + " " * (width - columns(text))


def line(article):
    return f"{fit(article.name, 18)}{article.price:>8.2f}"
"""


def langchain(corpora: Path) -> None:
    """`messages_to_dict` and `dumps` of one conversation about a label printer."""
    made = import_module("langchain_core.messages")
    load = import_module("langchain_core.load")

    def said(number: int, text: str, *calls: tuple[str, dict[str, Any]], out: int) -> Any:
        into = 900 + 260 * number
        return made.AIMessage(
            content=text,
            tool_calls=[
                {"name": name, "args": args, "id": f"call_{number}{place}"}
                for place, (name, args) in enumerate(calls)
            ],
            id=f"run-{number}",
            response_metadata={"model_name": "model-a", "finish_reason": "stop"},
            usage_metadata={
                "input_tokens": into,
                "output_tokens": out,
                "total_tokens": into + out,
                "input_token_details": {"cache_read": 640 if number else 0},
            },
        )

    def back(call: str, name: str, text: str, *, failed: bool = False) -> Any:
        status = "error" if failed else "success"
        return made.ToolMessage(text, tool_call_id=call, name=name, status=status)

    talk = [
        made.SystemMessage("You work in /home/dev/shelf. Tools: run, read_file, write_file."),
        made.HumanMessage(
            "The shelf labels of the Osaka shop are crooked: the price column moves to the "
            "right as soon as the article has a Japanese name. Please fix it without a new "
            "dependency."
        ),
        said(
            0,
            "I'll look at how a line is put together.",
            ("read_file", {"path": "shelf/labels.py"}),
            ("run", {"command": "python -m pytest -q"}),
            out=46,
        ),
        back("call_00", "read_file", LABELS),
        back("call_01", "run", "4 passed in 0.11s"),
        said(
            1,
            "The line cuts and pads by code points, but a kanji takes two columns on the "
            "printer. I'll use unicodedata.east_asian_width from the standard library instead "
            "of wcwidth, because you want no new dependency. First a test that fails.",
            (
                "write_file",
                {
                    "path": "tests/test_widths.py",
                    "content": "from shelf.labels import columns, line\n"
                    "from shelf.articles import Article\n\n\n"
                    "def test_a_price_stands_in_one_column():\n"
                    "    tea, kanji = Article('Tea', 3.5), Article('\u714e\u8336', 3.5)\n"
                    "    assert columns(line(tea)) == columns(line(kanji))\n",
                },
            ),
            ("run", {"command": "python -m pytest -q tests/test_widths.py"}),
            out=188,
        ),
        back("call_10", "write_file", "created tests/test_widths.py"),
        back(
            "call_11",
            "run",
            "ImportError: cannot import name 'columns' from 'shelf.labels'\n1 error in 0.08s",
            failed=True,
        ),
        said(
            2,
            "It fails as it should. Now the function itself.",
            ("write_file", {"path": "shelf/labels.py", "content": LABELS_FIXED}),
            ("run", {"command": "python -m pytest -q"}),
            out=171,
        ),
        back("call_20", "write_file", "wrote shelf/labels.py"),
        back("call_21", "run", "5 passed in 0.12s"),
        said(
            3,
            "Fixed: names are cut and padded by columns, and the price stays where it is. All "
            "5 tests pass. Still open: half-width katakana with a combining mark count as two.",
            out=58,
        ),
        made.HumanMessage("Good. Leave the katakana for now, nobody sells those."),
        said(4, "Understood, I leave it as it is.", out=12),
    ]
    folder = corpora / "sessions" / "langchain"
    folder.mkdir(parents=True, exist_ok=True)
    listed = json.dumps(made.messages_to_dict(talk), indent=1, ensure_ascii=False)
    (folder / "labels.json").write_text(listed + "\n", encoding="utf-8")
    dumped = json.dumps(json.loads(load.dumps(talk)), indent=1, ensure_ascii=False)
    (folder / "labels-dumps.json").write_text(dumped + "\n", encoding="utf-8")


def semantic_kernel(corpora: Path) -> None:
    """`ChatHistory.serialize()` of a conversation about a bank import."""
    kernel = import_module("semantic_kernel.contents")
    call_type = kernel.FunctionCallContent
    result_type = kernel.FunctionResultContent
    assistant = import_module("semantic_kernel.contents.utils.author_role").AuthorRole.ASSISTANT

    history = kernel.ChatHistory(
        system_message="You work on the bank import in /home/dev/ledger with the FileSystem "
        "and Shell plug-ins."
    )

    def said(number: int, text: str, *calls: tuple[str, str, dict[str, Any], str]) -> None:
        made = [
            call_type(
                id=f"call_{number}{place}",
                plugin_name=plugin,
                function_name=function,
                arguments=json.dumps(arguments),
            )
            for place, (plugin, function, arguments, _) in enumerate(calls)
        ]
        history.add_message(
            kernel.ChatMessageContent(
                role=assistant,
                items=[kernel.TextContent(text=text), *made],
                ai_model_id="model-a",
                metadata={
                    "id": f"chatcmpl-{number}",
                    "created": 1773900000 + 40 * number,
                    "usage": {"prompt_tokens": 700 + 310 * number, "completion_tokens": 60},
                },
            )
        )
        for call, (_, _, _, result) in zip(made, calls, strict=True):
            content = result_type.from_function_call_content_and_result(call, result)
            history.add_message(content.to_chat_message_content())

    history.add_user_message(
        "The import of the March statement stops at line 212. Find out why. Never drop a "
        "booking silently: if a line cannot be read, it goes to rejects.csv."
    )
    said(
        0,
        "I'll look at the line and at the parser.",
        (
            "Shell",
            "run",
            {"command": "sed -n 212p statements/march.csv"},
            '12.03.2026;"Baker & Sons; refund";-14,90\n',
        ),
        (
            "FileSystem",
            "read_file",
            {"path": "ledger/imports.py"},
            "def fields(line):\n    return line.rstrip().split(';')\n",
        ),
    )
    said(
        1,
        "The name holds the separator inside quotes, and split() takes it for a fourth field. "
        "I decided to use the csv module rather than a regular expression, since it knows the "
        "quotes already.",
        (
            "FileSystem",
            "write_file",
            {
                "path": "ledger/imports.py",
                "content": "import csv\n\n\ndef rows(lines, rejects):\n"
                "    for row in csv.reader(lines, delimiter=';'):\n"
                "        if len(row) == 3:\n            yield row\n"
                "        else:\n            rejects.append(row)\n",
            },
            "ok",
        ),
        (
            "Shell",
            "run",
            {"command": "dotnet test"},
            "error: no project or solution file in this folder\n",
        ),
    )
    said(
        2,
        "Wrong runner; the tests are pytest.",
        ("Shell", "run", {"command": "python -m pytest -q"}, "9 passed in 0.31s\n"),
    )
    said(
        3,
        "The March statement is read to its end: 388 bookings, none rejected. Next step: "
        "writing rejects.csv, since the list is only kept in memory so far.",
    )
    folder = corpora / "sessions" / "semantic_kernel"
    folder.mkdir(parents=True, exist_ok=True)
    dumped = json.dumps(json.loads(history.serialize()), indent=1, ensure_ascii=False)
    (folder / "imports.json").write_text(dumped + "\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Write the sessions of the library that the first argument names."""
    writers = {"langchain": langchain, "semantic_kernel": semantic_kernel}
    if len(arguments) != 2 or arguments[0] not in writers:
        print(__doc__, file=sys.stderr)
        return 2
    writers[arguments[0]](Path(arguments[1]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
