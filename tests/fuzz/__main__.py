"""Runs one of the programs beside this file: `python -m tests.fuzz PROGRAM ...`; each has a `--help`."""

import sys
from importlib import import_module
from pathlib import Path

PROGRAMS = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if path != Path(__file__) and "\ndef main() -> int:\n" in path.read_text("utf-8")
)

if sys.argv[1:2] and sys.argv[1] in PROGRAMS:
    name = sys.argv.pop(1)
    sys.argv[0] = f"python -m tests.fuzz {name}"
    sys.exit(import_module(f"tests.fuzz.{name}").main())
sys.exit(f"python -m tests.fuzz PROGRAM ...: {', '.join(PROGRAMS)}")
