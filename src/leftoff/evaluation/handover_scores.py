"""Scores what a successor is given at a cut against what the recording shows before and after.

Needs no labels: the truth is read from the messages before and after the cut, with code of its
own. Labelled decisions and directives are added where there are labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from leftoff.evaluation.handover_noise import noisy_share
from leftoff.evaluation.resume_scores import (
    LabelledStatements,
    Share,
    TextScore,
    states,
)
from leftoff.evaluation.resume_truth import Truth
from leftoff.formats.vocabulary import text_argument
from leftoff.handover.stated_facts import (
    VALUE_WORDS,
    Fact,
    Item,
    names_file,
    names_subject,
    stated_and_outdated,
    states_fact,
    text_items,
)
from leftoff.handover.text_match import TextMatcher, content_words
from leftoff.live.compactions import Cut
from leftoff.model import Message, ToolCall
from leftoff.redaction.redactor import Redactor
from leftoff.tokens import max_tokens

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
"""Every measure is a share; of "outdated", "noise" and "repeated" less is better."""

MAX_WHOLE = 1600
"""Code points of the person's last message that have to be there. From docs/handover.md."""

SHORTENED = 0.9
"""Share of `MAX_WHOLE` that has to be there of a longer message: white space, a mark of what
was left out and a border between words take the rest. Chosen by hand."""

_STATE = re.compile(r"^State: (.+)$", re.MULTILINE)
_OPEN = re.compile(r"still at work|in the middle|was not finished", re.IGNORECASE)
_CLOSED = re.compile(r"ended its turn|waits for the person|interrupted", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_PLACEHOLDER = re.compile(r"\[REDACTED:[\w-]+(?::\d+)?\]")
_COMMAND = re.compile(r"/[\w:-]+")
_COUNTS = re.compile(r"\+\d+ [-\N{MINUS SIGN}]\d+")


def score(
    text: str, cut: Cut, true: Truth, labelled: LabelledStatements, grounded: Share
) -> TextScore:
    """All measures of one text about one cut.

    Args:
        grounded: share of its paths, numbers, ids and quotations that stand before the cut.
    """
    matcher, listed = TextMatcher(text), text_items(text)
    typed = list(typed_messages(cut.prefix))
    turn, declared = next_speaker(cut), declared_turn(text)
    changes = [f for f in true.facts if f.kind == "file"]
    again = [f for f in true.facts if f.kind == "command" and f.used]
    stated, outdated = stated_and_outdated(
        listed, [f for f in true.facts if f.value != "unknown"]
    )
    rank = next_file_rank(text, cut)
    shares = {
        "state of the open turn": _share([declared == "open"] if turn == "agent" else []),
        "state of the closed turn": _share([declared == "closed"] if turn == "person" else []),
        "last message whole": _share(_has_whole(text, m) for m in typed[-1:]),
        "messages of the person": _share(
            matcher.states(content_words(m)) for m in typed if len(_WORD.findall(m)) > 1
        ),
        "directives": _share(states(matcher, s) for s in labelled.directives),
        "decisions": _share(states(matcher, s) for s in labelled.decisions),
        "last words": _share(matcher.states(words) for words in _last_words(cut.prefix)),
        "changed files": _share(names_file(text, p, true.files) for p in true.files),
        "changed files with their change": _share(_has_change(listed, f) for f in changes),
        "names used later": _share(n.name in matcher.names for n in true.names),
        "names outside code": _share(
            n.name in matcher.names for n in true.names if not n.in_code
        ),
        "commands run again": _share(_has_command(listed, f) for f in again),
        "next file, reciprocal rank": Share() if rank is None else Share(rank, 1),
        "outdated": Share(len(outdated), len(stated)),
        "noise": noisy_share(text),
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
        if message.typed and _COMMAND.fullmatch(message.text.strip()):
            continue  # /compact itself
        called = any(type(part) is ToolCall for part in message.parts)
        return message.role == "assistant" and not called and bool(message.text.strip())
    return False


def declared_turn(text: str) -> str:
    """`open`, `closed`, or "" where a text has no line that begins with `State: `: words about
    work in progress elsewhere declare nothing."""
    for match in _STATE.finditer(text):
        if _OPEN.search(match[1]):
            return "open"
        if _CLOSED.search(match[1]):
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
            if text.strip() and not _COMMAND.fullmatch(text.strip()):
                yield gate.text(text.strip())


def _flat(text: str) -> str:
    return " ".join(_WORD.findall(_PLACEHOLDER.sub(" ", text).casefold()))


def _has_whole(text: str, message: str) -> bool:
    """Whether a message stands in a text without a gap; of a longer one than `MAX_WHOLE` code
    points its beginning."""
    if len(message) > MAX_WHOLE:
        message = " ".join(message.split())[: int(SHORTENED * MAX_WHOLE)].rsplit(" ", 1)[0]
    return f" {_flat(message)} " in f" {_flat(text)} "


def _last_words(prefix: Sequence[Message]) -> Iterator[frozenset[str]]:
    """The content words of the end of what the agent said last, if they are two or more."""
    for message in reversed(prefix):
        if not message.agent and message.role == "assistant" and message.text.strip():
            words = content_words(message.text.strip()[-400:])
            if len(words) > 1:
                yield words
            return


# -- files and commands ------------------------------------------------------------------------


def _has_change(listed: Sequence[Item], fact: Fact) -> bool:
    """Whether one item names a file and what was done to it: the action in words, or for a file
    that still exists lines added and removed. A heading over a list of files says nothing."""
    subject = frozenset(_WORD.findall(fact.subject.casefold()))
    actions = VALUE_WORDS.get(fact.value, frozenset((fact.value,)))
    if fact.value == "modified" and "created" in fact.values:
        actions |= VALUE_WORDS["created"]
    return any(
        names_subject(item, fact)
        and (
            bool(actions & (item.words - subject))
            or (fact.value == "modified" and _COUNTS.search(item.text) is not None)
        )
        for item in listed
    )


def _has_command(listed: Sequence[Item], fact: Fact) -> bool:
    """Whether an item names a command with its last result; where the recording does not show
    the result for certain, whether an item names the command."""
    if fact.value == "unknown":
        return any(names_subject(item, fact) for item in listed)
    return states_fact(listed, fact)


def next_file_rank(text: str, cut: Cut) -> float | None:
    """One over the rank, among the files that the text names, of the file of the session that
    is opened next; None if none is opened, 0 if the text does not name it."""
    known = list(dict.fromkeys(_paths(cut.prefix)))
    wanted = next((p for p in _paths(cut.future) if p in set(known)), None)
    if wanted is None:
        return None
    places = sorted(
        (place, path) for path in known if (place := _place(text, path, known)) is not None
    )
    order = [path for _, path in places]
    return 1 / (order.index(wanted) + 1) if wanted in order else 0.0


def _paths(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        for part in message.parts:
            if type(part) is ToolCall and part.kind in {"read", "edit", "create", "patch"}:
                path = text_argument(part, "path")
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
