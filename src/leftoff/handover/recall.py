"""What earlier work says about a prompt: lines of the project's memory, chosen by BM25.

A client waits for the hook of a prompt, so nothing of the engine may be imported here.

A line is given only where it fits well (`MIN_TERMS`, `MIN_SHARE`, `MAX_SHARE`): an agent that
gets a dozen lines of chance resemblance with every prompt learns to skip them all. How these
limits were found: docs/hooks.md, "What a prompt recalls"."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from leftoff import lazy_re as re
from leftoff.tables import table

# Tokens of what one prompt is given, an upper bound: a token has at least one byte. Counting
# them takes longer than the rest of a hook.
MAX_TOKENS = 1_300

# Tokens of these reserved for the frame. Chosen by hand; a test holds it.
FRAME_TOKENS = 200

# Lines that one prompt is given. Chosen by hand.
MAX_LINES = 6

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
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_URL = re.compile(r"\b\w+://\S*?([^/\s]*)/*(?=[\s)>\]]|$)")
_FUNCTION_WORDS = frozenset(table(__file__, "words.toml")["prompts"].split())

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Line(NamedTuple):
    """A line of a session that may be recalled: what message it is from, counted from 0, and
    how much it counts beside others."""

    session: str
    text: str
    message: int
    weight: float


class Frequencies(NamedTuple):
    """How rare the terms of a prompt are: the number of all lines, and of those with each."""

    total: int
    counts: Mapping[str, int]


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


def fitting(prompt: str, lines: Sequence[Line], known: Frequencies) -> list[Line]:
    """The lines that fit a prompt well, best first; [] where none does."""
    counted = [Counter(terms_of(line.text)) for line in lines]
    average = sum(map(Counter.total, counted)) / max(1, len(lines)) or 1
    values = {
        term: inverse_frequency(known.counts.get(term, 0), known.total)
        for term in sorted(set(terms_of(cut_prompt(prompt))))
    }
    rare = {term for term in values if is_rare(known.counts.get(term, 0), known.total)}
    found = []
    for line, own in zip(lines, counted, strict=True):
        norm = K1 * (1 - B + B * own.total() / average)
        score = sum(
            value * own[term] * (K1 + 1) / (own[term] + norm) for term, value in values.items()
        )
        telling = [term for term in values if term in rare and own[term]]
        least = PERSON_SHARE if line.text.startswith(PERSON) else MIN_SHARE
        enough = len(telling) >= MIN_TERMS or any(map(_is_name, telling))
        if enough and sum(map(values.__getitem__, telling)) >= least * sum(values.values()):
            found.append((score * line.weight, line))
    return [line for _, line in sorted(found, key=lambda one: -one[0])]


def _is_name(term: str) -> bool:
    """Whether a term is the name of a file or an identifier, not a word or a number."""
    return not term.isdigit() and re.search(r"[._\d]", term) is not None


def recall_block(
    prompt: str,
    lines: Sequence[Line],
    known: Frequencies,
    *,
    about: str,
    own: str = "",
    given: str = "",
    most: int = MAX_TOKENS,
) -> tuple[str, list[str]]:
    """The block for a prompt and the lines in it; ("", []) where nothing fits well.

    Args:
        about: second line of the block.
        own: the session that the prompt belongs to.
        given: what the agent was given already; its lines are left out.
        most: tokens of the block, an upper bound."""
    room = most - FRAME_TOKENS
    chosen: list[Line] = []
    for line in fitting(prompt, lines, known):
        cost = len(line.text.encode("utf-8", "replace")) + 1
        if len(chosen) < MAX_LINES and cost <= room and _core(line.text) not in given:
            chosen.append(line)
            room -= cost
    if not chosen:
        return "", []
    text = ""
    for session in dict.fromkeys(line.session for line in chosen):
        name = short_name(_safe_id(session))
        where = "earlier in this session" if session == own else f"in session {name}"
        text += f"Said and done {where} (message n: leftoff show {name}#n):\n"
        text += "".join(f"{line.text}\n" for line in chosen if line.session == session)
    first = _safe_id(chosen[0].session)
    block = f'<leftoff session="{first}">\n{about}\n{text}</leftoff>\n'
    return block, [line.text for line in chosen]


def _safe_id(session: str) -> str:
    return re.sub(r"[^\w.-]", "_", session)[:80] or "unknown"


def _core(line: str) -> str:
    """The beginning of a line's words, without its label and its place: what two forms of it
    share."""
    words = line[2:].partition(": ")[2]
    head, place, _ = words.rpartition(" (#")
    return (head if place else words)[:80].rstrip("…")


def short_name(session: str) -> str:
    """The beginning of a session's id that names it on a command line. That of a UUID of
    version 7 needs its whole time: its first 8 digits last for a minute."""
    if not _UUID.fullmatch(session):
        return session
    return session[:13] if session[14] == "7" else session[:8]
