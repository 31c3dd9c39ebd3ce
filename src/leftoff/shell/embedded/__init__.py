"""File effects of inline scripts (Python, other languages) and of patches.

Only literal paths count. A script that also works on paths that it computes is `partial`: it
may have other effects.
"""

from __future__ import annotations

from leftoff.shell.embedded.other_languages import other_effects
from leftoff.shell.embedded.patches import marked_patch_effects, patch_effects
from leftoff.shell.embedded.python import python_effects
from leftoff.shell.embedded.steps import ScriptSteps

__all__ = [
    "ScriptSteps",
    "marked_patch_effects",
    "other_effects",
    "patch_effects",
    "python_effects",
]
