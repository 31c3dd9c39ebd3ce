"""How much a plain installation brings: at most so many packages and so many megabytes.

    python tests/packaging/installed.py

Run by the interpreter of an environment that has leftoff and nothing else but pip. Prints both
figures; exits 1 where one is larger than it may be.
"""

import sys
from importlib.metadata import Distribution, distributions

MAX_PACKAGES = 12
MAX_MEGABYTES = 70.0
NOT_OURS = {"leftoff", "pip", "setuptools"}
"""leftoff itself, and what a new environment holds; not counted as packages."""


def main() -> int:
    """Exit 1 if there are too many packages, or too many bytes."""
    found = {found.name.lower(): found for found in distributions()}
    others = sorted(set(found) - NOT_OURS)
    names = [*others, "leftoff"]
    size = sum(_bytes(found[name]) for name in names) / 1e6
    print(f"{len(others)} packages, {size:.1f} MB with leftoff: {', '.join(others)}")
    wrong = len(others) > MAX_PACKAGES or size > MAX_MEGABYTES
    if wrong:
        print(f"at most {MAX_PACKAGES} packages and {MAX_MEGABYTES:g} MB", file=sys.stderr)
    return int(wrong)


def _bytes(distribution: Distribution) -> int:
    """Of every file that the installation wrote, bytecode included."""
    files = {file.locate() for file in distribution.files or ()}
    return sum(file.stat().st_size for file in files if file.is_file())  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(main())
