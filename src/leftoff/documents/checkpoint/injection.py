"""A checkpoint in front of the next agent's prompt.

    [Context Checkpoint: {checkpoint_id}]
    Iteration: {iteration}
    Progress Summary:
    ...
    Files created: a.py, b.py

    Continue task: {the prompt, byte for byte}

Everything recorded stands on a line that begins with a title of ours or with `- `, made inert,
so that no recorded word can end the block or pass for the prompt. The block says of itself
that it is data. `formats.injected` knows it again in a recording.
"""

from __future__ import annotations

from collections.abc import Sequence

from leftoff.documents.checkpoint import ContextCheckpoint
from leftoff.documents.checkpoint.facts import TITLES
from leftoff.documents.checkpoint.words import WORDS, fill
from leftoff.documents.wording import brief, inline
from leftoff.formats.injected import CONTINUES, block_end
from leftoff.redaction import Redactor
from leftoff.tokens import max_tokens

BUDGET = 8_000
"""Tokens of a block unless more or less is wished."""

ITEM = 600
"""Code points of one item of a block."""

_CREATED = "Files created"
_OTHER = "Noted"


def inject(
    checkpoint: ContextCheckpoint,
    prompt: str,
    *,
    budget: int = BUDGET,
    gate: Redactor | None = None,
) -> str:
    """The prompt with a checkpoint before it; the prompt itself is not touched.

    A block of ours that the prompt begins with is replaced, so that the same checkpoint can be
    injected twice. Nothing is put before the prompt where not even a bare block fits.

    Args:
        budget: most tokens that the block may take (upper bound), without the prompt.
        gate: the redactor to use, where its options or its numbering matter.
    """
    if _is_ours(prompt):
        prompt = prompt[block_end(prompt) :]
    return block(checkpoint, budget, gate) + prompt


def block(
    checkpoint: ContextCheckpoint, budget: int = BUDGET, gate: Redactor | None = None
) -> str:
    """What stands before the prompt, "" where `budget` is too small for anything."""
    gate = gate or Redactor(personal=True)
    groups = [
        (title, [_shown(item, gate) for item in items]) for title, items in _groups(checkpoint)
    ]
    whole = _written(checkpoint, groups, {})
    if max_tokens(whole) <= budget:
        return whole
    # What is left out takes room to say, so that is set aside first.
    nothing = _written(
        checkpoint, [(t, []) for t, _ in groups], {t: len(items) for t, items in groups}
    )
    room = budget - max_tokens(nothing)
    kept: list[tuple[str, list[str]]] = []
    missing: dict[str, int] = {}
    for title, items in groups:
        taken: list[str] = []
        room -= max_tokens(f"{title}:\n")
        for item in items:
            price = max_tokens(f"- {item}\n")
            if price > room:
                break
            room -= price
            taken.append(item)
        kept.append((title, taken))
        if len(taken) < len(items):
            missing[title] = len(items) - len(taken)
    text = _written(checkpoint, kept, missing)
    while max_tokens(text) > budget:
        last = next((items for _, items in reversed(kept) if items), None)
        if last is None:
            return ""
        last.pop()
        counts = {t: len(items) for t, items in groups}
        missing = {t: counts[t] - len(items) for t, items in kept if counts[t] > len(items)}
        text = _written(checkpoint, kept, missing)
    return text


def _groups(checkpoint: ContextCheckpoint) -> list[tuple[str, list[str]]]:
    """Titles with their items, as they are taken into a block that is too small for all.

    Lines of a summary that others wrote are items without a title of ours.
    """
    state = checkpoint.execution_state
    found: dict[str, list[str]] = {title: [] for title in TITLES}
    found[_CREATED] = list(state.files_created)
    found[_OTHER] = []
    at = _OTHER
    for line in checkpoint.conversation.summary.splitlines():
        if line.endswith(":") and line[:-1] in TITLES:
            at = line[:-1]
        elif line.startswith("- "):
            found[at].append(line[2:])
        elif line.strip():
            found[_OTHER].append(line)
    known = set(found["Files modified"])
    found["Files modified"] += [f for f in state.files_modified if f not in known]
    if state.current_error and not found["Errors"]:
        found["Errors"] = [state.current_error]
    order = ["Asked", "Left open", _CREATED, "Files modified", "Files deleted", *TITLES, _OTHER]
    return [(title, found[title]) for title in dict.fromkeys(order) if found[title]]


def _shown(item: str, gate: Redactor) -> str:
    return brief(gate.text(item), ITEM)


def _written(
    checkpoint: ContextCheckpoint,
    groups: Sequence[tuple[str, Sequence[str]]],
    missing: dict[str, int],
) -> str:
    """The block with these items."""
    lines = [WORDS.frame]
    created: Sequence[str] = ()
    for title, items in groups:
        if title == _CREATED:
            created = items
        elif items:
            lines += [f"{title}:", *(f"- {item}" for item in items)]
    if missing:
        counts = ", ".join(f"{title} {count}" for title, count in missing.items())
        lines.append(f"(left out: {counts})")
    head, _, _ = WORDS.block.partition("{original_task}")
    return fill(
        head,
        {
            "checkpoint_id": inline(checkpoint.checkpoint_id).replace("]", ")"),
            "iteration": str(checkpoint.execution_state.iteration),
            "summary": "\n".join(lines),
            "list": ", ".join(created) or "none",
        },
    )


def _is_ours(text: str) -> bool:
    """Whether a text begins with a whole block that we wrote: the frame tells."""
    if not text.startswith("[Context Checkpoint: "):
        return False
    before = text[: block_end(text)]
    return before.endswith(f"\n{CONTINUES}") and f"\n{WORDS.frame}\n" in before
