"""UserPromptSubmit: what earlier work says about a prompt, and blocks that did not arrive."""

from collections.abc import Mapping
from pathlib import Path

from leftoff.codec import JsonObject
from leftoff.handover import recall
from leftoff.hooks import forerunners, queue
from leftoff.hooks.answer import HookCall

# Lines given by earlier prompts that are remembered, the last ones. Chosen by hand.
MAX_REMEMBERED = 200
# Prompts of the first session after installing that look for earlier recordings, which a worker
# prepares. Chosen by hand.
MAX_WAITING = 3
# Title of the part for which a block is given after a compaction: what its summary lacks stood
# in the block that the session got when it began again.
WRONG = "The compaction's summary is wrong about:"


# A block, and what `given.json` has to hold afterwards.
_Chosen = tuple[str, JsonObject]
_NOTHING: _Chosen = ("", {})


class Prompt:
    """A prompt of a session as the person typed it, and the block that is given with it."""

    def __init__(self, call: HookCall) -> None:
        self.home, self.folder = call.home, call.folder
        self.project, self.environ = call.project, call.environ
        text = call.event.get("prompt")
        self.words = text.strip() if isinstance(text, str) else ""
        self.given = queue.load(call.folder / queue.GIVEN)

    def block(self) -> _Chosen:
        """The block, and what `given.json` has to hold afterwards; ("", {}) for none."""
        for choose in (self._again, self._imported, self._contradictions, self._recalled):
            chosen = choose()
            if chosen != _NOTHING:
                return chosen
        return _NOTHING

    def _again(self) -> _Chosen:
        """The block of the session's start, if the worker did not find it in the transcript."""
        start, source, name = self._start()
        seen = queue.load(self.folder / queue.SEEN).get("SessionStart")
        if not start or start.get("again") or seen != {"at": start.get("at"), "seen": False}:
            return _NOTHING
        block = queue.read_briefing(source, name) if source is not None else ""
        rest = {**self.given, "SessionStart": {**start, "again": True}}
        if block and source is not None:
            block, rest["ledger"] = with_ledger(block, source, self.folder.name, {})
        return block, rest

    def _imported(self) -> _Chosen:
        """The block of the last recording from before the installation, once it is prepared."""
        waiting = self.given.get("waiting")
        if not isinstance(waiting, int) or waiting <= 0:
            return _NOTHING
        branch = forerunners.branch_of(self.project)
        source = forerunners.previous_session(self.home, self.folder.name, branch)
        block = queue.read_briefing(source) if source is not None else ""
        rest = {**self.given, "waiting": 0 if block else waiting - 1}
        if block and source is not None:
            rest["source"] = source.name
            block, rest["ledger"] = with_ledger(block, self.folder, self.folder.name, {})
        return block, rest

    def _contradictions(self) -> _Chosen:
        """The block beside a compaction's summary, if that summary states something wrongly."""
        if not self.given.get("compacted"):
            return _NOTHING
        block = queue.read_briefing(self.folder, queue.BESIDE)
        if WRONG not in block:
            return _NOTHING
        return block, {**self.given, "compacted": False}

    def _recalled(self) -> _Chosen:
        """What the project's sessions say about the prompt, from the user's index."""
        most = self._most()
        if most <= recall.FRAME_TOKENS or not self.words or self.words.startswith("/"):
            return _NOTHING
        from leftoff.memory.lookup import candidates, memory_path

        own = self.folder.name
        compacted = queue.load(self.folder / queue.WATCH).get("compacted")
        ends = compacted if isinstance(compacted, int) else -1
        path = memory_path(self.environ)
        found = candidates(path, self.words, str(self.project), own, ends)
        lines = _strings(self.given.get("recalled"))
        _, source, name = self._start()
        before = queue.read_text(source / name) if source is not None else ""
        known = "\n".join((*lines, *_strings(self.given.get("ledger")), before))
        block, added = recall.recall_block(
            self.words, *found, about=queue.ABOUT, own=own, given=known, most=most
        )
        if not block:
            return _NOTHING
        return block, {**self.given, "recalled": [*lines, *added][-MAX_REMEMBERED:]}

    def _start(self) -> tuple[JsonObject, Path | None, str]:
        """What is noted of the block of the session's start, {} for none, and where that is."""
        start = self.given.get("SessionStart")
        start = start if isinstance(start, dict) else {}
        name = queue.BESIDE if start.get("file") == queue.BESIDE else queue.BRIEFING
        return start, queue.folder_of(self.home, start.get("source")), name

    def _most(self) -> int:
        """Tokens that a prompt may be given, as this session's worker read the setting, else as
        the last one's did; 0 where none has."""
        earlier = forerunners.earlier_sessions(self.home, self.folder.name)
        for watched in (self.folder, *(folder for folder, _ in earlier)):
            value = queue.load(watched / queue.WATCH).get("recall")
            if type(value) is int:
                return value
        return 0


def with_ledger(
    block: str, source: Path, own: str, given: Mapping[str, object]
) -> tuple[str, list[str]]:
    """A block with what holds in the project after it, as the worker of the session in the
    folder `source` wrote it, and the lines that the session `own` has now. Given are those that
    neither the block nor an earlier one nor the session itself has."""
    from leftoff.handover.ledger import unknown_lines
    from leftoff.handover.recall import short_name

    head, body, end = list[str](), list[str](), list[str]()
    for line in queue.read_briefing(source, queue.LEDGER).splitlines(keepends=True):
        if f" ({short_name(own)}#" not in line or not line.startswith("- "):
            (body if line.startswith("- ") else end if body else head).append(line)
    before = _strings(given.get("ledger"))
    lines = unknown_lines(body, "\n".join((block, *before)))
    return block + "".join((*head, *lines, *end) if lines else ()), before + lines


def _strings(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
