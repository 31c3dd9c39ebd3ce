"""How right leftoff is: decisions, milestones, files, budgets, resume, leaks, references.

Figures on sessions that the decision weights were trained on stand in a part of their own; so
do those of the rules, where the rules were written while such sessions were read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

import leftoff
from benchmarks.accuracy.files.halves import by_half
from benchmarks.scoreboard.setting import ROOT, Setting, Values, evaluated, json_of, ran
from leftoff.errors import InputError
from leftoff.evaluation.file_runs import FileRun

NAMES = {
    "decisions_f1": "decisions, messages: F1",
    "statements_f1": "decisions, statements: F1",
    "joint_f1": "decisions with type: F1",
    "ece": "decisions: calibration error",
    "milestones_f1": "milestones: F1",
    "milestones_precision": "milestones: precision",
    "stage_accuracy": "stages per turn: accuracy",
    "directives_f1": "directives: F1",
    "open_items_f1": "open items: F1",
}
"""Figures of `leftoff eval labels` that are shown."""

FIRST = (3, 5)
"""How many decisions a reader looks at."""

LEAST = 5
"""Labelled decisions that a session needs to count for the precision of the first ones."""

CROSS_VALIDATED = {
    "f1": "decisions, messages: F1",
    "statements_f1": "decisions, statements: F1",
    "joint_f1": "decisions with type: F1",
    "p_at_3": "decisions: precision of the first 3",
    "p_at_5": "decisions: precision of the first 5",
    "p_at_10": "decisions: precision of the first 10",
    "ece": "decisions: calibration error",
}
"""Figures of the cross-validation that are shown, as far as it gives them."""


# -- labels ----------------------------------------------------------------------------------


def gold(setting: Setting) -> Values:
    """Figures on our own gold sessions, which no weight was trained on and no rule was written
    for."""
    return _of_labels("gold", ROOT / "corpora" / "gold", None, trained=False)


def left_out(setting: Setting) -> Values:
    """Figures on repositories that the weights have not seen: the cross-validation that leaves
    out one repository at a time, and `labels/more` as long as it was not trained on."""
    labels, public = setting.corpus("labels"), setting.corpus("public")
    found = _of_labels("more", labels / "more", setting.corpus("more"), trained=False)
    run = json_of("-m", "benchmarks.accuracy.decisions", labels, public)
    known = run["cross_validated"]
    for key, name in CROSS_VALIDATED.items():
        if key in known:
            found[f"left out one by one, {name}"] = known[key][0]
    return found


def training(setting: Setting) -> Values:
    """Figures on sessions that weights were trained on and rules were written with."""
    found: Values = {}
    public = setting.corpus("public")
    for name in ("double", "single"):
        found |= _of_labels(name, setting.corpus("labels", name), public, trained=True)
    return found


def _of_labels(name: str, labels: Path, transcripts: Path | None, *, trained: bool) -> Values:
    """The figures of a folder of labels; those of decisions only if the weights were trained
    on its sessions, or only if they were not."""
    where = ("--transcripts", transcripts) if transcripts else ()
    run = evaluated("labels", labels, *where)
    ours = run["results"][0]
    learnt = bool(run["trained"])
    found = {}
    for key, words in NAMES.items():
        if key in ours["figures"] and (learnt == trained or not words.startswith("decisions")):
            found[f"{name}, {words}"] = ours["figures"][key]["value"]
    if learnt == trained:
        for count in FIRST:
            value = _of_first(ours["scores"], count)
            if value is not None:
                found[f"{name}, decisions: precision of the first {count}"] = value
    return found


def _of_first(scores: Iterable[Mapping[str, Any]], count: int) -> float | None:
    """Of the first decisions by confidence, the share that is right: the mean over sessions
    with at least `LEAST` labelled decisions. Fewer than that many count as wrong."""
    shares = [
        sum(right for _, right in score.get("calibration", ())[:count]) / count
        for score in scores
        if (of := score.get("statements")) and of["right"] + of["missed"] >= LEAST
    ]
    return sum(shares) / len(shares) if shares else None


# -- truth -----------------------------------------------------------------------------------


def truth(setting: Setting) -> Values:
    """How often a claim is backed: references of summaries that do not hold, and milestones
    by their evidence (verified, claimed, contradicted), with the share that is labelled."""
    wrong, references, read = 0, 0, 0
    for path in _recordings((setting.corpus("public"), ROOT / "corpora" / "sessions")):
        try:
            summary = leftoff.summarize(path)
            wrong += len(leftoff.verify(summary))
        except InputError:
            continue
        read += 1
        references += leftoff.to_json(summary).count(b'"hash":"')
    found: Values = {
        "references": references,
        "references that do not hold": wrong,
        "recordings read": read,
    }
    scores: list[Any] = []
    for name, folder in (("double", "public"), ("more", "more")):
        run = evaluated(
            "labels", setting.corpus("labels", name), "--transcripts", setting.corpus(folder)
        )
        scores += run["results"][0]["scores"]
    for evidence in ("verified", "claimed", "contradicted"):
        counts = [s.get("milestone_evidence", {}).get(evidence) for s in scores]
        right = sum(c["right"] for c in counts if c)
        given = right + sum(c["wrong"] for c in counts if c)
        found[f"milestones {evidence}: number"] = given
        if given:
            found[f"milestones {evidence}: labelled, share"] = right / given
    return found


def _recordings(folders: Sequence[Path]) -> list[str]:
    """The recordings below folders; metadata and ground truth stand beside them."""
    beside = (".groundtruth.json", ".metadata.json", ".meta.json", ".tsv", "README.md")
    return [
        str(path)
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(beside)
    ]


# -- files, budget, resume -------------------------------------------------------------------


def files(setting: Setting) -> Values:
    """Net files against final patches, committed files, and commands run in a sandbox."""
    run = evaluated("files", setting.corpus("public"), setting.corpus("more"))
    known = run["figures"]
    held_out = by_half(msgspec.convert(run, FileRun))["held out"]["net files"]
    return {
        "net files: F1": known["net files"]["f1"],
        "net files, held out: F1": held_out["f1"],
        "committed files: found": known["committed files"]["found"],
        "committed files: precision, at least": known["committed files"]["precision_at_least"],
    }


def sandbox(setting: Setting) -> Values:
    """What single commands do to files, against real runs (Linux, root)."""
    out = setting.scratch / "sandbox.json"
    program = ("-m", "benchmarks.accuracy.files", "--seed", "7", "--count", "1600")
    ran(*program, "--json", out)
    ours = json.loads(out.read_bytes())["systems"]["told"]
    return {
        "commands: F1": ours["f1"],
        "commands: exact": ours["exact"],
        "commands: dangerous answers of 1000": ours["dangerous_per_1000"],
    }


def budget(setting: Setting) -> Values:
    """Occupancy and forecast against what recorders wrote down; medians of errors."""
    run = evaluated("budget", setting.corpus("public"))
    found = {
        "occupancy: median error": run["occupancy"]["median"],
        "occupancy: 95th percentile of the error": run["occupancy"]["p95"],
    }
    for at, errors in run["forecast"].items():
        for what in ("end", "tokens_left"):
            words = what.replace("_", " ")
            found[f"forecast at {at}, {words}: median error"] = errors[what]["median"]
    return found


RESUME = (
    "state of the open turn",
    "last message whole",
    "messages of the person",
    "directives",
    "decisions",
    "changed files with their change",
    "names used later",
    "next file, reciprocal rank",
    "noise",
    "grounded",
)
"""Measures of `leftoff eval resume` that are shown."""

FORMS = (
    "hook",
    "prompt 1,500",
    "checkpoint",
    "log",
    "recorder's summary",
    "both, equal length",
)
"""Forms that are shown."""


def resume(setting: Setting) -> Values:
    """What a successor is given, by form, at recorded compactions."""
    labels, public = setting.corpus("labels", "double"), setting.corpus("public")
    run = evaluated("resume", public, "--labels", labels)
    figures = run["groups"][0]["forms"]
    return {
        f"{form}: {name}": value
        for form in FORMS
        for name in RESUME
        if (value := figures[form]["figures"][name]["value"]) is not None
    }


# -- leaks -----------------------------------------------------------------------------------

DOCUMENTS = 560
"""Secrets that are planted in whole sessions."""


def leaks(setting: Setting) -> Values:
    """Planted secrets that stay readable: in single values, and in all that commands print."""
    planted = json_of("-m", "benchmarks.accuracy.redaction")["planted"]
    missed = dict.fromkeys(("structured", "generic"), 0)
    for cell in planted["missed"]:
        missed[cell["sort"]] += cell["planted"] - cell["found"]
    program = ("-m", "benchmarks.accuracy.redaction", "--documents", "--count", str(DOCUMENTS))
    whole = json_of(*program)["documents"]
    return {
        "structured secrets missed": missed["structured"],
        "generic secrets missed": missed["generic"],
        "least recall of a carrier, structured": min(planted["recall"]["structured"].values()),
        "least recall of a carrier, generic": min(planted["recall"]["generic"].values()),
        "pieces shown in whole sessions": whole["leaks"],
    }
