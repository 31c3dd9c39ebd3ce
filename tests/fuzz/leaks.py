"""Plants secrets in sessions, runs every command on them, and searches every byte that they write.

    python -m tests.fuzz leaks [--secrets 112] [--seed 1] [--plain]

Secrets stand wherever people and tools put them, at every place where texts are cut, in the
header of the recording, in what a client answers, in a diff, in damaged files, in settings of a
wrong type, and in the words of a plug-in that crashes. All log records are shown. strace tells
each byte that any process writes, to files, pipes and sockets, and each name that it gives to a
file; searched for are pieces of the secrets, plain and as base64, hexadecimal and percent codes.
--plain does without strace: it searches what is printed and what the files hold in the end.
"""

import base64
import gzip
import json
import random
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.accuracy.redaction.documents import Plant, pieces, session
from benchmarks.accuracy.redaction.planted import STRUCTURED
from tests.fuzz import harness
from tests.fuzz.commands import (
    CHANGES,
    COMMANDS,
    WRITES,
    Command,
    Ran,
    Scene,
    calls_in,
    plain_session,
    strace,
)

LEAST = 16
"""Characters that an encoded secret must have to be looked for."""

CRASHING = """
from leftoff.redaction import Redactor

def crash(text):
    if Redactor().text(text) == text:
        return []
    raise RuntimeError("cannot judge " + text)
"""
"""A redactor of somebody else's that breaks on what it is shown, and says what that was."""

MORE = (
    Command(("summarize", "S", "--redactor", "crashing")),
    Command(("redact", "S", "--redactor", "crashing")),
    Command(("batch", "S", "-o", "crash.jsonl", "--redactor", "crashing", "-w", "1")),
)


class Leak(NamedTuple):
    """A piece of a secret in something that was written."""

    command: str
    where: str
    kind: str
    place: str
    how: str


def headed(recording: bytes, plants: list[Plant], chance: random.Random) -> bytes:
    """The recording with secrets in what the recorder writes about it."""
    lines: list[dict[str, Any]] = []
    for line in recording.splitlines():
        record = json.loads(line)
        record["gitBranch"] = _planted(chance, plants, "branch") if not lines else "main"
        message = record.get("message", {})
        if message.get("model"):
            message["model"] = "some-model-1"
        lines.append(record)
    about = {"sessionId": lines[0]["sessionId"], "type": "custom-title"}
    lines.append({**about, "customTitle": f"Rotate {_planted(chance, plants, 'title')} now"})
    return b"".join(json.dumps(record).encode() + b"\n" for record in lines)


def _planted(chance: random.Random, plants: list[Plant], place: str) -> str:
    while True:
        planted = chance.choice(STRUCTURED)(chance)
        if planted.line == planted.secret and "\n" not in planted.line:
            plants.append(Plant(planted, place, 0))
            return planted.line


def encodings(secret: str) -> Iterator[tuple[str, bytes]]:
    """A secret as it may stand in something that was encoded: how, and the bytes."""
    for row in secret.split("\n"):
        raw = row.encode()
        if len(raw) < LEAST or row.startswith("-----"):
            continue
        yield "hex", raw.hex().encode()
        yield "HEX", raw.hex().upper().encode()
        yield "percent", "".join(f"%{b:02x}" for b in raw).encode()
        for skip in range(3):  # where in a group of three bytes the secret begins
            inner = raw[skip:]
            whole = base64.b64encode(inner[: len(inner) // 3 * 3])
            yield "base64", whole
            yield "base64url", whole.translate(bytes.maketrans(b"+/", b"-_"))


class Search:
    """Finds pieces of secrets in bytes."""

    def __init__(self, plants: list[Plant]) -> None:
        self.plants = plants
        self._pieces = pieces(plants)
        self._encoded = {
            data: (plant, how)
            for plant in plants
            for how, data in encodings(plant.planted.secret)
        }
        either = b"|".join(re.escape(d) for d in sorted(self._encoded, key=len, reverse=True))
        self._either = re.compile(either)
        self.searched = 0

    def leaks(self, data: bytes, command: str, where: str) -> Iterator[Leak]:
        self.searched += len(data)
        seen: set[tuple[int, str]] = set()
        for shown in {data, data.replace(b"\\", b"")}:
            for found in self._either.finditer(shown):
                plant, how = self._encoded[found[0]]
                yield Leak(command, where, plant.planted.kind, plant.place, how)
            text = shown.decode("utf-8", "replace").casefold()
            for run in set(re.findall(r"[^\s\x00-\x1f]{8,}", text)):
                for i in range(len(run) - 7):
                    known = self._pieces.get(run[i : i + 8])
                    if known is not None and (id(known), where) not in seen:
                        seen.add((id(known), where))
                        yield Leak(
                            command, where, known.planted.kind, known.place, run[i : i + 8]
                        )


def opened(data: bytes) -> Iterator[bytes]:
    """Bytes, and what they hold where they are compressed."""
    yield data
    if data[:2] == b"\x1f\x8b":
        yield gzip.decompress(data)
    for at in [m.start() for m in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", data)][:50]:
        try:
            yield zlib.decompressobj().decompress(data[at:], 1 << 24)
        except zlib.error:
            continue


def scene(root: Path, chance: random.Random, count: int) -> tuple[Scene, list[Plant]]:
    """A home in which secrets stand everywhere."""
    steps, plants = session(chance, count)
    recording = headed(plain_session(steps), plants, chance)
    answer = "I'll use {0} for now. Next step: rotate {0}.".format(
        _planted(chance, plants, "client's answer, diff or damaged file")
    )
    made = Scene(root, recording, answer)
    settings = (
        f'[context_management]\nbudget_total = ["{_planted(chance, plants, "settings")}"]\n'
    )
    (root / "wrong").mkdir()
    (root / "wrong" / "leftoff.toml").write_text(settings)
    about = root / "plugins" / "crashing-1.dist-info"
    about.mkdir(parents=True)
    (root / "plugins" / "crashing.py").write_text(CRASHING)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: crashing\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[leftoff.redactor]\ncrashing = crashing:crash\n")
    made.given |= {p for p in root.rglob("*") if p.is_file()}
    return made, plants


def checked(
    root: Path, chance: random.Random, count: int, *, traced: bool
) -> tuple[Search, list[Leak], list[Ran]]:
    """Runs every command on one session: what was searched, what leaked and how they ended."""
    made, plants = scene(root, chance, count)
    search = Search(plants)
    leaks: list[Leak] = []
    ran: list[Ran] = []
    log = root.parent / "trace"
    environ = {"PYTHONPATH": str(root / "plugins")}
    for command in (*COMMANDS, *MORE):
        before = strace(log, f"{WRITES},{CHANGES}") if traced else []
        done = made.run(command, before, logged=True, environ=environ)
        ran.append(done)
        leaks += search.leaks(
            done.both.encode("utf-8", "surrogateescape"), done.name, "printed"
        )
        for call in calls_in(log) if traced else ():
            for data in call.strings if call.done else ():
                leaks += search.leaks(data, done.name, call.name)
    wrong = Command(("config",))
    number = {"LEFTOFF_CONTEXT_MANAGEMENT_BUDGET_TOTAL": _first(plants)}
    done = made.run(wrong, logged=True, environ=number)
    leaks += search.leaks(done.both.encode(), "config with a secret for a number", "printed")
    made.project = root / "wrong"
    done = made.run(wrong, logged=True)
    leaks += search.leaks(done.both.encode(), "config of a wrong type", "printed")
    made.project = made.home / "ledger"
    for name, data in made.written().items():
        for inner in opened(data):
            leaks += search.leaks(inner, "(files)", name)
        leaks += search.leaks(name.encode("utf-8", "surrogateescape"), "(names)", name)
    return search, leaks, ran


def _first(plants: Iterable[Plant]) -> str:
    return next(p.planted.line for p in plants if p.place == "settings")


def planted(least: int, seed: int, *, traced: bool) -> harness.Found:
    """Sessions until so many secrets were planted."""
    chance = random.Random(seed)
    counts, found = harness.nothing()
    while counts["secrets"] < least:
        with tempfile.TemporaryDirectory() as folder:
            count = min(28, least - counts["secrets"])
            search, leaks, ran = checked(Path(folder) / "scene", chance, count, traced=traced)
        counts["secrets"] += len(search.plants)
        counts["bytes searched"] += search.searched
        counts["commands"] += len(ran)
        counts["tracebacks"] += sum(
            "Traceback" in one.err for one in ran if "crashing" not in one.name
        )
        found += [f"{k.command} -> {k.where}: {k.kind} in {k.place} ({k.how})" for k in leaks]
    return counts, found


def main() -> int:
    args = harness.options(__doc__, secrets=112, seed=1, plain=False)
    if not args.plain and shutil.which("strace") is None:
        sys.exit("strace is not installed; --plain does without")
    return harness.tried(
        "leaks", lambda: planted(args.secrets, args.seed, traced=not args.plain), show=40
    )
