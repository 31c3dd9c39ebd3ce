"""What happened to which file: what every call did, in order."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import chain

from msgspec import Struct

from leftoff.analysis.files.net_changes import (
    FileEvent,
    Unseen,
    file_modifications,
    unknown_effects,
)
from leftoff.extraction.evidence import Applied, Called, Ran, Returned, Stood, Touched
from leftoff.model import Ref
from leftoff.redaction.redactor import Redactor
from leftoff.session_view import Story
from leftoff.shell.filesystem import FileEffect, FileState
from leftoff.shell.paths import absolute, home_of
from leftoff.summary import ACTIONS

__all__ = [
    "FileEvent",
    "Tracker",
    "Unseen",
    "file_events",
    "file_modifications",
    "unknown_effects",
]

_NOWHERE = ("/dev/", "/proc/", "/sys/")
_STATUS = {"ok": "ok", "error": "failed", "timeout": "failed"}
_RUN = (".py", ".sh", ".js")
_REFUSED = "introduced new syntax error"
"""What an agent's own editor says in a notebook cell's output where it changed nothing."""


def file_events(story: Story, known: FileState | None = None) -> list[FileEvent]:
    """What every call did to every file, in order. Calls that failed, were denied or never
    came back did nothing.

    Args:
        known: what is known of files at the start; it is brought up to date.
    """
    return Tracker(story, known).all()


def _place(act: Touched | Ran | Applied) -> tuple[int, int]:
    return act.ref.message, 0 if isinstance(act, Applied) else act.part


class _Call(Struct, frozen=True):
    """Where an event is told from: the call, its place, and whether it was rewound."""

    ref: Ref
    tool: str
    cwd: str
    abandoned: bool


class Tracker:
    """Goes through the calls of a story and knows what the files are like at each.

    Attributes:
        events: what was found so far.
        unseen: what programs may have done to files that cannot be told.
        known: what is known of files at this point.
        changed: files changed so far; `committed`: those of them that are in a commit since.
        scripts: calls that ran a script of several commands and tool calls.
    """

    def __init__(self, story: Story, known: FileState | None = None) -> None:
        self.story = story
        self.known = FileState() if known is None else known
        self.events: list[FileEvent] = []
        self.unseen: list[Unseen] = []
        self.tells_results = bool(story.outcomes)
        self.root = absolute(story.recording.header.cwd, "")
        self.changed: set[str] = set()
        self.committed: set[str] = set()
        self.scripts: set[tuple[int, int]] = set()

    def all(self) -> list[FileEvent]:
        """The events of the whole story."""
        story = self.story
        applied: dict[tuple[int, int], list[Applied]] = {}
        for told in story.all(Applied):
            applied.setdefault((told.call_message, told.call_part), []).append(told)
        # What the recorder tells of a call stands in for what the call asked.
        alone = dict(applied)
        if alone:
            for asked in self._asked():
                alone.pop((asked.ref.message, asked.part), None)
        stated = sorted(chain.from_iterable(alone.values()), key=_place)
        acts: Iterable[Touched | Ran | Applied] = merge(self._asked(), stated, key=_place)
        tools: dict[tuple[int, int], str] = {}
        for made in story.each(Called, rewound=True):
            if made.kind == "script":
                self.scripts.add((made.message, made.part))
            if (made.message, made.part) in alone:
                tools[made.message, made.part] = made.name
        replaced: set[tuple[int, int]] = set()
        looks = list(reversed(story.all(Stood)))
        for act in acts:
            # What was looked up while a call ran was looked up before it wrote anything.
            came = story.outcomes.get((story.message_of(act), getattr(act, "part", 0)))
            until = came.message if came is not None else story.message_of(act) + 1
            while looks and looks[-1].ref.message < until:
                self.stood(looks.pop())
            if isinstance(act, Applied):
                self.recorded(act, tools.get((act.call_message, act.call_part), ""))
                continue
            call = (act.ref.message, act.part)
            told_of = applied.get(call) if call[0] >= 0 else None
            if isinstance(act, Ran):
                self.ran(act, story.outcomes.get(call), told_of or ())
            if told_of is not None:
                if call not in replaced:
                    replaced.add(call)
                    for told in told_of:
                        self.recorded(told, act.tool)
                continue
            if isinstance(act, Touched):
                self.asked(act, story.outcomes.get(call))
        while looks:
            self.stood(looks.pop())
        return self.events

    def _asked(self) -> Iterator[Touched | Ran]:
        """What calls asked of files, in order."""
        touched: Iterator[Touched | Ran] = self.story.each(Touched, rewound=True)
        return merge(touched, self.story.each(Ran, rewound=True), key=_place)

    # -- one call ----------------------------------------------------------------------------

    def call(self, ref: Ref, tool: str, cwd: str = "") -> _Call:
        """The place of a call."""
        abandoned = ref.message in self.story.abandoned
        return _Call(self.story.ref(ref), tool, cwd, abandoned)

    def say(
        self,
        call: _Call,
        path: str,
        action: str,
        certainty: str,
        *,
        source: str = "",
        tool: str = "",
        restored: bool = False,
    ) -> None:
        """Record one event; what a rewound conversation did is likely at most, since the
        agent may have put the files back as well."""
        if path.startswith(_NOWHERE):
            return
        self.events.append(
            FileEvent(
                call.ref.message,
                path,
                action,
                "likely" if call.abandoned and certainty == "sure" else certainty,
                tool or call.tool,
                call.ref,
                source,
                "abandoned" if call.abandoned else "",
                restored,
            )
        )

    def stood(self, look: Stood) -> None:
        """The recorder looked whether files are there. What nobody is seen to have removed
        may have gone with a change of branches, or by the person's own hand."""
        call = self.call(look.ref, "")
        for given, there in look.files:
            path = self.place(absolute(given, self.root))
            if there:
                self.known.put(path)
            else:
                self.known.remove(path)
                self.known.texts.pop(path, None)
            if path in self.changed:
                self.say(call, path, "found" if there else "missed", "sure")

    def place(self, path: str) -> str:
        """A path from the root, where only the session's directory is known."""
        if path and path[0] not in "/~" and path[1:2] != ":" and self.root:
            return absolute(path, self.root)
        return path

    def asked(self, act: Touched, outcome: Returned | None) -> None:
        """What a file tool did."""
        if outcome is None:
            if self.tells_results:
                return
        elif outcome.status not in {"ok", "unknown"}:
            return
        path = self.place(act.path)
        if not path:
            return
        known, verb = self.known, act.verb
        call = self.call(act.ref, act.tool)
        sure = "sure" if outcome is not None else "likely"
        before = known.kind(path)
        if verb == "read":
            if before != "directory":
                known.put(path)
                self.say(call, path, "read", sure)
            return
        if verb == "delete":
            self.gone(path)
            self.say(call, path, "deleted", sure)
            return
        if verb == "move":
            target = self.place(act.target)
            self.moved(call, path, target, sure)
            return
        action, certainty = "modified", sure
        if verb == "create":
            action = "created"
        elif verb == "write":
            told = outcome.created if outcome is not None else None
            if told is not None:
                action = "created" if told else "modified"
            elif before == "unknown":
                # Nothing was read or listed there before: most writes of a whole file make it.
                action, certainty = "created", "likely"
            else:
                action = "modified" if before == "file" else "created"
        self.wrote(path, action)
        self.keep_text(path, act)
        self.say(call, path, action, certainty)

    def moved(self, call: _Call, path: str, target: str, certainty: str) -> None:
        """A file got another name."""
        if not target:
            return
        text = self.known.texts.pop(path, None)
        self.gone(path)
        self.wrote(target, "created")
        if text is not None:
            self.known.texts[target] = text
        self.say(call, path, "deleted", certainty)
        self.say(call, target, "created", certainty, source=path)

    def wrote(self, path: str, action: str) -> None:
        """A file was changed outside of a shell."""
        self.known.put(path)
        self.known.note_change(path, "created" if action == "created" else "modified")
        self.changed.add(path)

    def gone(self, path: str) -> None:
        """A file was removed outside of a shell."""
        self.known.remove(path)
        self.known.note_change(path, "deleted")
        self.changed.add(path)

    def keep_text(self, path: str, act: Touched) -> None:
        """Know what stands in a script, or that this is not known any more."""
        texts = self.known.texts
        if act.verb != "edit":
            if act.text or (act.verb == "create" and path.endswith(_RUN)):
                texts[path] = act.text
            else:
                texts.pop(path, None)
            return
        before = texts.get(path)
        if before is None:
            return
        if act.old and act.old in before:
            texts[path] = before.replace(act.old, act.text, 1)
        elif act.first:
            lines = before.split("\n")
            lines[act.first - 1 : act.last] = act.text.rstrip("\n").split("\n")
            texts[path] = "\n".join(lines)
        else:
            del texts[path]

    def recorded(self, act: Applied, tool: str) -> None:
        """What the recorder itself says was changed."""
        if not act.succeeded:
            return
        call = self.call(act.ref, tool)
        for path, action, former in act.files:
            path, former = self.place(absolute(path, "")), self.place(absolute(former, ""))
            self.known.texts.pop(path, None)
            if former and former != path:
                self.moved(call, former, path, "sure")
                continue
            if action == "deleted":
                self.gone(path)
            else:
                self.wrote(path, action)
            self.say(call, path, action, "sure")

    # -- commands ----------------------------------------------------------------------------

    def ran(self, act: Ran, outcome: Returned | None, told_of: Iterable[Applied]) -> None:
        """What a command line did, by its syntax and its outcome."""
        from leftoff.shell.effects import Outcome, analyze, command_facts, resolve

        command = act.command
        status = outcome.status if outcome is not None else "unknown"
        denied = status == "denied" or (outcome is None and self.tells_results)
        if act.language == "python":
            if outcome is not None and _REFUSED in outcome.output:
                return
            command = f"python3 -c {shlex.quote(_plain_python(command))}"
        elif act.language != "bash":
            if not denied:
                self.unseen.append(Unseen(act.language, "unknown", self.story.ref(act.ref)))
            return
        exit_code = outcome.exit_code if outcome is not None else None
        if status == "ok" and (act.ref.message, act.part) in self.scripts:
            # The script came to its end; its commands may have failed.
            status, exit_code = "unknown", None
        told = Outcome(
            status=_STATUS.get(status, "unknown"),  # type: ignore[arg-type]
            exit_code=exit_code,
            output=outcome.output or None if outcome is not None else None,
            interrupted=status in {"interrupted", "timeout"},
            denied=denied,
            background=act.background or status == "running",
        )
        cwd = act.cwd or self.root
        script = analyze(command, cwd=cwd or None, home=home_of(cwd) or None)
        effects = resolve(script, outcome=told, known=self.known, wide=False)
        if effects:
            named = {self.place(path) for one in told_of for path, _, _ in one.files}
            call = self.call(act.ref, act.tool, cwd)
            unseen: dict[tuple[str, str], None] = {}
            # What became of a directory as a whole came before what was put into it anew.
            for effect in sorted(effects, key=lambda e: not (e.path or "").endswith("/")):
                if effect.path and not effect.pattern and effect.action in ACTIONS:
                    self.effect(call, effect, named)
                elif effect.action != "read":
                    unseen.setdefault((effect.tool, effect.action))
            shown = _shown(command, [tool for tool, _ in unseen])
            self.unseen += [Unseen(shown[tool], action, call.ref) for tool, action in unseen]
        if "commit" in command and told.succeeded() is not False and not denied:
            if ("git", "commit") in command_facts(script):
                self.committed |= self.changed

    def effect(self, call: _Call, effect: FileEffect, named: set[str]) -> None:
        """One effect of a command; `named`: files that the recorder itself tells of."""
        if effect.action == "read" and not effect.named:
            return  # found by recursion or by a pattern: not what the agent looked at
        path = effect.path or ""
        below = path.endswith("/")
        if path[0] != "/" or call.cwd[1:2] == ":" or path.startswith("/private/"):
            path = self.place(absolute(path, call.cwd)) + ("/" if below else "")
        if path in named:
            return
        certainty, source = effect.certainty, effect.renamed_from
        restored = False
        if effect.action != "read":
            if effect.restored and path not in self.committed:
                restored = path in self.changed
                if not restored:
                    certainty = "unknown"  # whether it was other before is not known
            if certainty != "unknown":
                self.changed.add(path)
        self.say(
            call,
            path,
            effect.action,
            certainty,
            source=self.place(absolute(source, call.cwd)) if source else "",
            tool=effect.tool,
            restored=restored,
        )


def _plain_python(code: str) -> str:
    """A notebook cell as plain Python: ``!command`` is a call, magics are left out."""
    if "\n!" not in code and "\n%" not in code and code[:1] not in "!%":
        return code
    lines: list[str] = []
    for line in code.split("\n"):
        if line[:1] == "!":
            line = f"__import__('os').system({line[1:]!r})"
            line = line.replace("__import__('os')", "os", 1)
        elif line[:1] == "%":
            line = f"os.system({line[2:]!r})" if line.startswith("%%bash") else ""
        lines.append(line)
    return "\n".join(lines)


def _shown(command: str, tools: list[str]) -> dict[str, str]:
    """The names of programs by which they may be shown: one that is a piece of a secret, such
    as the last part of a URL that is one, says nothing."""
    if max(map(len, tools), default=0) < 8:
        return {tool: tool for tool in tools}
    said, seen = command.casefold(), Redactor().text(command).casefold()
    hidden = {tool for tool in tools if tool.casefold() in said and tool.casefold() not in seen}
    return {tool: "program" if tool in hidden else tool for tool in tools}
