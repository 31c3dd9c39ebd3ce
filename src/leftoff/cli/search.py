"""`leftoff search`."""

from leftoff.cli.memory import Question
from leftoff.cli.params import command
from leftoff.memory.search import search as search_in
from leftoff.memory.text import hit_values, hits_text


@command("search")
def search(
    words: tuple[str, ...],
    *,
    speakers: tuple[str, ...],
    kinds: tuple[str, ...],
    asked: Question,
) -> int:
    """Search all recorded sessions of this machine and show the best matches: who said it,
    what came of it, and in which message.

    Example: leftoff search retry webhook --kind decision

    Exit 1: nothing found."""
    # No project by default: what was said may have been said anywhere.
    wanted = asked.filters(speakers=speakers, kinds=kinds)
    found = search_in(asked.index(), " ".join(words), wanted, limit=asked.limit)
    return asked.answer(found, hit_values, hits_text)
