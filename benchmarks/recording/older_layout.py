"""Rewrite a recorded Claude Code session with subagents in the layout of version 2.1.33.

python -m benchmarks.recording.older_layout SESSION.jsonl -o DIR. That version copied every
message of a subagent into the main file as an `agent_progress` line, between the call and
its result; current versions write the side file alone. That version also called
the tool `Task`. The result is marked as written, not
recorded: the words are those of the recording, the layout is made.
"""

from __future__ import annotations

import argparse
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from .scrub import Scrubber, moment

_VERSION = "2.1.33"
_NEWER = ("promptId", "promptSource", "entrypoint", "permissionMode", "attributionAgent")
_NEWER_TYPES = ("queue-operation", "attachment", "last-prompt", "mode")


def older(main: Path) -> dict[str, str]:
    """Relative file names and texts of the session in the older layout."""
    agents = {
        json.loads(meta.read_text(encoding="utf-8"))["toolUseId"]: meta
        for meta in sorted((main.parent / main.stem / "subagents").glob("*.meta.json"))
    }
    lines: list[dict[str, Any]] = []
    sides: dict[str, list[dict[str, Any]]] = {}
    for record in _records(main):
        call = _result_of(record)
        if call in agents:
            meta = agents[call]
            side = _records(meta.with_name(meta.name.replace(".meta.json", ".jsonl")))
            name = f"{main.stem}/subagents/{meta.name.replace('.meta.json', '.jsonl')}"
            sides[name] = side
            lines += _progress(side, call, record)
        lines.append(record)
    texts = {main.name: _text(lines), **{name: _text(side) for name, side in sides.items()}}
    started = moment(lines[0]["timestamp"]) - timedelta(days=90)
    scrubber = Scrubber(f"{main.stem}-{_VERSION}", started, 1.0, {})
    written = {
        name: scrubber.scrub(text.replace('"name":"Agent"', '"name":"Task"'))
        for name, text in texts.items()
    }
    return {scrubber.scrub(name): text for name, text in written.items()}


def _records(path: Path) -> list[dict[str, Any]]:
    records = []
    parents: dict[str, str | None] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["type"] in _NEWER_TYPES:
            if "uuid" in record:
                parents[record["uuid"]] = record["parentUuid"]
            continue
        record = {key: value for key, value in record.items() if key not in _NEWER}
        while record.get("parentUuid") in parents:
            record["parentUuid"] = parents[record["parentUuid"]]
        records.append({**record, "version": _VERSION})
    return records


def _result_of(record: dict[str, Any]) -> str:
    content = record.get("message", {}).get("content")
    first = content[0] if isinstance(content, list) and content else {}
    return str(first.get("tool_use_id", ""))


def _progress(
    side: list[dict[str, Any]], call: str, result: dict[str, Any]
) -> list[dict[str, Any]]:
    kept = ("type", "message", "uuid", "timestamp", "requestId", "toolUseResult")
    prompt = side[0]["message"]["content"]
    lines = []
    parent = result["parentUuid"]
    for number, record in enumerate(side):
        uuid = f"{record['uuid'][:-4]}{number:04x}"
        data = {
            "message": {key: record[key] for key in kept if key in record},
            "normalizedMessages": [],
            "type": "agent_progress",
            "prompt": prompt,
            "agentId": record["agentId"],
        }
        lines.append(
            {
                "parentUuid": parent,
                "isSidechain": False,
                "userType": "external",
                "cwd": result["cwd"],
                "sessionId": result["sessionId"],
                "version": _VERSION,
                "gitBranch": result["gitBranch"],
                "type": "progress",
                "data": data,
                "toolUseID": f"agent_{side[1]['message']['id']}",
                "parentToolUseID": call,
                "uuid": uuid,
                "timestamp": record["timestamp"],
            }
        )
        parent = uuid
    return lines


def _text(records: list[dict[str, Any]]) -> str:
    dumped = (json.dumps(r, ensure_ascii=False, separators=(",", ":")) for r in records)
    return "".join(line + "\n" for line in dumped)


def main() -> None:
    """Parse the command line and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("session", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    options = parser.parse_args()
    for name, text in older(options.session).items():
        target = options.out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        print(target, len(text))


if __name__ == "__main__":
    main()
