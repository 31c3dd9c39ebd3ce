"""`leftoff schema`: the JSON Schema of a document."""

from __future__ import annotations

import click

from leftoff import codec
from leftoff.analysis.summary_json import SCHEMA, numbered_schema
from leftoff.cli.output import deliver
from leftoff.formats import native
from leftoff.handover.resume_state import document as resume_state
from leftoff.summary import ContextSummary


@click.command()
@click.argument("document", type=click.Choice(["summary", "session", "resume-state"]))
def schema(document: str) -> None:
    """Print the JSON Schema of a document: `summary` (what `summarize --json` prints),
    `session` (one line of leftoff's own format, which `convert --to leftoff` writes) or
    `resume-state` (what `resume --save` writes).

    Example: leftoff schema summary
    """
    made = {"summary": _summary, "session": _session, "resume-state": _resume_state}[document]()
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    deliver(codec.dumps({**draft, **made}, indent=2).decode(), None)


def _summary() -> codec.JsonObject:
    return {"title": SCHEMA, **numbered_schema(codec.schema(ContextSummary))}


def _resume_state() -> codec.JsonObject:
    return resume_state.schema()


def _session() -> codec.JsonObject:
    made = codec.schema(native.Line)
    fields = made["$defs"]["Line"]["properties"]
    fields["role"]["enum"] = [*sorted(native.ROLES), None]
    text = {"type": "string"}
    parts: dict[str, codec.JsonObject] = {
        "text": text,
        "reasoning": text,
        "media": text,
        "call": {
            "type": "object",
            "properties": {"id": text, "name": text, "input": {}},
            "required": ["name"],
        },
        "result": {
            "type": "object",
            "properties": {
                "call_id": text,
                "text": text,
                "status": text,
                "exit_code": {"type": "integer"},
            },
            "required": ["call_id"],
        },
    }
    fields["parts"] = {
        "default": None,
        "anyOf": [
            {"type": "null"},
            {
                "type": "array",
                "items": {
                    "oneOf": [
                        {
                            "type": "object",
                            "properties": {name: given},
                            "required": [name],
                            "additionalProperties": False,
                        }
                        for name, given in parts.items()
                    ]
                },
            },
        ],
    }
    return {"title": f"leftoff.{native.SCHEMA}", **made}
