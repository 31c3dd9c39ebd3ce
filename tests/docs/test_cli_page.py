"""docs/reference/cli.md says what the commands themselves say.

`LEFTOFF_UPDATE_DOCS=1 pytest tests/docs` writes it anew.
"""

import inspect
import os
from collections.abc import Iterator
from pathlib import Path

import click

from leftoff.cli.group import _COMMANDS, _SECTIONS, leftoff

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md"
HEAD = """\
<!-- Made from the commands themselves: LEFTOFF_UPDATE_DOCS=1 pytest tests/docs -->

# Command line

Every command and every option, as `--help` prints them. An option may also be given by the environment variable beside it;
the command line wins.
"""


def text_of(help_text: str) -> str:
    """A docstring as markdown; what looks like a placeholder stays what it is."""
    return inspect.cleandoc(help_text).replace("<", "&lt;")


def cell(text: str) -> str:
    return text.replace("|", "&#124;").replace("<", "&lt;")


def code(text: str) -> str:
    """As code, in a cell: only there no reader of markdown agrees with another on `|`."""
    return f"<code>{cell(text)}</code>" if "|" in text else f"`{text}`"


def commands(group: click.Group, above: click.Context) -> Iterator[tuple[int, click.Context]]:
    """Each command with how deep it stands, in order of name."""
    for name in sorted(group.list_commands(above)):
        command = group.get_command(above, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=above)
        yield len(context.command_path.split()), context
        if isinstance(command, click.Group):
            yield from commands(command, context)


def section(level: int, context: click.Context) -> Iterator[str]:
    command = context.command
    yield f"{'#' * level} {context.command_path}\n"
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"```text\n{usage}\n```\n"
    yield text_of(command.help or "") + "\n"
    rows = []
    for option in command.get_params(context):
        record = option.get_help_record(context)
        if not isinstance(option, click.Option) or record is None or "--help" in option.opts:
            continue
        names, says = record
        variable = f"{context.auto_envvar_prefix}_{option.name}".upper()
        rows.append(f"| {code(names)} | {cell(says)} | `{variable}` |")
    if rows:
        yield "\n".join(["| option | | environment |", "|---|---|---|", *rows]) + "\n"


def rendered() -> str:
    top = click.Context(leftoff, info_name="leftoff", auto_envvar_prefix="LEFTOFF")
    parts = [HEAD, text_of(leftoff.help or "") + "\n"]
    for level, context in commands(leftoff, top):
        parts += section(level, context)
    return "\n".join(parts)


def test_every_command_shows_an_example() -> None:
    top = click.Context(leftoff, info_name="leftoff")
    lacking = {c.command_path for _, c in commands(leftoff, top) if not shows_one(c)}
    assert lacking == set()


def shows_one(context: click.Context) -> bool:
    """Whether the help has an example of the command itself, or of one of its own."""
    example = (context.command.help or "").partition("Example: ")[2].partition("\n\n")[0]
    name = context.command_path.replace("recall", "search")
    return name in example


def test_the_help_lists_every_command_once() -> None:
    listed = [name for names in _SECTIONS.values() for name in names]
    assert sorted([*listed, "recall"]) == sorted(_COMMANDS)  # another name of search


def test_the_page_is_what_the_commands_say() -> None:
    made = rendered()
    if os.environ.get("LEFTOFF_UPDATE_DOCS"):
        PAGE.write_text(made, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == made, (
        "run LEFTOFF_UPDATE_DOCS=1 python -m pytest tests/docs and read the difference"
    )
