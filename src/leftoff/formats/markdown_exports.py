"""Markdown exports of a chat whose turns begin with a rule, a blank line and a heading.

opencode's (`/export`, docs/formats/opencode_markdown.md): `## User` or `## Assistant (…)`.
Tools stand in a turn under `**Tool: name**`, with fenced input and output. The recorder escapes
nothing, so an output may hold fences and headings of its own: it lasts at least to the first
bare fence with a blank line below it, and what no line can settle is reported.

Cursor's ("Export Chat", docs/formats/cursor_markdown.md): `**User**` or `**Cursor**`. It holds
words only: tool calls, their results and thoughts are left out by the recorder."""

from collections.abc import Generator, Iterable, Iterator
from functools import partial

from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.formats.injected import sent_by, typed_spans
from leftoff.formats.openai_parts import recorded_arguments
from leftoff.formats.opencode import failure
from leftoff.formats.reader import Cursor, Format, Sample
from leftoff.formats.text_reader import TextReader, text_lines
from leftoff.formats.vocabulary import kind_of, tool_call

_HEADER = re.compile(r"## (?:(?P<user>User)|Assistant(?: \((?P<about>.*)\))?)$")
_TOOL = re.compile(r"\*\*Tool: (?P<name>[^*\n]+)\*\*$")
_THINKING = "_Thinking:_"
_SESSION = re.compile(r"\*\*Session ID:\*\* (\S+)$")
# `**Created:** 3/14/2026, 9:05:07 PM`: JavaScript's time of the United States, in newer
# versions with a narrow blank before `PM`.
_CREATED = re.compile(
    r"\*\*Created:\*\* (\d{1,2})/(\d{1,2})/(\d{4}), (\d{1,2}):(\d\d):(\d\d)\s([AP])M$"
)
_OPENCODE = re.compile(
    r"# [^\n]*\r?\n\r?\n\*\*Session ID:\*\* \S+\r?\n\*\*Created:\*\* [^\n]*\n\*\*Updated:\*\* "
)
_SECONDS = re.compile(r"\d+(?:\.\d+)?s$")
_VERDICTS = ("**Output:**", "**Error:**")

# What an export leaves open, the codes of the issues: where a thought or an output ends, and
# which turns are its own where it quotes another export.
UNMARKED_THOUGHT = "unmarked_thought"
UNSURE_OUTPUT = "uncertain_output"
QUOTED_EXPORT = "uncertain_turn"

_EXPORTED = re.compile(r"_Exported on [^\n_]*? from Cursor(?: \(([^()\n]*)\))?_$")
_CURSOR = re.compile(r"# [^\n]*\n_Exported on [^\n_]*? from Cursor(?: \([^()\n]*\))?_\r?\n")
_SPEAKERS = {"**User**": "user", "**Cursor**": "assistant"}


class ExportReader(TextReader):
    """Reads an export whose turns begin with a rule, a blank line and a heading."""

    who: str = ""  # user | assistant; "" before the first turn
    rule: int = 0  # 1 after a rule, 2 after a rule and a blank line: here a turn may begin

    def _line(self, line: bytes, text: str, cursor: Cursor) -> Iterable[rec.Record]:
        speaker = self._speaker(text) if self.rule == 2 else ""
        if speaker:
            found = tuple(self._flush(cursor))
            self.who, self.first, self.lines, self.rule = speaker, cursor.line, [line], 0
            self._begin(text)
            return found
        self.rule = 1 if text == "---" else 2 if self.rule == 1 and not text else 0
        if not self.who:
            return self._facts(text)
        self.lines.append(line)
        return self._inside(text, cursor)

    def _speaker(self, text: str) -> str:
        raise NotImplementedError

    def _begin(self, text: str) -> None:
        """Takes up what the heading of a new turn says."""

    def _facts(self, text: str) -> Iterable[rec.Record]:
        raise NotImplementedError

    def _inside(self, text: str, cursor: Cursor) -> Iterable[rec.Record]:
        """What a line in a turn gives before the turn is complete."""
        return ()

    def _prompt(self, texts: list[str], cursor: Cursor) -> Iterator[rec.Message]:
        body = "\n".join(texts).strip("\n")
        if body:
            yield cursor.message("user", (rec.Text(body),), *sent_by(body))


class OpencodeMarkdownReader(ExportReader):
    output: bool = False  # the line is in the output of a tool
    before: str = ""  # the line before

    def _speaker(self, text: str) -> str:
        # An output may be an export itself: until its fence closes, no heading is a turn's.
        header = None if self.output else _HEADER.match(text)
        return "" if header is None else "user" if header["user"] else "assistant"

    def _begin(self, text: str) -> None:
        header = _HEADER.match(text)
        self.model = _model(header["about"] or "") if header else ""
        self.output = False

    def _inside(self, text: str, cursor: Cursor) -> Iterable[rec.Record]:
        if self.who == "assistant" and text == "```" and self.before in _VERDICTS:
            self.output, self.before = True, ""
            return ()
        if not text and self.before == "```":
            self.output = False
        self.before = text
        return ()

    def _facts(self, text: str) -> Iterator[rec.Record]:
        if session := _SESSION.match(text):
            yield rec.SessionFacts(id=session[1])
        elif created := _CREATED.match(text):
            # The time has no zone: it is that of the person's machine.
            month, day, year, hour, minute, second, half = created.groups()
            # 12 AM is 0, 12 PM is 12.
            hours = int(hour) % 12 + (12 if half == "P" else 0)
            started = f"{year}-{int(month):02}-{int(day):02}T{hours:02}:{minute}:{second}"
            yield rec.SessionFacts(started=started)
        elif text.startswith("# "):
            yield rec.SessionFacts(title=text[2:].strip())

    def _flush(self, cursor: Cursor) -> Iterator[rec.Record]:
        cursor = self._block(cursor, rule=True)
        if not cursor.raw or not self.who:
            return
        texts = text_lines(cursor.raw)[1:]
        # The head of another export, quoted in this turn.
        if any(_SESSION.match(text) is not None for text in texts):
            yield rec.Uncertain(QUOTED_EXPORT, self.first)
        if self.who == "user":
            yield from self._prompt(texts, cursor)
            return
        found = list(self._parts(texts))
        yield from (one for one in found if isinstance(one, rec.Uncertain))
        parts = [one for one in found if not isinstance(one, rec.ToolResult | rec.Uncertain)]
        results = [one for one in found if isinstance(one, rec.ToolResult)]
        self.turns += 1
        if parts:
            yield self._said(parts, cursor, model=self.model)
        if results:
            yield self._said(results, cursor, "tool")

    def _parts(self, texts: list[str]) -> Iterator[rec.Part | rec.Uncertain]:
        words: list[str] = []
        thought = False
        place = begun = 0
        while place < len(texts):
            text = texts[place]
            # The recorder's own marks stand below a blank line.
            marked = not place or not texts[place - 1]
            tool = _TOOL.match(text) if marked else None
            place += 1
            if tool is None and not (marked and text == _THINKING):
                words.append(text)
                continue
            yield from _words(words, thought, self.first + begun)
            words, thought, begun = [], tool is None, place
            if tool is not None:
                place = yield from self._use(tool["name"], texts, place)
        yield from _words(words, thought, self.first + begun)

    def _use(
        self, name: str, texts: list[str], place: int
    ) -> Generator[rec.Part | rec.Uncertain, None, int]:
        """The call and the result whose block goes on at `place`; returns where it ends."""
        self.calls += 1
        identity = f"call-{self.calls}"
        given: object = {}
        if texts[place : place + 3] == ["", "**Input:**", "```json"]:
            start, end = place + 3, len(texts)
            place = next((n for n in range(start, end) if texts[n] == "```"), end)
            given = recorded_arguments("\n".join(texts[start:place]))
            place += 1
        yield tool_call(identity, name, given)
        shown = texts[place : place + 3]
        if len(shown) < 3 or shown[0] or shown[1] not in _VERDICTS or shown[2] != "```":
            return place
        start = place + 3
        end, sure = _output_end(texts, start)
        if not sure:
            yield rec.Uncertain(UNSURE_OUTPUT, self.first + start)
        text = "\n".join(texts[start:end])
        yield rec.ToolResult(identity, text, _status(kind_of(name), shown[1], text))
        return end + 1


def _output_end(texts: list[str], start: int) -> tuple[int, bool]:
    """The place of the fence that ends the output at `start`, and whether it surely does.

    Candidates are the bare fences with nothing or a blank line below them, up to the next tool
    or thought. Of several, the first that is not the end of a nested block is taken."""
    chosen = last = -1
    count = 0
    inside = nested = False
    for place in range(start, len(texts)):
        text = texts[place]
        if last >= 0 and not texts[place - 1] and (text == _THINKING or _TOOL.match(text)):
            break
        if not text.startswith("```"):
            continue
        bare = text == "```"
        ends = bare and (place + 1 == len(texts) or not texts[place + 1])
        if ends:
            last = place
            count += 1
        if inside:
            inside = not bare
        elif ends and chosen < 0:
            chosen = place
        else:
            inside = True
            nested = nested or chosen < 0
    if chosen < 0:  # an odd fence in the output, or no end at all
        return (last, count == 1) if last >= 0 else (len(texts), False)
    return chosen, count == 1 or not (nested or inside)


def _words(words: list[str], thought: bool, line: int) -> Iterator[rec.Part | rec.Uncertain]:
    """Words as a part: the agent's, or a thought's where one began above them.

    Nothing marks where a thought ends, so words of the agent may stand in what is taken for a
    thought, up to the next tool or the end of the turn. That is reported."""
    text = "\n".join(words).strip("\n")
    if text.strip() and thought:
        yield rec.Uncertain(UNMARKED_THOUGHT, line)
    if text.strip():
        yield rec.Reasoning(text) if thought else rec.Text(text)


def _status(kind: str, verdict: str, text: str) -> str:
    if verdict == "**Error:**":
        return failure(text)
    # A command that failed is "completed" too; its exit code is not exported.
    return "unknown" if kind in {"shell", "powershell", "python", "script"} else "ok"


def _model(about: str) -> str:
    # The agent's name comes first, the time that the reply took last.
    named = about.split(" · ")[1:]
    if named and _SECONDS.match(named[-1]):
        named.pop()
    return " · ".join(named)


class CursorMarkdownReader(ExportReader):
    def _speaker(self, text: str) -> str:
        return _SPEAKERS.get(text, "")

    def _facts(self, text: str) -> Iterable[rec.Record]:
        exported = _EXPORTED.match(text)
        if exported is not None and exported[1]:
            return (rec.SessionFacts(agent_version=exported[1]),)
        return (rec.SessionFacts(title=text[2:].strip()),) if text.startswith("# ") else ()

    def _inside(self, text: str, cursor: Cursor) -> Iterable[rec.Record]:
        return (rec.Uncertain(QUOTED_EXPORT, cursor.line),) if _EXPORTED.match(text) else ()

    def _flush(self, cursor: Cursor) -> Iterator[rec.Record]:
        cursor = self._block(cursor, rule=True)
        body = "\n".join(text_lines(cursor.raw)[1:]).strip("\n")
        if not self.who or not body.strip():
            return
        if self.who == "assistant":
            self.turns += 1
            yield self._said((rec.Text(body),), cursor)
        else:
            yield cursor.message("user", (rec.Text(body),), typed=typed_spans(0, body))


def _begins_with(pattern: re.Pattern[str], sample: Sample) -> bool:
    return pattern.match(sample.text.lstrip()) is not None


OPENCODE = Format(
    "opencode_markdown", "text", OpencodeMarkdownReader, partial(_begins_with, _OPENCODE)
)
CURSOR = Format("cursor_markdown", "text", CursorMarkdownReader, partial(_begins_with, _CURSOR))
