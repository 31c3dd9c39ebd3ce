"""Cuts the power under writers: what a disk holds at a moment is mounted and looked at.

    python -m tests.fuzz.cut_power [--cuts 250] [--seed 1] [--mode ordered|writeback]

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

import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.fuzz import harness
from tests.fuzz.harness import Acknowledged, Children, Unable, mounted, run

from leftoff.errors import LeftoffError
from leftoff.stores.atomic import write_atomic

MODES = {
    "ordered": "data=ordered,commit=30",
    "writeback": "data=writeback,noauto_da_alloc,commit=30",
}
MIB = 64
RENEW = 60
"""Cuts after which a new file system is made, so that it does not become full."""

SORTS = ("files", "sqlite")


def careless(path: Path, data: bytes) -> None:
    """As many programs write: whole for other processes, but not brought to the disk."""
    waiting = path.with_suffix(".tmp")
    waiting.write_bytes(data)
    waiting.replace(path)


Put = Callable[[Path, bytes], None]


def write(root: Path, log: Path, put: Put) -> None:
    """Saves for ever; a log says what was acknowledged."""
    noted = Acknowledged.to(log)
    kept = {sort: harness.opened(root, sort) for sort in SORTS}
    n = 0
    while True:
        n += 1
        for sort, store in kept.items():
            for name in ("same", f"fresh-{n}") if n % 3 == 0 else ("same",):
                noted(f"{sort}/{name}", partial(harness.save, store, name))
        noted("plain/", lambda mark: put(root / "plain", page(mark)))


def page(mark: str) -> bytes:
    return f"{mark} {harness.FILLER} {mark}".encode()


def wrong(root: Path, log: Path) -> Iterator[str]:
    """What was lost, torn or invented."""
    acknowledged = Acknowledged()
    acknowledged.take(log)
    kept = {sort: harness.opened(root, sort) for sort in SORTS}
    for name in sorted(acknowledged.ids):
        sort, _, own = name.partition("/")
        try:
            mark = harness.mark_of(kept[sort], own) if own else _plain(root)
        except (AssertionError, LeftoffError, ValueError) as error:
            yield f"torn: {name}: {error!r:.200}"
            continue
        fault = acknowledged.fault(name, mark)
        if fault:
            yield fault


def _plain(root: Path) -> str:
    try:
        data = (root / "plain").read_bytes()
    except FileNotFoundError:
        return ""
    mark = data.partition(b" ")[0].decode()
    assert data == page(mark), "not what was written"
    return mark


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
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    found: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        image, cut, disk, look = (folder / n for n in ("image", "cut", "disk", "look"))
        while counts["cuts"] < times:
            log = folder / "log"
            log.unlink(missing_ok=True)
            image.unlink(missing_ok=True)
            with image.open("wb") as out:
                out.truncate(MIB << 20)
            run("/sbin/mkfs.ext4", "-q", str(image))
            options = f"loop,{MODES[mode]}"
            with mounted(disk, "-o", options, str(image)):
                writer = Children(lambda log=log: write(disk, log, put))  # type: ignore[misc]
                try:
                    for _ in range(min(RENEW, times - counts["cuts"])):
                        time.sleep(chance.uniform(0.02, 0.25))
                        writer.stop()
                        while not copied(image, cut):
                            counts["copies thrown away"] += 1
                        with mounted(look, "-o", options, str(cut)):
                            found += [f"cut {counts['cuts']}: {w}" for w in wrong(look, log)]
                        counts["cuts"] += 1
                        writer.go_on()
                finally:
                    found += writer.kill()
            counts["acknowledged"] += log.read_text().count("ack ")
            tell(f"{mode}: {counts['cuts']} cuts, {len(found)} wrong")
    return counts, found


def main() -> int:
    args = harness.options(__doc__, cuts=250, seed=1, mode=("", *MODES), careless=False)
    put = careless if args.careless else write_atomic
    try:
        return max(
            harness.tried(mode, partial(cuts, mode, args.cuts, args.seed, put, harness.tell))
            for mode in ([args.mode] if args.mode else MODES)
        )
    except Unable as error:
        print(f"skipped: {error}")
        return 77


if __name__ == "__main__":
    sys.exit(main())
