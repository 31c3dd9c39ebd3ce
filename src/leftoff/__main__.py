"""Entry point of the command line: `python -m leftoff` and the console script `leftoff`.

The version is answered before anything else is imported, since editors, hooks and package
managers ask for it often. All other words go to `leftoff.cli`."""

import atexit
import errno
import gc
import io
import os
import sys
from contextlib import suppress
from types import TracebackType
from typing import NoReturn

from leftoff._version import __version__

# Error numbers of writing to a full or failing disk, or to a closed stream (`>&-`).
_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})


def run() -> NoReturn:
    """The program: `main`, and the end of the process.

    An interpreter that ends in the usual way frees every object of every module, which takes as
    long as reading a short session. So where nothing needs that (no other thread, no profiler
    or debugger), this runs what was registered for the end, flushes, and ends at once. Until a
    command is imported (`cli.group`), no garbage is collected: there is none."""
    gc.disable()
    code = main()
    _store_patterns()
    threading = sys.modules.get("threading")
    if threading is not None and threading.active_count() > 1:
        sys.exit(code)
    if sys.getprofile() is not None or sys.gettrace() is not None:
        sys.exit(code)
    atexit._run_exitfuncs()  # noqa: SLF001 - as `multiprocessing` ends its processes
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _store_patterns() -> None:
    """Saves the patterns that this run compiled, where that is possible."""
    lazy_re = sys.modules.get("leftoff.lazy_re")
    with suppress(Exception):
        found = lazy_re.unsaved() if lazy_re is not None else None
        if lazy_re is not None and found is not None:
            from pathlib import Path

            from leftoff.stores.atomic import write_atomic

            write_atomic(Path(lazy_re.STORED), found, mode=0o644)


def main(args: list[str] | None = None) -> int:
    """The exit code of one run of the command line, of this process or of the words `args`.

    Returns:
        0 done; 1 done, and the answer is no; 2 could not; 130 interrupted. A reader that
        closed the pipe early has what it wanted: 0. A hook exits with 0 in any case, because a
        client may take every other code for an objection of the hook."""
    words = sys.argv[1:] if args is None else args
    if args is None:
        _open_closed_streams()
        # Recorded text may stand in the message of an exception.
        sys.excepthook = _crashed
        for stream in (sys.stdout, sys.stderr):  # the same bytes whatever the locale is
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    code, hook = 0, words == ["hook"]
    try:
        if words[:1] == ["--version"]:
            print(f"leftoff {__version__}")
        elif hook:  # a client waits for it: no command line is built
            from leftoff.hooks.answer import main as answer

            code = answer()
        else:
            from leftoff.cli.group import main as run

            code = run(words)
        if not sys.stdout.closed:  # the server of `leftoff mcp` closes it
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 0 if hook else 130
    except MemoryError:
        print("leftoff: there is not enough memory for this recording", file=sys.stderr)
        return 0 if hook else 2
    except BrokenPipeError:
        _drop_stdout()
        return 0
    except OSError as error:
        if not hook and error.errno not in _UNWRITABLE:
            raise
        _drop_stdout()
        if hook:
            return 0
        if code != 2:  # else an error was printed already
            print(f"leftoff: stdout: cannot be written ({error.strerror})", file=sys.stderr)
        return 2
    return code


def _open_closed_streams() -> None:
    """Opens what the caller has closed (`<&-`, `>&-`, `2>&-`), so that no file that is opened
    later takes its number: the null device as an empty input, as an output that cannot be
    written (data that nobody gets is a failure), and as one that swallows messages."""
    ways = (("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY))
    # In the order of their numbers: a file that is opened takes the lowest free one.
    for number, (name, way) in enumerate(ways):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, way)  # the lowest free number: this one
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


def _crashed(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Prints an unexpected exception as Python does, but redacted, because its message may
    contain recorded text."""
    import traceback

    try:
        from leftoff.redaction.redactor import Redactor

        report: str = Redactor().shown("".join(traceback.format_exception(kind, error, trace)))
    except Exception:  # noqa: BLE001 - redaction failed: print only the place
        report = "".join(traceback.format_tb(trace)) + f"{kind.__name__}\n"
    print(report, end="", file=sys.stderr)


def _drop_stdout() -> None:
    # Else Python flushes what is left when it ends, and fails once more.
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


if __name__ == "__main__":
    run()
