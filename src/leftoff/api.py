"""What most callers need: summarize a file, read its messages, check a summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from os import PathLike
from posixpath import commonprefix
from types import NoneType
from typing import TYPE_CHECKING, Any

from leftoff import codec
from leftoff.analysis.session_pass import Pass
from leftoff.errors import FormatError, UsageError
from leftoff.extraction.session_state import SessionState
from leftoff.model import Issue, Message, Ref, record_hash, slice_hash
from leftoff.session_reading import SessionReading as SessionReading
from leftoff.session_reading import chosen_place, path_given
from leftoff.session_reading import open_pass as open_pass
from leftoff.sources.forerunners import line_of_work
from leftoff.sources.open import STDIN, open_lines, session_paths
from leftoff.sources.session_choice import Choice, split_choice
from leftoff.summary import ContextSummary, FileModification, KeyDecision, ProgressInfo

if TYPE_CHECKING:
    from leftoff.second_reading import AnyReader


def summarize(
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    format: str | None = None,
    extractors: Sequence[str] = (),
    session: Choice = None,
    agent: str = "",
    alone: bool = False,
    reader: AnyReader | None = None,
) -> ContextSummary:
    """The summary of the session recorded at `path`, with its subagents' files.

    Args:
        path: a file, a session's directory, or "-" for standard input; several of them are one
            line of work (a session that was resumed, forked or continued in other files), in
            which each record counts once. The recordings that one file goes on from are found
            beside it or by their id (`sources.forerunners`) and stand in `session.sources`.
        format: name of the format; recognised by content if None.
        extractors: plug-in extractors to run beside the built-in ones.
        session: which one, where a file holds several: its number from 1, its id or date; by
            default the newest in which the agent said or did something. `FILE@3` as a path
            names the third.
        agent: the summary of this subagent instead.
        alone: only what is at `path`, whatever it goes on from.
        reader: a second reader that chooses among what was found: `claude`, `codex`, a command
            line, or a callable from question to answer (docs/second-reader.md). What goes
            wrong with it is an issue of the summary.

    Raises:
        SourceError: the file cannot be read.
        FormatError: it holds no message in a known format.
        UsageError: several files that have nothing to do with each other; no path at all.
        UnknownName: no such subagent or session.

    >>> summary = summarize("corpora/sessions/claude_code/prorate.jsonl")
    >>> summary.session.format
    'claude_code'"""
    given = paths_given(path)
    return gather(given, format, extractors, session, alone=alone).summary(agent, reader)


def gather(
    paths: Iterable[str | PathLike[str]],
    format: str | None = None,
    extractors: Sequence[str] = (),
    session: Choice = None,
    *,
    alone: bool = False,
) -> SessionReading:
    """The recordings of one line of work, read once (see `summarize`)."""
    given = [path_given(place) for place in paths]
    if not given:
        raise UsageError("no path is given: name a recording")
    # Several paths are taken as they are named: they are the line of work.
    if len(given) == 1 and session is None and not alone:
        return _with_forerunners(given[0], format, extractors)
    found = SessionReading()
    for path in given:
        found.add(path, format, extractors, session)
    return found


def _with_forerunners(
    path: str, format: str | None, extractors: Sequence[str]
) -> SessionReading:
    """A recording with those that it goes on from."""
    named, which = split_choice(path)
    known: dict[str, Pass] = {}

    def once(path: str, **options: Any) -> Pass:
        if path not in known:
            known[path] = open_pass(path, **options)
        return known[path]

    found = SessionReading(once)
    before: list[str] = []
    later: list[str] = []
    if which is None:
        main, _ = session_paths(named)
        read = partial(once, format=format, extractors=extractors)
        before, later = line_of_work(main, read, format)
        if before or later:
            found.path = main
    for one in (*before, path):
        found.add(one, format, extractors, None)
    # Passes of long sessions are large, and the reading holds what is needed of them.
    known.clear()
    for place in later:
        what = f"{place} has the same beginning and went on later; it is not in this summary"
        found.issues.append(Issue("forked", "info", what))
    return found


def paths_given(paths: Any) -> list[str]:
    """One path, or several, as strings; `UsageError` where one of them is something else."""
    # A text is iterable, too.
    single = isinstance(paths, (str, PathLike)) or not isinstance(paths, Iterable)
    if single or isinstance(paths, (bytes, bytearray, dict)):
        return [path_given(paths)]
    return [path_given(path) for path in paths]


class HeardPass(Pass):
    """A pass that gives its messages, but repeated records, to a listener, after the main
    recording of its session."""

    on_message: Callable[[SessionState, Message], None] | None = None

    def _message(self, m: Message) -> None:
        before = self.cursor.taken.get(m.agent, 0)
        super()._message(m)
        # A repeated record gives its number back.
        if self.on_message is not None and self.cursor.taken.get(m.agent, 0) == before:
            self.on_message(self._main, m)


class MessageCollector(HeardPass):
    """A pass that collects messages instead of what extractors find."""

    def __init__(self, where: str, format: str | None) -> None:
        # No extractor runs: messages are all that is wanted.
        super().__init__(where, format, builtin=())
        self._heard: list[tuple[int, Message]] = []
        self.on_message = lambda _, message: self._heard.append(
            (self.earlier + len(self.sessions), message)
        )

    def take(self, number: int | None = None) -> list[Message]:
        """The messages read since the last call, those of session `number` (from 1) alone
        where it is given."""
        heard, self._heard = self._heard, []
        return [message for n, message in heard if number in (None, n)]


def read(path: str | PathLike[str], *, format: str | None = None) -> Iterator[Message]:
    """The messages of a recording in file order, one at a time; of `FILE@3` those of its third
    session.

    Raises:
        SourceError: the file cannot be read.
        FormatError: it holds no message in a known format.
        UnknownName, UsageError: it has no such session."""
    name, choice = split_choice(path_given(path))
    main, _ = session_paths(name)
    number = None if choice is None else _number_of(main, choice, format)
    reading = MessageCollector(main, format)
    with open_lines(main) as lines:
        for line in lines:
            reading.feed_lines((line,))
            yield from reading.take(number)
    reading.close()
    yield from reading.take(number)
    if number is not None:
        chosen_place(reading, number)


def _number_of(path: str, choice: Choice, format: str | None) -> int:
    if isinstance(choice, int):
        return choice
    if path == STDIN:
        # It can be read once only, and ids are known when it has been read.
        raise UsageError("a session of standard input is chosen by its number, as in -@3")
    reading = open_pass(path, format=format)
    return reading.earlier + chosen_place(reading, choice) + 1


def default_session(path: str) -> tuple[int, int]:
    """Which session of a recording a summary is of by default, from 1, and how many it holds;
    (1, 1) where recordings of its format hold one, and for standard input.

    Raises:
        SourceError, FormatError: as for `read`."""
    main, _ = session_paths(path)
    if main == STDIN:
        return 1, 1
    reading = Pass(main)
    with open_lines(main) as lines:
        for line in lines:
            reading.feed_lines((line,))
            # Most formats hold one session: the rest of the file need not be read to know it.
            if reading.format is not None and not getattr(reading.format, "several", False):
                return 1, 1
    reading.close()
    count = reading.earlier + len(reading.sessions)
    return reading.earlier + chosen_place(reading, None) + 1, count


# -- seed 001's functions, on lists of messages ---------------------------------------------


def create_context_summary(messages: Iterable[object]) -> ContextSummary:
    """The summary of a list of messages in any shape that leftoff reads:
    `AgentMessage`, messages of OpenAI, Anthropic, LangChain, Semantic Kernel or the Claude
    Agent SDK (dicts or the objects of these libraries), recorded lines of a client as dicts, or
    `leftoff.Message` values. An empty list gives an empty summary; null contents are messages
    without words.

    Raises:
        FormatError: no message can be made of the values, or of those that are not
            `leftoff.Message` values when both stand in the list.
        UsageError: it is a text or a dict instead of a list."""
    from leftoff.formats import native
    from leftoff.formats.message_objects import described, plain_message

    if isinstance(messages, (str, bytes, bytearray, dict)):
        # Their items would be letters, numbers or keys.
        raise UsageError(
            f"a list of messages is needed, and this is a {type(messages).__name__}"
        )

    given = list(messages)
    if not given:
        return Pass("<messages>").conclude()
    ours = [m for m in given if isinstance(m, Message)]
    others = [m for m in given if not isinstance(m, Message)]
    where, odd = "the first", others[0] if others else given[0]
    # Where both kinds stand in the list, it is not known which it was meant to be of.
    tries = [] if others else [native.write(ours)]
    if not ours:
        made = [plain_message(m) for m in others]
        strange = [m for m in made if not isinstance(m, (dict, list, NoneType))]
        if strange:
            where, odd = "one", strange[0]
        else:
            plain = codec.to_valid_json(made)
            lines = b"".join([codec.dumps(m) for m in plain if isinstance(m, dict)])
            # Recorded lines are no list of messages for any format: they are read as the file.
            tries = [codec.dumps(plain), lines]
    for data in tries:
        reading = Pass("<messages>")
        with suppress(FormatError):
            reading.feed(data)
            reading.close()
            return reading.conclude()
    beside = " beside leftoff.Message values" if ours else ""
    raise FormatError(
        f"<messages>: no message can be made of a list of {len(given)}{beside} of which "
        f"{where} is {described(odd)}; give dicts with role and content, recorded lines of "
        "a client as dicts, or leftoff.Message values (docs/formats/README.md)"
    )


def extract_key_decisions(messages: Iterable[object]) -> tuple[KeyDecision, ...]:
    """The key decisions of a list of messages."""
    return create_context_summary(messages).key_decisions


def extract_progress(messages: Iterable[object]) -> ProgressInfo:
    """How far the work in a list of messages got."""
    return create_context_summary(messages).progress


def track_file_modifications(messages: Iterable[object]) -> tuple[FileModification, ...]:
    """What a list of messages did to which file (see `create_context_summary`)."""
    return create_context_summary(messages).file_modifications


def messages_at(summary: ContextSummary, refs: Iterable[Ref]) -> dict[Ref, Message]:
    """The messages that references of a summary point at, read again; what is not there any
    more, or has changed, is left out.

    A reference without line and item, or to a record that is no message, means the message of
    that number in the thread that is summarized; it is found where one session in one
    file holds that thread.

    Raises:
        SourceError: a source of the summary cannot be read.
        FormatError: it is no recording any more."""
    by_source: dict[int, list[Ref]] = {}
    for ref in refs:
        by_source.setdefault(ref.source, []).append(ref)
    found: dict[Ref, Message] = {}
    numbered: dict[int, dict[str, dict[int, Message]]] = {}
    spoken: set[tuple[object, ...]] = set()
    for number, wanted in sorted(by_source.items()):
        placed: dict[tuple[object, object], list[Ref]] = {}
        for ref in wanted:
            if ref.line is not None or ref.item is not None:
                placed.setdefault((ref.line, ref.item), []).append(ref)
        indexes = {ref.message for ref in wanted}
        threads = numbered[number] = {"": {}, summary.session.id: {}}
        for message in read(summary.session.sources[number].path):
            for ref in placed.get((message.line, message.item), ()):
                spoken.add((number, message.line, message.item))
                if ref not in found and _is_of(ref, message):
                    found[ref] = message
            if message.index in indexes and message.agent in threads:
                threads[message.agent].setdefault(message.index, message)
    for number, wanted in sorted(by_source.items()):
        if _in_one_file(summary, number, found):
            # A subagent that is summarized by itself has messages under its own id.
            thread = numbered[number][summary.session.id] or numbered[number][""]
            for ref in wanted:
                place = (number, ref.line, ref.item)
                if ref not in found and place not in spoken and ref.message in thread:
                    found[ref] = thread[ref.message]
    return found


def _in_one_file(summary: ContextSummary, number: int, found: dict[Ref, Message]) -> bool:
    """Whether messages of the thread have the same numbers in that file as in the summary."""
    if any(issue.code == "several_sessions" for issue in summary.issues):
        return False
    beside = {n for child in summary.session.children for n in child.sources} - {number}
    if not {ref.source for ref in found} <= {number} | beside:
        return False
    return all(m.index == ref.message for ref, m in found.items() if ref.source == number)


def _is_of(ref: Ref, message: Message) -> bool:
    """Whether a message is the one that a reference was taken from."""
    if ref.start is None or ref.part is None:
        return record_hash(message.raw) == ref.hash
    if ref.part >= len(message.parts):
        return False
    text = getattr(message.parts[ref.part], "text", "")
    return slice_hash(text[ref.start : ref.end]) == ref.hash


# -- checking --------------------------------------------------------------------------------


def refs_of(value: object) -> Iterator[tuple[Ref, str]]:
    """Every reference in a summary (or part of one) with the words that stand beside it."""
    if isinstance(value, Ref):
        yield value, ""
    elif isinstance(value, (tuple, list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from refs_of(item)
    elif hasattr(value, "__struct_fields__"):
        words = getattr(value, "text", "")
        for name in value.__struct_fields__:
            for ref, inner in refs_of(getattr(value, name)):
                yield ref, inner or (words if name == "ref" else "")


def verify(summary: ContextSummary) -> list[str]:
    """Re-reads the recording and checks every reference of a summary; [] if all hold.

    A reference holds if its record is where it says, its hash is that of the slice, and the
    words beside it are the slice's words after redaction.

    Raises:
        SourceError: a source of the summary cannot be read.
        FormatError: it is no recording any more.
        UsageError: it is no summary, in which every reference would hold."""
    from leftoff.redaction.redactor import Redactor

    given: object = summary
    if not isinstance(given, ContextSummary):
        kind = type(given).__name__
        raise UsageError(f"a summary is needed, as from_json gives it, and this is a {kind}")

    wanted: dict[int, list[tuple[Ref, str]]] = {}
    for ref, words in refs_of(summary):
        wanted.setdefault(ref.source, []).append((ref, words))
    problems: list[str] = []
    for number, refs in sorted(wanted.items()):
        path = summary.session.sources[number].path
        records = _records(path, refs)
        found = (_check(ref, words, records, Redactor()) for ref, words in refs)
        problems += [f"{path}: {problem}" for problem in found if problem]
    return problems


def _records(
    path: str, refs: list[tuple[Ref, str]]
) -> dict[tuple[object, object], list[Message]]:
    """The messages that refs point at by place, and raw lines where no message stands."""
    places = {(ref.line, ref.item) for ref, _ in refs}
    found: dict[tuple[object, object], list[Message]] = {}
    for message in read(path):
        place = (message.line, message.item)
        if place in places:
            found.setdefault(place, []).append(message)
    # A reference may point at a record that is no message, such as a compaction.
    lines = {line for line, _ in places if line and (line, None) not in found}
    if lines:
        with open_lines(path) as stream:
            for number, line in enumerate(stream, 1):
                if number in lines:
                    bare = Message(-1, "system", (), line=number, raw=line)
                    found[number, None] = [bare]
    return found


def _check(ref: Ref, words: str, records: dict[Any, list[Message]], gate: Any) -> str:
    """What is wrong with a reference, or ""."""
    if ref.line is None and ref.item is None:
        return ""  # a point in the session, not a place in the file
    where = f"line {ref.line}" if ref.line is not None else f"item {ref.item}"
    candidates = records.get((ref.line, ref.item), [])
    if not candidates:
        return f"{where}: nothing there"
    for message in (m for m in candidates if _is_of(ref, m)):
        if ref.start is None or ref.part is None:
            return ""
        whole = getattr(message.parts[ref.part], "text", "")
        text = whole[ref.start : ref.end]
        # A summary that was saved holds redacted words, one in memory the raw ones.
        shown = gate.text(text)
        if not words or words in {text, shown, text.strip(), shown.strip()}:
            return ""
        own = shown.strip()
        # An answer, beside its question or the option that it names ("A." is "A: in blue").
        bare = own.rstrip(".:)") or own
        if f" → {bare}" in words or words.startswith(f"{bare}: "):
            return ""
        # An item, behind what the list above it is about.
        about = words.removesuffix(f" {own}")
        if words.endswith(f": {own}") and (about in whole or about in gate.text(whole)):
            return ""
        expected = gate.text(words)
        # With some words before what differs.
        begin = max(0, len(commonprefix((shown, expected))) - 20)
        return f"{where}: says {shown[begin:][:60]!r}, not {expected[begin:][:60]!r}"
    return f"{where}: changed since the summary was made"
