"""Damages what is kept, bit by bit and byte by byte, and looks whether that is noticed.

    python -m tests.fuzz flip_bits [--every 1]

Each bit of a kept resume log, checkpoint (compressed), task and resume state is flipped, and
each is cut off at every byte; so are its backup, its markdown, and the kept pass of hooks.
Where the document is damaged, the last good one must be given and said to be that; where its
backup is, too, loading must be refused; saving again must keep the damaged bytes aside. Flips
that leave the very same document (an `e` of `1e16` made an `E`, a field of a gzip header) are
counted apart, as are flips that turn the schema into a newer one, which is refused untouched.
A row of an SQLite store is tried, too.
"""

import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from tests.fuzz import harness

import leftoff
from leftoff import codec
from leftoff.errors import LeftoffError, StateError, TooNew
from leftoff.handover.resume_log.document import ResumeLog
from leftoff.incremental.saved_passes import FOUND, HEAD, SavedPass
from leftoff.stores.files import FileStore
from leftoff.stores.protocol import Store
from leftoff.stores.sqlite import SqliteStore

ROOT = Path(__file__).resolve().parents[2]
SESSION = ROOT / "corpora/sessions/claude_code/prorate.jsonl"
LINES = 24


def damaged(data: bytes, every: int) -> Iterator[tuple[str, bytes]]:
    """The data with each bit flipped, and cut off at each byte."""
    for n in range(0, 8 * len(data), every):
        changed = bytearray(data)
        changed[n // 8] ^= 1 << n % 8
        yield f"bit {n}", bytes(changed)
    for n in range(0, len(data), every):
        yield f"cut at {n}", data[:n]


class Case:
    """A document with its backup, and what became of it under damage."""

    def __init__(self, store: FileStore, kind: str, document: dict[str, object]) -> None:
        self.store, self.kind = store, kind
        old = {**document, "note": "as it was before"}
        store.save(kind, "one", old, text="# old\n")
        self.path = Path(store.save(kind, "one", document, text="# new\n"))
        kept = store.load(kind, "one")
        assert kept is not None
        self.document = kept.document
        backup = self.path.with_name(self._begin + ".json.bak")
        self.files = {
            "document": self.path,
            "backup": backup,
            "markdown": self.path.with_name(self._begin + ".md"),
        }
        self.bytes = {name: path.read_bytes() for name, path in self.files.items()}
        self.old = codec.to_builtins(old)
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    @property
    def _begin(self) -> str:
        return self.path.name.partition(".json")[0]

    def restore(self) -> None:
        for name, path in self.files.items():
            path.write_bytes(self.bytes[name])

    def run(self, every: int) -> None:
        for name, path in self.files.items():
            for what, data in damaged(self.bytes[name], every):
                path.write_bytes(data)
                try:
                    verdict = getattr(self, f"_{name}")(data)
                except (AssertionError, LeftoffError) as error:
                    verdict = "WRONG"
                    self.wrong.append(f"{self.kind} {name} {what}: {error!r:.200}")
                self.counts[f"{name}: {verdict}"] += 1
            self.restore()
        self._aside()

    def _document(self, data: bytes) -> str:
        """The last good one is given in place of a damaged one, and said to be that."""
        try:
            kept = self.store.load(self.kind, "one")
        except TooNew:
            return "refused as too new"
        assert kept is not None, "gone"
        if kept.document == self.document:
            return "the same document"
        assert kept.document == self.old, "another document was given"
        assert "backup_used" in {i.code for i in kept.issues}, "not said"
        return "noticed, the last good one given"

    def _backup(self, data: bytes) -> str:
        """A damaged backup is never given; with the document gone it is refused."""
        kept = self.store.load(self.kind, "one")
        assert kept is not None, "gone"
        assert kept.document == self.document, "not the document"
        self.path.write_bytes(self.bytes["document"][:-20])
        try:
            kept = self.store.load(self.kind, "one")
        except TooNew:
            return "refused as too new"
        except StateError:
            return "noticed, refused"
        finally:
            self.path.write_bytes(self.bytes["document"])
        assert kept is not None, "gone"
        assert kept.document == self.old, "another document was given"
        return "the same document"

    def _markdown(self, data: bytes) -> str:
        kept = self.store.load(self.kind, "one")
        assert kept is not None, "gone"
        assert kept.document == self.document, "not the document"
        assert "text_differs" in {i.code for i in kept.issues}, "not said"
        assert not kept.text, "given all the same"
        return "noticed, left out"

    def _aside(self) -> None:
        """Saving over a damaged one keeps its bytes, and the last good one."""
        for data in (self.bytes["document"][:-9], b"", b"\0" * 500):
            self.restore()
            self.path.write_bytes(data)
            self.store.save(self.kind, "one", self.document, text="# new\n")
            aside = self.path.with_name(self._begin + ".json.damaged")
            if aside.read_bytes() != data:
                self.wrong.append(f"{self.kind}: the damaged bytes are not kept")
            if self.files["backup"].read_bytes() != self.bytes["backup"]:
                self.wrong.append(f"{self.kind}: the last good one was lost")
            self.counts["saved over: damaged bytes kept aside"] += 1


def sqlite_case(store: SqliteStore, every: int) -> harness.Found:
    """Flips in the row of a document."""
    counts, wrong = harness.nothing()
    document = {"goal": "sort the invoices", "n": 1.5, "words": ["a", "é"]}
    store.save("task", "one", document)
    with closing(sqlite3.connect(store.path)) as base:
        (data,) = base.execute("SELECT document FROM documents").fetchone()
        for what, changed in damaged(bytes(data), every):
            base.execute("UPDATE documents SET document = ?", (changed,))
            base.commit()
            verdict = _loaded(store, document)
            counts[f"row: {verdict}"] += 1
            if verdict == "WRONG":
                wrong.append(f"sqlite {what}")
    return counts, wrong


def _loaded(store: Store, document: dict[str, object]) -> str:
    try:
        kept = store.load("task", "one")
    except TooNew:
        return "refused as too new"
    except StateError:
        return "noticed, refused"
    return "the same document" if kept and kept.document == document else "WRONG"


def pass_case(folder: Path, every: int) -> harness.Found:
    """Flips in what hooks keep of a reading: the summary must be that of the recording."""
    counts, wrong = harness.nothing()
    path = folder / "session.jsonl"
    path.write_bytes(b"".join(SESSION.read_bytes().splitlines(keepends=True)[:LINES]))
    kept = SavedPass(folder / "state")
    kept.read_on(str(path))
    want = codec.dumps(kept.summary(str(path)))
    for name in (HEAD, FOUND):
        whole = (folder / "state" / name).read_bytes()
        for what, data in damaged(whole, every):
            (folder / "state" / name).write_bytes(data)
            reading = kept.whole(str(path))
            if reading is None:
                counts[f"{name}: noticed, read again"] += 1
            elif codec.dumps(kept.summary(str(path))) == want:
                counts[f"{name}: the same summary"] += 1
            else:
                wrong.append(f"{name} {what}: another summary")
        (folder / "state" / name).write_bytes(whole)
    return counts, wrong


def documents() -> Iterator[tuple[str, dict[str, object]]]:
    """A small document of each kind."""
    summary = leftoff.summarize(str(SESSION))
    log = ResumeLog.from_summary(summary, session_id="one").to_dict()
    yield "resume_log", {k: _short(v) for k, v in log.items()}
    tokens = {"consumed": 15994, "percent_used": 9.58}
    yield "checkpoint", {"checkpoint_id": "one", "tokens": tokens, "goal": "Sort the lines."}
    yield "task", {"task_id": "one", "n": 1e16, "words": ["a", "é", {"deep": None}]}
    yield "resume_state", {"workflow_id": "one", "completed_tools": [{"id": "t", "ok": True}]}
    yield "review", {"review_id": "2026-01-01-001", "rounds": []}


def _short(value: object) -> object:
    """So much of a value that each of its bits can be tried."""
    if isinstance(value, str):
        return value[:40]
    if isinstance(value, list):
        return [_short(one) for one in value[:1]]
    return {} if isinstance(value, dict) else value


def flipped(every: int) -> harness.Found:
    """All of it: what was counted, and what was wrong."""
    counts, wrong = harness.nothing()
    with tempfile.TemporaryDirectory() as name:
        store = FileStore(Path(name) / "kept", compress={"checkpoint": 0})
        for kind, document in documents():
            case = Case(store, kind, document)
            case.run(every)
            counts += case.counts
            wrong += case.wrong
        for more, faults in (
            sqlite_case(SqliteStore(Path(name) / "k.db"), every),
            pass_case(Path(name), 7 * every),
        ):
            counts += more
            wrong += faults
    return counts, wrong


def main() -> int:
    args = harness.options(__doc__, every=1)
    return harness.tried("flips and cuts", lambda: flipped(args.every))
