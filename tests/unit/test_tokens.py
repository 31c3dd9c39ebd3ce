"""The estimate and the upper bound of tokens, against counts that public tokenizers gave."""

from collections.abc import Callable
from typing import TypeAlias

import pytest

from leftoff import tokens
from leftoff.text.truncation import truncate
from leftoff.tokens import FAMILIES, estimate_tokens, max_tokens

Linear: TypeAlias = Callable[[Callable[[int], Callable[[], object]], int], None]

# Our own lines, with the counts of the eight tokenizers in the order of FAMILIES (see
# benchmarks/accuracy/tokens/vocabularies.py).
_COUNTED: list[tuple[str, tuple[int, ...]]] = [
    (
        (
            "Use SQLite for the index, since the log must survive a restart; the JS"
            "ON file stays readable beside it, and nothing is written twice."
        ),
        (28, 28, 29, 28, 28, 28, 28, 28),
    ),
    (
        (
            "I'll keep the old parser until the new one reads every recorded sessio"
            "n. Then we can't go back, so the tests must pass first."
        ),
        (29, 29, 29, 29, 27, 29, 27, 29),
    ),
    (
        (
            "## Next steps\n\n1. Run `pytest -q tests/unit/test_lines.py`\n2. Fix the "
            'failing case in `src/parser/lines.py:118`\n3. Commit as "lines: keep wh'
            'at cannot be read"\n'
        ),
        (46, 56, 49, 46, 46, 50, 46, 48),
    ),
    (
        (
            "def read_lines(path: Path, *, limit: int = 100) -> list[str]:\n    with"
            ' path.open(encoding="utf-8") as stream:\n        return [line.rstrip("\\'
            'n") for line in stream][:limit]\n'
        ),
        (47, 53, 50, 47, 49, 52, 48, 49),
    ),
    (
        (
            "Modified: src/storage/files.py, src/storage/sqlite.py, tests/contracts"
            "/test_stores.py; created docs/stores.md; deleted src/legacy/pickle_sto"
            "re.py (12 files, +340 -128)"
        ),
        (44, 54, 49, 44, 43, 50, 43, 49),
    ),
    (
        (
            'git log --oneline -n 5 && grep -rn "max_tokens" src/ | head -20 && pyt'
            "hon -m pytest -x --lf"
        ),
        (32, 32, 33, 32, 32, 33, 32, 33),
    ),
    (
        (
            '{"type": "tool_result", "id": "call_7", "output": {"exit_code": 0, "li'
            'nes": [1, 2, 3]}, "ok": true}'
        ),
        (42, 41, 43, 42, 42, 42, 42, 42),
    ),
    (
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        (43, 44, 43, 43, 43, 59, 43, 59),
    ),
    ("VGhpcyB0ZXh0IHdhcyB3cml0dGVuIGZvciB0aGUgdGVzdA==", (33, 32, 32, 33, 33, 35, 31, 33)),
    (
        "設定ファイルを読み込むときにエラーが発生したので、まず文字コードを確認しました。",
        (42, 37, 21, 25, 16, 28, 25, 22),
    ),
    (
        "Мы решили хранить журнал в одном файле, потому что так его проще проверить.",
        (30, 34, 22, 25, 16, 21, 17, 22),
    ),
    (
        "설정 파일을 읽을 때 오류가 나서 먼저 인코딩을 확인했습니다.",
        (30, 33, 23, 20, 17, 19, 19, 21),
    ),
    ("Done 🎉 tests ✅ build ✅ lint ❌ 👩\u200d💻", (19, 23, 16, 18, 15, 22, 15, 18)),
    ("ﷺ﷽", (6, 18, 6, 6, 6, 5, 5, 2)),
    ("        \n\t\t\t\n\n\n\n", (3, 3, 3, 3, 3, 4, 3, 3)),
    ("=-=-=-=-=~~~~~~~~~~", (4, 4, 5, 4, 4, 10, 4, 4)),
    ("2026-11-21T09:30:15.123456Z 10.0.0.255 8,388,608", (30, 27, 30, 30, 30, 48, 30, 48)),
    ("xqzjvkwpqgqc", (9, 8, 8, 9, 7, 11, 9, 9)),
    ("getHTTPResponseCodeXMLParser", (6, 5, 6, 6, 6, 6, 6, 6)),
]


def test_the_unknown_family_lies_among_the_known() -> None:
    for text, _ in _COUNTED:
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


@pytest.mark.parametrize("piece", ["a", "aB", " ", "-=", "\u0301"])
def test_hostile_text_takes_time_linear_in_its_length(
    piece: str, assert_linear: Linear
) -> None:
    def prepare(size: int) -> Callable[[], object]:
        text = piece * (size // len(piece))
        return lambda: (max_tokens(text), estimate_tokens(text))

    assert_linear(prepare, 400_000)
