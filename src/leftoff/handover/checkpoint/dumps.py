"""Context dumps: the markdown written when a window runs out, by the agent or generated.

A dump goes into a marked section of `project.md`, with details in `{specific_project}.md`. A
later dump of the same task and capacity replaces the section; other text stays unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from leftoff.budget.tasks import CheckpointMetadata
from leftoff.budget.thresholds import thousands
from leftoff.handover.checkpoint.document import ContextCheckpoint, path_component
from leftoff.handover.checkpoint.from_summary import CheckpointFacts
from leftoff.handover.checkpoint.prompt_log import PromptLogEntry, ValidationResult
from leftoff.handover.checkpoint.roles import Role
from leftoff.handover.checkpoint.templates import TEMPLATES, Level, fill_placeholders
from leftoff.handover.value import Value
from leftoff.handover.wording import brief, inline, outcome_text
from leftoff.text.sanitize import clean
from leftoff.text.truncation import truncate

MAX_DUMP_LENGTH = 256 * 1024
"""Code points of an agent's dump; a longer one is refused."""

_MIN_CHARACTERS = 40
_DIFF_LINES = 500
_MAX_ITEMS = {"90": 20, "95": 200, "98": 5}


class Dump(Value, frozen=True, kw_only=True):
    """One file and the section that goes into it."""

    path: str
    section: str
    content: str


class ContextDumpPayload(Value, frozen=True, kw_only=True):
    """What a checkpoint writes into the two files; `specific_project_md` is empty at 98 %."""

    project_md: Dump
    specific_project_md: Dump
    checkpoint_metadata: CheckpointMetadata


# -- asking ----------------------------------------------------------------------------------


def instruction(
    checkpoint: ContextCheckpoint,
    asks: str,
    paths: Sequence[str],
    role: Role | None = None,
) -> str:
    """The instruction to the agent to write a dump.

    Args:
        asks: the threshold's text.
        paths: where the agent may write.
        role: what its dump has to speak of.
    """
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
    facts: CheckpointFacts,
    *,
    project_path: str,
    specific_path: str = "",
    checks: Sequence[ValidationResult] = (),
    written: str = "",
    details: str = "",
    note: str = "",
) -> ContextDumpPayload:
    """The sections of a checkpoint.

    Args:
        project_path, specific_path: the files, as the task sees them.
        checks: the tests, builds and linters that ran, oldest first.
        written, details: what the agent wrote for the two files; ours where it is "".
        note: a line before the content, "" for none.
    """
    level = TEMPLATES.for_capacity(checkpoint.capacity_threshold)
    figures = _figures(checkpoint)
    dump_text = (
        neutralized(written) if written else _generated_dump(level, checkpoint, facts, checks)
    )
    state = checkpoint.execution_state
    count = len(facts.files) or len(state.files_created) + len(state.files_modified)
    names = {
        **figures,
        "summary": facts.stage or "not known",
        "count": str(count),
        f"content from /tmp/context-dump-{level.capacity}.md": dump_text,
    }
    whole = fill_placeholders(level.project, names)
    heading, _, body = whole.partition("\n")
    if checkpoint.next_action.type != "continue":
        body = body.replace(
            f"Continue with {figures['provider']}", _next_step_text(checkpoint), 1
        )
    if note:
        body = f"({note})\n\n{body}"
    specific_dump = Dump(path="", section="", content="")
    if level.specific and specific_path:
        text = neutralized(details) if details else _details(checkpoint, facts, checks)
        name = "detailed content including git diff, full file list, validation details"
        top, _, rest = fill_placeholders(level.specific, {name: text}).partition("\n")
        specific_dump = Dump(path=specific_path, section=top, content=rest)
    return ContextDumpPayload(
        project_md=Dump(path=project_path, section=heading, content=body),
        specific_project_md=specific_dump,
        checkpoint_metadata=checkpoint.metadata,
    )


def _next_step_text(checkpoint: ContextCheckpoint) -> str:
    action = checkpoint.next_action
    if action.next_provider:
        return f"{action.type}: {inline(action.next_provider)}"
    if action.next_role:
        return f"{action.type}: {inline(action.next_role)}"
    return action.type


def _generated_dump(
    level: Level,
    checkpoint: ContextCheckpoint,
    facts: CheckpointFacts,
    checks: Sequence[ValidationResult],
) -> str:
    """A dump as we tell it from the recording."""
    most = _MAX_ITEMS[level.capacity]
    state = checkpoint.execution_state
    open_ = facts.to_finish
    last = state.last_validation_result
    names = {
        **_figures(checkpoint),
        "list of key files/changes in last 3 iterations": _list(
            [*facts.reached[-5:], *facts.files], most
        ),
        "latest validation result, if any": _check_line(last) if last else "- none",
        "git diff summary": _list(_diff_counts(state.git_diff) or facts.files, most),
        "high-level remaining work": _list(open_, most),
        "full iteration history with key outputs per iteration": _list(
            _iterations(checkpoint.conversation.full_history), most
        ),
        "all files created, modified, deleted with status": _list(facts.files, most),
        "all validation attempts + failures + reasons": _list(
            [_check_line(c).removeprefix("- ") for c in checks], most
        ),
        "any active errors or issues": _list(facts.errors, most),
        "remaining acceptance criteria": _list(open_, most),
        "absolute minimum: current task, status, blockers": _list(
            [
                f"Task: {facts.task or 'not known'} {facts.task_state}".rstrip(),
                f"Status: {facts.stage or 'not known'}",
                *(f"Open: {o}" for o in open_[:3]),
                *(f"Blocker: {e}" for e in facts.errors[:1]),
            ],
            most + 1,
        ),
        "commit hash or file snapshot": _list(facts.reached[-1:], 1),
        "any errors blocking completion": _list(facts.errors, most),
    }
    lines: list[str] = []
    steps = iter((facts.left_open or open_)[:3])
    for line in fill_placeholders(level.dump, names).splitlines():
        if line.endswith(". {step}"):
            step = next(steps, "")
            if step:
                lines.append(line.replace("{step}", step))
            elif line.startswith("1."):
                lines.append("- none known")
        else:
            lines.append(line)
    return "\n".join(lines)


def _list(items: Sequence[str], most: int) -> str:
    lines = [f"- {item}" for item in items[:most]] or ["- none known"]
    if len(items) > most:
        lines.append(f"- ({len(items) - most} left out)")
    return "\n".join(lines)


def _check_line(result: ValidationResult) -> str:
    counts = [
        f"{count} {word}"
        for count, word in ((result.passed, "passed"), (result.failed, "failed"))
        if count is not None
    ]
    counts_text = f" ({', '.join(counts)})" if counts else ""
    when = f" at {inline(result.at)}" if result.at else ""
    tail = result.output_tail.strip().splitlines()
    why = f": {brief(tail[-1], 200)}" if result.succeeded is not True and tail else ""
    outcome = outcome_text(result.succeeded)
    return f"- `{brief(result.command, 200)}`: {outcome}{counts_text}{when}{why}"


def _iterations(entries: Sequence[PromptLogEntry]) -> list[str]:
    """The prompt and the last words of each iteration."""
    found: list[str] = []
    for number, group in groupby(entries, key=lambda e: e.iteration):
        group_entries = list(group)
        asked = next((e.content for e in group_entries if e.role == "user"), "")
        answers = [e.content for e in group_entries if e.role == "assistant"]
        answer = next((w for w in reversed(answers) if not w.startswith("[calls ")), "")
        words = [brief(asked, 200)] if asked else []
        if answer:
            words.append(f"→ {brief(answer, 300)}")
        found.append(f"Iteration {number}: " + (" ".join(words) or "no words"))
    return found


def _diff_counts(diff: str | None) -> list[str]:
    """Each file of a diff with its added and removed lines."""
    found: dict[str, list[int]] = {}
    name = ""
    for line in (diff or "").splitlines():
        if line.startswith("diff --git "):
            name = line.partition(" b/")[2] or line.removeprefix("diff --git ")
            found[name] = [0, 0]
        elif name and line[:1] in {"+", "-"} and not line.startswith(("+++ ", "--- ")):
            found[name][line[0] == "-"] += 1
    return [f"{inline(path)} (+{more} -{less})" for path, (more, less) in found.items()]


def _details(
    checkpoint: ContextCheckpoint, facts: CheckpointFacts, checks: Sequence[ValidationResult]
) -> str:
    state = checkpoint.execution_state
    lines: list[str] = []
    most = _MAX_ITEMS["95"]
    for title, items in (
        ("Files", facts.files),
        ("Decisions", facts.decided),
        ("Reached", (*facts.reached, *facts.claimed)),
        ("Validation", tuple(_check_line(c).removeprefix("- ") for c in checks)),
        ("Errors", facts.errors),
        ("Left open", facts.to_finish),
        ("Constraints", facts.constraints),
    ):
        lines += [f"### {title}", _list(items, most), ""]
    if state.git_diff:
        lines += ["### Git diff", _fenced(state.git_diff, "diff")]
    return "\n".join(lines).rstrip("\n")


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


def _opening(key: str) -> str:
    return f"<!-- leftoff:checkpoint {key} -->"


def _closing(key: str) -> str:
    return f"<!-- /leftoff:checkpoint {key} -->"


def replace_section(document: str, key: str, section: str) -> str:
    """A document with its marked section replaced, or added at the end.

    A marker without its other half is taken out; what stands around it stays.
    """
    body = f"{_opening(key)}\n{section.strip(chr(10))}\n{_closing(key)}"
    lines = document.splitlines()
    found = _spans(lines)
    own = [span for span in found if span[0] == key]
    whole = {n for _, start, end in found for n in (start, end)}
    out: list[str] = []
    placed = False
    at = 0
    while at < len(lines):
        inside = next((s for s in own if s[1] == at), None)
        if inside is not None:
            if not placed:
                out.append(body)
                placed = True
            at = inside[2] + 1
            continue
        if at in whole or lines[at].strip() not in {_opening(key), _closing(key)}:
            out.append(lines[at])
        at += 1
    text = "\n".join(out).rstrip("\n")
    if not placed:
        text = f"{text}\n\n{body}" if text else body
    return text + "\n"


def sections(document: str) -> dict[str, str]:
    """The marked sections of a document by their keys."""
    lines = document.splitlines()
    return {key: "\n".join(lines[a + 1 : b]) for key, a, b in _spans(lines)}


def without_sections(document: str) -> str:
    """A document without its marked sections."""
    lines = document.splitlines()
    for _, start, end in reversed(_spans(lines)):
        del lines[start : end + 1]
    return "\n".join(lines).strip("\n")


def _spans(lines: Sequence[str]) -> list[tuple[str, int, int]]:
    """Key, first and last line of each marked section, in order."""
    found: list[tuple[str, int, int]] = []
    key, start = "", -1
    for number, line in enumerate(lines):
        mark = line.strip()
        if mark.startswith("<!-- leftoff:checkpoint ") and mark.endswith(" -->"):
            key, start = mark[len("<!-- leftoff:checkpoint ") : -len(" -->")], number
        elif start >= 0 and mark == _closing(key):
            found.append((key, start, number))
            start = -1
    return found


def extract_dump(before: str, after: str, key: str, capacity: str) -> tuple[str, str]:
    """What an agent wrote into a file: its dump, "" if none, and the file without it.

    Looked at are our own section, if it was changed, and what is new beside the sections. A
    section that the agent lost on the way is put back.
    """
    was, now = sections(before), sections(after)
    file_text = after
    for lost in was.keys() - now.keys():
        file_text = replace_section(file_text, lost, was[lost])
    if key in now and now[key] != was.get(key):
        return now[key], replace_section(file_text, key, was.get(key, ""))
    beside, new = without_sections(before), without_sections(after)
    if new == beside:
        return "", file_text
    if new.startswith(beside):
        file_text = before
        for other, body in now.items():  # tasks beside this one write into the file, too
            if other != key:
                file_text = replace_section(file_text, other, body)
        return new[len(beside) :].strip("\n"), file_text
    level = TEMPLATES.for_capacity(capacity)
    heads = {level.dump.partition("\n")[0].strip("# ").casefold()}
    heads |= {h.casefold() for h in level.headings}
    lines = new.splitlines()
    for number, line in enumerate(lines):
        name = line.strip("#*: \t").casefold()
        if line.startswith("#") and any(name.startswith(head) for head in heads):
            rest = "\n".join(lines[:number])
            for other, body in {**was, **now}.items():
                rest = replace_section(rest, other, body)
            return "\n".join(lines[number:]), rest
    return "", file_text
