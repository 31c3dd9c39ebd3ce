"""`leftoff eval budget`."""

from __future__ import annotations

import sys

import click


@click.command("budget")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print the run: numbers, no text.")
@click.option("-o", "--output", metavar="FILE", help="Write the run here too.")
@click.option(
    "--resamples",
    type=click.IntRange(min=2),
    default=2000,
    show_default=True,
    help="Of the bootstrap.",
)
@click.option("--date", metavar="DAY", default="", help="To note in the run.")
@click.option("--machine", metavar="TEXT", default="", help="To note in the run.")
def budget_command(
    paths: tuple[str, ...],
    *,
    as_json: bool,
    output: str | None,
    resamples: int,
    date: str,
    machine: str,
) -> None:
    """Score the ledger against what recorders wrote down.

    PATH: recordings, or directories of them. Spend is set beside the naive sum of every
    record, occupancy beside the recorders' own figures at compactions, and the forecast beside
    the compactions that came.
    """
    from leftoff.cli.streams import deliver
    from leftoff.evaluation import budget as budgets

    shows = sys.stderr.isatty()
    measured = budgets.evaluate_budget(
        paths, progress=(lambda name: print(f"  {name}", file=sys.stderr)) if shows else None
    )
    value = budgets.report(measured, resamples=resamples)
    run = budgets.to_run(value, date=date, machine=machine).decode()
    deliver(run if as_json else budgets.table(value), None)
    if output:
        deliver(run, output)
