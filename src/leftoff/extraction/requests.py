"""Extractor of the person's own words, with the agent's words that they answer."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from typing import ClassVar

from msgspec import Struct, field

from leftoff import lazy_re as re
from leftoff.extraction.evidence import Asked, Called, Evidence
from leftoff.extraction.extractor import CALL, RESULT, TEXT, TYPED, View
from leftoff.extraction.rule_sets import REQUEST_RULES
from leftoff.extraction.rules import SHORT_TEXT, Rule, ascii_gate, lowered
from leftoff.formats.injected import is_event, is_plan
from leftoff.formats.vocabulary import EDITS, argument, replaces_everywhere
from leftoff.model import Text, ToolCall, ToolResult, Typed
from leftoff.tables import table
from leftoff.text.truncation import ends, tail, whole

_RE = re.patterns(table(__file__, "patterns.toml")["requests"])

# Code points of the agent's last words that are searched for a question. Chosen by hand.
TAIL = 2000

# Code points of a report that are recorded. Chosen by hand: five findings with their places
# take 3,300.
MAX_REPORT = 4000

# Code points of the agent's last words that say whether it finished. Chosen by hand.
CLOSING = 700

# Code points; the question is recorded for typed words of at most so many, longer ones can be
# understood alone. Chosen by hand; not measured.
MAX_ANSWER = 400

# Code points of a question that are recorded.
MAX_QUESTION = 600

# Questions of one call that are remembered.
MAX_QUESTIONS = 16

# Words of an answer from which on it can be understood beside the topic of its question alone.
# Chosen by hand on 12 messages that were read.
WORDY = 3

# Letters and digits of a line that is looked for in the agent's words: shorter ones are said
# twice by chance. Chosen by hand.
MIN_ECHO = 25

# Tags that nothing closes, after which no others are looked for: each takes a look at the whole
# text. Chosen by hand.
MAX_UNCLOSED = 16

# Code points and line breaks of closing words that are a report, not a remark. Chosen by hand.
REPORT, REPORT_LINES = 300, 3

# What the agent said since its turn began: messages, and code points of each. Chosen by hand.
MAX_TRAIL, MAX_REMARK = 30, 240

# Addresses in the agent's words that are remembered, the last. Chosen by hand.
MAX_LINKS = 6


# Code points of the text of a plan or a ticket that are remembered. Chosen by hand; not
# measured.
MAX_TASK = 3000

# Code points from which on such a text may have been cut. Chosen by hand.
CUT_TASK = MAX_TASK * 4 // 5

# Writes of such a text that wait for their results: calls of one message. Chosen by hand.
MAX_PROPOSED = 4

# Old and new text of an edit that names neither: of several places, say.
_UNKNOWN_EDIT = ("\0", "")

_TASK_ENDINGS = (".md", ".mdx", ".txt", ".rst", ".org", ".adoc")


# The rules of `rules/requests.toml` by topic.
RULES: dict[str, tuple[Rule, ...]] = {
    topic: tuple(rule for rule in REQUEST_RULES if rule.topic == topic)
    for topic in dict.fromkeys(rule.topic for rule in REQUEST_RULES)
}


def matches(topic: str, text: str) -> bool:
    """Whether a rule of a topic matches the text."""
    gate = _gate(topic) if len(text) >= SHORT_TEXT else None
    if gate is not None and text.isascii() and not gate(text):
        return False
    low = lowered(text)
    for rule in RULES[topic]:
        if rule.finder(low if rule.ignore_case else text) is not None:
            return True
    return False


# Topics whose rules are tried at every place of a text, which takes `re` long.
_SEARCHED = frozenset({"announces", "casual", "objects", "unfinished", "wants"})


@cache
def _gate(topic: str) -> Callable[[str], list[int]] | None:
    if topic not in _SEARCHED:
        return None
    return ascii_gate((rule.pattern for rule in RULES[topic]), ignore_case=True)


class Requests(Struct):
    """Records every span that a person typed: prompts, queued prompts, words in a rejected
    call, answers to a question tool, slash commands with their arguments.

    Attributes:
        said, said_part: the agent's last words.
        stop: `Message.stop` of that message.
        tail: the end of these words; `closing`: their beginning and end.
        questions: those of the last call of a question tool without an answer so far.
        ends: how the agent's words end that no call has followed so far: plain | code |
            announcing | "" where a call or a prompt has.
        went_on, stopped: how often the agent, or the person, was next after such words.
        since: the prompt with which the agent's turn began, -1 before the first. One that
            interrupts it, or is put into it, begins none.
        report: the words with which the turn before that one ended, or what a notice of the
            client came behind, with their message; those of an earlier turn where these are
            only a `remark` and no file was edited in between.
        full: the last closing words that are more than a remark, until the next edit of a file.
        trail: what the agent said since, with the message.
        task: the plan or ticket that the agent last read or wrote: message, the call's name,
            its path or command, the start of the text.
        proposed: writes and edits of a task's file without a result so far: message, part, the
            text that is replaced, "" for all, the new text.
        links: the last addresses in the agent's words, with their message.
        gaps: messages in which the recorder left a call of the agent out."""

    name: ClassVar[str] = "requests"
    wants: ClassVar[int] = TYPED | TEXT | CALL | RESULT

    said: int = -1
    said_part: int = -1
    stop: str = ""
    tail: str = ""
    closing: str = ""
    questions: list[str] = field(default_factory=list)
    ends: str = ""
    went_on: dict[str, int] = field(default_factory=dict)
    stopped: dict[str, int] = field(default_factory=dict)
    since: int = -1
    report: tuple[int, str] = (-1, "")
    remark: tuple[int, str] = (-1, "")
    full: tuple[int, str] = (-1, "")
    trail: list[tuple[int, str]] = field(default_factory=list)
    task: tuple[int, str, str, str] = (-1, "", "", "")
    proposed: list[tuple[int, int, str, str]] = field(default_factory=list)
    links: dict[str, int] = field(default_factory=dict)
    gaps: list[int] = field(default_factory=list)

    def see(self, view: View) -> Iterable[Evidence]:
        message = view.message
        if message.origin == "agent" and message.role == "assistant":
            self._agent(view)
        for _, shown, call in view.tools:
            if type(shown) is not ToolResult:
                continue
            if self.proposed:
                self._written(call, shown.status)
            if shown.status in {"ok", "unknown"} and _shows_task(call):
                text = whole(shown.text, 2 * MAX_TASK).strip()
                # What begins in the middle of a document says neither what it is about nor why.
                if call.kind != "read" or _RE["start"].match(text):
                    text = _RE["number"].sub("", text)
                    self._remember(call.message, call.name, call.text, text)
        if message.typed:
            return self._typed(view)
        if message.origin == "injected":
            if self.ends and is_event(message.text):
                self._closed()
                if self.full[0] == self.said:  # what comes behind a notice may only answer it
                    self.report, self.remark = self.full, (-1, "")
            return _plan(view)
        return ()

    def _agent(self, view: View) -> None:
        """Takes up what the agent said and called in one message."""
        at, spoke, called = view.message.index, -1, -1
        self._closed()
        for number, text in view.texts:
            if text and not text.isspace():
                spoke, last = number, text
                if _has_gap(text):
                    self.gaps.append(at)
                if "://" in text:
                    self._linked(at, text)
                self.trail.append((at, whole(text, MAX_REMARK)))
        if spoke >= 0:
            self.said, self.said_part, self.tail = at, spoke, tail(last, TAIL)
            self.closing = ends(last, MAX_REPORT)
            del self.trail[:-MAX_TRAIL]
        for number, part, _ in view.tools:
            if type(part) is ToolCall:
                called = number
                if part.kind == "ask":
                    self.questions = _questions(part)
                elif part.kind in EDITS:
                    self.full = (-1, "")
                    self._propose(at, number, part)
        self.stop = view.message.stop
        if self.ends and (called >= 0 or spoke >= 0):
            self.went_on[self.ends] = self.went_on.get(self.ends, 0) + 1
        if called > spoke:
            self.ends = ""
        elif spoke >= 0:
            self.ends = _ending(self.tail)

    def _closed(self) -> None:
        """Takes up words that no call of the agent has followed, if they are a report."""
        if self.ends and len(self.tail) >= REPORT and self.tail.count("\n") >= REPORT_LINES:
            self.full = self.said, self.closing

    def _linked(self, at: int, text: str) -> None:
        # An address in a block of code is part of an example or of an output.
        for found in _RE["link"].finditer("\n".join(text.split("```")[::2])):
            link = found[0].rstrip(".,:;!?")
            if not link[-1].isalnum() and link[-1] != "/":
                continue  # a pattern: the rest stands for something
            self.links.pop(link, None)
            self.links[link] = at
        for link in list(self.links)[:-MAX_LINKS]:
            del self.links[link]

    def _propose(self, at: int, number: int, call: ToolCall) -> None:
        path, text = argument(call, "path"), argument(call, "content")
        if not isinstance(path, str):
            return
        old, new = argument(call, "old"), argument(call, "new")
        if isinstance(text, str):
            if _RE["task_file"].search(path):
                self.proposed.append((at, number, "", whole(text, 2 * MAX_TASK).strip()))
        elif path == self.task[2]:
            texts = _UNKNOWN_EDIT
            known = isinstance(old, str) and isinstance(new, str)
            if known and old and not replaces_everywhere(call):
                texts = whole(old, MAX_TASK), whole(new, MAX_TASK)
            self.proposed.append((at, number, *texts))
        del self.proposed[:-MAX_PROPOSED]

    def _written(self, call: Called, status: str) -> None:
        """What a call was to write stands in the file once its result says so."""
        for one in self.proposed:
            at, number, old, new = one
            if (at, number) != call.call:
                continue
            self.proposed.remove(one)
            text = self.task[3]
            # What is replaced may stand behind the end of a text that was cut.
            cut = old not in _UNKNOWN_EDIT and len(text) > CUT_TASK
            if status == "ok" and (not old or old in text):
                text = text.replace(old, new, 1) if old else new
                self._remember(at, call.name, call.text, text)
            elif status != "error" and not cut:
                self.task = (-1, "", "", "")  # it no longer says what the file says
            return

    def _remember(self, at: int, tool: str, words: str, text: str) -> None:
        if text and at >= 0 and text[0] not in "{[":
            self.task = (at, tool, whole(words, 200), whole(text, MAX_TASK))

    def unfinished(self) -> bool:
        """Whether the agent's last words say that something is not done, or wait."""
        return bool(self.tail) and matches("unfinished", self.tail[-CLOSING:])

    def _typed(self, view: View) -> Iterator[Evidence]:
        before: Typed | None = None
        for typed in view.message.typed:
            part = view.message.parts[typed.part]
            text: str = getattr(part, "text", "")
            words = text[typed.start : typed.end]
            if not words.strip():
                continue
            ref = view.text_ref(typed.part, typed.start, typed.end)
            question = option = ""
            if typed.via == "answer":
                known = self.questions.pop(0) if self.questions else ""
                if type(part) is ToolResult:
                    start = before.end if before and before.part == typed.part else 0
                    question = _quoted_question(text[start : typed.start]) or known
                else:
                    question = known or _question_on_line(text, typed.start)
            elif len(words) <= MAX_ANSWER and self.tail:
                question = last_question(self.tail)
                option = option_text(self.tail, words)
            yield Asked(
                ref,
                words,
                typed.via,
                self.said,
                self.said_part,
                question,
                option,
                self.unfinished(),
                _echoed(words, self.tail),
                self.ends == "announcing",
                answered_parts(words, self.tail, question) if self.tail else (),
                declined(self.tail),
            )
            before = typed
        if any(typed.via == "prompt" for typed in view.message.typed):
            self.questions = []
            if self.ends or self.since < 0:
                self.since = view.message.index
                self._closed()
                self.report = (self.said, self.closing) if self.ends else (-1, "")
                self.remark = (-1, "")
                if -1 < self.full[0] < self.report[0]:
                    self.report, self.remark = self.full, self.report
                self.trail = []
            if self.ends:
                self.stopped[self.ends] = self.stopped.get(self.ends, 0) + 1
            self.ends = ""


def _echoed(words: str, tail: str) -> tuple[tuple[int, int], ...]:
    """The lines of typed words that the person copied from the agent's; none of a single line,
    which picks what it repeats."""
    lines = list(re.finditer(r"\S[^\n]*", words)) if len(words) > MIN_ECHO else []
    if len(lines) < 2 or not tail:
        return ()
    said = _letters(tail)
    plain = ((line, _letters(line[0])) for line in lines)
    return tuple(line.span() for line, text in plain if len(text) >= MIN_ECHO and text in said)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()


def is_pasted(asked: Asked, start: int, end: int) -> bool:
    """Whether a part of typed words was written by another author, as far as its form says."""
    for spans in (asked.echoed, _blocks(asked.text)):
        at = bisect_right(spans, (start, 1 << 62)) - 1
        if at >= 0 and end <= spans[at][1]:
            return True
    return False


@lru_cache(maxsize=16)
def _blocks(text: str) -> tuple[tuple[int, int], ...]:
    """The quotations in a prompt, and what stands between tags that name a thing of others."""
    found: list[tuple[int, int]] = []
    end, unclosed = 0, 0
    for block in _RE["block"].finditer(text):
        if block.start() < end or block["tag"] and unclosed >= MAX_UNCLOSED:
            continue
        close = text.find(f"</{block['tag']}>", block.end()) if block["tag"] else block.end()
        if close < 0:
            unclosed += 1
            continue
        end = close
        found.append((block.start(), end))
    return tuple(found)


def _shows_task(call: Called) -> bool:
    if call.kind == "read":
        named = call.text.rstrip("\n").lower().endswith(_TASK_ENDINGS)
        return named and _RE["task_file"].search(call.text) is not None
    if call.kind in {"shell", "powershell"}:
        low = call.text.lower()
        named = "show" in low or "view" in low or low.startswith(("cat ", "head "))
        return named and _RE["task_command"].search(call.text) is not None
    return _is_task_tool(call.name)


@lru_cache(maxsize=1024)
def _is_task_tool(name: str) -> bool:
    return _RE["task_tool"].search(name) is not None


def _plan(view: View) -> list[Evidence]:
    """An accepted plan that the client hands to the agent."""
    return [
        Asked(view.text_ref(number, 0, len(part.text)), part.text, "plan")
        for number, part in enumerate(view.message.parts)
        if type(part) is Text and is_plan(part.text)
    ]


def _questions(call: ToolCall) -> list[str]:
    asked: object = argument(call, "questions")
    found: list[str] = []
    for one in asked if isinstance(asked, list) else [asked]:
        words = one
        if isinstance(one, dict):
            words = one.get("question") or one.get("prompt") or one.get("header")
        if isinstance(words, str) and words.strip():
            found.append(whole(words.strip(), MAX_QUESTION))
    return found[:MAX_QUESTIONS]


def _quoted_question(before: str) -> str:
    """The question in front of an answer where a recorder writes `"question"="answer"`."""
    found = _RE["quoted"].search(before.lstrip('"')[-MAX_QUESTION - 200 :])
    if found is None:
        return ""
    words = found[1]
    if '", "' in words:  # after what the recorder adds to the answer before
        words = words.rsplit('", "', 1)[1]
    return whole(words.strip().lstrip('", '), MAX_QUESTION)


def _has_gap(text: str) -> bool:
    """Whether nothing stands in a block of code or between two rules: SpecStory leaves out the
    edits of some clients so."""
    if "\n---\n\n" in text and _RE["empty"].search(text):
        return True
    blocks = text.split("```")[1::2] if "\n```" in text else ()
    return any(_RE["blank"].fullmatch(block) for block in blocks)


def _ending(tail: str) -> str:
    """How words end: announcing | code | plain."""
    if tail.rstrip().endswith("```"):
        return "code"
    return "announcing" if announces(tail) else "plain"


def declined(tail: str) -> str:
    """What the agent's words say that it cannot or will not do, "" if they do not, or speak of
    what it did, too."""
    found = _RE["declines"].search(tail)
    return found[found.lastindex or 0] if found and not _RE["did"].search(tail) else ""


def announces(tail: str) -> bool:
    """Whether words end by saying what their speaker does next."""
    line = tail.rstrip().rsplit("\n", 1)[-1][-400:]
    return bool(line) and matches("announces", _RE["before_last"].sub("", line, 1))


def _question_on_line(text: str, end: int) -> str:
    """The question in front of an answer on its line, as aider writes it."""
    line = text[text.rfind("\n", 0, end) + 1 : end]
    return line[: line.rfind("?") + 1].strip()[:MAX_QUESTION]


_MARKS = " \t*_`>#|"


def last_question(tail: str) -> str:
    """The question with which the agent's words end, "" if they do not end with one.

    It stands in the last line, or in the line before a list of options; of that line, the
    sentences from the first question mark's on."""
    lines = [line for line in tail.split("\n") if line.strip(_MARKS + "-=")]
    if not lines:
        return ""
    place = len(lines) - 1
    if not matches("question", lines[place]) and "?" not in lines[place]:
        while place > 0 and len(lines) - place <= 9 and _RE["item"].match(lines[place]):
            place -= 1
        if place == len(lines) - 1 or _RE["item"].match(lines[place]):
            return ""
    line = lines[place].strip(_MARKS)
    if "?" not in line and not matches("question", line):
        return ""
    at = line.rfind("?")
    if at >= 0 and len(line) - at > 160:  # chosen by hand: much follows, so it is no question
        return ""
    if at >= 0 and _RE["answered"].match(line, at + 1):
        return ""
    asked = line if at < 0 else line[: at + 1]
    # The sentence of the question, with one before it where it is short ("Ok?").
    starts = [m.end() for m in re.finditer(r"[.!?:—]\s+(?=\S)", asked[:-1])]
    starts = [s for s in starts if len(asked) - s >= 15]
    asked = asked[starts[-1] if starts else 0 :].strip(" \t*_>#|")
    whole = asked.removesuffix("`") if asked.count("`") % 2 else asked
    return whole[:MAX_QUESTION]


def answered_parts(
    words: str, tail: str, question: str
) -> tuple[tuple[int, int, str, str], ...]:
    """The parts of typed words that answer the agent's numbered questions number by number, or
    the first sentence if it only names an option."""
    said = list(_RE["numbered"].finditer(words))
    if len(said) < 2:
        first = _RE["picks"].match(words)
        option = option_text(tail, first[0]) if first else ""
        return ((*first.span(), question, option),) if first and option else ()
    asked: dict[int, str] = {}
    for item in _RE["numbered"].finditer(tail):
        if int(item[1]) <= max(asked, default=0):
            asked.clear()  # another list
        if not asked and _RE["offers"].search(tail, 0, item.start()):
            return ()
        asked[int(item[1])] = item[2]
    numbers = [int(item[1]) for item in said]
    # The first ones may stand before the end of the words that is kept.
    known = asked.keys() | set(range(1, min(asked, default=0)))
    if numbers != sorted(set(numbers) & known) or _RE["headed"].search(
        words, 0, said[0].start()
    ):
        return ()
    about = {number: _long_words(one) for number, one in asked.items()}
    for number, item in zip(numbers, said, strict=True):
        common = {at: len(about[at] & _long_words(item[2])) for at in about}
        if max(common.values(), default=0) > 1 and not common.get(number):
            return ()  # numbers of the person's own
    found: list[tuple[int, int, str, str]] = []
    for number, item in zip(numbers, said, strict=True):
        answer, _, below = item[2].partition("\n")
        if len(answer) > MAX_ANSWER or _RE["below"].match(below):
            continue
        if _RE["asks_for_a_choice"].match(asked.get(number, "")):
            start = item.start(2)
            about_what = _question_of_item(asked[number], answer)
            found.append((start, start + len(answer), about_what, ""))
    return tuple(found)


def _long_words(text: str) -> set[str]:
    return {word for word in _letters(text).split() if len(word) > 3}


def _question_of_item(item: str, answer: str) -> str:
    """The first line of an item, without what follows its question; of an answer that says
    more than "both", what the line begins with in bold."""
    head = _RE["bold"].match(item)
    if head and len(answer.split()) >= WORDY:
        return head[1].strip(_MARKS + ":")
    line = item.split("\n", 1)[0].replace("**", "").replace("__", "")
    asked = _RE["closed_question"].match(line)
    return (asked[0] if asked else line).strip(_MARKS + ":")[:MAX_QUESTION]


def option_text(tail: str, words: str) -> str:
    """The agent's words for the option that a short answer names by letter or number, "" if
    the answer names none or the agent's words list none under that label."""
    found = _RE["label"].match(words.strip())
    if found is None:
        return ""
    label = re.escape(found[1])
    listed = re.findall(
        rf"^[\s>#*_|-]*(?:(?:option|choice|approach|plan|variant)\s+)?[(\[]?{label}[)\]]?"
        rf"(?:\*\*|__)?\s*[.):|—–-]+(?:\*\*|__)?\s*(\S.*)$",
        tail,
        re.IGNORECASE | re.MULTILINE,
    )
    plain = str(listed[-1]).replace("**", "").replace("__", "") if listed else ""
    return plain.strip(_MARKS.replace("`", ""))[:MAX_QUESTION]
