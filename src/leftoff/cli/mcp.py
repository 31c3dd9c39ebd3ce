"""`leftoff mcp`."""

from __future__ import annotations

import click

from leftoff.cli.poll import Seconds
from leftoff.integrations.mcp import serve


@click.command()
@click.option(
    "--patience",
    type=Seconds(0.1),
    default=15.0,
    show_default=True,
    help="Seconds that a call may wait until a long session is read.",
)
def mcp(patience: float) -> None:
    """Run an MCP server (Model Context Protocol) that lets an agent read the sessions of this
    machine.

    Example: claude mcp add leftoff -- leftoff mcp

    The tools are read-only and use standard input and output. Needs the extra leftoff[mcp].
    """
    serve(patience)
