"""A run: the result of one evaluation as a value, as JSON that can be committed, and as text.

A run holds numbers, file names and positions, never text of a recording."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from leftoff import codec
from leftoff.errors import StateError
from leftoff.evaluation.intervals import Interval

# The lower and the upper bound of a 95 % interval.
Bounds: TypeAlias = tuple[float, float] | None
# Most lines of one kind in a text; the JSON has all. Chosen by hand.
MAX_LISTED = 20


class Run(Struct, frozen=True, kw_only=True, tag_field="schema"):
    """What every run has; each evaluation adds its figures, under a schema of its own. Who
    makes the run gives `date` and `machine`; `left_out`: what was not measured, each with the
    reason."""

    leftoff: str
    date: str = ""
    machine: str = ""
    left_out: tuple[str, ...] = ()

    def blocks(self) -> "Iterator[Block]":
        """The run as text: lines and tables."""
        raise NotImplementedError


R = TypeVar("R", bound=Run)


def to_json(run: Run) -> bytes:
    """A run as JSON that can be committed."""
    return codec.dumps(run)


def from_json(data: bytes, kind: type[R]) -> R:
    """Reads a run of an evaluation that `to_json` wrote; `StateError` where it is none."""
    try:
        run: R = msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError) as error:
        schema = kind.__struct_config__.tag
        raise StateError(f"not a run of the schema {schema}: {error}") from error
    return run


class Table(Struct, frozen=True):
    """Rows of cells, the first a name; a line feed in a heading starts another line."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


Block: TypeAlias = str | Table


def as_text(blocks: Iterable[Block]) -> str:
    """Lines as they are, and tables with the cells of a column at its right edge."""
    lines: list[str] = []
    for block in blocks:
        lines += [block] if isinstance(block, str) else _laid_out(block)
    return "\n".join(lines).rstrip() + "\n"


def _laid_out(table: Table) -> Iterator[str]:
    heads = [head.split("\n") for head in table.heads]
    height = max(map(len, heads), default=0)
    above = [[""] * (height - len(head)) + head for head in heads]
    rows = [*zip(*above, strict=True), *table.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        yield "  ".join((f"{row[0]:{widths[0]}}", *cells)).rstrip()


def cell(value: object, form: str = ".3f") -> str:
    """A number in a table; a dash where there is none."""
    return "-" if value is None else format(value, form)


def span(bounds: Bounds, form: str = ".3f") -> str:
    """Both bounds in brackets, or a dash without an interval."""
    return "-" if bounds is None else f"[{bounds[0]:{form}}, {bounds[1]:{form}}]"


def rounded(value: float | None, digits: int = 4) -> float | None:
    """A figure as a run holds it."""
    return None if value is None else round(value, digits)


def bounds(interval: Interval | None, digits: int = 4) -> Bounds:
    """An interval as a run holds it."""
    if interval is None:
        return None
    return round(interval.low, digits), round(interval.high, digits)
