"""`leftoff summarize`."""

from __future__ import annotations

import click

FORMS = ("text", "markdown", "json", "prompt")


@click.command()
@click.argument("session", metavar="SESSION")
@click.option("-f", "--form", type=click.Choice(FORMS), default="text", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Same as -f json.")
@click.option(
    "--shape",
    type=click.Choice(["leftoff", "seed001"]),
    default="leftoff",
    help="Shape of the JSON; seed001 prints the object of the original design.",
)
@click.option("--format", "recorder", metavar="NAME", help="Read as this recorder's format.")
@click.option("--budget", type=click.IntRange(min=1), help="Most tokens of a prompt.")
@click.option("-o", "--output", metavar="FILE", help="Write here instead of to stdout.")
def summarize(
    session: str,
    form: str,
    *,
    as_json: bool,
    shape: str,
    recorder: str | None,
    budget: int | None,
    output: str | None,
) -> None:
    """What happened in SESSION: a file, a session's directory, or - for standard input."""
    from leftoff import api, codec
    from leftoff.cli.streams import coloured, columns, deliver
    from leftoff.rendering import render
    from leftoff.summary import seed_shape

    summary = api.summarize(session, format=recorder)
    if shape == "seed001":
        deliver(codec.dumps(seed_shape(summary), indent=2).decode(), output)
        return
    form = "json" if as_json else form
    plain = output is not None
    text = render(
        summary,
        form,
        budget=budget,
        colour=not plain and coloured(),
        width=96 if plain else columns(),
    )
    deliver(text, output)
