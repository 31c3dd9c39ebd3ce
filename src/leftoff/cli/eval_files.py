"""`leftoff eval files`."""

from __future__ import annotations

import click

from leftoff.cli.eval_options import noted, printed, progress
from leftoff.cli.output import deliver
from leftoff.evaluation import file_reports
from leftoff.evaluation.file_runs import evaluate_files


@click.command("files")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@printed
@noted
def files_command(
    paths: tuple[str, ...],
    *,
    as_json: bool,
    output: str | None,
    resamples: int,
    date: str,
    machine: str,
) -> int:
    """Measure file tracking against final patches and commits.

    PATH: recordings, or directories of them. Final patches are read from the recordings
    themselves, commits from the `.groundtruth.json` file beside a recording.
    """
    report = evaluate_files(paths, progress=progress())
    run = file_reports.to_run(report, resamples=resamples, date=date, machine=machine).decode()
    deliver(run if as_json else file_reports.table(report, resamples=resamples), None)
    if output:
        deliver(run, output)
    return 0
