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


def codex(path: Path) -> Usage:
    last = Usage()
    for record in lines(path):
        payload = record.get("payload") or {}
        info = payload.get("info") if payload.get("type") == "token_count" else None
        found = (info or {}).get("total_token_usage")
        if found and found.get("total_tokens"):
            cached = found.get("cached_input_tokens", 0)
            last = Usage(
                found["input_tokens"] - cached,
                found["output_tokens"],
                cached,
                0,
                found.get("reasoning_output_tokens", 0),
            )
    return last


def gemini_cli(path: Path) -> Usage:
    whole = Usage()
    value = document(path)
    for message in value["messages"] if isinstance(value, dict) else []:
        t = message.get("tokens") or {}
        whole += Usage(
            t.get("input", 0) - t.get("cached", 0) + t.get("tool", 0),
            t.get("output", 0) + t.get("thoughts", 0),
            t.get("cached", 0),
            0,
            t.get("thoughts", 0),
        )
    return whole


def opencode(path: Path) -> Usage:
    whole = Usage()
    for message in document(path)["messages"]:
        t = message["info"].get("tokens") or {}
        read, write = (
            (t.get("cache") or {}).get("read", 0),
            (t.get("cache") or {}).get("write", 0),
        )
        # The recorded total tells whether the output includes what was thought.
        rest = t.get("total", 0) - t.get("input", 0) - read - write
        written = rest if "total" in t else max(t.get("output", 0), t.get("reasoning", 0))
        whole += Usage(t.get("input", 0), written, read, write)
    return whole


def pi(path: Path) -> Usage:
    whole = Usage()
    for record in lines(path):
        u = (record.get("message") or {}).get("usage") or {}
        whole += Usage(
            u.get("input", 0), u.get("output", 0), u.get("cacheRead", 0), u.get("cacheWrite", 0)
        )
    return whole


def mini_swe_agent(path: Path) -> Usage:
    whole = Usage()
    value = document(path)
    for message in value["messages"] if isinstance(value, dict) else value:
        u = ((message.get("extra") or {}).get("response") or {}).get("usage") or {}
        cached = (u.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        whole += Usage(
            u.get("prompt_tokens", 0) - cached, u.get("completion_tokens", 0), cached
        )
    return whole


def swe_agent(path: Path) -> Usage:
    stats = (document(path).get("info") or {}).get("model_stats") or {}
    return Usage(stats.get("tokens_sent") or 0, stats.get("tokens_received") or 0)


def atif(path: Path) -> Usage:
    whole = Usage()
    for step in document(path)["steps"]:
        m = step.get("metrics") or {}
        cached = m.get("cached_tokens") or 0
        whole += Usage(
            (m.get("prompt_tokens") or 0) - cached, m.get("completion_tokens") or 0, cached
        )
    return whole


def cline(path: Path) -> Usage:
    whole = Usage()
    for message in document(path):
        if message.get("say") == "api_req_started":
            told = json.loads(message.get("text") or "{}")
            whole += Usage(
                told.get("tokensIn") or 0,
                told.get("tokensOut") or 0,
                told.get("cacheReads") or 0,
                told.get("cacheWrites") or 0,
            )
    return whole


def copilot_cli(path: Path) -> Usage:
    events = list(lines(path))
    shut = [e["data"] for e in events if e.get("type") == "session.shutdown"]
    if shut:
        whole = Usage()
        for metrics in shut[-1].get("modelMetrics", {}).values():
            u = metrics["usage"]
            cached = u["cacheReadTokens"] + u["cacheWriteTokens"]
            whole += Usage(
                max(0, u["inputTokens"] - cached),
                u["outputTokens"],
                u["cacheReadTokens"],
                u["cacheWriteTokens"],
            )
        return whole
    written = (
        e["data"].get("outputTokens", 0) for e in events if e.get("type") == "assistant.message"
    )
    return Usage(0, sum(written))


def openhands(path: Path) -> Usage:
    """The recorder's own total, which only finished runs have."""
    whole = Usage()
    for record in lines(path):
        u = (record.get("metrics") or {}).get("accumulated_token_usage") or {}
        cached, written = u.get("cache_read_tokens", 0), u.get("cache_write_tokens", 0)
        whole += Usage(
            u.get("prompt_tokens", 0) - cached - written,
            u.get("completion_tokens", 0),
            cached,
            written,
        )
    return whole


def aider(path: Path) -> Usage:
    whole = Usage()
    scale = {"": 1, "k": 1_000, "M": 1_000_000}
    with open_lines(str(path)) as stream:
        for raw in stream:
            line = raw.decode("utf-8", "replace")
            if not line.startswith("> Tokens: ") or "received" not in line:
                continue
            n = {
                what: round(float(count.replace(",", "")) * scale[unit])
                for count, unit, what in re.findall(
                    r"([0-9.,]*[0-9])([kM]?) (sent|cached|cache write|cache hit|received)", line
                )
            }
            hit, put = n.get("cache hit", 0), n.get("cache write", 0)
            whole += Usage(max(0, n["sent"] - hit - put), n["received"], hit, put)
            whole += Usage(cache_read=n.get("cached", 0))  # beside what was sent, not in it
    return whole


def plain(usage: Usage) -> tuple[int, int, int, int]:
    return usage.input, usage.output, usage.cache_read, usage.cache_write


RULES: dict[str, Rule] = {
    "aider": aider, "atif": atif, "cline": cline, "codex": codex, "copilot_cli": copilot_cli,
    "gemini_cli": gemini_cli, "mini_swe_agent": mini_swe_agent, "opencode": opencode,
    "openhands": openhands, "pi": pi, "swe_agent": swe_agent,
}  # fmt: skip


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
