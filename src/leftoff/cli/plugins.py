"""`leftoff plugins`, `schema` and `completion`: what leftoff is made of, for those who build
on it."""

from __future__ import annotations

from typing import Any

import click

KINDS = ("format", "extractor", "redactor", "store")
SHELLS = ("bash", "zsh", "fish")


def registries() -> dict[str, Any]:
    """Every registry by the kind of thing that it holds."""
    from leftoff.extraction.extractor import extractors
    from leftoff.formats.reader import formats
    from leftoff.redaction.redactor import redactors
    from leftoff.stores.protocol import stores

    return {
        "format": formats,
        "extractor": extractors,
        "redactor": redactors,
        "store": stores,
    }


@click.command()
@click.argument("kind", type=click.Choice(KINDS), required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on each line.")
def plugins(kind: str | None, *, as_json: bool) -> int:
    """What leftoff is made of: formats, extractors, redactors, stores, and who brought each.

    Those of other packages are loaded to see whether they work. Exit 1: one does not.
    """
    from leftoff import codec
    from leftoff.cli.group import complain
    from leftoff.cli.output import deliver
    from leftoff.errors import UsageError

    broken = 0
    lines: list[str] = []
    for name, registry in registries().items():
        if kind not in {None, name}:
            continue
        for thing, owner in registry.owners().items():
            problem = ""
            if owner != "leftoff":
                try:
                    registry.get(thing)
                except UsageError as error:
                    problem = str(error)
                    complain(problem)
                    broken += 1
            value = {"kind": name, "name": thing, "owner": owner, "works": not problem}
            shown = f"{name:<10} {thing:<22} {owner}" + ("  does not load" if problem else "")
            lines.append(codec.dumps(value).decode() if as_json else shown + "\n")
    deliver("".join(lines), None)
    return 1 if broken else 0


@click.command()
@click.argument("document", type=click.Choice(["summary", "session", "resume-state"]))
def schema(document: str) -> None:
    """The JSON Schema of a document: `summary` (what `summarize --json` prints), `session`
    (one line of leftoff's own format, which `convert --to leftoff` writes) or `resume-state`
    (what `resume --save` keeps)."""
    from leftoff import codec
    from leftoff.cli.output import deliver

    made = {"summary": _summary, "session": _session, "resume-state": _resume_state}[document]()
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    deliver(codec.dumps({**draft, **made}, indent=2).decode(), None)


def _summary() -> dict[str, Any]:
    from leftoff import codec
    from leftoff.analysis.summary_json import SCHEMA
    from leftoff.summary import ContextSummary

    return {"title": SCHEMA, **codec.schema(ContextSummary)}


def _resume_state() -> dict[str, Any]:
    from leftoff.handover.resume_state.document import schema

    return schema()


def _session() -> dict[str, Any]:
    from leftoff import codec
    from leftoff.formats import native

    made = codec.schema(native.Line)
    fields = made["$defs"]["Line"]["properties"]
    fields["role"]["enum"] = [*sorted(native.ROLES), None]
    text = {"type": "string"}
    parts: dict[str, dict[str, Any]] = {
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


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """The completion script for SHELL; sessions complete by their ids.

    bash: eval "$(leftoff completion bash)" in ~/.bashrc; zsh: the same with zsh in ~/.zshrc,
    after compinit; fish: leftoff completion fish > ~/.config/fish/completions/leftoff.fish
    """
    from click.shell_completion import get_completion_class

    from leftoff.cli.group import leftoff
    from leftoff.cli.output import deliver

    found = get_completion_class(shell)
    assert found is not None, shell
    # Not `source()`: for bash it starts one to ask for its version.
    script = found(leftoff, {}, "leftoff", "_LEFTOFF_COMPLETE")
    deliver(script.source_template % script.source_vars(), None)
