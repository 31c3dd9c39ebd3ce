"""What earlier work says about a prompt: lines of a `Handover`, chosen by BM25.

A worker prepares an index of each session (`recall_index`); the hook of a prompt only ranks.
So nothing of the engine may be imported here.

A line is given only where it fits well (`MIN_TERMS`, `MIN_SHARE`, `MAX_SHARE`): an agent that
gets a dozen lines of chance resemblance with every prompt learns to skip them all. How these
limits were found: docs/hooks.md, "What a prompt recalls".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from leftoff import lazy_re as re
from leftoff.tables import table

SCHEMA = 1

# Tokens (an upper bound) of what one prompt is given.
MAX_TOKENS = 1_300

# Tokens of these reserved for the frame. Chosen by hand; a test holds it.
FRAME_TOKENS = 200

# Lines that one prompt is given. Chosen by hand.
MAX_LINES = 6

# Lines of an index: some 150 KB, which a hook reads in 2 ms.
MAX_ENTRIES = 400

# A line fits if it holds so many rare terms of the prompt, or one that is a name. A term is
# rare if at most this share of all lines holds it, or three lines.
MIN_TERMS, MAX_SHARE = 2, 0.1

# Share of the prompt's terms, weighed by rarity, that a line has to hold; a message of the
# person holds many terms by chance. From `python -m benchmarks.hooks.recall`: docs/hooks.md.
MIN_SHARE, PERSON_SHARE = 0.3, 0.5

PERSON = "- The person: "

# Of BM25: the usual values; lines are of similar length, so length counts a little less.
K1, B = 1.2, 0.6

# Code points of a prompt that are looked at: its beginning and its end.
MAX_PROMPT_CHARACTERS = 8_000

_WORD = re.compile(r"\w+")
_FILE = re.compile(r"[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w{0,7}(?![\w/])")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_BREAKING = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029<]")
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_URL = re.compile(r"\b\w+://\S*?([^/\s]*)/*(?=[\s)>\]]|$)")
_FUNCTION_WORDS = frozenset(table(__file__, "words.toml")["prompts"].split())

# Line, its cost in tokens, index of its message, weight, number of its terms.
_Count = Annotated[int, Meta(gt=0)]
Entry = tuple[Annotated[str, Meta(pattern="^- ", max_length=1_999)], _Count, int, float, _Count]


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Hit(Struct, frozen=True):
    """A line that fits a prompt: where it stands and why."""

    source: int
    entry: int
    score: float
    terms: tuple[str, ...]


def terms_of(text: str) -> list[str]:
    """The terms of a text: words without inflection, names whole and in their parts, names of
    files; function words left out."""
    text = _URL.sub(r" \1 ", text)  # of an address only what it ends with
    found = [f.casefold() for f in _FILE.findall(text)]
    for word in _WORD.findall(text):
        if _IDEOGRAPHS.search(word):
            found += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
            continue
        folded = word.casefold()
        if len(folded) > 1 and folded not in _FUNCTION_WORDS:
            found.append(_stem(folded))
        pieces = _PIECE.findall(word)
        if len(pieces) > 1:
            parts = (_stem(p.casefold()) for p in pieces if len(p) > 2)
            found += [p for p in parts if p not in _FUNCTION_WORDS]
    return found


def _stem(word: str) -> str:
    if not word.isascii() or not word.isalpha():
        return word
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4 and word[-2:] != "ss":
            word = word[: -len(ending)]
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


# -- ranking ---------------------------------------------------------------------------------


class Frequencies(Struct, frozen=True):
    """How rare terms are where the indexes hold only a part: the number of all lines, and of
    those with each term."""

    total: int
    counts: Mapping[str, int]


def cut_prompt(prompt: str) -> str:
    """What is looked at of a prompt."""
    half = MAX_PROMPT_CHARACTERS // 2
    return f"{prompt[:half]} {prompt[-half:]}" if len(prompt) > 2 * half else prompt


def inverse_frequency(count: int, total: int) -> float:
    """What a term weighs that stands in `count` of `total` lines."""
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def is_rare(count: int, total: int) -> bool:
    """Whether a term of so many lines is rare."""
    return count <= max(3, MAX_SHARE * total)


def hits(
    prompt: str,
    indexes: Sequence[Mapping[str, Any]],
    *,
    own: Mapping[str, Any] | None = None,
    known: Frequencies | None = None,
) -> list[Hit]:
    """The lines that fit a prompt, best first; [] where none fits well.

    Args:
        own: the one of `indexes` that belongs to the prompt's own session.
        known: of the prompt's terms, where `indexes` hold only some of the lines.
    """
    total = sum(len(index["entries"]) for index in indexes)
    length = sum(e[4] for index in indexes for e in index["entries"]) / total if total else 1
    # By (index, entry): the score, what its rare terms weigh, and these terms.
    scores: dict[tuple[int, int], list[Any]] = {}
    whole = 0.0
    total = known.total if known is not None else total
    for term in sorted(set(terms_of(cut_prompt(prompt)))):
        found = [index["terms"].get(term, ()) for index in indexes]
        count = sum(len(postings) // 2 for postings in found)
        count = known.counts.get(term, count) if known is not None else count
        inverse = inverse_frequency(count, total)
        whole += inverse
        rare = is_rare(count, total)
        for number, postings in enumerate(found):
            entries = indexes[number]["entries"]
            for at, times in zip(postings[::2], postings[1::2], strict=True):
                norm = K1 * (1 - B + B * entries[at][4] / length)
                score = scores.setdefault((number, at), [0.0, 0.0, []])
                score[0] += inverse * times * (K1 + 1) / (times + norm)
                if rare:
                    score[1] += inverse
                    score[2].append(term)
    fitting = []
    for (number, at), (score, weight, terms) in scores.items():
        line, _, message, factor, _ = indexes[number]["entries"][at]
        if indexes[number] is own and message >= own["compacted"]:
            continue
        least = PERSON_SHARE if line.startswith(PERSON) else MIN_SHARE
        enough = len(terms) >= MIN_TERMS or any(map(_is_name, terms))
        if enough and weight >= least * whole:
            fitting.append(Hit(number, at, score * factor, tuple(terms)))
    return sorted(fitting, key=lambda h: (-h.score, h.source, h.entry))


def _is_name(term: str) -> bool:
    """Whether a term is the name of a file or an identifier, not a word or a number."""
    return not term.isdigit() and re.search(r"[._\d]", term) is not None


class _Index(Struct):
    """What an index has to be: the file may come with a cloned repository."""

    schema: Literal[1]
    session: str
    compacted: int
    entries: Annotated[tuple[Entry, ...], Meta(max_length=MAX_ENTRIES)]
    terms: dict[str, tuple[Annotated[int, Meta(ge=0)], ...]]


def loaded_index(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """An index from a file, None if it is not well formed."""
    try:
        index = msgspec.convert(value, _Index)
    except msgspec.ValidationError:
        return None
    most = max(1, len(index.entries))
    sound = all(len(p) % 2 == 0 and max(p[::2], default=0) < most for p in index.terms.values())
    return value if sound and not any(_BREAKING.search(e[0]) for e in index.entries) else None


def recall_block(
    prompt: str,
    indexes: Sequence[Mapping[str, Any]],
    *,
    about: str,
    own: Mapping[str, Any] | None = None,
    given: str = "",
    most: int = MAX_TOKENS,
    known: Frequencies | None = None,
) -> tuple[str, list[str]]:
    """The block for a prompt and the lines in it; ("", []) where nothing fits well.

    Args:
        about: second line of the block.
        own: the index of the prompt's own session, if it is among `indexes`.
        given: what the agent was given already; its lines are left out.
        most: tokens of the block, an upper bound.
        known: see `hits`.
    """
    room = most - FRAME_TOKENS
    chosen: list[Hit] = []
    for hit in hits(prompt, indexes, own=own, known=known):
        line, cost, *_ = indexes[hit.source]["entries"][hit.entry]
        if len(chosen) == MAX_LINES:
            break
        if cost <= room and _core(line) not in given:
            chosen.append(hit)
            room -= cost
    if not chosen:
        return "", []
    lines = []
    text = ""
    for number in dict.fromkeys(hit.source for hit in chosen):
        index = indexes[number]
        name = _safe_id(index["session"])
        where = "earlier in this session" if index is own else f"in session {short_name(name)}"
        text += f"Said and done {where} (message n: leftoff show {short_name(name)}#n):\n"
        for hit in chosen:
            if hit.source == number:
                line = index["entries"][hit.entry][0]
                lines.append(line)
                text += f"{line}\n"
    first = _safe_id(indexes[chosen[0].source]["session"])
    return f'<leftoff session="{first}">\n{about}\n{text}</leftoff>\n', lines


def _safe_id(session: str) -> str:
    return re.sub(r"[^\w.-]", "_", session)[:80] or "unknown"


def _core(line: str) -> str:
    """The beginning of a line's words, without its label: what two forms of it share."""
    return line[2:].partition(": ")[2][:80].rstrip("…")


def short_name(session: str) -> str:
    """The beginning of a session's id that names it on a command line. That of a UUID of
    version 7 needs its whole time: its first 8 digits last for a minute."""
    if not _UUID.fullmatch(session):
        return session
    return session[:13] if session[14] == "7" else session[:8]
