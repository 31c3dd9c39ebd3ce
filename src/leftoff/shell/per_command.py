"""What judges read in a command line, held for each until `clear`.

    @per_command
    def git_steps(command: str) -> tuple[GitStep, ...]: ...

    read_all(command)  # while the parsed command is at hand

Several judges ask about all commands of a session, one judge after the other. Parsed commands
take about 1,400 bytes each; what is read in them takes half of that, and is not unpacked.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from leftoff.codec import blake2b

T = TypeVar("T")

# Commands that are held; then all are dropped. Of 405 recordings the one with most has 327
# different ones, 500 MB in a row have 12,500.
MOST = 16_384

_readers: list[Callable[[str], Any]] = []
# The results of each reader, by a digest: the commands themselves are longer.
_held: dict[bytes, list[Any]] = {}
_UNREAD = object()


def per_command(read: Callable[[str], T]) -> Callable[[str], T]:
    """A function of a command line whose results are held."""
    number = len(_readers)

    @wraps(read)
    def known(command: str) -> T:
        key = blake2b(command.encode(errors="surrogatepass"), digest_size=16).digest()
        results = _held.get(key)
        if results is None:
            if len(_held) >= MOST:
                _held.clear()
            results = _held[key] = []
        if number >= len(results):
            results += [_UNREAD] * (len(_readers) - len(results))
        if results[number] is _UNREAD:
            results[number] = read(command)
        found: T = results[number]
        return found

    _readers.append(known)
    return known


def read_all(command: str) -> None:
    """Reads what any judge may ask of a command."""
    for read in _readers:
        read(command)


def clear() -> None:
    """Drops all results."""
    _held.clear()
