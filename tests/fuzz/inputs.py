"""Any input gives an answer or a refusal in words: coverage-guided fuzzing of every door.

    python -m pip install atheris
    python -m tests.fuzz inputs TARGET [--seconds 60] [--seeds FOLDER] [--out FOLDER]
    python -m tests.fuzz inputs --list

TARGET is a target's name, `readers` (each reader in turn), or `all`; --seconds are shared out
among them. A run starts from `corpora/sessions`, `corpora/gold`, the shipped examples of
`leftoff.testing.examples` and the recordings under --seeds (small pieces of them), and keeps
what reached new code under --out for the next run. An input fails the run that gives any
exception but a documented one, breaks a promise, or takes longer than a second for 64 KiB.
Each failure is kept once, with its traceback, beside what was found. `tests/properties/test_recordings.py`
makes recordings by strategies instead, LEFTOFF_EXAMPLES of each format. Not part of the test suite: it is long.
"""

import os
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from string import whitespace
from typing import Any

from tests.fuzz import harness

ROOT = Path(__file__).resolve().parents[2]
MOST = 24_000
"""Bytes of an input: long enough for every kind of record, short enough for many runs."""
SLOW = 1.0
"""Seconds of processor time that no input of `MOST` bytes may take, instrumented as it is."""
HELD_OUT = ("spotter",)
"""Recordings that are kept for evaluation and stay unseen."""

Target = Callable[[bytes], object]


# -- targets ---------------------------------------------------------------------------------


def reader(name: str | None) -> Target:
    """A pass over the input, read as one format or as what it looks like."""
    from leftoff.testing.checks import check_any_input

    def run(data: bytes) -> None:
        said = check_any_input(data, name)
        if said is not None and data[-1:] in b"}\n":  # one in some: the forms cost more
            from leftoff import from_json, render

            summary = from_json(said)
            for form in ("text", "markdown", "prompt", "log"):
                render(summary, form)

    return run


def cut() -> Target:
    """The input read in two parts with a saved pass between them; its first two bytes say
    where it is cut."""
    from leftoff.testing.checks import check_prefix

    def run(data: bytes) -> None:
        rest = data[2:]
        check_prefix(rest, int.from_bytes(data[:2], "big") * (len(rest) + 1) // 65536)

    return run


def shell() -> Target:
    from leftoff.shell import analyze, command_facts, observe, resolve
    from leftoff.shell.effects import FileState, Outcome, clear_caches
    from leftoff.shell.embedded.patches import marked_patch_effects, patch_effects
    from leftoff.shell.embedded.python import python_effects
    from leftoff.shell.embedded.tool_script import tool_steps

    def run(data: bytes) -> None:
        text = data[1:].decode(errors="replace")
        flags = data[0] if data else 0
        command, _, printed = text.partition("\x1f")
        outcome = Outcome(
            status=("ok", "failed", "unknown")[flags % 3],
            output=printed if flags & 4 else None,
            exit_code=flags >> 4 if flags & 8 else None,
        )
        script = analyze(command, cwd="/p")
        command_facts(script)
        observe(script, outcome=outcome)

        def once() -> list[Any]:
            known = FileState(["/p/a", "/p/b/c"], [], ["/p"]) if flags & 1 else FileState()
            return list(resolve(script, outcome=outcome, known=known))

        first = once()
        assert first == once(), "the same script gives two results"
        clear_caches()
        kind = flags % 5
        if kind == 0:
            python_effects(text)
        elif kind == 1:
            tool_steps("tools." + text)
        elif kind == 2:
            patch_effects(text)
            marked_patch_effects(text)
        elif kind == 3:
            tool_steps(text)

    return run


def redactor() -> Target:
    from leftoff.redaction.redactor import Redactor

    def run(data: bytes) -> None:
        # Lone surrogates come from JSON escapes, and from names of files.
        text = data.decode(errors="surrogateescape" if data[:1] > b"\x7f" else "replace")
        gate = Redactor(personal=bool(data[:1] < b"a"))
        shown = gate.text(text)
        again = Redactor(personal=bool(data[:1] < b"a")).text(shown)
        assert again == shown, f"redacted twice it changes: {shown!r}, {again!r}"
        value = {"content": [text, {"command": text}], text[:40]: 1}
        kept = Redactor().value(value)
        assert Redactor().value(kept) == kept, f"a value redacted twice changes: {kept!r}"

    return run


def codecs() -> Target:
    from leftoff import codec
    from leftoff.formats.reader import formats

    decoders = [
        codec.LineDecoder(formats.get(name).reader.record)
        for name in ("claude_code", "codex", "copilot_cli", "leftoff", "gemini_cli_jsonl")
    ]

    def run(data: bytes) -> None:
        for decoder in decoders:
            records, codes = decoder.decode(data)
            blank = not data.decode(errors="replace").strip("\0\x1e\ufeff" + whitespace)
            assert records or codes or blank, "nothing read, and nothing said of it"
        try:
            value = codec.parse(data)
        except ValueError:
            return
        written = codec.dumps(codec.to_valid_json(value))
        again = codec.parse_strict(written)
        assert codec.dumps(again) == written, "written and read, it is another value"
        codec.canonical(again)
        try:
            codec.parse_strict(data)
        except ValueError:
            return

    return run


def documents() -> Target:
    from leftoff import from_json
    from leftoff.codec import parse
    from leftoff.errors import LeftoffError
    from leftoff.handover.checkpoint import document
    from leftoff.handover.checkpoint.injection import inject
    from leftoff.handover.resume_log.document import ResumeLog
    from leftoff.handover.resume_state import document as states
    from leftoff.handover.resume_state.message import resume_message
    from leftoff.handover.review import Review
    from leftoff.settings import from_mapping

    def again(kind: Any, value: Any) -> Any:
        made = kind.from_dict(value)
        back = kind.from_dict(made.to_dict())
        same = back.to_dict() == made.to_dict() if kind is states.ResumeState else back == made
        assert same, f"a {kind.__name__} is read back otherwise"
        return made

    def logs(value: Any) -> None:
        again(ResumeLog, value).to_markdown()
        ResumeLog.from_session_state("s", value)

    def points(value: Any) -> None:
        point = again(document.ContextCheckpoint, value)
        document.problems(point)
        inject(point, "Go on.")

    def kept(value: Any) -> None:
        state = again(states.ResumeState, value)
        states.needs_value(state)
        resume_message(state)

    def reviews(value: Any) -> None:
        again(Review, value)

    doors = (logs, points, kept, reviews, from_mapping)

    def run(data: bytes) -> None:
        for read in (from_json, states.decode):
            with suppress(LeftoffError):
                read(data)
        try:
            value = parse(data)
        except ValueError:
            return
        if not isinstance(value, dict):
            return
        for door in doors:
            with suppress(LeftoffError):
                door(value)

    return run


def store() -> Target:
    """Bytes where a document is kept: loaded, listed, saved over."""
    from leftoff.errors import StateError
    from leftoff.stores.files import FileStore
    from leftoff.stores.protocol import KINDS

    folder = Path(tempfile.mkdtemp(prefix="leftoff-fuzz-"))
    keeper = FileStore(folder)
    places = {}
    for kind in KINDS:
        places[kind] = Path(keeper.save(kind, "x", {"id": "x"}, text="# x\n"))

    def run(data: bytes) -> None:
        kind = KINDS[(data[0] if data else 0) % len(KINDS)]
        place = places[kind]
        place.write_bytes(data[1:])
        for beside in place.parent.glob("*.bak"):
            beside.unlink()
        try:
            kept = keeper.load(kind, "x")
            assert kept is not None, "what is there is not found"
        except StateError:
            pass
        entries = keeper.list(kind)
        assert len(entries) == 1, f"{len(entries)} documents are listed, one is there"

    return run


def targets() -> dict[str, Callable[[], Target]]:
    """By name: what makes the function that is given each input."""
    from leftoff.formats.reader import formats

    found: dict[str, Callable[[], Target]] = {
        f"reader.{name}": partial(reader, name) for name in formats.names()
    }
    found |= {
        "detect": partial(reader, None), "cut": cut, "shell": shell, "redactor": redactor,
        "codec": codecs, "documents": documents, "store": store,
    }  # fmt: skip
    return found


# -- seeds -----------------------------------------------------------------------------------


@cache
def recorded(folders: tuple[Path, ...]) -> list[tuple[str, bytes]]:
    """Recordings as (name of the format that they are of, bytes)."""
    from leftoff.errors import InputError
    from leftoff.formats.reader import Sample, detect
    from leftoff.sources.open import open_lines

    kept: list[tuple[str, bytes]] = []
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if not path.is_file() or any(word in path.name for word in HELD_OUT):
                continue
            try:
                with open_lines(str(path)) as lines:
                    data = b"".join(lines)
            except InputError:
                continue
            if len(data) > 1 << 20:
                continue
            found = detect(Sample(data, complete=True))
            if found is not None:
                kept.append((found.name, data))
    return kept


def small(data: bytes, shape: str, chance: random.Random) -> bytes:
    """A piece of a recording: its beginning and some of the rest, with long strings cut."""
    from leftoff import codec

    def less(value: Any) -> Any:
        if isinstance(value, str):
            return value if len(value) < 400 else value[:300]
        if isinstance(value, dict):
            return {k: less(v) for k, v in list(value.items())[:40]}
        if isinstance(value, list):
            kept = value if len(value) < 10 else value[:3] + chance.sample(value[3:], 6)
            return [less(v) for v in kept]
        return value

    if shape == "text":
        at = chance.randrange(max(1, len(data) - 4000))
        return data[:1500] + data[at : at + 4000]
    if shape == "lines":
        lines = data.splitlines()
        rest = (
            sorted(chance.sample(range(3, len(lines)), min(12, len(lines) - 3)))
            if len(lines) > 3
            else []
        )
        found = []
        for line in lines[:3] + [lines[i] for i in rest]:
            try:
                found.append(codec.dumps(less(codec.parse(line))))
            except ValueError:
                found.append(line[:400] + b"\n")
        return b"".join(found)
    try:
        return codec.dumps(less(codec.parse(data)))
    except ValueError:
        return data[:MOST]


def sow(name: str, place: Path, folders: list[Path]) -> None:
    """Puts the seeds of a target where it begins."""
    from tests.strategies.recordings import examples

    from leftoff import Pass, codec
    from leftoff.errors import InputError
    from leftoff.formats.reader import formats
    from leftoff.handover.resume_log.document import ResumeLog

    place.mkdir(parents=True, exist_ok=True)
    chance = random.Random(name)
    count = 0

    def put(data: bytes) -> None:
        nonlocal count
        count += 1
        (place / f"seed-{count:04}").write_bytes(data[:MOST])

    base = (ROOT / "corpora" / "sessions", ROOT / "corpora" / "gold" / "sessions", *folders)
    known = [*examples().items(), *recorded(base)]
    if name.startswith("reader."):
        wanted = name.removeprefix("reader.")
        own = [data for kind, data in known if kind == wanted]
        for data in own[:60]:
            put(small(data, formats.get(wanted).shape, chance))
        return
    if name in ("detect", "cut", "codec"):
        taken: dict[str, int] = {}
        for kind, data in known:
            taken[kind] = taken.get(kind, 0) + 1
            if taken[kind] > 4:
                continue
            piece = small(data, formats.get(kind).shape, chance)
            if name == "codec":
                for line in piece.splitlines()[:3]:
                    put(line)
            else:
                put(chance.randbytes(2) + piece if name == "cut" else piece)
        return
    texts: list[str] = []
    for kind, data in known:
        reading = Pass("seed", kind)
        try:
            reading.feed(small(data, formats.get(kind).shape, chance))
            summary = reading.summary()
        except InputError:
            continue
        log = ResumeLog.from_summary(summary)
        if name in ("documents", "store"):
            for value in (log.to_dict(), *_others(summary), codec.to_builtins(summary)):
                put((b"\x00" if name == "store" else b"") + codec.dumps(value))
        for line in data.splitlines()[:200]:
            texts += re.findall(
                r'"command": ?"((?:[^"\\]|\\.){4,400})"', line.decode(errors="replace")
            )
    if name in ("documents", "store"):
        for data in _kept():
            put((b"\x01" if name == "store" else b"") + data)
        return
    if name == "redactor":
        from leftoff.redaction.rules import RULES

        for rule in RULES:
            for text in getattr(rule, "hides", ()) or getattr(rule, "match", ()) or ():
                put(str(text).encode("utf-8", "replace"))
    for text in dict.fromkeys(texts):
        if count > 400:
            break
        try:
            decoded = str(codec.parse(b'["' + text.encode() + b'"]')[0])
        except ValueError:
            decoded = text
        put(b"\x08" + decoded.encode("utf-8", "replace"))


def _others(summary: Any) -> Iterator[dict[str, Any]]:
    """A checkpoint and a resume state of the recording."""
    from leftoff.budget.tasks import TaskTokenBudget
    from leftoff.handover.checkpoint.document import checkpoint_of
    from leftoff.handover.checkpoint.from_summary import checkpoint_source
    from leftoff.handover.resume_state import from_summary

    at = datetime(2026, 3, 2, 9, tzinfo=UTC)
    start = TaskTokenBudget.start
    budget = start("task", "claude", created_at=at.isoformat(), total_allocated=200_000)
    budget = budget.used(190_000)
    source = checkpoint_source(summary)
    yield checkpoint_of(source, budget=budget, capacity="95", at=at).to_dict()
    yield from_summary.from_summary(summary).to_dict()


def _kept() -> Iterator[bytes]:
    """Documents of the golden tests."""
    for path in sorted((ROOT / "tests" / "golden").rglob("*.json")):
        yield path.read_bytes()


# -- running ---------------------------------------------------------------------------------


class Failures:
    """Each failure once: by its type and the place in leftoff where it came from."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.known: dict[str, int] = {}

    def add(self, data: bytes, error: BaseException) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        inner = [f for f in frames if "leftoff" in f.filename] or frames
        last = inner[-1]
        name = re.sub(
            r"\W+", "-", f"{type(error).__name__}-{Path(last.filename).stem}-{last.lineno}"
        )
        if isinstance(error, AssertionError):
            name = re.sub(r"[^a-zA-Z]+", "-", f"promise-{str(error)[:40]}")
        size = self.known.get(name)
        if size is not None and size <= len(data):
            return
        self.known[name] = len(data)
        self.place.mkdir(parents=True, exist_ok=True)
        (self.place / f"{name}.bin").write_bytes(data)
        words = "".join(traceback.format_exception(error))
        (self.place / f"{name}.txt").write_text(
            words[-6000:], encoding="utf-8", errors="replace"
        )


def child(name: str, seconds: float, out: Path) -> None:
    """Fuzzes one target in this process; never returns."""
    try:
        import atheris  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        sys.exit("fuzzing needs atheris: python -m pip install atheris")
    with atheris.instrument_imports(include=["leftoff"]):
        from leftoff.formats.reader import formats

        run = targets()[name]()
        for known in formats.names():
            formats.get(known)
    from tests.strategies.varying import varied

    failures = Failures(out / name / "failed")
    shape = "document"
    if name.startswith("reader."):
        shape = formats.get(name.removeprefix("reader.")).shape

    def one(data: bytes) -> None:
        began = time.process_time()
        try:
            run(data)
        except BaseException as error:  # noqa: BLE001 - what else is raised is the question
            failures.add(data, error)
        took = time.process_time() - began
        if took > SLOW:
            failures.add(data, AssertionError(f"slow on {name}: {took:.1f} s"))

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.random() < 0.5:
            return bytes(atheris.Mutate(data, most))
        try:
            kind = shape
            if name in ("detect", "cut", "codec", "documents"):
                kind = chance.choice(("document", "lines", "text"))
            head = data[:2] if name == "cut" else data[:1] if name == "store" else b""
            return (head + varied(data[len(head) :], kind, chance))[:most]
        except (ValueError, RecursionError):
            return bytes(atheris.Mutate(data, most))

    structured = name.startswith("reader.") or name in (
        "detect", "cut", "codec", "documents", "store"
    )  # fmt: skip
    arguments = [
        sys.argv[0], f"-max_total_time={max(1, round(seconds))}", f"-max_len={MOST}",
        "-timeout=60", "-rss_limit_mb=3000", "-print_final_stats=1", "-len_control=0",
        f"-artifact_prefix={out / name}/", str(out / name / "found"), str(out / name / "seeds"),
    ]  # fmt: skip
    options = {"custom_mutator": mutate} if structured else {}
    atheris.Setup(arguments, one, **options)
    atheris.Fuzz()


def main() -> int:
    args = harness.options(
        __doc__, "targets*", seconds=60.0, seeds=[], out=Path(tempfile.gettempdir()) / "leftoff-fuzz",
        list=False, child=False,
    )  # fmt: skip
    if args.child:
        child(args.targets[0], args.seconds, args.out)
    names = [*targets()]
    if args.list:
        print("\n".join(names))
        return 0
    several = {"all": names, "readers": [n for n in names if n.startswith("reader.")]}
    chosen = [n for told in args.targets or ["all"] for n in several.get(told, [told])]
    if set(chosen) - set(names):
        sys.exit(f"no target {set(chosen) - set(names)}; --list names them")
    failed = 0
    print(f"{'target':28} {'inputs':>9} {'processor s':>11} {'failures':>8}")
    total = 0
    for name in chosen:
        began = os.times()
        each = args.seconds / len(chosen)
        done, bad = fuzzed(name, each, args.out, [*map(Path, args.seeds)])
        now = os.times()
        spent = sum(now[:4]) - sum(began[:4])
        print(f"{name:28} {done:9} {spent:11.0f} {bad:8}", flush=True)
        failed += bad
        total += done
    print(f"{total} inputs, {failed} failures; see {args.out}")
    return 1 if failed else 0


def fuzzed(name: str, seconds: float, out: Path, folders: list[Path]) -> tuple[int, int]:
    """Fuzzes a target in a process of its own; (inputs, failures)."""
    place = out / name
    (place / "found").mkdir(parents=True, exist_ok=True)
    if not (place / "seeds").exists():
        sow(name, place / "seeds", folders)
    command = [
        *harness.PROGRAM, "inputs", name, "--child",
        "--seconds", str(seconds), "--out", str(out),
    ]  # fmt: skip
    with (place / "log").open("ab") as log:
        code = subprocess.run(command, cwd=ROOT, stderr=log, stdout=log, check=False).returncode
    words = (place / "log").read_text(errors="replace")
    counts = re.findall(r"stat::number_of_executed_units: +(\d+)", words)
    bad = len(list((place / "failed").glob("*.bin"))) + sum(
        len(list(place.glob(f"{kind}-*"))) for kind in ("crash", "timeout", "oom")
    )
    if code and not bad:
        print(f"{name}: the fuzzer ended with {code}: {words[-400:]}")
        bad = 1
    return int(counts[-1]) if counts else 0, bad
