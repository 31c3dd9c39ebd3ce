"""`leftoff completion`: the completion script of a shell."""

from click.shell_completion import get_completion_class

from leftoff.cli.group import leftoff
from leftoff.cli.output import deliver
from leftoff.cli.params import command


@command("completion")
def completion(shell: str) -> None:
    """The completion script for SHELL; sessions complete by their ids.

    Example: leftoff completion bash

    bash: eval "$(leftoff completion bash)" in ~/.bashrc; zsh: the same with zsh in ~/.zshrc,
    after compinit; fish: leftoff completion fish > ~/.config/fish/completions/leftoff.fish"""
    # click knows the shells; the option lists the same.
    found = get_completion_class(shell)
    assert found is not None, shell
    # Not `source()`: for bash it starts one to ask for its version.
    script = found(leftoff, {}, "leftoff", "_LEFTOFF_COMPLETE")
    deliver(script.source_template % script.source_vars())
