"""`python -m benchmarks.corpora fetch`: public recordings from where they are published."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.corpora.clones import Clone
    from benchmarks.corpora.references import Reference

REFERENCES = "corpora/public.toml"


@click.group("corpora")
def corpora() -> None:
    """Recordings to measure and test with."""


@corpora.command("fetch")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--into", metavar="DIR", required=True, help="Where to write them.")
@click.option(
    "--references",
    metavar="FILE",
    default=REFERENCES,
    show_default=True,
    help="Which recordings there are; in a checkout of leftoff.",
)
def fetch_command(names: tuple[str, ...], *, into: str, references: str) -> int:
    """Fetch public recordings from the repositories that publish them. Uses the network.

    The only command that does: git fetches the named commits, every file is checked against
    its hash, and label files are restored from ranges. NAME is a file's name, a repository
    (owner/name), `double`, `single` or `all`; without NAME, everything labelled. What is there
    already is not fetched again. The recordings are others' work under their own licences.

    Exit 1: a file is not the one that was labelled. 2: something could not be fetched.
    """
    from pathlib import Path

    from benchmarks.corpora.clones import chosen, cloned, kept_already
    from benchmarks.corpora.references import load_references

    folder = Path(into)
    missing: dict[str, list[Reference]] = {}
    codes: list[int] = []
    for reference in chosen(load_references(references), names):
        if kept_already(reference, folder):
            codes.append(_fetch(reference, folder, None))
        else:
            missing.setdefault(reference.url, []).append(reference)
    for url, listed in missing.items():
        print(f"fetching {len(listed)} from {url} (network)", file=sys.stderr)
        with cloned(url) as clone:
            codes += [_fetch(reference, folder, clone) for reference in listed]
    return max(codes, default=0)


def _fetch(reference: Reference, folder: Path, clone: Clone | None) -> int:
    """Fetches a recording, if it is not there, and restores its labels; an exit code."""
    from benchmarks.corpora.clones import keep, restore
    from leftoff.cli.group import complain
    from leftoff.errors import InputError, StateError

    try:
        if clone is not None:
            keep(reference, clone.read(reference.commit, reference.path), folder)
        restored = restore(reference, folder)
    except StateError as error:
        complain(str(error))
        return 1
    except InputError as error:
        complain(f"{reference.file}: {error}")
        return 2
    done = "is there" if clone is None else "fetched"
    print(f"{reference.file}: {done}" + (f", {reference.set} labels" if restored else ""))
    return 0
