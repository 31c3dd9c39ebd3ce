"""Docstrings on the site: their examples are code, and a value shows its fields.

mkdocstrings takes examples for quotations, and knows the fields of dataclasses only.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)
_VALUES = {"Struct", "Value", "Part"}


class Docstrings(griffe.Extension):
    """Fences examples, and lists the fields of a value after its first paragraph."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            value = obj.docstring.value
            obj.docstring.value = _EXAMPLE.sub(lambda m: f"```pycon\n{m[0]}\n```", value)

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        bases = {str(base).rpartition(".")[2] for base in cls.bases}
        if cls.docstring is None or not bases & _VALUES:
            return
        fields = [
            f"{field.name}: {field.annotation}" + (f" = {field.value}" if field.value else "")
            for field in cls.attributes.values()
            if field.annotation and "ClassVar" not in str(field.annotation)
        ]
        if fields:
            first, _, rest = cls.docstring.value.partition("\n\n")
            shown = "\n".join(["```python", *fields, "```"])
            cls.docstring.value = f"{first}\n\n{shown}\n\n{rest}"
