"""Claude Code's `/export`: the screen as text: docs/formats/claude_code_export.md.

A block begins with a mark in the first column: `❯` (earlier `>`) what the person typed, `⏺` the
agent's words or a tool, `✻` what the client prints. Results hang below on `⎿`. Everything else
is indented, so the first column tells whose words a line holds. Long lines are broken at the
width of the screen and long results cut: what was cut is not guessed."""

from collections.abc import Iterable, Iterator

from leftoff import lazy_re as re
from leftoff.formats.injected import sent_by
from leftoff.formats.reader import Cursor, Format, Sample
from leftoff.formats.text_reader import TextReader, text_lines
from leftoff.formats.vocabulary import kind_of
from leftoff.model import Message, Record, SessionFacts, Text, ToolCall, ToolResult, Typed

_MARKS = {"❯": "user", ">": "user", "!": "user", "⏺": "agent", "●": "agent", "✻": "notice"}
_VERSION = re.compile(r"Claude Code v(\d[\w.-]*)")
_BANNER = re.compile(r"(?m)^[╭│ ▐▝▘✻*].{0,200}?(?:Claude Code v\d|Welcome to Claude Code)")
_BEGINS = re.compile(r"(?m)^(?:[⏺●❯] |> )")
# The directory in the banner, in its frame or without: `│ /home/me/shop │`.
_FOLDER = re.compile(r"[│\s]*(/[^│…]*?)\s*(?:│.*)?$")
_HANGING = re.compile(r"  ⎿[ \xa0]{0,2}")
# `Bash(ls -l)`, `Web Search("x")`, `shop - find (MCP)(id: 3)`
_CALL = re.compile(
    r"(?P<name>[\w.:@-]+(?: [\w.:@-]+){0,5}?(?: \(MCP\))?)\((?P<given>.*)\)$", re.DOTALL
)
# `  Read 3 files (ctrl+o to expand)`
_PRINTED = re.compile(r"  \S.*\((?:ctrl\+[a-z]|⌃[A-Z]) to (?:expand|see all|toggle)[^()]*\)$")
_NOTICE = re.compile(
    r"(?:Agent|Background (?:command|task)|Task|Monitor) \"[\s\S]*\" "
    r"(?:came to rest|completed|finished|failed|stopped|was (?:stopped|killed))\b"
)
_INTERRUPTED = ("Interrupted ·", "Interrupted by user", "[Request interrupted")
# How the result of a call begins that was not done.
_OUTCOMES = {
    "interrupted": _INTERRUPTED,
    "denied": ("User rejected ", "Tool use rejected", "No (tell Claude"),
    "error": ("Error", "Invalid tool parameters"),
    "running": ("Running", "Waiting", "Initializing"),
}
_COMPACTED = re.compile(r"(?:Conversation compacted|Compacted\b)")
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,9})\b")
# Names on the screen that differ from the tool's own.
_NAMES = {"Update": "Edit", "Fetch": "WebFetch", "Web Search": "WebSearch", "Search": "Grep"}
# `Search(pattern: "x", path: "src")`
_NAMED = re.compile(r'\b(\w+): "([^"]*)"')
_COMMAND = re.compile(r"/[A-Za-z][\w:-]*(?:\s|$)")
_WRITTEN = re.compile(r"(Wrote \d+ lines? to\s)|Added |Updated |Removed ")
_SUBAGENT = re.compile(r"Done \(\d+ tool uses?\b")


class ClaudeCodeExportReader(TextReader):
    kind: str = "banner"  # banner | user | agent | notice: whose block the line is in
    mark: str = ""  # the mark of the file's prompts, once one was read
    padded: bool = False
    """The prompt's lines are filled with blanks, as newer versions draw them."""
    empty: bool = True  # the line before is empty

    def _line(self, line: bytes, text: str, cursor: Cursor) -> Iterable[Record]:
        kind = self._begins(text)
        found = tuple(self._flush(cursor)) if kind else ()
        if kind:
            self.kind, self.padded = kind, kind == "user" and text.endswith(" ")
        if not self.lines:
            self.first = cursor.line
        if text or self.lines:
            self.lines.append(line)
        self.empty = not text
        return found

    def _begins(self, text: str) -> str:
        """The kind of the block that begins with this line; "" if it goes on with one."""
        kind = _MARKS.get(text[:1])
        if kind is None or text[1:2] not in {" ", "\xa0"}:
            return ""
        # `>` also begins a quote in markdown: it is a prompt only below an empty line, and
        # where earlier prompts have the same mark.
        if text[0] in ">!" and not (self.empty and self.mark in {"", text[0]}):
            return ""
        if self.kind == "user" and self.padded and not self.empty and text.endswith(" "):
            return ""  # a prompt that quotes the screen: its lines are filled like its first
        # The banner draws `✻` as well: `✻ Welcome to Claude Code`.
        if kind == "notice" and self.kind == "banner" and not self.empty:
            return ""
        if kind == "user" and text[0] != "!":
            self.mark = text[0]
        return kind

    def _flush(self, cursor: Cursor) -> Iterator[Record]:
        cursor = self._block(cursor)
        if not cursor.raw:
            return
        texts = text_lines(cursor.raw)
        if self.kind == "banner":
            yield from _facts(texts)
            yield self._meta(texts, cursor)
        elif self.kind == "notice":
            if _COMPACTED.match(texts[0][2:]):
                yield cursor.compaction()
            yield self._meta(texts, cursor)
        elif self.kind == "user":
            yield from self._prompt(texts, cursor)
        else:
            yield from self._agent(texts, cursor)

    def _prompt(self, texts: list[str], cursor: Cursor) -> Iterator[Record]:
        end = len(texts)
        for place in range(1, len(texts)):
            text = texts[place]
            if self.padded and len(text) == len(texts[0]):
                continue  # filled to the width of the prompt, so a part of it
            printed = text and not texts[place - 1] and self.padded and not text.endswith(" ")
            if printed or _HANGING.match(text) or _PRINTED.match(text):
                end = place
                break
        mark = texts[0][0]
        words = [texts[0][2:], *[text.removeprefix("  ") for text in texts[1:end]]]
        body = "\n".join([word.rstrip(" \xa0") for word in words]).strip("\n")
        origin, typed = sent_by(body)
        if mark == "!" or _COMMAND.match(body):
            origin, typed = "", (Typed(0, 0, len(body), "command"),)
        if body:
            yield cursor.message("user", (Text(body),), origin, typed)
        yield from self._printed(texts[end:], cursor, manual="/compact" in body[:9])

    def _agent(self, texts: list[str], cursor: Cursor) -> Iterator[Record]:
        hanging = next((n for n, t in enumerate(texts) if _HANGING.match(t)), len(texts))
        head = "\n".join([texts[0][2:], *[text.strip() for text in texts[1:hanging]]]).strip()
        below = texts[hanging:]
        call = _CALL.match(head)
        name = _NAMES.get(call["name"], call["name"]) if call is not None else ""
        # Words may look so, too: `see the notes (below)`. Without a result only a known tool is
        # a call.
        if call is not None and (below or kind_of(name) != "other"):
            yield from self._use(name, call["given"], below, cursor)
            return
        # Tools without arguments: Update Todos. 40 characters: chosen by hand.
        bare = hanging == 1 and 0 < len(head) < 40
        if below and bare and not _is_interruption(below[0]):
            yield from self._use(head, "", below, cursor)
            return
        if _NOTICE.match(head):
            yield self._meta(texts, cursor)
            return
        words: list[str] = [texts[0][2:]]
        for place in range(1, hanging):
            text = texts[place]
            if _PRINTED.match(text) and not texts[place - 1]:
                yield from self._words(words, cursor)
                words = []
                yield self._meta([text], cursor)
            else:
                words.append(text.removeprefix("  "))
        yield from self._words(words, cursor)
        yield from self._printed(below, cursor)

    def _words(self, words: list[str], cursor: Cursor) -> Iterator[Record]:
        body = "\n".join([word.rstrip() for word in words]).strip("\n")
        if body.strip():
            self.turns += 1
            yield self._said((Text(body),), cursor)

    def _use(self, name: str, given: str, below: list[str], cursor: Cursor) -> Iterator[Record]:
        self.calls += 1
        self.turns += 1
        identity = f"call-{self.calls}"
        kind = "plan" if name == "Update Todos" else kind_of(name)
        if kind == "other" and below and _SUBAGENT.match(_below(below[0])):
            kind = "subagent"  # named by the subagent, not by the tool
        call = ToolCall(identity, name, kind, _arguments(kind, given))
        yield self._said((call,), cursor)
        end = next(
            (
                n
                for n in range(1, len(below))
                if _HANGING.match(below[n])
                and _is_interruption(below[n])
                or not below[n - 1]
                and re.match(r"  \S", below[n])
            ),
            len(below),
        )
        if below:
            text = "\n".join([_below(one) for one in below[:end]]).strip("\n")
            written = _WRITTEN.match(text) if kind == "create" else None
            detail = {"created": written[1] is not None} if written else None
            result = ToolResult(identity, text, *_outcome(text), detail)
            yield cursor.message("tool", (result,))
        yield from self._printed(below[end:], cursor)

    def _printed(
        self, texts: list[str], cursor: Cursor, *, manual: bool = False
    ) -> Iterator[Record]:
        rest: list[str] = []
        for text in texts:
            hangs = _HANGING.match(text) is not None
            if hangs and _is_interruption(text):
                if rest:
                    yield self._meta(rest, cursor)
                rest = []
                yield cursor.message("user", (Text(_below(text)),), "interruption")
                continue
            if hangs and manual and _COMPACTED.match(_below(text)):
                yield cursor.compaction("manual")
            rest.append(text)
        if any(text.strip() for text in rest):
            yield self._meta(rest, cursor)

    def _meta(self, texts: list[str], cursor: Cursor) -> Message:
        body = "\n".join([text.rstrip() for text in texts]).strip("\n")
        return cursor.message("system", (Text(body),), "meta")


def _facts(texts: list[str]) -> Iterator[Record]:
    # Lines of the banner; chosen by hand.
    for text in texts[:20]:
        if version := _VERSION.search(text):
            yield SessionFacts(agent_version=version[1])
        elif (folder := _FOLDER.match(text)) and " " not in folder[1]:
            yield SessionFacts(cwd=folder[1])


def _arguments(kind: str, given: str) -> dict[str, object]:
    """The arguments, as far as one line shows them whole.

    What was broken into lines or cut ("…") is passed as `shown` only: where the breaks stand in
    a command or a path cannot be known."""
    if not given:
        return {}
    if "\n" in given or given.endswith("…"):
        return {"shown": given}
    if kind == "shell":
        return {"command": given}
    if kind in {"read", "edit", "create", "list", "notebook"}:
        return {"file_path": given.split(" · ", 1)[0]}
    if kind == "search":
        return dict(_NAMED.findall(given)) or {"shown": given}
    if kind == "fetch":
        return {"query": given.strip('"')} if given.startswith('"') else {"url": given}
    return {"shown": given}


def _below(text: str) -> str:
    if hanging := _HANGING.match(text):
        return text[hanging.end() :].rstrip()
    return (text.strip() if text[:5].strip() else text[5:]).rstrip()


def _is_interruption(text: str) -> bool:
    return _below(text).startswith(_INTERRUPTED)


def _outcome(text: str) -> tuple[str, int | None]:
    if code := _EXIT_CODE.match(text):
        return ("error" if int(code[1]) else "ok"), int(code[1])
    found = (status for status, heads in _OUTCOMES.items() if text.startswith(heads))
    return next(found, "ok"), None


def _detect(sample: Sample) -> bool:
    if sample.binary or sample.data.lstrip()[:1] in {b"{", b"["}:
        return False
    head = "\n".join(sample.text.split("\n", 12)[:12])
    return _BANNER.search(head) is not None and _BEGINS.search(sample.text) is not None


FORMAT = Format("claude_code_export", "text", ClaudeCodeExportReader, _detect)
