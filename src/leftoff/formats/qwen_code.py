"""Qwen Code sessions, JSON lines: Claude Code's envelope around Gemini's parts.

docs/formats/qwen_code.md. Written from the recorder's open source."""

from collections.abc import Iterable

import msgspec

from leftoff import model as rec
from leftoff.formats.gemini_parts import STATUS, GeminiPartsReader, result_of, usage_of
from leftoff.formats.lenient_json import Fields, dict_of
from leftoff.formats.reader import Cursor, Format, Sample, holds_results

# Subtypes of user records whose text a person typed; the recorder wrote all others.
_TYPED_SUBTYPES = frozenset({"", "mid_turn_user_message", "user_text_elements"})
_TOKENS = (
    "promptTokenCount candidatesTokenCount cachedContentTokenCount thoughtsTokenCount "
    "toolUsePromptTokenCount"
)


class QwenReader(GeminiPartsReader):
    facts: rec.SessionFacts = rec.SessionFacts()

    def item(self, line: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        yield from self._facts(line)
        kind, subtype = line.text("type"), line.get("subtype")
        if kind in ("user", "assistant", "tool_result"):
            yield self._message(line, kind, cursor)
            return
        if line.text("uuid"):
            yield rec.Link(line.text("uuid"), line.text("parentUuid"))
        if kind != "system":
            yield rec.Unknown(kind)
            return
        payload = line.at("systemPayload")
        if subtype == "chat_compression":
            yield cursor.compaction(recorded=payload.count("info.originalTokenCount"))
        elif subtype == "custom_title":
            yield rec.SessionFacts(title=payload.text("customTitle"))
        elif subtype == "parent_session":
            yield rec.SessionFacts(parent_id=payload.text("parentSessionId"))

    def _facts(self, line: Fields) -> Iterable[rec.SessionFacts]:
        before = self.facts
        self.facts = rec.SessionFacts(
            id=line.text("sessionId") or before.id,
            cwd=line.text("cwd") or before.cwd,
            branch=line.text("gitBranch") or before.branch,
            agent_version=line.text("version") or before.agent_version,
            window=line.count("contextWindowSize") or before.window,
        )
        if self.facts != before:
            origin = line.text("forkedFrom.sessionId")
            yield msgspec.structs.replace(self.facts, forked_from=origin)

    def _message(self, line: Fields, kind: str, cursor: Cursor) -> rec.Message:
        sidechain = "sidechain" if line.get("isSidechain") is True else ""
        agent = line.text("agentId") or sidechain
        person = (
            kind == "user"
            and not agent
            and line.text("subtype") in _TYPED_SUBTYPES
            and line.get("provenance") in (None, "real_user")
        )
        parts, typed = self.content(line.at("message").get("parts"), person=person)
        role: rec.Role = "user"
        if kind == "assistant":
            role = "assistant"
        elif kind == "tool_result" or holds_results(parts):
            role, typed = "tool", ()
            parts = _with_status(parts, line.at("toolCallResult"))
        return cursor.message(
            role,
            parts,
            "",
            typed,
            key=line.text("uuid"),
            parent=line.text("parentUuid"),
            response=line.text("uuid") or None,
            time=line.text("timestamp"),
            agent=agent,
            model=line.text("model"),
            cwd=line.text("cwd"),
            usage=usage_of(line.get("usageMetadata"), _TOKENS),
        )


def _with_status(parts: tuple[rec.Part, ...], facts: Fields) -> tuple[rec.Part, ...]:
    status = STATUS.get(facts.text("status"))
    results = [p for p in parts if type(p) is rec.ToolResult]
    # The status is that of one result; an exit code in its text is surer.
    if status is None or len(results) != 1 or results[0].exit_code is not None:
        return parts
    (found,) = results
    updated = result_of(found.call_id, facts.text("name"), found.text, status)
    return tuple(updated if p is found else p for p in parts)


def _detect(sample: Sample) -> bool:
    marked = b'"parts"' in sample.data or b'"systemPayload"' in sample.data
    return marked and any(
        "sessionId" in line
        and "parentUuid" in line
        and ("parts" in dict_of(line.get("message")) or "systemPayload" in line)
        for line in sample.lines
    )


FORMAT = Format("qwen_code", "lines", QwenReader, _detect)
