"""The names in use that a successor is given: those that belong to the work."""

import math
from collections.abc import Sequence

from leftoff import lazy_re as re
from leftoff.summary import ContextSummary, FileModification, Name
from leftoff.tables import table

_RE = re.patterns(table(__file__, "names.toml"))


def names_in_use(
    summary: ContextSummary, changed: Sequence[FileModification]
) -> tuple[str, ...]:
    """The names in use, without those in the paths of changed files; of a path the last
    component. Those in many messages come first, in recent ones, and short ones: of nine
    rankings tried this one names most of what is used after a cut within a given length."""
    end = summary.stats.message_count

    def value(name: Name) -> float:
        age = max(0, end - name.message)
        return math.sqrt(name.count / (20 + age) / (4 + len(name.text)))

    known = {part for f in changed for part in (f.path, f.path.rsplit("/", 1)[-1])}
    commits = [event.hash for event in summary.git]
    found: dict[str, None] = {}
    for name in sorted(summary.working_set.names, key=lambda n: (-value(n), n.text)):
        text = name.text if "://" in name.text else name.text.rstrip("/").rsplit("/", 1)[-1]
        if text in known or _RE["no_use"].search(text) or text in summary.session.id:
            continue
        # Part of an id: a hash of git is one that git printed.
        if _RE["hex"].fullmatch(text) and not any(text in commit for commit in commits):
            continue
        found[text] = None
    return tuple(found)
