"""The memory that a recording takes is bounded by what it says, not by how it is built.

A gzip of 10 GB of zeros took 660 MB until it was refused: what it unpacked to was held as it
was, twice. A message of 100,000 calls took up to 277 MB for 9 MB: the lines that the format was
recognised by stayed decoded while they were decoded again, and each extractor held all of its
evidence before the first piece of it was packed. 100,000 subagents in 24 MB took 747 MB, 100,000
sessions in 8 MB 391 MB. There are limits now, far above what recordings hold; what goes past
them is counted in an issue. A gzip of bare newlines took three minutes until it was refused.
"""

import gzip
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import count
from pathlib import Path

import pytest

from leftoff import ContextSummary, Pass, read, summarize
from leftoff.errors import FormatError, UsageError
from leftoff.extraction import collector, lines
from leftoff.extraction.evidence import Called
from leftoff.extraction.evidence_log import BLOCK, EvidenceLog
from leftoff.extraction.lines import UNPACKED, HeldBytes
from leftoff.extraction.session_state import FURTHER
from leftoff.model import Text

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


linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc has the peak on Linux alone")
LEAST = 150
"""Megabytes that every case may take."""

GO = b'{"type":"user","uuid":"u0","sessionId":"s","message":{"role":"user","content":"Go."}}\n'


@linux
@pytest.mark.parametrize("piece", [b"\0", b"abc def "])
def test_a_bomb_is_refused_in_little_memory(piece: bytes, tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.gz"
    with gzip.open(bomb, "wb", 1) as stream:
        for _ in range(300):
            stream.write(piece * (MB // len(piece)))
    code, said, most = most_memory(bomb)
    assert code == 2
    assert b"more than 256 MiB" in said or b"no transcript" in said
    assert most <= LEAST


def test_where_reading_of_short_lines_stops_is_their_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However the bytes are cut; a few good lines among them do not hide the others."""
    monkeypatch.setattr(lines, "EMPTY_LINES", 500)
    for piece in (b"\n", b"{}\n", b'{"type":"x1"}\n', b"nothing\n"):
        data = GO + piece * 600
        for size in (1, 7, 4096):
            reading = Pass("s")
            with pytest.raises(FormatError, match="500 of the first 501 lines"):
                for at in range(0, len(data), size):
                    reading.feed(data[at : at + size])
    many = (GO + b"\n" * 80) * 20
    reading = Pass("s", "claude_code")
    reading.feed(many)
    reading.close()
    assert reading.lines.skipped == 1600


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


def said_by(agent: str, text: str, key: str) -> bytes:
    return (
        f'{{"isSidechain":true,"agentId":"{agent}","type":"user","uuid":"{key}","sessionId":"s",'
        f'"message":{{"role":"user","content":"{text}"}}}}\n'
    ).encode()


def subagents(number: int) -> bytes:
    each = (said_by(f"a{n:06}", f"Look into failure {n}." * 4, f"k{n}") for n in range(number))
    return GO + b"".join(each)


def parts(number: int) -> bytes:
    each = (
        f'{{"type":"text","text":"I will use option {n}. Tests pass."}}' for n in range(number)
    )
    return (
        GO + b'{"type":"assistant","uuid":"a","message":{"role":"assistant","id":"m","content":['
        + ",".join(each).encode() + b"]}}\n"
    )  # fmt: skip


def results(number: int) -> bytes:
    each = ",".join(
        f'{{"type":"tool_result","tool_use_id":"t{n}","content":"ok {n}"}}'
        for n in range(number)
    )
    said = f'{{"type":"user","uuid":"r","message":{{"role":"user","content":[{each}]}}}}\n'
    return claude_calls(number) + said.encode()


def kinds(number: int) -> bytes:
    return GO * 2 + b"".join(
        b'{"type":"kind%d","uuid":"k%d"}\n' % (n, n) for n in range(number)
    )


def sessions(number: int) -> bytes:
    return b"".join(
        b"# aider chat started at 2026-01-%02d %02d:%02d:%02d\n\n#### Fix %d  \n\nI did it.\n\n"
        % (1 + n // 86400, n // 3600 % 24, n // 60 % 60, n % 60, n)
        for n in range(number)
    )


@linux
@pytest.mark.parametrize(
    ("make", "number"),
    # Half as many subagents or sessions without their limits took 550 and 190 MB.
    [(make, 100_000) for make in (claude_calls, results, parts, kinds)]
    + [(make, 50_000) for make in (subagents, sessions)],
)
def test_very_many_of_one_thing(
    make: Callable[[int], bytes], number: int, tmp_path: Path
) -> None:
    path = tmp_path / "many"
    path.write_bytes(make(number))
    code, said, most = most_memory(path)
    assert code == 0
    assert said == b"" or b"50000 sessions in" in said
    assert most <= LEAST


def summarized(data: bytes) -> ContextSummary:
    reading = Pass("s")
    reading.feed(data)
    return reading.summary()


def counted(summary: ContextSummary) -> dict[str, int]:
    return {issue.code: issue.count for issue in summary.issues}


def test_subagents_past_the_limit_are_read_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "MAX_AGENTS", 3)
    data = subagents(5) + said_by("a000004", "Again.", "l1") + said_by("a000001", "On.", "l2")
    summary = summarized(data + said_by("a000003", "Look into failure 3." * 4, "k3"))
    children = {child.id: child for child in summary.session.children}
    assert {name: child.message_count for name, child in children.items()} == {
        "a000000": 1, "a000001": 2, "a000002": 1, FURTHER: 3,
    }  # fmt: skip
    assert children["a000000"].request.startswith("Look into failure 0.")
    assert (children[FURTHER].request, children[FURTHER].result) == ("", "")
    assert counted(summary) == {"many_subagents": 3, "repeated_record": 1}
    for cut in range(0, len(data), 97):
        reading = Pass("s")
        reading.feed(data[:cut])
        again = Pass.load(reading.save(), "s")
        again.feed(data[again.offset :])
        assert again.summary() == summarized(data)


def test_parts_past_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "MAX_PARTS", 30)
    summary = summarized(results(50))
    assert summary.stats.tool_call_count == 30
    assert counted(summary) == {"many_parts": 40}


def test_claims_past_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "MAX_CLAIMS", 10)
    assert counted(summarized(parts(10))) == {}
    assert counted(summarized(parts(11))) == {"many_claims": 1}


def test_calls_without_results_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "MAX_PENDING", 30)
    reading = Pass("s")
    reading.feed(claude_calls(50))
    reading.close()
    assert list(reading.sessions[-1][""].pending) == [f"t{n}" for n in range(20, 50)]


def test_kinds_past_the_limit_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_KINDS", 10)
    summary = summarized(kinds(50))
    found = [issue for issue in summary.issues if issue.code == "unknown_kind"]
    assert sum(issue.count for issue in found) == 50
    assert len(found) <= 11
    assert summary.stats.lines.unknown == 50


def test_of_very_many_sessions_the_latest_are_held(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(collector, "MAX_SESSIONS", 3)
    path = tmp_path / ".aider.chat.history.md"
    path.write_bytes(sessions(8))

    def asked(name: str) -> str:
        return summarize(name).user_requests[0].text

    assert asked(str(path)) == asked(f"{path}@8") == "Fix 7"
    assert asked(f"{path}@6") == "Fix 5"
    for number in (5, 9):
        with pytest.raises(UsageError, match="8 sessions, of which the last 3 are read"):
            summarize(f"{path}@{number}")
    texts = [part.text for m in read(f"{path}@7") for part in m.parts if isinstance(part, Text)]
    assert texts[0] == "Fix 6"


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
    copy = deepcopy(held)
    held.append(b"more")
    assert len(copy) == len(added.getvalue()) == len(held) - 4
    assert copy.whole() == added.getvalue()
    assert held.whole() == added.getvalue() + b"more"
    assert held.first == piece.lstrip()[:1]
