"""Documentation, help and messages use plain words: none of `odd_words.toml`.

The help of every command stands in docs/reference/cli.md, so the pages cover it. Messages are the
string constants of the package that hold a phrase of less than 500 characters; patterns, queries,
docstrings and questions for a model are not.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORDS = tomllib.loads(Path(__file__).with_name("odd_words.toml").read_text("utf-8"))["word"]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
_ODD = re.compile(
    r"\b(?:" + "|".join(word["pattern"] for word in WORDS) + r")\b", re.IGNORECASE
)
_NO_PROSE = re.compile(
    r"^```.*?^```$|<!--.*?-->|`[^`\n]*`|<code>.*?</code>|\]\([^)\n]*\)|^    [^\n]*$",
    re.DOTALL | re.MULTILINE,
)
_NO_MESSAGE = re.compile(r"\\[bswd]|\(\?|\b(?:SELECT|INSERT|CREATE|UPDATE|DELETE)\b")


def prose(page: str) -> str:
    """A page without code, links and comments, on the same lines."""
    return _NO_PROSE.sub(lambda match: "\n" * match[0].count("\n"), page)


def messages(module: ast.Module) -> Iterator[ast.Constant]:
    """The string constants of a module that may be a message."""
    documentation = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and " " in node.value.strip()
            and len(node.value) < 500
            and id(node) not in documentation
            and not _NO_MESSAGE.search(node.value)
        ):
            yield node


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_plain_words(page: Path) -> None:
    lines = prose(page.read_text("utf-8")).splitlines()
    found = [
        f"{n}: {m[0]}: {line}" for n, line in enumerate(lines, 1) for m in _ODD.finditer(line)
    ]
    assert found == [], "odd_words.toml names a plain word for each"


def test_messages_use_plain_words() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        if _ODD.search(text := path.read_text("utf-8"))  # else it needs no parsing
        for node in messages(ast.parse(text))
        if isinstance(node.value, str) and _ODD.search(node.value)
    ]
    assert found == [], "odd_words.toml names a plain word for each"


def test_the_check_finds_them_in_prose_only() -> None:
    page = "He told it.\n```\nkept\n```\n`kept` [so](gone.md) <!-- odd -->\n    kept\n"
    assert [match[0] for match in _ODD.finditer(prose(page))] == ["told"]
    assert _ODD.search("--shape seed001, an oddly gifted talker, --seed 1") is None
    module = ast.parse('"""told"""\nA = "it was told so"\nB = r"\\bkept \\w+"\nC = "told"\n')
    assert [node.value for node in messages(module)] == ["it was told so"]
