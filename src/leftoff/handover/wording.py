"""Formatting of values for documents and screens, and neutralisation of recorded text, so that
it cannot break the markup of the document around it."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from leftoff import lazy_re as re
from leftoff.formats.vocabulary import EDITS, kind_of
from leftoff.model import Ref
from leftoff.summary import FileModification, UnknownEffect
from leftoff.tables import table
from leftoff.text.sanitize import clean
from leftoff.text.truncation import path_end, short

# Default maximum code points of an item of a document. Chosen by hand.
MAX_ITEM_LENGTH = 400

# Code points of a path in condensed text. Chosen by hand.
MAX_PATH = 48

# Programs that may have changed files and are named. Chosen by hand.
MAX_RANKED = 5

_RE = re.patterns(table(__file__, "wording.toml"))


def inline(text: str) -> str:
    """Recorded text on one line, without backticks and tags, so that it cannot end a block."""
    single_line = " ".join(clean(text).split())
    return single_line.replace("`", "'").replace("<", "‹")


def brief(text: str, limit: int = MAX_ITEM_LENGTH) -> str:
    """`inline`, truncated to `limit` code points; no secret is cut in two (see `whole`)."""
    return inline(short(text, limit, "…"))


def message_label(ref: dict[str, Any]) -> str:
    """A reference as `#12`: the message's number, from 1."""
    return f"#{ref['message'] + 1}"


def message_number(ref: Ref) -> str:
    """The same for a typed reference."""
    return f"#{ref.message + 1}"


def number(count: int, *, about: int = 0) -> str:
    """A count with thousands separated; `about`: how much of it is an estimate."""
    return f"about {count:,}" if about else f"{count:,}"


def plural(count: int, word: str) -> str:
    """`3 files`, `1 file`."""
    return f"{number(count)} {word}{'' if count == 1 else 's'}"


def outcome_text(passed: bool | None) -> str:
    """The outcome of a command in words; None means unknown."""
    return "result unknown" if passed is None else "passed" if passed else "failed"


# Words for the states of requests and open items that do not speak for themselves.
_STATES = {
    "open": "not finished",
    "unknown": "answered, work not recorded",
    "unanswered": "no answer of its own recorded",
    "declined": "the agent says: not done",
    "said": "",
    "next": "about to be done",
}


def status_words(status: str) -> str:
    """The state of a request or an open item in words."""
    return _STATES.get(status, status.replace("_", " "))


def duration(seconds: int | None) -> str:
    """Seconds as `2 h 10 min`, "" if unknown; fewer than 90 as they are: rounded to a minute
    they would be half wrong."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"{seconds} s"
    minutes = round(seconds / 60)
    hours, rest = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} days"
    return f"{hours} h {rest} min" if hours else f"{minutes} min"


def limit_words(limit: float) -> str:
    """A time limit in seconds, to a tenth: what is left of one is a little less."""
    return f"{max(limit, 0.1):.1f}".removesuffix(".0") + " seconds"


def action_of(file: FileModification) -> str:
    """What happened to a file in a word. Of an edit without a recorded result it is not known
    whether it made the file."""
    sure = file.certainty == "sure" or file.action != "modified"
    return file.action if sure else "changed"


def change_of(file: FileModification) -> str:
    """What happened to a file: moved or `action_of`, and of one with a new path that its place
    is that of a later change, where no count of lines says so."""
    first = min((ref.message for ref in file.refs), default=file.last_message)
    later = file.action == "created" and file.added is None and first < file.last_message
    return ("moved" if file.renamed_from else action_of(file)) + ", later modified" * later


def unnamed_changes(effects: Iterable[UnknownEffect], *, listed: bool = True) -> str:
    """A phrase that names the programs which may have changed unknown files, and the edits
    whose file is not recorded; "" for none.

    Args:
        listed: changed files stand beside the phrase."""
    edits, removals, others = Counter[str](), Counter[str](), Counter[str]()
    for effect in effects:
        known = effect.action != "unknown" and kind_of(effect.tool) in EDITS
        if effect.action == "created" and not known:
            continue  # what a build makes
        counts = others if not known else removals if effect.action == "deleted" else edits
        counts[brief(effect.tool, 40)] += effect.count
    found = {
        "edits of files that are not recorded": edits,
        "removals of files that are not recorded": removals,
        f"may have changed {'these or others' if listed else 'files'}": others,
    }
    return "; ".join(f"{head}: {_ranked(n)}" for head, n in found.items() if n)


def _ranked(counts: Counter[str]) -> str:
    """Tools with their numbers of calls, most first."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rest = len(ranked) - MAX_RANKED
    named = ", ".join(f"{tool} ×{count}" for tool, count in ranked[:MAX_RANKED])
    return f"{named} and {rest} more" if rest > 0 else named


def inline_prose(text: str, limit: int = MAX_ITEM_LENGTH) -> str:
    """Text by a person or the agent on one line: inline code is preserved if its backticks are
    paired; nothing can begin a block or look like a tag."""
    single_line = short(text, limit, "…").replace("<", "‹")
    return single_line if single_line.count("`") % 2 == 0 else single_line.replace("`", "'")


def inline_code(text: str, limit: int = MAX_ITEM_LENGTH) -> str:
    """Tool output or file content as inline code that the text cannot close."""
    return f"`{brief(text, limit)}`"


def unmarked(text: str) -> str:
    """A text without the marks of bold words and of links to paths, whose labels stay.
    Code stays as it is."""
    return _RE["markdown"].sub(r"\1\2\3", text)


def compact(text: str) -> str:
    """A text on one line, without marks; of long paths their end. Not a word is left out."""
    line = " ".join(clean(unmarked(text)).split())
    return _RE["long_path"].sub(lambda m: _short_path(m.group()), line)


def condensed(text: str) -> str:
    """`compact` without articles and what opens a sentence, for the agent's words: those of a
    person stay as they are.

    >>> condensed("So please do not really use the parser of the docs, it kind of works")
    'do not really use parser of docs, it kind of works'
    """
    line = compact(text)
    start = _RE["opening"].match(line)
    return _RE["empty"].sub("", line[start.end() if start else 0 :]).strip(" ,") or line


def _short_path(path: str) -> str:
    """The end of a path; a picture, which no longer exists, without its path."""
    if "://" in path:
        return path
    return "[picture]" if _RE["picture"].search(path) else path_end(path, MAX_PATH)
