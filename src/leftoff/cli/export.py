"""`leftoff export`: the whole session, as markdown or as a page."""

import sys
from collections.abc import Collection
from contextlib import suppress

from msgspec.structs import replace

from leftoff.api import MessageCollector as Messages
from leftoff.cli import params
from leftoff.cli.output import deliver
from leftoff.errors import FormatError, UsageError
from leftoff.model import Message
from leftoff.rendering.conversation import Conversation, conversation
from leftoff.rendering.html.conversation import conversation_page
from leftoff.session_reading import read_to_end
from leftoff.sources.open import session_paths
from leftoff.sources.session_choice import choose, split_choice
from leftoff.summary import SessionInfo


@params.command("export")
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
    reading = read_to_end(Messages(main, recorder), main)
    chosen = choose(reading.sessions, choice, main)
    messages = reading.take(chosen + 1)
    main_thread = reading.sessions[chosen][""]
    header = main_thread.header
    same = ("id", "cwd", "branch", "agent_version", "started", "ended", "title")
    info = SessionInfo(
        format=reading.format.name if reading.format else "",
        path=main,
        models=tuple(header.models),
        **{name: getattr(header, name) for name in same},
    )
    # What a subagent said in its own file is in the main one where a recorder copies it there.
    for agent, where in side if subagents else ():
        with suppress(FormatError):  # an empty side file of an agent that never spoke
            spoken = read_to_end(Messages(where, None), where).take()
            if agent not in {m.agent for m in messages}:
                messages += [replace(m, agent=agent) for m in spoken]
    return messages, info, main_thread.thread.abandoned()
