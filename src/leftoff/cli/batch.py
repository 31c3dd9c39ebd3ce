"""`leftoff batch`."""

import os
import sys
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from leftoff import codec, settings
from leftoff.batch import jobs, outputs
from leftoff.batch.jobs import BatchOptions, Job
from leftoff.batch.pool import Engine, Pool
from leftoff.batch.run import Report, Run, index_beside, report_to_builtins
from leftoff.cli import params
from leftoff.cli.group import complain
from leftoff.cli.output import deliver
from leftoff.errors import StateError, UsageError
from leftoff.handover.wording import plural
from leftoff.text.sanitize import clean


@params.command("batch")
def batch(
    paths: tuple[str, ...],
    *,
    places: tuple[str, ...],
    what: Any,
    only: tuple[str, ...],
    extra: tuple[str, ...],
    hide: tuple[str, ...],
    personal: bool,
    recorder: str | None,
    engine: str,
    workers: int | None,
    address: str,
    limit: float,
    index: str | None,
    asked: params.ReaderOptions,
    fresh: bool,
    as_json: bool,
    quiet: bool,
    strict: bool,
) -> int:
    """Write many sessions as tables: one row for each session, decision, milestone and changed
    file.

    Example: leftoff batch ~/.claude -o sessions.parquet

    PATHS are files, folders, patterns, URLs (s3://bucket/folder) and the folders of clients;
    without any, the default places of this machine. A file that cannot be read gets a row with
    the reason. The next run reads only what has changed and continues an interrupted run. Exit
    1: a file that is named does not exist, or no session could be read. Exit 130: interrupted;
    OUT contains what was finished."""
    # An unset variable of a shell gives an empty path, which would mean this folder.
    if "" in paths:
        raise UsageError("one of PATHS is empty: name files, folders or patterns")
    for place in places:
        outputs.check(place)  # said before the first file is looked for
    found = settings.load_here().settings
    wanted = BatchOptions(
        what, only, extra, hide, recorder or "", personal, prices=found.prices
    )
    if what == "budget":
        wanted = replace(wanted, preset=found.watched(), windows=found.windows)
    reading = asked.reading
    if reading is not None:
        # A session must be finished, with or without answers, before it is stopped.
        home = str(Path(found.home).absolute())
        reader = jobs.ReaderOptions(reading.name, home, reading.refresh, limit / 2)
        wanted = replace(wanted, reader=reader)
    memory = index or index_beside(places[0], found.home)
    # An index holds answers of readers too: asking again needs rows that are made again.
    if fresh or (reading is not None and reading.refresh):
        _forget(memory)
    with (
        progress(quiet=quiet) as watcher,
        # In any case: its processes would outlive this one.
        closing(_engine(engine, workers or 0, address, limit)) as doing,
        closing(Run(paths, wanted, doing, memory, os.environ, watcher)) as run,
    ):
        report = run.write(places)
    unanswered = report.counts.unanswered
    if unanswered:
        reason = min(unanswered, key=lambda words: (-unanswered[words], words))
        complain(f"{plural(sum(unanswered.values()), 'session')}: {reason}")
    if as_json:
        deliver(codec.dumps(report_to_builtins(report), indent=2))
    elif not quiet:
        print(summary_line(report), file=sys.stderr)
    if report.interrupted:
        return 130
    unread = run.missing or not report.sessions or (strict and report.failures)
    return 1 if unread else 0


def _engine(name: str, workers: int, address: str, limit: float) -> Engine:
    if name == "ray":
        from leftoff.batch.ray import Cluster

        return Cluster(address, workers, limit)
    return Pool(workers, limit)


def _forget(index: str) -> None:
    # SQLite would play a log that is left behind into the new index.
    for ending in ("", "-wal", "-shm"):
        try:
            Path(index + ending).unlink(missing_ok=True)
        except OSError as error:
            what = f"cannot be removed ({error.strerror})"
            raise StateError(f"{index}{ending}: {what}; --fresh needs that") from error


class BatchProgress:
    """Progress on a terminal: how much is done and how long it will take."""

    def __init__(self) -> None:
        # click has no bar whose length is not known yet, and looking for files takes a while.
        self._bar: Any = None
        self._todo = 0
        click.echo("looking …\r", nl=False, err=True)

    def planned(self, report: Report, todo: int, size: int) -> None:
        self._todo = todo
        if not todo:
            return
        self._bar = click.progressbar(
            length=max(1, size),
            label=f"0 of {todo:,}",
            show_percent=True,
            bar_template="%(label)s  [%(bar)s]  %(info)s",
            file=sys.stderr,
        )
        self._bar.render_progress()

    def job_done(self, job: Job, report: Report) -> None:
        failed = f", {plural(report.failures, 'failure')}" if report.failures else ""
        self._bar.label = f"{report.done:,} of {self._todo:,}{failed}"
        self._bar.update(job.size)

    def close(self) -> None:
        """Takes the bar off the screen."""
        click.echo("\r\x1b[2K", nl=False, err=True, color=True)
        if self._bar is not None:
            self._bar.finish()


def progress(*, quiet: bool = False) -> AbstractContextManager[BatchProgress | None]:
    """A listener of a batch, until the block ends; None where stderr is no terminal."""
    # The log of a job would be full of bars.
    return closing(BatchProgress()) if not quiet and sys.stderr.isatty() else nullcontext()


def summary_line(report: Report) -> str:
    """A report as text for people."""
    total, parsed, unknown, repaired, skipped = report.counts.lines
    formats = sorted(report.counts.formats.items(), key=lambda item: (-item[1], item[0]))
    found = f"{plural(report.sessions, 'session')} in {plural(report.files, 'file')}"
    if report.left_out:
        found += f" (and {plural(report.left_out, 'file')} of other kinds)"
    if formats:
        found += ": " + ", ".join(f"{name} {count:,}" for name, count in formats)
    lines = [found]
    if total:
        share = 10_000 * (parsed + repaired) // total / 100  # 100 means all
        lines.append(
            f"{plural(total, 'line')}: {share:.2f} % read, {unknown:,} of unknown kinds, "
            f"{repaired:,} repaired, {skipped:,} skipped"
        )
    if report.failures:
        kinds = ", ".join(f"{k} {n:,}" for k, n in sorted(report.counts.failures.items()))
        lines.append(f"{plural(report.failures, 'file')} not read: {kinds}")
        # Other files are expected in a folder; what failed otherwise is shown first.
        shown = sorted(report.failed, key=lambda f: f.failure == "no_session")[:5]
        lines += [f"  {clean(f.path)}: {clean(f.reason)[:200]}" for f in shown]
        if report.failures > len(shown):
            lines.append(f"  and {report.failures - len(shown):,} more")
    slowest = [f"{clean(s.path)} ({s.seconds:.1f} s)" for s in report.slowest[:3]]
    if slowest:
        lines.append("slowest: " + ", ".join(slowest))
    rate = report.read / 1e6 / max(report.seconds, 1e-9)
    lines.append(
        f"{report.known:,} of {plural(report.jobs, 'job')} unchanged; "
        f"read {report.read / 1e6:,.1f} MB in {report.seconds:.1f} s ({rate:,.1f} MB/s)"
    )
    if report.written:
        lines.append("wrote " + ", ".join(report.written))
    if report.unchanged:
        lines.append("unchanged: " + ", ".join(report.unchanged))
    if report.interrupted:
        left = report.jobs - report.known - report.done
        lines.append(f"interrupted with {plural(left, 'job')} left; run it again to continue")
    return "\n".join(lines)
