"""Context dumps: the markdown written when a window runs out, by the agent or generated.

A dump goes into a marked section of `project.md`, with details in `{specific_project}.md`. A
later dump of the same task and capacity replaces the section; other text stays unchanged."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from leftoff import lazy_re as re
from leftoff.budget.tasks import CheckpointMetadata
from leftoff.budget.thresholds import thousands
from leftoff.handover.checkpoint.document import ContextCheckpoint, path_component
from leftoff.handover.checkpoint.from_summary import (
    CheckpointSource,
    blockers,
    remaining,
    state_text,
)
from leftoff.handover.checkpoint.prompt_log import PromptLogEntry, ValidationResult
from leftoff.handover.checkpoint.roles import Role
from leftoff.handover.checkpoint.templates import TEMPLATES, Level, fill_placeholders
from leftoff.handover.lines import FILES, MIDDLE, parts, words_of
from leftoff.handover.packing import Chosen, Line, Part, pack
from leftoff.handover.value import Value
from leftoff.handover.wording import brief, inline, inline_code, outcome_text
from leftoff.text.sanitize import clean
from leftoff.text.truncation import truncate

# Code points of an agent's dump; a longer one is refused.
MAX_DUMP_LENGTH = 256 * 1024
# Tokens of a generated dump, by capacity. Chosen by hand: the design asks for high-level work
# at 90 %, for complete lists at 95 % and for the absolute minimum at 98 %.
BUDGETS = {"90": 4_000, "95": 16_000, "98": 1_000}

# Letters and digits of a dump; fewer are a heading alone or "Done.". Chosen by hand.
_MIN_CHARACTERS = 40
# Lines of a diff in the section: as many as of the history, `max_history_lines`.
_DIFF_LINES = 500


class Dump(Value, frozen=True, kw_only=True):
    """One file and the section that goes into it."""

    path: str
    section: str
    content: str

    @property
    def text(self) -> str:
        """Its heading and what stands below it."""
        return f"{self.section}\n{self.content}"


class ContextDumpPayload(Value, frozen=True, kw_only=True):
    """What a checkpoint writes into the two files; `specific_project_md` is empty at 98 %."""

    project_md: Dump
    specific_project_md: Dump
    checkpoint_metadata: CheckpointMetadata

    @property
    def pages(self) -> tuple[Dump, ...]:
        """The sections that there are."""
        both = (self.project_md, self.specific_project_md)
        return tuple(page for page in both if page.section)


# -- asking ----------------------------------------------------------------------------------


def instruction(
    checkpoint: ContextCheckpoint, asks: str, paths: Sequence[str], role: Role | None = None
) -> str:
    """The instruction to the agent to write a dump into `paths`: what the threshold asks, and
    what a dump in its role has to speak of."""
    level = TEMPLATES.for_capacity(checkpoint.capacity_threshold)
    lines = [asks, fill_placeholders(TEMPLATES.ask, {"paths": " and ".join(paths)})]
    if role is not None:
        if role.instruction:
            lines.append(role.instruction)
        if role.checkpoint_sections:
            named = ", ".join(role.checkpoint_sections)
            lines.append(fill_placeholders(TEMPLATES.ask_sections, {"sections": named}))
    return "\n".join([*lines, "", fill_placeholders(level.dump, _figures(checkpoint))]) + "\n"


def _figures(checkpoint: ContextCheckpoint) -> dict[str, str]:
    tokens = checkpoint.tokens
    return {
        "timestamp": checkpoint.created_at,
        "task_id": inline(checkpoint.task_id),
        "provider": inline(checkpoint.provider_name),
        "remaining": thousands(max(0, tokens.remaining)),
        "consumed": thousands(tokens.consumed),
        "total": thousands(tokens.total_allocated),
        "N": str(checkpoint.execution_state.iteration),
    }


def rejection_reason(text: str, capacity: str) -> str:
    """Why a text is not a valid dump of this level; "" if it is one."""
    level = TEMPLATES.for_capacity(capacity)
    if len(text) > MAX_DUMP_LENGTH:
        return f"it has more than {MAX_DUMP_LENGTH:,} characters"
    if sum(c.isalnum() for c in text) < _MIN_CHARACTERS:
        return "it is nearly empty"
    if any("{" + place + "}" in text for place in level.placeholders):
        return "it is the form, not filled in"
    folded = [line.strip("#*: \t").casefold() for line in text.splitlines()]
    if not any(line.startswith(h.casefold()) for h in level.headings for line in folded):
        return "it has none of the headings that were asked for"
    return ""


def neutralized(text: str) -> str:
    """An agent's markdown that can stand in a section: no marker, no fence left open."""
    lines = clean(text).replace("<!--", "‹!--").replace("-->", "--›").strip("\n")
    return truncate(lines, MAX_DUMP_LENGTH + 16)


# -- generating ------------------------------------------------------------------------------


def build_payload(
    checkpoint: ContextCheckpoint,
    source: CheckpointSource,
    paths: tuple[str, str],
    *,
    written: str = "",
    details: str = "",
    note: str = "",
) -> ContextDumpPayload:
    """The sections of a checkpoint.

    Args:
        paths: the project's file and the task's, as the task sees them (`dump_paths`).
        written, details: what the agent wrote for the two files; ours where it is "".
        note: a line before the content, "" for none."""
    facts, state, action = source.facts, checkpoint.execution_state, checkpoint.next_action
    level = TEMPLATES.for_capacity(checkpoint.capacity_threshold)
    figures = _figures(checkpoint)
    names = {
        **figures,
        "summary": state_text(facts),
        "count": str(len(facts.files) or len(state.files_created) + len(state.files_modified)),
        f"content from /tmp/context-dump-{level.capacity}.md": neutralized(written)
        or _generated_dump(level, checkpoint, source),
    }
    heading, _, body = fill_placeholders(level.project, names).partition("\n")
    if action.type != "continue":
        who = action.next_provider or action.next_role
        step = f"{action.type}: {inline(who)}" if who else action.type
        body = body.replace(f"Continue with {figures['provider']}", step, 1)
    if note:
        body = f"({note})\n\n{body}"
    path, top, rest = "", "", ""
    if level.specific:
        text = neutralized(details) or _details(checkpoint, source)
        name = "detailed content including git diff, full file list, validation details"
        top, _, rest = fill_placeholders(level.specific, {name: text}).partition("\n")
        path = paths[1]
    return ContextDumpPayload(
        project_md=Dump(path=paths[0], section=heading, content=body),
        specific_project_md=Dump(path=path, section=top, content=rest),
        checkpoint_metadata=checkpoint.metadata,
    )


def _generated_dump(
    level: Level, checkpoint: ContextCheckpoint, source: CheckpointSource
) -> str:
    """A dump made of the recording, in the form of its level."""
    figures = _figures(checkpoint)
    items = _items(checkpoint, source)
    # Files and open work are in several places of a form: none takes more than its share.
    names = dict.fromkeys(level.placeholders)
    share = 1 / max(1, len(names))
    wanted = [Part(name, _lines(items[name]), share, share) for name in names]

    def render(chosen: Sequence[Chosen]) -> str:
        filled = {part.title: _listed(part) for part in chosen}
        steps = [line for part in chosen if part.title == "step" for line, _ in part.lines]
        lines: list[str] = []
        for line in level.dump.splitlines():
            if not line.endswith(". {step}"):
                lines.append(fill_placeholders(line, {**figures, **filled}))
            elif steps:
                lines.append(line.replace("{step}", steps.pop(0).removeprefix("- ")))
            elif line.startswith("1."):
                lines.append("- none known")
        return "\n".join(lines)

    budget = BUDGETS[level.capacity]
    return pack(wanted, budget, render=render, what="a context dump")


def _items(
    checkpoint: ContextCheckpoint, source: CheckpointSource
) -> dict[str, Sequence[str | Line]]:
    """What may stand in the places of the forms, by their names."""
    facts, state = source.facts, checkpoint.execution_state
    last = state.last_validation_result
    lines = {part.title: part.lines for part in parts(facts, stored=True)}
    files, git = lines.get(FILES, ()), lines.get("Git", ())
    counts = [Line(line.forms[-2:], line.weight) for line in files]  # the list says the rest
    open_, failed = remaining(facts), blockers(facts)
    goal = words_of(facts.goal, MIDDLE) if facts.goal else "not known"
    commit = [f"commit {inline(facts.state.commit)}"] if facts.state.commit else []
    return {
        "list of key files/changes in last 3 iterations": [*git, *files],
        "latest validation result, if any": [_check_line(last)] if last else [],
        "git diff summary": _diff_counts(state.git_diff) or counts,
        "high-level remaining work": open_,
        "full iteration history with key outputs per iteration": _iterations(
            checkpoint.conversation.full_history
        ),
        "all files created, modified, deleted with status": files,
        "all validation attempts + failures + reasons": [*map(_check_line, source.checks)],
        "any active errors or issues": failed,
        "remaining acceptance criteria": open_,
        "absolute minimum: current task, status, blockers": [
            f"Task: {goal}",
            f"Status: {state_text(facts)}",
            *(f"Open: {item}" for item in open_[:3]),
            *(f"Blocker: {item}" for item in failed[:1]),
        ],
        "commit hash or file snapshot": commit or git[:1],
        "any errors blocking completion": failed,
        "step": open_[:3],
    }


def _lines(items: Iterable[str | Line]) -> tuple[Line, ...]:
    """Lines with bullets, the first ones first."""
    return tuple(
        item if isinstance(item, Line) else Line((f"- {item}",), -place / 1000)
        for place, item in enumerate(items)
    )


def _listed(part: Chosen) -> str:
    """The lines that were taken, and how many were not."""
    lines = [line for line, _ in part.lines]
    if part.left_out:
        lines.append(f"- ({part.left_out} left out)")
    return "\n".join(lines or ["- none known"])


def _check_line(result: ValidationResult) -> str:
    both = ((result.passed, "passed"), (result.failed, "failed"))
    counts = ", ".join(f"{count} {word}" for count, word in both if count is not None)
    text = f"{inline_code(result.command, 200)}: {outcome_text(result.succeeded)}"
    text += f" ({counts})" if counts else ""
    text += f" at {inline(result.at)}" if result.at else ""
    tail = result.output_tail.strip().splitlines()
    return text if result.succeeded or not tail else f"{text}: {inline_code(tail[-1], 200)}"


def _iterations(entries: Sequence[PromptLogEntry]) -> list[str]:
    found: list[str] = []
    for number, group in groupby(entries, key=lambda e: e.iteration):
        said = [(e.role, e.content) for e in group if not e.content.startswith("[calls ")]
        words = [brief(text, 200) for role, text in said if role == "user"][:1]
        words += [f"→ {brief(t, 300)}" for role, t in said if role == "assistant"][-1:]
        found.append(f"Iteration {number}: " + (" ".join(words) or "no words"))
    return found


def _diff_counts(diff: str | None) -> list[str]:
    """Each file of a diff with its added and removed lines."""
    found = []
    for file in re.split(r"(?m)^diff --git ", diff or "")[1:]:
        head, _, body = file.partition("\n")
        more = len(re.findall(r"(?m)^\+(?!\+\+ )", body))
        less = len(re.findall(r"(?m)^-(?!-- )", body))
        found.append(f"{inline(head.partition(' b/')[2] or head)} (+{more} -{less})")
    return found


def _details(checkpoint: ContextCheckpoint, source: CheckpointSource) -> str:
    """All parts of the handover, every run of a check, and the diff."""

    def render(chosen: Sequence[Chosen]) -> str:
        return "\n\n".join(f"### {part.title}\n{_listed(part)}" for part in chosen)

    checks = Part("Validation", _lines(map(_check_line, source.checks)), 0.05, 0.2)
    wanted = [*parts(source.facts), checks]
    text = pack(wanted, BUDGETS["95"], render=render, what="a checkpoint's details")
    diff = checkpoint.execution_state.git_diff
    return f"{text}\n\n### Git diff\n{_fenced(diff, 'diff')}" if diff else text


def _fenced(text: str, language: str) -> str:
    """Text between fences that it cannot close."""
    lines = clean(text).replace("<!--", "‹!--").splitlines()
    if len(lines) > _DIFF_LINES:
        lines = [*lines[:_DIFF_LINES], f"({len(lines) - _DIFF_LINES} lines left out)"]
    runs = [len(line) - len(line.lstrip("`")) for line in (n.lstrip(" +-\t") for n in lines)]
    fence = "`" * max(3, 1 + max(runs, default=0))
    return "\n".join([fence + language, *lines, fence])


# -- sections of a file ----------------------------------------------------------------------


def section_key(checkpoint: ContextCheckpoint) -> str:
    """What tells a checkpoint's sections from others: one for each task and capacity."""
    task = path_component(checkpoint.task_id).replace("--", "-%2D")
    return f"{task} {checkpoint.capacity_threshold}"


_MARK = "<!-- {}leftoff:checkpoint {} -->"
# A section from its mark to the next one of its own; a mark that opens another one ends it.
_SECTION = re.compile(
    r"^[ \t]*<!-- leftoff:checkpoint (?P<key>.*) -->[ \t\r]*\n"
    r"(?P<text>(?:(?![ \t]*<!-- leftoff:checkpoint ).*\n)*?)"
    r"[ \t]*<!-- /leftoff:checkpoint (?P=key) -->[ \t\r]*(?:\n|\Z)",
    re.MULTILINE,
)


def replace_section(document: str, key: str, section: str) -> str:
    """A document with its marked section replaced, or added at the end.

    A marker without its other half is taken out; what stands around it stays."""
    opening, closing = (_MARK.format(slash, key) for slash in ("", "/"))
    body = "\n".join((opening, section.strip("\n"), closing, ""))
    out: list[str] = []
    end = 0
    for found in _SECTION.finditer(document):
        out.append(_without_marks(document[end : found.start()], opening, closing))
        if found["key"] != key:  # marks in it may look like ours: they stay
            out.append(found[0])
        elif body not in out:
            out.append(body)
        end = found.end()
    out.append(_without_marks(document[end:], opening, closing))
    text = "".join(out).rstrip("\n")
    if body not in out:
        text = f"{text}\n\n{body}" if text else body
    return text.rstrip("\n") + "\n"


def _without_marks(text: str, *marks: str) -> str:
    return "".join(n for n in text.splitlines(keepends=True) if n.strip() not in marks)


def sections(document: str) -> dict[str, str]:
    """The marked sections of a document by their keys."""
    plain = document.replace("\r\n", "\n")
    return {m["key"]: m["text"].removesuffix("\n") for m in _SECTION.finditer(plain)}


def without_sections(document: str) -> str:
    """A document without its marked sections."""
    plain = document.replace("\r\n", "\n")
    return _SECTION.sub("", plain).strip("\n")


def extract_dump(before: str, after: str, key: str, capacity: str) -> tuple[str, str]:
    """What an agent wrote into a file: its dump, "" if none, and the file without it.

    Looked at are our own section, if it was changed, and what is new beside the sections. A
    section that the agent lost on the way is put back."""
    was, now = sections(before), sections(after)
    file_text = _with(after, {k: v for k, v in was.items() if k not in now})
    if key in now and now[key] != was.get(key):
        return now[key], replace_section(file_text, key, was.get(key, ""))
    beside, new = without_sections(before), without_sections(after)
    if new == beside:
        return "", file_text
    if new.startswith(beside):
        # Tasks beside this one write into the file, too.
        others = {k: v for k, v in now.items() if k != key}
        return new[len(beside) :].strip("\n"), _with(before, others)
    level = TEMPLATES.for_capacity(capacity)
    heads = {level.dump.partition("\n")[0].strip("# ").casefold()}
    heads |= {h.casefold() for h in level.headings}
    lines = new.splitlines()
    for number, line in enumerate(lines):
        name = line.strip("#*: \t").casefold()
        if line.startswith("#") and any(name.startswith(head) for head in heads):
            rest = _with("\n".join(lines[:number]), {**was, **now})
            return "\n".join(lines[number:]), rest
    return "", file_text


def _with(document: str, sections: Mapping[str, str]) -> str:
    for key, section in sections.items():
        document = replace_section(document, key, section)
    return document
