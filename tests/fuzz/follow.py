"""Follows recordings that grow and are rotated, with a follower that is killed at random.

    python -m tests.fuzz follow [--lines 200000 | --seconds S] [--each 20000]
        [--kinds rename,copytruncate,...] [--format claude_code|aider] [--seed 1]

In each trial a writer numbers its records and writes them in pieces of random length: through
the middle of a character, with pauses in the middle of a line. Now and then the recording is
rotated, in one of these ways:

    rename        to another name; the writer finishes a line there and goes on at the path
    copytruncate  copied to another name, then emptied in place, between two lines
    truncate      emptied in place: another session begins
    rewrite       emptied, and at once longer than it was
    recreate      removed and made again (often with the same inode)
    replace       another file is moved over it
    symlink       the path is a link, and leads to another file (in trials of their own)

A follower looks all the time and is killed (kill -9) after random times; another goes on with
what it kept. Before each rotation the writer waits until the recording was looked at, as what
comes and goes between two looks cannot be seen. When the writer is done:

- every numbered line that is still on the disk, in a recording of the newest session, is told
  exactly once, at its place (what is at the path may hold nothing yet, or half a line: then
  the newest session is the one before);
- the follower's summary is that of a batch run over these files, byte for byte.

    python -m tests.fuzz follow --minutes 60

One follower runs through while a paced writer goes on and rotates; its memory (RSS) and open
descriptors are sampled. By a line fitted through the samples after the first tenth memory may
grow by 8 MiB, and in the last third there are at some moment as few descriptors as in the first.

Exits 1 if one is not so. Not part of the test suite: tests/contracts/test_faults.py runs a
small part.
"""

import json
import os
import random
import re
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from statistics import linear_regression
from typing import Any, Protocol

from tests.fuzz import harness
from tests.fuzz.harness import forked

from leftoff import api, codec
from leftoff.analysis.summary_json import to_json
from leftoff.errors import FormatError, LeftoffError
from leftoff.incremental.cursor import Cursor
from leftoff.incremental.follow import MIN_COPY_BYTES, PARTS, Follower
from leftoff.stores.envelope import differing_paths
from leftoff.summary import ContextSummary

GOES_ON = ("rename", "copytruncate")
"""Rotations after which the same session goes on in another file."""

BEGINS_ANEW = ("truncate", "rewrite", "recreate", "replace")

LIMIT_MIB = 8.0
"""What memory may seem to grow by. Chosen by hand; not measured."""

PATIENCE = 60.0
"""Seconds to wait for the follower's look."""


# -- what is recorded ------------------------------------------------------------------------


class Recorder(Protocol):
    """Makes the bytes of numbered records."""

    name: str

    def begin(self, session: int) -> bytes:
        """What stands at the beginning of each file."""
        ...

    def record(self, number: int) -> bytes: ...


class ClaudeCode:
    """A call that reads a file of that number, and its result; now and then a prompt."""

    name = "claude_code"
    before: str | None

    def begin(self, session: int) -> bytes:
        self.session, self.before, self.lines = f"session-{session}", None, 0
        return b""

    def record(self, number: int) -> bytes:
        words = f"Reading number {number}: größer, 数字, \U0001f9f5\U0001f9f5."
        use: dict[str, Any] = {"type": "tool_use", "id": f"call-{number}", "name": "Read"}
        use |= {"input": {"file_path": f"/w/f{number}.py"}}
        result = {"type": "tool_result", "tool_use_id": use["id"], "content": f"zeile {number}"}
        asked = f"Go on with part {number}, bitte schön."
        made = [
            self._line(number, "assistant", [{"type": "text", "text": words}, use]),
            self._line(number, "user", [result]),
        ]
        if number % 101 == 0:
            made.insert(0, self._line(number, "user", asked))
        return b"".join(made)

    def _line(self, number: int, role: str, content: Any) -> bytes:
        self.lines += 1
        me = f"{self.session}-{number}-{self.lines}"
        line: dict[str, Any] = {"parentUuid": self.before, "uuid": me, "cwd": "/w"}
        line |= {"sessionId": self.session, "timestamp": _moment(number), "type": role}
        line |= {"message": {"role": role, "content": content}}
        if role == "assistant":
            line["message"] = {**line["message"], "id": f"m{number}"}
        self.before = me
        return json.dumps(line, ensure_ascii=number % 3 == 0).encode() + b"\n"


class Aider:
    """A prompt, a reply that edits a file of that number, and the word that it was done."""

    name = "aider"

    def begin(self, session: int) -> bytes:
        return f"\n# aider chat started at {_moment(session)[:19]}\n\n".replace(
            "T", " "
        ).encode()

    def record(self, number: int) -> bytes:
        edit = f"<<<<<<< SEARCH\nold\n=======\nnew größer {number}\n>>>>>>> REPLACE"
        return (
            f"#### Change f{number}.py, 数字 \U0001f9f5.  \n\nHere it is, bitte schön.\n\n"
            f"/w/f{number}.py\n```python\n{edit}\n```\n\n> Applied edit to /w/f{number}.py  \n\n"
        ).encode()


RECORDERS: dict[str, type[ClaudeCode | Aider]] = {"claude_code": ClaudeCode, "aider": Aider}
NUMBERED = {"claude_code": rb'"zeile (\d+)"}\]}}', "aider": rb"(?m)^/w/f(\d+)\.py$"}
SESSION = {"claude_code": rb'"sessionId": "([^"]+)"', "aider": rb"started at (.*)\n\n####"}
"""What stands in a recording in which something was said, and which session it is of."""


def _moment(number: int) -> str:
    minutes, seconds = divmod(number, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"2026-{1 + days // 28 % 12:02}-{1 + days % 28:02}T{hours:02}:{minutes:02}:{seconds:02}.000Z"


# -- the writer ------------------------------------------------------------------------------


class Writer:
    """Writes numbered records to a path and rotates it.

    Args:
        home: a folder of its own; the recordings are in it.
        states: the followers' folders.
        pace: seconds to rest after each piece.
    """

    def __init__(
        self,
        home: Path,
        states: list[Path],
        recorder: Recorder,
        chance: random.Random,
        pace: float = 0,
    ) -> None:
        self.home, self.states, self.recorder, self.chance = home, states, recorder, chance
        self.pace = pace
        self.path = home / "recording.log"
        self.number, self.session, self.rotations = 0, 0, 0
        self.counts: Counter[str] = Counter()
        self.linked = False
        self.out = -1

    def begin(self, *, linked: bool = False) -> None:
        """Makes the first recording."""
        self.linked = linked
        if linked:
            self.path.symlink_to("first.log")
        self._open()
        self._write(self.recorder.begin(self.session))

    def _open(self) -> None:
        if self.out >= 0:
            os.close(self.out)
        self.out = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def _write(self, data: bytes) -> None:
        """Writes in pieces of random length."""
        while data:
            size = int(2 ** self.chance.uniform(0, 15))
            os.write(self.out, data[:size])
            data = data[size:]
            if self.chance.random() < 0.01:
                time.sleep(self.chance.uniform(0, 0.005))
            if self.pace:
                time.sleep(self.pace)

    def records(self, count: int) -> bytes:
        """The next records."""
        made = [self.recorder.record(self.number + n) for n in range(count)]
        self.number += count
        return b"".join(made)

    def write(self, count: int) -> None:
        """Writes so many records, in random pieces."""
        while count > 0:
            some = min(count, self.chance.randint(1, 200))
            self._write(self.records(some))
            count -= some

    def rotate(self, kind: str) -> None:
        """Rotates the recording once it was looked at."""
        self.await_look(MIN_COPY_BYTES if kind == "copytruncate" else 1)
        self.counts[kind] += 1
        self.rotations += 1
        aside = self.home / f"{self.path.name}.{self.rotations}"
        if kind == "copytruncate":
            aside.write_bytes(self.path.read_bytes())
            os.ftruncate(self.out, 0)
        elif kind == "rename":
            data = self.records(3)
            cut = self.chance.randrange(len(data))
            self._write(data[:cut])
            self.path.rename(aside)
            self._write(data[cut:])  # it still has the file open
            self._open()
        else:
            self.session += 1
            if kind == "truncate":
                os.ftruncate(self.out, 0)
            elif kind == "rewrite":
                size = os.fstat(self.out).st_size
                data = self.recorder.begin(self.session)
                while len(data) <= size:
                    data += self.records(50)
                with self.path.open("r+b") as file:  # long before the next look
                    file.truncate(0)
                    file.write(data)
                return
            elif kind == "recreate":
                self.path.unlink()
                self._open()
            elif kind == "replace":
                aside.write_bytes(b"")
                aside.replace(self.path)
                self._open()
            elif kind == "symlink":
                link = self.home / "next"
                link.symlink_to(f"real.{self.rotations}.log")
                link.replace(self.path)
                self._open()
            else:
                raise ValueError(kind)
        self._write(self.recorder.begin(self.session))

    def await_look(self, least: int) -> None:
        """Waits until every follower has read what is at the path at least so far; writes on
        until it is that long."""
        while os.fstat(self.out).st_size < least:
            self.write(1)
        end = time.monotonic() + PATIENCE
        for state in self.states:
            while not self._is_looked_at(state, least):
                if time.monotonic() > end:
                    raise TimeoutError("nobody looks")
                time.sleep(0.005)

    def _is_looked_at(self, state: Path, least: int) -> bool:
        try:
            last = json.loads((state / PARTS).read_bytes())["parts"][-1]["mark"]
        except (OSError, IndexError):
            return False
        with self.path.open("rb") as file:  # as it is now: an inode may be used again
            return last["offset"] >= least and Cursor(**last).is_in(file)


# -- the follower ----------------------------------------------------------------------------


def follow(path: Path, state: Path, seed: int, told: Path) -> None:
    """Looks until it is killed; tells of errors in a file."""
    chance = random.Random(seed)
    follower = Follower(path, state)
    while not path.exists():  # nothing is there, and never was: that would be an error
        time.sleep(0.001)
    while True:
        try:
            follower.look()
            if chance.random() < 0.005:
                follower.summary()
        except LeftoffError as error:
            if path.exists() and "no message" not in str(error) and "empty" not in str(error):
                told.write_text(traceback.format_exc())
        except BaseException:  # noqa: BLE001 - told to the parent
            told.write_text(traceback.format_exc())
            return
        time.sleep(chance.uniform(0, 0.01))


# -- what must hold ----------------------------------------------------------------------------


def wrong_with(
    writer_home: Path, recorder: str, path: Path, got: ContextSummary
) -> Iterator[str]:
    """What is not as promised in a summary: the files on the disk are the truth."""
    files = [p for p in writer_home.iterdir() if p.is_file() and not p.is_symlink()]
    files = [p for p in files if _session(recorder, p.read_bytes())]
    last = max(files, key=lambda p: (p == path.resolve(), p.stat().st_mtime_ns))
    newest = _session(recorder, last.read_bytes())
    numbers: Counter[int] = Counter()
    places: dict[str, set[int]] = {}
    lines = 0
    for file in files:
        data = file.read_bytes()
        if _session(recorder, data) == newest:
            found = [int(n) for n in re.findall(NUMBERED[recorder], data)]
            numbers.update(found)
            places[file.name] = set(found)
            lines += data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    told = Counter({_number(f.path): f.touch_count for f in got.file_modifications})
    if told != numbers:
        missing, more = sorted(numbers - told), sorted(told - numbers)
        yield f"{len(missing)} numbers missing {missing[:5]}, {len(more)} too many {more[:5]}"
    if got.stats.lines.total != lines:
        yield f"{got.stats.lines.total} lines told, {lines} on the disk"
    for modification in got.file_modifications:
        source = Path(got.session.sources[modification.refs[0].source].path).resolve().name
        if _number(modification.path) not in places.get(source, ()):
            yield f"{modification.path} is told at {source}, where it is not"
            return


def _number(path: str) -> int:
    return int(re.findall(r"\d+", path)[-1])


def _session(recorder: str, data: bytes) -> bytes:
    found = re.search(SESSION[recorder], data)
    return found[1] if found else b""


def differs(follower: Follower, got: ContextSummary) -> str:
    """How a summary differs from a batch run over the files that it tells of, "" if not."""
    paths = [source.path for source in got.session.sources]
    batch = to_json(api.summarize(paths if len(paths) > 1 else paths[0]))
    odd = differing_paths(codec.parse(to_json(got)), codec.parse(batch))[:5]
    return f"not as a batch run: {odd}" if odd else ""


def trial(
    recorder: str, kinds: list[str], lines: int, seed: int, *, kills: bool = True
) -> harness.Found:
    """One recording followed to its end: what was counted, and what was wrong."""
    chance = random.Random(seed)
    counts, wrong = harness.nothing()
    with tempfile.TemporaryDirectory(prefix="follow-") as folder:
        home, state, told = Path(folder) / "home", Path(folder) / "state", Path(folder) / "told"
        home.mkdir()
        tally = Path(folder) / "tally"
        writer = Writer(home, [state], RECORDERS[recorder](), random.Random(seed))

        def write() -> None:
            writer.begin(linked="symlink" in kinds)
            while writer.number < lines:
                writer.write(chance.randint(1, max(2, lines // 6)))
                writer.rotate(chance.choice(kinds))
                writer.write(chance.randint(0, 50))
            if chance.random() < 0.5:  # the last line is not ended
                last = writer.records(1)
                os.write(writer.out, last[: -1 if chance.random() < 0.5 else 30])
            tally.write_text(json.dumps([writer.number, dict(writer.counts)]))

        writing = forked(write)
        while True:
            follower = forked(lambda: follow(writer.path, state, chance.getrandbits(32), told))
            # Mostly short lives, some long enough for a look at everything.
            life = 0.01 * 2 ** chance.uniform(0, 9) if kills else PATIENCE
            end = time.monotonic() + life
            done = False
            while time.monotonic() < end and not done:
                done = os.waitpid(writing, os.WNOHANG)[0] != 0
                time.sleep(0.002)
            os.kill(follower, signal.SIGKILL)
            os.waitpid(follower, 0)
            counts["kills"] += 1
            if done:
                break
        if not tally.exists():
            return counts, [f"seed {seed}: the writer failed"]
        number, rotations = json.loads(tally.read_text())
        counts["records"] += number
        counts.update(rotations)
        if told.exists():
            wrong.append(f"seed {seed}: the follower failed: {told.read_text()}")
        last_one = Follower(writer.path, state)
        if not any(_session(recorder, p.read_bytes()) for p in home.iterdir() if p.exists()):
            with suppress(FormatError):
                last_one.summary()
                wrong.append(f"seed {seed}: nothing was said, but something is told")
            return counts, wrong
        got = last_one.summary()
        counts["told"] += len(got.session.sources)
        wrong += [
            f"seed {seed}: {what}" for what in wrong_with(home, recorder, writer.path, got)
        ]
        odd = differs(last_one, got)
        if odd:
            wrong.append(f"seed {seed}: {odd}")
        if last_one.look().changed:
            wrong.append(f"seed {seed}: what was read is read again")
        left = [p.name for p in state.iterdir() if p.name.endswith(".tmp")]
        if left:
            wrong.append(f"seed {seed}: litter {left}")
        if wrong:
            kept = Path(tempfile.gettempdir()) / f"follow-wrong-{recorder}-{seed}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept, symlinks=True)
    return counts, wrong


def sizes(pid: int) -> tuple[float, int]:
    """Memory of a process in MiB and its open descriptors."""
    status = Path(f"/proc/{pid}/status").read_text()
    memory = re.search(r"VmRSS:\s+(\d+)", status)
    return int(memory[1]) / 1024 if memory else 0.0, len([*Path(f"/proc/{pid}/fd").iterdir()])


def steady(minutes: float, seed: int) -> harness.Found:
    """One follower for a long time: nothing of it grows, and it tells what a batch run does."""
    chance = random.Random(seed)
    samples: list[tuple[float, float, int]] = []
    with tempfile.TemporaryDirectory(prefix="follow-") as folder:
        home, state, told = (Path(folder) / name for name in ("home", "state", "told"))
        home.mkdir()
        writer = Writer(home, [state], ClaudeCode(), random.Random(seed), pace=0.002)

        def write() -> None:
            writer.begin()
            end = time.monotonic() + 60 * minutes
            while time.monotonic() < end:
                writer.write(chance.randint(50, 300))
                writer.rotate(chance.choice((*GOES_ON * 4, *BEGINS_ANEW)))
                writer.write(5)
                numbered = sorted(home.glob("*.log.*"), key=lambda p: int(p.suffix[1:]))
                for old in numbered[:-3]:  # as logrotate does
                    old.unlink()

        began = time.monotonic()
        writing = forked(write)
        follower = forked(lambda: follow(writer.path, state, seed, told))
        while os.waitpid(writing, os.WNOHANG)[0] == 0:
            samples.append((time.monotonic() - began, *sizes(follower)))
            time.sleep(minutes / 4)
        os.kill(follower, signal.SIGKILL)
        os.waitpid(follower, 0)
        last = Follower(writer.path, state)
        got = last.summary()
        wrong = [*wrong_with(home, "claude_code", writer.path, got), differs(last, got)]
        wrong += [told.read_text()] if told.exists() else []
    settled = [s for s in samples if s[0] > samples[-1][0] / 10]
    slope = linear_regression(*zip(*[s[:2] for s in settled], strict=True)).slope
    growth = slope * (settled[-1][0] - settled[0][0])
    counts = [n for *_, n in settled]
    third = len(counts) // 3
    if growth > LIMIT_MIB:
        wrong.append(f"memory grew by {growth:.1f} MiB")
    if min(counts[-third:]) > min(counts[:third]):  # while it looks, some are open
        wrong.append(f"descriptors: {min(counts[:third])}, then {min(counts[-third:])}")
    most = round(max(memory for _, memory, _ in samples))
    return Counter({"MiB at most": most, "samples": len(samples)}), [w for w in wrong if w]


def main() -> int:
    args = harness.options(
        __doc__, lines=200_000, seconds=float, each=20_000, kinds="", format=("", *RECORDERS),
        seed=1, minutes=0.0,
    )  # fmt: skip
    if args.minutes:
        return harness.tried("follow", lambda: steady(args.minutes, args.seed))
    began, left = time.monotonic(), args.lines
    kinds = args.kinds.split(",") if args.kinds else [*GOES_ON, *BEGINS_ANEW]

    def seeds() -> Iterator[int]:
        for seed in count(args.seed):
            over = time.monotonic() - began >= args.seconds if args.seconds else left <= 0
            if over:
                return
            yield seed

    def one(seed: int) -> harness.Found:
        nonlocal left
        recorder = args.format or ("aider" if seed % 3 == 0 else "claude_code")
        # A third of the trials only rotate, so that many parts are told as one.
        mine = kinds
        if not args.kinds:
            mine = [list(GOES_ON), kinds, ["symlink"] if seed % 6 < 3 else kinds][seed // 2 % 3]
        found, odd = trial(recorder, mine, args.each, seed)
        left -= found["records"]
        return found, odd

    return harness.tried("follow", lambda: harness.each(one, seeds()))
