"""The exceptions of leftoff, by whose fault it is.

    LeftoffError
    ├── UsageError           the caller asked for something that does not exist or fit
    │   ├── UnknownName      no plug-in, session or option of that name; names the nearest
    │   └── NotPlainName     an id that is not one plain path component
    ├── InputError           the input cannot be read at all (bad parts of it are `Issue`s)
    │   ├── SourceError      missing, unreadable or not a file
    │   └── FormatError      no message found; names what was tried
    ├── StateError           a saved state or document does not fit or is damaged
    └── ClientError          an agent's client that we ran did not do what it was asked

Every message says what happened, where, and what to do. An error that is not one of these is
a defect of leftoff."""

from collections.abc import Iterable


class LeftoffError(Exception):
    """The base of every error that leftoff raises on purpose."""


class UsageError(LeftoffError):
    """The caller's mistake."""


# Known names that an error lists; where there are more, this many of the nearest.
MAX_LISTED, MAX_NEAR = 12, 5


class UnknownName(UsageError):
    """A name that nothing answers to; the message suggests the nearest known one."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name = kind, name
        names = sorted(known)
        # Of many names the nearest is what most people meant.
        near = nearest(name, names)
        hint = f"; did you mean {near!r}?" if near else ""
        listing = ", ".join(names) or "none"
        # Forty names of formats are no help.
        if len(names) > MAX_LISTED:
            listing = ", ".join(sorted(near_matches(name, names, MAX_NEAR))) or "none like it"
            listing = f"{listing}; {len(names)} in all"
        super().__init__(f"no {kind} named {name!r}{hint} (known: {listing})")


class NotPlainName(UsageError):
    """An id that could leave its folder: not one plain path component."""


class InputError(LeftoffError):
    """The input cannot be read at all."""


class SourceError(InputError):
    """The file is missing, unreadable, or not a regular file."""


class FormatError(InputError):
    """No message was found; the message names the formats that were tried."""


class StateError(LeftoffError):
    """A saved state or document that does not fit, is damaged, or cannot be saved."""


class Damaged(StateError):
    """A saved document that is not what was saved."""


class TooNew(StateError):
    """A saved document that a newer leftoff wrote."""


class Unsure(StateError):
    """What was asked for was done, or may have been, but is not certain to stay."""


class ClientError(LeftoffError):
    """An agent's client that we ran did not do what it was asked; says so in its words."""


def squashed(key: str) -> str:
    """A key without case and separators, so that `functionName` equals `function_name`."""
    return "".join(c for c in key.casefold() if c.isalnum())


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like `name`, or None if none is close."""
    close = near_matches(name, known, 1)
    return close[0] if close else None


def near_matches(name: str, known: Iterable[str], most: int) -> list[str]:
    """The known names that look like `name`, the most alike first."""
    import difflib  # only on the way to an error message

    return difflib.get_close_matches(name, list(known), n=most, cutoff=0.5)
