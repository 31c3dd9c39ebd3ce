"""The parts of the scoreboard. A further figure is a further name that a part gives; a further
part is a function of a `Setting` and a line here."""

from __future__ import annotations

from benchmarks.scoreboard import accuracy, costs, source
from benchmarks.scoreboard.setting import Part

PARTS = (
    Part("gold", 60, accuracy.gold, lower=("calibration error",)),
    Part("left-out", 300, accuracy.left_out, lower=("calibration error",)),
    Part("training", 120, accuracy.training, lower=("calibration error",)),
    Part(
        "truth",
        240,
        accuracy.truth,
        lower=("do not hold",),
        neutral=("references", "recordings read", ": number", "contradicted"),
    ),
    Part("files", 120, accuracy.files),
    Part("sandbox", 240, accuracy.sandbox, lower=("dangerous",)),
    Part("budget", 120, accuracy.budget, lower=("error",)),
    Part("resume", 120, accuracy.resume, lower=(": stale",), neutral=("recorder's summary",)),
    Part("leaks", 120, accuracy.leaks, lower=("missed", "pieces")),
    Part("speed", 120, costs.speed),
    Part("start", 120, costs.start, lower=("/ python",), neutral=("python -c pass, ms",)),
    Part("memory", 120, costs.memory, lower=("peak", "processor"), neutral=("size",)),
    Part("installation", 300, costs.installation, lower=("MB", "packages")),
    Part(
        "lines",
        60,
        source.lines,
        lower=("`Any`", "words"),
        neutral=("src", "tests", "benchmarks"),
    ),
    Part("ci", 10, source.ci, lower=(", s",)),
)
"""All parts, in the order in which they are measured and shown. `lower` and `neutral` are
pieces of the names of figures; `lower` counts first."""
