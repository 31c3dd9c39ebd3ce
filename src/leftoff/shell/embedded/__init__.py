"""File effects of inline scripts (Python, other languages) and of patches.

Only literal paths count. A script that also works on paths that it computes is `partial`: it
may have other effects."""
