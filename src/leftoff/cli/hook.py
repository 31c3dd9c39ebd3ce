"""`leftoff hook`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


@click.group(invoke_without_command=True)
@click.pass_context
def hook(ctx: click.Context) -> int:
    """Alone: answers the hook of a client (Claude Code, Codex), which calls it by itself.

    A new session gets what earlier work left open; before a compaction a checkpoint and a
    resume log are saved; at 70, 85 and 95 % of the window one line is printed, once; at its end
    a session's log is written. Nothing is sent anywhere.
    """
    if ctx.invoked_subcommand is not None:
        return 0
    if sys.stdin.isatty():
        click.echo(ctx.get_help(), err=True)
        return 2
    from leftoff.hooks.answer import main

    return main()


def _settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option(
        "--client",
        type=click.Choice(["claude", "codex"]),
        default="claude",
        show_default=True,
    )(command)
    return click.option(
        "--scope",
        type=click.Choice(["user", "project", "local"]),
        default="user",
        show_default=True,
        help="Yours everywhere; this project's, shared; this project's on this machine.",
    )(command)


_yes = click.option("--yes", is_flag=True, help="Do it without asking.")
_dry = click.option("--dry-run", is_flag=True, help="Only show the change.")


@hook.command()
@_settings_options
@_yes
@_dry
def install(*, client: str, scope: str, yes: bool, dry_run: bool) -> int:
    """Show the change to the client's settings, ask, and make it. Other hooks stay.

    Exit 1: nothing was changed.
    """
    from leftoff.hooks import clients, install

    path = clients.settings_of(client, scope, Path.cwd(), os.environ)
    command = clients.command_for(scope)
    change = install.install(path, command, clients.EVENTS)
    code = _made(change, yes=yes, dry_run=dry_run)
    if not code and clients.HINTS[client]:
        print(clients.HINTS[client], file=sys.stderr)
    return code


@hook.command()
@_settings_options
@_yes
@_dry
def uninstall(*, client: str, scope: str, yes: bool, dry_run: bool) -> int:
    """Take our hooks out of the client's settings; where nothing else changed them, the file is
    what it was, byte for byte. What hooks saved in .leftoff stays.

    Exit 1: nothing was changed.
    """
    from leftoff.hooks import clients, install

    path = clients.settings_of(client, scope, Path.cwd(), os.environ)
    return _made(install.uninstall(path), yes=yes, dry_run=dry_run)


def _made(change: Any, *, yes: bool, dry_run: bool) -> int:
    """Shows a change and makes it after confirmation."""
    from leftoff.cli.group import tell
    from leftoff.cli.output import deliver
    from leftoff.redaction.redactor import Redactor
    from leftoff.text.sanitize import clean

    if change.empty:
        if not dry_run:
            change.make()
        tell(f"{change.path}: nothing to change")
        return 0
    deliver(clean(Redactor().text(change.diff())), None)
    if dry_run:
        return 1
    if not yes:
        if not sys.stdin.isatty():
            print("nothing was changed; --yes does it", file=sys.stderr)
            return 1
        if not click.confirm("Make this change?", err=True):
            return 1
    change.make()
    tell(f"changed {change.path}")
    return 0


@hook.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def status(*, as_json: bool) -> int:
    """Where our hooks are installed, and what they did last. Exit 1: nowhere."""
    from leftoff import codec
    from leftoff.cli.output import deliver
    from leftoff.errors import LeftoffError, UnknownName
    from leftoff.hooks import clients, install, queue
    from leftoff.text.sanitize import clean

    found: list[dict[str, Any]] = []
    for client in clients.CLIENTS:
        for scope in clients.SCOPES:
            try:
                path = clients.settings_of(client, scope, Path.cwd(), os.environ)
            except UnknownName:
                continue
            row: dict[str, Any] = {"client": client, "scope": scope, "path": str(path)}
            try:
                row["events"] = install.installed(path)
                row["missing"] = [e for e in clients.EVENTS if e not in row["events"]]
            except LeftoffError as error:
                row["events"], row["error"] = {}, str(error)
            found.append(row)
    home = queue.home_of(Path.cwd(), os.environ)
    last = queue.read_text(home / queue.STATE / queue.LOG).splitlines()[-5:]
    installed = any(row["events"] for row in found)
    if as_json:
        deliver(codec.dumps({"settings": found, "log": last}, indent=2).decode(), None)
        return 0 if installed else 1
    lines = []
    for row in found:
        events = ", ".join(row["events"]) or row.get("error") or "not installed"
        gaps = row["missing"] if row["events"] else []
        missing = f"; missing: {', '.join(gaps)}" if gaps else ""
        lines.append(f"{row['client']:<7}{row['scope']:<8}  {events}{missing}")
    lines += [f"  {line}" for line in last]
    deliver(clean("\n".join(lines)) + "\n", None)
    return 0 if installed else 1
