"""Uses floors 0 to 5 on the bytes of stdin and prints every touch of the world outside.

    python pure_use.py NAME < sessions

NAME is one of `USES`; NUL bytes stand between sessions. Run in a process of its own, because an audit hook cannot be removed.
Importing may read files (code, packaged rules); using may not.
"""

import json
import sys
from collections.abc import Callable
from types import FrameType

TOUCHES = (
    "ftplib.", "glob.", "http.", "os.", "pathlib.", "shutil.", "socket.", "sqlite3.",
    "subprocess.", "tempfile.", "urllib.",
)  # fmt: skip


def summarize(data: bytes) -> None:
    """Reads a session in two pieces and says everything that can be said about it."""
    from leftoff import Pass, render

    reading = Pass()
    half = data.index(b"\n", len(data) // 2) + 1
    reading.feed(data[:half])
    reading.summary()
    reading.feed(data[half:])
    summary = reading.summary()
    for form in ("text", "markdown", "prompt", "json", "html"):
        render(summary, form)


def touch(data: bytes) -> None:
    """Breaks the rule, to show that breaking it is noticed."""
    from pathlib import Path

    Path(__file__).read_bytes()
    del data


USES: dict[str, Callable[[bytes], None]] = {"summarize": summarize, "touch": touch}


def main() -> None:
    """Prints the touches as a JSON list of [event, argument, file:line of the caller]."""
    use, data = USES[sys.argv[1]], sys.stdin.buffer.read()
    touches: list[tuple[str, str, str]] = []
    watching = True

    def hook(event: str, args: tuple[object, ...]) -> None:
        if watching and (event == "open" or event.startswith(TOUCHES)):
            place = _outside_import()
            if place:
                touches.append((event, repr(args[:1]), place))

    sys.addaudithook(hook)
    for session in data.split(b"\0"):
        use(session)
    watching = False
    print(json.dumps(touches))


def _outside_import() -> str | None:
    """Where the code above the hook is, or None if it runs for an import."""
    frame = sys._getframe(2)
    place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    above: FrameType | None = frame
    while above is not None:
        if above.f_code.co_filename.startswith("<frozen importlib"):
            return None
        above = above.f_back
    return place


if __name__ == "__main__":
    main()
