"""Whether what a prompt recalls is used next: python -m benchmarks.hooks.recall PATHS.

For prompts of recorded sessions (at most 12 of each) the lines are those that the memory of
the project has of everything before the prompt. A recalled line that names a file or identifier
which the prompt does not name counts as used if the agent names it until the next prompt.
Beside it: the same share for all such lines, which is what chance would give. Sessions are in
two halves by the hash of their repository: the limits were chosen on both (there are few), so
neither is unseen.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from leftoff import codec
from leftoff.analysis.session_pass import Pass
from leftoff.api import read
from leftoff.errors import LeftoffError
from leftoff.handover import recall
from leftoff.handover.entries import entries_of
from leftoff.handover.recall import Frequencies, Line
from leftoff.handover.text_match import names
from leftoff.memory.lookup import shown
from leftoff.model import Message, ToolCall
from leftoff.redaction.redactor import Redactor
from leftoff.sources.open import open_lines

PER_SESSION, LEAST = 12, 15
"""Prompts of a session, and the messages that have to stand before one."""

MAX_BYTES = 6_000_000


def typed(message: Message) -> str:
    return " ".join(
        getattr(message.parts[t.part], "text", "")[t.start : t.end]
        for t in message.typed
        if t.via != "command"
    ).strip()


def lines_of(reading: Pass) -> list[Line]:
    """The lines that may be recalled of a session."""
    summary = Redactor().value(codec.to_builtins(reading.conclude()))
    found = []
    for e in entries_of(summary):
        text, weight = shown(e.kind, e.speaker, e.text, e.note, e.message)
        found += [Line("s", text, e.message, weight)] if text else []
    return found


def points(path: str) -> Iterator[tuple[str, list[Line], set[str]]]:
    """Prompt, lines of what stands before it, names that the agent uses after it."""
    messages = [m for m in read(path) if not m.agent]
    with open_lines(path) as lines:
        data = list(lines)
    places = [n for n, m in enumerate(messages) if typed(m)]
    wanted = [n for n in places[1:] if n > LEAST and messages[n].line]
    step = max(1, len(wanted) // PER_SESSION)
    for n in wanted[::step][:PER_SESSION]:
        end = next((p for p in places if p > n), len(messages))
        said = [
            codec.dumps(part.input).decode() if type(part) is ToolCall else message.text
            for message in messages[n + 1 : end]
            if message.role == "assistant"
            for part in message.parts
        ]
        if said:
            reading = Pass(path)
            reading.feed_lines(data[: (messages[n].line or 1) - 1])
            reading.close()
            used = names("\n".join(said).replace("\\n", "\n"))
            yield typed(messages[n]), lines_of(reading), used


def count(path: str, found: Counter[str]) -> float:
    """Adds a session's counts; gives how many of its named lines chance would have right."""
    chance = 0.0
    for prompt, lines, used in points(path):
        found["prompts"] += 1
        terms = Counter(t for line in lines for t in set(recall.terms_of(line.text)))
        known = Frequencies(len(lines), terms)
        hits = recall.fitting(prompt, lines, known)[: recall.MAX_LINES]
        found["answered"] += bool(hits)
        found["lines"] += len(hits)
        own = names(prompt)
        every = {line: names(line.text) - own for line in lines}
        named = [every[hit] for hit in hits if every[hit]]
        found["named"] += len(named)
        found["used"] += sum(bool(n & used) for n in named)
        pool = [bool(n & used) for n in every.values() if n]
        chance += len(named) * sum(pool) / max(1, len(pool))
    return chance


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("paths", nargs="+")
    halves: dict[int, Counter[str]] = {0: Counter(), 1: Counter()}
    chances = {0: 0.0, 1: 0.0}
    for folder in parser.parse_args().paths:
        for file in sorted(Path(folder).rglob("*.jsonl*")):
            if file.suffix not in {".jsonl", ".gz"} or file.stat().st_size > MAX_BYTES:
                continue
            digest = hashlib.sha256(file.name.partition("__")[0].encode()).digest()
            half = digest[-1] % 2
            try:
                chances[half] += count(str(file), halves[half])
            except LeftoffError as error:
                print(f"{file.name}: {error}", file=sys.stderr)
    for half, found in halves.items():
        named = max(1, found["named"])
        print(
            f"half {half}: {found['prompts']} prompts, {found['answered']} answered with "
            f"{found['lines']} lines; {found['named']} of them name something: used "
            f"{found['used'] / named:.2f}, by chance {chances[half] / named:.2f}"
        )


if __name__ == "__main__":
    main()
