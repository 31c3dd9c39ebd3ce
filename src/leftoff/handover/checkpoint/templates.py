"""The templates of checkpoints and dumps, from `templates.toml` in this directory."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.tables import table

# Bounded, so that a brace of code in a template or an answer opens no search to its end.
_PLACEHOLDER = re.compile(r"\{([^{}\n]{1,80})\}")


class Level(Struct, frozen=True, forbid_unknown_fields=True):
    """The templates of one capacity.

    Attributes:
        dump: the form that the agent fills in, or that is filled in without it.
        project, specific: the sections of the two files; "" if there is none."""

    capacity: str
    dump: str
    project: str
    specific: str = ""

    @property
    def headings(self) -> tuple[str, ...]:
        """The third-level headings of a dump, without `###` and colon."""
        found = re.findall(r"(?m)^### ([^\n]+?):?$", self.dump)
        return tuple(h.partition(" (")[0] for h in found)

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The placeholders of a dump that its author fills in: those named in words."""
        return tuple(p for p in _PLACEHOLDER.findall(self.dump) if " " in p or p == "step")


class Templates(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `templates.toml`."""

    handoff: str
    block: str
    frame: str
    ask: str
    ask_sections: str
    level: tuple[Level, ...]

    def for_capacity(self, capacity: str) -> Level:
        """The level of a capacity: "90", "95" or "98"."""
        return next(level for level in self.level if level.capacity == capacity)


def fill_placeholders(template: str, names: Mapping[str, str]) -> str:
    """A template with its `{placeholders}` replaced; unknown placeholders are left unchanged.

    Values are not searched for placeholders, so that no value can insert another."""
    return _PLACEHOLDER.sub(lambda m: names.get(m[1], m[0]), template)


TEMPLATES = msgspec.convert(table(__file__, "templates.toml"), Templates)
