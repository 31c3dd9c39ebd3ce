"""What an index over a long made-up history costs.

    python -m benchmarks.memory.history [--recordings 10000] [--kilobytes 500] [--folder DIR]

Recordings of the shape of Claude Code, generated from a seed out of the words below, a dozen to
a project, are indexed as `leftoff memory update` does: an eighth, a quarter, half, and all of
them, each step by a process of its own that adds what is new to the same index. A project has
its own names and files, which its sessions read and edit again and again. Printed of each step:
processor time so far (of the process and its two workers), size of the index, peak of the
resident memory of the process and of all processes together, processor time of queries and of
one more turn, without the start of the process; then the exponent with which the time grows.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leftoff.batch.pool import Pool
from leftoff.errors import UsageError
from leftoff.memory.index import opened, update
from leftoff.memory.memory import Memory

SEED = 25
WORKERS = 2

NOUNS = (
    "account address album archive badge basket batch booking branch bridge bucket budget"
    " buffer cabin cache camera cargo carrier catalog chapter cinema circle claim clinic"
    " clock column contract copper corner coupon course crane credit cursor custom dealer"
    " depot device digest drawer driver engine entry event export fabric factory family"
    " ferry filter folder forest garden gate guest handle harbor header hotel image import"
    " index invoice island item jacket journal kernel kitchen ladder layer ledger lesson"
    " letter library limit locker lounge machine market meter mirror module museum needle"
    " notice number office orchard order origin packet panel parcel parser patient payment"
    " pencil permit picture pilot planet player pocket policy printer profile quarter queue"
    " railway receipt record region rental report reserve river rocket route sample schema"
    " school season sensor server shelf signal socket station statement stock stream student"
    " summary supply switch table tariff teacher template tenant ticket token tower tractor"
    " trailer tunnel update upload valley vehicle vendor version village visitor voucher"
    " wagon wallet weather widget window winter worker"
).split()
VERBS = (
    "add apply archive assign build cancel check clear close collect compare compute"
    " convert copy count create deliver detect enable encode expire extract fetch flush"
    " format group import join list load lock match merge move notify parse print publish"
    " queue read rebuild refund release rename render repair reserve resolve restore retry"
    " route save scan schedule send sort split start store sum sync trim update validate"
    " verify write"
).split()


class History:
    """Recordings of one seed, the same for the same number."""

    def __init__(self, kilobytes: int) -> None:
        self._size = kilobytes * 1_000

    def write(self, folder: Path, number: int) -> Path:
        """Writes a recording; returns its path."""
        path = folder / f"{_uuid(number)}.jsonl"
        with path.open("w") as out:
            for line in self.lines(number):
                out.write(json.dumps(line) + "\n")
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
        return path

    def lines(self, number: int) -> Iterator[dict[str, Any]]:
        """The records of a recording, of about the wanted size."""
        chance = random.Random(SEED * 1_000_003 + number)
        project = _Project(number // 12)
        name, written, step = _uuid(number), 0, 0
        while written < self._size:
            for role, content in _turn(chance, project, step):
                record = {
                    "type": role,
                    "sessionId": name,
                    "cwd": project.path,
                    "uuid": _uuid(number, step),
                    "parentUuid": _uuid(number, step - 1) if step else None,
                    "timestamp": _time(number, step),
                    "message": {"role": role, "content": content},
                }
                written += len(json.dumps(content)) + 300
                step += 1
                yield record


def _uuid(number: int, step: int = 0) -> str:
    return f"{number:08d}-0000-4000-8000-{100_000 * number + step:012d}"


def _time(number: int, step: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(1.7e9 + number * 3600 + step))


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choice(NOUNS if n % 3 else VERBS) for n in range(count))


class _Project:
    """A folder with names and files of its own."""

    def __init__(self, number: int) -> None:
        self._chance = chance = random.Random(SEED * 7_919 + number)
        self.path = f"/home/dev/{NOUNS[number % len(NOUNS)]}-{number}"
        self._names = [
            f"{chance.choice(VERBS)}_{chance.choice(NOUNS)}_{chance.choice(NOUNS)}"
            for _ in range(300)
        ]
        folders = [f"{self.path}/src/{chance.choice(NOUNS)}" for _ in range(6)]
        paths = {f"{chance.choice(folders)}/{self.name(chance)}.py": 0 for _ in range(40)}
        self.files = {path: self.code(chance, chance.randint(60, 400)) for path in paths}

    def name(self, chance: random.Random) -> str:
        return self._names[int(len(self._names) * chance.random() ** 2)]

    def code(self, chance: random.Random, lines: int) -> str:
        found = []
        for _ in range(lines // 4):
            given, made = self.name(chance), self.name(chance)
            found += [
                f"def {made}({given}, limit={chance.randint(1, 999)}):",
                f'    """Says how to {_words(chance, 6)}."""',
                f"    return {self.name(chance)}({given}, {chance.random():.4f})",
                "",
            ]
        return "\n".join(found)


def _turn(chance: random.Random, project: _Project, at: int) -> Iterator[tuple[str, Any]]:
    """A prompt, some words, two files read, one edited, the tests run, and a closing line."""
    about = project.name(chance)
    yield "user", f"Please {_words(chance, 12)} in {about}. {_words(chance, 20)}."

    def call(name: str, given: dict[str, Any], result: str, *, bad: bool = False) -> Any:
        nonlocal at
        at += 1
        use = {"type": "tool_use", "id": f"t{at}", "name": name, "input": given}
        back = {"type": "tool_result", "tool_use_id": f"t{at}", "content": result}
        return (("assistant", [use]), ("user", [{**back, "is_error": bad}]))

    one, other = chance.sample(sorted(project.files), 2)
    yield from call("Read", {"file_path": one}, project.files[one])
    said = f"I decided to {_words(chance, 5)} because {_words(chance, 8)}."
    said += f" {_words(chance, 30)}."
    yield "assistant", [{"type": "text", "text": said}]
    found = f"{one}:3:{project.code(chance, 24)}"
    yield from call("Grep", {"pattern": project.name(chance)}, found)
    yield from call("Read", {"file_path": other}, project.files[other])
    new = project.code(chance, 16)
    edit = {"file_path": other, "old_string": project.name(chance), "new_string": new}
    yield from call("Edit", edit, f"The file {other} has been updated.")
    command = f"python -m pytest -q {one}"
    if chance.random() < 0.3:
        error = f"Exit code 1\nE   KeyError: '{project.name(chance)}'\n1 failed in 0.31s"
        yield from call("Bash", {"command": command}, error, bad=True)
    yield from call("Bash", {"command": command}, f"{_words(chance, 40)}\n4 passed in 0.52s")
    yield "assistant", [{"type": "text", "text": f"Done: {_words(chance, 25)}."}]


def _step(folder: Path, index: Path, count: int) -> dict[str, Any]:
    """What a process of its own used that added what is new to the index."""
    command = (sys.executable, "-m", "benchmarks.memory.history", "--index", str(index))
    peak = 0
    with subprocess.Popen(
        (*command, "--folder", str(folder)), stdout=subprocess.PIPE, start_new_session=True
    ) as started:
        while started.poll() is None:
            peak = max(peak, _resident(started.pid))
            time.sleep(1)
        assert started.stdout is not None
        used: dict[str, Any] = json.loads(started.stdout.read())
    size = sum(p.stat().st_size for p in folder.iterdir())
    return {
        "recordings": count,
        "bytes": size,
        **used,
        "peak bytes of all processes": peak,
        "share": round(used["index"] / size, 4),
        "query milliseconds": _queries(index),
        "one more turn milliseconds": _one_more_turn(folder, index, count),
    }


def _resident(session: int) -> int:
    """Bytes of resident memory of a session's processes; what they share counts for each."""
    command = ("ps", "-o", "rss=", "-s", str(session))
    shown = subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout
    return sum(map(int, shown.split())) * 1024


def _build(folder: Path, index: Path) -> dict[str, Any]:
    began, before = time.monotonic(), _of_jobs(index)
    engine = Pool(WORKERS)
    update(index, [str(folder)], environ=os.environ, engine=engine)
    engine.close()
    own = resource.getrusage(resource.RUSAGE_SELF)
    seconds = own.ru_utime + own.ru_stime + _of_jobs(index) - before
    return {
        "processor seconds": round(seconds, 1),
        "wall seconds": round(time.monotonic() - began, 1),
        "peak bytes": own.ru_maxrss * 1024,
        "index": index.stat().st_size,
    }


def _of_jobs(index: Path) -> float:
    """Processor seconds that workers used for what the index holds."""
    if not index.exists():
        return 0.0
    with opened(index) as db:
        seconds: float = db.execute("SELECT coalesce(sum(seconds), 0) FROM jobs").fetchone()[0]
    return seconds


def _one_more_turn(folder: Path, index: Path, count: int) -> float:
    """Processor milliseconds for one more turn of the last recording, the median of five."""
    path, project = folder / f"{_uuid(count - 1)}.jsonl", _Project((count - 1) // 12)
    found = []
    for extra in range(6):
        with path.open("a") as out:
            first = 10_000 * (extra + 1)
            turn = _turn(random.Random(extra), project, first)
            for step, (role, content) in enumerate(turn, first):
                record = {
                    "type": role,
                    "sessionId": path.stem,
                    "cwd": project.path,
                    "uuid": _uuid(count - 1, step),
                    "message": {"role": role, "content": content},
                }
                out.write(json.dumps(record) + "\n")
        began = time.process_time()
        update(index, [str(path)], environ=os.environ)
        found.append(1000 * (time.process_time() - began))
    return round(statistics.median(found[1:]), 1)  # the first one reads all of it


def _queries(index: Path) -> dict[str, float]:
    """Processor milliseconds of queries: words of a prompt, a name, a path, an error."""
    chance, memory, found = random.Random(7), Memory(index), []
    project = _Project(1)
    for number in range(80):
        query = (
            _words(chance, 6),
            project.name(chance),
            chance.choice(sorted(project.files)),
            f"KeyError: '{project.name(chance)}'",
        )[number % 4]
        began = time.process_time()
        try:
            memory.search(query)
        except UsageError:
            continue
        found.append(1000 * (time.process_time() - began))
    return {"median": round(statistics.median(found), 1), "most": round(max(found), 1)}


def main() -> None:
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recordings", type=int, default=10_000)
    parser.add_argument("--kilobytes", type=int, default=500)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--index", type=Path, help="only build it, of --folder")
    given = parser.parse_args()
    if given.index:
        print(json.dumps(_build(given.folder, given.index)))
        return
    history = History(given.kilobytes)
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name) / "recordings"
        folder.mkdir()
        steps: list[dict[str, Any]] = []
        done, used, index = 0, 0.0, Path(name) / "memory.sqlite3"
        for part in (8, 4, 2, 1):
            for number in range(done, given.recordings // part):
                history.write(folder, number)
            done = given.recordings // part
            step = _step(folder, index, done)
            used += step["processor seconds"]
            steps.append({**step, "processor seconds": round(used, 1)})
            print(json.dumps(steps[-1]), file=sys.stderr, flush=True)
    first, last = steps[0], steps[-1]
    growth = math.log(last["processor seconds"] / first["processor seconds"])
    exponent = round(growth / math.log(last["bytes"] / first["bytes"]), 3)
    found = {"steps": steps, "exponent": exponent}
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
