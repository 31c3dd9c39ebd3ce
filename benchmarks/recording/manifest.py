"""corpora/MANIFEST.toml: what is in the corpus, and that it is what we say.

python benchmarks/recording/manifest.py check corpora    exit 1 and a list, if anything differs
python benchmarks/recording/manifest.py seal corpora     write hashes and counts anew

The counts are taken here without any of leftoff's readers, so that they can test them.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_HEAD = """\
# Every file below sessions/, with its hash and counts; what they mean is in README.md.
# Written by `python benchmarks/recording/manifest.py seal corpora`; about, how, version and
# holds are kept from the entry before.
"""
_KEPT = ("format", "how", "version", "about", "holds")
_KEYS = (
    "path",
    "format",
    "how",
    "version",
    "about",
    "holds",
    "sha256",
    "bytes",
    "lines",
    "messages",
    "tool_calls",
)
_FORBIDDEN = {
    "a path of a machine": (
        r"/(?:tmp|root|work|Users|private|mnt|opt)/|/home/(?!dev\b)|[A-Z]:\\\\"
    ),
    "a host or an address": (
        r"\b(?:\d{1,3}\.){3}\d{1,3}\b|localhost|registry\.[a-z]+\.|[a-z]+pi\.org"
    ),
    "an e-mail address": (
        r"(?<![\\\w])[\w.+-]+@(?!git\.example\.com|example\.com)[\w-]+\.[a-z]{2,}\b"
    ),
    "a vendor's key": (
        r"\b(?:sk-[A-Za-z0-9-]{16,}|gh[pousr]_\w{20,}|AKIA[A-Z0-9]{16}|xox[abp]-\w+)"
    ),
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY",
    "a signed token": r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.",
    "a password in a URL": r"://[^/\s:@\"]+:[^/\s:@\"]+@",
}


def problems(corpora: Path) -> list[str]:
    """One line for everything in which the corpus differs from its manifest and rules."""
    entries = _entries(corpora)
    listed = {entry["path"] for entry in entries}
    present = set(_present(corpora))
    found = [f"{path}: not in the manifest" for path in sorted(present - listed)]
    found += [f"{path}: in the manifest, but missing" for path in sorted(listed - present)]
    for entry in entries:
        if entry["path"] not in present:
            continue
        facts = _facts(corpora / entry["path"], entry["format"])
        found += [
            f"{entry['path']}: {key} is {fact}, the manifest says {entry.get(key)}"
            for key, fact in facts.items()
            if entry.get(key) != fact
        ]
        found += [f"{entry['path']}: {what}" for what in _offences(corpora / entry["path"])]
    return found


def seal(corpora: Path) -> None:
    """Rewrite the manifest with fresh hashes and counts, in the order of paths."""
    known = {entry["path"]: entry for entry in _entries(corpora)}
    blocks = [_HEAD]
    for path in _present(corpora):
        old = known.get(path, {})
        entry = {"path": path, **{key: old.get(key, "") for key in _KEPT}}
        entry["holds"] = old.get("holds", [])
        entry |= _facts(corpora / path, entry["format"])
        lines = [f"{key} = {json.dumps(entry[key], ensure_ascii=False)}" for key in _KEYS]
        blocks.append("\n".join(["[[session]]", *lines, ""]))
    (corpora / "MANIFEST.toml").write_text("\n".join(blocks), encoding="utf-8")


def _entries(corpora: Path) -> list[dict[str, Any]]:
    text = (corpora / "MANIFEST.toml").read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = tomllib.loads(text).get("session", [])
    return entries


def _present(corpora: Path) -> list[str]:
    files = (path for path in (corpora / "sessions").rglob("*") if path.is_file())
    return sorted(path.relative_to(corpora).as_posix() for path in files)


def _offences(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return [
        f"holds {what}: {match.group()!r}"
        for what, pattern in _FORBIDDEN.items()
        if (match := re.search(pattern, text))
    ]


def _facts(path: Path, kind: str) -> dict[str, Any]:
    raw = path.read_bytes()
    messages, calls = _counts(raw, kind)
    return {
        "sha256": hashlib.sha256(raw).hexdigest(),
        "bytes": len(raw),
        "lines": len(raw.splitlines()),
        "messages": messages,
        "tool_calls": calls,
    }


def _counts(raw: bytes, kind: str) -> tuple[int, int]:
    if kind == "claude_code_agent_meta":
        return 0, 0
    if kind in ("openai_chat", "agent_message"):
        items = json.loads(raw)
        return len(items), sum(len(list(_calls(item))) for item in items)
    if kind == "langchain":
        items = [item.get("data") or item.get("kwargs") for item in json.loads(raw)]
        return len(items), sum(len(list(_calls(item))) for item in items)
    if kind == "semantic_kernel":
        items = json.loads(raw)["messages"]
        kinds = [block["content_type"] for item in items for block in item["items"]]
        return len(items), kinds.count("function_call")
    lines = [json.loads(line) for line in raw.splitlines()]
    if kind == "claude_code":
        lines = [line for line in lines if line["type"] in ("user", "assistant")]
        return len(lines), sum(len(list(_calls(line["message"]))) for line in lines)
    if kind == "codex":
        items = [line.get("payload", line) for line in lines]
        items = [
            item
            for item, line in zip(items, lines, strict=True)
            if line.get("type") != "event_msg"
        ]
        kinds = [item.get("type") for item in items]
        calls = kinds.count("function_call") + kinds.count("custom_tool_call")
        return kinds.count("message"), calls
    if kind == "anthropic_messages":
        return len(lines), sum(len(list(_calls(line))) for line in lines)
    raise ValueError(f"unknown format in the manifest: {kind!r}")


def _calls(message: dict[str, Any]) -> Iterator[object]:
    yield from message.get("tool_calls") or ()
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if block.get("type") == "tool_use":
            yield block


def main(arguments: list[str]) -> int:
    """Check or seal, as the first argument says."""
    if len(arguments) != 2 or arguments[0] not in ("check", "seal"):
        print(__doc__, file=sys.stderr)
        return 2
    corpora = Path(arguments[1])
    if arguments[0] == "seal":
        seal(corpora)
    found = problems(corpora)
    print("\n".join(found) or "the corpus is what its manifest says")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
