"""`leftoff mcp`."""

from leftoff.cli.params import command
from leftoff.integrations.mcp import serve


@command("mcp")
def mcp(patience: float) -> None:
    """Run an MCP server (Model Context Protocol) that lets an agent read the sessions of this
    machine.

    Example: claude mcp add leftoff -- leftoff mcp

    The tools are read-only and use standard input and output. Needs the extra leftoff[mcp]."""
    serve(patience)
