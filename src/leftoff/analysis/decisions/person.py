"""The person's own decisions: what they chose, approved, rejected, required or overruled.

How it works: a prompt is read sentence by sentence. What opens a sentence ("ok, so", "please")
is left out, and each listed verb of `rules/person.toml` gets a mark that says of which list it
is, so that a rule names a list by one character. Whether a sentence decides is said by a
logistic regression (`rules/person.json`, written by `benchmarks/accuracy/decisions/person.py`)
over its words, whether a rule finds how or what in it ("put it below", "it must not"; an order
of routine, "run the tests", only if the rule says so), and what stands around it. Sentences of
other languages have rules alone."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import count

import msgspec
from msgspec import Struct

import leftoff.extraction
from leftoff import lazy_re as re
from leftoff.extraction.decision_model import (
    ENGLISH,
    FOREIGN,
    PATTERNS,
    PERSON,
    SCALE,
    Model,
    Steps,
    calibrated,
    is_foreign,
    word_features,
    words,
)
from leftoff.extraction.evidence import Asked
from leftoff.extraction.requests import is_pasted, matches
from leftoff.extraction.rules import ascii_gate, lowered
from leftoff.redaction.scanner import QuoteEnds
from leftoff.session_view import SessionView
from leftoff.summary import KeyDecision
from leftoff.tables import table
from leftoff.text.markdown import Span, sentences
from leftoff.text.truncation import one_line

_WORDS = table(__file__, "patterns.toml")
_RE = re.patterns(_WORDS["person"])
_GENERIC = frozenset(_WORDS["words"]["generic"].split())

# Confidence of an answer with its question, and of what a rule for another language finds: the
# share that is one, by reading.
ANSWER_CONFIDENCE = FOREIGN_CONFIDENCE = 0.9

# Code points; a longer prompt is mostly pasted. Chosen by hand; not measured.
MAX_PROMPT = 4000

# Code points of a reply to the agent's question, and of the shortest sentence that decides
# something. Chosen by hand.
MAX_REPLY, MIN_SENTENCE = 160, 3

# Between the agent's question and the person's answer.
ARROW = " → "


# Ranks of what a person says: just a task, an order that says how, a choice or requirement, and
# what is ruled out.
TASK, ORDER, CHOICE, LIMIT = range(4)


# Rule of what stands under a heading that says what is to be reached, or what is so.
AIM = "aim"


class Act(Struct, frozen=True):
    """A way to decide in words.

    Attributes:
        id: stable name; it appears in the output.
        pattern: of a sentence in `_marked` form; `unless`: of one that is none all the same.
        rank: of what it finds, as in `rank`.
        once: of a sentence that is carried out once and ranks as an order.
        routine: it counts in an order of routine, too.
        foreign: it is in another language than English.
        matches, misses: sentences in which it must and must not be found; `once_matches`: those
            of them that are carried out once."""

    id: str
    pattern: str
    unless: str = ""
    rank: int = CHOICE
    once: str = ""
    routine: bool = False
    foreign: bool = False
    matches: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()
    once_matches: tuple[str, ...] = ()

    def found_in(self, marked: str) -> bool:
        """Whether the sentence, in `_marked` form, decides in this way."""
        if _finder(self.pattern)(marked) is None:
            return False
        return not self.unless or _finder(self.unless)(marked) is None


_TABLE = table(leftoff.extraction.__file__, "rules", "person.toml")
# The rules of `rules/person.toml` in file order.
ACTS = msgspec.convert(_TABLE["rule"], tuple[Act, ...])

_FOREIGN = frozenset(act.id for act in ACTS if act.foreign)
# A yes to what the agent would do next settles no more than an order.
_RANKS = {act.id: ORDER if act.foreign else act.rank for act in ACTS}
_RANKS |= {"words": ORDER, "agreement": ORDER}
# What settles a question of the agent's is as sure as what is ruled out.
_RANKS |= dict.fromkeys(("answer", "option", "reply", "approval"), LIMIT)
_ONCE = {act.id: act.once for act in ACTS if act.once}
# Rules whose sentences rule something out whatever their words.
LIMITS = frozenset(act.id for act in ACTS if act.rank == LIMIT)

# Letters for clicks: prompts hardly have them, and no pattern must escape them.
_MARKS = dict(zip(("make", "drop", "new", "routine"), "\u01c0\u01c1\u01c2\u01c3", strict=True))
# Marks are letters to `re`, so that `\w` holds of a marked word.
_ANY = "[\u01c0-\u01c3]*"

_LISTED: dict[str, list[tuple[list[str], str]]] = {}
for _name, _mark in reversed(_MARKS.items()):
    for _words in _TABLE["words"][_name].split():
        _first, *_rest = _words.split("_")
        _LISTED.setdefault(_first, []).append((_rest, _mark))
_SPELLING = {
    wrong: right for right, listed in _TABLE["spelling"].items() for wrong in listed.split()
}
_MISSPELT = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, _SPELLING))})(?!\w)")
# Each misspelt word holds one of these: most sentences hold none.
_MAYBE_MISSPELT = frozenset(max(re.findall(r"\w+", wrong), key=len) for wrong in _SPELLING)
_NAMED = {name: rf"{_ANY}{mark}{_ANY}[a-z]+" for name, mark in _MARKS.items()} | {
    "adverb": rf"(?:{'|'.join(_TABLE['words']['adverb'].split())})\b\s*"
}


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern with its lists; a word of a list may be marked wherever it stands."""

    def part(found: re.Match[str]) -> str:
        token = found[0]
        if token[0] != "<":
            return rf"{_ANY}{token}" if token in _LISTED else token
        name = token[1:-1]
        return f"(?:{_NAMED.get(name) or _compiled(_TABLE['patterns'][name]).pattern})"

    return re.compile(re.sub(r"\\.|<\w+>|[a-z]+", part, pattern))


@cache
def _finder(pattern: str) -> Callable[[str], re.Match[str] | None]:
    """Finds a pattern in a sentence. `re.search` tries one that begins with "^" at every
    place."""
    compiled = _compiled(pattern)
    return compiled.match if pattern[0] == "^" else compiled.search


# Sentences of a process that are read without the automaton. Measured: to make it takes as
# long as to try all rules on 90 sentences (6 ms; 1 and 67 µs for one).
FEW = 100
_read = count()
# Capitals stand for the marks: no sentence has any, and RE2 knows no letters but ASCII.
_LETTERS = dict(zip(map(ord, _MARKS.values()), "ABCD", strict=True))


# A gap of ten characters and more: it multiplies the states of an automaton.
_GAP = re.compile(r"\{\d*,\d\d+\}|\{\d\d+,?\}")


@cache
def _gate() -> tuple[list[int], list[int], Callable[[str], list[int]]]:
    """The numbers of the rules that are always tried, those of the others, and their gate."""
    patterns = [_compiled(act.pattern).pattern for act in ACTS]
    tried = [number for number, one in enumerate(patterns) if _GAP.search(one)]
    gated = [number for number, one in enumerate(patterns) if not _GAP.search(one)]
    plain = (re.sub(r"\\u01c([0-3])", lambda m: "ABCD"[int(m[1])], patterns[n]) for n in gated)
    return tried, gated, ascii_gate(one.translate(_LETTERS) for one in plain)


def _acts_of(marked: str) -> Sequence[Act]:
    """The rules that may be found in a sentence, in `_marked` form, in their order."""
    plain = marked.translate(_LETTERS)
    if next(_read) < FEW or not plain.isascii():
        return ACTS
    tried, gated, gate = _gate()
    return [ACTS[number] for number in sorted((*tried, *(gated[n] for n in gate(plain))))]


# Words as the list of misspelt ones has them; blanks alone would leave a comma at their end.
_RUN = re.compile(r"\w+")


def _opened(sentence: str) -> tuple[str, str]:
    """What opens a sentence, and the rest of it, in lower case."""
    low = lowered(sentence).replace("’", "'").strip()
    if not _MAYBE_MISSPELT.isdisjoint(_RUN.findall(low)):
        low = _MISSPELT.sub(lambda found: _SPELLING[found[0]], low)
    opening = _pattern("opening").match(low)
    end = opening.end() if opening else 0
    return low[:end], low[end:]


def _marked(sentence: str) -> str:
    """A sentence in lower case without what opens it, with the mark of its list before each
    listed verb."""
    return _with_marks(_opened(sentence)[1])


def _with_marks(text: str) -> str:
    found = text.split(" ")
    plain = [word.strip('\n\t,.:;!?()"*`') for word in found]
    for place, word in enumerate(plain):
        for rest, mark in _LISTED.get(word, ()):
            if plain[place + 1 : place + 1 + len(rest)] == rest:
                found[place] = found[place].replace(word, mark + word, 1)
    return " ".join(found)


def person_decisions(
    view: SessionView, least: float | None = None, model: Model = PERSON
) -> list[KeyDecision]:
    """Answers to questions, with the question, and sentences of prompts that settle how or
    what, each once. A bare label without the question or the option's words is none.

    Args:
        least: the lowest confidence that is reported; the model's own threshold if None."""
    least = model.least / SCALE if least is None else least
    found: list[KeyDecision] = []
    for asked in view.active(Asked):
        answer = _answer(asked)
        if answer is not None:
            found.append(_decision(view, asked, 0, len(asked.text), *answer, ANSWER_CONFIDENCE))
        elif asked.via in {"prompt", "queued", "rejection"} and len(asked.text) <= MAX_PROMPT:
            taken: list[Span] = []
            quotes = QuoteEnds(asked.text) if asked.answers else None
            for start, end, question, option in asked.answers:
                answer = _answer_to(question, asked.text[start:end].strip(), option)
                if answer and quotes and quotes.end(start, end) == end:
                    taken.append((start, end))
                    found.append(_decision(view, asked, *taken[-1], *answer, ANSWER_CONFIDENCE))
            found += _stated(view, asked, model, least, taken)
    once: dict[tuple[str, str], KeyDecision] = {}
    for decision in found:
        if decision.confidence >= least:
            once.setdefault((decision.text, decision.rule), decision)
    return list(once.values())


def _answer(asked: Asked) -> tuple[str, str] | None:
    """Text and rule of a decision that is a whole prompt and answers the agent's question."""
    said = asked.text.strip()
    if _fires("no_choice", said) or not said:
        return None
    if asked.via == "answer":
        return _answer_to(asked.question, said) if len(_content(asked.question)) > 1 else None
    if asked.via not in {"prompt", "queued"} or len(said) > MAX_REPLY:
        return None
    if asked.option:
        return _answer_to(asked.question, said, asked.option)
    if _agrees_with_words(said, asked.question):
        return f"{asked.question}{ARROW}{said}", "agreement"
    if not _asks_for_a_way(asked.question):
        return None
    if matches("approval", said) or _RE["no"].match(said):
        open_ = _pattern("open_question").match(lowered(asked.question))
        return None if open_ else (f"{asked.question}{ARROW}{said}", "approval")
    named = _content(said) & _content(asked.question)
    if matches("choice", said) and named or _RE["letter"].match(said):
        return f"{asked.question}{ARROW}{said}", "reply"
    return None


def _answer_to(question: str, said: str, option: str = "") -> tuple[str, str] | None:
    """Text and rule of an answer to one question, by the words of the option that it names."""
    if option:
        # A question that does not end with its mark goes on with the options.
        asked = question if question.endswith("?") else ""
        named = said.rstrip(".:" if "(" in said else ".:)")
        return f"{asked}{ARROW}{named}: {option}".removeprefix(ARROW), "option"
    bare = len(said) <= 4 or matches("approval", said)
    if _fires("no_choice", said) or bare and not _asks_for_a_way(question):
        return None
    return f"{question}{ARROW}{said}", "answer"


def _agrees_with_words(said: str, question: str) -> bool:
    """Whether a yes goes on with words of the question that name more than routine."""
    agreed = _RE["agreed"].match(said.lower())
    if agreed is None or said.rstrip(" \n)*_").endswith("?"):
        return False
    shared = _content(said[agreed.end() :]) & _content(question)
    return bool(shared - _GENERIC)


def _content(text: str) -> set[str]:
    return set(_RE["word"].findall(text.lower()))


def _asks_for_a_way(question: str) -> bool:
    """Whether a yes to the question decides something: it names what, and asks for more than
    leave to go on."""
    whole = question.count("(") >= question.count(")")
    named = whole and question.endswith("?") and len(_content(question)) >= 4
    return named and not _fires("routine", question)


class Sentence(Struct, frozen=True):
    """A sentence of a prompt.

    Attributes:
        start, end: code points in the prompt.
        opening: what opens it, in lower case.
        marked: its `_marked` form; `act`: the first rule that finds a decision in it.
        pasted: it was, by its look; `other`: it is in another language than English.
        item: it opens an item of a list."""

    start: int
    end: int
    opening: str
    marked: str
    act: Act | None
    pasted: bool
    other: bool
    item: bool


_ONLY_FOREIGN = FOREIGN - ENGLISH


def read_prompt(text: str) -> list[Sentence]:
    """The sentences of a prompt."""
    found: list[Sentence] = []
    for start, end in _lines(text):
        number = _RE["number"].match(text, start, end)
        start = number.end() if number else start
        item = _RE["item"].search(text[max(0, start - 12) : start]) is not None
        found.append(_sentence(text[start:end], start, end, item=item))
    return found


def act_of(sentence: str) -> Act | None:
    """The first rule that finds a decision in a sentence; None if it was pasted."""
    return _sentence(sentence, 0, len(sentence)).act


def deciding_part(text: str, room: int) -> str:
    """The part of a decision that decides, for a place of `room` code points: of an answer the
    answer, after the beginning of its question; of a long sentence what stands from the last
    clause on that decides something by itself. "" where the beginning tells it."""
    if len(text) <= room:
        return ""
    question, arrow, answer = text.partition(ARROW)
    if arrow:
        asked = one_line(_RE["options"].sub("", question), max(room // 3, room - len(answer)))
        return f"{asked}{arrow}{answer}"
    if act_of(text[:room]) is not None:
        return ""
    starts = [clause.end() for clause in _RE["clause"].finditer(text)]
    parts = (text[at:] for at in reversed(starts))
    part = next((part for part in parts if act_of(part[:room]) is not None), "")
    return f"… {part}" if part and not _RE["torn"].match(part) else ""


def _sentence(said: str, start: int, end: int, *, item: bool = False) -> Sentence:
    opening, rest = _opened(said)
    marked, low = _with_marks(rest), lowered(said)
    pasted = _pattern("pasted").search(low) is not None
    used = set(low.split())
    english, foreign = len(used & ENGLISH), len(used & _ONLY_FOREIGN)
    other = is_foreign(said) or foreign > max(1, english)
    parts = [_marked(part) for part in _RE["part"].split(said)] if other else [marked]
    acts: Iterable[Act] = ()
    if len(marked) > MIN_SENTENCE and not pasted:
        acts = ACTS if other else _acts_of(marked)
    if other:
        acts = (act for act in acts if act.foreign)
    elif english > foreign:
        acts = (act for act in acts if not act.foreign)
    if _pattern("order_of_routine").match(marked):
        acts = (act for act in acts if act.foreign or act.routine)
    act = next((act for act in acts if any(map(act.found_in, parts))), None)
    return Sentence(start, end, opening, marked, act, pasted, other, item)


# Chosen by hand; the weights were fitted to these edges, as in `select`.
_CHOSEN = Steps("s:chosen", 0, 0.1, 0.25, 0.4, 0.6)
_PASTED = Steps("s:pasted", 0, 0.1, 0.3, 0.6)
_LENGTH = Steps("s:length", 10, 20, 40, 70, 120, 200)
_SIZE = Steps("s:size", 40, 100, 200, 400, 800, 1600)
_LETTERS_SHARE = Steps("s:letters", 0.6, 0.8, 0.9, 0.97)


def features(asked: Asked, read: list[Sentence], number: int) -> list[str]:
    """What the model reads of the sentence `number`: its words, its look, and how its prompt
    reads around it. Nothing of one that was pasted, is too short, a bare yes, or in another
    language."""
    one, text = read[number], asked.text
    said = text[one.start : one.end]
    found = words(one.marked, 60)
    bare = len(said) <= MIN_SENTENCE or len(found) < 2 and matches("approval", said)
    bare = bare or _pattern("bare_yes").match(one.marked) is not None
    if one.pasted or one.other or bare:
        return []
    others = read[:number] + read[number + 1 :]
    most = max(1, len(others))
    letters = (_letters(said) + said.count(" ")) / len(said)
    return [
        *word_features(found),
        *dict.fromkeys("o:" + word for word in words(one.opening)),
        _CHOSEN(sum(o.act is not None for o in others) / most),
        _PASTED(sum(o.pasted for o in others) / most),
        _LENGTH(len(said)),
        _SIZE(len(text)),
        _LETTERS_SHARE(letters),
        f"s:end{said[-1] if said[-1] in '.:?!,;)' else 'x'}",
        f"s:before-{_look(read, number - 1)}",
        f"s:after-{_look(read, number + 1)}",
        f"s:rest{len(others) > 0:d}",
        *(["s:item"] if one.item else []),
        *(["s:rule"] if one.act else []),
        *(["s:asked"] if asked.question else []),
    ]


_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())


def _letters(text: str) -> int:
    if text.isascii():
        return len(text.encode().translate(None, _NO_LETTERS))
    return sum(map(str.isalpha, text))


def _look(read: list[Sentence], number: int) -> str:
    if not 0 <= number < len(read):
        return "none"
    return "rule" if read[number].act else "pasted" if read[number].pasted else "other"


def rank(decision: KeyDecision) -> int:
    """How much a decision of the person settles; a doubt, and what holds for one request only,
    as little as just a task. Of 904 labelled sentences that are sure these shares decide
    something, once or for later: 0.93, 0.95, 0.98 and 0.99."""
    low = lowered(decision.text.rpartition(ARROW)[2]).replace("’", "'")
    if _pattern("unsure").search(low) or matches("passing", decision.text):
        return TASK
    limits = "foreign_limits" if decision.rule in _FOREIGN else "limits"
    if decision.rule == AIM:
        return TASK
    if _pattern(limits).search(_RE["aside"].sub("", low)):
        return LIMIT
    least, once = _RANKS.get(decision.rule, CHOICE), _ONCE.get(decision.rule)
    if once and _finder(once)(_marked(decision.text)):
        least = ORDER
    return max(least, CHOICE) if _pattern("picks").match(low) else least


def _stated(
    view: SessionView, asked: Asked, model: Model, least: float, taken: Sequence[Span]
) -> Iterator[KeyDecision]:
    """The sentences of a prompt that may settle something, with a confidence of at least
    `least`, but for those that cut a secret or end in what was `taken`: words behind an option
    are the person's own."""
    quotes = QuoteEnds(asked.text)
    read = read_prompt(asked.text)
    asks, forbids, aims = False, "", ""
    for number, one in enumerate(read):
        said = asked.text[one.start : one.end]
        aims = _aims(asked.text, one, aims)
        if not one.item and asked.text[: one.start].rstrip(" \t")[-1:] in {"", "\n"}:
            forbids = said.rstrip("*:： ") if matches("forbids_list", said) else ""
        if said[-1] == ":" and (one.other or _RE["code"].match(asked.text, one.end)):
            continue  # a heading, or a line that only introduces code in a pasted answer
        asks = asks if one.item else _RE["asks"].match(said) is not None
        if one.item and asks:
            continue  # the list is what the question is about, or gives examples
        if any(start < one.end <= end for start, end in taken):
            continue
        names = features(asked, read, number)
        chance = calibrated(model.score(names), 0, model.calibration) if names else 0.0
        if one.act is not None and one.act.foreign:
            chance = FOREIGN_CONFIDENCE
        likely = chance and round(chance, 3) >= least
        if likely and is_pasted(asked, one.start, one.end):
            continue
        if likely and quotes.end(one.start, one.end) == one.end:
            rule = AIM if aims else one.act.id if one.act else "words"
            # Alone, an item of "you must not:" says the opposite.
            text = f"{forbids}: {said}" if one.item and forbids else said
            yield _decision(view, asked, one.start, one.end, text, rule, round(chance, 3))


def _aims(text: str, one: Sentence, above: str) -> str:
    """How the heading over a sentence is marked if nothing is settled below it, "" if there is
    none; one without a mark of Markdown holds up to the next paragraph."""
    start = text.rfind("\n", 0, one.start) + 1
    mark, said = text[start : one.start].strip()[:1], text[one.start : one.end]
    if not one.item and (mark == "#" or mark in {"", "*"} and said.endswith((":", "**"))):
        return (mark or ":") if matches("aims_heading", said) else ""
    new = not one.item and text[: max(0, start - 1)].rstrip(" \t")[-1:] == "\n"
    return above if above == "#" or not new else ""


# Code points; a shorter line was not broken by a terminal or an editor. Chosen by hand.
WRAPPED = 60

_STOPS = ".:!?…"


def _lines(text: str) -> Iterator[Span]:
    """The sentences of a text, those of several lines line by line; lines that a terminal or an
    editor broke, since the next word had no room, are one."""
    whole = text.split("\n")
    # An address that cannot be broken makes a last line longer than the others.
    width = max(map(len, whole[:-1] if len(whole) > 3 else whole))
    for first, last in sentences(text):
        start, end = first, -1
        for line in re.finditer(r"(\S\S*)(?:[^\n]*\S)?", text[first:last]):
            size = end - text.rfind("\n", 0, end) - 1
            full = size >= WRAPPED and size + 1 + len(line[1]) >= width
            full = full and text[end - 1] not in _STOPS
            full = full or text.count("(", start, end) > text.count(")", start, end)
            if end >= 0 and not (full and line[0][0].islower()):
                yield start, end
                start = first + line.start()
            end = first + line.end()
        if end >= 0:
            number = _RE["next_number"].search(text, start, end)
            yield start, number.start() if number else end


def _pattern(name: str) -> re.Pattern[str]:
    return _compiled(_TABLE["patterns"][name])


def _fires(name: str, text: str) -> bool:
    return any(rule.search(text) is not None for rule in PATTERNS[name])


def _decision(
    view: SessionView,
    asked: Asked,
    start: int,
    end: int,
    text: str,
    rule: str,
    confidence: float,
) -> KeyDecision:
    own = asked.text[start:end]
    return KeyDecision(
        text=text,
        type="approach",
        confidence=confidence,
        message_index=asked.ref.message,
        ref=view.ref_within(asked.ref, start, own),
        owner="user",
        rationale=captured("rationale", own),
        alternative=captured("alternative", own),
        rule=rule,
    )


def captured(name: str, text: str) -> str:
    """The text captured by the first matching pattern of a kind, "" if none matches."""
    for rule in PATTERNS[name]:
        match = rule.search(text)
        if match is not None:
            start, end = match.span(match.re.groups and 1)
            # Words are taken whole: no rule of redaction recognises half of a secret.
            while end < len(text) and text[end] < "\x80" and not text[end].isspace():
                end += 1
            return text[start:end].rstrip(".;:!?").strip(" \t*_`—–-:,")
    return ""
