"""Formats, extractors and redactors: what is built in keeps the promises of its kind, what
breaks one is found out, and what other packages bring is found by entry point."""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec import Struct
from tests.strategies.conversations import Call, Step
from tests.strategies.writers import WRITERS

from leftoff.errors import UnknownName, UsageError
from leftoff.extraction.evidence import Evidence, Noted, Said
from leftoff.extraction.extractor import RESULT, TEXT, View, extractors
from leftoff.formats.reader import Cursor, Format, Sample, formats
from leftoff.model import Message, Record, Ref, Text
from leftoff.redaction.redactor import Redactor, Span
from leftoff.registry import Registry
from leftoff.testing.checks import check_extractor, check_format, check_redactor

TALK = (
    Step("user", "Sort the invoices by date."),
    Step("agent", "I will.", (Call("call_1", "lookup_order", {"id": 7}, "no such order", True),)),
    Step("agent", "Sorted them."),
    Step("user", "Thanks."),
    Step("agent", "I decided to keep the old order in a backup, because it is asked for."),
)  # fmt: skip


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_built_in_formats_keep_their_promises(name: str) -> None:
    check_format(formats.get(name), WRITERS[name](TALK))


# -- formats that break a promise ------------------------------------------------------------


class Line(Struct):
    say: str = ""


class PlainReader(Struct):
    record: ClassVar[Any] = Line

    def read(self, line: Line, cursor: Cursor) -> Iterable[Record]:
        text = (Text(line.say),)
        return (Message(cursor.take(), "user", text, cursor.line, None, raw=cursor.raw),)


class Forgetful(PlainReader):
    """Gives out its own numbers."""

    def read(self, line: Line, cursor: Cursor) -> Iterable[Record]:
        return (Message(7, "user", (Text(line.say),), cursor.line, None, raw=cursor.raw),)


class Placeless(PlainReader):
    """Does not say where its messages stand."""

    def read(self, line: Line, cursor: Cursor) -> Iterable[Record]:
        return (Message(cursor.take(), "user", (Text(line.say),), raw=cursor.raw),)


class Brittle(PlainReader):
    """Trusts what it reads."""

    def read(self, line: Line, cursor: Cursor) -> Iterable[Record]:
        if not line.say:
            raise KeyError("say")
        return super().read(line, cursor)


class Hidden(PlainReader):
    """Keeps state outside of its fields."""

    seen: ClassVar[list[str]] = []

    def read(self, line: Line, cursor: Cursor) -> Iterable[Record]:
        Hidden.seen.append(line.say)
        text = (Text(f"{len(Hidden.seen)}: {line.say}"),)
        return (Message(cursor.take(), "user", text, cursor.line, None, raw=cursor.raw),)


def says(sample: Sample) -> bool:
    return bool(sample.lines) and all("say" in line for line in sample.lines)


def spoken(reader: type[Any] = PlainReader, **more: Any) -> Format:
    return Format(
        **{"name": "said", "shape": "lines", "reader": reader, "detect": says, **more}
    )


EXAMPLE = b"".join(b'{"say": "line %d"}\n' % n for n in range(9))


def test_a_plain_format_passes() -> None:
    check_format(spoken(), EXAMPLE)
    assert "said" not in formats


@pytest.mark.parametrize(
    "broken,promise",
    [
        (spoken(Forgetful), "cursor.take"), (spoken(Placeless), "line or item"),
        (spoken(Hidden), "must give the same|reads otherwise"),
        (spoken(name="Said!"), "a name is"), (spoken(shape="table"), "shape is 'table'"),
        (spoken(dict), "msgspec.Struct"), (spoken(detect=lambda _: True), "must not claim"),
        (spoken(detect=lambda _: False), "must know the example"),
    ],
    ids=lambda value: getattr(getattr(value, "reader", value), "__name__", str(value)),
)  # fmt: skip
def test_a_broken_promise_of_a_format_is_named(broken: Any, promise: str) -> None:
    Hidden.seen.clear()
    with pytest.raises(AssertionError, match=promise):
        check_format(broken, EXAMPLE)


def test_a_format_that_trusts_its_input_is_found_out() -> None:
    with pytest.raises(KeyError):
        check_format(spoken(Brittle), EXAMPLE)


# -- extractors ------------------------------------------------------------------------------


class Backups(Struct):
    """Sentences about backups, with a count."""

    name: ClassVar[str] = "backups"
    wants: ClassVar[int] = TEXT

    count: int = 0

    def see(self, view: View) -> Iterable[Evidence]:
        for number, part in enumerate(view.message.parts):
            if isinstance(part, Text) and "backup" in part.text:
                self.count += 1
                yield Noted(self.name, view.text_ref(number, 0, len(part.text)), self.count)


class Everywhere(Backups):
    """Counts in the class, not in its fields."""

    name: ClassVar[str] = "everywhere"
    total: ClassVar[list[int]] = []

    def see(self, view: View) -> Iterable[Evidence]:
        Everywhere.total.append(1)
        for number, _ in enumerate(view.message.parts):
            yield Noted(self.name, view.text_ref(number, 0, 1), len(Everywhere.total))


class Nowhere(Backups):
    name: ClassVar[str] = "nowhere"

    def see(self, view: View) -> Iterable[Evidence]:
        yield Said("finding", "r", Ref(), "somewhere")


class Answered(Struct):
    """The call of each result; a message may have thousands, so they are looked up."""

    name: ClassVar[str] = "answered"
    wants: ClassVar[int] = RESULT

    def see(self, view: View) -> Iterable[Evidence]:
        calls = view.calls
        for number, _ in enumerate(view.message.parts):
            assert view.calls is calls, "not made again for each look-up"
            if call := calls.get(number):
                yield Noted(self.name, view.record_ref(number), call.name)


class Silent(Backups):
    name: ClassVar[str] = "silent"

    def see(self, view: View) -> Iterable[Evidence]:
        return ()


@pytest.mark.parametrize("name", ["claude_code", "codex", "gemini_cli"])
def test_an_extractor_passes_on_any_format(name: str) -> None:
    (found,) = check_extractor(Backups, WRITERS[name](TALK))
    assert isinstance(found, Noted)
    assert found.value == 1
    assert "backups" not in extractors
    (found,) = check_extractor(Answered, WRITERS[name](TALK))
    assert isinstance(found, Noted)
    assert found.value == "lookup_order"


@pytest.mark.parametrize(
    "broken,promise",
    [
        (Everywhere, "must find the same"),
        (Nowhere, "has no place"),
        (Silent, "found nothing"),
        (type("Blind", (Backups,), {"wants": 0, "__module__": __name__}), "wants must name"),
    ],
)
def test_a_broken_promise_of_an_extractor_is_named(broken: Any, promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_extractor(broken, WRITERS["leftoff"](TALK))


# -- redactors -------------------------------------------------------------------------------


def badges(text: str) -> list[Span]:
    return [Span(*found.span(), "badge") for found in re.finditer(r"\bEMP-\d{4}\b", text)]


def test_a_redactor_passes() -> None:
    check_redactor(badges, [("by EMP-2045", "EMP-2045")], ["TEMP-2045", "EMP-1"])
    shown = Redactor(extra=[badges]).text("EMP-2045, EMP-1111, EMP-2045")
    assert shown == "[REDACTED:badge:1], [REDACTED:badge:2], [REDACTED:badge:1]"


def test_a_broken_promise_of_a_redactor_is_named() -> None:
    pair = [("by EMP-2045", "EMP-2045")]
    with pytest.raises(AssertionError, match="still to be seen"):
        check_redactor(lambda _: [], pair, [])
    with pytest.raises(AssertionError, match="must stay"):
        check_redactor(badges, pair, ["EMP-3333"])
    with pytest.raises(AssertionError, match="outside a text"):
        check_redactor(lambda text: [Span(0, len(text) + 1, "x")], pair, [])


# -- entry points ----------------------------------------------------------------------------

MODULE = """
from leftoff.redaction import Span
class Tape:
    name, shape, reader = "tape", "lines", None
    def detect(self, sample):
        return sample.data.startswith(b"TAPE")
TAPE = Tape()
def pets(text):
    return []
"""


@pytest.fixture
def distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of somebody else's on sys.path; its entry points are written by the test."""
    (tmp_path / "tapes.py").write_text(MODULE)
    info = tmp_path / "tapes-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tapes\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield info / "entry_points.txt"
    sys.modules.pop("tapes", None)


def registry(kind: str = "format", **builtin: str) -> Registry[Any]:
    return Registry(kind, {"ours": "leftoff.formats.native:FORMAT", **builtin})


@pytest.mark.parametrize("kind,name", [("format", "TAPE"), ("redactor", "pets")])
def test_what_another_package_brings_answers_to_its_name(
    distribution: Path, kind: str, name: str
) -> None:
    distribution.write_text(f"[leftoff.{kind}]\nmine = tapes:{name}\n")
    known = registry(kind)
    assert known.names() == ["ours"]
    assert known.get("ours") is not None
    assert "tapes" not in sys.modules, "nothing is scanned for a name that we have"
    assert known.get("mine") is getattr(sys.modules["tapes"], name)
    assert known.owners() == {"ours": "leftoff", "mine": "tapes"}
    assert [found for found, _ in known.outside()] == ["mine"]


def test_a_package_that_does_not_load_is_named(distribution: Path) -> None:
    distribution.write_text("[leftoff.format]\nworn = tapes:WORN\ngone = no_such_module:X\n")
    known = registry()
    with pytest.raises(UsageError, match=r"'worn' of tapes cannot be loaded.*AttributeError"):
        known.get("worn")
    with pytest.raises(UsageError, match=r"'gone' of tapes cannot be loaded.*ModuleNotFound"):
        known.get("gone")
    with pytest.raises(UnknownName, match="did you mean 'worn'"):
        known.get("wurn")


def test_another_packages_format_is_asked_when_ours_do_not_answer(
    distribution: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from leftoff.formats import reader as module

    distribution.write_text("[leftoff.format]\ntape = tapes:TAPE\n")
    monkeypatch.setattr(module, "formats", registry(leftoff="leftoff.formats.native:FORMAT"))
    found = module.detect(Sample(b"TAPE 1\n", complete=True))
    assert found is not None
    assert found.name == "tape"
    assert module.detect(Sample(b"nothing of the kind", complete=True)) is None
