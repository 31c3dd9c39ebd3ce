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
    help="Seconds that a question may wait for a long session to be read.",
)
def mcp(patience: float) -> None:
    """Serve the sessions of this machine to an agent, over the Model Context Protocol.

    Read-only tools on standard input and output; needs leftoff[mcp]. In Claude Code:
    claude mcp add leftoff -- leftoff mcp
    """
    serve(patience)
