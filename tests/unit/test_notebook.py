"""A summary shows itself in a notebook, in IPython and through rich."""

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.panel import Panel

from leftoff import ContextSummary, from_json, to_json
from leftoff.rendering.render_summary import render


@pytest.fixture(scope="module")
def summary(root: Path) -> ContextSummary:
    from leftoff import summarize

    return summarize(root / "corpora" / "sessions" / "claude_code" / "prorate.jsonl")


def shown(summary: ContextSummary, *, terminal: bool, width: int = 80) -> str:
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=terminal,
        color_system="standard" if terminal else None,
    )
    console.print(summary)
    return out.getvalue()


def test_a_notebook_gets_a_card(summary: ContextSummary) -> None:
    card = summary._repr_html_()  # type: ignore[attr-defined]
    assert "whole cents only" in card
    assert not re.search(r"<script|<html|\sid=|\son[a-z]+=", card)
    rules = re.findall(r"([^{}]+)\{", card.split("<style>")[1].split("</style>")[0])
    assert all(part.strip().startswith(".leftoff-card") for r in rules for part in r.split(","))


def test_a_summary_that_was_read_back_shows_itself_too(summary: ContextSummary) -> None:
    assert "_repr_html_" in dir(from_json(to_json(summary)))


def test_rich_shows_the_text_form_coloured_on_terminals_only(summary: ContextSummary) -> None:
    plain = [line.rstrip() for line in shown(summary, terminal=False).splitlines()]
    assert plain == render(summary, "text", width=80).splitlines()
    coloured = shown(summary, terminal=True)
    assert "\x1b[1m" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == shown(summary, terminal=False)


def test_it_fits_where_it_is_put(summary: ContextSummary) -> None:
    out = io.StringIO()
    Console(file=out, width=70).print(Panel(summary))  # type: ignore[arg-type]
    lines = out.getvalue().splitlines()
    assert {len(line) for line in lines} == {70}
    assert max(map(len, shown(summary, terminal=False, width=400).splitlines())) <= 110


def test_secrets_and_markup_stay_out(summary: ContextSummary) -> None:
    from msgspec.structs import replace

    secret = "ghp_" + "aB3dE5fG7h" * 3 + "9Kq2wE"
    session = replace(summary.session, branch=f"[bold]no markup[/bold] {secret}")
    hostile = replace(summary, session=session)
    text = shown(hostile, terminal=True, width=110)
    assert "[bold]no markup[/bold]" in text
    assert secret not in text + hostile._repr_html_()  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["summarize", "Pass", "ContextSummary", "from_json"])
def test_who_comes_by_the_front_door_gets_both_and_nothing_heavy(name: str) -> None:
    code = f"""
import sys, leftoff
leftoff.{name}
from leftoff.summary import ContextSummary
print(hasattr(ContextSummary, "_repr_html_"), hasattr(ContextSummary, "__rich_console__"),
      sorted({{"rich", "jinja2", "IPython"}} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True True []\n"
