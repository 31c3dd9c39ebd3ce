"""Finds the sessions on this machine, and the one that a name refers to.

`places.toml` beside this file lists where clients store their sessions. Of each file only the
name, size, modification time and the first 64 KiB are read."""

import ntpath
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from fnmatch import translate
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from leftoff import codec, model
from leftoff.errors import SourceError, UsageError
from leftoff.formats.lenient_json import time_of_s
from leftoff.formats.reader import Cursor, Sample, detect, formats
from leftoff.model import Message, Record, SessionFacts
from leftoff.shell.paths import absolute, is_within
from leftoff.sources.multi_file import conversations, is_multi_file
from leftoff.sources.open import STDIN, read_head
from leftoff.tables import table
from leftoff.text.sanitize import clean
from leftoff.text.truncation import whole

LATEST = "latest"

# Bytes of a recording that are read for its header. Chosen by hand; not measured.
HEADER_BYTES = 64 * 1024

# Number of sessions that the error for an ambiguous name lists.
# Chosen by hand.
MAX_CANDIDATES = 8


class ClientLocation(Struct, frozen=True, forbid_unknown_fields=True):
    """Where one client stores its sessions; `places.toml` explains the fields."""

    client: str
    formats: tuple[str, ...]
    variable: str
    folders: tuple[str, ...]
    files: tuple[str, ...]
    id: str
    under: str = ""
    skip: str = ""
    root: str = ""


class SessionFile(Struct, frozen=True):
    """A file of a session, from its name and directory entry.

    Attributes:
        id: the session's id, or its beginning, from the name; "" if the name has none.
        modified: seconds since 1970.
        size: bytes."""

    path: str
    place: ClientLocation
    id: str
    modified: float
    size: int
    project: str = ""


class SessionInfo(Struct, frozen=True):
    """A session, from its header.

    Attributes:
        project: the working directory; "" if the header has none.
        title: the recorder's title, else the beginning of the first prompt.
        started: as recorded; "" if the header has no time.
        modified: when the file last changed, ISO 8601 in UTC.
        size: bytes of the file.
        parent_id: the session that started this one, for a subagent's.
        files: all files of the session, the newest first."""

    id: str
    client: str
    format: str
    path: str
    project: str = ""
    branch: str = ""
    title: str = ""
    started: str = ""
    modified: str = ""
    size: int = 0
    parent_id: str = ""
    files: tuple[str, ...] = ()


@cache
def client_locations() -> tuple[ClientLocation, ...]:
    """All known locations, in the order of the file."""
    data = table(__file__, "places.toml")
    return tuple(msgspec.convert(data["place"], list[ClientLocation]))


def existing_folders(place: ClientLocation, environ: Mapping[str, str]) -> list[Path]:
    """The folders of a location that exist on this machine, without duplicates."""
    named = environ.get(place.variable, "") if place.variable else ""
    given = [name.strip() for name in named.split(",") if name.strip()]
    if given:
        found = [Path(name).expanduser() / place.under for name in given]
    else:
        home = home_folder(environ)
        config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
        support = home / "Library" / "Application Support"
        roaming = Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
        roots = {
            "~": [home],
            "{config}": [config],
            "{data}": [Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")],
            "{apps}": [config, support, roaming],
        }
        split = (folder.partition("/") for folder in place.folders)
        found = [folder / rest for root, _, rest in split for folder in roots[root]]
    unique: dict[str, Path] = {}
    for folder in found:
        if folder.is_dir():
            unique.setdefault(os.path.realpath(folder), folder)
    return list(unique.values())


def home_folder(environ: Mapping[str, str], *, windows: bool = os.name == "nt") -> Path:
    """The home folder as clients see it: on Windows `USERPROFILE`, because ported shells set
    HOME to another path."""
    return Path(environ.get("USERPROFILE" if windows else "HOME") or Path.home())


def session_files(
    environ: Mapping[str, str], format: str = "", unread: list[OSError] | None = None
) -> list[SessionFile]:
    """The files of all sessions in the default places, last changed first; opens none.

    Args:
        format: only those of places where this format is written.
        unread: gets the errors of folders that are there and cannot be read."""
    found: dict[str, SessionFile] = {}
    for place in client_locations():
        if format and format not in place.formats:
            continue
        for folder in existing_folders(place, environ):
            for recorded in _inside(place, str(folder), unread):
                found.setdefault(recorded.path, recorded)
    return sorted(found.values(), key=lambda r: (-r.modified, r.path))


def session_files_in(folder: str, environ: Mapping[str, str]) -> list[SessionFile]:
    """The files of all sessions in a folder where some client keeps its own, by path; [] if
    it is no such folder: neither one of the default places nor called as one of them is."""
    path = os.path.abspath(folder)  # noqa: PTH100 - compared as a string
    found: dict[str, SessionFile] = {}
    for place in client_locations():
        named = {"/" + known.partition("/")[2] for known in place.folders}
        here = [os.path.realpath(known) for known in existing_folders(place, environ)]
        if path.replace(os.sep, "/").endswith(tuple(named)) or os.path.realpath(path) in here:
            for recorded in _inside(place, path):
                found.setdefault(recorded.path, recorded)
    return sorted(found.values(), key=lambda r: r.path)


def client_roots(environ: Mapping[str, str]) -> list[tuple[ClientLocation, str]]:
    """Each location with its folders on this machine, with links resolved."""
    return [
        (place, os.path.realpath(folder) + os.sep)
        for place in client_locations()
        for folder in existing_folders(place, environ)
    ]


def leads_to_session(path: str, roots: Iterable[tuple[ClientLocation, str]]) -> bool:
    """Whether what a path leads to, with all links resolved, is a session file in the folder of
    a client. A link in such a folder may lead to any file; the folder itself may be one.
    `roots`: `client_roots`."""
    real = os.path.realpath(path)
    for place, root in roots:
        if not real.startswith(root):
            continue
        below = real[len(root) :].replace(os.sep, "/")
        if place.skip and re.search(place.skip, below):
            continue
        names = below.split("/")
        if any(_fits(names, files.split("/")) for files in place.files):
            return True
    return False


def _fits(names: list[str], levels: list[str]) -> bool:
    database, mark, _ = names[-1].partition(".sqlite3:")
    names = [*names[:-1], f"{database}.sqlite3"] if mark else names
    if len(names) != len(levels):
        return False
    return all(_level(w).match(n) for w, n in zip(levels, names, strict=True))


def _inside(
    place: ClientLocation, folder: str, unread: list[OSError] | None = None
) -> Iterator[SessionFile]:
    pattern, skip = re.compile(place.id), re.compile(place.skip or r"(?!)")
    base = len(folder) + 1
    for files in place.files:
        for entry in _walk(folder, files.split("/"), unread):
            below = entry.path[base:].replace(os.sep, "/")
            if not skip.search(below):
                yield from _entries(entry, place, pattern.search("/" + below))


def _entries(
    entry: os.DirEntry[str], place: ClientLocation, named: re.Match[str] | None
) -> Iterator[SessionFile]:
    try:
        if entry.name.endswith(".sqlite3"):
            for one in conversations(entry.path):
                path = f"{entry.path}:{one.id}"
                yield SessionFile(path, place, one.id, one.modified, one.size, one.project)
            return
        status = entry.stat()
    except (OSError, SourceError):
        return  # removed, locked or unreadable: not listed; opening it by name raises the error
    yield SessionFile(
        entry.path, place, named[1] if named else "", status.st_mtime, status.st_size
    )


@cache
def _level(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


def _walk(
    folder: str, levels: list[str], unread: list[OSError] | None
) -> Iterator[os.DirEntry[str]]:
    wanted = _level(levels[0])
    try:
        with os.scandir(folder) as entries:
            fitting = [e for e in entries if wanted.match(e.name)]
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        if unread is not None:
            unread.append(error)
        return
    for entry in fitting:
        if len(levels) > 1:
            yield from _walk(entry.path, levels[1:], unread)
        elif entry.is_file():
            yield entry


# -- headers ---------------------------------------------------------------------------------


class _Header:
    def __init__(self) -> None:
        self.facts: dict[str, str] = {}
        self.prompt = ""
        self.spoken = 0
        self.of_subagent = 0

    def learn(self, found: Iterable[Record]) -> None:
        for record in found:
            if isinstance(record, Message):
                self._message(record)
            elif isinstance(record, SessionFacts) and not record.link:
                for name in ("id", "cwd", "branch", "title", "started", "parent_id"):
                    value = getattr(record, name)
                    if value:
                        self.facts.setdefault(name, value)

    def _message(self, message: Message) -> None:
        if message.agent:
            self.of_subagent += 1
            return
        self.spoken += 1
        if message.time:
            self.facts.setdefault("started", message.time)
        if message.cwd:
            self.facts.setdefault("cwd", message.cwd)
        if not self.prompt:
            for typed in message.typed:
                text = getattr(message.parts[typed.part], "text", "")
                self.prompt = self.prompt or text[typed.start : typed.end].strip()


def read_session_info(recorded: SessionFile) -> SessionInfo | None:
    """The session in a file, by its header; None if the file cannot be read, or is no session
    of its own: no message in it, or a subagent's words only."""
    try:
        data = read_head(recorded.path, HEADER_BYTES)
    except SourceError:
        return None
    complete = len(data) < HEADER_BYTES or recorded.path.endswith(f":{recorded.id}")
    name, header = _read(data, recorded.place.formats, complete=complete)
    if not header.spoken and (complete or header.of_subagent):
        return None
    facts = header.facts
    project = facts.get("cwd") or recorded.project or _root(recorded)
    recorded_id = facts.get("id", "")
    # The client identifies a session by its file name; lines may be copies from another one.
    identity = recorded_id if recorded_id.startswith(recorded.id) else recorded.id
    return SessionInfo(
        id=identity,
        client=recorded.place.client,
        format=name,
        path=recorded.path,
        project=project,
        branch=facts.get("branch", ""),
        title=" ".join(clean(whole(facts.get("title") or header.prompt, 400)).split()),
        started=facts.get("started", ""),
        modified=_time(recorded.modified),
        size=recorded.size,
        parent_id=facts.get("parent_id", ""),
        files=(recorded.path,),
    )


def _read(data: bytes, names: tuple[str, ...], *, complete: bool) -> tuple[str, _Header]:
    header = _Header()
    sample = Sample(data, complete)
    sure = len(names) == 1  # to recognise it would cost more than to read it
    fitting = (formats.get(name) for name in names)
    found = next((f for f in fitting if sure or f.detect(sample)), None)
    if found is None and not complete:
        whole = data.lstrip()[:1] == b"{" and b"\n" in data[:4]
        found = formats.get(names[0] if whole else names[-1])
    found = found or detect(sample)
    if found is None:
        return names[0], header
    reader: Any = found.reader()
    cursor = Cursor()
    if found.shape == "lines":
        decode = codec.LineDecoder(reader.record).decode
        lines = data.split(b"\n")
        if not complete:
            del lines[-1]
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            cursor.line, cursor.raw = number, line
            for record in decode(line)[0]:
                header.learn(reader.read(record, cursor))
            if header.prompt and "id" in header.facts:
                break
    else:
        cursor.raw = data if complete else codec.close_json(data)
        header.learn(reader.read(cursor.raw, cursor))
    return found.name, header


def _root(recorded: SessionFile) -> str:
    """The project, from a file beside the session."""
    if not recorded.place.root:
        return ""
    try:
        beside = Path(recorded.path).parent / recorded.place.root
        if beside.is_symlink():  # it could show the beginning of any file as a project
            return ""
        return read_head(str(beside), 4096).decode("utf-8", "replace").strip()
    except SourceError:
        return ""


def _time(seconds: float) -> str:
    return time_of_s(seconds // 1).replace(".000Z", "Z")  # also of an infinite one: ""


# -- listing ---------------------------------------------------------------------------------


def list_sessions(
    environ: Mapping[str, str],
    *,
    project: str = "",
    format: str = "",
    since: float | None = None,
    until: float | None = None,
    subagents: bool = False,
    known: Sequence[SessionFile] | None = None,
) -> Iterator[SessionInfo]:
    """The sessions in the default places, last changed first, each as soon as it is known.

    Args:
        project: only those that worked in this directory or below it.
        format: only those read as this format.
        since, until: only files last changed in this span, seconds since 1970.
        subagents: also sessions that another session started.
        known: what `session_files` found, where it was asked before."""
    seen: set[tuple[str, str]] = set()
    known = session_files(environ, format) if known is None else known
    files: dict[tuple[str, str], list[str]] = {}
    for recorded in known:
        files.setdefault((recorded.place.client, recorded.id), []).append(recorded.path)
    for recorded in known:
        if since is not None and recorded.modified < since:
            break  # the list is in order of time
        if until is not None and recorded.modified > until:
            continue
        if recorded.id and (recorded.place.client, recorded.id) in seen:
            continue
        listed = read_session_info(recorded)
        if listed is None or (listed.parent_id and not subagents):
            continue
        if (format and listed.format != format) or (listed.client, listed.id) in seen:
            continue
        if project and not _within(listed, project):
            continue
        seen.add((listed.client, listed.id))
        if recorded.id:
            seen.add((listed.client, recorded.id))
            paths = files[listed.client, recorded.id]
            listed = msgspec.structs.replace(listed, files=tuple(paths))
        yield listed


def _within(listed: SessionInfo, folder: str) -> bool:
    if listed.project:
        return is_within(listed.project, folder)
    return bool(_spellings(folder) & set(listed.path.replace(os.sep, "/").split("/")))


@cache
def _spellings(folder: str) -> frozenset[str]:
    """How clients spell a directory in the name of a folder."""
    import hashlib  # loads OpenSSL

    spelled: set[str] = set()
    for name in {folder, _other_drive(folder)}:
        dashed = re.sub(r"[^A-Za-z0-9]", "-", name)
        digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
        spelled |= {dashed, dashed.lstrip("-"), digest}
    return frozenset(spelled)


def _other_drive(folder: str) -> str:
    """A Windows directory with its drive in the other case: editors write it small."""
    return re.sub(r"\A[A-Za-z](?=:)", lambda drive: drive[0].swapcase(), folder)


def parse_time(text: str, now: float) -> float:
    """A point in time, seconds since 1970: `2d`, `12h`, `2w` before `now`, or an ISO 8601 date
    or time, in UTC unless it names a zone. `UsageError` where it is neither."""
    ago = re.fullmatch(r"(\d{1,6})\s*([mhdw])", text.strip())
    if ago:
        unit = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}[ago[2]]
        return now - timedelta(**{unit: int(ago[1])}).total_seconds()
    given = model.parse_time(text.strip())
    if given is None:
        raise UsageError(
            f"{text!r} is no time: say 2d, 12h or 2w, or a date such as 2026-11-01"
        )
    return given.timestamp()


# -- naming ----------------------------------------------------------------------------------


def find_session(session: str, environ: Mapping[str, str], cwd: str) -> str:
    """The path of the session that is meant. `session`: a path, "-", an id, an unambiguous
    beginning of an id, or "latest": the newest session of the directory `cwd`. `@` and a choice
    among the sessions of one file (`session_choice`) may follow.

    Raises:
        UsageError: several sessions are meant; the message lists them.
        SourceError: none is."""
    if not session:
        raise UsageError("the name of the session is empty: say a path, an id or `latest`")
    if session == STDIN or _exists(session) or is_multi_file(session):
        return session
    name, mark, which = session.rpartition("@")
    if mark and name and which and "/" not in which and os.sep not in which:
        return f"{find_session(name, environ, cwd)}@{which}"
    if session == LATEST:
        return latest_session(environ, cwd).path
    if os.sep in session or "/" in session:
        return session  # opening it says what is wrong with it
    known = session_files(environ)
    meant = [r for r in known if r.id and r.id.startswith(session)]
    if not meant or any(session.startswith(r.id) for r in known if r.id):
        # The file name has only the beginning of the id, or no id.
        unsure = [r for r in known if not r.id or session.startswith(r.id)]
        sure = {r.path for r in meant}
        described = ((r, read_session_info(r)) for r in unsure if r.path not in sure)
        meant += [r for r, listed in described if listed and listed.id.startswith(session)]
    exact = [r for r in meant if r.id == session]
    meant = exact or meant
    ids = {(r.place.client, r.id) for r in meant}
    if len(ids) > 1:
        named = [_named(r) for r in meant[:MAX_CANDIDATES]]
        more = len(meant) - len(named)
        rest = f", and {more} more" if more > 0 else ""
        raise UsageError(
            f"{len(ids)} sessions begin with {session!r}: {'; '.join(named)}{rest}. "
            "Give more of the id"
        )
    if not meant:
        raise SourceError(
            f"{session}: no such file, and no session with an id that begins so; "
            "`leftoff list` shows those on this machine"
        )
    return meant[0].path


def _exists(session: str) -> bool:
    try:
        return Path(session).exists()
    except (OSError, ValueError):  # too long, or with a NUL: no path in any case
        return False


def _named(recorded: SessionFile) -> str:
    listed = read_session_info(recorded)
    where = f" in {listed.project}" if listed and listed.project else ""
    return f"{recorded.id} ({recorded.place.client}{where}, {_time(recorded.modified)[:16]})"


def latest_session(environ: Mapping[str, str], cwd: str) -> SessionInfo:
    """The newest session that worked in a directory; else below it; else in the nearest
    directory above it. `SourceError` where there is none."""
    home = str(home_folder(environ))
    below: SessionInfo | None = None
    above = newest = below
    for listed in list_sessions(environ):
        newest = newest or listed
        inside = _within(listed, cwd)
        around = bool(listed.project) and is_within(cwd, listed.project)
        if inside and (around or not listed.project):
            return listed
        if inside:
            below = below or listed
        elif around and not _wide(listed.project, home):
            if above is None or len(listed.project) > len(above.project):
                above = listed
    found = below or above
    if found is None:
        hint = "there is none on this machine"
        if newest is not None:
            where = newest.project or "an unknown directory"
            hint = f"the newest elsewhere is {newest.id}, in {where}"
        raise SourceError(f"no session worked in {cwd}; {hint}")
    return found


def _wide(project: str, home: str) -> bool:
    """Whether a directory is the root of a disk or the home folder, which is not a project."""
    path = absolute(project, "")
    return path in {"/", absolute(home, "")} or re.fullmatch(r"[A-Z]:/?", path) is not None


def short_ids(known: Iterable[str], least: int = 8) -> dict[str, str]:
    """Each id with its shortest beginning, of at least `least` characters, that only it has."""
    ordered = sorted({i for i in known if i})
    shared = [0] * (len(ordered) + 1)
    for number in range(1, len(ordered)):
        pair = zip(ordered[number - 1], ordered[number], strict=False)
        shared[number] = sum(1 for _ in takewhile(lambda two: two[0] == two[1], pair))
    return {
        name: name[: max(least, shared[number] + 1, shared[number + 1] + 1)]
        for number, name in enumerate(ordered)
    }


def place_of(path: str, environ: Mapping[str, str]) -> str:
    """What a shell writes after `leftoff show` for a recording: its full path; "" where the
    start of its id is enough, since it lies where its client keeps it, and for standard input.
    """
    if path.partition("@")[0] == STDIN or leads_to_session(path, client_roots(environ)):
        return ""
    return shlex.quote(os.path.abspath(path))  # noqa: PTH100 - links stay as given


def folder_of(project: str | None) -> str:
    """The absolute path of a project's directory, as a person types it; "" for any. One of
    Windows stays one, also where the recordings are read elsewhere."""
    if project and re.match(r"[A-Za-z]:[/\\]|\\\\", project):
        return ntpath.normpath(project)
    return os.path.abspath(os.path.expanduser(project)) if project else ""  # noqa: PTH100, PTH111
