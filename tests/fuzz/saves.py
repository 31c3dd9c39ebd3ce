"""Processes that save to the same stores for ever: killed, without power, in a crowd, locked out.

    python -m tests.fuzz saves kills [--store files|packed|sqlite] [--trials 1000] [--seed 1]
    python -m tests.fuzz saves power [--mode ordered|writeback] [--trials 250] [--careless]
    python -m tests.fuzz saves crowd [--store files|packed|sqlite] [--writers 16] [--seconds 20]
    python -m tests.fuzz saves locks

Each process saves unique marks under shared ids and ids of its own, and notes on the outside when
each save began and ended. What is read afterwards must be explained, id by id, by one order of the
calls that keeps those times: nothing acknowledged is lost, nothing is torn or invented.

kills  four processes, killed (kill -9) all at once at a random moment, again and again; the next
       start leaves no temporary file
power  one process on an ext4 file system in a file, which saves into SQLite and a plain file
       (`write_atomic`) as well. At a random moment it is stopped and the image is copied, as far
       as the kernel has written it: what is only in its memory is lost, as in a power cut. The
       copy is mounted, which replays its journal. A copy during which the kernel wrote is thrown
       away. `ordered` is what systems use; `writeback` is `data=writeback,noauto_da_alloc`, which
       gives no help to those who forget to bring their files to the disk. What the disk itself
       does with writes in its cache is not tried. `--careless` writes the plain file without
       `fsync`, to see that this is noticed: it must fail. Needs root and loop devices; exits 77
       where they are missing.
crowd  many processes at once, which read as well
locks  the holder of a lock is killed, or stopped for longer than others have patience; the file
       system has no locks; the folder is read only
"""

import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from itertools import count, pairwise
from pathlib import Path
from typing import NamedTuple

from tests.fuzz import harness, tracing
from tests.fuzz.harness import Children, Unable, mounted, read_only, run

from leftoff.errors import LeftoffError, StateError
from leftoff.stores.atomic import write_atomic
from leftoff.stores.files import FileStore
from leftoff.stores.protocol import Store

NONE = "-"
"""The mark of what is not there."""

NEVER = sys.maxsize

Put = Callable[[Path, bytes], None]


class Call(NamedTuple):
    """A save or a read of a mark, with the times of its begin and end."""

    kind: str
    id: str
    mark: str
    begin: int
    end: int


class Disk:
    """Stores below a folder, and a plain file if there is something that writes it; an id is
    `SORT/NAME`, or `plain/`."""

    def __init__(self, root: Path, sorts: tuple[str, ...], put: Put | None = None) -> None:
        self.root, self.sorts, self.put = root, sorts, put

    @cached_property
    def stores(self) -> dict[str, Store]:
        """Opened in the process that uses them."""
        return {sort: harness.opened(self.root, sort, 60.0) for sort in self.sorts}

    def ids(self, who: int, n: int) -> list[str]:
        names = ["a", "b", f"own-{who}"]
        if self.put and n % 3 == 0:
            names.append(f"fresh-{n}")
        return [f"{s}/{name}" for s in self.sorts for name in names] + ["plain/"] * bool(
            self.put
        )

    def save(self, id: str, mark: str) -> None:
        sort, _, name = id.partition("/")
        if name:
            harness.save(self.stores[sort], name, mark)
        elif self.put:
            self.put(self.root / "plain", _page(mark))

    def read(self, id: str) -> str:
        sort, _, name = id.partition("/")
        if name:
            return harness.mark_of(self.stores[sort], name) or NONE
        path = self.root / "plain"
        data = path.read_bytes() if path.exists() else b""
        mark = data.partition(b" ")[0].decode() or NONE
        assert data in {b"", _page(mark)}, "not what was written"
        return mark


def _page(mark: str) -> bytes:
    return f"{mark} {harness.FILLER} {mark}".encode()


def play(disk: Disk, log: Path, who: int, seconds: float = NEVER, reads: float = 0) -> None:
    """One process: saves, reads in this share of its calls, and notes each when it is done."""
    chance = random.Random(who)
    until = time.monotonic() + seconds
    _ = disk.stores  # opened before there is a log
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for n in count(1):
        if time.monotonic() > until:
            return
        key = chance.choice(disk.ids(who, n))
        if chance.random() < reads:
            begin = time.monotonic_ns()
            done = f"read {key} {disk.read(key)} {begin}"
        else:
            mark = f"{os.getpid()}.{time.monotonic_ns()}"
            done = f"save {key} {mark} {time.monotonic_ns()}"
            os.write(out, f"{done}\n".encode())
            disk.save(key, mark)
        os.write(out, f"{done} {time.monotonic_ns()}\n".encode())


def noted(logs: Iterable[Path]) -> list[Call]:
    """The calls of logs; one that was stopped on the way may have come late, or never."""
    found: dict[tuple[str, ...], Call] = {}
    for log in logs:
        for line in log.read_text().splitlines():
            kind, key, mark, begin, *end = line.split()
            known = Call(kind, key, mark, int(begin), int(end[0]) if end else NEVER)
            found[log.name, key, mark, begin] = known
    return list(found.values())


def seen(disk: Disk, calls: list[Call]) -> tuple[list[Call], list[str]]:
    """What is kept now of these calls, and what is wrong with it."""
    found, wrong = [], []
    for key in sorted({call.id for call in calls}):
        begin = time.monotonic_ns()
        try:
            found.append(Call("read", key, disk.read(key), begin, time.monotonic_ns()))
        except (AssertionError, LeftoffError, ValueError) as error:
            wrong.append(f"torn: {key}: {error!r:.200}")
    by_id: dict[str, list[Call]] = defaultdict(list)
    for call in (*calls, *found):
        by_id[call.id].append(call)
    wrong += [f"{key}: {fault}" for key, own in by_id.items() for fault in faults(own)]
    return found, wrong


def faults(calls: Iterable[Call]) -> Iterator[str]:
    """Why the calls on one id are not linearisable; nothing if they are.

    Marks are unique, so the calls fall into clusters: a save and the reads that saw it. A
    cluster that cannot have been at one moment (its first end comes before its last begin)
    holds the register between these; two such may not overlap, and no other cluster may lie
    wholly inside of one (Gibbons and Korach, 1997).
    """
    clusters: dict[str, list[Call]] = defaultdict(list)
    for one in calls:
        clusters[one.mark].append(one)
    held: list[tuple[int, int, str]] = []
    free: list[tuple[int, int, str]] = []
    for mark, found in clusters.items():
        saves = [c for c in found if c.kind == "save"]
        if mark == NONE and not saves:  # what was there before everything
            saves = [Call("save", "", NONE, 0, 0)]
            found.extend(saves)
        if len(saves) != 1:
            yield f"{mark} was read and never saved"
            continue
        if any(c.end < saves[0].begin for c in found):
            yield f"{mark} was read before it was saved"
        first, last = min(c.end for c in found), max(c.begin for c in found)
        (held if first < last else free).append((min(first, last), max(first, last), mark))
    held.sort()
    for (_, end, first_mark), (begin, _, other) in pairwise(held):
        if begin < end:
            yield f"{first_mark} and {other} were both there at once"
    for begin, end, mark in free:
        for left, right, other in held:
            if left < begin and end < right:
                yield f"{mark} was saved and lost while {other} was there"


# -- kills, power cuts, crowds -----------------------------------------------------------------


def kills(sort: str, trials: int, seed: int, folder: Path) -> harness.Found:
    chance = random.Random(seed)
    counts, wrong = harness.nothing()
    root, logs = folder / "store", [folder / f"log{who}" for who in range(4)]
    root.mkdir()
    known: list[Call] = []
    for number in range(trials):
        disk = Disk(root, (sort,))
        players = Children(*(partial(play, disk, log, who) for who, log in enumerate(logs)))
        began = time.monotonic()
        # Half of the time only once all of them are at work.
        while number % 2 and time.monotonic() < began + 5 and not all(p.exists() for p in logs):
            time.sleep(0.001)
        time.sleep(0.002 * 2 ** chance.uniform(0, 7))
        news = players.kill()
        counts["kills"] += 1
        calls = noted(log for log in logs if log.exists())
        counts["acknowledged"] += sum(call.end != NEVER for call in calls)
        for log in logs:
            log.unlink(missing_ok=True)
        counts["litter before the next start"] += len(harness.litter(root))
        found, odd = seen(disk, known + calls)
        if sort == "sqlite":  # it clears a journal away when it next writes
            disk.stores[sort].save("task", "other", {})
        left = harness.litter(root)
        news += [*odd, *([f"litter after the next start: {left}"] if left else [])]
        # Earlier saves can no longer matter.
        known = [call._replace(kind="save") for call in found if call.mark != NONE]
        wrong += [f"round {number}: {line}" for line in news]
    return counts, wrong


MODES = {
    "ordered": "data=ordered,commit=30",
    "writeback": "data=writeback,noauto_da_alloc,commit=30",
}
MIB = 64
RENEW = 60
"""Cuts after which a new file system is made, so that it does not become full."""


def careless(path: Path, data: bytes) -> None:
    """As many programs write: whole for other processes, but not brought to the disk."""
    waiting = path.with_suffix(".tmp")
    waiting.write_bytes(data)
    waiting.replace(path)


def copied(image: Path, to: Path) -> bool:
    """Copies an image; False if it was written to meanwhile."""
    before = image.stat().st_mtime_ns
    run("cp", "--sparse=always", str(image), str(to))
    return image.stat().st_mtime_ns == before


def power(mode: str, trials: int, seed: int, put: Put, folder: Path) -> harness.Found:
    if os.name != "posix" or os.geteuid() != 0:
        raise Unable("only root can mount")
    chance = random.Random(seed)
    counts, wrong = harness.nothing()
    image, cut, at, look, log = (folder / n for n in ("image", "cut", "disk", "look", "log"))
    while counts["cuts"] < trials:
        log.unlink(missing_ok=True)
        image.unlink(missing_ok=True)
        with image.open("wb") as out:
            out.truncate(MIB << 20)
        run("/sbin/mkfs.ext4", "-q", str(image))
        options = f"loop,{MODES[mode]}"
        with mounted(at, "-o", options, str(image)):
            player = Children(partial(play, Disk(at, ("files", "sqlite"), put), log, seed))
            try:
                for _ in range(min(RENEW, trials - counts["cuts"])):
                    time.sleep(chance.uniform(0.02, 0.25))
                    player.stop()
                    while not copied(image, cut):
                        counts["copies thrown away"] += 1
                    with mounted(look, "-o", options, str(cut)):
                        _, odd = seen(Disk(look, ("files", "sqlite"), put), noted([log]))
                    wrong += [f"cut {counts['cuts']}: {line}" for line in odd]
                    counts["cuts"] += 1
                    player.go_on()
            finally:
                wrong += player.kill()
        counts["acknowledged"] += sum(call.end != NEVER for call in noted([log]))
        harness.tell(f"{mode}: {counts['cuts']} cuts, {len(wrong)} wrong")
    return counts, wrong


def crowd(sort: str, writers: int, seconds: float, folder: Path) -> harness.Found:
    root, logs = folder / "store", [folder / f"log{who}" for who in range(writers)]
    root.mkdir()
    works = (
        partial(play, Disk(root, (sort,)), log, who, seconds, 0.6)
        for who, log in enumerate(logs)
    )
    wrong = Children(*works).wait()
    calls = noted(logs)
    counts = Counter(f"{call.kind}s" for call in calls)
    waits = ((call.end - call.begin) // 10**6 for call in calls)
    counts["longest wait in ms"] = max(waits, default=0)
    return counts, wrong + seen(Disk(root, (sort,)), calls)[1]


# -- locks -------------------------------------------------------------------------------------


@contextmanager
def held(store: FileStore, id: str) -> Iterator[Children]:
    """A process that holds the lock of a document."""
    read, write = os.pipe()

    def hold() -> None:
        with store._held("task", id, "cannot be held", create=True):
            os.write(write, b"x")
            time.sleep(3600)

    holder = Children(hold)
    os.close(write)
    os.read(read, 1)
    os.close(read)
    try:
        yield holder
    finally:
        holder.kill()


def locks(folder: Path) -> harness.Found:
    """Ill locks: what happens, and how long it takes."""
    counts, wrong = harness.nothing()
    root = folder / "store"

    def expect(what: str, patience: float, work: Callable[[], object]) -> None:
        """Work fails with an error of the store, in time, and changes nothing."""
        began = time.monotonic()
        try:
            work()
            wrong.append(f"{what}: no error")
        except StateError as error:
            counts[f"{what}: {str(error).partition('(')[2][:40]}"] += 1
        took = time.monotonic() - began
        if took > patience + 1.0:
            wrong.append(f"{what}: took {took:.1f} s, patience is {patience}")
        if harness.mark_of(FileStore(root), "one") != "before":
            wrong.append(f"{what}: changed")

    store = FileStore(root, timeout=1.0)
    harness.save(store, "one", "before")
    again = partial(harness.save, store, "one", "after")
    with held(store, "one") as holder:
        expect("holder at work", 1.0, again)
        holder.stop()
        expect("holder stopped", 1.0, again)
        if store.load("task", "one") is None:
            wrong.append("a reader was kept waiting")
    began = time.monotonic()
    again()
    counts["holder killed: saved"] += 1
    if time.monotonic() - began > 0.9:
        wrong.append("the lock of one that was killed was waited for")
    harness.save(store, "one", "before")
    if shutil.which("strace"):
        none = ["flock:error=ENOLCK:when=1+"]
        outcome = tracing.traced(lambda: str(again()).encode(), none, folder / "trace")
        if "StateError" not in outcome.said:
            wrong.append(f"no locks: {outcome.said}")
        counts["no locks on the file system: refused"] += 1
    with suppress(Unable), read_only(root):
        expect("read only", 1.0, again)
    return counts, wrong


def main() -> int:
    args = harness.options(
        __doc__, "what:kills|power|crowd|locks", store=("files", "packed", "sqlite"), trials=250,
        seed=1, mode=("", *MODES), careless=False, writers=16, seconds=20.0,
    )  # fmt: skip
    put = careless if args.careless else write_atomic
    ways: dict[str, list[Callable[[Path], harness.Found]]] = {
        "kills": [partial(kills, args.store, args.trials, args.seed)],
        "power": [
            partial(power, mode, args.trials, args.seed, put)
            for mode in ([args.mode] if args.mode else MODES)
        ],
        "crowd": [partial(crowd, args.store, args.writers, args.seconds)],
        "locks": [locks],
    }

    def work(way: Callable[[Path], harness.Found]) -> harness.Found:
        with tempfile.TemporaryDirectory() as folder:
            return way(Path(folder))

    try:
        return max(harness.tried(args.what, partial(work, way)) for way in ways[args.what])
    except Unable as error:
        print(f"skipped: {error}")
        return 77
