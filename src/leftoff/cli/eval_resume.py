"""`leftoff eval resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leftoff.cli.eval_options import HELD_OUT, noted, printed, progress
from leftoff.cli.output import deliver
from leftoff.errors import UsageError
from leftoff.evaluation import resume_reports as reports
from leftoff.evaluation.labels import load
from leftoff.evaluation.resume_runs import evaluate_resume
from leftoff.handover.resume_log.document import ResumeLog
from leftoff.rendering.render_summary import render

if TYPE_CHECKING:
    from leftoff.evaluation.resume_runs import System


@click.command("resume")
@click.argument("path", metavar="LABELS")
@click.option(
    "--transcripts", metavar="DIR", help="Where the recordings are.  [default: LABELS]"
)
@click.option(
    "--cuts",
    type=click.Choice(["natural", "artificial", "both"]),
    default="natural",
    show_default=True,
    help="At recorded compactions, or at 25, 50 and 75 % of sessions without one.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=100),
    default=3000,
    show_default=True,
    help="Tokens at artificial cuts.",
)
@click.option("--only", metavar="REPOSITORY", multiple=True, help="These owner__name only.")
@printed
@click.option(
    "--misses",
    metavar="FILE",
    help=f"Write what was lost, with its words, as lines of JSON; nothing of {HELD_OUT}.",
)
@noted
def resume_command(
    path: str,
    *,
    transcripts: str | None,
    cuts: str,
    budget: int,
    only: tuple[str, ...],
    as_json: bool,
    output: str | None,
    misses: str | None,
    resamples: int,
    date: str,
    machine: str,
) -> None:
    """Score what a successor gets to know against what it would need.

    A labelled session is cut, and only what stands before the cut is read. The texts compared
    are of one length, by the upper bound of tokens: ours, the summary that the recorder's own
    model wrote there, and the plain tail of the session. Exit 2: no cut could be measured.
    """
    chosen = [label for label in load(path) if not only or label.repository in only]
    if not chosen:
        raise UsageError(f"{path}: no labels are left to score after --only")
    report = evaluate_resume(
        chosen,
        transcripts or path,
        _systems(),
        natural=cuts != "artificial",
        artificial=cuts != "natural",
        budget=budget,
        progress=progress(),
    )
    run = reports.to_run(
        report, held_out=HELD_OUT, resamples=resamples, date=date, machine=machine
    )
    deliver(run.decode() if as_json else reports.table(run), None)
    if output:
        deliver(run.decode(), output)
    if misses:
        deliver(reports.misses_to_lines(report.misses, without=HELD_OUT), misses)


def _systems() -> dict[str, System]:
    """What is under test, the one that counts first."""
    return {
        "resume log": lambda summary, budget: ResumeLog.from_summary(summary).to_markdown(
            budget
        ),
        "prompt form": lambda summary, budget: render(summary, "prompt", budget=budget),
    }
