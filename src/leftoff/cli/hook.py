"""`leftoff hook`."""

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click

from leftoff import codec
from leftoff.cli.group import tell
from leftoff.cli.output import deliver
from leftoff.cli.params import command, path_of
from leftoff.errors import LeftoffError
from leftoff.hooks import install as registration
from leftoff.hooks import queue
from leftoff.hooks.answer import EVENTS, main
from leftoff.hooks.arrival import event_rows
from leftoff.redaction.redactor import Redactor
from leftoff.text.sanitize import clean


@click.group(invoke_without_command=True)
@click.pass_context
def hook(ctx: click.Context) -> int:
    """Give each new session of Claude Code or Codex the context of the last one.

    Example: leftoff hook install

    The client then calls `leftoff hook` by itself. A new session gets what earlier work left
    open; a prompt gets earlier facts that match it well; before a compaction a checkpoint and
    a resume log are saved; at 70, 85 and 95 % of the window one line is printed; at the end of
    a session its log is written. Nothing is sent anywhere."""
    if ctx.invoked_subcommand is not None:
        return 0
    if sys.stdin.isatty():
        click.echo(ctx.get_help(), err=True)
        return 2
    return main()


@command("hook install", hook)
def install(*, client: str, scope: str, yes: bool, dry_run: bool) -> int:
    """Add the hooks to the client's settings, after showing the change and asking.

    Example: leftoff hook install --scope local --dry-run

    Other hooks stay. Exit 1: nothing was changed."""
    path = registration.settings_of(client, scope, Path.cwd(), os.environ)
    command = registration.command_for(scope)
    timeout = registration.TIMEOUTS[client]
    change = registration.install(path, command, EVENTS, timeout=timeout)
    code = _made(change, yes=yes, dry_run=dry_run)
    if not code:
        # What is still to be set up in the client itself.
        if registration.HINTS[client]:
            print(registration.HINTS[client], file=sys.stderr)
        if program := registration.missing_program(registration.installed(path)):
            tell(_NOT_FOUND.format(program))
    return code


@command("hook uninstall", hook)
def uninstall(*, client: str, scope: str, yes: bool, dry_run: bool) -> int:
    """Remove leftoff's hooks from the client's settings.

    Example: leftoff hook uninstall

    If nothing else changed the file, it is restored byte for byte. What the hooks saved in
    .leftoff stays. Exit 1: nothing was changed."""
    path = registration.settings_of(client, scope, Path.cwd(), os.environ)
    return _made(registration.uninstall(path), yes=yes, dry_run=dry_run)


def _made(change: Any, *, yes: bool, dry_run: bool) -> int:
    if change.empty:
        if not dry_run:
            change.make()
        tell(f"{change.path}: nothing to change")
        return 0
    deliver(Redactor().shown(change.diff()))
    if dry_run:
        return 1
    if not yes:
        # No terminal, no answer: settings of another program are not changed unasked.
        if not sys.stdin.isatty():
            print("nothing was changed; use --yes to make the change", file=sys.stderr)
            return 1
        if not click.confirm("Make this change?", err=True):
            return 1
    change.make()
    tell(f"changed {change.path}")
    return 0


@command("hook status", hook)
def status(*, as_json: bool) -> int:
    """Show where the hooks are installed and when each last ran.

    Example: leftoff hook status

    Also shown: how long it took, what it gave to whom, whether that is in the transcript, and
    whether the program of the hooks is found. Exit 1: installed nowhere."""
    found: list[dict[str, Any]] = []
    for client, scope, path in _settings():
        row: dict[str, Any] = {"client": client, "scope": scope, "path": str(path)}
        try:
            entries = registration.installed(path)
            row["events"] = dict(Counter(event for event, _ in entries))
            row["missing"] = [e for e in EVENTS if e not in row["events"]]
            row["program_missing"] = registration.missing_program(entries)
        except LeftoffError as error:
            row["events"], row["error"] = {}, str(error)
        found.append(row)
    home = queue.home_of(Path.cwd(), os.environ)
    events = event_rows(home)
    # The log is what tells why a hook that ran gave nothing.
    last = queue.read_text(home / queue.STATE / queue.LOG).splitlines()[-5:]
    installed = {event for row in found for event in row["events"]}
    if as_json:
        for event in events:
            event["installed"] = event["event"] in installed
        tree = {"settings": found, "events": events, "log": last}
        deliver(codec.dumps(tree, indent=2))
        return 0 if installed else 1
    lines = []
    for row in found:
        names = ", ".join(row["events"]) or row.get("error") or "not installed"
        gaps = row["missing"] if row["events"] else []
        missing = f"; missing: {', '.join(gaps)}" if gaps else ""
        lines.append(f"{row['client']:<7}{row['scope']:<8}  {names}{missing}")
        if row.get("program_missing"):
            lines.append(f"{'':<17}{row['program_missing']}: not on this shell's PATH")
    if any(event["last"] for event in events):
        head = f"{'event':<17} {'last ran':<20} {'took':>7}  gave it to  seen in the transcript"
        lines += ["", head, *(_event_line(event, installed) for event in events)]
    deliver(clean("\n".join(lines)) + "\n")
    return 0 if installed else 1


@command("hook test", hook)
def try_out(session: str | None) -> int:
    """Print the block that a session of the client would get if it began here now.

    Example: leftoff hook test

    It is the block that the hooks have prepared, else that of SESSION or of the newest session
    of this directory. On stderr: whether the hooks are installed and their program is found.
    Exit 1: no block, or the hooks would not run."""
    from leftoff import api
    from leftoff.handover.briefing import briefing
    from leftoff.hooks import forerunners
    from leftoff.hooks.session_notes import has_work
    from leftoff.sources.discover import place_of

    here = Path.cwd()
    block = ""
    # What the hooks have prepared is what a session would really get.
    if session is None:
        home = queue.home_of(here, os.environ)
        earlier = forerunners.previous_session(home, "", forerunners.branch_of(here))
        block = queue.read_briefing(earlier) if earlier else ""
    # Nothing was prepared here yet: the hooks may never have run.
    if not block:
        path = path_of(session or "latest")
        summary = api.summarize(path)
        if has_work(summary):
            block = briefing(summary, place=place_of(path, os.environ))
        else:
            tell(f"{path}: no work was done in it, so its block is not given")
    deliver(block)
    ours = [one for _, _, path in _settings() for one in registration.installed(path)]
    missing = registration.missing_program(ours)
    if missing:
        tell(_NOT_FOUND.format(missing))
    if not ours:
        tell("the hooks are not installed here: `leftoff hook install`")
    return 0 if block and ours and not missing else 1


_NOT_FOUND = "{} is not on this shell's PATH: the client may not find it either"


def _settings() -> list[tuple[str, str, Path]]:
    files = registration.settings_files(Path.cwd(), os.environ)
    return [(client, scope, path) for client in files for scope, path in files[client].items()]


_SEEN = {True: "yes", False: "no, it is given again with the next prompt", None: "not known"}


def _event_line(row: dict[str, Any], installed: set[str]) -> str:
    took = f"{row['milliseconds']} ms" if row["milliseconds"] is not None else ""
    last = row["last"] or ("never" if row["event"] in installed else "not installed")
    seen = _SEEN[row["seen"]] if row["given"] else ""
    if row["event"] != "SessionStart" and row["seen"] is False:
        seen = "no"
    if seen and row["output"] != "agent":
        seen += f" (given {row['given']})"
    line = f"{row['event']:<17} {last:<20} {took:>7}  {row['output']:<10}  {seen}".rstrip()
    return f"{line}  failed: {row['failed']}" if row["failed"] else line
