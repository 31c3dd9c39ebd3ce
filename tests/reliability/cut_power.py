"""Cuts the power under writers: what a disk holds at a moment is mounted and looked at.

    python -m tests.reliability.cut_power [--cuts 250] [--seed 1] [--mode ordered|writeback]

An ext4 file system in a file is mounted; a writer saves to it for ever: over a document that is
there, under new ids, into SQLite and into a plain file (`write_atomic`), and says on another
disk what was acknowledged. At a random moment the writer is stopped and the image is copied, as
far as the kernel has written it: what is only in its memory is lost, as in a power cut. The
copy is mounted, which replays its journal, and everything that was acknowledged must be there,
whole. A copy during which the kernel wrote is thrown away.

`ordered` is what systems use; `writeback` is `data=writeback,noauto_da_alloc`, which gives no
help to those who forget to bring their files to the disk. What the disk itself does with writes
in its cache is not tried. `--careless` writes the plain file without `fsync`, to see that this is
noticed: it must fail. Needs root and loop devices; exits 77 where they are missing.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from leftoff.errors import LeftoffError
from leftoff.stores.atomic import write_atomic
from leftoff.stores.protocol import Store, open_store

MODES = {
    "ordered": "data=ordered,commit=30",
    "writeback": "data=writeback,noauto_da_alloc,commit=30",
}
MIB = 64
RENEW = 60
"""Cuts after which a new file system is made, so that it does not become full."""

FILLER = "The order of the lines is kept, because the index is built at the end. " * 60


class Unable(Exception):
    """It cannot be tried here."""


def document(mark: int) -> dict[str, Any]:
    return {"mark": mark, "filler": FILLER}


def stores(root: Path) -> dict[str, Store]:
    return {"files": open_store(root / "kept"), "sqlite": open_store(f"sqlite:///{root}/k.db")}


def careless(path: Path, data: bytes) -> None:
    """As many programs write: whole for other processes, but not brought to the disk."""
    waiting = path.with_suffix(".tmp")
    waiting.write_bytes(data)
    waiting.replace(path)


Put = Callable[[Path, bytes], None]


def write(root: Path, log: Path, start: int, put: Put) -> None:
    """Saves for ever; a line says what was acknowledged."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    kept = stores(root)
    n = start
    while True:
        n += 1
        for name, store in kept.items():
            fresh = f"fresh-{n}"
            for one in ("same", fresh) if n % 3 == 0 else ("same",):
                os.write(out, f"try {name} {one} {n}\n".encode())
                store.save("task", one, document(n), text=f"# {n}\n")
                os.write(out, f"ack {name} {one} {n}\n".encode())
        os.write(out, f"try plain plain {n}\n".encode())
        put(root / "plain", f"{n} {FILLER} {n}".encode())
        os.write(out, f"ack plain plain {n}\n".encode())


def read_log(log: Path) -> tuple[dict[tuple[str, str], int], dict[tuple[str, str], int]]:
    """The last number that was tried and that was acknowledged, by store and id."""
    tried: dict[tuple[str, str], int] = {}
    done: dict[tuple[str, str], int] = {}
    for line in log.read_text().splitlines() if log.exists() else ():
        word, name, one, n = line.split()
        (tried if word == "try" else done)[name, one] = int(n)
    return tried, done


def wrong(root: Path, log: Path) -> Iterator[str]:
    """What was lost or torn."""
    tried, done = read_log(log)
    kept = stores(root)
    for (name, one), last in tried.items():
        least = done.get((name, one), 0)
        try:
            found = _plain(root) if name == "plain" else _mark(kept[name], one)
        except (AssertionError, LeftoffError, ValueError) as error:
            yield f"torn: {name} {one}: {error!r:.200}"
            continue
        if found < least:
            yield f"lost: {name} {one}: {found} is there, {least} was acknowledged"
        if found > last:
            yield f"invented: {name} {one}: {found}"


def _mark(store: Store, id: str) -> int:
    kept = store.load("task", id)
    if kept is None:
        return 0
    mark = int(kept.document["mark"])
    assert kept.document == document(mark), "not what was saved"
    codes = {issue.code for issue in kept.issues}
    assert codes <= {"text_differs"}, str(kept.issues)
    return mark


def _plain(root: Path) -> int:
    try:
        words = (root / "plain").read_text()
    except FileNotFoundError:
        return 0
    first, _, rest = words.partition(" ")
    assert rest == f"{FILLER} {first}", "not what was written"
    return int(first)


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unable(f"{' '.join(command[:3])}: {done.stderr.strip()}")


@contextmanager
def mounted(image: Path, at: Path, options: str) -> Iterator[None]:
    run("mount", "-o", f"loop,{options}", str(image), str(at))
    try:
        yield
    finally:
        for _ in range(50):
            if not subprocess.run(["umount", str(at)], check=False).returncode:
                break
            time.sleep(0.1)


@contextmanager
def writing(root: Path, log: Path, put: Put) -> Iterator[int]:
    child = os.fork()
    if child == 0:
        try:
            tried, _ = read_log(log)
            write(root, log, max(tried.values(), default=0), put)
        finally:
            os._exit(1)
    try:
        yield child
    finally:
        os.kill(child, signal.SIGCONT)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def copied(image: Path, to: Path) -> bool:
    """Copies an image; False if it was written to meanwhile."""
    before = image.stat().st_mtime_ns
    run("cp", "--sparse=always", str(image), str(to))
    return image.stat().st_mtime_ns == before


def cuts(
    mode: str, times: int, seed: int, put: Put, tell: Callable[[str], None]
) -> tuple[Counter[str], list[str]]:
    """Cuts the power so many times: what was counted, and what was wrong."""
    if os.name != "posix" or os.geteuid() != 0:
        raise Unable("only root can mount")
    for program in ("mkfs.ext4", "mount", "umount", "cp"):
        if shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None:
            raise Unable(f"there is no {program}")
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    found: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        image, cut, disk, look = (folder / n for n in ("image", "cut", "disk", "look"))
        disk.mkdir()
        look.mkdir()
        while counts["cuts"] < times:
            log = folder / "log"
            log.unlink(missing_ok=True)
            image.unlink(missing_ok=True)
            with image.open("wb") as out:
                out.truncate(MIB << 20)
            run("/sbin/mkfs.ext4", "-q", str(image))
            with mounted(image, disk, MODES[mode]), writing(disk, log, put) as child:
                for _ in range(min(RENEW, times - counts["cuts"])):
                    time.sleep(chance.uniform(0.02, 0.25))
                    os.kill(child, signal.SIGSTOP)
                    while not copied(image, cut):
                        counts["copies thrown away"] += 1
                    with mounted(cut, look, MODES[mode]):
                        found += [f"cut {counts['cuts']}: {w}" for w in wrong(look, log)]
                    counts["cuts"] += 1
                    os.kill(child, signal.SIGCONT)
                if os.waitpid(child, os.WNOHANG)[0]:
                    raise AssertionError("the writer has ended")
            counts["acknowledged"] += log.read_text().count("ack ")
            tell(f"{mode}: {counts['cuts']} cuts, {len(found)} wrong")
    return counts, found


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--cuts", type=int, default=250, help="of each mode")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", choices=list(MODES), action="append")
    parser.add_argument("--careless", action="store_true", help="must fail")
    args = parser.parse_args()
    put = careless if args.careless else write_atomic
    bad = 0
    for mode in args.mode or MODES:
        began = time.monotonic()
        try:
            counts, found = cuts(
                mode, args.cuts, args.seed, put, lambda s: print(s, flush=True)
            )
        except Unable as error:
            print(f"skipped: {error}")
            return 77
        bad += len(found)
        told = ", ".join(f"{n} {name}" for name, n in sorted(counts.items()))
        print(f"{mode}: {told}, {len(found)} wrong, {time.monotonic() - began:.0f} s")
        for line in found[:20]:
            print(f"  WRONG {line}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
