"""Factory Droid sessions, JSON lines: docs/formats/factory_droid.md.

The messages are Anthropic's, so Claude Code's reader reads them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import msgspec
from msgspec import field

from leftoff import lazy_re as re
from leftoff.codec import loosen
from leftoff.formats import claude_code as claude
from leftoff.formats import claude_code_records as records
from leftoff.formats.lenient_json import Fields
from leftoff.formats.reader import Cursor, Format, ItemReader, Sample
from leftoff.model import Link, Message, Record, Text, Turn, Unknown

NO_MESSAGE = frozenset({"todo_state", "session_end", "session_settings", "agent_turn_outcome"})
_DEFAULT_TITLE = "New Session"
# What Droid shows the person when no reply will come.
_FAILED = re.compile(r"(?i)[\w\s'’]{0,40}\blimit (?:reached|exceeded)\b")


class DroidReader(ItemReader):
    claude: claude.ClaudeReader = field(default_factory=claude.ClaudeReader)
    child: bool = False  # another session started this one, so its prompts were not typed

    def item(self, line: Fields, cursor: Cursor) -> Iterable[Record]:
        kind, identity, parent = line.text("type"), line.text("id"), line.text("parentId")
        if kind == "message":
            yield from self._messages(line, cursor)
        elif kind == "session_start":
            named = line.text("sessionTitle")
            about = {"id": "id", "parent_id": "callingSessionId", "started": "timestamp"}
            title = "title" if named in {"", _DEFAULT_TITLE} else "sessionTitle"
            facts = line.facts(cwd="cwd", title=title, **about)
            self.cwd, self.child = facts.cwd or self.cwd, bool(facts.parent_id)
            yield facts
        elif kind == "compaction_state":
            time = line.text("timestamp")
            message = partial(
                cursor.message, key=identity, parent=parent, time=time, cwd=self.cwd
            )
            yield from cursor.compacted(line.text("summaryText"), message=message)
        else:
            if identity:
                yield Link(identity, parent)
            if kind not in NO_MESSAGE:
                yield Unknown(kind)

    def _messages(self, line: Fields, cursor: Cursor) -> Iterable[Record]:
        role = line.at("message").text("role")
        if role not in ("user", "assistant"):
            yield Unknown(f"message/{role}")
            return
        body, lost = loosen(line.get("message"), records.Body)
        line.lost.extend(lost)
        # Only the envelope differs; Claude Code's reader knows the blocks, and what was typed.
        claude_line = records.Line(
            type=role,
            uuid=line.text("id"),
            parentUuid=line.text("parentId"),
            timestamp=line.text("timestamp"),
            cwd=self.cwd,
            message=records.Body(
                id=line.text("id"), role=role, content=body.content if body else None
            ),
        )
        for found in self.claude.read(claude_line, cursor):
            if not isinstance(found, Message):
                continue
            if "user_only" in (line.get("visibility"), line.get("message.visibility")):
                # Shown to the person only: neither typed nor sent to the model.
                yield msgspec.structs.replace(found, role="system", origin="meta", typed=())
                words = "\n".join(p.text for p in found.parts if isinstance(p, Text)).strip()
                if _FAILED.match(words):
                    yield Turn("failed", words[:300])
            elif self.child and found.origin == "prompt":
                yield msgspec.structs.replace(found, origin="injected", typed=())
            else:
                yield found


def _detect(sample: Sample) -> bool:
    for line in sample.lines:
        kind, body = line.get("type"), line.get("message")
        if kind == "session_start":
            return "payload" not in line
        if kind == "message" and isinstance(body, dict) and "parentUuid" not in line:
            # Without its first line: Pi's messages carry a time of their own, or an api.
            return (
                body.get("role") in ("user", "assistant")
                and not {"api", "timestamp", "usage"} & body.keys()
                and isinstance(line.get("id"), str)
            )
    return False


FORMAT = Format("factory_droid", "lines", DroidReader, _detect)
