"""Scores what a successor is given at a cut against what the recording shows before and after.

Needs no labels: the truth is read from the messages before and after the cut, with code of its
own. Labelled decisions and directives are added where there are labels."""

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from leftoff import codec
from leftoff.evaluation.labels import Labels
from leftoff.evaluation.resume_truth import Truth, calls_of
from leftoff.formats.vocabulary import text_argument
from leftoff.handover import stated_facts
from leftoff.handover.text_match import TextMatcher, content_words
from leftoff.lazy_re import patterns
from leftoff.live.compactions import Cut
from leftoff.model import Message, ToolCall
from leftoff.redaction.redactor import Redactor
from leftoff.tables import table
from leftoff.text.sanitize import clean
from leftoff.tokens import max_tokens

_PATTERNS = table(__file__, "patterns.toml")
_RE = patterns(_PATTERNS["handover_scores"])
_SAID = patterns(_PATTERNS["resume_grounds"])

# Every measure is a share; of "outdated", "noise" and "repeated" less is better.
MEASURES = (
    "state of the open turn",
    "state of the closed turn",
    "last message whole",
    "messages of the person",
    "directives",
    "decisions",
    "last words",
    "changed files",
    "changed files with their change",
    "names used later",
    "names outside code",
    "commands run again",
    "next file, reciprocal rank",
    "outdated",
    "noise",
    "grounded",
    "repeated",
)

# Code points of the person's last message that have to be there. From docs/handover.md.
MAX_WHOLE = 1600
# Share of `MAX_WHOLE` that has to be there of a longer message: white space, a mark of what was
# left out and a border between words take the rest. Chosen by hand.
SHORTENED = 0.9
# Decisions below this importance are minor and do not count.
MIN_IMPORTANCE = 2


class Share(Struct, frozen=True):
    """A numerator and a denominator."""

    part: float = 0.0
    whole: float = 0.0

    @property
    def value(self) -> float | None:
        """Part over whole; None for an empty whole."""
        return self.part / self.whole if self.whole else None


class TextScore(Struct, frozen=True):
    """The scores of one text about one cut: its length in tokens (the upper bound) and bytes,
    and the shares by name in `MEASURES`."""

    tokens: int
    size: int
    shares: dict[str, Share]


def labelled_before(labels: Labels | None, cut: Cut) -> Labels:
    """The important labelled decisions and all labelled directives before a cut, which a text
    should state; none without labels."""
    labels = labels or Labels("")
    important = (d for d in labels.decisions if d.importance >= MIN_IMPORTANCE)
    return Labels(
        labels.file,
        decisions=tuple(d for d in important if d.line < cut.place),
        directives=tuple(d for d in labels.directives if d.line < cut.place),
    )


def states(text: TextMatcher, words: str) -> bool:
    """Whether a text states a labelled statement."""
    return text.states(content_words(words))


def score(text: str, cut: Cut, true: Truth, labelled: Labels, grounded: Share) -> TextScore:
    """All measures of one text about one cut. `labelled`: by `labelled_before`; `grounded`: the
    share of its paths, numbers, ids and quotations that stand before the cut."""
    matcher, listed = TextMatcher(text), stated_facts.text_items(text)
    typed = list(typed_messages(cut.prefix))
    turn, declared = next_speaker(cut), declared_turn(text)
    changes = [f for f in true.facts if f.kind == "file"]
    again = [f for f in true.facts if f.kind == "command" and f.used]
    stated, outdated = stated_facts.stated_and_outdated(
        listed, [f for f in true.facts if f.value != "unknown"]
    )
    rank = next_file_rank(text, cut)
    shares = {
        "state of the open turn": _share([declared == "open"] if turn == "agent" else []),
        "state of the closed turn": _share([declared == "closed"] if turn == "person" else []),
        "last message whole": _share(_has_whole(text, m) for m in typed[-1:]),
        "messages of the person": _share(
            states(matcher, m) for m in typed if len(_RE["word"].findall(m)) > 1
        ),
        "directives": _share(states(matcher, d.quote) for d in labelled.directives),
        "decisions": _share(states(matcher, d.quote) for d in labelled.decisions),
        "last words": _share(matcher.states(words) for words in _last_words(cut.prefix)),
        "changed files": _share(
            stated_facts.names_file(text, p, true.files) for p in true.files
        ),
        "changed files with their change": _share(_has_change(listed, f) for f in changes),
        "names used later": _share(n.name in matcher.names for n in true.names),
        "names outside code": _share(
            n.name in matcher.names for n in true.names if not n.in_code
        ),
        "commands run again": _share(_has_command(listed, f) for f in again),
        "next file, reciprocal rank": Share() if rank is None else Share(rank, 1),
        "outdated": Share(len(outdated), len(stated)),
        "noise": _share(noise for _, noise in noisy_lines(text)),
        "grounded": grounded,
        "repeated": Share(*matcher.redundancy),
    }
    return TextScore(max_tokens(text), len(text.encode("utf-8", "replace")), shares)


def _share(found: Iterable[bool]) -> Share:
    every = list(found)
    return Share(sum(every), len(every))


# -- the turn ----------------------------------------------------------------------------------


def next_speaker(cut: Cut) -> str:
    """Who goes on after the cut: `agent` if the agent does by itself (its turn was open),
    `person` if the person does after the agent's last words (it was closed), "" where the
    recording does not settle it: the person spoke while the agent was at work, or nothing
    follows."""
    for message in cut.future:
        if message.agent or message.origin not in {"prompt", "agent", "tool"}:
            continue
        if message.typed:
            return "person" if _is_ended(cut.prefix) else ""
        if message.role == "assistant":
            return "agent"
    return ""


def _is_ended(prefix: Sequence[Message]) -> bool:
    """Whether the last thing before the cut are the agent's words without a call."""
    for message in reversed(prefix):
        if message.agent or message.origin not in {"prompt", "agent", "tool"}:
            continue
        if message.typed and _RE["command"].fullmatch(message.text.strip()):
            continue  # /compact itself
        called = any(type(part) is ToolCall for part in message.parts)
        return message.role == "assistant" and not called and bool(message.text.strip())
    return False


def declared_turn(text: str) -> str:
    """`open`, `closed`, or "" where a text has no line that begins with `State: `: words about
    work in progress elsewhere declare nothing."""
    for match in _RE["state"].finditer(text):
        if _RE["open"].search(match[1]):
            return "open"
        if _RE["closed"].search(match[1]):
            return "closed"
    return ""


# -- words -------------------------------------------------------------------------------------


def typed_messages(messages: Sequence[Message]) -> Iterator[str]:
    """What the person typed on the main thread, message by message, redacted as every text is;
    bare commands like `/compact` left out."""
    gate = Redactor()
    for message in messages:
        if message.agent:
            continue
        for typed in message.typed:
            text: str = getattr(message.parts[typed.part], "text", "")[typed.start : typed.end]
            if text.strip() and not _RE["command"].fullmatch(text.strip()):
                yield gate.text(text.strip())


def _has_whole(text: str, message: str) -> bool:
    """Whether a message stands in a text without a gap; of a longer one than `MAX_WHOLE` code
    points its beginning."""
    if len(message) > MAX_WHOLE:
        message = " ".join(message.split())[: int(SHORTENED * MAX_WHOLE)].rsplit(" ", 1)[0]
    held, wanted = (
        " ".join(_RE["word"].findall(_RE["placeholder"].sub(" ", words).casefold()))
        for words in (text, message)
    )
    return f" {wanted} " in f" {held} "


def _last_words(prefix: Sequence[Message]) -> Iterator[frozenset[str]]:
    """The content words of the end of what the agent said last, if they are two or more."""
    for message in reversed(prefix):
        if not message.agent and message.role == "assistant" and message.text.strip():
            words = content_words(message.text.strip()[-400:])
            if len(words) > 1:
                yield words
            return


# -- files and commands ------------------------------------------------------------------------


def _has_change(listed: Sequence[stated_facts.Item], fact: stated_facts.Fact) -> bool:
    """Whether one item names a file and what was done to it: the action in words, or for a file
    that still exists lines added and removed. A heading over a list of files says nothing."""
    subject = frozenset(_RE["word"].findall(fact.subject.casefold()))
    actions = stated_facts.VALUE_WORDS.get(fact.value, frozenset((fact.value,)))
    if fact.value == "modified" and "created" in fact.values:
        actions |= stated_facts.VALUE_WORDS["created"]
    return any(
        stated_facts.names_subject(item, fact)
        and (
            bool(actions & (item.words - subject))
            or (fact.value == "modified" and _RE["counts"].search(item.text) is not None)
        )
        for item in listed
    )


def _has_command(listed: Sequence[stated_facts.Item], fact: stated_facts.Fact) -> bool:
    """Whether an item names a command with its last result; where the recording does not show
    the result for certain, whether an item names the command."""
    if fact.value == "unknown":
        return any(stated_facts.names_subject(item, fact) for item in listed)
    return stated_facts.states_fact(listed, fact)


def next_file_rank(text: str, cut: Cut) -> float | None:
    """One over the rank, among the files that the text names, of the file of the session that
    is opened next; None if none is opened, 0 if the text does not name it."""
    known = list(dict.fromkeys(_paths(cut.prefix)))
    wanted = next((p for p in _paths(cut.future) if p in set(known)), None)
    if wanted is None:
        return None
    places = [(place, p) for p in known if (place := _place(text, p, known)) is not None]
    order = [path for _, path in sorted(places)]
    return 1 / (order.index(wanted) + 1) if wanted in order else 0.0


def _paths(messages: Sequence[Message]) -> Iterator[str]:
    opening = {"read", "edit", "create", "patch"}
    for _, call in calls_of(messages):
        path = text_argument(call, "path") if call.kind in opening else ""
        if path:
            yield path.replace("\\", "/")


def _place(text: str, path: str, known: Sequence[str]) -> int | None:
    """Where a text first names a path, by its longest ending that it holds."""
    parts = path.split("/")
    for size in (3, 2, 1):
        ending = "/".join(parts[-size:])
        if size == 1 and sum(p.endswith("/" + ending) for p in known) > 1:
            return None
        found = re.search(rf"(?<![\w.-]){re.escape(ending)}(?![\w-]|\.\w)", text)
        if found:
            return found.start()
    return None


# -- noise: lines that tell a successor nothing ------------------------------------------------
#
# * moves: where a decision, finding or open point is listed, what the agent did next, without a
#   reason ("Let me check the tests.");
# * stumps: there, fewer than four words, or words that end in a colon;
# * uninformative errors: where failures are listed, only a frame of it ("Exit code 1");
# * machine notices among anybody's words.
#
# The person's words are never noise unless they are a notice. Every text is treated alike,
# whatever its headings are called.

# Words of a statement. Chosen by hand.
MIN_WORDS = 4


def noisy_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Every line with content and whether it is noise; headings and our frame are left out."""
    section = ""
    for raw in text.splitlines():
        line = raw.strip()
        heading = _RE["heading"].match(line) if not line.startswith("- ") else None
        if heading:
            section = next(group for group in heading.groups() if group)
            continue
        words = _RE["label"].sub("", re.sub(r"^(?:[-*•]|\d+\.)\s+", "", line)).strip()
        if words and not _RE["frame"].match(line):
            yield words, _is_noise(words, section)


def _is_noise(line: str, section: str) -> bool:
    if _RE["notice"].search(line):
        return True
    if _RE["failures"].search(section):
        first = line.split("` (", maxsplit=1)[0].strip("`* ")
        return _RE["nothing"].fullmatch(first) is not None
    if not _RE["stated"].search(section):
        return False
    if len(_RE["word"].findall(line)) < MIN_WORDS or line.endswith(":"):
        return True
    return _RE["move"].match(line.strip("*")) is not None and not _RE["reason"].search(line)


# -- groundedness: whether paths, numbers, ids and quotations occur in the recording -----------
#
# Our own normalisation of recorded words is undone first: white space, replaced quotation
# marks, placeholders for secrets, truncation marks, paths relative to the project or with other
# slashes. Counts that are marked as ours ("3 left out", "#12") and bold titles are not claims.

_CHARACTERS = str.maketrans("`‹›“”‘’\\", "'<>\"\"''/")


class Claim(Struct, frozen=True):
    """A piece of a text that must occur in the recording: path | number | id | quote."""

    kind: str
    text: str


class GroundingSource:
    """The lines of a recording up to a cut, indexed for lookups."""

    def __init__(self, data: Iterable[bytes]) -> None:
        strings: list[str] = []
        for line in data:
            try:
                strings += _strings(codec.parse(line))
            except ValueError:
                strings.append(line.decode("utf-8", "replace"))
        self._text = _normalised("\n".join(strings))
        self._numbers = {
            *_SAID["number"].findall(self._text),
            *_SAID["number"].findall(_SAID["thousands"].sub("", self._text)),
            *(t.replace(":", "") for t in _SAID["clock"].findall(self._text)),
        }
        self._names = set(re.findall(r"[\w@.+-]+", self._text))
        self._words = set(_SAID["word"].findall(self._text))

    def supports(self, claim: Claim) -> bool:
        """Whether the recording contains the claim."""
        kind, text = claim.kind, claim.text
        if kind == "number":
            return text in self._numbers
        if kind == "quote" and text[0] in "+-":  # a line of a patch
            text = text[1:]
        if all(_normalised(part).strip() in self._text for part in _SAID["cut"].split(text)):
            return True
        if kind == "id" or " " in text:
            return False
        # A path relative to the project, or joined from a directory and a name.
        parts = [part.rstrip(":") for part in text.split("/")]
        if {part for part in parts if part.strip(".~")} <= self._names:
            return True
        # A path that a shell loop or brace expansion built from recorded words.
        return kind == "path" and set(_SAID["word"].findall(text)) <= self._words

    def grounded_share(self, text: str) -> tuple[Share, list[Claim]]:
        """The share of a text's claims that are supported, and the unsupported ones."""
        found = claims(text)
        wrong = [claim for claim in found if not self.supports(claim)]
        return Share(len(found) - len(wrong), len(found)), wrong


def claims(text: str) -> list[Claim]:
    """The paths, numbers, ids and quoted phrases of a text, each once."""
    # A placeholder for a secret is a gap in a quotation.
    spans = _SAID["quoted"].finditer(_SAID["secret"].sub("…", clean(text)))
    quotes = (match[1] or match[2] or match[3] for match in spans)
    flat = _SAID["not_claims"].sub(" ", clean(text)).translate(_CHARACTERS)
    whole = re.sub(r"\S*(?:…|\.\.\.)\S*", " ", flat)  # without words that are cut
    found = {
        "quote": [q for q in quotes if q.strip() and not _SAID["not_claims"].fullmatch(q)],
        "id": _SAID["id"].findall(flat),
        "path": [path.rstrip(".-") for path in _SAID["path"].findall(whole)],
        "number": _SAID["number"].findall(_SAID["thousands"].sub("", whole)),
    }
    every = (Claim(kind, words) for kind, several in found.items() for words in several)
    return list(dict.fromkeys(every))


def _normalised(text: str) -> str:
    return _SAID["space"].sub(" ", clean(text).translate(_CHARACTERS))


def _strings(value: object) -> Iterator[str]:
    """Every key, text and number."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield str(value)
