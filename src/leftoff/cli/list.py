"""`leftoff list`, and `leftoff` alone."""

import os
import sys
from itertools import islice

from leftoff import codec
from leftoff.cli.group import complain
from leftoff.cli.output import columns, deliver, rendered
from leftoff.cli.params import SessionFilter, command, path_of
from leftoff.errors import SourceError, UsageError
from leftoff.formats.reader import formats
from leftoff.redaction.redactor import Redactor
from leftoff.sources.discover import latest_session, session_files, short_ids
from leftoff.sources.open import session_paths
from leftoff.sources.session_choice import contained_session
from leftoff.text.sanitize import clean
from leftoff.text.truncation import one_line

# Sessions that the text form lists by default.
SHOWN = 30


@command("list")
def list_command(
    file: str | None,
    *,
    chosen: SessionFilter,
    limit: int | None,
    subagents: bool,
    as_json: bool,
) -> int:
    """List the sessions recorded on this machine, or those in FILE, last changed first; times
    are UTC.

    Example: leftoff list --since 2d

    For FILE, the number of messages is shown too. Without FILE only names and headers are
    read. Exit 1: none matched."""
    if limit is None:
        # A program wants all of them, a person the newest.
        limit = 0 if as_json else SHOWN
    if file is not None:
        # Filters of this machine mean nothing inside a file; to ignore one would look like an
        # answer.
        if subagents or {*chosen.given} - {"--format"}:
            raise UsageError("list FILE takes -n, --format and --json, no other filter")
        return _list_contained(path_of(file), chosen.recorder, limit, as_json=as_json)
    if chosen.recorder:
        formats.get(chosen.recorder)  # an unknown name is said to be unknown, not to be absent
    unread: list[OSError] = []
    # Names first, all of them: short ids must be unique among all sessions, shown or not.
    known = session_files(os.environ, chosen.recorder or "", unread)
    found = chosen.sessions(subagents=subagents, known=known)
    short = {} if as_json else short_ids(r.id for r in known)
    # The name of a file may hold the beginning of an id only.
    names = {r.path: short.get(r.id, "") for r in known}
    gate, width, count = Redactor(), columns(), 0
    home = os.path.expanduser("~")  # noqa: PTH111 - compared as a string
    for listed in islice(found, limit or None):
        count += 1
        value = _redacted(listed, gate)
        if as_json:
            shown = codec.dumps(value).decode()
        else:
            name = names.get(listed.path, "")
            if name and listed.id.startswith(name):
                value["id"] = codec.to_valid_json(name)
            shown = line(value, width, home) + "\n"
        print(shown, end="", flush=count == 1)
    if count and limit and next(found, None) is not None:
        print(MORE, file=sys.stderr)
    for error in unread:
        complain(f"{gate.text(str(error.filename))}: cannot be read ({error.strerror})")
    if count:
        return 0
    # "No session" would be false of folders that could not be read.
    if unread:
        return 2
    complain("no session matches" if chosen.given else NONE)
    return 1


def _redacted(listed: object, gate: Redactor) -> codec.JsonObject:
    """A listed session as plain values; a name that is no text is made one."""
    value: codec.JsonObject = gate.value(codec.to_valid_json(codec.to_builtins(listed)))
    return value


def _list_contained(path: str, recorder: str | None, limit: int, *, as_json: bool) -> int:
    """Prints the sessions of one recording; "no work": the agent said and did nothing."""
    from leftoff.session_reading import open_pass

    reading = open_pass(session_paths(path)[0], format=recorder)
    found = [contained_session(s, n) for n, s in enumerate(reading.sessions, 1)][::-1]
    gate, width = Redactor(), columns()
    for contained in found[: limit or None]:
        value = _redacted(contained, gate)
        if as_json:
            deliver(codec.dumps(value))
            continue
        messages = f"{value['messages']} message{'s' * (value['messages'] != 1)}"
        work = "" if value["works"] else "no work"
        head = f"{value['number']:>4}  {_minute(value['started']):<16}  {messages:>14}"
        print(_titled(f"{head}  {work:<7}", value["title"], width))
    if limit and len(found) > limit:
        print(MORE, file=sys.stderr)
    return 0


MORE = "there are more: -n 0 lists all"
NONE = (
    "no session in the default places of the clients that leftoff knows; "
    "a recording elsewhere is named by its path: leftoff summarize FILE"
)

# Columns for a title beside the rest of its line. Chosen by hand; not measured.
_LEAST_TITLE = 20


def line(listed: dict[str, str], width: int, home: str) -> str:
    """One session on one line of at most `width` columns, or on two on a narrow screen."""
    project = listed["project"]
    if home and (project == home or project.startswith((home + "/", home + "\\"))):
        project = "~" + project[len(home) :]
    if len(project) > 20:
        project = "…" + project[-19:]
    first = f"{listed['id']:<8}  {_minute(listed['modified'])}  {listed['client']:<11}"
    second = f"  {clean(project) or '-':<20}"
    # Both have two columns before the project.
    if width < len(first) + len(second) - 2 + _LEAST_TITLE:
        return f"{first.rstrip()}\n{_titled(second, listed['title'], width)}"
    return _titled(first + second, listed["title"], width)


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")


def _titled(head: str, title: str, width: int) -> str:
    """A line of at most `width` columns that ends in a title."""
    return f"{head}  {one_line(title, max(10, width - len(head) - 2))}".rstrip()


def newest() -> int:
    """Shows the newest session of the current directory; 1 if there is none."""
    try:
        listed = latest_session(os.environ, os.getcwd())  # noqa: PTH109
    except SourceError as error:
        complain(f"{error}. `leftoff list` shows all sessions, `leftoff --help` the commands")
        return 1
    from leftoff.api import summarize

    deliver(rendered(summarize(listed.path)))
    return 0
