"""Who is measured, all on the same bytes in one run, by processor time.

Every round lets each contestant take its turn, so that a busy machine disturbs all alike; a
figure is the median over rounds. What leftoff remembers between calls (commands analysed,
sentences divided) is forgotten before each turn, so that the second round does not measure the
memory of the first.
"""

from __future__ import annotations

import functools
import gc
import io
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import orjson

from benchmarks.speed import naive
from benchmarks.speed.data import Sessions, size_of
from benchmarks.speed.processes import spend
from leftoff.analysis.session_pass import Pass
from leftoff.analysis.summary_json import to_json
from leftoff.batch.jobs import BatchOptions, InputFile, Job
from leftoff.batch.work import run_job
from leftoff.formats.claude_code_records import Line
from leftoff.formats.reader import Sample, detect
from leftoff.shell.effects import clear_caches
from leftoff.summary import ContextSummary, Source

Contestant = Callable[[Sessions], object]

FIRST = "orjson.loads"
"""Speeds are told as multiples of this one's."""


def forget() -> None:
    """Drops what leftoff has cached of recordings; tables that it needs anyway stay."""
    for name, module in list(sys.modules.items()):
        if name.startswith("leftoff."):
            for value in vars(module).values():
                if isinstance(value, functools._lru_cache_wrapper):
                    most: int | None = value.cache_parameters()["maxsize"]
                    if most is not None and most > 8:
                        value.cache_clear()
    clear_caches()


# -- parsing alone ---------------------------------------------------------------------------


def _by_record(decode: Callable[[bytes], object]) -> Contestant:
    """Decodes each line; a trajectory, which is one document, as a whole."""

    def run(sessions: Sessions) -> None:
        for name, data in sessions:
            for record in io.BytesIO(data) if "jsonl" in name else (data,):
                try:
                    decode(record)
                except ValueError:
                    continue

    return run


def _typed(sessions: Sessions) -> None:
    """Into the types that leftoff's own reader uses; what no reader types is left untyped."""
    for name, data in sessions:
        found = detect(Sample(data[:1_000_000], complete=len(data) < 1_000_000))
        record = found.reader().record if found is not None else bytes
        kind = record if found is not None and found.shape == "lines" else object
        _by_record(_decoder(kind))([(name, data)])


@functools.cache
def _decoder(kind: Any) -> Callable[[bytes], object]:
    decode: Callable[[bytes], object] = msgspec.json.Decoder(kind).decode
    return decode


# -- summaries -------------------------------------------------------------------------------


def naively(sessions: Sessions) -> list[str]:
    return [naive.to_json(naive.summarize(data)) for _, data in sessions]


def passed(sessions: Sessions) -> None:
    """The pass alone: messages and evidence, no judgement."""
    for name, data in sessions:
        reading = Pass(name)
        reading.feed(data)
        reading.close()


def summarized(sessions: Sessions) -> list[bytes]:
    """Everything: the pass, the judgement, the gate, the JSON."""
    found: list[bytes] = []
    for name, data in sessions:
        reading = Pass(name)
        reading.feed(data)
        reading.close()
        found.append(to_json(reading.conclude([Source(name)])))
    return found


CONTESTANTS: dict[str, Contestant] = {
    FIRST: _by_record(orjson.loads),
    "json.loads": _by_record(json.loads),
    "msgspec, typed": _typed,
    "naive": naively,
    "leftoff, the pass": passed,
    "leftoff, summary": summarized,
}

GATE: dict[str, Contestant] = {
    FIRST: _by_record(orjson.loads),
    "msgspec, typed": _by_record(_decoder(Line)),
    "naive": naively,
    "leftoff, summary": summarized,
}


def turns(contestants: dict[str, Contestant], sessions: Sessions, rounds: int) -> Any:
    """Processor seconds of each contestant, one for each round; a round before the first one
    warms up and does not count."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        for name, run in contestants.items():
            forget()
            gc.collect()
            began = time.process_time()
            run(sessions)
            if number:
                times[name].append(time.process_time() - began)
    return times


def compare(sessions: Sessions, rounds: int) -> dict[str, Any]:
    """Each contestant's processor seconds and its speed as a multiple of orjson's."""
    with tempfile.TemporaryDirectory() as scratch:
        paths = _written(sessions, Path(scratch))
        contestants = CONTESTANTS | {"leftoff, row of a batch": lambda _: _rows(paths)}
        times = turns(contestants, sessions, rounds)
        times["wc -l"] = [_counted(paths) for _ in range(rounds)]
    first = times[FIRST]
    return {
        name: {
            "seconds": round(statistics.median(taken), 4),
            "ratio": round(
                statistics.median(a / b for a, b in zip(first, taken, strict=True)), 4
            ),
        }
        for name, taken in times.items()
    }


def found_by(sessions: Sessions) -> dict[str, dict[str, int]]:
    """What the two summaries hold, so that it can be seen that both did work."""
    told = [msgspec.json.decode(one, type=ContextSummary) for one in summarized(sessions)]
    plain = [naive.summarize(data) for _, data in sessions]
    return {
        "leftoff, summary": {
            "messages": sum(s.stats.message_count for s in told),
            "calls": sum(s.stats.tool_call_count for s in told),
            "decisions": sum(len(s.key_decisions) for s in told),
            "files": sum(len(s.file_modifications) for s in told),
        },
        "naive": {
            "messages": sum(s.messages for s in plain),
            "calls": sum(s.calls for s in plain),
            "decisions": sum(len(s.decisions) for s in plain),
            "files": sum(len(s.files) for s in plain),
        },
    }


def chapter(sessions: Sessions, rounds: int) -> dict[str, Any]:
    """One run over one chapter of the data."""
    return {
        "sessions": len(sessions),
        "megabytes": round(size_of(sessions) / 1e6, 2),
        "found": found_by(sessions),
        "contestants": compare(sessions, rounds),
    }


def _written(sessions: Sessions, scratch: Path) -> list[Path]:
    paths: list[Path] = []
    for number, (name, data) in enumerate(sessions):
        path = scratch / f"{number:04}-{Path(name).name.removesuffix('.gz')}"
        path.write_bytes(data)
        paths.append(path)
    return paths


def _rows(paths: list[Path]) -> None:
    """What a worker of `leftoff batch` does: rows of all tables, and the state to keep."""
    for number, path in enumerate(paths):
        run_job(Job(number, (InputFile(str(path), path.stat().st_size),)), BatchOptions())


def _counted(paths: list[Path]) -> float:
    """`wc -l` over the files, so often that the time can be told, without its start."""
    size = sum(path.stat().st_size for path in paths)
    times = max(1, 200_000_000 // max(1, size))
    names = [str(path) for path in paths]
    wide = 2_000_000 // max(1, sum(map(len, names)))  # what a command line may hold
    times = max(1, min(times, wide))
    spent = spend(["wc", "-l", *names * times]).cpu - spend(["wc", "-l", "/dev/null"]).cpu
    return max(spent, 1e-6) / times
