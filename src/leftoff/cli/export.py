"""`leftoff export` and `leftoff convert`: the whole session, for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leftoff.cli.params import path_of, session_argument

if TYPE_CHECKING:
    from leftoff.model import Message
    from leftoff.summary import SessionInfo

TARGETS = ("atif", "leftoff")


@click.command()
@session_argument()
@click.option(
    "--tools",
    type=click.Choice(["folded", "shown", "hidden"]),
    default="folded",
    show_default=True,
    help="Tool calls and thoughts: one line that opens, in full, or left out.",
)
@click.option("--format", "recorder", metavar="NAME", help="Read as this recorder's format.")
@click.option("-o", "--output", metavar="FILE", help="Write here instead of to stdout.")
def export(session: str, *, tools: str, recorder: str | None, output: str | None) -> None:
    """The whole of SESSION as readable markdown, with times and tokens; uncut, redacted.

    Subagents follow the main thread.
    """
    from leftoff.cli.output import deliver
    from leftoff.rendering.conversation import conversation

    messages, info = _whole(path_of(session), recorder, subagents=True)
    deliver("".join(conversation(messages, info, tools=tools)), output)


@click.command()
@session_argument()
@click.option("--to", "target", type=click.Choice(TARGETS), required=True)
@click.option("--format", "recorder", metavar="NAME", help="Read as this recorder's format.")
@click.option("-o", "--output", metavar="FILE", help="Write here instead of to stdout.")
def convert(session: str, *, target: str, recorder: str | None, output: str | None) -> None:
    """SESSION in another format, redacted: `atif`, one document that Harbor and others read,
    or `leftoff`, one JSON object on each line.

    The main thread only; images and the marks of compactions are left out.
    """
    from leftoff import codec
    from leftoff.cli.output import deliver
    from leftoff.formats import atif, native
    from leftoff.model import SessionFacts
    from leftoff.redaction.redactor import Redactor

    messages, info = _whole(path_of(session), recorder)
    messages = [m for m in messages if not m.agent]
    facts = SessionFacts(
        id=info.id,
        cwd=info.cwd,
        branch=info.branch,
        agent_version=info.agent_version,
        title=info.title,
        started=info.started,
    )
    gate = Redactor()
    if target == "atif":
        made = atif.write(messages, facts, agent=info.format)
        text = codec.dumps(gate.value(codec.parse(made)), indent=2).decode()
    else:
        lines = native.write(messages, facts).splitlines()
        text = "".join(codec.dumps(gate.value(codec.parse(n))).decode() for n in lines)
    deliver(text, output)


def _whole(
    path: str, recorder: str | None, *, subagents: bool = False
) -> tuple[list[Message], SessionInfo]:
    """Every message of a recording, of its last session where it holds several, and what is
    known of the session."""
    import msgspec

    from leftoff.api import Collector as Messages
    from leftoff.errors import FormatError
    from leftoff.sources.open import lines_of, parts_of
    from leftoff.summary import SessionInfo

    main, side = parts_of(path)
    reading = Messages(main, recorder)
    with lines_of(main) as lines:
        reading.feed_lines(lines)
    reading.close()
    messages = reading.take()
    starts = [n for n, m in enumerate(messages) if m.index == 0 and not m.agent]
    messages = messages[starts[-1] if starts else 0 :]
    header = reading.sessions[-1][""].header
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
    for agent, where in side if subagents else ():
        other = Messages(where, None)
        try:
            with lines_of(where) as lines:
                other.feed_lines(lines)
            other.close()
        except FormatError:
            continue  # an empty side file of an agent that never spoke
        known = {m.agent for m in messages}
        if agent not in known:
            spoken = (msgspec.structs.replace(m, agent=agent) for m in other.take())
            messages += list(spoken)
    return messages, info
