"""Aider's chat history, markdown: docs/formats/aider.md.

Lines are of three kinds, distinguished by their prefix and by the two trailing blanks of the
lines that aider writes: what the person typed (`#### `), what aider printed (`> `), and the
model's reply. One file holds every session of a folder."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from shlex import quote

from msgspec import field

from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.formats.injected import typed_spans
from leftoff.formats.lenient_json import code_in
from leftoff.formats.reader import Cursor, Format, Sample
from leftoff.formats.text_reader import TextReader, text_lines
from leftoff.formats.vocabulary import KINDS, tool_call

_HEADER = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)\s*$")
_DETECT = re.compile(r"(?m)^# aider chat started at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*$")
_SEARCH = re.compile(r"<{5,9} SEARCH>?\s*$")
_MIDDLE = re.compile(r"={5,9}\s*$")
_REPLACE = re.compile(r">{5,9} REPLACE\s*$")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,}|</?(?:source|code|pre)>)")
_FENCE_ENDS = ("```", "~~~", "</")
_TOKENS = re.compile(
    r"Tokens: (?P<sent>[\d.,]+[kM]?) sent,(?P<more>(?: [\d.,]+[kM]? cached?(?: write| hit)?,)*)"
    r" (?P<received>[\d.,]+[kM]?) received"
)
_CACHE = re.compile(r"([\d.,]+[kM]?) cache(d| write| hit)")
_APPLIED = re.compile(r"Applied edit to (.+)")
# The person's yes to a new file; the line before it is the path.
_CREATES = re.compile(r"Create new file\?.{0,80}: *[yYaA]")
_SKIPPED = re.compile(r"Skipping edits to (.+?)(?: that matches| with|$)")
_COMMIT = re.compile(r"Commit [0-9a-f]{7,40} \S")
_NO_COMMIT = "Unable to commit: "
_UNDONE = re.compile(r"Removed: [0-9a-f]{7,40} ")
# What the next commit is limited to: files that were changed by another hand before.
_COMMITTING = re.compile(r"Committing (\S+) before applying edits\.$")
# The command line of a commit that failed, as GitPython prints it: without quotes.
_COMMIT_LINE = re.compile(
    r"cmdline: git commit -m (.*?)(?: --no-verify)?(?: -- |\n|\Z)", re.DOTALL
)
_UNMATCHED = re.compile(r"(?:# )?(\d{1,6}) SEARCH/REPLACE blocks? failed to match!")
_OTHERS = re.compile(r"# The other (\d{1,6}) SEARCH/REPLACE blocks? (?:was|were) applied")
_LAST_LINES = ("Just reply with fixed versions", "The SEARCH section must exactly match")
# A question of aider with its answer. Versions that list the answers write what was pressed;
# earlier ones write "y" and "n" for a key, and "yes" and "no" for the option `--yes`.
_ANSWERED = re.compile(
    r".*\?(?: \(Y\)es/\(N\)o.*\[\w+\]: (?P<answer>[A-Za-z][\w' ]{0,15})| (?P<letter>[yn]))$"
)
# Why the model gave no reply.
_ERROR = re.compile(r"Unexpected error: |litellm\.\w+Error: |API Error: ")
_VERSION = re.compile(r"Aider v(\S+)")
_MODEL = re.compile(r"(?:Main model|Models?): (\S+)")
_FOLDER = re.compile(r"Git working dir: (.+)")
_NOT_APPLIED = (
    "did not conform to the edit format",
    "did not conform to the expected edit format",
    "Malformed edit block",
    "Can't edit",
)
# Beginnings of prompts that aider writes in the person's place.
_OWN_PROMPTS = (
    "# Fix any errors below",
    "# Question:",
    "I ran this command:",
    "<blank>",
    "I added these files to the chat",
    "# Summarize",
)
# Commands that aider carries out itself, without the model; any first letters will do.
_CLIENT_COMMANDS = KINDS["aider_client_commands"]
# Commands whose words aider sends as a prompt of their own, which it records again.
_ASKED_BY = re.compile(r"/(?:ask|code|architect|context|help|chat-mode \w+) +(?=\S)")
_THINKING = re.compile(
    r"<(?P<tag>thinking-content-[0-9a-f]+)>(?P<tagged>.*?)(?:</(?P=tag)>|\Z)"
    r"|(?:^-{4,}\s*\n)?^► \*\*THINKING\*\*\s*$(?P<titled>.*?)"
    r"(?:(?:^-{4,}\s*\n)?^► \*\*ANSWER\*\*\s*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
# Characters. Chosen by hand: the longest question that was seen has some 120, and the pattern
# of an answer takes time with the square of a line's length.
LONGEST_QUESTION = 1000
# A shorter prompt that equals the reply before it may have been typed. Chosen by hand; the
# shortest repeated answer that was seen has 364 characters.
SHORTEST_REPEAT = 40
# What aider prints when the model has answered.
_AFTER_REPLY = ("Tokens: ", "Applied edit to ", "Commit ", "Removed: ")
# Questions of aider after which, on yes, it goes on with a prompt of its own.
_GOES_ON = re.compile(r"(?:Attempt to )?[Ff]ix |.* to the chat\?")
_OUTPUT = re.compile(r"> (?:Tokens: |Applied |Commit |Add |Added |Did not|You |Repo|Use |Run)")


class AiderReader(TextReader):
    block: str = ""  # the kind of block that the last lines are of: user | tool | reply | ""
    open: bool = False
    """Inside an output of several lines: only its first and last line are marked."""
    ends: bool = False  # the last line of such an output may have been its end
    again: bool = False  # the line begins another prompt, not the next line of the same one
    blank: int = 1  # blank lines before this one
    fenced: bool = False  # inside a code block of the reply
    marks: bool = False  # a prompt of the file has the two blanks at the end of a line
    started: str = ""
    repeats: int = 0  # sessions so far that started at this moment
    cwd: str = ""
    edits: int = 0
    commits: int = 0
    committing: list[str] = field(default_factory=list)
    """The files that the next commit is limited to."""
    waiting: list[tuple[str, str, str]] = field(default_factory=list)
    """Id, path and old text of the edits without a result."""
    total: rec.Usage = rec.Usage()
    answer: str = ""
    """The last reply without thoughts, its blanks joined: in architect mode aider gives it to
    the model that edits, as a prompt."""
    editing: bool = False  # the model that edits answers such a prompt, without the chat
    working: bool = False  # the person's words wait for the end of the model's work
    silent: bool = False  # nothing was replied to them so far
    cut: bool = False  # the person stopped the model before its reply was written
    command: str = ""
    """The words of the last command, if aider sends them as a prompt: /ask and the like."""

    def _line(self, line: bytes, text: str, cursor: Cursor) -> Iterable[rec.Record]:
        if self.blank and (header := _HEADER.match(text)):
            return self._begin_session(f"{header[1]}T{header[2]}", cursor)
        kind = self._kind(text)
        self.blank = 0 if text.strip() else self.blank + 1
        if kind == self.block and not (kind == "user" and self.again):
            self.fenced ^= _is_fence(text)
            if self.lines or not self.blank:
                self.lines.append(line)
            return ()
        found = tuple(self._flush(cursor))
        self.block, self.lines, self.first = kind, [line], cursor.line
        self.again, self.fenced = False, _is_fence(text)
        return found

    def _kind(self, text: str) -> str:
        marked = text.endswith("  ")
        beginning = self.blank or self.block in {"user", "tool"} and not self.open
        # Editors remove blanks at the ends of lines, in the whole file as it then is. Aider
        # writes two blank lines between a reply and the next prompt; headings of a reply rarely
        # have as many.
        unmarked = not (self.marks or self.open or self.fenced) and self.blank > 1
        if text.startswith("####") and (
            self.blank and (marked or unmarked) or self.block == "user" and not self.blank
        ):
            self.again, self.open = self.blank > 0, False
            self.marks = self.marks or marked
            return "user"
        quoted = text.startswith("> ")
        if quoted and marked and (beginning or self.open):
            self.open = False
            return "tool"
        if not text.strip():
            self.open, self.ends = self.open and not self.ends, False
            return self.block
        if self.open:
            self.ends = marked
            return "tool"
        if quoted and beginning and (self.block != "reply" or _OUTPUT.match(text)):
            self.open, self.ends = True, False
            return "tool"
        return "reply"

    def _begin_session(self, moment: str, cursor: Cursor) -> Iterable[rec.Record]:
        found = tuple(self._flush(cursor))
        self.repeats = self.repeats + 1 if moment == self.started else 1
        self.started = moment
        self.block, self.open, self.blank = "", False, 0
        self.waiting, self.model, self.cwd = [], "", ""
        self.answer = self.command = ""
        self.working = self.silent = self.cut = self.editing = False
        self.total = rec.Usage()
        name = moment.replace(":", "") + (f"-{self.repeats}" if self.repeats > 1 else "")
        return (*found, rec.NewSession(name), rec.SessionFacts(id=name, started=moment))

    def _flush(self, cursor: Cursor) -> Iterator[rec.Record]:
        cursor = self._block(cursor)
        if not cursor.raw or not self.block:
            return
        texts = text_lines(cursor.raw)
        if self.block == "user":
            yield self._user_message(texts, cursor)
        elif self.block == "tool":
            yield from self._tool_output(texts, cursor)
        else:
            yield self._assistant_message("\n".join(texts), cursor)
            self.silent = False
            if self.cut:  # aider notes ^C at once, and what the model had said below it
                yield rec.Turn("interrupted")
            self.cut = False

    def _user_message(self, texts: list[str], cursor: Cursor) -> rec.Message:
        text = "\n".join([t[4:].removeprefix(" ").rstrip(" ") for t in texts])
        self.waiting = []
        typed: tuple[rec.Typed, ...] = ()
        words = " ".join(text.split())
        repeated = bool(words) and (
            words == self.command or len(words) >= SHORTEST_REPEAT and words == self.answer
        )
        self.editing = bool(words) and words == self.answer
        asked = _ASKED_BY.match(text)
        self.command = " ".join(text[asked.end() :].split()) if asked else ""
        client = _is_client_command(text)
        self.working, self.silent, self.cut = self.working or not client, not client, False
        if not repeated and not text.startswith(_OWN_PROMPTS):
            command = text.startswith(("/", "!"))
            typed = () if command else typed_spans(0, text)
            if command or not typed and text.startswith("#"):
                via = "client" if client else "command" if command else "prompt"
                typed = (rec.Typed(0, 0, len(text), via),)
        return cursor.message("user", (rec.Text(text),), "", typed, cwd=self.cwd)

    def _tool_output(self, texts: list[str], cursor: Cursor) -> Iterator[rec.Record]:
        shown = [t[2:].rstrip(" ") if t.startswith("> ") else t for t in texts]
        results: list[rec.Part] = []
        rest: list[str] = []
        changed: dict[int, list[tuple[str, str, str]]] = {}
        new = {
            path.strip() for path, asked in pairwise(shown) if _CREATES.match(asked) is not None
        }
        unmatched = any(_UNMATCHED.match(text) for text in shown)
        for text in _statements(shown):
            if applied := _APPLIED.match(text):
                path = applied[1].strip()
                answered = self._edit_results(path, text, "ok", new=path in new)
                results += answered
                if not answered:
                    action = "created" if path in new else "modified"
                    file = path.replace("\\", "/"), action, ""
                    changed.setdefault(len(results), []).append(file)
            elif skipped := _SKIPPED.match(text):
                results += self._edit_results(skipped[1].strip(), text, "denied")
            elif _UNMATCHED.match(text):
                results += self._unmatched(text)
                rest.append(text)
            elif not unmatched and any(mark in text for mark in _NOT_APPLIED):
                results += self._edit_results("", text, "error")
                rest.append(text)
            elif _COMMIT.match(text) or _UNDONE.match(text) or text.startswith(_NO_COMMIT):
                results += self._commit(text)
            else:
                if named := _COMMITTING.match(text):
                    self.committing.append(named[1])
                rest.append(text)
        yield from self._session_facts(rest)
        answers = _answers(len(results), rest)
        undone = any(map(_UNDONE.match, shown))  # the person's doing
        role: rec.Role = "tool" if results else "system"
        parts = (*results, rec.Text("\n".join(rest))) if rest or not results else tuple(results)
        origin = "meta" if undone or not results else ""
        yield cursor.message(role, parts, origin, answers, cwd=self.cwd)
        for part, files in changed.items():
            yield cursor.changes("", files, part=part or None)
        yield from self._token_counts("\n".join(rest))
        stop = next((n for n, text in enumerate(shown) if text.startswith("^C")), -1)
        done = shown if stop < 0 else shown[:stop]
        if any(text.startswith(_AFTER_REPLY) for text in done) and not _goes_on(done):
            self.working = False
            yield rec.Turn("ended")
        elif stop >= 0 and self.working:  # else the person leaves aider
            self.working, self.cut = False, self.silent
            yield rec.Turn("interrupted")
        elif self.silent and (error := next(filter(_ERROR.match, shown), "")):
            yield rec.Turn("failed", error[:300])

    def _edit_results(
        self, path: str, text: str, status: str, *, new: bool = False
    ) -> list[rec.Part]:
        mine = [w for w in self.waiting if not path or w[1] == path]
        self.waiting = [w for w in self.waiting if w not in mine]
        detail = {"created": True} if new else None
        return [rec.ToolResult(identity, text, status, detail=detail) for identity, *_ in mine]

    def _unmatched(self, text: str) -> list[rec.Part]:
        """The results of a reply with blocks that were not found in their file: those that
        aider repeats failed, and it says how many others were applied."""
        waiting, self.waiting = self.waiting, []
        number, others = (code_in(pattern, text) or 0 for pattern in (_UNMATCHED, _OTHERS))
        repeated = {old for _, old, _ in edits_in(text, "?")}
        failed = [len(waiting) == number or old in repeated for *_, old in waiting]
        known = sum(failed) == number == len(waiting) - others
        line = text.partition("\n")[0]
        return [
            rec.ToolResult(identity, line, ("error" if bad else "ok") if known else "unknown")
            for (identity, *_), bad in zip(waiting, failed, strict=True)
        ]

    def _commit(self, text: str) -> list[rec.Part]:
        """The commit that aider made or took back itself, or could not make, as a call with its
        result."""
        self.commits += 1
        identity, command = f"commit-{self.commits}", "git commit"
        if _UNDONE.match(text):
            command = "git reset --hard HEAD~1"
        elif line := _COMMIT_LINE.search(text):
            command += f" -m {quote(line[1])}"
        elif self.committing:
            command += f" -- {' '.join(map(quote, self.committing))}"
        self.committing = []
        call = tool_call(identity, "git commit", {"command": command})
        status = "error" if text.startswith(_NO_COMMIT) else "ok"
        return [call, rec.ToolResult(identity, text, status)]

    def _session_facts(self, texts: list[str]) -> Iterator[rec.Record]:
        for text in texts:
            if version := _VERSION.match(text):
                yield rec.SessionFacts(agent_version=version[1])
            elif model := _MODEL.match(text):
                self.model = model[1]
            elif folder := _FOLDER.match(text):
                self.cwd = folder[1].strip()
                yield rec.SessionFacts(cwd=self.cwd)

    def _token_counts(self, text: str) -> Iterator[rec.Record]:
        for found in _TOKENS.finditer(text):
            cache = {kind: _number(n) for n, kind in _CACHE.findall(found["more"])}
            hit, written = cache.get(" hit", cache.get("d", 0)), cache.get(" write", 0)
            sent, received = _number(found["sent"]), _number(found["received"])
            # "194 sent, 9,474 cached" of early versions counts the two apart.
            fresh = sent if "d" in cache else max(0, sent - hit - written)
            last = rec.Usage(fresh, received, hit, written)
            self.total += last
            yield rec.TokenCount(rec.Usage() if self.editing else last, self.total)

    def _assistant_message(self, text: str, cursor: Cursor) -> rec.Message:
        if not self.started and not self.turns and self.first == 1:
            # What stands above the first session is an editor's mode line, not a reply.
            return cursor.message("system", (rec.Text(text),), cwd=self.cwd)
        parts, answer = _thoughts_apart(text)
        self.answer, self.command = " ".join(answer.split()), ""
        for path, old, new in edits_in(answer):
            self.edits += 1
            identity = f"edit-{self.edits}"
            self.waiting.append((identity, path, old))
            given = {"path": path, "old_string": old, "new_string": new}
            parts.append(tool_call(identity, "edit", given))
        self.turns += 1
        return self._said(parts, cursor, model=self.model, cwd=self.cwd)


def _is_fence(text: str) -> bool:
    """Whether a line begins or ends a block of code, and not both."""
    found = _FENCE.match(text)
    return found is not None and not any(e in text[found.end() :] for e in _FENCE_ENDS)


def _statements(lines: list[str]) -> Iterator[str]:
    """What aider printed, each thing whole: the error of a commit, and the blocks that it could
    not apply, have several lines."""
    places = [[n for n, t in enumerate(lines) if t.startswith(e)] for e in _LAST_LINES]
    at = 0
    while at < len(lines):
        first, end = lines[at], at + 1
        if first.startswith(_NO_COMMIT):
            while end < len(lines) and not lines[end].startswith((_NO_COMMIT, *_AFTER_REPLY)):
                end += 1
                if lines[end - 1].endswith("'") and not "".join(
                    lines[end : end + 1]
                ).startswith("stderr: "):
                    break
        elif _UNMATCHED.match(first):
            after = ((place, bisect_right(place, at)) for place in places)
            end = next((place[n] for place, n in after if n < len(place)), at) + 1
        yield "\n".join(lines[at:end])
        at = end


def _answer_in(line: str) -> re.Match[str] | None:
    """The answer to a question of aider in a line that it printed; a line of more than
    `LONGEST_QUESTION` characters is none."""
    return _ANSWERED.match(line) if "?" in line and len(line) <= LONGEST_QUESTION else None


def _is_client_command(text: str) -> bool:
    word = text[1:].partition(" ")[0].strip()
    return text[:1] == "/" and word != "" and any(c.startswith(word) for c in _CLIENT_COMMANDS)


def _answers(part: int, lines: list[str]) -> tuple[rec.Typed, ...]:
    spans: list[rec.Typed] = []
    start = 0
    for line in lines:
        if found := _answer_in(line):
            a, b = found.span(found.lastgroup or 0)
            spans.append(rec.Typed(part, start + a, start + b, "answer"))
        start += len(line) + 1
    return tuple(spans)


def _goes_on(lines: list[str]) -> bool:
    """Whether aider was allowed to go on by itself, with nothing done after that."""
    for line in reversed(lines):
        if line.startswith(_AFTER_REPLY):
            return False
        found = _answer_in(line)
        if found is not None and _GOES_ON.match(line):
            return found[found.lastgroup or 0].lower() in {"y", "yes", "a", "all"}
    return False


def _thoughts_apart(text: str) -> tuple[list[rec.Part], str]:
    """A reply as words and thoughts in their order, and its words alone."""
    parts: list[rec.Part] = []
    words: list[str] = []
    position = 0
    for found in (*_THINKING.finditer(text), None):
        piece = text[position : found.start() if found else len(text)]
        if position or found:
            piece = piece.strip("\n")
        if piece:
            parts.append(rec.Text(piece))
            words.append(piece)
        if found:
            position = found.end()
            if thought := (found["tagged"] or found["titled"] or "").strip():
                parts.append(rec.Reasoning(thought))
    return parts, "\n\n".join(words)


def edits_in(text: str, path: str = "") -> list[tuple[str, str, str]]:
    """Path, old and new text of each SEARCH/REPLACE block in a reply; unfinished ones and those
    without a path left out. `path`: that of the first blocks, if none is named."""
    found: list[tuple[str, str, str]] = []
    before: list[str] = []
    texts: list[list[str]] = []  # the lines of the old text, and then of the new one
    for line in text.split("\n"):
        if len(texts) == 2 and _REPLACE.match(line):
            found.append((path, "".join(texts[0]), "".join(texts[1])))
            texts, before = [], []
        elif len(texts) == 1 and _MIDDLE.match(line):
            texts.append([])
        elif texts:
            texts[-1].append(f"{line}\n")
        elif _SEARCH.match(line):
            path = _path_before(before) or path
            texts = [[]]
        elif line.strip():
            before = [*before[-2:], line]
    return [edit for edit in found if edit[0]]


def _path_before(lines: list[str]) -> str:
    for line in reversed(lines):
        if _FENCE.match(line):
            continue
        name = line.strip().rstrip(":").lstrip("#").strip(" `*")
        return name if " " not in name and ("." in name or "/" in name) else ""
    return ""


def _number(text: str) -> int:
    """5.1k, 9,869 or 1.2M as a number."""
    factor = {"k": 1_000, "M": 1_000_000}.get(text[-1:], 1)
    try:
        return round(float(text.rstrip("kM").replace(",", "")) * factor)
    except (ValueError, OverflowError):
        return 0


def _detect(sample: Sample) -> bool:
    if sample.data.lstrip()[:1] in {b"{", b"["} or sample.binary:
        return False
    return _DETECT.search(sample.text) is not None


FORMAT = Format("aider", "text", AiderReader, _detect, several=True)
