"""`leftoff mcp`: an MCP server with read-only tools over the sessions of this machine.

It serves on standard input and output by the official library (`pip install leftoff[mcp]`). The
tools themselves are in `mcp_tools`."""

import asyncio
import functools
import inspect
import itertools
import os
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any

from leftoff._version import __version__
from leftoff.codec import JsonObject
from leftoff.errors import LeftoffError, UnknownName, UsageError
from leftoff.integrations.mcp_tools import REPLY_TIMEOUT, Answers
from leftoff.redaction.redactor import Redactor
from leftoff.tables import table

_TEXTS = table(__file__, "mcp.toml")
INSTRUCTIONS: str = _TEXTS["instructions"]
# The description of each tool by its name, which is that of a method of `Answers`.
TOOLS: Mapping[str, str] = _TEXTS["tools"]

# Seconds between two notifications of progress. Chosen by hand; not measured.
PROGRESS_INTERVAL = 1.0


def server(answers: Answers) -> Any:
    """An `mcp` server with all tools; call `run("stdio")` on it. `UsageError` where the library
    is not installed."""
    try:
        hints: Any = import_module("mcp.types").ToolAnnotations
        try:
            server_class: Any = import_module("mcp.server.mcpserver").MCPServer
            tool_error: Any = import_module("mcp.server.mcpserver.exceptions").ToolError
        except ImportError:  # mcp 1.x
            server_class = import_module("mcp.server.fastmcp").FastMCP
            tool_error = import_module("mcp.server.fastmcp.exceptions").ToolError
    except ImportError:
        raise UsageError("leftoff mcp needs `pip install 'leftoff[mcp]'`") from None
    strict = _strict(server_class, tool_error, answers)
    made: Any = strict("leftoff", instructions=INSTRUCTIONS)
    if hasattr(made, "_mcp_server"):
        made._mcp_server.version = __version__
    # Camel case in mcp 1.x, snake case in 2.x.
    names = ("read_only_hint", "readOnlyHint")
    read_only = hints(**{next(n for n in names if n in hints.model_fields): True})
    for name, description in TOOLS.items():
        tool = _wrap_errors(getattr(answers, name), tool_error)
        made.tool(name=name, description=description, annotations=read_only)(tool)
    return made


def _strict(server_class: Any, tool_error: type[Exception], answers: Answers) -> Any:
    """The class of servers, but a call with an argument that the tool does not have is refused,
    and one that takes long notifies of its progress, for clients that asked for that."""
    # The library drops an unknown argument: `{"sesion": ...}` would answer about the newest
    # session.

    class Strict(server_class):  # type: ignore[misc]
        async def call_tool(
            self, name: str, arguments: JsonObject, *others: Any, **options: Any
        ) -> object:
            if name in TOOLS:
                known = list(inspect.signature(getattr(Answers, name)).parameters)[1:]
                for unknown in sorted(set(arguments) - set(known)):
                    error = UnknownName(f"argument of {name}", unknown, known)
                    raise tool_error(Redactor().text(str(error)))
            context = options.get("context") or (others[0] if others else None)
            if context is None and hasattr(self, "get_context"):
                context = self.get_context()  # mcp 1.x
            call = asyncio.ensure_future(super().call_tool(name, arguments, *others, **options))
            try:
                for waited in itertools.count(1):
                    done, _ = await asyncio.wait({call}, timeout=PROGRESS_INTERVAL)
                    if done:
                        break
                    if context is not None:
                        percent = answers.percent_read()
                        share = "" if percent is None else f", {percent} % read"
                        words = f"reading the session{share}"
                        await context.report_progress(waited * PROGRESS_INTERVAL, None, words)
            finally:
                call.cancel()
            return call.result()

    return Strict


def _wrap_errors(
    method: Callable[..., str], tool_error: type[Exception]
) -> Callable[..., Awaitable[str]]:
    """Wraps a tool: it runs in a thread; its errors are raised as `tool_error`, redacted."""

    @functools.wraps(method)
    async def wrapped(*args: Any, **options: object) -> str:
        try:
            return await asyncio.to_thread(method, *args, **options)
        except (LeftoffError, OSError) as error:
            raise tool_error(Redactor().text(str(error))) from None

    return wrapped


def serve(timeout: float = REPLY_TIMEOUT) -> None:
    """Serves on standard input and output until the client closes the connection; `timeout`:
    seconds that a call may wait for a recording to be read."""
    answers = Answers(os.environ, os.getcwd(), timeout=timeout)  # noqa: PTH109
    server(answers).run("stdio")
