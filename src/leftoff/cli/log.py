"""`leftoff log`."""

from datetime import UTC, datetime

import click

from leftoff import codec
from leftoff.api import summarize
from leftoff.cli.group import complain
from leftoff.cli.output import deliver
from leftoff.cli.params import RecordingOptions, chosen_id, command, path_of
from leftoff.errors import StateError
from leftoff.live.resume_logs import ResumeLogGenerator
from leftoff.redaction.redactor import Redactor
from leftoff.settings import load_here
from leftoff.text import sanitize


@click.group()
def log() -> None:
    """Write and manage resume logs: what the next session should know, in at most 10,000
    tokens.

    Example: leftoff log create latest

    They are saved in .leftoff/resume-logs, as markdown and JSON, unless the settings name
    another place."""


@command("log create", log)
def create(
    session: str, *, budget: int | None, name: str, stdout: bool, recording: RecordingOptions
) -> None:
    """Write the log of SESSION (default: the newest of this directory) and print its path.

    Example: leftoff log create latest

    If there are more than ten, the oldest are removed; stderr names them."""
    made = _generator(budget)
    recorded = path_of(session, recording.which)
    summary = summarize(recorded, **recording.how)
    recording.warn(recorded, summary)
    written = made.generate_from_summary(summary, session_id=name)
    if stdout:
        deliver(written.to_markdown(made.max_tokens))
        return
    deliver(f"{made.save_resume_log(written)}\n")
    # Something of the user was deleted: it is said, even on success.
    for path in made.removed:
        complain(f"removed the old log {path}")


@command("log show", log)
def show(name: str, *, as_json: bool, budget: int | None) -> None:
    """Print the log of session ID (its beginning is enough), or the newest one.

    Example: leftoff log show"""
    made = _generator(budget)
    loaded = made.load_resume_log
    found = loaded(_meant(made, name)) if name else made.get_latest_resume_log()
    if found is None:
        raise StateError("there is no resume log yet; make one with `leftoff log create`")
    if as_json:
        deliver(codec.dumps(Redactor().value(found.to_dict()), indent=2))
    else:
        deliver(found.to_markdown(made.max_tokens))


@command("log list", log)
def list_logs(*, as_json: bool) -> None:
    """List the saved logs, newest first.

    Example: leftoff log list"""
    found = _generator().entries()
    if as_json:
        rows = [{"session_id": e.id, **codec.to_builtins(e)} for e in found]
        deliver(codec.dumps(rows, indent=2))
        return
    for entry in found:
        saved = datetime.fromtimestamp(entry.saved, UTC).strftime("%Y-%m-%d %H:%M UTC")
        notes = ["pinned"] * entry.pinned + ["damaged"] * (not entry.readable)
        words = [saved, f"{entry.size:>8,} B", sanitize.clean(entry.id), *notes]
        deliver("  ".join(words) + "\n")


@command("log pin", log)
def pin(name: str, *, off: bool) -> None:
    """Protect the log of session ID from being removed.

    Example: leftoff log pin b0b81e65"""
    made = _generator()
    made.pin_resume_log(_meant(made, name), pinned=not off)


@command("log clean", log)
def clean(*, keep: int, days: float | None, dry_run: bool) -> None:
    """Remove old logs and print what was removed; pinned ones stay.

    Example: leftoff log clean --keep 10 --dry-run"""
    removed = _generator().cleanup_old_logs(keep, days=days, dry_run=dry_run)
    deliver("".join(f"{where}\n" for where in removed))


def _generator(budget: int | None = None) -> ResumeLogGenerator:
    path = "context_management.resume_logs.max_tokens"
    return ResumeLogGenerator(load_here({} if budget is None else {path: budget}).settings)


def _meant(made: ResumeLogGenerator, name: str) -> str:
    return chosen_id("resume log", name, [entry.id for entry in made.entries()])
