"""Every format on small recordings, as data: what its reader makes of them, record by record.

`formats/NAME.cases` holds the cases of the format NAME:

    # title                      begins a case
    < a line of the recording    or `<= "..."`, a line as JSON, where it has control characters
    << example                   the recording is the one of `leftoff.testing`
    not known                    the format does not claim this recording
    claimed by NAME              detection gives another format (or `nothing`), which goes first
    > [...]                      a record, without what is a default, its number and its bytes

`LEFTOFF_UPDATE_CASES=1 python -m pytest tests/unit/test_format_cases.py` writes what is read now:
look at the difference before you commit it.
"""

import json
import os
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct
from tests.strategies.recordings import examples

from leftoff import codec
from leftoff.formats.reader import Cursor, Sample, detect, formats
from leftoff.model import Message, Record
from leftoff.testing.checks import registered

FOLDER = Path(__file__).parent / "formats"
PLUGIN = Path(__file__).parents[2] / "examples/plugins/leftoff-datasets"


@pytest.fixture(scope="module", autouse=True)
def plugin() -> Iterator[None]:
    """The formats of the example of a plug-in, which need not be installed."""
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text("utf-8"))["project"]
    with ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).syspath_prepend(PLUGIN)
        for name, where in project["entry-points"]["leftoff.format"].items():
            if name not in formats.owners():
                module, _, attribute = where.partition(":")
                found = getattr(import_module(module), attribute)
                stack.enter_context(registered(formats, name, found))
        yield


def example_of(name: str) -> bytes:
    """The example of a format, shipped or the plug-in's; b"" if it has none."""
    beside = [path.read_bytes() for path in (PLUGIN / "tests/examples").glob(f"{name}.*")]
    return examples().get(name, next(iter(beside), b""))


class Case(Struct):
    """One recording and what is read of it."""

    format: str
    title: str
    data: bytes
    expected: list[str]

    def lines(self) -> Iterator[str]:
        """The case as it stands in its file."""
        yield f"# {self.title}"
        if self.data == example_of(self.format):
            yield from ("<< example", *self.expected, "")
            return
        for line in self.data.decode(errors="surrogateescape").split("\n"):
            plain = line.isprintable() and line == line.strip() or not line
            yield f"< {line}".rstrip() if plain else f"<= {json.dumps(line)}"
        yield from self.expected
        yield ""


def cases(path: Path) -> list[Case]:
    """The cases of a file."""
    found: list[Case] = []
    given: list[str] = []
    for line in path.read_text("utf-8").split("\n"):
        if line.startswith("# "):
            found.append(Case(path.stem, line[2:], b"", []))
            given = []
        elif line == "<< example":
            found[-1].data = example_of(path.stem)
        elif line.startswith("<"):
            given.append(json.loads(line[3:]) if line[1:2] == "=" else line[2:])
            found[-1].data = "\n".join(given).encode(errors="surrogateescape")
        elif line:
            found[-1].expected.append(line)
    return found


def outcome(case: Case) -> list[str]:
    """What a case gives; a reader that is saved between any two lines must give the same."""
    format_ = formats.get(case.format)
    sample = Sample(case.data, complete=True)
    if not format_.detect(sample):
        return ["not known"]
    first = detect(sample)
    claimed = [] if first is format_ else [f"claimed by {first.name if first else 'nothing'}"]
    whole = _records(case, resumed=False)
    assert _records(case, resumed=True) == whole
    taken: dict[str, int] = {}
    for record in whole:
        if isinstance(record, Message):
            assert record.index == taken.get(record.agent, 0)
            taken[record.agent] = record.index + 1
            assert record.raw
            assert record.raw.strip(b"\r\n") in case.data
    return claimed + [f"> {_shown(record)}" for record in whole]


def _records(case: Case, *, resumed: bool) -> list[Record]:
    format_ = formats.get(case.format)
    reader: Any = format_.reader()
    cursor = Cursor()
    found: list[Record] = []
    in_lines = format_.shape != "document"
    for piece in case.data.splitlines(keepends=True) if in_lines else [case.data]:
        cursor.raw = piece
        cursor.line += in_lines
        given: Iterable[Any] = [piece]
        if format_.shape == "lines":
            given = codec.LineDecoder(reader.record).decode(piece)[0]
        for record in given:
            found += reader.read(record, cursor)
        if resumed:
            reader = codec.unpack_state(codec.pack_state(reader), type(reader))
    cursor.ended = True
    return [*found, *reader.read(b"", cursor)] if format_.shape == "text" else found


def _shown(record: Record) -> str:
    def plain(value: Any) -> Any:
        if isinstance(value, Struct):
            fields = msgspec.structs.fields(value)
            given = {
                f.name: plain(getattr(value, f.name))
                for f in fields
                if f.name not in {"index", "raw"} and getattr(value, f.name) != f.default
            }
            name = type(value).__name__
            return [name, given] if len(given) > 1 else [name, *given.values()]
        if isinstance(value, (list, tuple)):
            return [plain(v) for v in value]
        return value

    return json.dumps(plain(record), ensure_ascii=False, default=repr)


EVERY = [case for path in sorted(FOLDER.glob("*.cases")) for case in cases(path)]


@pytest.mark.parametrize("case", EVERY, ids=lambda case: f"{case.format}: {case.title}")
def test_case(case: Case) -> None:
    if os.environ.get("LEFTOFF_UPDATE_CASES"):
        _write(case)
    assert outcome(case) == case.expected


def _write(case: Case) -> None:
    path = FOLDER / f"{case.format}.cases"
    mine = [one for one in EVERY if one.format == case.format]
    case.expected = outcome(case)
    path.write_text("\n".join(line for one in mine for line in one.lines()), "utf-8")
