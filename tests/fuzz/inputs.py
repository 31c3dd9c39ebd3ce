"""Any input gives an answer or a refusal in words: coverage-guided fuzzing of every door.

    python -m pip install atheris
    python -m tests.fuzz inputs TARGET [--seconds 60] [--out FOLDER]
    python -m tests.fuzz inputs --list

TARGET is a target's name, `readers` (each reader in turn), or `all`; --seconds are shared out
among them. A run starts from the shipped examples of `leftoff.testing.examples` and keeps what
reached new code under --out for the next run. An input ends the run of its target that gives any
exception but a documented one, breaks a promise, or takes longer than a second for 24 KB: it is
kept as `crash-...` beside what was found, and its traceback in `log`. `tests/properties/test_recordings.py`
makes recordings by strategies instead, LEFTOFF_EXAMPLES of each format. Not part of the test suite: it is long.
"""

import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from string import whitespace
from typing import Any

from tests.fuzz import harness

ROOT = Path(__file__).resolve().parents[2]
MOST = 24_000
"""Bytes of an input: long enough for every kind of record, short enough for many runs."""
SLOW = 1.0
"""Seconds of processor time that no input of `MOST` bytes may take, instrumented as it is."""

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


# -- running ---------------------------------------------------------------------------------


def child(name: str, seconds: float, place: Path) -> None:
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
    from tests.strategies.recordings import examples
    from tests.strategies.varying import varied

    reader_of = name.removeprefix("reader.")
    for format_name, data in examples().items():
        if reader_of in (format_name, name):  # a reader begins with its own example
            (place / "seeds" / format_name).write_bytes(data[:MOST])

    def one(data: bytes) -> None:
        began = time.process_time()
        run(data)
        took = time.process_time() - began
        assert took <= SLOW, f"slow on {name}: {took:.1f} s"

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        chance = random.Random(seed)
        with suppress(ValueError, RecursionError):
            if chance.random() < 0.5:
                shape = chance.choice(("document", "lines", "text"))
                if reader_of != name:
                    shape = formats.get(reader_of).shape
                head = {"cut": 2, "store": 1}.get(name, 0)
                return (data[:head] + varied(data[head:], shape, chance))[:most]
        return bytes(atheris.Mutate(data, most))

    arguments = [
        sys.argv[0], f"-max_total_time={max(1, round(seconds))}", f"-max_len={MOST}",
        "-timeout=60", "-rss_limit_mb=3000", "-print_final_stats=1", "-len_control=0",
        f"-artifact_prefix={place}/", str(place / "found"), str(place / "seeds"),
    ]  # fmt: skip
    plain = name in ("shell", "redactor")  # texts, not recordings
    atheris.Setup(arguments, one, **({} if plain else {"custom_mutator": mutate}))
    atheris.Fuzz()


def main() -> int:
    args = harness.options(
        __doc__, "targets*", seconds=60.0, out=Path(tempfile.gettempdir()) / "leftoff-fuzz",
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
    work = partial(fuzzed, args.seconds / len(chosen), args.out)
    return harness.tried("inputs", lambda: harness.each(work, chosen))


def fuzzed(seconds: float, out: Path, name: str) -> harness.Found:
    """Fuzzes a target in a process of its own: how many inputs, and how it failed."""
    counts, wrong = harness.nothing()
    place = out / name
    for folder in ("found", "seeds"):
        (place / folder).mkdir(parents=True, exist_ok=True)
    command = [
        *harness.PROGRAM, "inputs", name, "--child", "--seconds", str(seconds), "--out",
        str(place),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    (place / "log").write_bytes(done.stdout + done.stderr)
    said = (done.stdout + done.stderr).decode(errors="replace")
    inputs = re.findall(r"stat::number_of_executed_units: +(\d+)", said)
    counts["inputs"] += int(inputs[-1]) if inputs else 0
    if done.returncode:
        wrong.append(f"{name}: the fuzzer ended with {done.returncode}: {said[-400:]}")
    return counts, wrong
