"""The vocabulary: the kind of each recorder's tools and the roles of their arguments.

The table is data (`vocabulary.toml`); a tool in none of its rows has the kind "other"."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from msgspec import Struct

from leftoff.model import Part, Text, ToolCall
from leftoff.tables import table

# Kinds that change files by themselves, without a shell.
EDITS = frozenset({"edit", "create", "patch", "notebook", "delete", "move"})

# Kinds that change nothing.
READ_ONLY_KINDS = frozenset({"read", "search", "list", "fetch"})

# Kinds whose tools give what a program printed, also where it failed.
PROGRAMS = frozenset({"shell", "powershell", "python"})


# The name of calls that are commands of the person's own shell, not of the agent.
PERSONS_SHELL = "bash-input"


class Tool(Struct, frozen=True):
    """One row of the vocabulary: the kind, and for each role the argument names to try."""

    kind: str
    arguments: dict[str, tuple[str, ...]]


_DATA = table(__file__, "vocabulary.toml")
# Names that recorders give to kinds of records, by what they are here.
KINDS: dict[str, frozenset[str]] = {key: frozenset(v) for key, v in _DATA["kinds"].items()}
# Names in one place by those in another.
NAMES: dict[str, dict[str, str]] = _DATA["names"]


TABLE: dict[str, Tool] = {}
for row in _DATA["tool"]:
    roles = {k: tuple(v) for k, v in row.items() if k not in {"kind", "names"}}
    TABLE |= dict.fromkeys(row["names"], Tool(row["kind"], roles))
_OTHER = Tool("other", {})


@lru_cache(maxsize=4096)
def tool_of(name: str) -> Tool:
    """The vocabulary's row for a recorded tool name; kind "other" if there is none."""
    found = TABLE.get(name)
    if found is None and name.startswith("mcp__"):
        # A known name behind a server's prefix has the known meaning: mcp__fs__write_file.
        found = TABLE.get(name.rsplit("__", 1)[-1])
    if found is None and ("." in name or "-" in name):
        found = TABLE.get(name.rsplit(".", 1)[-1]) or TABLE.get(name.replace("-", "_"))
    return found or _OTHER


@lru_cache(maxsize=4096)
def kind_of(name: str) -> str:
    """The kind of a recorded tool name; "other" if the vocabulary lacks it."""
    return tool_of(name).kind


def tool_call(identity: str, name: str, given: object = None) -> ToolCall:
    """A call with the kind that the vocabulary gives its name."""
    kind = kind_of(name)
    if kind == "shell" and isinstance(given, dict) and given.get("is_input") in (True, "true"):
        kind = "poll"  # keys for a program that runs, such as the `y` that it waits for
    return ToolCall(identity, name, kind, given)


def with_closing_words(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts, with the words that a call passes which ends the work.

    Agents of benchmarks say what they found only there. Without these words the agent would
    not have answered; where its text says the same, they are not repeated."""
    found: list[Part] = []
    for part in parts:
        if type(part) is ToolCall and part.kind == "finish":
            said = text_argument(part, "said").strip()
            if said and not any(type(p) is Text and said in p.text for p in found):
                found.append(Text(said))
        found.append(part)
    return tuple(found)


def final_call(parts: Iterable[Part]) -> str:
    """The name of the call in a message that ends the work; "" where there is none."""
    calls = (part for part in parts if type(part) is ToolCall)
    return next((call.name for call in calls if call.kind == "finish"), "")


def argument(call: ToolCall, role: str) -> Any:
    """What the call passes in a role (path, content, patch, command, cwd ...), or None.

    A tool that takes raw text instead of named arguments passes it as its patch or command."""
    names = tool_of(call.name).arguments.get(role)
    if names is None:
        return None
    given = call.input
    if isinstance(given, dict):
        for name in names:
            if name in given:
                return given[name]
        return None
    if isinstance(given, str) and role in {"patch", "command"}:
        return given
    return None


def replaces_everywhere(call: ToolCall) -> bool:
    """Whether an edit replaces every occurrence of its text."""
    given = call.input if isinstance(call.input, dict) else {}
    return any(given.get(key) not in (None, False, "false") for key in _EVERYWHERE)


_EVERYWHERE = ("replace_all", "replaceAll", "replace-all", "allow_multiple")


def first_text(value: dict[str, Any], keys: Iterable[str]) -> str:
    """The first of these fields that is a text; "" if none is."""
    return next((value[key] for key in keys if isinstance(value.get(key), str)), "")


def text_argument(call: ToolCall, role: str) -> str:
    """`argument` as text; "" if there is none. An argv list becomes its shell text."""
    return _as_text(argument(call, role))


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
        # ["bash", "-lc", "the command"] is a shell text; any other argv is quoted into one.
        if len(value) == 3 and value[1] in {"-lc", "-c"}:
            return str(value[2])
        import shlex

        return shlex.join(value)
    return ""


# Arguments that tell what a call is about, the most telling first.
_SUBJECTS = (
    "file_path path filename notebook_path command cmd pattern query url description prompt"
).split()


def subject_of(call: ToolCall) -> str:
    """What a call is about: its command, its file or whatever argument tells most.

    >>> subject_of(ToolCall("", "Bash", "shell", {"command": "npm test", "timeout": 60}))
    'npm test'"""
    shell = call.kind in {"shell", "powershell"}
    given = call.input if isinstance(call.input, dict) else {}
    texts = [text_argument(call, "command" if shell else "path")]
    texts += [_as_text(given.get(key)) for key in _SUBJECTS]
    if call.kind not in EDITS:  # whose other arguments hold what they wrote
        texts += [value for value in given.values() if isinstance(value, str)]
    return next((text for text in texts if text.strip()), "")
