"""What a shell command did to files, from its text, its outcome and the files known before.

The interface of the package: `analyze` a command, once for all who ask; `resolve` its effects,
`observe` its listings, `command_facts`; `program_of` some words. They are loaded on first use,
so that importing `leftoff.shell.paths` does not import the interpreter. What is run behind
`sudo` or `uv run`, `commands.unwrapped` says.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from leftoff.shell.effects import analyze, command_facts, observe, program_of, resolve

__all__ = ["analyze", "command_facts", "observe", "program_of", "resolve"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from leftoff.shell import effects

    value: object = getattr(effects, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
