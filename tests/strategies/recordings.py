"""Recordings that no recorder writes, as a hypothesis strategy."""

from functools import cache
from importlib.resources import files

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from tests.strategies.varying import varied

from leftoff.errors import UnknownName
from leftoff.formats.reader import formats


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
    found = examples().get(format) if example is None else example
    if found is None:
        raise UnknownName("example of a format", format, examples())
    whole, shape = found, formats.get(format).shape
    # Hypothesis shrinks what it draws: towards no change at all.
    return st.randoms(use_true_random=False).map(lambda chance: varied(whole, shape, chance))
