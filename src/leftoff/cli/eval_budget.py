"""`leftoff eval budget`."""

from __future__ import annotations

import click

from leftoff.cli.eval_options import noted, printed, progress
from leftoff.cli.output import deliver
from leftoff.evaluation import budget as budgets


@click.command("budget")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@printed
@noted
def budget_command(
    paths: tuple[str, ...],
    *,
    as_json: bool,
    output: str | None,
    resamples: int,
    date: str,
    machine: str,
) -> None:
    """Measure token counts, context window and forecast against the recorders' own figures.

    PATH: recordings, or directories of them. Spend is compared with the naive sum of all
    records, occupancy with the recorders' figures at compactions, and the forecast with the
    compactions that followed.
    """
    measured = budgets.evaluate_budget(paths, progress=progress())
    value = budgets.report(measured, resamples=resamples)
    run = budgets.to_run(value, date=date, machine=machine).decode()
    deliver(run if as_json else budgets.table(value), None)
    if output:
        deliver(run, output)
