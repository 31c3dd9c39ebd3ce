"""Many sessions of one size, made of real ones: repeated, each with ids of its own.

    python -m benchmarks.batch.data FOLDER OUT [--files 2000] [--size 250000]

FOLDER holds Claude Code sessions (.jsonl, also .gz). Each file in OUT is a piece of one of
them, of about the given size, cut at line ends. Every UUID becomes another one, the same within
a file, so that no two files are one session. Nothing of this belongs into the repository.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import re
from collections.abc import Iterator
from itertools import count, cycle, islice
from pathlib import Path

UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def pieces(path: Path, size: int) -> Iterator[bytes]:
    """A session in pieces of at least `size` bytes, whole lines; the rest is left out."""
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    held: list[bytes] = []
    length = 0
    for line in data.splitlines(keepends=True):
        if len(line) > size:
            continue
        held.append(line)
        length += len(line)
        if length >= size:
            yield b"".join(held)
            held, length = [], 0


def renewed(piece: bytes, number: int) -> bytes:
    """The piece with UUIDs of its own."""
    salt = str(number).encode()
    known: dict[bytes, bytes] = {}

    def other(match: re.Match[bytes]) -> bytes:
        old = match[0]
        if old not in known:
            new = hashlib.blake2b(salt + old, digest_size=16).hexdigest()
            parts = (new[:8], new[8:12], new[12:16], new[16:20], new[20:])
            known[old] = "-".join(parts).encode()
        return known[old]

    return UUID.sub(other, piece)


def build(folder: Path, out: Path, files: int, size: int) -> int:
    """Writes the files; returns their bytes. What is there already stays."""
    out.mkdir(parents=True, exist_ok=True)
    found = [p for p in sorted(folder.rglob("*.jsonl*")) if p.name.endswith((".jsonl", ".gz"))]
    real = [piece for path in found for piece in pieces(path, size)]
    if not real:
        raise SystemExit(f"{folder}: no session of {size} bytes")
    total = 0
    for number, piece in islice(zip(count(), cycle(real)), files):
        path = out / f"session-{number:06}.jsonl"
        if not path.exists():
            path.write_bytes(renewed(piece, number))
        total += path.stat().st_size
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--size", type=int, default=250_000)
    given = parser.parse_args()
    total = build(given.folder, given.out, given.files, given.size)
    print(f"{given.out}: {given.files} files, {total / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
