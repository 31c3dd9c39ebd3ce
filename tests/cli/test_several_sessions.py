"""Formats that begin several sessions in one file say so; the rest is in the cases."""

import ast
from pathlib import Path

from leftoff.formats.reader import formats


def test_formats_that_begin_sessions_say_so(root: Path) -> None:
    found = set()
    for file in (root / "src/leftoff/formats").glob("*.py"):
        nodes = list(ast.walk(ast.parse(file.read_text())))
        names = {n.id for n in nodes if isinstance(n, ast.Name)}
        if "NewSession" in names | {n.attr for n in nodes if isinstance(n, ast.Attribute)}:
            found.add(f"leftoff.formats.{file.stem}")
    known = [formats.get(name) for name in formats.names()]
    assert found == {format_.reader.__module__ for format_ in known if format_.several}
