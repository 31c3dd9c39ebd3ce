"""The source itself, and what CI takes."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterable
from pathlib import Path

from benchmarks.scoreboard.setting import ROOT, CannotRun, Setting, Values

CI = Path(__file__).with_name("ci.json")
"""Seconds of CI by stage."""

WORDS = ("told", "kept", "gone", "somebody", "nobody", "whoever")
"""Words that names and comments are to do without."""

_WORD = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(WORDS)})(?![A-Za-z])", re.IGNORECASE)
_ANY = re.compile(r"(?<![A-Za-z_])Any(?![A-Za-z_])")


def lines(setting: Setting) -> Values:
    """Lines of programs, tests and rules; comments, loose types and literary words."""
    programs = _texts("src", "*.py")
    count = sum(map(_lines, programs))
    said = sum(map(_comments, programs))
    longest = max(map(_lines, programs))
    return {
        "src, Python": count,
        "src, files": len(programs),
        "src, longest file": longest,
        "src, share of comments and docstrings": said / count,
        "src, TOML": sum(map(_lines, _texts("src", "*.toml"))),
        "tests, Python": sum(map(_lines, _texts("tests", "*.py"))),
        "benchmarks, Python": sum(map(_lines, _texts("benchmarks", "*.py"))),
        "src, `Any`": sum(len(_ANY.findall(text)) for text in programs),
        f"src, words ({', '.join(WORDS)})": sum(len(_WORD.findall(t)) for t in programs),
    }


def _texts(folder: str, pattern: str) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted((ROOT / folder).rglob(pattern))]


def _lines(text: str) -> int:
    return text.count("\n")


def _comments(text: str) -> int:
    """Lines of comments that stand alone, and of docstrings: strings that are statements."""
    found: set[int] = set()
    rows = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        alone = token.type == tokenize.COMMENT and rows[token.start[0] - 1].lstrip()[0] == "#"
        if alone:
            found.add(token.start[0])
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(found)


def ci(setting: Setting) -> Values:
    """Seconds that the stages of CI took, as they were entered last.

    Raises:
        CannotRun: none were entered.
    """
    if not CI.exists():
        raise CannotRun("no times were entered (--ci core=SECONDS,extras=SECONDS)")
    known: dict[str, float] = json.loads(CI.read_bytes())
    return {f"{stage}, s": seconds for stage, seconds in known.items()}


def enter(given: Iterable[str]) -> None:
    """Writes times of CI, each as STAGE=SECONDS; other stages stay as they are.

    Raises:
        ValueError: not of that form.
    """
    known = json.loads(CI.read_bytes()) if CI.exists() else {}
    for one in given:
        stage, _, seconds = one.partition("=")
        known[stage] = float(seconds)
    CI.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
