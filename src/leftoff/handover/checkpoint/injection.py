"""A checkpoint in front of the next agent's prompt.

    [Context Checkpoint: {checkpoint_id}]
    Iteration: {iteration}
    Progress Summary:
    ...
    Files created: a.py, b.py

    Continue task: {the prompt, byte for byte}

Everything recorded stands on a line that begins with a title of ours or with `- `, made inert,
so that no recorded word can end the block or pass for the prompt. The block says of itself
that it is data. `formats.injected` knows it again in a recording."""

from collections.abc import Sequence
from functools import partial

from leftoff.formats.injected import CONTINUES, block_end
from leftoff.handover.checkpoint.document import ContextCheckpoint
from leftoff.handover.checkpoint.templates import TEMPLATES, fill_placeholders
from leftoff.handover.lines import (
    CHECKS,
    FAILURES,
    FILES,
    KINDS,
    RUN_ENDED,
    STATE,
    TITLES,
    TURNS,
    stored_part,
    titles,
)
from leftoff.handover.packing import Chosen, Line, Part, pack
from leftoff.handover.wording import inline
from leftoff.redaction.redactor import Redactor

# Default token budget of a block. Chosen by hand.
DEFAULT_BUDGET = 8_000
# What the lines begin with that say where the session stands.
_WHERE = ("State: ", "Git: ")

# The part on the last line of the block, and the one of lines that no title of ours precedes.
_CREATED = "Files created"
_OTHER = "Noted"
# The titles that a stored summary may have, by the title that their items stand under now. The
# stage of the work, which earlier versions noted, is not given to an agent.
_TITLES = {name: kind.title for kind in KINDS.values() for name in (kind.title, *kind.earlier)}
_TITLES |= {"Progress": "", "Reached": _OTHER}


def inject(checkpoint: ContextCheckpoint, prompt: str, *, budget: int = DEFAULT_BUDGET) -> str:
    """The prompt with a checkpoint before it; the prompt itself is not touched.

    A block of ours that the prompt begins with is replaced, so that the same checkpoint can be
    injected twice.

    Args:
        budget: most tokens that the block may take (upper bound), without the prompt.

    Raises:
        BudgetTooSmall: not even a bare block fits."""
    if _is_ours(prompt):
        prompt = prompt[block_end(prompt) :]
    return block(checkpoint, budget) + prompt


def block(checkpoint: ContextCheckpoint, budget: int = DEFAULT_BUDGET) -> str:
    """What stands before the prompt.

    Raises:
        BudgetTooSmall: not even a bare block fits."""
    render = partial(_render_block, checkpoint)
    return pack(_parts(checkpoint), budget, render=render, what="a checkpoint's block")


def _parts(checkpoint: ContextCheckpoint) -> list[Part]:
    """The stored items under their titles, in the order of every handover.

    Lines of a summary that others wrote are items without a title of ours."""
    state, gate = checkpoint.execution_state, Redactor(personal=True)
    found: dict[str, list[str]] = {title: [] for title in (*TITLES, _OTHER, "")}
    where: list[str] = []
    at = _OTHER
    for line in checkpoint.conversation.summary.splitlines():
        name = line.removesuffix(":") if line.endswith(":") else ""
        if name in _TITLES:
            at = _TITLES[name]
        elif line.startswith("- "):
            found[at].append(line[2:])
        elif line.startswith(_WHERE):
            where.append(gate.text(line))
        elif line.strip():
            found[_OTHER].append(line)
    if not found[FILES]:
        found[FILES] = list(state.files_modified)
    if state.current_error and state.current_error not in (*found[FAILURES], *found[CHECKS]):
        found[FAILURES].insert(0, state.current_error)
    closed = any(TURNS["alone"] in line or RUN_ENDED in line for line in where)
    parts = [stored_part(STATE, where, bullet="", title="")]
    parts += [
        stored_part(title, [gate.text(item) for item in items])
        for title in (*titles(closed=closed), _OTHER)
        if (items := found[title])
    ]
    created = tuple(Line((inline(gate.text(path)),)) for path in state.files_created)
    return [*parts, Part(_CREATED, created, 0.05, 0.1, 1)]


def _render_block(checkpoint: ContextCheckpoint, chosen: Sequence[Chosen]) -> str:
    lines = [TEMPLATES.frame]
    *titled, created = chosen
    for part in titled:
        if part.lines and part.title:
            lines.append(f"{part.title}:")
        lines += [line for line, _ in part.lines]
    missing = ", ".join(f"{p.title or 'State'} {p.left_out}" for p in chosen if p.left_out)
    if missing:
        lines.append(f"(left out: {missing})")
    head, _, _ = TEMPLATES.block.partition("{original_task}")
    return fill_placeholders(
        head,
        {
            "checkpoint_id": inline(checkpoint.checkpoint_id).replace("]", ")"),
            "iteration": str(checkpoint.execution_state.iteration),
            "summary": "\n".join(lines),
            "list": ", ".join(line for line, _ in created.lines)
            or (f"{created.left_out} left out" if created.left_out else "none"),
        },
    )


def _is_ours(text: str) -> bool:
    """Whether a text begins with a whole block that we wrote: the frame tells."""
    if not text.startswith("[Context Checkpoint: "):
        return False
    before = text[: block_end(text)]
    return before.endswith(f"\n{CONTINUES}") and f"\n{TEMPLATES.frame}\n" in before
