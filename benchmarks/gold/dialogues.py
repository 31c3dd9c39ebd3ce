"""Hand-written dialogues: what was said, what was run, and the labels as marks in the text.

A dialogue is a text file. Its head are lines `name: value` up to a blank line: `format`, `cwd`,
`model`, `started`, `about`. Then come steps:

    U> what the person types; further lines belong to it
    A> what the agent says; further lines belong to it
    T> what the agent thinks, before it speaks
    @ testing                 the session is in this stage from the next step on
    $ pytest -q               a command; `| ` lines are what it printed, `=1` its exit code
    %read src/a.py            a file that is read; `| ` lines are its content
    %edit src/a.py            `- ` lines are replaced by `+ ` lines
    %write src/a.py           `+ ` lines are the new file

The first call after `A>` belongs to the same response, every other one is a response without
words. A call that begins with `!` ("!$ rm -r x") was refused by the person.

Marks stand in the words and are taken out of them:

    [[fix3: words]]           a decision: its type (architecture, implementation, approach, fix,
                              other; short: arch, impl, appr) and importance; `[[fix3 key: …]]`
                              names it, and `[[also key]]` marks a message that only repeats it
    [[m tests_pass: words]]   a milestone, of one kind or several
    [[u task: words]]         a directive of the person
    [[o: words]]              something left open at the end

Marks may stand in one another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

TYPES = {"arch": "architecture", "impl": "implementation", "appr": "approach"}

_HEAD = re.compile(
    r"\[\[(?:(?P<type>arch|impl|appr|fix|other)(?P<weight>[123])(?: (?P<key>[\w-]+))?"
    r"|m (?P<kinds>[a-z_ ]+)|u (?P<kind>[a-z]+)|(?P<open>o)): "
)
_ALSO = re.compile(r"\s?\[\[also (?P<key>[\w-]+)\]\]")
_CALL = re.compile(
    r"(?P<refused>!?)(?:\$ (?P<command>.*)|%(?P<tool>read|edit|write) (?P<path>.+))"
)
_SPEAKERS = {"U> ": "user", "A> ": "agent", "T> ": "thought"}


class DialogueError(ValueError):
    """A dialogue that cannot be read; says file and line."""


@dataclass(frozen=True)
class Mark:
    """A label on words.

    Attributes:
        what: decision | milestone | directive | open | also.
        kind: type of a decision, kind of a milestone or directive.
        key: name of a decision.
    """

    what: str
    quote: str = ""
    kind: str = ""
    importance: int = 2
    key: str = ""


@dataclass(frozen=True)
class Call:
    """A tool call and what came back.

    Attributes:
        tool: run | read | edit | write.
        target: the command, or the path.
    """

    tool: str
    target: str
    old: str = ""
    new: str = ""
    output: str = ""
    code: int = 0
    refused: bool = False


@dataclass(frozen=True)
class Step:
    """One prompt, or one response of the agent with at most one call.

    Attributes:
        speaker: user | agent.
        stage: the stage that begins here; "" if it goes on.
    """

    speaker: str
    text: str = ""
    marks: tuple[Mark, ...] = ()
    stage: str = ""
    thought: str = ""
    call: Call | None = None


@dataclass(frozen=True)
class Dialogue:
    """A whole session, before it is written in a recorder's layout."""

    name: str
    head: dict[str, str]
    steps: tuple[Step, ...]


@dataclass
class _Building:
    """What the reader holds while it goes through the lines."""

    steps: list[Step] = field(default_factory=list)
    speaker: str = ""
    words: list[str] = field(default_factory=list)
    thought: str = ""
    stage: str = ""


def read(path: Path) -> Dialogue:
    """The dialogue in a file.

    Raises:
        DialogueError: a line that is none of the above, or marks that do not close.
    """
    head: dict[str, str] = {}
    lines = path.read_text(encoding="utf-8").split("\n")
    number = 0
    while lines[number].strip():
        name, _, value = lines[number].partition(":")
        head[name.strip()] = value.strip()
        number += 1
    now = _Building()
    place = number
    while place < len(lines):
        try:
            place = _line(lines, place, now)
        except ValueError as error:
            raise DialogueError(f"{path.name}:{place + 1}: {error}") from error
    try:
        _finish(now)
    except ValueError as error:
        raise DialogueError(f"{path.name}: {error}") from error
    return Dialogue(path.stem, head, tuple(now.steps))


def _line(lines: list[str], place: int, now: _Building) -> int:
    """Takes up the line at `place` and what belongs to it; where to go on."""
    line = lines[place]
    speaker = _SPEAKERS.get(line[:3])
    call = _CALL.fullmatch(line)
    if speaker is not None:
        _finish(now)
        now.speaker, now.words = speaker, [line[3:]]
        return place + 1
    if line.startswith("@ "):
        _finish(now)
        now.stage = line[2:].strip()
        return place + 1
    if call is not None:
        _finish(now)
        made, after = _call(call, lines, place + 1)
        last = now.steps[-1] if now.steps else Step("user")
        if last.speaker == "agent" and last.call is None and not now.stage:
            now.steps[-1] = replace(last, call=made)
        else:
            now.steps.append(Step("agent", stage=now.stage, thought=now.thought, call=made))
            now.stage = now.thought = ""
        return after
    if now.speaker:
        now.words.append(line)
    elif line.strip():
        raise ValueError(f"belongs to nothing: {line[:40]!r}")
    return place + 1


def _call(found: re.Match[str], lines: list[str], place: int) -> tuple[Call, int]:
    kept: dict[str, list[str]] = {"|": [], "-": [], "+": []}
    code = 0
    command = found["command"] or ""
    while place < len(lines) and lines[place][:1] in {"|", "-", "+", "=", ">"}:
        line = lines[place]
        if line[0] == "=":
            code = int(line[1:])
        elif line[0] == ">":
            command += "\n" + line[2:]
        else:
            kept[line[0]].append(line[2:])
        place += 1
    made = Call(
        tool=found["tool"] or "run",
        target=command or found["path"],
        old="\n".join(kept["-"]),
        new="\n".join(kept["+"]),
        output="\n".join(kept["|"]),
        code=code,
        refused=bool(found["refused"]),
    )
    return made, place


def _finish(now: _Building) -> None:
    """Closes the words that are being read, if any."""
    if not now.speaker:
        return
    text, marks = unmarked("\n".join(now.words).strip())
    if now.speaker == "thought":
        now.thought = text
    else:
        step = Step(now.speaker, text, marks, now.stage)
        if now.speaker == "agent":
            step = replace(step, thought=now.thought)
            now.thought = ""
        now.steps.append(step)
        now.stage = ""
    now.speaker, now.words = "", []


def unmarked(text: str) -> tuple[str, tuple[Mark, ...]]:
    """The words without their marks, and the marks by where they begin.

    Raises:
        ValueError: a mark is not closed, or its quote is not on one line.
    """
    marks: list[tuple[int, Mark]] = []
    plain: list[str] = []
    length = 0
    opened: list[tuple[re.Match[str], int]] = []
    place = 0
    while place < len(text):
        also, head = _ALSO.match(text, place), _HEAD.match(text, place)
        if also is not None:
            marks.append((length, Mark("also", key=also["key"])))
            place = also.end()
        elif head is not None:
            opened.append((head, length))
            place = head.end()
        elif opened and text.startswith("]]", place):
            found, start = opened.pop()
            quote = "".join(plain)[start:]
            marks += [(start, mark) for mark in _made(found, quote)]
            place += 2
        else:
            plain.append(text[place])
            length += 1
            place += 1
    said = "".join(plain)
    if opened or "[[" in said:
        raise ValueError(f"a mark is not closed, or not known: {said[:60]!r}")
    marks.sort(key=lambda pair: pair[0])
    return said, tuple(mark for _, mark in marks)


def _made(head: re.Match[str], quote: str) -> Iterator[Mark]:
    if "\n" in quote or not quote.strip():
        raise ValueError(f"a quote stands on one line: {quote[:60]!r}")
    if head["type"]:
        kind = TYPES.get(head["type"], head["type"])
        yield Mark("decision", quote, kind, int(head["weight"]), head["key"] or "")
    elif head["kinds"]:
        for kind in head["kinds"].split():
            yield Mark("milestone", quote, kind)
    elif head["kind"]:
        yield Mark("directive", quote, head["kind"])
    else:
        yield Mark("open", quote)
