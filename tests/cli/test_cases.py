"""Commands as people run them, as data: what each prints and how it ends.

`cases/PART.cases` holds the cases of one part; the lines above the first begin each of them:

    # title                    begins a case, in a home of its own, which is the current folder
    cd name                    makes a folder and goes there
    + name: "text"             a file of the home, as JSON: a text, [records] as lines of JSON,
                               {"copy": "path of the checkout"} (with "replace": {"a": "b"}
                               and "to": its first bytes), {"session": [...]} as in tests/unit/test_calls.py,
                               {"bytes": "..."}, {"pieces": ["a", ["b", 90]]}
                               where a piece repeats, null for one that is removed;
                               `+ name @1790000000: ...` says when it was changed,
                               `+ name @x: ...` that it is a program
    $ NAME=x leftoff list -n1  a command, as a POSIX shell splits it; ~ is the home, ^ the checkout
    < "text"                   what it reads on stdin, as a file above
    | line                     stdout; `...` alone stands for any lines, … in a line for any words,
                               `(as 2)` for what the case's second command printed, `(file name)`
                               for what a file holds
    ! line                     stderr
    = 2                        the exit code, where it is not 0
    - words                    stands in nothing that it printed or wrote
    > name "text"              a file that it made, changed or removed (null); of a long one the name.
                               All of them stand there, or none

What a command makes is for its owner alone: others may not open it.

`LEFTOFF_UPDATE_CASES=1 python -m pytest -n 0 tests/cli/test_cases.py` writes what is printed now, where a
case differs: look at the difference before you commit it.
"""

import json
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cli.conftest import Run
from tests.unit.test_calls import session

FOLDER = Path(__file__).parent / "cases"
ROOT = Path(__file__).parents[2]
AGES = re.compile(
    r"\d{8}T\d{12}Z|"
    r"\b\d+ (?:s|min|h|d|days?|weeks?) ago\b|\b20(?:2[6-9]|3\d)-\d\d-\d\d[T ]\d\d:\d\d\S*"
)
"""What is printed of the time of the run."""
AS = re.compile(r"\| \((?:as (\d+)|file (.*))\)")
FOREIGN = ("client/",)
"""Folders in which a case's own programs write."""
LONG = 600
"""Characters of a file that are shown. Chosen by hand; not measured."""


class Case(NamedTuple):
    """A title, the lines that each case of its file begins with, and its own."""

    part: str
    title: str
    begin: list[str]
    lines: list[str]


def cases(path: Path) -> Iterator[Case]:
    """The cases of a file."""
    head, *rest = re.split(r"(?m)^# ", path.read_text("utf-8"))
    for text in rest:
        title, *lines = text.rstrip("\n").split("\n")
        yield Case(path.stem, title, head.split("\n"), lines)


def content(value: Any) -> bytes:
    """What a file of a case holds."""
    match value:
        case str():
            return value.encode("utf-8", "surrogatepass")
        case list():
            return b"".join(json.dumps(record).encode() + b"\n" for record in value)
        case {"session": items}:
            return session(items)
        case {"bytes": text}:
            return str(text).encode("latin-1")
        case {"copy": path}:
            data = (ROOT / str(path)).read_bytes()
            for old, new in value.get("replace", {}).items():
                data = data.replace(old.encode(), new.encode())
            return data[: value.get("to")]
        case {"pieces": pieces}:
            return b"".join(
                p.encode("latin-1") if isinstance(p, str) else p[0].encode("latin-1") * p[1]
                for p in pieces
            )
    raise TypeError(f"not a file: {value!r}")


def put(home: Path, line: str) -> None:
    """Writes the file of a line that begins with `+ `, or removes it."""
    name, _, value = line[2:].partition(": ")
    name, _, at = name.partition(" @")
    path, given = home / name, json.loads(value.replace("$HOME", str(home)))
    if given is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith("/"):
        path.mkdir(exist_ok=True)
    else:
        path.write_bytes(content(given))
    if at == "x":
        path.chmod(0o755)
    elif at:
        os.utime(path, (int(at), int(at)))


def shown(data: bytes, home: Path) -> list[str]:
    """The lines of a stream or file, without what differs from run to run."""
    text = data.decode("utf-8", "backslashreplace").replace(str(home), "~")
    return AGES.sub("…", text.replace(str(ROOT), "^")).rstrip("\n").split("\n") if data else []


def files(home: Path) -> dict[str, bytes]:
    found = (p for p in home.rglob("*") if p.is_file() and ".lock" not in p.name)
    return {str(p.relative_to(home)): p.read_bytes() for p in sorted(found)}


def ran(
    run: Run, home: Path, command: str, given: bytes, made: bool, never: Sequence[str] = ()
) -> list[str]:
    """What a command gives, as it stands below it in a case; nothing of it holds `never`."""
    words = shlex.split(command.removeprefix("$ "))
    at = words.index("leftoff")
    environ = dict(word.split("=", 1) for word in words[:at])
    places = (("~", str(home)), ("^", str(ROOT)))
    for mark, place in places:
        words = [place + w[1:] if w[:2] in {mark, mark + "/"} else w for w in words]
        environ = {k: place + v[1:] if v[:1] == mark else v for k, v in environ.items()}
        environ = {k: v.replace("$PATH", os.environ["PATH"]) for k, v in environ.items()}
    if "PYTHONPATH" in environ:  # beside what these tests run with
        environ["PYTHONPATH"] += os.pathsep + os.environ.get("PYTHONPATH", "")
        environ["PYTHONDONTWRITEBYTECODE"] = "1"  # Python's files are not leftoff's
    before = files(home)
    done = run(*words[at + 1 :], stdin=given, **environ)
    lines = [f"| {line}".rstrip() for line in shown(done.stdout, home)]
    lines += [f"! {line}".rstrip() for line in shown(done.stderr, home)]
    lines += [f"= {done.returncode}"] if done.returncode else []
    after = files(home)
    new = {name for name, data in after.items() if before.get(name) != data}
    wide = {name for name in new - before.keys() if (home / name).stat().st_mode & 0o077}
    assert all(name.startswith(FOREIGN) for name in wide), f"{command}: others may read {wide}"
    everything = b"\n".join((done.stdout, done.stderr, *(after[name] for name in new)))
    assert not [words for words in never if words.encode() in everything], command
    for name in sorted({*before, *after}) if made else ():
        if before.get(name) != (data := after.get(name)):
            kept = None if data is None else "\n".join(shown(data, home))
            held = json.dumps(kept, ensure_ascii=False)
            lines.append(f"> {AGES.sub('…', name)} {held}")
    return lines


def fits(line: str, expected: str) -> bool:
    """Whether a line is as expected; of a file its name may be enough."""
    return (
        line == expected
        or expected[:1] == ">"
        and " " not in expected[2:]
        and fits(line.split(" ")[1], expected[2:])
        and not line.endswith(" null")
        or "…" in expected
        and bool(re.fullmatch(".*".join(map(re.escape, expected.split("…"))), line))
    )


def same(lines: list[str], expected: list[str]) -> bool:
    """Whether lines are as expected, where `| ...` and `! ...` stand for any lines of theirs."""
    for at, head in enumerate(expected):
        if head[2:] == "...":
            end = at
            while end < len(lines) and lines[end][:1] == head[:1]:
                end += 1
            return any(same(lines[n:], expected[at + 1 :]) for n in range(at, end + 1))
        if at >= len(lines) or not fits(lines[at], head):
            return False
    return len(lines) == len(expected)


EVERY = [case for path in sorted(FOLDER.glob("*.cases")) for case in cases(path)]


@pytest.mark.parametrize("case", EVERY, ids=lambda case: f"{case.part}: {case.title}")
def test_case(case: Case, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (
        "XDG_STATE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    written: list[str] = []
    printed: list[list[str]] = []

    def meant(line: str) -> list[str]:
        found = AS.fullmatch(line)
        if not found:
            return [line]
        if found[1]:
            return printed[int(found[1]) - 1]
        return [
            f"| {one}".rstrip() for one in shown((tmp_path / found[2]).read_bytes(), tmp_path)
        ]

    steps = re.split(r"(?m)^(?=(?:[+$]|cd) )", "\n".join((*case.begin, *case.lines)))
    for step in filter(str.strip, steps):
        command, *expected = step.rstrip("\n").split("\n")
        if command.startswith("cd "):
            (tmp_path / command[3:]).mkdir(parents=True, exist_ok=True)
            monkeypatch.chdir(tmp_path / command[3:])
            written.append(command)
            continue
        if command.startswith("+"):
            put(tmp_path, command)
            written.append(command)
            continue
        given = b""
        if expected and expected[0].startswith("< "):
            given = content(json.loads(expected[0][2:]))
            command += "\n" + expected.pop(0)
        never = [line for line in expected if line.startswith("- ")]
        expected = expected[len(never) :]
        made = any(line.startswith("> ") for line in expected)
        lines = ran(run, tmp_path, command.split("\n")[0], given, made, [n[2:] for n in never])
        printed.append([line for line in lines if line[0] == "|"])
        if not same(lines, [one for line in expected for one in meant(line)]):
            if not os.environ.get("LEFTOFF_UPDATE_CASES"):
                assert lines == expected, command
            long = [len(line) > LONG and line[0] == ">" for line in lines]
            expected = [
                " ".join(x.split(" ")[:2]) if n else x for n, x in zip(long, lines, strict=True)
            ]
        written += [command, *never, *expected]
    case.lines[:] = written[sum(map(bool, case.begin)) :]
    if os.environ.get("LEFTOFF_UPDATE_CASES"):
        mine = ["\n".join(case.begin[:-1]), *()] if any(case.begin) else []
        mine += [
            "\n".join((f"# {one.title}", *one.lines, ""))
            for one in EVERY
            if one.part == case.part
        ]
        (FOLDER / f"{case.part}.cases").write_text("\n".join(mine), "utf-8")
