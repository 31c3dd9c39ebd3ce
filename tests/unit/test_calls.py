"""Calls of functions without state, as data: what each gives for these arguments.

`calls/PART.cases` holds the cases of one part of the package:

    # title                      begins a case; the title says what the calls below it show
    + {"name": "text"}           files that are written into the folder $TMP, null where one is removed
    module.function [arguments]  a call; with keywords: `module.function [...] {"name": value}`;
                                 `show [value, attribute]` shows a value
    function [...] | name name   of a result only the fields of these names are looked at
    > result                     what it gives, without what is a default; nothing for None
                                 ` & {"name": "text"}` behind it are files that the call changed
    ! Error: message             or what it raises

Values are JSON. What JSON has no form for, or no short one:

    {"$": "module.Class", ...}                      a value of a class of ours
    {"$tuple": [...]}, {"$set": [...]}, {"$dict": [[key, value]]}, {"$bytes": "..."}
    {"$repeat": [text, times, rest]}                a long text
    {"$path": "..."}, {"$copy": "..."}              a `Path`; what a file of the checkout holds
    {"$name": "..."}                                a function
    {"$lines": [...]}                               lines of JSON
    {"$session": [...]}                             a recording of Claude Code; see `session`
    {"$view": [...]}, {"$summary": [...]}           what is made of one
    {"$of": 1}, {"$of": 1, "at": [...]}             what the first call of the case gave, or what is
                                                    found in it by these attributes and keys

In results tuples are lists, and `{"$type": "..."}` is what only later calls of the case look into.
$ROOT is this checkout. `LEFTOFF_UPDATE_CASES=1 python -m pytest -n 0 tests/unit/test_calls.py` writes
what is given now: look at the difference before you commit it.
"""

import builtins
import dataclasses
import hashlib
import importlib
import json
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import chdir
from enum import Enum
from functools import reduce
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple

import msgspec
import pytest
from tests.strategies.claude_code import Recording

from leftoff.analysis.session_pass import Pass
from leftoff.extraction.collector import Collector
from leftoff.session_view import SessionView

FOLDER = Path(__file__).parent / "calls"
ROOT = Path(__file__).parents[2]
SMALL = 400
"""Characters of a field that is looked at as a whole. Chosen by hand; not measured."""
OF_A_VERSION = ("schema", "leftoff", "rules")
"""Fields of a result that say who made it."""


class Case(NamedTuple):
    """A title and its calls, as (name of the function, arguments and keywords, result)."""

    part: str
    title: str
    calls: list[tuple[str, str, str]]


def cases(path: Path) -> list[Case]:
    """The cases of a file."""
    found: list[Case] = []
    for line in path.read_text("utf-8").split("\n"):
        if line.startswith("# "):
            found.append(Case(path.stem, line[2:], []))
        elif line[:2] in {"> ", "! "}:
            name, given, _ = found[-1].calls[-1]
            found[-1].calls[-1] = (name, given, line)
        elif line:
            name, _, given = line.partition(" ")
            found[-1].calls.append((name, given, "> null"))
    return found


def function(name: str) -> Callable[..., Any]:
    """What a dotted name below `leftoff`, or one of `tests` or `benchmarks`, stands for; of a
    property its function."""
    if name == "show":
        return lambda value, *at: reduce(step, at, value)
    beside = name.startswith(("tests.", "benchmarks."))
    words = name.split(".") if beside else ["leftoff", *name.split(".")]
    for end in range(len(words), 0, -1):
        try:
            module = importlib.import_module(".".join(words[:end]))
        except ModuleNotFoundError:
            continue
        found: Any = reduce(getattr, words[end:], module)
        getter: Callable[..., Any] = getattr(found, "fget", found)
        return getter
    raise LookupError(name)


def decode(value: Any, earlier: list[Any]) -> Any:
    """The value that an argument stands for, where earlier calls gave these results."""

    def inner(v: Any) -> Any:
        return decode(v, earlier)

    if isinstance(value, list):
        return [inner(v) for v in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"$": name}:
            return function(name)(**{k: inner(v) for k, v in value.items() if k != "$"})
        case {"$tuple": items}:
            return tuple(map(inner, items))
        case {"$set": items}:
            return frozenset(map(inner, items))
        case {"$bytes": text}:
            return text.encode("latin-1")
        case {"$dict": pairs}:
            return {inner(k): inner(v) for k, v in pairs}
        case {"$repeat": [text, times, rest]}:
            return text * times + rest
        case {"$path": path}:
            return Path(path)
        case {"$copy": path}:
            return (ROOT / path).read_bytes()
        case {"$name": name}:
            return getattr(builtins, name, None) or function(name)
        case {"$session": items}:
            return session(items)
        case {"$view": items}:
            reading = Collector("test", "claude_code")
            reading.feed(session(items))
            reading.close()
            return SessionView(reading.sessions[-1][""])
        case {"$summary": items}:
            whole = Pass("test", "claude_code")
            whole.feed(session(inner(items)))
            return whole.summary()
        case {"$lines": lines}:
            return b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        case {"$of": number}:
            return reduce(step, value.get("at", ()), earlier[number - 1])
    return {k: inner(v) for k, v in value.items()}


def session(items: list[Any]) -> bytes:
    """A recording of Claude Code.

    Args:
        items: "> words" of the person, "< words" of the agent, calls as ["$ command", output] or
            [tool, arguments, output], with True at the end where they failed, None as the output of
            one that has none; {"cwd": ...}, {"version": ...} and, as the first,
            {"sessionId": ..., "cwd": ..., "timestamp": ...} for all that follows; other lines
            as they are.
    """
    made = Recording()
    for item in items:
        match item:
            case str():
                add = made.say if item.startswith("> ") else made.answer
                add(item[2:])
            case list():
                bash = item[0].startswith("$ ")
                name, given, output, *rest = (
                    ["Bash", {"command": item[0][2:]}, *item[1:]] if bash else item
                )
                made.call(name, given, output, failed=rest[:1] == [True], **dict(*rest[1:]))
            case {"cwd": _} | {"version": _} if len(item) == 1:
                made.about |= item
            case {"sessionId": name, "cwd": _, "timestamp": _} if len(item) == 3:
                made.key = name + "{n}"
                made.about |= item
            case _:
                made.lines.append(item)
    return made.data


def step(value: Any, to: str | int) -> Any:
    """An attribute of a value, or what it holds under a key."""
    return getattr(value, to) if isinstance(to, str) and hasattr(value, to) else value[to]


def encode(value: Any, *, exact: bool = True) -> Any:
    """A value as JSON; with `exact`, so that `decode` gives it back. A TypeError if it has none."""

    def inner(v: Any) -> Any:
        return encode(v, exact=exact)

    if value is None or type(value) in {bool, int, float, str}:
        return value
    if (fields := _fields(value)) is not None:
        shown = {n: inner(v) for n, v in fields.items() if exact or n not in OF_A_VERSION}
        return {"$": name_of(type(value))} | shown
    if isinstance(value, (list, tuple, array)):
        items = [inner(v) for v in value]
        return {"$tuple": items} if exact and isinstance(value, tuple) else items
    if isinstance(value, (set, frozenset)):
        return {"$set": sorted((inner(v) for v in value), key=json.dumps)}
    if isinstance(value, bytes):
        return _bytes(value)
    if isinstance(value, dict):
        if all(isinstance(k, str) and not k.startswith("$") for k in value):
            return {k: inner(v) for k, v in value.items()}
        return {"$dict": [[inner(k), inner(v)] for k, v in value.items()]}
    if isinstance(value, Path):
        return {"$path": str(value)}
    if isinstance(value, Enum) and not exact:
        return str(value)
    if isinstance(value, (FunctionType, BuiltinFunctionType, type)):
        name = name_of(value)
        if decode({"$name": name}, []) is value:
            return {"$name": name}
    raise TypeError(f"{type(value)} has no form")


def _bytes(value: bytes) -> dict[str, Any]:
    try:
        lines = {"$lines": [json.loads(line) for line in value.splitlines()]}
    except ValueError:
        lines = {"$lines": []}
    return lines if decode(lines, []) == value else {"$bytes": value.decode("latin-1")}


def only(shown: Any, names: Sequence[str]) -> Any:
    """Of a value as JSON the fields of these names, with where they stand; None if it has none."""
    if isinstance(shown, list):
        chosen = [only(item, names) for item in shown]
        return chosen if any(item is not None for item in chosen) else None
    if not isinstance(shown, dict):
        return None
    found: dict[str, Any] = {}
    for key, value in shown.items():
        inside = only(value, names)
        if key in names and (inside is None or len(json.dumps(value)) <= SMALL):
            inside = value
        if inside is not None:
            found[key] = inside
    return found or None


def name_of(value: Any) -> str:
    """The name under which `function` finds a class or function of ours, or a built-in one."""
    return f"{value.__module__}.{value.__qualname__}".removeprefix("leftoff.").removeprefix(
        "builtins."
    )


def _fields(value: Any) -> dict[str, Any] | None:
    """The fields of a value of ours that are no defaults; None if it is of no such class."""
    if not type(value).__module__.startswith("leftoff."):
        return None
    if isinstance(value, msgspec.Struct):
        defaults = {f.name: f.default for f in msgspec.structs.fields(value)}
    elif dataclasses.is_dataclass(value):
        defaults = {f.name: f.default for f in dataclasses.fields(value) if f.init}
    elif names := getattr(value, "_fields", ()):
        defaults = dict.fromkeys(names, ...) | getattr(value, "_field_defaults", {})
    else:
        return None
    given = {name: getattr(value, name) for name in defaults}
    return {n: v for n, v in given.items() if v is not defaults[n] and v != defaults[n]}


def outcomes(calls: Iterable[tuple[str, str]], folder: Path) -> Iterator[str]:
    """What calls give or raise one after the other in a folder, as it stands in the file."""
    with chdir(folder):
        yield from _outcomes(calls, folder)


def _outcomes(calls: Iterable[tuple[str, str]], folder: Path) -> Iterator[str]:
    earlier: list[Any] = []
    for name, given in calls:
        text = given.replace("$TMP", str(folder)).replace("$ROOT", str(ROOT))
        arguments, end = json.JSONDecoder().raw_decode(text)
        rest, _, names = text[end:].partition(" | ")
        if name == "+":
            _write(folder, arguments)
            yield "> null"
            continue
        before = files(folder)
        result: Any = None
        try:
            keywords = decode(json.loads(rest.strip() or "{}"), earlier)
            result = function(name)(*decode(arguments, earlier), **keywords)
            if isinstance(result, Iterator):
                result = list(result)
        except Exception as error:
            if not type(error).__module__.startswith(("leftoff.", "builtins")):
                raise
            if isinstance(error, (AttributeError, LookupError, NameError, TypeError)):
                raise  # a mistake in the code, which is nothing to be expected
            found = f"! {type(error).__name__}: " + json.dumps(str(error), ensure_ascii=False)
        else:
            try:
                text = json.dumps(encode(result, exact=False), ensure_ascii=False)
                # Here too, since how long a field is must not depend on the folder's name.
                shown = json.loads(
                    text.replace(str(folder), "$TMP").replace(str(ROOT), "$ROOT")
                )
            except TypeError:
                shown = None
            if shown and names or result is not None and shown is None:
                shown = only(shown, names.split()) or {"$type": type(result).__name__}
            found = "> " + json.dumps(shown, ensure_ascii=False)
        if made := changed(before, files(folder)):
            found += f" & {json.dumps(made, ensure_ascii=False)}"
        yield found.replace(str(folder), "$TMP").replace(str(ROOT), "$ROOT")
        earlier.append(result)


def files(folder: Path) -> dict[str, bytes]:
    """What the files of a folder hold, by their names in it."""
    found = sorted(p for p in folder.rglob("*") if p.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def changed(before: dict[str, bytes], after: dict[str, bytes]) -> dict[str, Any]:
    """The files that differ: their text, of long ones a hash, None where one was removed."""
    made: dict[str, Any] = {name: None for name in before if name not in after}
    for name, data in after.items():
        if before.get(name) != data:
            short = len(data) <= 600 and data.isascii()
            made[name] = data.decode() if short else hashlib.sha256(data).hexdigest()[:16]
    return made


def _write(folder: Path, given: dict[str, Any]) -> None:
    for name, value in given.items():
        path, data = folder / name, decode(value, [])
        if data is None:
            path.unlink()
        elif name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.encode() if isinstance(data, str) else data)


EVERY = [case for path in sorted(FOLDER.glob("*.cases")) for case in cases(path)]


@pytest.mark.parametrize("case", EVERY, ids=lambda case: f"{case.part}: {case.title}")
def test_calls(case: Case, tmp_path: Path) -> None:
    given = [(name, arguments) for name, arguments, _ in case.calls]
    found = list(outcomes(given, tmp_path))
    if os.environ.get("LEFTOFF_UPDATE_CASES"):
        case.calls[:] = [(*call, result) for call, result in zip(given, found, strict=True)]
        mine = [one for one in EVERY if one.part == case.part]
        (FOLDER / f"{case.part}.cases").write_text("\n".join(_lines(mine)), "utf-8")
    for (name, arguments, expected), result in zip(case.calls, found, strict=True):
        assert result == expected, f"{name} {arguments}"


def _lines(given: list[Case]) -> Iterator[str]:
    for case in given:
        yield f"# {case.title}"
        for name, arguments, result in case.calls:
            yield f"{name} {arguments}"
            if result != "> null":
                yield result
        yield ""
