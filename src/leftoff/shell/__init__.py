"""What a shell command did to files, from its text, its outcome and the files known before.

The interface of the package: `analyze` a command, once for all who ask until `clear_caches`;
`resolve` its effects, `observe` its listings, `command_facts`; `program_of` some words. They
are loaded on first use, so that importing `leftoff.shell.paths` does not import the
interpreter. What is run behind `sudo` or `uv run`, `commands.unwrapped` says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leftoff.shell.effects import *  # noqa: F403


def _later(name: str) -> object:
    """The function or class of that name: what imports it need not import the interpreter."""
    real: Any = None

    def call(*args: object, **named: object) -> object:
        nonlocal real
        if real is None:
            from leftoff.shell import effects

            real = getattr(effects, name)
        return real(*args, **named)

    return call


if not TYPE_CHECKING:
    _NAMES = "Outcome analyze clear_caches command_facts observe program_of resolve".split()
    Outcome, analyze, clear_caches, command_facts, observe, program_of, resolve = map(
        _later, _NAMES
    )
