"""Contract tests for formats, extractors, redactors, stores and readers of other packages.

    from leftoff.testing import check_format

    def test_my_format_keeps_its_promises():
        check_format(FORMAT, Path("example.session").read_bytes())

Each check runs on your own example, and on that example cut, doubled and damaged. It raises an
`AssertionError` that names the broken promise."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from leftoff.analysis.session_pass import Pass
from leftoff.analysis.summary_json import from_json, to_json
from leftoff.api import HeardPass, create_context_summary
from leftoff.errors import FormatError, LeftoffError
from leftoff.extraction.evidence import Evidence
from leftoff.extraction.extractor import Extractor, extractors
from leftoff.formats.reader import Format, Sample, detect, formats
from leftoff.handover.second_reader import InvalidAnswer, Reader, parse_answer, questions
from leftoff.model import Message, Ref
from leftoff.redaction.redactor import Finder, Redactor
from leftoff.registry import Registry

WHERE = "<input>"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
# What lies beside recordings, and what a careless `detect` takes for one.
_NOT_RECORDINGS = (
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
# Empty, long, invisible, wide and nested: what a pattern was not thought of for.
_ODD_TEXTS = (
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
    """Checks the contract of a format on an example with at least one message.

    The format recognises the example and no other data; no input makes it raise; messages are
    numbered without gaps and have a position; every line is accounted for; reading can be
    suspended between any two lines; damage affects only the damaged part.

    Raises:
        AssertionError: names the broken promise."""
    name = format.name
    assert _NAME.fullmatch(name), f"{name!r}: a name is small letters, digits and _"
    shapes = ("lines", "document", "text")
    assert format.shape in shapes, f"shape is {format.shape!r}, must be one of {shapes}"
    assert issubclass(format.reader, msgspec.Struct), "reader must be a msgspec.Struct class"
    assert hasattr(format.reader, "record"), "reader must name the type of its `record`s"
    assert format.detect(Sample(example, complete=True)), "detect() must know the example"
    for junk in _NOT_RECORDINGS:
        for complete in (True, False):
            answer = format.detect(Sample(junk, complete))
            assert not answer, f"detect() must not claim {junk[:40]!r}"
    # Detection is a contest: only among all formats does it show who claims too much.
    with registered(formats, name, format):
        known = detect(Sample(example, complete=True))
        taken = known.name if known else "no format"
        assert known is format, f"the example is recognised as {taken}: make detect() surer"
        whole, messages = _messages(name, example)
        assert messages, "the example must hold a message"
        _check_positions(messages)
        lines = whole.lines
        counted = lines.parsed + lines.unknown + lines.repaired + lines.skipped
        assert counted == lines.total, f"{lines.total - counted} lines are not accounted for"
        # The author's own example must not hold what the format does not know.
        assert not lines.unknown, f"the example has {lines.unknown} records of unknown kinds"
        _, again = _messages(name, example)
        assert again == messages, "reading twice must give the same messages"
        # One document is read at its end, so there is no state between lines.
        if format.shape != "document":
            _check_resume(example, 20, name, (), lambda reading: to_json(reading.conclude()))
        for damaged in _damaged_copies(example):
            try:
                _read_example(name, damaged)
            except LeftoffError:
                continue  # a documented refusal is a valid answer


def _messages(name: str, data: bytes) -> tuple[Pass, list[Message]]:
    messages: list[Message] = []
    reading = HeardPass(WHERE, name)
    reading.on_message = lambda _, message: messages.append(message)
    reading.feed(data)
    reading.close()
    return reading, messages


def _read_example(name: str | None, data: bytes, extra: Sequence[str] = ()) -> Pass:
    reading = Pass(WHERE, name, extra)
    reading.feed(data)
    reading.close()
    return reading


def _check_positions(messages: Iterable[Message]) -> None:
    taken: dict[str, int] = {}
    for m in messages:
        if m.index == 0:
            taken[m.agent] = 0  # the next session of a container
        expected = taken.get(m.agent, 0)
        assert m.index == expected, (
            f"message {m.index} comes where {expected} is next: cursor.take()"
        )
        taken[m.agent] = expected + 1
        placed = (m.line is None) != (m.item is None)
        assert placed, f"message {m.index}: line or item, not both"
        assert m.raw, f"message {m.index} does not keep its raw bytes: raw=cursor.raw"
        for typed in m.typed:
            assert typed.part < len(m.parts), f"message {m.index}: typed names no part"
            text = getattr(m.parts[typed.part], "text", "")
            inside = 0 <= typed.start <= typed.end <= len(text)
            assert inside, f"message {m.index}: typed {typed} lies outside its text"


def _parted(data: bytes, end: int, name: str | None, extra: Sequence[str] = ()) -> Pass:
    """A pass over data that was put aside after a byte and taken up again."""
    first = Pass(WHERE, name, extra)
    first.feed(data[:end])
    state = first.save()
    second = Pass.load(state, WHERE, extra) if state.offset else Pass(WHERE, name, extra)
    second.feed(data[state.offset :])
    second.close()
    return second


def _check_resume(
    example: bytes,
    most: int,
    name: str | None,
    extra: Sequence[str],
    seen: Callable[[Pass], object],
) -> None:
    """Checks that what is seen of a pass is the same where it is put aside at a line's end."""
    whole = seen(_read_example(name, example, extra))
    ends = [n + 1 for n, byte in enumerate(example) if byte == 0x0A]
    # Every line of a long example would take minutes.
    for end in ends[:: max(1, len(ends) // most)]:
        assert seen(_parted(example, end, name, extra)) == whole, (
            f"put aside after byte {end} and taken up again, it reads otherwise: all state "
            "must stand in the fields"
        )


def _damaged_copies(example: bytes) -> Iterator[bytes]:
    size = len(example)
    yield from (example[: size * part // 7] for part in range(1, 7))
    yield from (example[size * part // 7 :] for part in range(1, 7))
    lines = example.splitlines(keepends=True)
    for number in range(0, len(lines), max(1, len(lines) // 25)):
        yield b"".join(lines[:number] + lines[number + 1 :])
        yield b"".join(lines[: number + 1] + lines[number:])
    yield b"".join(reversed(lines))
    for old, new in (
        (b'"', b""),
        (b": ", b":"),
        (b"{", b"["),
        (b"null", b"7"),
        (b"true", b'"true"'),
        (b'": "', b'": ["'),
        (b'":"', b'":{"'),
        (b"e", b"\xff"),
        (b"a", b"\x00"),
    ):
        yield example.replace(old, new, 3)
        yield example.replace(old, new)


def check_any_input(data: bytes, format: str | None = None) -> bytes | None:
    """Checks that any bytes, read as a format or as what they look like, give a summary that
    accounts for every line and can be read again, or a documented error.

    Returns:
        the summary as JSON, or None if the bytes were refused.

    Raises:
        AssertionError: names the broken promise."""
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
    # Drift is about the file as a whole and counts no lines.
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
        AssertionError: the summaries differ."""
    try:
        found = to_json(_parted(data, cut, format).conclude())
    except FormatError:
        found = None
    whole = check_any_input(data, format)
    assert found == whole, f"put aside after byte {cut} of {len(data)}, it reads otherwise"


# -- extractors ------------------------------------------------------------------------------


def check_extractor(extractor: type[Extractor], example: bytes) -> list[Evidence]:
    """Checks the contract of an extractor on a recording in any known format.

    The extractor declares its `wants`; its evidence has references; a second pass finds the
    same; the built-in extractors find what they find without it; it can be suspended between
    any two lines.

    Returns:
        the evidence that it found in the example, at least one item.

    Raises:
        AssertionError: names the broken promise."""
    assert issubclass(extractor, msgspec.Struct), "an extractor is a msgspec.Struct class"
    name = extractor.name
    assert _NAME.fullmatch(name), f"{name!r}: a name is small letters, digits and _"
    wants = extractor.wants
    assert isinstance(wants, int), "wants must be flags of leftoff.extraction.extractor"
    assert wants, "wants must name something, or it is shown nothing"
    with registered(extractors, name, extractor):
        without, whole = _read_example(None, example), _read_example(None, example, (name,))
        before, after = _evidence_of(without), _evidence_of(whole)
        found = _new_evidence(before, after)
        assert found, "it found nothing in the example"
        for item in found:
            known = isinstance(item, Evidence)
            assert known, f"{item!r} is no evidence of leftoff.extraction.evidence"
            places = [v for v in msgspec.structs.astuple(item) if isinstance(v, Ref)]
            for ref in places:
                placed = (ref.line is None) != (ref.item is None) and bool(ref.hash)
                assert placed, f"{item!r} has no place: view.text_ref() or view.record_ref()"
        again = _evidence_of(_read_example(None, example, (name,)))
        assert again == after, "reading twice must find the same"
        assert whole.format is not None
        if whole.format.shape != "document":
            _check_resume(example, 12, None, (name,), _evidence_of)
    return found


def _evidence_of(reading: Pass) -> list[Evidence]:
    return [e for s in reading.sessions for r in s.values() for e in r.evidence]


def _new_evidence(before: list[Evidence], after: list[Evidence]) -> list[Evidence]:
    """The items of `after` that are not in `before`, which must be a subsequence of it."""
    found: list[Evidence] = []
    # In order, and not as sets: an extractor may find the same thing twice.
    known = iter(before)
    expected = next(known, None)
    for item in after:
        if expected is not None and item == expected:
            expected = next(known, None)
        else:
            found.append(item)
    assert expected is None, f"with it, other extractors no longer find {expected!r}"
    return found


# -- redactors -------------------------------------------------------------------------------


def check_redactor(
    redactor: Finder, hides: Iterable[tuple[str, str]], keeps: Iterable[str]
) -> None:
    """Checks the contract of a redactor.

    Its spans lie inside the text; no text makes it raise; it removes the secrets and nothing
    else; redacted text does not change when it is redacted again.

    Args:
        hides: pairs of a text and the secret in it.
        keeps: texts that must not change.

    Raises:
        AssertionError: names the broken promise."""
    for text in _ODD_TEXTS:
        for span in redactor(text):
            inside = 0 <= span.start <= span.end <= len(text)
            assert inside, f"{span} lies outside a text of {len(text)} characters"
    pairs = list(hides)
    assert pairs, "give at least one text with its secret"
    for text, secret in pairs:
        assert secret in text, f"{secret!r} does not stand in {text!r}"
        shown = Redactor(extra=[redactor]).text(text)
        assert secret not in shown, f"{secret!r} is still to be seen in {shown!r}"
        # Outputs are redacted again wherever they are passed on.
        again = Redactor(extra=[redactor]).text(shown)
        assert again == shown, f"redacted twice it changes: {shown!r} becomes {again!r}"
    for text in keeps:
        shown = Redactor(extra=[redactor]).text(text)
        assert shown == text, f"{text!r} must stay, and became {shown!r}"


# -- second readers --------------------------------------------------------------------------

_ASKED = (
    {"role": "user", "content": "Store the sessions. They must outlive a restart."},
    {"role": "assistant", "content": "I'll use SQLite, not Redis: one file is enough here."},
)


def check_reader(reader: Reader) -> None:
    """Checks the contract of a second reader, which is asked about a session of two messages.

    It answers with the JSON that was asked for and names only lines that it was offered; so it
    does within a time limit, if it takes one (`within`).

    Raises:
        AssertionError: names the broken promise."""
    summary = create_context_summary(_ASKED)
    (question,) = questions(summary, summary.key_decisions)
    within = getattr(reader, "within", None)
    # A hook's worker asks within a time limit, a person without one.
    for asked in (reader, within(60.0)) if within else (reader,):
        answer = asked(question.text)
        assert isinstance(answer, str), f"the answer must be text, and is {answer!r:.200}"
        try:
            parse_answer(answer, question)
        except InvalidAnswer as error:
            raise AssertionError(f"{answer!r:.200}: {error}") from error


@contextmanager
def registered(registry: Registry[Any], name: str, thing: object) -> Iterator[None]:
    """Registers `thing` under a name while the block runs; does nothing if it is registered
    already.

    Raises:
        UsageError: the name is taken by another thing."""
    if name in registry and registry.get(name) is thing:
        yield
        return
    registry.register(name)(thing)
    try:
        yield
    finally:
        registry.withdraw(name)
