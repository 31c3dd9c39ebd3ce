"""What an agent read, ran or asked again after a compaction although it was known before.

Of the next `CALLS` tool calls of the main thread those count that repeat a call from before the
compaction whose answer still held:

* read: a file that the agent had read (the same lines or all of it) or written, which only its
  own edits changed since;
* search: the same search, no file under its path changed in between;
* command: the same command, if it only shows something or is a check, and nothing changed
  in between;
* question: the person had answered the same question.

A repetition counts once. A file counts as changed by a command that names it or that may
change files at large (git checkout, inline scripts); for searches and commands every command
counts that does more than show or check. The figures are lower bounds."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.analysis.activities import of_command
from leftoff.codec import leaves
from leftoff.formats.vocabulary import EDITS, argument, text_argument
from leftoff.handover.facts import Handover
from leftoff.handover.file_lines import file_notes
from leftoff.handover.stated_facts import core_command, names_file
from leftoff.handover.text_match import TextMatcher, content_words, names
from leftoff.model import Message, ToolCall, ToolResult
from leftoff.shell.paths import relative
from leftoff.tables import table
from leftoff.tokens import estimate_tokens

# Tool calls after a compaction that are looked at. Chosen by hand: the first 20 calls of a
# successor are mostly orientation (docs/handover.md).
CALLS = 30

# Share of the content words of either question that the other holds. Chosen by hand.
SAME_QUESTION = 0.7

_RE = re.patterns(table(__file__, "rediscovery.toml"))
# Activities of commands that show files or the state of the repository.
_SHOWS = frozenset({"look", "search", "inspect_change"})
# Where a recorder gives no status, the call is not known to have failed.
_GOOD = frozenset({"ok", "unknown"})


class Rediscovery(Struct, frozen=True):
    """A call after a compaction that repeats one from before it.

    Attributes:
        kind: read | search | command | question.
        text: the path relative to the project, the search, the command or the question.
        message: index of the message with the later call.
        known: index of the message with the last such call before the compaction.
        tokens: estimate of the call and its result.
        seconds: from the message before the call to its result; 0 where not recorded.
        stated: whether the recorder's summary names the file, the command or the question.
        fact, fact_text: which fact of the handover says it (file | check | command | state |
            message), "" for none."""

    kind: str
    text: str
    message: int
    known: int
    tokens: int
    seconds: float
    stated: bool
    fact: str = ""
    fact_text: str = ""


class Dropped(Struct, frozen=True):
    """What the recorder's summary does not state and the next calls used.

    Attributes:
        kind: file | command | message; a message of the person counts if it names something
            that is used and that the summary does not name.
        message: index of the message where it was last seen before the compaction.
        used: index of the message that uses it."""

    kind: str
    text: str
    message: int
    used: int


class Rework(Struct, frozen=True):
    """The result for one compaction.

    Attributes:
        number: from 1, in file order.
        place: line or item of the summary in the recording.
        calls: number of calls that were looked at, at most `CALLS`.
        seconds: time that the repetitions took, with the model's own; overlaps count once."""

    number: int
    place: int
    calls: int
    seconds: float
    again: tuple[Rediscovery, ...]
    dropped: tuple[Dropped, ...]

    @property
    def tokens(self) -> int:
        """Tokens of all repetitions."""
        return sum(found.tokens for found in self.again)


class _Call(Struct, frozen=True):
    """A call with its result, and when it began and ended; zeros where that is not recorded."""

    message: Message
    call: ToolCall
    result: ToolResult | None
    span: tuple[float, float]

    @property
    def at(self) -> int:
        return self.message.index

    @property
    def failed(self) -> bool:
        return self.result is not None and self.result.status not in _GOOD


def rework(
    count: int,
    place: int,
    prefix: Sequence[Message],
    future: Sequence[Message],
    *,
    handover: Handover,
    recorded: str,
) -> Rework:
    """Compares the calls after a compaction with those before it. `prefix`, `future`: the
    messages before and after it, with those of subagents; `handover`: of the prefix;
    `recorded`: the recorder's own summary."""
    before, after = list(_calls(prefix)), list[_Call]()
    known = _Known(before, handover)
    spans: list[tuple[float, float]] = []
    found: dict[tuple[str, str], Rediscovery] = {}
    for one in _calls(future):
        looked_at = not one.message.agent and len(after) < CALLS
        if looked_at:
            after.append(one)
        for kind, text, key in _asked(one) if looked_at else ():
            earlier = None if one.failed else known.place(kind, key, one)
            if earlier is not None and (kind, key) not in found:
                spans.append(one.span)
                fact, words = _fact(kind, text, handover)
                found[kind, key] = Rediscovery(
                    kind,
                    text,
                    one.at,
                    earlier,
                    estimate_tokens(_flat(one.call.input))
                    + estimate_tokens(one.result.text if one.result else ""),
                    round(one.span[1] - one.span[0], 3),
                    _is_stated(kind, text, recorded),
                    fact,
                    words,
                )
        known.see(one)
    dropped = tuple(_dropped(before, after, prefix, recorded))
    return Rework(count, place, len(after), _covered(spans), tuple(found.values()), dropped)


# -- calls -------------------------------------------------------------------------------------


def _calls(messages: Iterable[Message]) -> Iterator[_Call]:
    """Every call with its result, and the time from the message before it to the result."""
    calls: list[tuple[Message, ToolCall, float]] = []
    results: dict[str, tuple[float, ToolResult]] = {}
    last: dict[str, float] = {}
    for message in messages:
        time = at.timestamp() if (at := message.recorded_at) else 0.0
        for part in message.parts:
            if type(part) is ToolCall:
                calls.append((message, part, last.get(message.agent, time)))
            elif type(part) is ToolResult and part.call_id:
                results.setdefault(part.call_id, (time, part))
        last[message.agent] = time
    for message, call, start in calls:
        end, result = results.get(call.id, (start, None))
        yield _Call(message, call, result, (start, end) if 0 < start < end else (0.0, 0.0))


def _covered(spans: Iterable[tuple[float, float]]) -> float:
    """Seconds that are in at least one of several spans."""
    total, reached = 0.0, 0.0
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return round(total, 3)


def _flat(value: Any) -> str:
    return "\n".join(str(leaf) for leaf in leaves(value) if leaf is not None)


def _path(one: _Call) -> str:
    path = text_argument(one.call, "path").replace("\\", "/")
    return relative(path, one.message.cwd) if path else ""


def _asked(one: _Call) -> Iterator[tuple[str, str, str]]:
    """What a call asks for: kind, words, and a key that is equal for an equal question."""
    call, path = one.call, _path(one)
    given = call.input if isinstance(call.input, dict) else {}
    if call.kind == "read" and path:
        left_out = (text_argument(call, "path"), None, "", False)
        ranges = sorted(f"{k}={v}" for k, v in given.items() if v not in left_out)
        yield "read", path, f"{path}\n{' '.join(ranges)}"
    elif call.kind in {"search", "list"}:
        words = " in ".join(filter(None, (text_argument(call, "query"), path)))
        values = sorted(f"{k}={v}" for k, v in given.items() if k != "description")
        if words:
            yield "search", words, f"{call.name}\n{' '.join(values)}"
    elif call.kind == "shell":
        command = normal_command(text_argument(call, "command"))
        shown = _RE["shown"].fullmatch(command)
        if shown:
            file = shown["all"] or shown["part"]
            yield "read", file, f"{file}\n{'' if shown['all'] else shown['lines']}"
        elif command:
            yield "command", command, f"{one.message.cwd}\n{command}"
    elif call.kind == "ask":
        for question in _questions(call):
            yield "question", question, question


def _questions(call: ToolCall) -> Iterator[str]:
    given = argument(call, "questions")
    for item in given if isinstance(given, list) else [given]:
        text = item.get("question") if isinstance(item, dict) else item
        if isinstance(text, str) and text.strip():
            yield " ".join(text.split())


def normal_command(command: str) -> str:
    """A command without `cd` before it and without what only trims its output."""
    text = " ".join(re.sub(r"^\s*cd\s+[^&;|]+&&\s*", "", command.strip()).split())
    while (shorter := _RE["trimmed"].sub("", text)) != text:
        text = shorter
    return text.strip()


def only_shows(command: str) -> bool:
    """Whether a command shows files or the state of the repository, and changes nothing."""
    if not command.strip() or _RE["writes"].search(command):
        return False
    return _SHOWS.issuperset(of_command(command))


# -- what was known ----------------------------------------------------------------------------


def _effect(one: _Call, checks: Collection[str]) -> tuple[list[str], str]:
    """The files that a call edits, and its command if that does more than show or check."""
    call = one.call
    if call.kind == "patch":
        found = _RE["patched"].findall(text_argument(call, "patch"))
        return [relative(path.strip(), one.message.cwd) for path in found], ""
    if call.kind in EDITS:
        return [path] if (path := _path(one)) else [], ""
    command = text_argument(call, "command") if call.kind == "shell" else ""
    known = only_shows(command) or normal_command(command) in checks
    return [], "" if known else command


class _Known:
    """What the calls before a compaction had found out, and when it last held; which paths and
    commands may have changed something since."""

    def __init__(self, before: Sequence[_Call], handover: Handover) -> None:
        self.checks = {normal_command(c.text) for c in handover.checks}
        self._paths: set[str] = set()
        self._commands: list[str] = []
        self._last: dict[tuple[str, str], int] = {}
        self._edits: dict[str, int] = {}
        self._moved = -1
        self._at_large = -1
        own: dict[str, int] = {}
        foreign: dict[str, int] = {}
        for one in before:
            paths, command = _effect(one, self.checks)
            for path in paths:
                (foreign if one.message.agent else own)[path] = one.at
                self._edits[path] = max(self._edits.get(path, -1), one.at)
                self._wrote(one, path)
            if command:
                self._moved = one.at
                self._at_large = one.at if _RE["at_large"].search(command) else self._at_large
            if not one.message.agent and not one.failed and one.result and one.result.text:
                self._last.update(((kind, key), one.at) for kind, _, key in _asked(one))
        # A file's last message may be one that read it: not later than what is known then.
        seen = {f.path: f.last_message for f in handover.files}
        self._foreign = foreign | {
            path: max(foreign.get(path, -1), at)
            for path, at in seen.items()
            if at > own.get(path, -1)
        }

    def _wrote(self, one: _Call, path: str) -> None:
        """What the agent itself edits it still knows."""
        if one.message.agent or one.failed:
            return
        if one.call.kind == "create":
            self._last["read", f"{path}\n"] = one.at
        for kind, key in self._last:
            if kind == "read" and key.partition("\n")[0] == path:
                self._last[kind, key] = one.at

    def see(self, one: _Call) -> None:
        """Takes a call after the compaction into account."""
        paths, command = _effect(one, self.checks)
        self._paths.update(paths)
        self._commands += [command] if command else []

    def _touched(self, path: str) -> bool:
        """Whether a file may have changed since."""
        name = path.rsplit("/", 1)[-1]
        return path in self._paths or any(
            name in command or _RE["at_large"].search(command) for command in self._commands
        )

    def place(self, kind: str, key: str, one: _Call) -> int | None:
        """The message where the answer was last seen; None if there is none that still held."""
        if kind == "question":
            return next((at for k, at in self._last.items() if _same_question(k, key)), None)
        found = self._last.get((kind, key), -1)
        if kind == "read":
            path = key.partition("\n")[0]
            found = max(found, self._last.get((kind, f"{path}\n"), -1))
            changed = max(self._foreign.get(path, -1), self._at_large)
            polled = _RE["polled"].search(path)
            held = found >= changed and not self._touched(path) and not polled
        else:
            inside = _path(one) if kind == "search" else ""  # a command may see every file
            times = [at for p, at in self._edits.items() if _is_inside(p, inside)]
            touched = self._commands or any(_is_inside(p, inside) for p in self._paths)
            held = found > max([*times, self._moved]) and not touched
            if kind == "command":
                command = key.partition("\n")[2]
                answer = only_shows(command) and not _RE["polled"].search(command)
                held = held and (answer or command in self.checks)
        return found if found >= 0 and held else None


def _same_question(known: tuple[str, str], asked: str) -> bool:
    """Whether what is known is the answer to a question in about the same words."""
    if known[0] != "question":
        return False
    wanted, words = content_words(asked), content_words(known[1])
    return len(wanted & words) >= SAME_QUESTION * max(len(wanted), len(words))


def _is_inside(path: str, folder: str) -> bool:
    return not folder or folder == "." or path == folder or path.startswith(f"{folder}/")


# -- what would have saved it ------------------------------------------------------------------


def _fact(kind: str, text: str, handover: Handover) -> tuple[str, str]:
    """Which fact of the handover says what was asked for: its kind and its words."""
    if kind == "read":
        for file in handover.files:
            if f"/{text}".endswith(f"/{file.path}") or file.path.endswith(f"/{text}"):
                symbols = f": {', '.join(file.symbols[:5])}" if file.symbols else ""
                return "file", f"{file.path} ({file_notes(file, handover)}){symbols}"
    elif kind == "command":
        for check in handover.checks:
            if normal_command(check.text) == text:
                return "check", f"{check.text}: {check.note}"
        if _RE["git"].match(text):
            state = handover.state
            known = [f"branch {state.branch}"] if state.branch else []
            known += [f"last commit {state.commit}"] if state.commit else []
            if state.uncommitted is not None:
                known.append(f"{state.uncommitted} files not committed")
            return ("state", ", ".join(known)) if known else ("", "")
        for call in handover.steps:
            if call.speaker == "tool" and normal_command(call.text) == text:
                return "command", f"{call.text}: {call.note}"
    elif kind == "question":
        wanted = content_words(text)
        for fact in (handover.last_message, *handover.said, *handover.constraints):
            words = content_words(fact.more) if fact and fact.more else frozenset()
            if fact and words and len(wanted & words) >= SAME_QUESTION * len(wanted):
                return "message", fact.text
    return "", ""


def _is_stated(kind: str, text: str, recorded: str) -> bool:
    if kind == "read":
        return names_file(recorded, text, ())
    if kind == "question":
        return TextMatcher(recorded).states(content_words(text))
    words = core_command(text) if kind == "command" else text.rpartition(" in ")[0] or text
    return bool(words) and words in recorded


def _dropped(
    before: Sequence[_Call], after: Sequence[_Call], prefix: Sequence[Message], recorded: str
) -> Iterator[Dropped]:
    """Files, checks and messages of the person that the summary does not state and the next
    calls used."""
    seen: set[tuple[str, str]] = set()
    files = {_path(c): c.at for c in before if c.call.kind in EDITS | {"read"} and _path(c)}
    commands = {core: c.at for c in before if (core := _core(c))}
    matcher = TextMatcher(recorded)
    said = [
        (words, names(words) - matcher.names, m.index)
        for m in prefix
        if not m.agent
        and m.typed
        and (words := _typed(m))
        and not matcher.states(content_words(words))
    ]
    for one in after:
        path = _path(one) if one.call.kind in EDITS | {"read"} else ""
        core = _core(one)
        used = names(_flat(one.call.input))
        found = []
        if path in files and not names_file(recorded, path, ()):
            found.append(("file", path, files[path]))
        if core in commands and core not in recorded:
            found.append(("command", core, commands[core]))
        found += [("message", words, at) for words, unstated, at in said if unstated & used]
        for kind, text, at in found:
            if (kind, text) not in seen:
                seen.add((kind, text))
                yield Dropped(kind, text, at, one.at)


def _core(one: _Call) -> str:
    """The program and arguments of a command that does something of its own, else ""."""
    command = text_argument(one.call, "command") if one.call.kind == "shell" else ""
    core = core_command(command)
    whole = not core.count('"') % 2 and not core.count("'") % 2 and "$(" not in core
    idle = only_shows(core) or _RE["habits"].match(core) is not None
    return core if len(core.split()) > 1 and whole and not idle else ""


def _typed(message: Message) -> str:
    return " ".join(
        getattr(message.parts[t.part], "text", "")[t.start : t.end].strip()
        for t in message.typed
    ).strip()
