"""The way in from the shell: `python -m leftoff` and the console script `leftoff`.

The version is answered before anything else is imported, since editors, hooks and package
managers ask for it often. All other words go to `leftoff.cli`.
"""

from __future__ import annotations

import errno
import sys

from leftoff._version import __version__

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What writing to a disk that takes no more fails with."""


def main(args: list[str] | None = None) -> int:
    """The exit code of one run of the command line.

    Args:
        args: the words after the program's name; those of the process if None.

    Returns:
        0 done; 1 done, and the answer is no; 2 could not; 130 interrupted. A reader that
        closed the pipe early has what it wanted: 0.
    """
    words = sys.argv[1:] if args is None else args
    code = 0
    try:
        if words[:1] == ["--version"]:
            print(f"leftoff {__version__}")
            code = 0
        elif words == ["hook"]:  # a client waits for it: no command line is built
            from leftoff.integrations.claude_hooks import main as hook

            code = hook()
        else:
            from leftoff.cli import main as run

            code = run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _drop_stdout()
        return 0
    except OSError as error:
        if error.errno not in _FULL:
            raise
        _drop_stdout()
        if code != 2:  # else it has been said
            print(f"leftoff: stdout: cannot be written ({error.strerror})", file=sys.stderr)
        return 2
    return code


def _drop_stdout() -> None:
    """Points stdout at nothing, so that the flush at interpreter exit does not fail again."""
    import os

    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


if __name__ == "__main__":
    sys.exit(main())
