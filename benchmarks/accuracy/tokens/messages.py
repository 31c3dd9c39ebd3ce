"""Real messages for fitting: every text of every recorded session, its role and source.

The reader is deliberately apart from `leftoff.formats`: it walks any JSON and takes the strings
that stand under the keys which recorders use for what was said, called and returned.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TEXT_KEYS = frozenset(
    "text content message output stdout stderr thinking reasoning thought response observation"
    " query action result results value body prompt summary display request".split()
)
_CALL_KEYS = frozenset("input arguments args params function_args parameters".split())
_RESULT_KEYS = frozenset(
    "output stdout stderr observation result results tooluseresult".split()
)
_ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "model": "assistant",
    "gemini": "assistant",
    "agent": "assistant",
    "ai": "assistant",
    "tool": "tool",
    "function": "tool",
    "toolresult": "tool",
    "tool_result": "tool",
    "function_call_output": "tool",
    "observation": "tool",
    "system": "system",
    "developer": "system",
    "tool_use": "call",
    "function_call": "call",
    "toolcall": "call",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One text: who said it, and the recorder, repository and file that it came from."""

    text: str
    role: str
    recorder: str
    repository: str
    file: str


def _strings(value: Any, role: str, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if key in _TEXT_KEYS and value.strip():
            yield role, value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, role, key)
    elif isinstance(value, dict):
        for name in ("role", "type", "from", "kind"):
            named = value.get(name)
            if isinstance(named, str) and named.lower() in _ROLES:
                role = _ROLES[named.lower()]
                break
        for name, item in value.items():
            lower = name.lower()
            if lower in _CALL_KEYS and item:
                yield "call", item if isinstance(item, str) else json.dumps(item)
            elif lower in _RESULT_KEYS:
                yield from _strings(item, "tool", lower)
            else:
                yield from _strings(item, role, lower)


def _documents(data: str, path: str) -> Iterator[Any]:
    if path.endswith(".jsonl"):
        for line in data.splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue
        return
    try:
        yield json.loads(data)
    except ValueError:
        return


def _markdown(data: str) -> Iterator[tuple[str, str]]:
    for index, part in enumerate(data.split("\n\n#### " if "\n#### " in data else "\n---\n")):
        yield ("user", "assistant")[index % 2], part


def samples(corpus: Path, *, longest: int = 20_000) -> list[Sample]:
    """Reads the distinct texts of a corpus, in the order of its files.

    Args:
        corpus: A directory of recordings, one directory for each recorder, files named
            ``owner__repository__…``.
        longest: What is longer is cut here, so that one file does not outweigh a session.
    """
    seen: set[str] = set()
    found: list[Sample] = []
    for path in sorted(corpus.glob("*/*")):
        name = path.name.removesuffix(".gz")
        if name.endswith((".metadata.json", ".groundtruth.json")):
            continue
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        data = raw.decode("utf-8", "replace")
        repository = "__".join(name.split("__")[:2])
        if name.endswith(".md"):
            texts = _markdown(data)
        else:
            texts = (
                pair
                for document in _documents(data, name)
                for pair in _strings(document, "other", "")
            )
        for role, text in texts:
            part = text[:longest]
            if part in seen or not part.strip():
                continue
            seen.add(part)
            found.append(Sample(part, role, path.parent.name, repository, name))
    return found
