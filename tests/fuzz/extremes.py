"""Inputs that are too much: bombs, depths, endless lines, hostile repeats, nasty JSON.

    python -m tests.fuzz extremes [memory] [growth] [json] [literals]
        [--megabytes 1024] [--limit 400] [--full]

`memory`: the command on bombs, nests and long recordings, in processes whose address space is
    limited to --limit MB where the input is one of lines. It must answer (exit 0) or refuse in
    one line (exit 2), in less than `MOST_RSS` MB, bombs and odd structures in less than
    `MOST_OF_BOMBS`; the long recording's time must be linear.
`growth`: a text of hostile repeats in every place of a message, at a size and twice the size:
    the whole pass may take 2.3 times as long, no more.
`literals`: what each rule and pattern looks for (`tests.strategies.literals`), repeated with and
    without line breaks, at a quarter, a half and 1 MB: MB/s, and growth per doubling. --full: each
    alternative alone, else those of a pattern in turn. Only growth fails; speed is printed.
`json`: nasty documents, each as a line between good lines and as a whole recording.

Without a name, all of them. Prints tables; exits 1 on a failure. Not part of the test suite:
it is long.
"""

import gzip
import importlib
import io
import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from statistics import linear_regression
from typing import Any, NamedTuple

from tests.fuzz import harness
from tests.regressions import test_memory_by_structure as structures
from tests.strategies.literals import compiled_in, literals
from tests.strategies.recordings import examples

from leftoff import Pass, codec
from leftoff.extraction.decision_model import PATTERNS
from leftoff.extraction.rule_sets import CHECK_RULES, GROUPS, OUTPUT_RULES
from leftoff.formats.reader import formats
from leftoff.testing.checks import check_any_input, check_prefix

MB = 1 << 20
MOST_RSS = 256
MOST_OF_BOMBS = 150
RATIO = 2.3
HOSTILE: dict[str, str] = json.loads(
    Path(__file__).with_name("hostile_repeats.json").read_text("utf-8")
)


class Table:
    """Rows on the way, failures at the end."""

    def __init__(self, *heads: str) -> None:
        self.failed: list[str] = []
        print(" | ".join(heads), flush=True)

    def row(self, *cells: object, wrong: str = "") -> None:
        print(" | ".join(map(str, cells)) + (f"   <-- {wrong}" if wrong else ""), flush=True)
        if wrong:
            self.failed.append(f"{cells[0]}: {wrong}")


# -- memory ----------------------------------------------------------------------------------


def line(number: int, filler: str = "") -> bytes:
    """A line of a Claude Code recording: prompts, answers, calls and results in turn."""
    key = f"00000000-0000-4000-8000-{number:012}"
    name, call = number % 97, number // 4
    sed, code = (
        f'"sed -n 1,80p src/module_{name}.py"',
        "def total(rows):\\n    return sum(rows)\\n",
    )
    kinds = (
        ("user", f'"The total of ledger {name} is wrong. {filler}"'),
        ("assistant", f'[{{"type":"text","text":"I will look at module_{name}.py first. {filler}"}}]'),
        ("assistant", f'[{{"type":"tool_use","id":"t{call}","name":"Bash","input":{{"command":{sed}}}}}]'),
        ("user", f'[{{"type":"tool_result","tool_use_id":"t{call}","content":"{code}{filler * 8}"}}]'),
    )  # fmt: skip
    kind, content = kinds[number % 4]
    parent = f'"00000000-0000-4000-8000-{number - 1:012}"' if number else "null"
    return (
        f'{{"parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":"/home/ada/p",'
        f'"sessionId":"5e551011-0000-4000-8000-000000000000","version":"2.1.0","type":"{kind}",'
        f'"message":{{"role":"{kind}","content":{content}}},"uuid":"{key}",'
        f'"timestamp":"2026-03-02T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"}}\n'
    ).encode()


FILLER = "The order of the lines is kept, because the index is built at the end. " * 3


def recording(size: int) -> Iterator[bytes]:
    """A long recording, made on the way; never in memory as a whole."""
    made = number = 0
    while made < size:
        piece = b"".join(line(number + k, FILLER) for k in range(400))
        number += 400
        made += len(piece)
        yield piece


def repeated(piece: bytes, size: int) -> Iterator[bytes]:
    """A piece again and again, so many bytes of it in all."""
    block = piece * max(1, MB // len(piece))
    for made in range(0, size, len(block)):
        yield block[: size - made]


def good(count: int = 40) -> bytes:
    return b"".join(line(k) for k in range(count))


class Ran(NamedTuple):
    code: int
    seconds: float
    rss: int
    said: str
    answer: bytes


def run(pieces: Iterable[bytes] | Path, limit: int, *more: str) -> Ran:
    """The command on a stream or a file: exit code, processor seconds, most MB, its words."""

    def confine() -> None:
        if limit:
            resource.setrlimit(resource.RLIMIT_AS, (limit * MB, limit * MB))

    place = str(pieces) if isinstance(pieces, Path) else "-"
    program = [sys.executable, "-m", "leftoff", "summarize", place, "--json", *more]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(  # no thread is running yet
            program, stdin=subprocess.PIPE, stdout=out, stderr=err,
            preexec_fn=confine,  # noqa: PLW1509
        )  # fmt: skip
        assert child.stdin is not None

        def feed() -> None:
            assert child.stdin is not None
            try:
                if not isinstance(pieces, Path):
                    for piece in pieces:
                        child.stdin.write(piece)
                child.stdin.close()
            except BrokenPipeError:
                pass

        feeder = threading.Thread(target=feed)
        feeder.start()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        feeder.join()
        out.seek(0)
        err.seek(0)
        said = err.read().decode(errors="replace").strip()
        answer = out.read(4 * MB)
    spent = usage.ru_utime + usage.ru_stime
    return Ran(child.returncode, spent, usage.ru_maxrss // 1024, said, answer)


HEADER = ("header.json", [b'{"version":2,"status":"success","eval":{"task":"t","model":"m"},"samples":[]}'])  # fmt: skip


def zipped(*members: tuple[str, Iterable[bytes]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, pieces in members:
            with archive.open(name, "w", force_zip64=True) as stream:
                stream.writelines(pieces)
    return buffer.getvalue()


def packed(pieces: Iterable[bytes], how: str) -> Iterable[bytes]:
    """What a way of packing makes of a stream; nothing where it cannot be had."""
    if how == "gz":
        buffer = io.BytesIO()
        with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1, mtime=0) as stream:
            stream.writelines(pieces)
        return [buffer.getvalue()]
    if how == "zst":
        try:
            import zstandard
        except ImportError:
            return []
        packer = zstandard.ZstdCompressor(level=3).compressobj()
        return [b"".join([*map(packer.compress, pieces), packer.flush()])]
    return (
        [zipped(HEADER, ("samples/1.json", pieces))]
        if how == "zip"
        else [b"".join(pieces)[:-9]]
    )


def damaged(count: int, size: int) -> bytes:
    """An archive of samples of `size` bytes, none with the checksum that the directory tells:
    each has to be unpacked before that is known."""
    made = zipped(("samples/000.json", repeated(b" ", size)))
    start, end = made.index(b"PK\x01\x02"), made.rindex(b"PK\x05\x06")
    first = zipped(HEADER)
    at = first.index(b"PK\x01\x02")
    files, entries = [first[:at]], [first[at : first.rindex(b"PK\x05\x06")]]
    for number in range(count):
        name = b"%03d.json" % number
        entry = bytearray(made[start:end].replace(b"000.json", name))
        entry[16] ^= 255  # the checksum
        entry[42:46] = sum(map(len, files)).to_bytes(4, "little")
        files.append(made[:start].replace(b"000.json", name, 1))
        entries.append(bytes(entry))
    tail = bytearray(made[end:])
    tail[8:10] = tail[10:12] = (count + 1).to_bytes(2, "little")
    tail[12:16] = sum(map(len, entries)).to_bytes(4, "little")
    tail[16:20] = sum(map(len, files)).to_bytes(4, "little")
    return b"".join([*files, *entries, bytes(tail)])


def calls(count: int, same: bool) -> Iterator[bytes]:
    """One message with many calls; then their results in one."""
    yield line(0)
    yield (
        b'{"type":"assistant","uuid":"a","parentUuid":"00000000-0000-4000-8000-000000000000","message":'
        b'{"role":"assistant","id":"m","content":['
    )
    uses = (
        f'{{"type":"tool_use","id":"c{0 if same else n}","name":"Bash",'
        f'"input":{{"command":"rm -f out/{n}.txt"}}}}'
        for n in range(count)
    )
    yield ",".join(uses).encode()
    yield b']}}\n{"type":"user","uuid":"b","parentUuid":"a","message":{"role":"user","content":['
    backs = (
        f'{{"type":"tool_result","tool_use_id":"c{0 if same else n}","content":"ok"}}'
        for n in range(count)
    )
    yield ",".join(backs).encode()
    yield b"]}}\n"


PARENTS = ("chain", "ring", "fan", "orphans", "itself")


def parents(count: int, kind: str) -> Iterator[bytes]:
    """Messages whose parents form a chain, a ring, a fan, or name nobody."""
    for n in range(count):
        up = {"chain": f"k{n - 1}", "ring": f"k{(n + 1) % count}", "fan": "k0", "orphans": f"o{n}",
              "itself": f"k{n}"}[kind]  # fmt: skip
        who = "user" if n % 2 == 0 else "assistant"
        text = f'"Do number {n}."' if n % 2 == 0 else f'[{{"type":"text","text":"Did {n}."}}]'
        yield (
            f'{{"type":"{who}","uuid":"k{n}","parentUuid":"{up}","sessionId":"s","message":'
            f'{{"role":"{who}","content":{text}}}}}\n'
        ).encode()


def inputs() -> Iterator[dict[str, Any]]:
    """What the command is tried on: `extreme_inputs.json`, and what it takes code to make."""
    told = json.loads(Path(__file__).with_name("extreme_inputs.json").read_text("utf-8"))
    for row in told:
        pieces: Iterable[bytes] = chain.from_iterable(
            [good()] if p == "GOOD" else [p.encode()] if isinstance(p, str) else repeated(p[0].encode(), p[1])
            for p in row["pieces"]
        )  # fmt: skip
        for how in row.get("pack", "").split():
            pieces = packed(pieces, how)
        if "pack" not in row or pieces:
            name = f"a.{row['pack'].split()[0].replace('zip', 'eval')}" if "pack" in row else ""
            yield {**row, "pieces": pieces, "as_file": name}
    lots = [(f"samples/{n}.json", [b"{}"]) for n in range(70_000)]
    bomb = {"confined": False, "rss": MOST_OF_BOMBS, "code": 2, "as_file": "a.eval"}
    yield {
        **bomb,
        "name": "zip with 70,000 members",
        "pieces": [zipped(HEADER, *lots)],
        "rss": MOST_RSS,
    }
    yield {**bomb, "name": "zip with 60 damaged members of 200 MB", "pieces": [damaged(60, 200 * MB)],
           "seconds": 20}  # fmt: skip
    yield {
        **bomb,
        "name": "zip in zip",
        "pieces": packed([zipped(HEADER)], "zip"),
        "confined": True,
    }
    many: dict[str, Iterable[bytes]] = {
        "calls in one message": calls(100_000, same=False),
        "calls of one id in one message": calls(100_000, same=True),
        "subagents": [structures.subagents(100_000)],
        "text parts in one message": [structures.parts(100_000)],
        "kinds of lines": [structures.kinds(100_000)],
        "sessions": [structures.sessions(100_000)],
        **{f"messages, parents: {kind}": parents(100_000, kind) for kind in PARENTS},
    }
    for name, pieces in many.items():
        yield {
            "name": f"10^5 {name}", "pieces": pieces, "code": 0, "confined": False,
            "rss": MOST_OF_BOMBS,
        }  # fmt: skip


def memory(megabytes: int, limit: int) -> list[str]:
    table = Table("input", "exit", "seconds", "MB", "words")
    folder = Path(tempfile.mkdtemp(prefix="leftoff-extremes-"))

    def case(
        name: str, pieces: Iterable[bytes], *, code: int | None = None, rss: int = MOST_RSS, pack: str = "",
        confined: bool = True, words: str = "", as_file: str = "", seconds: float = 60,
    ) -> Ran:  # fmt: skip
        given: Iterable[bytes] | Path = pieces
        if as_file:
            given = folder / as_file
            with given.open("wb") as file:
                file.writelines(pieces)
        ran = run(given, limit if confined else 0)
        if as_file:
            (folder / as_file).unlink()
        last = ran.said.splitlines()[-1] if ran.said else ""
        faults = {
            "a traceback": "Traceback" in ran.said,
            f"exit {ran.code}": ran.code not in (0, 2)
            or (code is not None and ran.code != code),
            f"more than {rss} MB": ran.rss > rss,
            f"does not say {words!r}": words not in ran.said,
            f"longer than {seconds:.0f} s": ran.seconds > seconds,
        }
        wrong = next((fault for fault, there in faults.items() if there), "")
        table.row(name, ran.code, f"{ran.seconds:.2f}", ran.rss, last[:110], wrong=wrong)
        return ran

    for row in inputs():
        case(**row)
    # A long recording: memory, speed, and how its time grows.
    sizes = [megabytes // share for share in (8, 4, 2, 1)]
    times = [
        case(f"a recording of {n} MB", recording(n * MB), code=0, seconds=600).seconds
        for n in sizes
    ]
    base = run([good()], 0).seconds
    grown = [max(t - base, 1e-3) for t in times]
    slope, _ = linear_regression([*map(math.log, sizes)], [*map(math.log, grown)])
    table.row("exponent of time over size", f"{slope:.3f}", f"{sizes[-1] / grown[-1]:.0f} MB/s",
              wrong="" if slope <= 1.1 else "faster than linear growth")  # fmt: skip
    folder.rmdir()
    return table.failed


# -- growth ----------------------------------------------------------------------------------


def placed(text: str, place: str) -> bytes:
    """A recording with a text in one of its places."""

    def record(number: int, role: str, content: Any) -> dict[str, Any]:
        return {
            "type": role, "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None,
            "sessionId": "s", "cwd": "/p", "message": {"role": role, "content": content},
        }  # fmt: skip

    def use(name: str, given: Any) -> list[Any]:
        return [{"type": "tool_use", "id": "t", "name": name, "input": given}]

    result = [{"type": "tool_result", "tool_use_id": "t", "content": text}]
    asked = text if place == "prompt" else "Fix the total."
    said: Any = [{"type": "text", "text": text if place == "answer" else "I will look first."}]
    calls: dict[str, tuple[Any, Any]] = {
        "command": (use("Bash", {"command": text}), "ok"),
        "path": (use("Write", {"file_path": text, "content": "x"}), "ok"),
        "content": (use("Write", {"file_path": "/p/a.sh", "content": text}), "ok"),
        "old text": (use("Edit", {"file_path": "/p/a.py", "old_string": text, "new_string": "b"}), "ok"),
        "new text": (use("Edit", {"file_path": "/p/a.py", "old_string": "b", "new_string": text}), "ok"),
        "result": (use("Bash", {"command": "ls -la && git status"}), text),
        "error": (use("Bash", {"command": "make"}), text),
        "patch": (use("apply_patch", {"input": "*** Begin Patch\n" + text}), "ok"),
        "python": (use("Bash", {"command": "python3 - <<'EOF'\n" + text + "\nEOF"}), "ok"),
        "to-do": (use("TodoWrite", {"todos": [{"content": text, "status": "pending"}]}), "ok"),
        "tool name": (use(text, {"command": "x"}), "ok"),
        "thinking": ([{"type": "thinking", "thinking": text}], None),
    }  # fmt: skip
    records = [record(0, "user", asked), record(1, "assistant", said)]
    if place in calls:
        content, back = calls[place]
        records.append(record(2, "assistant", content))
        if back is not None:
            answer = dict(result[0], content=back, is_error=place == "error")
            records.append(record(3, "user", [answer]))
    records.append(
        record(4, "assistant", [{"type": "text", "text": "Done. All 7 tests pass."}])
    )
    return b"".join(codec.dumps(r) for r in records)


PLACES = (
    "prompt", "answer", "command", "path", "content", "old text", "new text", "result", "error",
    "patch", "python", "to-do", "tool name", "thinking",
)  # fmt: skip


def spent(data: bytes, name: str) -> float:
    """Processor seconds of a whole pass."""
    began = time.process_time()
    check_any_input(data, name)
    return time.process_time() - began


def growth(size: int) -> list[str]:
    table = Table("place", "text", f"s at {size // 1000}k", "ratio of the next")
    spent(placed("warm up", "answer"), "claude_code")
    for place in PLACES:
        most, slowest = 0.0, ""
        for name, piece in HOSTILE.items():
            data, double = (
                placed(f"x {piece * (n * size // len(piece))} y", place) for n in (1, 2)
            )
            first = spent(data, "claude_code")
            most, slowest = max((most, slowest), (first, name))
            if first < 0.08:
                continue  # too short to be compared; a quadratic one would be far longer
            second = min(spent(double, "claude_code") for _ in "12")
            first = min(first, spent(data, "claude_code"))
            ratio = second / first
            if ratio > RATIO:  # once more: the machine may have been busy
                again = spent(data, "claude_code")
                ratio = min(spent(double, "claude_code"), second) / max(again, first)
            if ratio > RATIO or first > 1.0:
                words = "super-linear" if ratio > RATIO else "slow"
                table.row(place, name, f"{first:.2f}", f"{ratio:.2f}", wrong=words)
        table.row(place, f"the slowest: {slowest}", f"{most:.2f}", "")
    return table.failed


# -- nasty JSON ------------------------------------------------------------------------------


def nasty_documents() -> dict[str, bytes]:
    """`nasty.json`: documents about which parsers disagree, by what is odd about them. Each is a
    text whose characters are its bytes, or pieces of which [text, n] is one that repeats."""
    read: dict[str, Any] = json.loads(Path(__file__).with_name("nasty.json").read_text("utf-8"))
    found = {"many keys": b"{" + b",".join(b'"k%d": %d' % (i, i) for i in range(5000)) + b"}"}
    for name, pieces in read.items():
        repeated = (
            piece if isinstance(piece, str) else piece[0] * piece[1] for piece in pieces
        )
        found[name] = "".join(repeated).encode("latin-1")
    return found


def nasty() -> list[str]:
    table = Table("document", "as", "wrong")
    trials = refused = 0
    lines_of = {n: d for n, d in examples().items() if formats.get(n).shape == "lines"}
    documents = nasty_documents()
    for name, document in documents.items():
        for told in (None, *formats.names()):
            trials += 1
            try:
                refused += check_any_input(document, told) is None
            except Exception as error:  # noqa: BLE001
                table.row(name, told, repr(error)[:200], wrong="not answered")
        for told, example in lines_of.items():
            trials += 1
            try:
                plain = Pass("x", told)
                plain.feed(example + example.replace(b'"id": "', b'"id": "z'))
                whole = plain.summary().stats
                odd = Pass("x", told)
                middle = document.replace(b"\n", b" ")
                odd.feed(example + middle + b"\n" + example.replace(b'"id": "', b'"id": "z'))
                found = odd.summary().stats
                assert found.lines.total == whole.lines.total + 1, "a line is not counted"
                assert found.message_count >= whole.message_count, "a good line is lost"
                parsed = found.lines.parsed - whole.lines.parsed
                assert 0 <= parsed <= 1, f"{parsed} lines more are parsed"
                check_prefix(
                    example + middle + b"\n" + example, len(example) + len(middle) // 2, told
                )
            except Exception as error:  # noqa: BLE001
                table.row(name, f"a line of {told}", repr(error)[:200], wrong="not answered")
    print(f"{len(documents)} documents, {trials} trials: {refused} refused as whole recordings")
    return table.failed


# -- literals --------------------------------------------------------------------------------


def looked_for() -> Iterator[tuple[str, str, list[str]]]:
    """Each rule and pattern: its name, the place of a message that it reads, what it matches."""
    outputs = {"outputs": (*OUTPUT_RULES, *CHECK_RULES)}
    for name, group in {**GROUPS, **PATTERNS, **outputs}.items():
        for rule in group:
            place = "result" if name == "outputs" else "answer"
            yield f"{name}:{rule.id}", place, [*literals(rule.pattern), *rule.matches]
    for module in ("insights", "milestones", "stages", "requests", "names", "progress", "activities",
                   "intents", "continuations", "decisions.select"):  # fmt: skip
        held = importlib.import_module(f"leftoff.analysis.{module}")
        place = "prompt" if module in ("requests", "intents") else "answer"
        for name, pattern in compiled_in(held):
            flags = pattern.flags & ~re.UNICODE
            yield f"{module}:{name}", place, literals(pattern.pattern, flags)


def repeated_literals(*, full: bool) -> list[str]:
    table = Table("pattern", "text", "MB/s", "growth per doubling")

    def spent(text: str, place: str) -> float:
        data = placed(text, place)
        began = time.process_time()
        reading = Pass("s", "claude_code")
        reading.feed(data)
        reading.close()
        reading.conclude()
        return time.process_time() - began

    spent("warm up", "answer")
    speeds: list[float] = []
    for name, place, texts in looked_for():
        for separator in (" ", "\n"):
            pieces = [t + separator for t in texts]
            for piece in pieces if full else ["".join(pieces)][: len(pieces)]:
                sizes = (MB // 4, MB // 2, MB)
                made = [(piece * (size // len(piece) + 1))[:size] for size in sizes]
                times = [spent(text, place) for text in made]
                growth_ = max(times[1] / times[0], times[2] / times[1])
                if growth_ > RATIO:  # once more: the machine may have been busy
                    times = [
                        min(t, spent(text, place)) for t, text in zip(times, made, strict=True)
                    ]
                    growth_ = max(times[1] / times[0], times[2] / times[1])
                speeds.append(1 / times[-1])
                wrong = "super-linear" if growth_ > RATIO else ""
                table.row(
                    name, repr(piece[:40]), f"{speeds[-1]:.2f}", f"{growth_:.2f}", wrong=wrong
                )
    fast = sum(speed >= 2 for speed in speeds)
    print(f"{len(speeds)} texts; {fast} at 2 MB/s or more; the slowest {min(speeds):.2f} MB/s")
    return table.failed


def main() -> int:
    parts: dict[str, Callable[[], list[str]]] = {
        "memory": lambda: memory(args.megabytes, args.limit),
        "growth": lambda: growth(args.size),
        "json": nasty,
        "literals": lambda: repeated_literals(full=args.full),
    }
    args = harness.options(
        __doc__, f"kinds*:{'|'.join(parts)}", megabytes=1024, limit=400, size=80_000, full=False
    )
    return max(
        harness.tried(kind, lambda kind=kind: (Counter(), parts[kind]()))  # type: ignore[misc]
        for kind in args.kinds or parts
    )
