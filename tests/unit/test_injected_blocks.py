"""What we put before a prompt ourselves is not taken for something that a person typed."""

from __future__ import annotations

import pytest

from leftoff.formats.injected import typed_spans

BLOCK = (
    "[Context Checkpoint: t-a-90p-x]\nIteration: 3\nProgress Summary:\n- a\n\nContinue task: "
)


def typed(text: str) -> list[str]:
    return [text[s.start : s.end] for s in typed_spans(0, text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BLOCK + "Go on.", ["Go on."]),
        (BLOCK.replace("\n", "\r\n") + "Go on.", ["Go on."]),
        ("\n" + BLOCK + "Go on.", ["Go on."]),
        (BLOCK + BLOCK + "Go on.", ["Go on."]),
        (BLOCK * 3000 + "Go on.", ["Go on."]),
        (BLOCK + "Go\nContinue task: on.", ["Go\nContinue task: on."]),
        (BLOCK + "<system-reminder>x</system-reminder>Go on.", ["Go on."]),
        (BLOCK[:-20], []),
        ("[Context Checkpoint: is what I call it] Go on.",
         ["[Context Checkpoint: is what I call it] Go on."]),
        ("<leftoff>\nDecided:\n- x\n</leftoff>\nGo on.", ["Go on."]),
        ("<!-- leftoff:checkpoint t 90 -->\n## x\n<!-- /leftoff:checkpoint t 90 -->\nGo on.",
         ["Go on."]),
        ("# Session Resume Log: 20251101_115000\n\n## Mission Summary\n", []),
        ("WORKFLOW RESUME CONTEXT - CONTINUE FROM WHERE YOU LEFT OFF\n\nPREVIOUS", []),
        ('@agent Continue: "Continue to iterate?"', []),
        ("@agent Try Again", []),
        ('@workspace /setup vitest: "Pick a runner"', []),
        ('@anna says: "no" and I agree', ['@anna says: "no" and I agree']),
        ("Implement the plan as specified, it is attached for your reference. Do NOT edit it.",
         []),
        ("Implement the following plan:\n\n# Doors\n\n1. Paint", []),
        ("Implement the following plan: paint it", ["Implement the following plan: paint it"]),
        ("[Terminal 0a-1b notification: command completed with exit code 0.]\nOutput", []),
        ("[Terminal] is what I use", ["[Terminal] is what I use"]),
        ("[Image: source: /tmp/a.png]", []),
        ("[Image: source: /tmp/a.png]\n\n[Image: source: /tmp/b.png]", []),
        ("/exit", []),
        ("/exit\n ⎿  Farewell!", []),
        ("/exit is broken", ["/exit is broken"]),
        ("# Context from my IDE setup:\n\n## Open tabs:\n\n## My request for Codex:\nPaint it.",
         ["Paint it."]),
        ("# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n", []),
        ("@agent Try Again with the other file", ["@agent Try Again with the other file"]),
        ("Base directory for this skill: /s/plan\n\n# Planning\n", []),
        ("<system_notification>\nA task ended.\n</system_notification>\nGo on.", ["Go on."]),
        ("First.\n--- Cursor Command: spec.md ---\nWrite it.\n--- End Command ---\nFor the shop",
         ["First.", "spec.md", "For the shop"]),
        ("--- Cursor Command: spec.md ---\nnever closed", ["spec.md"]),
        ("WORKFLOW RESUME is broken, mend it", ["WORKFLOW RESUME is broken, mend it"]),
    ],
)  # fmt: skip
def test_only_the_prompt_was_typed(text: str, expected: list[str]) -> None:
    assert typed(text) == expected
