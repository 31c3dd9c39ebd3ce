"""Facts about a session, and whether a text states them: the measure of `audit --words`.

A text states a fact if one of its items (a line with the lines indented below it) names both
the subject and its value. A file counts as named only if the name is unambiguous."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.handover.text_match import MAX_SENTENCE_WORDS, MIN_WORD_SHARE, content_words, words
from leftoff.tables import table


class Fact(Struct, frozen=True):
    """A subject with the values that it had before the cut, oldest first.

    Attributes:
        kind: file | command | todo | branch | commit.
        used: whether the session uses it again after the cut, so that a successor needs it."""

    kind: str
    subject: str
    values: tuple[str, ...]
    used: bool

    @property
    def value(self) -> str:
        """The value at the cut."""
        return self.values[-1]


_VALUES: dict[str, str] = table(__file__, "words.toml")["values"]
VALUE_WORDS = {value: frozenset(synonyms.split()) for value, synonyms in _VALUES.items()}

# The words of a heading count for every item below it: "Failed:" and a list of names.
_HEADING = re.compile(r"\s*(?:#+ |\*\*[^*]+\*\*:?\s*$|(?![-*+•])(?:\d+\. )?[^.!?]{1,80}:\s*$)")


class Item(Struct, frozen=True):
    """A line of a text with the lines indented below it, and the words of its heading."""

    text: str
    words: frozenset[str]
    heading: frozenset[str]


def _components(path: str) -> list[str]:
    return [part for part in path.replace("\\", "/").split("/") if part]


def names_file(text: str, path: str, files: Sequence[str]) -> bool:
    """Whether a text names a file unambiguously among the changed `files`."""
    text = text.replace("\\", "/")
    parts = _components(path)
    others = [_components(other) for other in files if other != path]
    for size in range(1, len(parts) + 1):
        suffix = parts[-size:]
        if size == len(parts) or not any(other[-size:] == suffix for other in others):
            name = re.escape("/".join(suffix))
            return re.search(rf"(?<![\w.-]){name}(?![\w-]|\.\w)", text) is not None
    return False


# -- facts -----------------------------------------------------------------------------------


def text_items(text: str) -> list[Item]:
    """The items of a text: each line with up to eleven lines indented below it."""
    lines = [line for line in text.splitlines() if line.strip()]
    found: list[Item] = []
    heading: frozenset[str] = frozenset()
    for number, line in enumerate(lines):
        if _HEADING.match(line) and not line.startswith((" ", "\t")):
            heading = frozenset(words(line))
        depth = _indent(line)
        block = [line]
        for below in lines[number + 1 : number + 12]:
            if _indent(below) <= depth:
                break
            block.append(below)
        flat = " ".join(" ".join(block).split()).replace("`", "")
        found.append(Item(flat, frozenset(words(flat)), heading))
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def states_fact(listed: Sequence[Item], fact: Fact) -> bool:
    """Whether one item names both the subject and its value at the cut."""
    return any(
        names_subject(item, fact) and _names_value(item, fact, fact.value) for item in listed
    )


def stated_and_outdated(
    listed: Sequence[Item], facts: Iterable[Fact]
) -> tuple[list[Fact], list[Fact]]:
    """The facts of which a text states a value, and those of them with outdated values only."""
    stated: list[Fact] = []
    outdated: list[Fact] = []
    for fact in facts:
        mentions = [item for item in listed if names_subject(item, fact)]
        current = any(_names_value(item, fact, fact.value) for item in mentions)
        old = [v for v in dict.fromkeys(fact.values) if _is_outdated(fact, v)]
        earlier = any(_names_value(item, fact, value) for item in mentions for value in old)
        if current or earlier:
            stated.append(fact)
            if not current:
                outdated.append(fact)
    return stated, outdated


def _is_outdated(fact: Fact, value: str) -> bool:
    """Whether an earlier value no longer holds at the cut. A file that was created and then
    modified is both."""
    if fact.kind == "file":
        return (value == "deleted") != (fact.value == "deleted")
    if fact.kind == "commit":
        return False  # an earlier commit still exists
    return value != fact.value


def names_subject(item: Item, fact: Fact) -> bool:
    """Whether an item names what a fact is about."""
    if fact.kind == "file":
        return names_file(item.text, fact.subject, ())
    if fact.kind == "command":
        return fact.subject.replace("`", "").replace('"', "'") in item.text.replace('"', "'")
    if fact.kind == "todo":
        subject = content_words(fact.subject)
        if len(item.words) > MAX_SENTENCE_WORDS:
            return False  # so much text contains the words of any short item
        return len(subject & item.words) >= MIN_WORD_SHARE * len(subject) - 1e-9
    return fact.kind in item.words or fact.kind in item.heading


def _names_value(item: Item, fact: Fact, value: str) -> bool:
    if fact.kind in ("branch", "commit"):
        short = value[:7] if fact.kind == "commit" else value
        return re.search(rf"(?<![\w/-]){re.escape(short)}", item.text) is not None
    value_words = VALUE_WORDS.get(value, frozenset((value,)))
    if fact.kind == "file" and "created" in fact.values and value == "modified":
        value_words |= VALUE_WORDS["created"]
    subject = frozenset(words(fact.subject))
    return bool(value_words & (item.words - subject)) or bool(value_words & item.heading)


def core_command(command: str) -> str:
    """The program of a command with its arguments: no `cd`, `export`, pipe or redirection."""
    parts = [part.strip() for part in re.split(r"&&|;|\n", command.strip())]
    programs = [p for p in parts if p and not p.startswith(("cd ", "export "))]
    text = programs[0] if programs else ""
    return " ".join(re.split(r"\||\d?>", text)[0].split())
