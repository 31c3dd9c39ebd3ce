"""Everything of leftoff that writes to a disk, and how to look at what it left.

    what                     writes                                     by
    log create|pin|clean     .leftoff/resume-logs/                      stores.files
    checkpoint create        .leftoff/context-checkpoints/, and with    stores.files,
      |accept|clean            --markdown contexts/sandbox/             live.checkpoints.dumps
    resume --save|--clean    .leftoff/resume/, cleanup_metadata.json    stores.files
    ask                      .leftoff/reviews/                          stores.files
    summarize --since last   .leftoff/state/asked.json                  live.last_summarized
    -o FILE of summarize,    FILE                                       stores.atomic
      export, convert, redact, report, eval
    follow --keep -o         FOLDER/followed.json, the kept pass, FILE  incremental.follow,
                                                                        incremental.saved_passes
    batch -o                 OUT, its tables, OUT.index                 batch.outputs, batch.index
    hook, its five events    .leftoff/state/SESSION/, hooks.log         hooks.queue
    the worker of hooks      the same, a resume log, a checkpoint,      incremental.saved_passes,
                               the kept pass                            stores.files
    memory update|forget     .local/state/leftoff/memory.sqlite3        memory.index
    hook install|uninstall   the client's settings                      hooks.install
    SessionManager (library) the file of a running session              live.state
    saves of the library     a store in files, packed files, SQLite     stores

A writer is tried in a folder of its own: `project` is the current directory, `home` the home
of its user; recorded sessions stand beside it and are only read.
"""

import gzip
import io
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from tests.fuzz import harness

from leftoff import codec
from leftoff.errors import LeftoffError, StateError
from leftoff.memory.blocks import entry_number, unpacked
from leftoff.memory.search import edits, entries
from leftoff.stores.files import FileStore
from leftoff.stores.protocol import KINDS

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = ROOT / "corpora" / "sessions"

Work = Callable[[Path], int]
"""Does something in a folder; gives the exit code."""

_CHECKPOINTS = ".leftoff/context-checkpoints/*.json.gz"


class Writer(NamedTuple):
    """Something that writes.

    Attributes:
        before: what is done before it, once.
        run: what is tried.
        answers: with what it may end when it could not; () if with 0, always.
        partial: it changes several documents, one after the other; a document that cannot
            be read is left as it is.
        then: what it starts, which clears up after it.
    """

    name: str
    before: tuple[Work, ...]
    run: Work
    answers: tuple[int, ...] = (2,)
    partial: bool = False
    then: Work | None = None


class Command:
    """A command line; `{checkpoint}` in it stands for the one that is there.

    Args:
        stdin: `{folder}` in it stands for the folder that it works in.
    """

    def __init__(self, *words: str, stdin: bytes = b"") -> None:
        self.words, self.stdin = words, stdin

    def ready(self, folder: Path) -> None:
        """What is there before it begins."""
        if "{checkpoint}" in self.words:
            (path,) = (folder / "project").glob(_CHECKPOINTS)
            self.words = tuple(str(path) if w == "{checkpoint}" else w for w in self.words)
        if self.stdin:
            read, write = os.pipe()
            os.write(write, self.stdin.replace(b"{folder}", str(folder).encode()))
            os.close(write)
            os.dup2(read, 0)
            os.close(read)
            sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False))

    def __call__(self, folder: Path) -> int:
        from leftoff.__main__ import main

        return main(list(self.words))


class Compacting(Command):
    """An update of the memory that compacts the index, as one of many recordings does."""

    def __call__(self, folder: Path) -> int:
        from leftoff.memory import index

        index.COMPACTED_FROM = 1
        return super().__call__(folder)


class Event(Command):
    """An event of a client; the worker that it asks for is tried by itself."""

    def __init__(self, name: str, **more: str) -> None:
        told = {
            "session_id": "s1",
            "transcript_path": "{folder}/project/session.jsonl",
            "cwd": "{folder}/project",
            "hook_event_name": name,
            **more,
        }
        super().__init__("hook", stdin=codec.dumps(told))

    def __call__(self, folder: Path) -> int:
        from leftoff.hooks import answer

        answer.start_worker = lambda *_: None
        answer.TIME_LIMIT = 60.0
        answer.WORKER_TIMEOUT = 0.0
        return super().__call__(folder)


def worker(folder: Path) -> int:
    """The worker that a hook starts."""
    from leftoff.hooks import worker

    worker.SUMMARY_TIMEOUT = 0.0
    worker.process_jobs(folder / "project" / ".leftoff", "s1")
    return 0


def turn(folder: Path) -> int:
    """The next turn: its hook, and the worker, which clears up after one that was killed."""
    event = Event("Stop")
    event.ready(folder)
    event(folder)
    return worker(folder)


def session(tokens: int) -> Work:
    """A running session of the library that goes on by a call."""

    def run(folder: Path) -> int:
        from leftoff.live.session import SessionManager

        try:
            manager = SessionManager(path=folder / "project" / "running.json", session_id="r1")
        except StateError:
            return 0  # said to the caller; nothing was changed
        manager.set_task_budget("t1", "some-model", 1000)
        manager.update_token_usage(tokens, 10, "end_turn")
        return 0

    return run


def stored(sort: str, mark: str) -> Work:
    """A save of the library into a store."""

    def run(folder: Path) -> int:
        place = folder / "project"
        try:  # opening reads the settings of every folder above, which may fail too
            store = harness.opened(place if sort == "sqlite" else place / ".leftoff", sort)
            harness.save(store, "one", mark)
        except LeftoffError as error:
            print(f"leftoff: {error}", file=sys.stderr)
            return 2
        return 0

    return run


def damage(folder: Path) -> int:
    """Changes a word of a kept, compressed checkpoint by hand."""
    for path in (folder / "project").glob(_CHECKPOINTS):
        data = gzip.decompress(path.read_bytes()).replace(b"Sort", b"Send", 1)
        path.write_bytes(gzip.compress(data))
    return 0


def file(name: str, words: str) -> Work:
    """A file that is there before."""

    def run(folder: Path) -> int:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(words)
        return 0

    return run


def grow(folder: Path) -> int:
    """More is recorded in the session."""
    path = folder / "project" / "session.jsonl"
    whole = (SESSIONS / "claude_code/prorate.jsonl").read_bytes().splitlines(keepends=True)
    done = path.read_bytes().count(b"\n") if path.exists() else 0
    with path.open("ab") as out:
        out.write(b"".join(whole[done : done + 12]))
    return 0


CLIENT = """#!/bin/sh
cat >/dev/null
echo '{"type": "result", "is_error": false, "session_id": "c1", "result": "heard"}'
"""


def client(folder: Path) -> int:
    """A client that `ask` can ask."""
    file("home/bin/claude", CLIENT)(folder)
    (folder / "home/bin/claude").chmod(0o755)
    return 0


def listed(folder: Path) -> int:
    """A client recorded a session in its own folder, some time ago."""
    path = folder / "home/.claude/projects/-home-dev-billing/b0b81e65.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((SESSIONS / "claude_code/prorate.jsonl").read_bytes())
    os.utime(path, (1_000_000, 1_000_000))
    return 0


def removed(folder: Path) -> int:
    """The recording is deleted."""
    (folder / "project" / "session.jsonl").unlink()
    return 0


def _large(folder: Path) -> int:
    """The next call goes over a threshold."""
    used = {"input_tokens": 150_000, "output_tokens": 10}
    call = {
        "id": "m9", "role": "assistant", "model": "claude-sonnet-4-5", "content": [],
        "usage": used,
    }  # fmt: skip
    line = {"type": "assistant", "uuid": "u9", "sessionId": "s1", "message": call}
    with (folder / "project" / "session.jsonl").open("ab") as out:
        out.write(codec.dumps(line))
    return 0


_PLAIN: dict[str, Work] = {
    "grow": grow, "worker": worker, "turn": turn, "client": client, "damage": damage, "listed": listed,
    "removed": removed, "large": _large,
}  # fmt: skip


def step(words: str) -> Work:
    """A step as `writers.json` spells it: a name of `_PLAIN`, `leftoff WORDS < stdin`, `compacting
    leftoff WORDS`, `hook EVENT name=value`, `session TOKENS`, `save SORT MARK`, `file NAME CONTENT`."""
    kind, _, rest = words.partition(" ")
    match kind:
        case "leftoff":
            line, _, stdin = rest.partition(" < ")
            return Command(*line.split(), stdin=stdin.encode())
        case "compacting":
            return Compacting(*rest.split()[1:])
        case "hook":
            name, *more = rest.split()
            return Event(
                name, **{k: v.replace("_", " ") for k, _, v in (m.partition("=") for m in more)}
            )
        case "session":
            return session(int(rest))
        case "save":
            return stored(*rest.split())
        case "file":
            return file(*rest.split(" ", 1))
    return _PLAIN[words]


def _writer(row: dict[str, Any]) -> Writer:
    then = row.get("then")
    return Writer(
        row["name"], tuple(map(step, row["before"])), step(row["run"]),
        tuple(row.get("answers", (2,))), row.get("partial", False), step(then) if then else None,
    )  # fmt: skip


WRITERS = tuple(
    map(_writer, codec.parse(Path(__file__).with_name("writers.json").read_bytes()))
)


# -- what is left ----------------------------------------------------------------------------

_VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?UTC|Z|[+]00:00)?"), "TIME"),
    (re.compile(r"\d{8}T\d{12}Z"), "TIME"),
    (re.compile(r'"seen":\[\[[^a-z"]*\]\]'), "STAMPS"),
    (re.compile(r"\d{8}_\d{6}"), "TIME"),
    (re.compile(r"\b1\d{9}(\.\d+)?\b|\b1\.\d+e\+09"), "TIME"),
    (re.compile(r"\b\d+\.\d+(e-\d+)?\b"), "FLOAT"),
)
# Locks, logs, marks that grow old, and what only leftoff itself reads.
_OWN = re.compile(
    r"^followed\.json$|\.(lock|index|index-wal|index-shm|bak|damaged|log|log\.1|head|found)$"
)
_MEMORY_FILES = re.compile(r"^memory\.sqlite3(-wal|-shm)?$")
_LITTER = re.compile(r"\.(tmp|part)$|-journal$|^taken\.")


MEMORY = "memory.sqlite3"


def scrubbed(words: str) -> str:
    """Words without what differs from run to run."""
    for pattern, by in _VARIES:
        words = pattern.sub(by, words)
    return words


def look(folder: Path) -> dict[str, str]:
    """Every document, and every other file that is for somebody, each by a name that does not
    differ from run to run. What is damaged has its error as its content."""
    found: dict[str, list[str]] = {}
    stored: set[Path] = set()
    store = FileStore(folder / "project" / ".leftoff")
    for kind in KINDS:
        place = store.folder(kind)
        stored.add(place)
        if not place.is_dir():
            continue
        for entry in store.list(kind):
            value = _document(store, kind, entry.id) + (" PINNED" if entry.pinned else "")
            found.setdefault(f"{kind} {scrubbed(entry.id)}", []).append(scrubbed(value))
    for path in sorted(folder.rglob("*")):
        name = path.name
        if not path.is_file() or _OWN.search(name) or _LITTER.search(name):
            continue
        if _MEMORY_FILES.search(name):
            if name == MEMORY and (rows := memory_rows(path)):
                found["memory"] = [rows]
            continue
        if path.parent in stored and name != "cleanup_metadata.json":
            continue
        # A wish that was taken is one as long as it is not done.
        shown = path.with_name(name.replace("taken.", "wants."))
        found.setdefault(str(shown.relative_to(folder)), []).append(scrubbed(_content(path)))
    return {
        (name if not n else f"{name} {n}"): value
        for name, values in found.items()
        for n, value in enumerate(sorted(values))
    }


def _document(store: FileStore, kind: str, id: str) -> str:
    try:
        kept = store.load(kind, id)
    except LeftoffError as error:
        return f"{type(error).__name__}: {error}"
    if kept is None:
        return "gone"
    codes = sorted({issue.code for issue in kept.issues} - {"text_differs"})
    return codec.dumps(kept.document).decode() + " ".join(codes)


def _content(path: Path) -> str:
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as base:
            try:
                return "\n".join(base.iterdump())
            except sqlite3.Error as error:
                return str(error)
    data = path.read_bytes()
    with suppress(ValueError):
        if path.name == "cleanup_metadata.json":
            return "whole" if codec.parse(data) else ""
        return data.decode()
    return repr(data)


def memory_rows(path: Path) -> str:
    """The sessions, entries and edits of an index; an index without a session is as none."""
    query = "SELECT session, path, project, title, started, ended, failure FROM sessions"
    try:
        with closing(sqlite3.connect(path)) as base:
            rows = [
                *base.execute(query),
                *entries(base, "1"),
                *(hit for _, hit, _ in edits(base, "1")),
            ]
    except sqlite3.Error as error:
        return "" if "no such table" in str(error) else str(error)
    return re.sub(r"/[^']*/session\.jsonl", "session.jsonl", "\n".join(sorted(map(repr, rows))))


def _memory_faults(path: Path) -> Iterator[str]:
    """What is wrong in an index: rows twice, entries that are not found, words of none."""
    with closing(sqlite3.connect(path)) as base, suppress(sqlite3.OperationalError):
        blocks = base.execute("SELECT id, session, kind, speaker, data FROM blocks").fetchall()
        places: dict[int, Any] = {
            entry_number(block, place): (*about, entry)
            for block, *about, data in blocks
            for place, entry in enumerate(unpacked(data))
            if entry is not None
        }
        words = {row[0] for row in base.execute("SELECT id FROM terms_docsize")}
        sessions = [row[0] for row in base.execute("SELECT path FROM sessions")]
        owners = {row[0] for row in base.execute("SELECT id FROM sessions")}
        edited = {row[0] for row in base.execute("SELECT session FROM edits")}
        for what, count in {
            "entries twice": len(places) - len(set(places.values())),
            "entries without words": len(places.keys() - words),
            "words without entry": len(words - places.keys()),
            "rows without session": len(({b[1] for b in blocks} | edited) - owners),
            "sessions twice": len(sessions) - len(set(sessions)),
        }.items():
            if count:
                yield f"{path.name}: {count} {what}"


def litter(folder: Path) -> list[str]:
    """Files that nobody wants any more."""
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if _LITTER.search(path.name) and path.is_file()
    )


def whole(folder: Path) -> Iterator[str]:
    """What is wrong with files that are kept beside the documents."""
    for path in (*folder.rglob("*.index"), *folder.rglob(MEMORY)):
        yield from _memory_faults(path) if path.name == MEMORY else ()
        with closing(sqlite3.connect(path)) as base:
            (told,) = base.execute("PRAGMA integrity_check").fetchone()
            if told != "ok":
                yield f"{path.name}: {told}"


# -- a child ---------------------------------------------------------------------------------


def enter(folder: Path, work: Work) -> None:
    """Makes this process one that does its work in a folder: for a child only."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    (folder.parent / "said").mkdir(exist_ok=True)
    (folder / "project").mkdir(exist_ok=True)
    os.chdir(folder / "project")
    path = f"{home / 'bin'}:{os.environ.get('PATH', '')}"
    os.environ.clear()
    os.environ.update(
        HOME=str(home), PATH=path, LANG="C.UTF-8", TMPDIR=str(folder.parent / "tmp")
    )
    for number, name, mode in ((1, "out", "w"), (2, "err", "w")):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        descriptor = os.open(folder.parent / "said" / name, flags, 0o600)
        os.dup2(descriptor, number)
        os.close(descriptor)
        stream = io.TextIOWrapper(
            io.BufferedWriter(io.FileIO(number, mode, closefd=False)),
            line_buffering=number == 2,
        )
        setattr(sys, f"std{name}", stream)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if isinstance(work, Command):
        work.ready(folder)


def in_child(folder: Path, work: Work, after: Callable[[], None] = lambda: None) -> int:
    """Does something in a folder in a child of its own; its exit code."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            enter(folder, work)
            code = work(folder)
            sys.stdout.flush()
            after()
        except BaseException:  # noqa: BLE001 - told on stderr, as an interpreter does
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def warm(folder: Path, work: Work) -> None:
    """Loads what the work loads, so that children need not."""
    names = folder.parent / "names"

    def note() -> None:
        names.write_text("\n".join(sorted(sys.modules)))

    in_child(folder, work, note)
    for name in names.read_text().splitlines():
        if name not in sys.modules and not name.startswith(("__", "tests.")):
            with suppress(ImportError):
                import_module(name)


def said(folder: Path) -> str:
    """What the last child said on stderr."""
    return (folder.parent / "said" / "err").read_text(errors="replace")


def prepared(scratch: Path, writer: Writer) -> Path:
    """The folder of a writer as it is before: `scratch/base`."""
    work, base = scratch / "work", scratch / "base"
    (scratch / "tmp").mkdir(exist_ok=True)
    for old in (work, base):
        shutil.rmtree(old, ignore_errors=True)
    for name in ("home", "project"):
        (work / name).mkdir(parents=True)
    for step in writer.before:
        code = in_child(work, step)
        if code:
            raise AssertionError(f"{writer.name}: cannot be prepared: {code} {said(work)}")
    work.rename(base)
    return base


def renewed(scratch: Path) -> Path:
    """`scratch/work` as it was before the trial."""
    work = scratch / "work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(scratch / "base", work, symlinks=True)
    return work
