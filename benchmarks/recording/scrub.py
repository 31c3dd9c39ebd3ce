"""Make a fresh transcript ours to publish: no machine paths, stable ids, a chosen clock."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

_UUID = re.compile(
    r"(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-[1-7][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
)
_AGENT = re.compile(r"(?<![0-9a-f])a[0-9a-f]{16}(?![0-9a-f])")
_TIME = re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z")
_EPOCH = re.compile(r"(?<=[:\s])1[78]\d{8}(?:\d{3}|\.\d+)?(?=[,}\]\s])")
_NAMESPACE = uuid.UUID("6c656674-6f66-5f66-8000-636f72706f72")
_LEFT_OUT = "(the client's own text is left out of this recording)"


class Scrubber:
    """Rewrites text consistently: the same id, moment or path always becomes the same words.

    One scrubber serves all files of one session, main transcript first, so that links between
    them stay true. `paths` are applied longest first. Long instructions that the client
    itself adds are not ours to publish: their place is kept, their words are not.
    """

    def __init__(
        self, name: str, started: datetime, pace: float, paths: Mapping[str, str]
    ) -> None:
        self._name = name
        self._started = started
        self._pace = pace
        self._paths = sorted(paths.items(), key=lambda pair: -len(pair[0]))
        self._ids: dict[str, str] = {}
        self._origin: datetime | None = None

    def scrub(self, text: str) -> str:
        """A whole JSONL file, or any other text, as it may be published."""
        lines = [_without_client_words(line) for line in text.split("\n")]
        text = "\n".join(lines)
        for old, new in self._paths:
            text = text.replace(old, new)
        text = _UUID.sub(lambda match: self._uuid(match.group()), text)
        text = _AGENT.sub(lambda match: self._agent(match.group()), text)
        if self._origin is None:
            self._origin = min(map(moment, _TIME.findall(text)), default=None)
        if self._origin is None:
            return text
        text = _TIME.sub(lambda match: _written(self._moved(moment(match.group()))), text)
        text = _EPOCH.sub(lambda match: self._epoch(match.group()), text)
        return text.replace(f"{self._origin:%Y-%m-%d}", f"{self._started:%Y-%m-%d}")

    def _uuid(self, old: str) -> str:
        if old not in self._ids:
            fresh = str(uuid.uuid5(_NAMESPACE, f"{self._name}:{len(self._ids)}"))
            self._ids[old] = fresh[:14] + old[14] + fresh[15:]
        return self._ids[old]

    def _agent(self, old: str) -> str:
        if old not in self._ids:
            fresh = uuid.uuid5(_NAMESPACE, f"{self._name}:{len(self._ids)}").hex
            self._ids[old] = "a" + fresh[:16]
        return self._ids[old]

    def _epoch(self, old: str) -> str:
        assert self._origin is not None
        scale = 1000 if len(old) == 13 and "." not in old else 1
        at = datetime.fromtimestamp(float(old) / scale, self._origin.tzinfo)
        if abs(at - self._origin) > timedelta(days=1):
            return old
        moved = self._moved(at).timestamp() * scale
        return f"{moved:.6f}" if "." in old else str(round(moved))

    def _moved(self, at: datetime) -> datetime:
        assert self._origin is not None
        return self._started + (at - self._origin) * self._pace


def _without_client_words(line: str) -> str:
    try:
        record = json.loads(line)
    except ValueError:
        return line
    if not isinstance(record, dict) or not _blank(record):
        return line
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def _blank(record: dict[str, Any]) -> bool:
    """Blank the client's own instructions in place; whether there were any."""
    attachment, payload = record.get("attachment"), record.get("payload")
    if isinstance(attachment, dict):
        kind = attachment.get("type")
        if kind == "skill_listing":
            attachment["content"] = _LEFT_OUT
        elif kind == "agent_listing_delta":
            attachment["addedLines"] = [_LEFT_OUT]
        return kind in ("skill_listing", "agent_listing_delta")
    if not isinstance(payload, dict):
        return False
    if record.get("type") == "session_meta" and "base_instructions" in payload:
        payload["base_instructions"] = {"text": _LEFT_OUT}
        return True
    if record.get("type") == "world_state":
        return _blank_long(payload)
    if payload.get("role") == "developer":
        for part in payload.get("content") or []:
            part["text"] = _LEFT_OUT
        return True
    return False


def _blank_long(value: Any) -> bool:
    found = False
    for key, inner in value.items() if isinstance(value, dict) else ():
        if isinstance(inner, str) and len(inner) > 300:
            value[key], found = _LEFT_OUT, True
        elif isinstance(inner, dict):
            found = _blank_long(inner) or found
    return found


def moment(text: str) -> datetime:
    """The moment that an ISO timestamp with `Z` names."""
    return datetime.fromisoformat(text)


def _written(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"
