"""`leftoff eval truth`."""

from __future__ import annotations

import click

from leftoff.cli.eval_options import printed, progress
from leftoff.cli.output import deliver
from leftoff.evaluation import truth_reports
from leftoff.evaluation.truth_runs import evaluate_truth


@click.command("truth")
@click.argument("paths", metavar="PATH...", nargs=-1)
@printed
@click.option("--outputs", metavar="DIR", help="Real outputs of real tools (a table.csv).")
@click.option("--seed", default=1, show_default=True, help="Of the places that are cut.")
@click.option("--formats", is_flag=True, help="Show the figures of each format, too.")
@click.option(
    "--places", metavar="MEASURE", multiple=True, help="List the places of a measure."
)
@click.option("--date", metavar="DAY", default="", help="To note in the run.")
@click.option("--machine", metavar="TEXT", default="", help="To note in the run.")
def truth_command(
    paths: tuple[str, ...],
    *,
    as_json: bool,
    output: str | None,
    outputs: str | None,
    seed: int,
    formats: bool,
    places: tuple[str, ...],
    date: str,
    machine: str,
) -> int:
    """Measure summaries against what the recordings themselves show, without labels.

    PATH: recordings, or directories of them. Measured are: whose turn it is where a recording
    is cut, verdicts of checks, commits and pushes, typed words, and decisions that git undid.
    "unknown" counts what a summary leaves open, or what only a reader can judge.
    """
    report = evaluate_truth(paths, outputs=outputs or "", seed=seed, progress=progress())
    run = truth_reports.to_run(report, date=date, machine=machine).decode()
    shown = truth_reports.table(report, formats=formats, listed=places)
    deliver(run if as_json else shown, None)
    if output:
        deliver(run, output)
    return 0
