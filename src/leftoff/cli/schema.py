"""`leftoff schema`: the JSON Schema of a document."""

from leftoff import codec
from leftoff.analysis.summary_json import SCHEMA, numbered_schema
from leftoff.cli.output import deliver
from leftoff.cli.params import command
from leftoff.handover.resume_state import document as resume_state
from leftoff.summary import ContextSummary


@command("schema")
def schema(document: str) -> None:
    """Print the JSON Schema of a document: `summary` (what `summarize --json` prints) or
    `resume-state` (what `resume --save` writes).

    Example: leftoff schema summary"""
    made: codec.JsonObject = resume_state.schema()
    if document == "summary":
        made = {"title": SCHEMA, **numbered_schema(codec.schema(ContextSummary))}
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    deliver(codec.dumps({**draft, **made}, indent=2))
