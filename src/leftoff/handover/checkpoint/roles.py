"""Roles of agents, as data: what each dumps, which files belong to it, who takes it on."""

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

import msgspec
import re2
from msgspec import Struct

from leftoff.errors import UnknownName, UsageError


class Role(Struct, frozen=True, forbid_unknown_fields=True):
    """What an agent does in a task.

    Attributes:
        checkpoint_sections: what its dump has to speak of.
        files_to_track: globs for the files that are listed and diffed; none means all.
        instruction: what is added to the request for a dump.
        providers: who works in this role, the best first."""

    checkpoint_sections: tuple[str, ...] = ()
    files_to_track: tuple[str, ...] = ()
    instruction: str = ""
    providers: tuple[str, ...] = ()

    def tracks(self, path: str) -> bool:
        """Whether a path, relative to the task's directory, is one of the role's files."""
        return not self.files_to_track or any(
            glob_matcher(pattern)(path) for pattern in self.files_to_track
        )

    def rank(self, provider: str) -> int:
        """A provider's place in this role, 0 is the best; those not named share the last."""
        named = self.providers
        return named.index(provider) if provider in named else len(named)


_WILDCARDS = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@lru_cache(maxsize=256)
def glob_matcher(pattern: str) -> Callable[[str], bool]:
    """Says of paths whether they fit a glob: `**` is any directories, `*` and `?` stay within
    one. The time that takes grows with the path only, whatever the glob is.

    >>> glob_matcher("src/**/*.ts")("src/app.ts")
    True"""
    pieces = re.findall(r"\*\*/|\*\*|.", pattern, re.DOTALL)
    expression = "".join(_WILDCARDS.get(piece) or re.escape(piece) for piece in pieces)
    options = re2.Options()
    options.dot_nl = True
    options.log_errors = False
    # Bytes, since a path may hold what is no valid Unicode.
    matcher = re2.compile(expression.encode("utf-8", "surrogatepass"), options)
    return lambda path: matcher.fullmatch(path.encode("utf-8", "surrogatepass")) is not None


def roles(text: str) -> dict[str, Role]:
    """The roles that a TOML document holds, by name.

    Raises:
        UsageError: it is no TOML, or a role has another shape than `Role`."""
    try:
        return {name: msgspec.convert(row, Role) for name, row in tomllib.loads(text).items()}
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"no roles: {error}") from error


# The roles that ship: backend, frontend, helper.
ROLES: Mapping[str, Role] = MappingProxyType(
    roles(Path(__file__).with_name("roles.toml").read_text("utf-8"))
)


def role(name: str, more: Mapping[str, Role] | None = None) -> Role:
    """A role by name, of `more` before those that ship; `UnknownName` where there is none."""
    known = {**ROLES, **(more or {})}
    if name not in known:
        raise UnknownName("role", name, known)
    return known[name]
