"""`leftoff eval resume`."""

from __future__ import annotations

import click

from leftoff.cli.eval_options import HELD_OUT, noted, printed, progress
from leftoff.cli.output import deliver
from leftoff.evaluation import resume_reports as reports
from leftoff.evaluation.labels import load
from leftoff.evaluation.resume_forms import HOOK, forms
from leftoff.evaluation.resume_runs import evaluate_resume


@click.command("resume")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--labels", metavar="DIR", multiple=True, help="Labels of some of the sessions.")
@click.option(
    "--cuts",
    type=click.Choice(["natural", "artificial", "both"]),
    default="natural",
    show_default=True,
    help="At recorded compactions, or at 25, 50 and 75 % of sessions without one.",
)
@click.option(
    "--tuned",
    metavar="REPOSITORY",
    multiple=True,
    help="These owner__name were looked at while leftoff was built: report them apart.",
)
@printed
@click.option(
    "--misses",
    metavar="FILE",
    help=f"Write what the hook's block lacks, with its words, as lines of JSON; nothing of "
    f"{HELD_OUT}.",
)
@noted
def resume_command(
    paths: tuple[str, ...],
    *,
    labels: tuple[str, ...],
    cuts: str,
    tuned: tuple[str, ...],
    as_json: bool,
    output: str | None,
    misses: str | None,
    resamples: int,
    date: str,
    machine: str,
) -> None:
    """Measure what the next agent is given against what it needed.

    PATH: recordings, or directories of them. Each is cut where the recorder compacted it, and
    only the part before the cut is read. Compared are all forms of leftoff at their own
    budgets, the summary of the recorder's own model, the tail of the session, and that summary
    together with leftoff's block. Decisions and directives need labels. Exit 2: no cut could
    be measured.
    """
    report = evaluate_resume(
        paths,
        [label for directory in labels for label in load(directory)],
        forms(),
        natural=cuts != "artificial",
        artificial=cuts != "natural",
        misses_of=(HOOK,) if misses else (),
        progress=progress(),
    )
    run = reports.to_run(report, tuned=tuned, resamples=resamples, date=date, machine=machine)
    deliver(run.decode() if as_json else reports.table(run), None)
    if output:
        deliver(run.decode(), output)
    if misses:
        deliver(reports.misses_to_lines(report.misses, without=HELD_OUT), misses)
