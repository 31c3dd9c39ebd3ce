"""`leftoff config`."""

from leftoff import codec
from leftoff.cli.group import complain
from leftoff.cli.output import deliver
from leftoff.cli.params import command
from leftoff.errors import squashed
from leftoff.redaction.redactor import Redactor
from leftoff.settings import load_here, unknown_setting


@command("config")
def config(key: str | None, *, as_json: bool) -> None:
    """Show every setting, its value and where it comes from, or only KEY and the settings
    below it.

    Example: leftoff config context_management.budget_total"""
    loaded = load_here()
    for notice in loaded.notices:
        complain(notice)
    values = loaded.values()
    if key is not None:
        wanted = squashed(key)
        under = [
            path
            for path in values
            # A section is every setting whose path begins with its name.
            if any(squashed(path[:i]) == wanted for i, c in enumerate(f"{path}.") if c == ".")
        ]
        if not under:
            raise unknown_setting(key, "config")
        values = {path: values[path] for path in under}
    gate = Redactor()
    if as_json:
        described = {p: {"value": v, "origin": loaded.origins[p]} for p, v in values.items()}
        deliver(codec.dumps(gate.value(described), indent=2))
        return
    width = max(len(path) for path in values)
    for path, value in values.items():
        shown = codec.dumps(gate.value(value)).decode().strip()
        deliver(f"{path:<{width}}  {shown}  ({gate.text(loaded.origins[path])})\n")
