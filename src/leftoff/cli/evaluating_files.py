"""`leftoff eval files`."""

from __future__ import annotations

import sys

import click


@click.command("files")
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
def files_command(
    paths: tuple[str, ...],
    *,
    as_json: bool,
    output: str | None,
    resamples: int,
    date: str,
    machine: str,
) -> int:
    """Score file tracking against what really happened.

    PATH: recordings, or directories of them. Final patches are read from the recordings
    themselves, commits from the `.groundtruth.json` file beside a recording.
    """
    from leftoff.cli.streams import deliver
    from leftoff.evaluation import file_reports
    from leftoff.evaluation.file_runs import evaluate_files

    shows = sys.stderr.isatty()
    report = evaluate_files(
        paths,
        progress=(lambda name: print(f"  {name}", file=sys.stderr)) if shows else None,
    )
    run = file_reports.to_run(report, resamples=resamples, date=date, machine=machine).decode()
    deliver(run if as_json else file_reports.table(report, resamples=resamples), None)
    if output:
        deliver(run, output)
    return 0
