"""The estimate and the upper bound of tokens; `calls/tokens.cases` has the counts that public tokenizers gave."""

import pytest

from leftoff import tokens
from leftoff.text.truncation import truncate
from leftoff.tokens import FAMILIES, estimate_tokens, max_tokens


def test_the_unknown_family_lies_among_the_known() -> None:
    for text in (
        "Use SQLite for the index, since the log must survive a restart; nothing is written twice.",
        "def read_lines(path: Path) -> list[str]:\n    return path.read_text().splitlines()\n",
        '{"type": "tool_result", "id": "call_7", "output": {"exit_code": 0, "lines": [1, 2, 3]}}',
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "設定ファイルを読み込むときにエラーが発生したので、まず文字コードを確認しました。",
        "Мы решили хранить журнал в одном файле, потому что так его проще проверить.",
        "Done 🎉 tests ✅ build ✅ lint ❌ 👩\u200d💻",
        "        \n\t\t\t\n\n\n\n",
    ):
        known = [estimate_tokens(text, family) for family in FAMILIES]
        assert min(known) <= estimate_tokens(text) <= max(known)


def test_forgetting_pieces_changes_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "Counts of many pieces: alpha beta gamma delta, in src/parser/lines.py at 12:30. " * 3
    )
    before = (estimate_tokens(text), max_tokens(text))
    monkeypatch.setattr(tokens, "_CACHE_BYTES", 3)
    tokens._max_cost.clear()
    tokens._costs_of.cache_clear()
    assert (estimate_tokens(text), max_tokens(text)) == before


def test_a_long_text_is_read_in_slices_and_near() -> None:
    text = "The parser reads each line once, and keeps what it cannot read in place.\n" * 9000
    whole = sum(estimate_tokens(text[at : at + 73_000]) for at in range(0, len(text), 73_000))
    assert estimate_tokens(text) == pytest.approx(whole, rel=0.02)


def test_a_truncated_text_fills_its_budget_under_the_bound() -> None:
    text = "".join(
        f"- Step {number}: changed `src/parser/lines.py` and ran the tests; all passed.\n"
        for number in range(900)
    )
    result = truncate(text, 2000, measure=max_tokens, marker="\n\n[... truncated ...]")
    assert 0.95 * 2000 <= max_tokens(result) <= 2000


def test_truncation_measures_what_it_is_told_to() -> None:
    def count(text: str) -> int:
        return len(text.encode())

    text = "日本語の文です。次の文です。" * 20
    result = truncate(text, 100, measure=count, marker="…")
    assert count(result) <= 100
    assert count(result) > 50
    assert result.endswith(("。…", "。 …"))
