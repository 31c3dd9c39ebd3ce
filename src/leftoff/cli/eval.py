"""`leftoff eval`."""

from __future__ import annotations

import sys

import click

from leftoff.cli.eval_budget import budget_command
from leftoff.cli.eval_files import files_command
from leftoff.cli.eval_options import HELD_OUT, noted, printed, progress
from leftoff.cli.eval_resume import resume_command
from leftoff.cli.eval_truth import truth_command
from leftoff.cli.group import complain
from leftoff.cli.output import deliver
from leftoff.cli.params import reader_options, reading_with
from leftoff.errors import UsageError
from leftoff.evaluation import reports
from leftoff.evaluation.runs import evaluate_labels, select_labels
from leftoff.evaluation.systems import judged_by
from leftoff.sources.open import read_whole


@click.group("eval")
def evaluate() -> None:
    """Measure how accurate leftoff is: against labels, or against what recordings, patches and
    commits show.

    Example: leftoff eval labels LABELS --transcripts SESSIONS
    """


evaluate.add_command(budget_command)
evaluate.add_command(files_command)
evaluate.add_command(resume_command)
evaluate.add_command(truth_command)


@evaluate.command("labels")
@click.argument("path", metavar="PATH")
@click.option(
    "--transcripts",
    metavar="DIR",
    help="Where the recordings are, found by file name.  [default: PATH]",
)
@click.option("--against", metavar="RUN", help="Compare with a committed run; 1 if worse.")
@printed
@click.option(
    "--html", metavar="FILE", help="Write a page with misses and false alarms in context."
)
@click.option("--baselines", is_flag=True, help="Measure the baselines on the same sessions.")
@click.option(
    "--train", metavar="PATH", help="Further labels that the linear baseline may learn from."
)
@click.option("--only", metavar="REPOSITORY", multiple=True, help="These owner__name only.")
@reader_options
@click.option("--held-out", is_flag=True, help=f"Only {HELD_OUT}, which is else left out.")
@noted
def labels_command(
    path: str,
    *,
    transcripts: str | None,
    against: str | None,
    as_json: bool,
    output: str | None,
    html: str | None,
    baselines: bool,
    train: str | None,
    only: tuple[str, ...],
    reader: str | None,
    reader_refresh: bool,
    held_out: bool,
    resamples: int,
    date: str,
    machine: str,
) -> int:
    """Score summaries against the label files in PATH.

    Every figure comes with the number of sessions and items and a 95 % interval by bootstrap
    over sessions. Exit 1: with --against, something became worse than chance explains.
    """
    before = None
    if against is not None:
        before = reports.from_run(read_whole(against))
    chosen = select_labels(path, only=only, held_out=HELD_OUT, reporting=held_out)
    if not chosen:
        raise UsageError(f"{path}: no labels are left to score after --only and --held-out")
    reading = reading_with(reader, refresh=reader_refresh)
    finished = evaluate_labels(
        chosen,
        transcripts or path,
        baselines=baselines,
        train=select_labels(train, held_out=HELD_OUT) if train else (),
        predict=judged_by(reading) if reading is not None else None,
        progress=progress(),
        resamples=resamples,
        date=date,
        machine=machine,
    )
    for problem in finished.problems:
        complain(problem)
    report = finished.report
    run = reports.to_run(report)
    deliver(run.decode() if as_json else reports.table(report), None)
    if output:
        deliver(run.decode(), output)
    if html:
        from leftoff.evaluation.pages import page

        deliver(page(report, finished.sessions, finished.predictions), html)
    if before is None:
        return 0
    worse, notes = reports.regressions(report, before, resamples=resamples)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    for what in worse:
        print(f"worse: {what}", file=sys.stderr)
    return 1 if worse else 0
