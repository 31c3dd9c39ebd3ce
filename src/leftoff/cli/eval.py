"""`leftoff eval`."""

import sys
from collections.abc import Callable, Iterable

import click
from msgspec import Struct
from msgspec.structs import replace

from leftoff.cli.group import complain, tell
from leftoff.cli.output import deliver
from leftoff.cli.params import ReaderOptions, command
from leftoff.errors import UsageError
from leftoff.evaluation import label_runs
from leftoff.evaluation.report import Block, R, as_text, from_json, to_json
from leftoff.sources.open import read_whole

# A labelled source repository that is not looked at while rules are built; on demand only.
HELD_OUT = "marot__spotter"


class RunOptions(Struct, frozen=True):
    """What every evaluation takes: how its run is printed and the file it is written to, what
    to note in it, and the resamples of the bootstrap."""

    as_json: bool
    output: str | None
    date: str
    machine: str
    resamples: int = 0

    def deliver(self, run: R, blocks: Iterable[Block] | None = None) -> R:
        """Prints a run with its notes, as JSON or as text, and writes it to the output file."""
        # The clock and the machine are not ours to read: a run is to be the same anywhere.
        run = replace(run, date=self.date, machine=self.machine)
        data = to_json(run)
        deliver(data.decode() if self.as_json else as_text(blocks or run.blocks()))
        if self.output:
            deliver(data, self.output)
        return run


def progress() -> Callable[[str], None] | None:
    """Names each session on a terminal's stderr; silent elsewhere."""
    if not sys.stderr.isatty():
        return None
    return lambda name: tell(f"  {name}")


@click.group("eval")
def evaluate() -> None:
    """Measure how accurate leftoff is: against labels, or against what recordings, patches and
    commits show.

    Example: leftoff eval labels LABELS --transcripts SESSIONS"""


@command("eval budget", evaluate)
def budget_command(paths: tuple[str, ...], *, options: RunOptions) -> None:
    """Score the ledger against what recorders wrote down.

    Example: leftoff eval budget SESSIONS

    PATH: recordings, or directories of them. Spend is set beside the naive sum of every
    record, occupancy beside the recorders' own figures at compactions, and the forecast beside
    the compactions that came."""
    from leftoff.evaluation.budget import evaluate_budget

    options.deliver(evaluate_budget(paths, progress=progress(), resamples=options.resamples))


@command("eval files", evaluate)
def files_command(paths: tuple[str, ...], *, options: RunOptions) -> None:
    """Score file tracking against what really happened.

    Example: leftoff eval files SESSIONS

    PATH: recordings, or directories of them. Final patches are read from the recordings
    themselves, commits from the `.groundtruth.json` file beside a recording."""
    from leftoff.evaluation.file_runs import evaluate_files

    options.deliver(evaluate_files(paths, progress=progress(), resamples=options.resamples))


@command("eval resume", evaluate)
def resume_command(
    paths: tuple[str, ...],
    *,
    labels: tuple[str, ...],
    cuts: str,
    tuned: tuple[str, ...],
    options: RunOptions,
) -> None:
    """Score what a successor is given against what it would need.

    Example: leftoff eval resume SESSIONS

    PATH: recordings, or directories of them. Each is cut where the recorder compacted it, and
    only what stands before the cut is read. Compared are every form that leftoff delivers, each
    at its own budget, the summary that the recorder's own model wrote there, the tail of the
    session, and that summary with our block. Decisions and directives need labels. Exit 2: no
    cut could be measured."""
    from leftoff.evaluation.labels import load
    from leftoff.evaluation.resume_forms import forms
    from leftoff.evaluation.resume_runs import evaluate_resume

    run = evaluate_resume(
        paths,
        [label for directory in labels for label in load(directory)],
        forms(),
        natural=cuts != "artificial",
        artificial=cuts != "natural",
        progress=progress(),
        tuned=tuned,
        resamples=options.resamples,
    )
    options.deliver(run)


@command("eval truth", evaluate)
def truth_command(
    paths: tuple[str, ...],
    *,
    seed: int,
    formats: bool,
    places: tuple[str, ...],
    options: RunOptions,
) -> None:
    """Score summaries against what the recordings themselves show, without labels.

    Example: leftoff eval truth SESSIONS

    PATH: recordings, or directories of them. Measured are: whose turn it is where a recording
    is cut, verdicts of checks, commits and pushes, typed words, and decisions that git undid.
    "unknown" counts what a summary leaves open, or what only a reader can judge."""
    from leftoff.evaluation.truth_runs import evaluate_truth

    run = evaluate_truth(paths, seed=seed, progress=progress())
    options.deliver(run, run.blocks(formats=formats, listed=places))


@command("eval labels", evaluate)
def labels_command(
    path: str,
    *,
    transcripts: str | None,
    against: str | None,
    html: str | None,
    baselines: bool,
    only: tuple[str, ...],
    asked: ReaderOptions,
    held_out: bool,
    options: RunOptions,
) -> int:
    """Score summaries against the label files in PATH.

    Example: leftoff eval labels LABELS --transcripts SESSIONS

    Every figure comes with the number of sessions and items and a 95 % interval by bootstrap
    over sessions. Exit 1: with --against, something became worse than chance explains."""
    from leftoff.evaluation.baselines import RULES
    from leftoff.evaluation.systems import judged_by

    # Read first: a wrong file is said before minutes of work.
    before = from_json(read_whole(against), label_runs.LabelRun) if against else None
    chosen = label_runs.select_labels(path, only=only, held_out=HELD_OUT, reporting=held_out)
    if not chosen:
        raise UsageError(f"{path}: no labels are left to score after --only and --held-out")
    finished = label_runs.evaluate_labels(
        chosen,
        transcripts or path,
        others=RULES if baselines else {},
        predict=judged_by(reading) if (reading := asked.reading) is not None else None,
        progress=progress(),
        resamples=options.resamples,
    )
    for problem in finished.problems:
        complain(problem)
    report = options.deliver(finished.report)
    if html:
        from leftoff.evaluation.pages import page

        deliver(page(report, finished.sessions, finished.predictions), html)
    if before is None:
        return 0
    worse, notes = label_runs.regressions(report, before, resamples=options.resamples)
    for word, sentences in (("note", notes), ("worse", worse)):
        for sentence in sentences:
            print(f"{word}: {sentence}", file=sys.stderr)
    return 1 if worse else 0
