"""Puts control characters and hidden text into sessions and looks for them in every print.

    python -m tests.fuzz terminals [--cases 600] [--seed 1]

A case is a piece of text (C0 and C1 controls, CSI, OSC 0, 8 and 52, DCS, APC, bidirectional
overrides, tags, joiners, lone surrogates, broken sequences) that stands in every place of a
session that people, agents, tools and the recorder itself fill, in settings of the project, in
what a client answers, in a diff and in damaged files. Every command is run on every session:
into a pipe, with colours, and on what says that it is a terminal. In what it prints and keeps
there must be no control character but newline and tab, and no escape sequence that a session
without the pieces does not give; JSON may name them by number.
"""

import gzip
import json
import random
import re
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.fuzz import harness
from tests.fuzz.commands import COMMANDS, WRITTEN_IN, Command, Ran, Scene
from tests.strategies.conversations import Call, Step
from tests.strategies.writers import WRITERS

ENDS = ("\x07", "\x1b\\", "\x9c", "")

PIECES = (
    *map(chr, [*range(9), *range(11, 32), *range(127, 160)]),
    *(f"\x1b[{n}" for n in ("31m", "8m", "2J", "H", "?1049h", "999D", "6n", "20h", "0;1;5m", "")),
    *(f"\x9b{n}" for n in ("31m", "2J", "6n")),
    *(f"\x1b]{n}{end}" for end in ENDS for n in
      ("0;title", "8;;http://evil.test", "52;c;ZXZpbA==", "1337;File=x:AAAA", "133;A", "777;notify;a;b")),
    *(f"\x9d0;title{end}" for end in ENDS),
    *(f"\x1b{k}payload{end}" for end in ENDS for k in "P_^X"),
    *(f"{k}payload{end}" for end in ENDS for k in "\x90\x9f\x9e\x98"),
    "\x1bc", "\x1b(0", "\x1b#8", "\x1b%G", "\x1b\x1b[31m", "\x1b[\x1b[31m31m", "\x1b", "a\x08\x08b",
    "\u202egnp.exe\u202c", "\u2066a\u2069", "\u202a\u202b\u202d", "\u2028new line", "\u2029para", "\x85next",
    "".join(map(chr, range(0xE0041, 0xE005B))), "\U000e0001\U000e007f", "\U000e0100", "\u200b\u2060\ufeff",
    "\ufff9a\ufffab\ufffb", "👩\u200d👩\u200d👧\u200d👦" * 20, "a" + "\u0301" * 300, "\r", "\r\nOK", "done\rfail",
    "\udc80\udfff", "\ud83d", "\x1b[31m\udc9b", "%1b[31m", "\\x1b[31m", "&#27;[31m", "\x0b\x0c\x1c\x1d\x1e\x1f",
)  # fmt: skip
"""What stands somewhere; some of it harmless."""

FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2060-\u2069\u200b\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
ESCAPE = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|.)?")


def recording(pieces: Sequence[str]) -> bytes:
    """A session in which the pieces stand everywhere."""
    turn = (pieces[n % len(pieces)] for n in range(10**6))

    def x(text: str) -> str:
        at = len(text) // 2
        whole = f"{text[:at]}{next(turn)}{text[at:]} {next(turn)}"
        # Our writers write no lone surrogates: others stand in for them until the end.
        return re.sub("[\ud800-\udfff]", lambda m: chr(ord(m[0]) + 0x800), whole)

    def call(
        number: int, name: str, given: dict[str, Any], result: str, *, failed: bool = False
    ) -> Call:
        return Call(f"c{number}", name, given, result, failed)

    todo = {
        "content": x("Write the migration"),
        "status": "pending",
        "activeForm": x("Writing"),
    }
    edit = {
        "file_path": f"{WRITTEN_IN}/src/{x('totals').replace('/', '')}.py",
        "old_string": x("a"),
        "new_string": x("b"),
    }
    steps = [
        Step("user", x("Make the totals add up, and never round in the view.")),
        Step("agent", x("I'll use Decimal instead of float, because cents add up."), (call(1, "Edit", edit, x("updated")),)),
        Step("agent", "", (call(2, "Bash", {"command": x("pytest -q tests")}, x("E   ValueError: bad\n1 failed"), failed=True),)),
        Step("agent", x("I found the root cause: the sums were rounded twice."), (call(3, "TodoWrite", {"todos": [todo]}, "ok"),)),
        Step("agent", "", (call(4, x("mcp__odd"), {x("key"): x("value")}, x("result")),)),
        Step("user", x("No, keep the old name. And add a flag.")),
        Step("agent", x("The build fails with exit code 2.") + "\n\n```\n" + x("code") + "\n```\n"),
        Step("agent", x("All tests pass now.") + "\n\nNext steps:\n\n- " + x("write the migration") + "\n- " + x("deploy")),
    ]  # fmt: skip
    records = [json.loads(line) for line in WRITERS["claude_code"](steps).splitlines()]
    for record in records:
        record |= {"gitBranch": x("main"), "version": x("2.1.0")}
        if record["message"].get("model"):
            record["message"]["model"] = x("some-model-1")
    about = {"sessionId": records[0]["sessionId"]}
    records.append({"type": "custom-title", **about, "customTitle": x("Totals")})
    records.append({**records[-2], "uuid": "99", "type": "system", "subtype": "compact_boundary",
                    "content": x("compacted"), "compactMetadata": {"trigger": x("auto"), "preTokens": 9}})  # fmt: skip
    lines = "".join(json.dumps(record) + "\n" for record in records)
    return re.sub(r"\\ue([0-7])([0-9a-f]{2})", _surrogate, lines).encode()


def _surrogate(match: re.Match[str]) -> str:
    return f"\\ud{int(match[1], 16) + 8:x}{match[2]}"


COPIES = ("redact",)
"""What gives a file back as it is, less its secrets: a copy keeps its bytes unless it is shown
on a terminal."""


def faults(ran: Ran, known: frozenset[str], how: str) -> Iterator[str]:
    """What a command printed that it must not."""
    if "Traceback" in ran.err or ran.code not in (0, 1, 2):
        yield f"{ran.name} ({how}): exit {ran.code}: {ran.err[-300:]}"
    streams = [("stderr", ran.err)]
    if not (ran.name.startswith(COPIES) and how != "terminal"):
        streams.append(("stdout", ran.out))
    for stream, text in streams:
        for found in set(ESCAPE.findall(text)) - known:
            yield f"{ran.name} ({how}): {stream}: escape {found!r}"
        left = ESCAPE.sub("", text) if how != "pipe" else text
        left = left.replace("\r", "") if how == "terminal" and stream == "stderr" else left
        for found in set(FORBIDDEN.findall(left)):
            yield f"{ran.name} ({how}): {stream}: {found!r} ({unicodedata.name(found, '')})"


HOW = {
    "pipe": {},
    "colours": {"FORCE_COLOR": "1"},
    "terminal": {"COLUMNS": "90", "TERM": "xterm"},
}


def run(scene: Scene, how: str, commands: Sequence[Command]) -> Iterator[Ran]:
    for command in commands:
        yield scene.run_inside(command, HOW[how], terminal=how == "terminal")


def allowed(root: Path) -> dict[str, frozenset[str]]:
    """The escape sequences of our own, by where they go."""
    # Each way in a folder of its own: a batch that has nothing left to do shows no bar.
    scenes = {how: Scene(root / f"clean-{how}", recording([""])) for how in HOW}
    return {
        how: frozenset(e for ran in run(scene, how, COMMANDS) for e in ESCAPE.findall(ran.both))
        for how, scene in scenes.items()
    }


def checked(
    root: Path,
    pieces: Sequence[str],
    known: dict[str, frozenset[str]],
    commands: Sequence[Command] = COMMANDS,
) -> tuple[int, list[str]]:
    """Runs commands on one session of pieces: how many runs, and what was wrong."""
    made = recording(pieces)
    text = "I'll use {0}. Next step: rotate{0}.".format(" ".join(pieces))
    scene = Scene(root, made, text)
    name = json.dumps("".join(p for p in pieces if not re.search("[\ud800-\udfff]", p)))[1:-1]
    (scene.project / "own.toml").write_text(f'x = "{name}"\n')
    wrong: list[str] = []
    runs = 0
    for how in HOW:
        for ran in run(scene, how, commands):
            runs += 1
            wrong += faults(ran, known[how], how)
    for path, data in scene.written().items():
        database = path.endswith(
            (".index", ".sqlite", ".sqlite3", ".sqlite3-shm", ".sqlite3-wal")
        )
        if database or path.endswith("clean.jsonl") or "/pass." in path:
            continue
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        found = sorted(set(FORBIDDEN.findall(data.decode("utf-8", "surrogateescape"))))
        if found:
            place = re.sub(r"[^/]*(?=-\d\dp-)|[0-9]{6,}", "n", path)
            wrong.append(f"file {place}: {''.join(found[:3])!r}")
    return runs, wrong


def cases(number: int, seed: int) -> harness.Found:
    """So many pieces, forty in a session."""
    chance = random.Random(seed)
    made = [*PIECES]
    while len(made) < number:
        made.append("".join(chance.choice(PIECES) for _ in range(chance.randint(2, 4))))
    chance.shuffle(made)
    counts = Counter({"cases": len(made)})
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        known = allowed(Path(folder))
        for start in range(0, len(made), 40):
            runs, found = checked(Path(folder) / f"s{start}", made[start : start + 40], known)
            counts["runs"] += runs
            wrong += [f"{line!r:.300}" for line in found]
    return counts, wrong


def main() -> int:
    args = harness.options(__doc__, cases=600, seed=1)
    return harness.tried("terminals", lambda: cases(args.cases, args.seed), show=60)
