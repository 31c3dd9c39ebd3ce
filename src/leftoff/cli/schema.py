"""`leftoff schema`: the JSON Schema of a document."""

import click

from leftoff import codec
from leftoff.analysis.summary_json import SCHEMA, numbered_schema
from leftoff.cli.output import deliver
from leftoff.cli.params import options
from leftoff.formats import native
from leftoff.handover.resume_state import document as resume_state
from leftoff.summary import ContextSummary


@click.command(params=options("schema"))
def schema(document: str) -> None:
    """Print the JSON Schema of a document: `summary` (what `summarize --json` prints),
    `session` (one line of leftoff's own format, which `convert --to leftoff` writes) or
    `resume-state` (what `resume --save` writes).

    Example: leftoff schema summary"""
    made: codec.JsonObject = resume_state.schema()
    if document == "summary":
        made = {"title": SCHEMA, **numbered_schema(codec.schema(ContextSummary))}
    elif document == "session":
        made = _session()
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    deliver(codec.dumps({**draft, **made}, indent=2))


def _object(properties: codec.JsonObject, *required: str) -> codec.JsonObject:
    return {"type": "object", "properties": properties, "required": list(required)}


def _session() -> codec.JsonObject:
    made = codec.schema(native.Line)
    fields = made["$defs"]["Line"]["properties"]
    # msgspec cannot say this of types that the reader takes loosely.
    fields["role"]["enum"] = [*sorted(native.ROLES), None]
    text = {"type": "string"}
    result = {**dict.fromkeys(("call_id", "text", "status"), text)}
    parts = {
        **dict.fromkeys(("text", "reasoning", "media"), text),
        "call": _object({"id": text, "name": text, "input": {}}, "name"),
        "result": _object({**result, "exit_code": {"type": "integer"}}, "call_id"),
    }
    one_of = [
        {**_object({name: given}, name), "additionalProperties": False}
        for name, given in parts.items()
    ]
    kinds = [{"type": "null"}, {"type": "array", "items": {"oneOf": one_of}}]
    fields["parts"] = {"default": None, "anyOf": kinds}
    return {"title": f"leftoff.{native.SCHEMA}", **made}
