"""Does what a page of the documentation says, to the letter, and shows what came of it.

    python tests/docs/follow.py [--checkout FOLDER] [--keep FOLDER] [--update] PAGE...

A page begins in an empty folder of an empty home, in one shell from its first command to its last,
and finds a checkout in `~/leftoff`. Without `--checkout`, that is this one, and `leftoff` is that of
this interpreter; with it, `~/leftoff` is a copy of FOLDER, and the page has to install leftoff
itself. What stands in a page:

- a fence of kind `console`: each line that begins with `$ ` is a command, what follows is its output;
- a fence with a title: a file of that name, as a reader would write it;
- `<!-- install -->` before a fence: its commands are left out without `--checkout`;
- `<!-- run: COMMAND -->`: done, and not shown;
- `<!-- needs: MODULE, ... -->`: the page is left as it is where these cannot be imported.

What differs from run to run (ids made of the time, sizes, durations) may differ; home, interpreter
and the like are shown as those of a reader. Prints each page that shows something else, with the
difference, and exits 1; `--update` writes it into the page instead.
"""

import argparse
import difflib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
HOME = "/home/you"
PYTHON = f"{HOME}/leftoff/.venv/bin/python"
_STEP = re.compile(
    r"^<!-- run: (?P<hidden>.*?) -->$"
    r'|^(?P<install><!-- install -->\n)?```(?P<kind>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<body>.*?)^```$',
    re.DOTALL | re.MULTILINE,
)
_NEEDS = re.compile(r"<!-- needs: (.*?) -->")
_VARYING = [
    (re.compile(r"\b\d{8}T\d{12}Z"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?Z?"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|MB/s)\b"), "FAST"),
    (re.compile(r"\b[\d,]+ (B|bytes)\b"), "SIZE"),
    (re.compile(r"\b\d+\.\d+h ago\b"), "AGO"),
    (re.compile(r"\brules [0-9a-f]{16}\b"), "RULES"),
    (re.compile(r"tried all \d+"), "TRIED"),  # more where a plug-in is installed
    (re.compile(r"^slowest: .*", re.MULTILINE), "SLOWEST"),
]
_LEFT_BEHIND = (".git", ".venv", ".nox", "*_cache", ".hypothesis", "__pycache__", "site")


class Step(NamedTuple):
    """One thing that a reader does: a command, or a file that is written."""

    command: str = ""
    file: str = ""
    text: str = ""
    installs: bool = False


def steps(page: str) -> Iterator[Step]:
    """What a page says to do, in its order."""
    for match in _STEP.finditer(page):
        if match["hidden"]:
            yield Step(command=match["hidden"])
        elif match["title"]:
            yield Step(file=match["title"], text=match["body"])
        elif match["kind"] == "console":
            for line in match["body"].splitlines():
                if line.startswith("$ "):
                    yield Step(command=line[2:], installs=bool(match["install"]))


def lacking(page: str) -> list[str]:
    """Modules that a page needs and that are not here."""
    found = _NEEDS.search(page)
    names = found[1].split(", ") if found else []
    return [name for name in names if importlib.util.find_spec(name) is None]


def outputs(todo: list[Step], folder: Path, checkout: Path | None) -> list[str]:
    """What each step prints, done in one shell."""
    home, tools, told = folder / "you", folder / "bin", folder / "told"
    for each in (home, home / "shop", tools, told):
        each.mkdir()
    if checkout:
        behind = shutil.ignore_patterns(*_LEFT_BEHIND)
        shutil.copytree(checkout, home / "leftoff", ignore=behind)
        programs = {"python3": ""}
    else:
        (home / "leftoff").symlink_to(ROOT)
        programs = {"leftoff": "-m leftoff ", "python": ""}
    for name, words in programs.items():
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
        (tools / name).chmod(0o755)
    script = [f'cd "{home}/shop"']
    for number, step in enumerate(todo):
        if step.file:
            (told / f"{number}.file").write_text(step.text, encoding="utf-8")
            script.append(f'mkdir -p "$(dirname "{step.file}")"')
            script.append(f'cp "{told}/{number}.file" "{step.file}"')
        elif checkout or not step.installs:
            command = step.command.replace("'", "'\\''")
            script.append(f"eval '{command}' >\"{told}/{number}\" 2>&1 </dev/null")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LEFTOFF_", "PYTEST_"))}
    for gone in ("FORCE_COLOR", "PYTHONPATH", "VIRTUAL_ENV", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        kept.pop(gone, None)
    subprocess.run(
        ["bash", "-c", "\n".join(script)],
        check=False,
        timeout=600,
        env={
            **kept,
            "HOME": str(home),
            "PATH": f"{tools}:{os.environ['PATH']}",
            "PYTHONUNBUFFERED": "1",  # so that stdout and stderr come in the order of a terminal
            "TZ": "UTC",
        },
    )
    said = []
    for number in range(len(todo)):
        place = told / str(number)
        text = place.read_text(encoding="utf-8") if place.exists() else ""
        said.append(text.replace(str(home), HOME).replace(sys.executable, PYTHON))
    return said


def steady(text: str) -> str:
    """A text without what differs from run to run."""
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return text


def followed(page: str, folder: Path, checkout: Path | None = None) -> str:
    """The page with what its commands print."""
    todo = list(steps(page))
    said = iter(outputs(todo, folder, checkout))

    def shown(match: re.Match[str]) -> str:
        if match["hidden"] or match["title"]:
            next(said)
            return match[0]
        if match["kind"] != "console":
            return match[0]
        commands = re.split(r"^(?=\$ )", match["body"], flags=re.MULTILINE)
        out = []
        for old in filter(None, commands):
            command = old.splitlines()[0]
            new = "\n".join([command, *next(said).rstrip().splitlines()]) + "\n"
            same = steady(old) == steady(new) or (match["install"] and not checkout)
            out.append(old if same else new)
        return f"{match['install'] or ''}```console\n{''.join(out)}```"

    return _STEP.sub(shown, page)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="+", type=Path, metavar="PAGE")
    parser.add_argument("--checkout", type=Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--keep", type=Path, help="an empty folder to work in, for one page")
    given = parser.parse_args()
    wrong = 0
    for place in given.pages:
        page = place.read_text(encoding="utf-8")
        missing = lacking(page)
        if missing:
            print(f"{place}: left out, needs {', '.join(missing)}")
            continue
        if given.keep:
            given.keep.mkdir()
            made = followed(page, given.keep.resolve(), given.checkout)
        else:
            with tempfile.TemporaryDirectory() as folder:
                made = followed(page, Path(folder).resolve(), given.checkout)
        if made == page:
            print(
                f"{place}: {sum(1 for step in steps(page) if step.command)} commands as shown"
            )
        elif given.update:
            place.write_text(made, encoding="utf-8")
            print(f"{place}: written")
        else:
            wrong += 1
            sys.stdout.writelines(
                difflib.unified_diff(
                    page.splitlines(keepends=True),
                    made.splitlines(keepends=True),
                    str(place),
                    "what happens",
                )
            )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
