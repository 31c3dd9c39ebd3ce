"""Where the time of a summary goes: a stopwatch around the functions of each stage.

Each function counts without those stages that it calls. Watching costs about a microsecond for
a call, so what is told is a share of the time that is measured without a watch.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from inspect import isgenerator
from typing import Any
from unittest import mock

from benchmarks.speed.contestants import forget, summarized
from benchmarks.speed.data import Sessions, size_of
from leftoff import codec

STAGES: dict[str, tuple[str, ...]] = {
    "decode": (
        "leftoff.extraction.lines.LineReader._valid_json",
        "leftoff.formats.lenient_json.fields_of",
        "leftoff.formats.reader.items_of",
    ),
    "intake": (
        "leftoff.extraction.lines.LineReader.feed",
        "leftoff.extraction.collector.Collector.close",
    ),
    "format detection": ("leftoff.extraction.lines.detect",),
    "rules, gate and patterns": (
        "leftoff.extraction.rules.Gate.scan",
        "leftoff.extraction.collector.scan_output",
    ),
    "decisions, gate": ("leftoff.extraction.decisions.Decisions.see",),
    "edits and names": ("leftoff.extraction.edits.Edits.see",),
    "other extractors": (
        "leftoff.extraction.files.Files.see",
        "leftoff.extraction.progress.Progress.see",
        "leftoff.extraction.insights.Insights.see",
        "leftoff.extraction.requests.Requests.see",
    ),
    "tokens": ("leftoff.extraction.session_state.ContextOccupancy.estimate_texts",),
    "shell": (
        "leftoff.analysis.files.track.Tracker.apply_command",
        "leftoff.shell.effects._parse_script",
    ),
    "decisions, model": ("leftoff.analysis.decisions.select.key_decisions",),
    "files": (
        "leftoff.analysis.files.track.Tracker.all",
        "leftoff.analysis.files.net_changes.file_modifications",
        "leftoff.analysis.files.net_changes.unknown_effects",
    ),
    "progress": ("leftoff.analysis.progress.progress",),
    "working set": ("leftoff.analysis.assemble.working_set",),
    "requests, insights, context": (
        "leftoff.analysis.requests.user_requests",
        "leftoff.analysis.insights.key_findings",
        "leftoff.analysis.insights.errors",
        "leftoff.analysis.insights.next_steps",
        "leftoff.analysis.assemble.context",
    ),
    "redaction": ("leftoff.redaction.redactor.Redactor.value",),
    "JSON": ("leftoff.codec.to_builtins", "leftoff.codec.dumps"),
}
"""Functions by stage. One that is gone fails loudly: the list has to follow the code."""

REST = "the rest"


class Stopwatch:
    """Adds up the time of each stage; nested ones are taken off those around them."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys((*STAGES, REST), 0.0)
        self._inner = [0.0]

    def around(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        seconds, inner, now = self.seconds, self._inner, time.perf_counter

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            inner.append(0.0)
            began = now()
            try:
                found = function(*args, **kwargs)
                # The work of a generator is done where it is read: it counts here.
                return iter(list(found)) if isgenerator(found) else found
            finally:
                taken = now() - began
                seconds[stage] += taken - inner.pop()
                inner[-1] += taken

        return watched

    def total(self, run: Callable[[], object]) -> None:
        """Runs it; what no stage took is the rest."""
        self.around(REST, run)()


def watch(sessions: Sessions) -> dict[str, float]:
    """The share of each stage in one summary of each session."""
    watch = Stopwatch()
    with ExitStack() as stack:
        for stage, names in STAGES.items():
            for name in names:
                stack.enter_context(_patched(name, watch, stage))
        stack.enter_context(_decoders(watch))
        forget()
        watch.total(lambda: summarized(sessions))
    whole = sum(watch.seconds.values())
    return {stage: taken / whole for stage, taken in watch.seconds.items()}


def _patched(name: str, watch: Stopwatch, stage: str) -> Any:
    getter, attribute = mock._get_target(name)  # type: ignore[attr-defined]
    original = getattr(getter(), attribute)
    return mock.patch(name, watch.around(stage, original))


def _decoders(watch: Stopwatch) -> Any:
    """Line decoders that are made while it is on are watched."""
    make = codec.LineDecoder.__init__

    def begin(self: Any, type_: Any) -> None:
        make(self, type_)
        self.strict = watch.around("decode", self.strict)

    return mock.patch.object(codec.LineDecoder, "__init__", begin)


def shares(sessions: Sessions, rounds: int) -> dict[str, Any]:
    """Medians over rounds; seconds are of a run without a watch."""
    taken: list[float] = []
    found: list[dict[str, float]] = []
    for number in range(rounds + 1):
        forget()
        began = time.process_time()
        summarized(sessions)
        spent = time.process_time() - began
        seen = watch(sessions)
        if number:
            taken.append(spent)
            found.append(seen)
    return {
        "sessions": len(sessions),
        "megabytes": round(size_of(sessions) / 1e6, 2),
        "seconds": round(statistics.median(taken), 4),
        "shares": {
            stage: round(statistics.median(f[stage] for f in found), 4)
            for stage in (*STAGES, REST)
        },
    }
