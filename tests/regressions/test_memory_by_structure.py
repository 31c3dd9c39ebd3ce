"""The memory that a recording takes is bounded by what it says, not by how it is built.

A gzip of 10 GB of zeros took 660 MB until it was refused: what it unpacked to was held as it
was, twice. A message of 100,000 calls took up to 277 MB for 9 MB: the lines that the format was
recognised by stayed decoded while they were decoded again, and each extractor held all of its
evidence before the first piece of it was packed.
"""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from leftoff import Pass
from leftoff.extraction.evidence import Called
from leftoff.extraction.evidence_log import BLOCK, EvidenceLog
from leftoff.extraction.lines import UNPACKED, HeldBytes

MB = 1 << 20

# The peak of the process itself: the one that its parent is told counts the parent's pages too,
# from the time between fork and exec.
MEASURE = """
import sys
from pathlib import Path
from leftoff.__main__ import main
code = main(sys.argv[1:])
status = Path("/proc/self/status").read_text()
print(next(line for line in status.splitlines() if line.startswith("VmHWM:")), file=sys.stderr)
sys.exit(code)
"""


def most_memory(path: Path) -> tuple[int, bytes, int]:
    """Exit code, words and most memory (MB) of `leftoff summarize` on a file."""
    program = [sys.executable, "-c", MEASURE, "summarize", str(path), "--json"]
    done = subprocess.run(
        program, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
    )
    said, _, peak = done.stderr.rpartition(b"VmHWM:")
    return done.returncode, said, int(peak.split()[0]) // 1024


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak on Linux alone")
@pytest.mark.parametrize("piece", [b"\0", b" ", b"abc def "])
def test_a_bomb_is_refused_in_little_memory(piece: bytes, tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.gz"
    with gzip.open(bomb, "wb", 1) as stream:
        for _ in range(300):
            stream.write(piece * (MB // len(piece)))
    code, said, most = most_memory(bomb)
    assert code == 2
    assert b"more than 256 MiB" in said or b"no transcript" in said
    assert most <= 150


def claude_calls(number: int) -> bytes:
    uses = ",".join(
        f'{{"type":"tool_use","id":"t{n}","name":"Bash","input":{{"command":"ls a{n}"}}}}'
        for n in range(number)
    )
    return (
        '{"type":"user","uuid":"u0","sessionId":"s","message":{"role":"user","content":"Go."}}\n'
        '{"type":"assistant","uuid":"u1","sessionId":"s","message":{"role":"assistant",'
        f'"content":[{uses}]}}}}\n'
    ).encode()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak on Linux alone")
def test_a_message_of_a_hundred_thousand_calls(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(claude_calls(100_000))
    code, said, most = most_memory(path)
    assert (code, said) == (0, b"")
    assert most <= 200


def test_the_evidence_of_one_message_is_packed_while_it_is_found() -> None:
    log = EvidenceLog()
    alive = count()
    unpacked: list[int] = []

    def pieces() -> Iterator[Called]:
        for number in range(3 * BLOCK):
            next(alive)
            unpacked.append(len(log._newest))
            yield Called(0, number, "Bash", "shell")

    log.extend(pieces())
    assert len(log) == 3 * BLOCK
    assert max(unpacked) < BLOCK
    assert [c.part for c in log.of(Called)] == list(range(3 * BLOCK))


@pytest.mark.parametrize("piece", [b"\0", b"{}\n", b" [1,", bytes(range(256)), os.urandom(MB)])
def test_held_bytes_are_what_was_added(piece: bytes) -> None:
    held = HeldBytes()
    block = piece * max(1, MB // len(piece))
    added = io.BytesIO()
    for _ in range(2 * UNPACKED // len(block) + 3):
        held.append(block)
        added.write(block)
    copy = held.copy()
    held.append(b"more")
    assert len(copy) == len(added.getvalue()) == len(held) - 4
    assert copy.whole() == added.getvalue()
    assert held.whole() == added.getvalue() + b"more"
    assert held.first == piece.lstrip()[:1]


def test_a_long_repetitive_document_is_still_read() -> None:
    """What is held compressed is read as it was."""
    words = "The total of the ledger is wrong. " * (3 * UNPACKED // 34)
    document = f'[{{"role": "user", "content": "{words}"}}]'.encode()
    whole, pieces = Pass("s"), Pass("s")
    whole.feed(document)
    for at in range(0, len(document), MB):
        pieces.feed(document[at : at + MB])
    first, second = whole.summary(), pieces.summary()
    assert first == second
    assert first.user_requests[0].text.startswith("The total of the ledger")
