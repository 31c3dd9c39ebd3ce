"""What scripts given inline do to files: Python, other languages, patches.

Only literal paths count. A script that opens, writes or removes something whose name it works
out is `partial`: it did things that cannot be told.
"""

from __future__ import annotations

from leftoff.shell.embedded.other_languages import other_effects
from leftoff.shell.embedded.patches import marked_patch_effects, patch_effects
from leftoff.shell.embedded.python import python_effects
from leftoff.shell.embedded.steps import Embedded

__all__ = [
    "Embedded",
    "marked_patch_effects",
    "other_effects",
    "patch_effects",
    "python_effects",
]
