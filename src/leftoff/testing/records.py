"""Generates recordings that no recorder writes, and checks that any input is read or refused.

    from hypothesis import given
    from leftoff.testing import check_any_input, recordings

    @given(recordings("claude_code"))
    def test_anything_is_read_or_refused(data):
        check_any_input(data, "claude_code")

`recordings` mutates a small valid recording of the format (see `varying`); pass your own for a
format of yours. Only `recordings` needs hypothesis. The contract is: a result or a documented
error, never another exception, and an issue for every bad line.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from leftoff.analysis.session_pass import Pass
from leftoff.analysis.summary_json import from_json, to_json
from leftoff.errors import FormatError, UnknownName
from leftoff.formats.reader import formats
from leftoff.testing.varying import varied

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

WHERE = "<input>"


@cache
def examples() -> dict[str, bytes]:
    """By format: a small made-up recording with every kind of record."""
    folder = files("leftoff.testing") / "examples"
    return {
        place.name.split(".", 1)[0]: place.read_bytes()
        for place in sorted(folder.iterdir(), key=lambda p: p.name)
    }


def recordings(format: str, example: bytes | None = None) -> SearchStrategy[bytes]:
    """Recordings of a format with records missing, doubled and out of order, fields of other
    types and extreme values, ids that form rings or point nowhere, clocks that jump, and bytes
    that are no text.

    Args:
        example: a valid recording to vary, for a format of your own.

    Raises:
        UnknownName: no such format, or none of ours and no example given.
    """
    from hypothesis import strategies as st

    found = examples().get(format) if example is None else example
    if found is None:
        raise UnknownName("example of a format", format, examples())
    whole, shape = found, formats.get(format).shape
    # Hypothesis shrinks what it draws: towards no change at all.
    return st.randoms(use_true_random=False).map(lambda chance: varied(whole, shape, chance))


def check_any_input(data: bytes, format: str | None = None) -> bytes | None:
    """Checks that any bytes give a summary that accounts for every line and can be read again,
    or a documented error.

    Args:
        format: the format to read them as; recognised by content if None.

    Returns:
        the summary as JSON, or None if the bytes were refused.

    Raises:
        AssertionError: names the broken promise.
    """
    reading = Pass(WHERE, format)
    try:
        reading.feed(data)
        reading.close()
    except FormatError as error:
        words = str(error)
        assert words.startswith(f"{WHERE}: "), f"a refusal says where: {words[:200]!r}"
        return None
    summary = reading.conclude()
    lines = summary.stats.lines
    counted = lines.parsed + lines.unknown + lines.repaired + lines.skipped
    assert counted == lines.total, f"{lines.total - counted} lines are not accounted for"
    assert summary.stats.message_count > 0, "a summary of no message"
    reported = sum(i.count for i in summary.issues if i.code != "drift")
    bad = lines.unknown + lines.skipped + lines.repaired
    assert reported or not bad, f"{bad} bad lines, and no issue reports them"
    document = to_json(summary)
    again = from_json(document)
    assert again.stats.message_count == summary.stats.message_count, "it is read otherwise"
    return document


def check_prefix(data: bytes, cut: int, format: str | None = None) -> None:
    """Checks that a recording read in two parts, with the pass saved between them, gives the
    same summary as when it is read at once; `cut` may be any byte offset.

    Raises:
        AssertionError: the summaries differ.
    """
    first = Pass(WHERE, format)
    try:
        first.feed(data[:cut])
        state = first.save()
        second = Pass.load(state, WHERE) if state.offset else Pass(WHERE, format)
        second.feed(data[state.offset :])
        second.close()
        found = to_json(second.conclude())
    except FormatError:
        found = None
    whole = check_any_input(data, format)
    assert found == whole, f"put aside after byte {cut} of {len(data)}, it reads otherwise"
