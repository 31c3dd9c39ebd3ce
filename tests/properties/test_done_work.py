"""Open items are compared with few reports; the answer is that of comparing with each."""

import re

from hypothesis import given
from hypothesis import strategies as st

from leftoff.analysis.done_work import SAME_WORK, DoneWork

TEXTS = st.lists(st.sampled_from("test retry upload cache index parse write hook".split())).map(
    " ".join
)
DONE = st.lists(st.tuples(st.integers(0, 5), TEXTS), max_size=8)


def words(text: str) -> set[str]:
    return set(re.findall(r"\w{4,}", text))


@given(DONE, st.integers(0, 5), TEXTS)
def test_as_compared_with_each(done: list[tuple[int, str]], message: int, text: str) -> None:
    mine = words(text)
    expected = len(mine) >= 2 and any(
        at > message and len(mine & words(report)) >= SAME_WORK * len(mine)
        for at, report in done
    )
    assert DoneWork(done).after(message, text) == expected
