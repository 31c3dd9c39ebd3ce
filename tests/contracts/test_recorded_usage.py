"""Each recorder's own rule of counting tokens, told again in the plainest way and held against
what the ledger says of real recordings.

The rules are those of docs/formats. The files are not ours to copy; the tests skip where the
folder is absent.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from leftoff import api
from leftoff.budget.usage import spend, total
from leftoff.model import Usage
from leftoff.session_view import SessionView
from leftoff.sources.open import open_lines

Rule = Callable[[Path], Usage]


def files(corpus: Path, format: str) -> list[Path]:
    with (corpus / "MANIFEST.tsv").open(encoding="utf-8", newline="") as manifest:
        rows = [r for r in csv.DictReader(manifest, delimiter="\t") if r["format"] == format]
    return [corpus / row["file"] for row in rows]


def said(path: Path) -> Usage:
    """What the ledger says of the main thread of all sessions in a file."""
    reading = api.open_pass(str(path))
    return total(u for s in reading.sessions for u in spend(SessionView(s[""])).values())


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file, also where two of them were written on one line."""
    decoder = json.JSONDecoder()
    with open_lines(str(path)) as stream:
        for line in stream:
            text = line.decode("utf-8", "replace").strip("\x00 \r\n")
            while text:
                try:
                    value, end = decoder.raw_decode(text)
                except ValueError:
                    break
                if isinstance(value, dict):
                    yield value
                text = text[end:].lstrip()


def document(path: Path) -> Any:
    with open_lines(str(path)) as stream:
        return json.loads(b"".join(stream))


RULES: dict[str, Rule] = {}


def rule(usages: Callable[[Path], Iterator[Usage]]) -> Rule:
    """A rule that adds up usages."""
    RULES[usages.__name__] = lambda path: total(usages(path))
    return RULES[usages.__name__]


def number(told: Any, *names: str) -> list[int]:
    """The counts of these names; those that are not told are 0."""
    return [(told or {}).get(name) or 0 for name in names]


@rule
def codex(path: Path) -> Iterator[Usage]:
    last = Usage()
    for record in lines(path):
        payload = record.get("payload") or {}
        info = payload.get("info") if payload.get("type") == "token_count" else None
        found = (info or {}).get("total_token_usage")
        if found and found.get("total_tokens"):
            (cached, thought) = number(found, "cached_input_tokens", "reasoning_output_tokens")
            plain = found["input_tokens"] - cached
            last = Usage(plain, found["output_tokens"], cached, 0, thought)
    yield last


@rule
def gemini_cli(path: Path) -> Iterator[Usage]:
    value = document(path)
    for message in value["messages"] if isinstance(value, dict) else []:
        names = ("input", "cached", "tool", "output", "thoughts")
        given, cached, tool, output, thoughts = number(message.get("tokens"), *names)
        yield Usage(given - cached + tool, output + thoughts, cached, 0, thoughts)


@rule
def opencode(path: Path) -> Iterator[Usage]:
    for message in document(path)["messages"]:
        t = message["info"].get("tokens") or {}
        read, write = number(t.get("cache"), "read", "write")
        given, output, reasoning, whole = number(t, "input", "output", "reasoning", "total")
        # The recorded total tells whether the output includes what was thought.
        written = whole - given - read - write if "total" in t else max(output, reasoning)
        yield Usage(given, written, read, write)


@rule
def pi(path: Path) -> Iterator[Usage]:
    for record in lines(path):
        used = (record.get("message") or {}).get("usage")
        yield Usage(*number(used, "input", "output", "cacheRead", "cacheWrite"))


@rule
def mini_swe_agent(path: Path) -> Iterator[Usage]:
    value = document(path)
    for message in value["messages"] if isinstance(value, dict) else value:
        u = ((message.get("extra") or {}).get("response") or {}).get("usage") or {}
        (cached,) = number(u.get("prompt_tokens_details"), "cached_tokens")
        given, written = number(u, "prompt_tokens", "completion_tokens")
        yield Usage(given - cached, written, cached)


@rule
def swe_agent(path: Path) -> Iterator[Usage]:
    stats = (document(path).get("info") or {}).get("model_stats")
    yield Usage(*number(stats, "tokens_sent", "tokens_received"))


@rule
def atif(path: Path) -> Iterator[Usage]:
    for step in document(path)["steps"]:
        names = ("prompt_tokens", "completion_tokens", "cached_tokens")
        given, written, cached = number(step.get("metrics"), *names)
        yield Usage(given - cached, written, cached)


@rule
def cline(path: Path) -> Iterator[Usage]:
    for message in document(path):
        if message.get("say") == "api_req_started":
            told = json.loads(message.get("text") or "{}")
            yield Usage(*number(told, "tokensIn", "tokensOut", "cacheReads", "cacheWrites"))


@rule
def copilot_cli(path: Path) -> Iterator[Usage]:
    events = list(lines(path))
    shut = [e["data"] for e in events if e.get("type") == "session.shutdown"]
    for metrics in shut[-1].get("modelMetrics", {}).values() if shut else ():
        u = metrics["usage"]
        read, write = u["cacheReadTokens"], u["cacheWriteTokens"]
        yield Usage(max(0, u["inputTokens"] - read - write), u["outputTokens"], read, write)
    for event in () if shut else events:
        if event.get("type") == "assistant.message":
            yield Usage(0, event["data"].get("outputTokens", 0))


@rule
def openhands(path: Path) -> Iterator[Usage]:
    """The recorder's own total, which only finished runs have."""
    names = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens")
    for record in lines(path):
        told = (record.get("metrics") or {}).get("accumulated_token_usage")
        given, written, read, write = number(told, *names)
        yield Usage(given - read - write, written, read, write)


@rule
def aider(path: Path) -> Iterator[Usage]:
    scale = {"": 1, "k": 1_000, "M": 1_000_000}
    told = r"([0-9.,]*[0-9])([kM]?) (sent|cached|cache write|cache hit|received)"
    with open_lines(str(path)) as stream:
        for raw in stream:
            line = raw.decode("utf-8", "replace")
            if not line.startswith("> Tokens: ") or "received" not in line:
                continue
            n = {
                what: round(float(count.replace(",", "")) * scale[unit])
                for count, unit, what in re.findall(told, line)
            }
            hit, put, beside = number(n, "cache hit", "cache write", "cached")
            yield Usage(max(0, n["sent"] - hit - put), n["received"], hit, put)
            yield Usage(cache_read=beside)  # beside what was sent, not in it


def plain(usage: Usage) -> tuple[int, int, int, int]:
    return usage.input, usage.output, usage.cache_read, usage.cache_write


@pytest.mark.parametrize("format", RULES)
def test_spend_follows_the_recorders_rule(format: str, public_corpus: Path) -> None:
    paths = files(public_corpus, format)
    assert paths
    wrong, counted = [], 0
    for path in paths:
        expected, found = RULES[format](path), said(path)
        if format == "openhands" and not expected.total:
            continue  # a run that was not finished has no total to hold it against
        counted += expected.total > 0
        if plain(found) != plain(expected):
            wrong.append((path.name, plain(found), plain(expected)))
    assert wrong == []
    assert counted, "no file of this format records usage"


def test_codex_files_without_a_count_spend_nothing(public_corpus: Path) -> None:
    without = [p.name for p in files(public_corpus, "codex") if not codex(p).total]
    assert [p for p in without if said(public_corpus / "codex" / p).total] == []
    print("Codex files without a readable token_count:", without)
