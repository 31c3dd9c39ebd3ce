"""Text that recorders insert into user messages, and the spans that a person typed.

Reminders, hook output, slash-command markup and notices of background tasks are all recorded as
user messages; the rest of a message was typed."""

from collections.abc import Iterable, Iterator

from leftoff import lazy_re as re
from leftoff.formats.openai_parts import trim_span
from leftoff.formats.vocabulary import KINDS
from leftoff.model import Part, Text, Typed

_TAGS = (
    "task-notification|agent-notification|command-name|command-message"
    "|local-command-stdout|local-command-stderr|local-command-caveat|bash-input|bash-stdout|bash-stderr|system-reminder|ide_opened_file"
    "|ide_selection|ide_diagnostics|new-diagnostics|user-prompt-submit-hook|session-start-hook"
    "|environment_context|environment_details|user_instructions|INSTRUCTIONS|turn_aborted"
    "|recommended_plugins|subagent_notification|permissions instructions|collaboration_mode"
    "|personality_spec|skill|skills_instructions|apps_instructions|plugins_instructions"
    "|session_context|state_snapshot|external_links|available_skills|user_shell_command"
    "|teammate-message|channel-message|agent_message|model_switch|codex_internal_context"
    "|hook_context|loaded_context|leftoff|user_action|goal_context|hook_prompt"
)
_LEADING = re.compile(rf"\s*<({_TAGS})\b")
_OPENING = re.compile(
    r"<(?:(system-reminder|ide_opened_file|ide_selection|external_links|environment_details"
    r"|hook_context|loaded_context|system_notification|timestamp|leftoff)\b"
    r"[^>]{0,500}|!-- leftoff:([^\n<>]{1,300}?) ?--)>"
)
# A notice of Claude Code that a job in the background has ended.
JOB_ENDED = re.compile(
    r"<task-id>\s*([\w.-]+)\s*</task-id>(?:(?!<task-id>)[\s\S]){0,1000}?"
    r"<status>(?!running|pending)"
)

# The text before and after the task in prompts that benchmarks build around it.
_TASKS = (
    ("ISSUE:\n", "\nINSTRUCTIONS:"),
    *(
        (f"<{tag}>\n", f"\n</{tag}>")
        for tag in ("pr_description", "issue_description", "problem_statement", "issue")
    ),
    ("The description is:\n", "\nINSTRUCTIONS:"),
    ("\nTask Description:\n", "\n\nCurrent terminal state:"),
)
# Such a prompt begins with the folder of a repository, or with a worked example: a whole
# conversation, with calls that were not made.
_BUILT = re.compile(
    r"\s*<uploaded_files>[^<]{0,2000}</uploaded_files>\s*"
    r"|[\s\S]{0,500}?-- START OF EXAMPLE --[\s\S]*?-- END OF EXAMPLE --[-\s]*"
)

# leftoff's own text before a prompt: a checkpoint's block, up to the first line that continues
# with the prompt; a resume log; a resume message. None of it was typed.
CONTINUES = "Continue task: "
_CHECKPOINT = re.compile(
    r"\s*\[Context Checkpoint: [^\]\n]*\]\r?\nIteration: -?\d+\r?\nProgress Summary:\r?\n"
)
_CONTINUES = re.compile(rf"(?m)^{CONTINUES}")
_OWN_DOCUMENT = re.compile(
    r"\s*(?:# Session Resume Log: |WORKFLOW RESUME CONTEXT - CONTINUE FROM WHERE YOU LEFT OFF)"
)
_AGENTS_FILE = re.compile(r"\s*# (?:AGENTS|CLAUDE|GEMINI)\.md instructions\b")
# A client's buttons and notices, the body of a skill that it loads, and a plan that it hands
# back after the person accepted it: none of it was typed.
_NOT_TYPED = re.compile(
    r"\s*(?:@agent Try Again\s*\Z|@\w+(?: /\w+)? [^:\"\n]{1,60}: \"[^\"\n]{1,200}\"\s*\Z"
    r"|Base directory for this skill: |Stop hook feedback:"
    r"|Implement the plan as specified, it is attached for your reference\."
    r"|Implement the following plan:[ \t]*\r?\n\s*# "
    r"|\[Terminal \S+ notification: |(?:\[Image: source: [^\]\n]*\]\s*)+\Z"
    # Cursor's own request when a job in the background has ended.
    r"|Briefly inform the user about the task result and perform any follow-up actions\b"
    r"|The beginning of the above subagent result is already visible to the user\b"
    # What OpenClaw sends by the clock, at the start of a session and before a compaction.
    r"|Read HEARTBEAT\.md if it exists|\[OpenClaw heartbeat poll\]|\[cron:[\w-]+ "
    r"|A new session was started via /new|Pre-compaction memory flush\."
    # What Codex tells the model in the person's place, and what asks an agent to go on.
    r"|Warning: (?:The maximum number of unified exec processes|Your account was flagged for)"
    r"|Warning: apply_patch was requested via|System: Please continue\.\s*\Z"
    r"|Another language model started to solve this problem and produced a summary"
    r"|Please continue working on the task on whatever approach you think is suitable\."
    r"|/(?:exit|quit)\s*(?:⎿[^\n]*)?\s*\Z)"
)
_PLAN = re.compile(r"\s*Implement the following plan:[ \t]*\r?\n")
_IDE_CONTEXT = re.compile(
    r"\s*# Context from my IDE setup:[ \t]*\r?\n"
    r"(?:.*?^## My request for Codex:[ \t]*\r?\n|.*\Z)",
    re.DOTALL | re.MULTILINE,
)
# What programs that build prompts put before the words: the heading of a field, as DSPy writes
# it, and the marks of who speaks, of which the last one is the person's.
_FIELD = re.compile(
    r"\s*\[\[ ## \w{1,60} ## \]\]\s*(?:@\[\w{1,20}\]:[\s\S]*@\[User\]:\s*|@\[User\]:\s*)?"
)
# OpenClaw puts events, facts of the chat and the time before the words, and an id behind them.
_CHAT = re.compile(
    r"(?:System(?: \(untrusted\))?: \[\d{4}-\d\d-\d\d(?:(?!\n\s*\n)[\s\S]){0,20000}\s*"
    r"|[A-Z][\w ,]{2,60} \(untrusted[^)\n]{0,40}\):\n```json\n"
    r"(?:(?!\n```)[\s\S]){0,20000}\n```\s*"
    r"|\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d [^\]\n]{1,20}\] ?)+"
)
_CHAT_ID = re.compile(r"\[message_id: [^\]\n]{1,200}\]\s*\Z")
# Cursor wraps the person's words in a tag, beside its own context in others.
_QUERY = re.compile(r"<user_query>(.*?)(?:</user_query>|\Z)", re.DOTALL)
# A command of Cursor: its name was chosen by the person, its body stands in a file.
_CURSOR_COMMAND = re.compile(
    r"(?m)^--- Cursor Command: ([^\n]*?) ---[ \t]*\r?$.*?(?:^--- End Command ---[ \t]*\r?$|\Z)",
    re.DOTALL,
)
_COMMAND = re.compile(
    r"\s*(?:<command-message>[^<]*</command-message>\s*)?"
    r"<command-name>\s*/?(?P<name>[^<\s]+)\s*</command-name>\s*"
    r"(?:<command-message>[^<]*</command-message>\s*)?"
    r"(?:<command-args>(?P<arguments>.*?)</command-args>\s*)?",
    re.DOTALL,
)
_CLIENT_COMMANDS = KINDS["client_commands"]
_ARGUMENTS = re.compile(r"<command-args>(.+?)</command-args>", re.DOTALL)
_INTERRUPTED = re.compile(r"\s*\[Request interrupted by user[^\]]*\]\s*$")
_CONTINUED = re.compile(
    r"\s*(?:This session is being continued from a previous conversation"
    r"|The conversation is summarized below:)"
)


def is_plan(text: str) -> bool:
    """Whether a text hands an accepted plan to the agent: the agent's words from before, and
    the task now."""
    return _PLAN.match(text) is not None


def is_event(text: str) -> bool:
    """Whether an inserted text is a plan, or a notice about a job in the background."""
    return text.startswith("<system_notification>") or "<task-id>" in text or is_plan(text)


def is_interruption(text: str) -> bool:
    """Whether the text is the recorder's mark of an interruption."""
    return text.startswith("[") and _INTERRUPTED.match(text) is not None


def is_continuation(text: str) -> bool:
    """Whether the text opens as a compaction summary does."""
    return _CONTINUED.match(text) is not None


def block_end(text: str, start: int = 0) -> int:
    """Start of the prompt in a text with a checkpoint's block at `start`.

    Returns `start` if there is no such block, and the length of the text if the block was cut.
    """
    opening = _CHECKPOINT.match(text, start)
    if opening is None:
        return start
    closing = _CONTINUES.search(text, opening.end())
    return closing.end() if closing else len(text)


def typed_spans(part: int, text: str, via: str = "prompt") -> tuple[Typed, ...]:
    """The spans of `text` that a person typed, as far as the markup shows.

    The names of Cursor's commands and the arguments of slash commands are typed (`via`
    "command"); their markup and bodies are not."""
    if _NOT_TYPED.match(text):
        return ()
    if "<user_query>" in text and text.lstrip().startswith("<"):
        queries = [trim_span(text, *found.span(1)) for found in _QUERY.finditer(text)]
        return tuple(
            Typed(part, start, end, via)
            for start, end in queries
            if start < end and not _NOT_TYPED.match(text[start:end])
        )
    context = _IDE_CONTEXT.match(text) if "# Context from my IDE" in text else None
    context = context or (_FIELD.match(text) if "[[ ## " in text[:200] else None)
    context = context or _CHAT.match(text)
    if context is None and (context := _BUILT.match(text)) is not None:
        task = task_span(text)
        if task is not None:
            return (Typed(part, *task, via),)
    if context is None:
        return _spans(part, text, via)
    start = context.end()
    if _NOT_TYPED.match(text, start):
        return ()
    place = text.rfind("[message_id: ", start)
    if place >= 0 and _CHAT_ID.match(text, place):
        text = text[:place].rstrip()
    return shifted(_spans(part, text[start:], via), start)


def _spans(part: int, text: str, via: str) -> tuple[Typed, ...]:
    if "--- Cursor Command: " in text:
        commands = list(_CURSOR_COMMAND.finditer(text))
        if commands:
            names = (Typed(part, *found.span(1), "command") for found in commands)
            around = spans_around((found.span() for found in commands), text, part, via)
            return tuple(sorted((*around, *names), key=lambda span: span.start))
    if "<" in text or text.startswith(("[", "#", " ", "\n", "Caveat:", "WORKFLOW RESUME")):
        return _parse_spans(part, text, via)
    return (Typed(part, 0, len(text), via),) if text and not text.isspace() else ()


def task_span(text: str) -> tuple[int, int] | None:
    """Where the task stands in a prompt that a benchmark built around it; None where no such
    text is known around it."""
    first, last, found = 0, len(text), None
    end = text.rfind(" END OF NEW TASK")
    start = text.rfind(" NEW TASK DESCRIPTION -", 0, end if end >= 0 else last)
    if start >= 0 and (line := text.find("\n", start)) >= 0:
        body = text[line : end if end >= 0 else last].rstrip("- \n")
        first, last = found = trim_span(text, line, line + len(body))
    for before, after in _TASKS:
        start = text.find(before, first, last)
        end = text.find(after, start + len(before), last) if start >= 0 else -1
        if end >= 0:
            span = trim_span(text, start + len(before), end)
            if span[1] > span[0]:
                return span
    return found


def task_spans(text: str) -> tuple[Typed, ...]:
    """The typed spans of a first prompt: the task in it, where a benchmark built it."""
    task = task_span(text)
    return typed_spans(0, text) if task is None else (Typed(0, *task),)


def typed_parts(parts: Iterable[Part]) -> tuple[Typed, ...]:
    """The typed spans of all texts of a message."""
    spans: tuple[Typed, ...] = ()
    for number, part in enumerate(parts):
        if type(part) is Text:
            spans += typed_spans(number, part.text)
    return spans


def answer_spans(
    answers: Iterable[object],
    text: str,
    part: int,
    before: str,
    after: str = "",
    position: int = 0,
) -> tuple[Typed, ...]:
    """Where a person's answers to an agent's questions stand in the text of a result, from a
    position on, each between two marks. An answer may be a list of several; those that the
    client joined with commas are one."""
    spans: list[Typed] = []
    for answer in answers:
        several = answer if isinstance(answer, list) else [answer]
        joined = ",".join(map(str, several))
        for words in [joined] if f"{before}{joined}{after}" in text else several:
            at = text.find(f"{before}{words}{after}", position) if words else -1
            if isinstance(words, str) and at >= 0:
                start = at + len(before)
                position = start + len(words)
                spans.append(Typed(part, start, position, "answer"))
    return tuple(spans)


def slash_command(text: str, part: int = 0) -> tuple[str, tuple[Typed, ...]] | None:
    """The markup of a slash command as it was typed, its name before its arguments, and the
    span that a person typed; None for any other text."""
    found = _COMMAND.fullmatch(text) if "<command-name>" in text else None
    if found is None:
        return None
    arguments = (found["arguments"] or "").strip()
    shown = f"/{found['name']} {arguments}".rstrip()
    return shown, () if is_button(shown) else (Typed(part, 0, len(shown), "command"),)


def is_button(words: str) -> bool:
    """Whether typed words are nothing but a command that the client carries out itself."""
    return is_client_command(words) and len(words.split()) == 1


def is_client_command(words: str) -> bool:
    """Whether typed words begin with such a command: no agent answers it."""
    command = words.split(None, 1)[0] if words.strip() else ""
    return command[:1] == "/" and command[1:] in _CLIENT_COMMANDS


def sent_by(text: str) -> tuple[str, tuple[Typed, ...]]:
    """Origin and typed spans of a message in the person's place that is one text."""
    if is_interruption(text):
        return "interruption", ()
    if is_continuation(text):
        return "compaction", ()
    typed = typed_spans(0, text)
    return "prompt" if typed else "injected", typed


def shifted(spans: Iterable[Typed], by: int) -> tuple[Typed, ...]:
    """The spans of a text that stands so many code points further on in its part."""
    return tuple(Typed(s.part, s.start + by, s.end + by, s.via) for s in spans)


def spans_around(
    blocks: Iterable[tuple[int, int]], text: str, part: int, via: str = "prompt", start: int = 0
) -> tuple[Typed, ...]:
    """The typed spans of a text outside some blocks of it, from a position on. What is left of
    a prompt in front of a block ends with the line."""
    spans: list[Typed] = []
    for begins, ends in (*blocks, (len(text), len(text))):
        spans += shifted(typed_spans(part, text[start:begins].rstrip(), via), start)
        start = max(start, ends)
    return tuple(spans)


def _marked_blocks(text: str) -> Iterator[tuple[int, int]]:
    position = 0
    unclosed: set[str] = set()
    # Bounds the work on hostile text; real messages have a few unclosed marks at most.
    while len(unclosed) < 64 and (opening := _OPENING.search(text, position)) is not None:
        closing = f"</{opening[1]}>" if opening[1] else f"<!-- /leftoff:{opening[2]} -->"
        position = opening.end()
        # A mark without an end here has none further on either.
        end = -1 if closing in unclosed else text.find(closing, position)
        if end < 0:
            unclosed.add(closing)
        else:
            position = end + len(closing)
            yield opening.start(), position


def _parse_spans(part: int, text: str, via: str) -> tuple[Typed, ...]:
    if is_interruption(text) or _AGENTS_FILE.match(text) or text.startswith("Caveat: The mes"):
        return ()
    if _OWN_DOCUMENT.match(text):
        return ()
    prompt_start = block_end(text)
    if prompt_start:
        while (further := block_end(text, prompt_start)) > prompt_start:
            prompt_start = further  # several blocks in a row
        return shifted(_spans(part, text[prompt_start:], via), prompt_start)
    spans: list[Typed] = []
    position = 0
    for end, after in (*_marked_blocks(text), (len(text), len(text))):
        start, position = position, after
        piece = text[start:end]
        if not piece.strip():
            continue
        if _LEADING.match(piece):
            if arguments := _ARGUMENTS.search(piece):
                first, last = arguments.span(1)
                spans.append(Typed(part, start + first, start + last, "command"))
            break  # the recorder's markup fills the rest of such a block
        leading = len(piece) - len(piece.lstrip())
        trailing = len(piece.rstrip())
        spans.append(Typed(part, start + leading, start + trailing, via))
    return tuple(spans)


# -- pasted transcripts --------------------------------------------------------------------

# Terminal clients draw their steps with bullets and corners (`• Ran ls`, `⎿ 12 files`). Between
# the first and the last of such lines of a pasted transcript stand another agent's words, its
# tools' output and prompts typed elsewhere; none of it was typed here.
_BULLET = re.compile(r"[•⏺●✻✶❯›] \S")
_CORNER = re.compile(r"\s{0,8}[⎿└][ \xa0]{0,2}\S")
_RULE = re.compile(r"[─━]{20,}")


def transcript_span(text: str) -> tuple[int, int] | None:
    """Where a pasted transcript begins and ends in a text; None if it holds none.

    A transcript has at least two bullets and a corner between its first and last line, which
    lists that people write by hand lack. It goes on over indented and blank lines after the
    last mark, and begins earlier if indented paragraphs stand before the first one."""
    if "⎿" not in text and "└" not in text:
        return None
    lines = text.splitlines(keepends=True)
    marks = [i for i, line in enumerate(lines) if _BULLET.match(line) or _CORNER.match(line)]
    bullets = [i for i in marks if _BULLET.match(lines[i])]
    if len(bullets) < 2 or len(marks) == len(bullets):
        return None
    first, last = marks[0], marks[-1]
    while first and _continues(lines[first - 1]):
        first -= 1
    while first < marks[0] and not lines[first].strip():
        first += 1
    last += 1
    while last < len(lines) and (_continues(lines[last]) or _RULE.match(lines[last])):
        last += 1
    return sum(map(len, lines[:first])), sum(map(len, lines[:last]))


def _continues(line: str) -> bool:
    return not line.strip() or line[:1] in " \t"
