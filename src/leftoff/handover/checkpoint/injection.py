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

import re
from collections.abc import Mapping, Sequence

from leftoff.formats.injected import CONTINUES, block_end
from leftoff.handover.checkpoint.document import ContextCheckpoint
from leftoff.handover.checkpoint.from_summary import MAX_LONG_ITEM_LENGTH, TITLES
from leftoff.handover.checkpoint.templates import TEMPLATES, fill_placeholders
from leftoff.handover.wording import brief, inline, inline_code
from leftoff.redaction.redactor import Redactor
from leftoff.tokens import max_tokens

DEFAULT_BUDGET = 8_000
"""Default token budget of a block. Chosen by hand."""

FILLER_BUDGET = 2_500
"""Tokens of a block beyond which filler items are not added: the next agent pays for them with
every call."""

MAX_ITEM_LENGTH = 600
"""Code points of an item; of `_LONG_TITLES`, `MAX_LONG_ITEM_LENGTH`."""

_ROUNDS = 3
_CREATED = "Files created"
_OTHER = "Noted"
_FILLER = "Also said"

_LONG_TITLES = frozenset({"Task", "Asked last", "Last words"})
_PRIORITY = (
    "Task", "Asked last", "Left open", "Asked", _CREATED, "Files modified", "Files deleted",
    "Constraints", "Last words", "Errors", "Checks", "Decided", "Progress", "Commands",
    "Reached", "Found out", "Asked and done", _OTHER, _FILLER,
)  # fmt: skip
"""Titles in the order in which their items are taken where there is not room for all."""

_NEWEST_FIRST = frozenset(
    {"Constraints", "Asked", "Asked and done", "Decided", "Commands", "Reached", "Found out"}
)
"""Titles of which the last items are taken first; they are shown in their order."""


def inject(
    checkpoint: ContextCheckpoint,
    prompt: str,
    *,
    budget: int = DEFAULT_BUDGET,
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
    checkpoint: ContextCheckpoint, budget: int = DEFAULT_BUDGET, gate: Redactor | None = None
) -> str:
    """What stands before the prompt, "" where `budget` is too small for anything."""
    gate = gate or Redactor(personal=True)
    groups = [
        (
            title,
            [
                _render_item(
                    item,
                    gate,
                    MAX_LONG_ITEM_LENGTH if title in _LONG_TITLES else MAX_ITEM_LENGTH,
                )
                for item in items
            ],
        )
        for title, items in _titled_items(checkpoint)
    ]
    whole = _render_block(checkpoint, groups, {})
    filled = any(title == _FILLER for title, _ in groups)
    if max_tokens(whole) <= (min(budget, FILLER_BUDGET) if filled else budget):
        return whole
    # What is left out takes room to say, so that is set aside first.
    counts = {title: len(items) for title, items in groups}
    frame = max_tokens(_render_block(checkpoint, [(t, []) for t in counts], counts))
    room, text = budget - frame, ""
    for _ in range(_ROUNDS):  # items cost less together than apart
        text = _fit(
            checkpoint, groups, _select(dict(groups), room, FILLER_BUDGET - frame), budget
        )
        left = budget - max_tokens(text)
        if not text or left < budget // 20:
            break
        room += left
    return text


def _fit(
    checkpoint: ContextCheckpoint,
    groups: Sequence[tuple[str, Sequence[str]]],
    chosen: list[tuple[str, int]],
    budget: int,
) -> str:
    """The block with the items that were taken, without the last of them where they are too
    many; "" where `budget` is too small for any."""
    while True:
        selected: dict[str, set[int]] = {title: set() for title, _ in groups}
        for title, n in chosen:
            selected[title].add(n)
        included = [
            (t, [i for n, i in enumerate(items) if n in selected[t]]) for t, items in groups
        ]
        missing = {t: len(items) - len(selected[t]) for t, items in groups}
        text = _render_block(checkpoint, included, {t: n for t, n in missing.items() if n})
        if max_tokens(text) <= budget:
            return text
        if not chosen:
            return ""
        chosen.pop()


def _select(groups: Mapping[str, Sequence[str]], room: int, full: int) -> list[tuple[str, int]]:
    """The items that room is spent on, the most important first: title and place in its group.

    No title takes more than half of what is left before the others have had their turn; only
    then what still fits is taken, and what only fills the room until `full` tokens are spent.
    """
    chosen: list[tuple[str, int]] = []
    whole = room
    known = [title for title in _PRIORITY if title in groups]
    for fair in (True, False):
        for title in known:
            order = range(len(groups[title]))
            own = room // 2 if fair and len(order) > 1 else room
            if title == _FILLER:
                own = min(room, full - (whole - room)) if not fair else 0
            begun = any(t == title for t, _ in chosen)
            for n in reversed(order) if title in _NEWEST_FIRST else order:
                cost = max_tokens(f"- {groups[title][n]}\n")
                cost += 0 if begun else max_tokens(f"{title}:\n")
                if cost > own or (title, n) in chosen:
                    continue
                begun = True
                own -= cost
                room -= cost
                chosen.append((title, n))
    return chosen


def _titled_items(checkpoint: ContextCheckpoint) -> list[tuple[str, list[str]]]:
    """Titles with their items, in the order in which they are shown.

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
    order = (*TITLES, _OTHER, _CREATED)
    return [(title, found[title]) for title in order if found[title]]


_TOOL_OUTPUT = re.compile(r"`([^`\n]*)`( \([^()`\n]*\))?")


def _render_item(item: str, gate: Redactor, limit: int) -> str:
    quoted = _TOOL_OUTPUT.fullmatch(item)
    if quoted:  # tool output stays marked as code
        code = inline_code(gate.text(quoted[1]), limit)
        return f"{code} {brief(quoted[2])}" if quoted[2] else code
    return brief(gate.text(item), limit)


def _render_block(
    checkpoint: ContextCheckpoint,
    groups: Sequence[tuple[str, Sequence[str]]],
    missing: dict[str, int],
) -> str:
    """The block with these items."""
    lines = [TEMPLATES.frame]
    created: Sequence[str] = ()
    for title, items in groups:
        if title == _CREATED:
            created = items
        elif items:
            lines += [f"{title}:", *(f"- {item}" for item in items)]
    if missing:
        counts = ", ".join(f"{title} {count}" for title, count in missing.items())
        lines.append(f"(left out: {counts})")
    head, _, _ = TEMPLATES.block.partition("{original_task}")
    return fill_placeholders(
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
    return before.endswith(f"\n{CONTINUES}") and f"\n{TEMPLATES.frame}\n" in before
