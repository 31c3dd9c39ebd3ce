"""`leftoff convert`: the session in another format, for programs."""

from leftoff import codec
from leftoff.cli.export import whole
from leftoff.cli.output import deliver
from leftoff.cli.params import command, path_of
from leftoff.formats import atif, native
from leftoff.model import SessionFacts
from leftoff.redaction.redactor import Redactor


@command("convert")
def convert(session: str, *, target: str, recorder: str | None, output: str | None) -> None:
    """Convert SESSION to another format, without secrets: `atif` (one document, read by Harbor
    and others) or `leftoff` (one JSON object per line).

    Example: leftoff convert latest --to atif -o session.json

    Only the main thread is converted; images and compaction marks are left out."""
    messages, info, _ = whole(path_of(session), recorder)
    messages = [m for m in messages if not m.agent]
    same = ("id", "cwd", "branch", "agent_version", "title", "started")
    facts = SessionFacts(**{name: getattr(info, name) for name in same})
    gate = Redactor()
    if target == "atif":
        made = atif.write(messages, facts, agent=info.format)
        text = codec.dumps(gate.value(codec.parse(made)), indent=2).decode()
    else:
        lines = native.write(messages, facts).splitlines()
        text = "".join(codec.dumps(gate.value(codec.parse(n))).decode() for n in lines)
    deliver(text, output)
