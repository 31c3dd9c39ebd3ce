"""`leftoff export`: the whole session, as markdown or as a page."""

import sys
from collections.abc import Collection

import click
from msgspec.structs import replace

from leftoff.api import MessageCollector as Messages
from leftoff.cli import params
from leftoff.cli.output import deliver
from leftoff.errors import FormatError, UsageError
from leftoff.model import Message
from leftoff.rendering.conversation import Conversation, conversation
from leftoff.rendering.html.conversation import conversation_page
from leftoff.sources.open import open_lines, session_paths
from leftoff.sources.session_choice import choose, split_choice
from leftoff.summary import SessionInfo


@click.command(params=params.options("export"))
def export(
    session: str, *, form: str, tools: str, recorder: str | None, output: str | None
) -> None:
    """Print the whole conversation of SESSION, as markdown or as an HTML page with filters and
    search, with times and tokens, without secrets.

    Example: leftoff export latest -f html -o session.html

    Subagents follow the main thread."""
    # Megabytes of markup would scroll by.
    if form == "html" and output is None and sys.stdout.isatty():
        raise UsageError("a page is not for a terminal: give a file with -o session.html")
    messages, info, rewound = whole(params.path_of(session), recorder, subagents=True)
    shown = Conversation(messages, info, tools=tools, rewound=rewound)
    text = conversation_page(shown) if form == "html" else "".join(conversation(shown))
    deliver(text, output)


def whole(
    path: str, recorder: str | None, *, subagents: bool = False
) -> tuple[list[Message], SessionInfo, Collection[int]]:
    """Every message of a recording, or of one session where it holds several (the one chosen
    by `@`, else the newest with work), what is known of the session, and which messages of its
    main thread are on branches that were rewound."""
    path, choice = split_choice(path)
    main, side = session_paths(path)
    reading = Messages(main, recorder)
    with open_lines(main) as lines:
        reading.feed_lines(lines)
    reading.close()
    chosen = choose(reading.sessions, choice, main)
    messages = reading.take(chosen + 1)
    main_thread = reading.sessions[chosen][""]
    header = main_thread.header
    info = SessionInfo(
        id=header.id,
        format=reading.format.name if reading.format else "",
        path=main,
        cwd=header.cwd,
        branch=header.branch,
        models=tuple(header.models),
        agent_version=header.agent_version,
        started=header.started,
        ended=header.ended,
        title=header.title,
    )
    # What a subagent said in its own file is in the main one where a recorder copies it there.
    for agent, where in side if subagents else ():
        other = Messages(where, None)
        try:
            with open_lines(where) as lines:
                other.feed_lines(lines)
            other.close()
        except FormatError:
            continue  # an empty side file of an agent that never spoke
        known = {m.agent for m in messages}
        if agent not in known:
            spoken = (replace(m, agent=agent) for m in other.take())
            messages += list(spoken)
    return messages, info, main_thread.thread.abandoned()
