"""`leftoff plugins`: formats, extractors, redactors, readers and stores, and their packages."""

from leftoff import codec
from leftoff.cli.group import complain
from leftoff.cli.output import deliver
from leftoff.cli.params import command
from leftoff.errors import UsageError
from leftoff.extraction.extractor import extractors
from leftoff.formats.reader import formats
from leftoff.handover.second_reader import readers
from leftoff.redaction.redactor import redactors
from leftoff.stores.protocol import stores


def registries() -> codec.JsonObject:
    """Every registry by the kind of thing that it holds."""
    return {
        "format": formats,
        "extractor": extractors,
        "redactor": redactors,
        "reader": readers,
        "store": stores,
    }


@command("plugins")
def plugins(kind: str | None, *, as_json: bool) -> int:
    """List the installed formats, extractors, redactors, readers and stores, and the package of
    each.

    Example: leftoff plugins format

    Plug-ins of other packages are loaded to see whether they work. Exit 1: one does not."""
    broken = 0
    lines: list[str] = []
    for name, registry in registries().items():
        if kind not in {None, name}:
            continue
        for thing, owner in registry.owners().items():
            problem = ""
            # Our own are imported by the tests; here that would take longer than the list.
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
    deliver("".join(lines))
    return 1 if broken else 0
