"""For people who extend leftoff: does what you have made keep the promises of its kind?

    from leftoff.testing import check_format

    def test_my_format_keeps_its_promises():
        check_format(FORMAT, Path("example.session").read_bytes())

Each check runs on your own example, and on that example cut, doubled and damaged. It raises an
`AssertionError` that says which promise is broken. `leftoff.testing.conversations` makes up
conversations with hypothesis, and `recordings` recordings that no recorder writes; hypothesis
has to be installed for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from leftoff.analysis.session_pass import Pass
from leftoff.analysis.summary_json import to_json
from leftoff.errors import LeftoffError
from leftoff.extraction.evidence import Evidence
from leftoff.extraction.extractor import Extractor, extractors
from leftoff.formats.reader import Format, Sample, detect, formats
from leftoff.model import Message, Ref
from leftoff.redaction.redactor import Finder, Redactor
from leftoff.registry import Registry
from leftoff.testing.records import check_any_input, check_prefix, recordings
from leftoff.testing.stores import check_store

__all__ = [
    "check_any_input",
    "check_extractor",
    "check_format",
    "check_prefix",
    "check_redactor",
    "check_store",
    "recordings",
]

_PLAIN = re.compile(r"[a-z][a-z0-9_]*")
_JUNK = (
    b"",
    b"\n\n\n",
    b"\x00" * 64,
    bytes(range(256)),
    b"Dear diary,\nnothing happened.\n",
    b"{}",
    b"[]",
    b"[[[[",
    b'{"a": {"b": [1, null, "\\ud800"]}}\n' * 3,
    b'{"type": 7, "message": [], "role": {}, "content": 1}\n' * 3,
    b'[{"role": null, "content": {}}]',
)
_ODD = (
    "",
    " ",
    "\x00",
    "a" * 100_000,
    "\u202eabc",
    "é" * 50,
    "\n" * 500,
    "{[(<" * 99,
    "🙂👩‍👩‍👧",
)


# -- formats ---------------------------------------------------------------------------------


def check_format(format: Format, example: bytes) -> None:
    """Whether a format keeps its promises, on an example of it with at least one message.

    It recognises the example and nothing that is none; no input makes it raise; messages are
    numbered without gaps and know their place; every line is accounted for; the reader can be
    put aside between any two lines; damage costs what is damaged.

    Raises:
        AssertionError: says which promise is broken.
    """
    name = format.name
    assert _PLAIN.fullmatch(name), f"{name!r}: a name is small letters, digits and _"
    shapes = ("lines", "document", "text")
    assert format.shape in shapes, f"shape is {format.shape!r}, must be one of {shapes}"
    assert issubclass(format.reader, msgspec.Struct), "reader must be a msgspec.Struct class"
    assert hasattr(format.reader, "record"), "reader must name the type of its `record`s"
    assert format.detect(Sample(example, complete=True)), "detect() must know the example"
    for junk in _JUNK:
        for complete in (True, False):
            answer = format.detect(Sample(junk, complete))
            assert not answer, f"detect() must not claim {junk[:40]!r}"
    with lent(formats, name, format):
        known = detect(Sample(example, complete=True))
        taken = known.name if known else "no format"
        assert known is format, f"the example is recognised as {taken}: make detect() surer"
        whole = _pass(name, example)
        messages = whole.messages
        assert messages, "the example must hold a message"
        _places(messages)
        lines = whole.lines
        counted = lines.parsed + lines.unknown + lines.repaired + lines.skipped
        assert counted == lines.total, f"{lines.total - counted} lines are not accounted for"
        assert not lines.unknown, f"the example has {lines.unknown} records of unknown kinds"
        again = _pass(name, example)
        assert again.messages == messages, "reading twice must give the same messages"
        if format.shape != "document":
            _resumes(name, example)
        for damaged in _damaged(example):
            try:
                _pass(name, damaged)
            except LeftoffError:
                continue  # said in words that nothing is left


class _Reading(Pass):
    """A pass that keeps the messages that it was given."""

    def __init__(self, format: str | None, extra: Sequence[str] = ()) -> None:
        super().__init__("<example>", format, extra)
        self.messages: list[Message] = []

    def _message(self, m: Message) -> None:
        self.messages.append(m)
        super()._message(m)


def _pass(name: str | None, data: bytes, extra: Sequence[str] = ()) -> _Reading:
    reading = _Reading(name, extra)
    reading.feed(data)
    reading.close()
    return reading


def _places(messages: Iterable[Message]) -> None:
    taken: dict[str, int] = {}
    for m in messages:
        if m.index == 0:
            taken[m.agent] = 0  # the next session of a container
        want = taken.get(m.agent, 0)
        assert m.index == want, f"message {m.index} comes where {want} is next: cursor.take()"
        taken[m.agent] = want + 1
        assert (m.line is None) != (m.item is None), (
            f"message {m.index}: line or item, not both"
        )
        assert m.raw, f"message {m.index} does not keep its raw bytes: raw=cursor.raw"
        for typed in m.typed:
            assert typed.part < len(m.parts), f"message {m.index}: typed names no part"
            text = getattr(m.parts[typed.part], "text", "")
            inside = 0 <= typed.start <= typed.end <= len(text)
            assert inside, f"message {m.index}: typed {typed} lies outside its text"


def _resumes(name: str, example: bytes) -> None:
    whole = to_json(_pass(name, example).conclude())
    ends = [n + 1 for n, byte in enumerate(example) if byte == 0x0A]
    for end in ends[:: max(1, len(ends) // 20)]:
        first = Pass("<example>", name)
        first.feed(example[:end])
        second = Pass.load(first.save(), "<example>")
        second.feed(example[second.offset :])
        second.close()
        found = to_json(second.conclude())
        assert found == whole, (
            f"put aside after byte {end} and taken up again, it reads otherwise: all state "
            "must stand in the reader's fields"
        )


def _damaged(example: bytes) -> Iterator[bytes]:
    """The example as bad discs and interrupted programs leave it."""
    size = len(example)
    yield from (example[: size * part // 7] for part in range(1, 7))
    yield from (example[size * part // 7 :] for part in range(1, 7))
    lines = example.splitlines(keepends=True)
    for number in range(0, len(lines), max(1, len(lines) // 25)):
        yield b"".join(lines[:number] + lines[number + 1 :])
        yield b"".join(lines[: number + 1] + lines[number:])
    yield b"".join(reversed(lines))
    for old, new in (
        (b'"', b""), (b": ", b":"), (b"{", b"["), (b"null", b"7"), (b"true", b'"true"'),
        (b'": "', b'": ["'), (b'":"', b'":{"'), (b"e", b"\xff"), (b"a", b"\x00"),
    ):  # fmt: skip
        yield example.replace(old, new, 3)
        yield example.replace(old, new)


# -- extractors ------------------------------------------------------------------------------


def check_extractor(extractor: type[Extractor], example: bytes) -> list[Evidence]:
    """Whether an extractor keeps its promises, on a recording in any known format.

    It says what it wants; all that it finds has a place; it finds the same again; the built-in
    ones find what they found without it; it can be put aside between any two lines.

    Returns:
        what it found in the example, which must be something.

    Raises:
        AssertionError: says which promise is broken.
    """
    assert issubclass(extractor, msgspec.Struct), "an extractor is a msgspec.Struct class"
    name = extractor.name
    assert _PLAIN.fullmatch(name), f"{name!r}: a name is small letters, digits and _"
    wants = extractor.wants
    assert isinstance(wants, int), "wants must be flags of leftoff.extraction.extractor"
    assert wants, "wants must name something, or it is shown nothing"
    with lent(extractors, name, extractor):
        without, whole = _pass(None, example), _pass(None, example, (name,))
        before, after = _evidence(without), _evidence(whole)
        found = _added(before, after)
        assert found, "it found nothing in the example"
        for item in found:
            known = isinstance(item, Evidence)
            assert known, f"{item!r} is no evidence of leftoff.extraction.evidence"
            places = [v for v in msgspec.structs.astuple(item) if isinstance(v, Ref)]
            for ref in places:
                placed = (ref.line is None) != (ref.item is None) and bool(ref.hash)
                assert placed, f"{item!r} has no place: view.text_ref() or view.record_ref()"
        again = _evidence(_pass(None, example, (name,)))
        assert again == after, "reading twice must find the same"
        assert whole.format is not None
        if whole.format.shape != "document":
            _takes_up(name, example, after)
    return found


def _evidence(reading: Pass) -> list[Evidence]:
    return [e for s in reading.sessions for r in s.values() for e in r.evidence]


def _added(before: list[Evidence], after: list[Evidence]) -> list[Evidence]:
    """What is in `after` and not in `before`; nothing may be missing, and order stays."""
    found: list[Evidence] = []
    known = iter(before)
    want = next(known, None)
    for item in after:
        if want is not None and item == want:
            want = next(known, None)
        else:
            found.append(item)
    assert want is None, f"with it, other extractors no longer find {want!r}"
    return found


def _takes_up(name: str, example: bytes, whole: list[Evidence]) -> None:
    ends = [n + 1 for n, byte in enumerate(example) if byte == 0x0A]
    for end in ends[:: max(1, len(ends) // 12)]:
        first = Pass("<example>", None, (name,))
        first.feed(example[:end])
        second = Pass.load(first.save(), "<example>", (name,))
        second.feed(example[second.offset :])
        second.close()
        same = _evidence(second) == whole
        assert same, f"put aside after byte {end}, it finds otherwise: state is in the fields"


# -- redactors -------------------------------------------------------------------------------


def check_redactor(
    redactor: Finder, hides: Iterable[tuple[str, str]], keeps: Iterable[str]
) -> None:
    """Whether a redactor keeps its promises.

    Its spans lie inside the text; no text makes it raise; the secrets go and all else stays;
    what is redacted already stays as it is.

    Args:
        hides: pairs of a text and the secret in it.
        keeps: texts that must stay as they are.

    Raises:
        AssertionError: says which promise is broken.
    """
    for text in _ODD:
        for span in redactor(text):
            inside = 0 <= span.start <= span.end <= len(text)
            assert inside, f"{span} lies outside a text of {len(text)} characters"
    pairs = list(hides)
    assert pairs, "give at least one text with its secret"
    for text, secret in pairs:
        assert secret in text, f"{secret!r} does not stand in {text!r}"
        shown = Redactor(extra=[redactor]).text(text)
        assert secret not in shown, f"{secret!r} is still to be seen in {shown!r}"
        again = Redactor(extra=[redactor]).text(shown)
        assert again == shown, f"redacted twice it changes: {shown!r} becomes {again!r}"
    for text in keeps:
        shown = Redactor(extra=[redactor]).text(text)
        assert shown == text, f"{text!r} must stay, and became {shown!r}"


@contextmanager
def lent(registry: Registry[Any], name: str, thing: Any) -> Iterator[None]:
    """A thing that answers to a name for as long as the block runs; one that is registered
    under that name already stays so.

    Raises:
        UsageError: the name belongs to another thing.
    """
    if name in registry and registry.get(name) is thing:
        yield
        return
    registry.register(name)(thing)
    try:
        yield
    finally:
        registry.withdraw(name)
